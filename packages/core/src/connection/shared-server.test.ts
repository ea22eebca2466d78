// One server that several boards use: whom its events, questions and log go to, when it rests, and what its status says.
import { afterEach, describe, expect, it } from 'vitest'
import { Cancellation } from '../async/waits.ts'
import type { Share } from '../config/entry.ts'
import { Events } from '../events.ts'
import { type Host, systemHost } from '../host.ts'
import { folder, until } from './fixtures/kit.ts'
import { type ScriptedServer, scriptedOptions, scriptedServer } from './fixtures/scripted.ts'
import type { ConnectionOptions } from './options.ts'
import { ConnectionPool, type PoolPlace } from './pool.ts'
import type { Json } from './server-info.ts'

const pools: ConnectionPool[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

interface Timer {
  readonly ms: number
  readonly run: () => void
}

/** A pool whose clock and idle timers the test moves, and boards on it. */
function setUp(server: ScriptedServer, { idleMs = 5000, share = 'user' as Share } = {}) {
  const clock = { now: 1_000_000 }
  const idle = new Set<Timer>()
  const real = systemHost()
  const host: Host = {
    ...real,
    now: () => clock.now,
    backgroundTimer: (ms, run) => {
      if (ms !== idleMs) return real.backgroundTimer(ms, run)
      const timer = { ms, run }
      idle.add(timer)
      return () => void idle.delete(timer)
    },
  }
  const pool = new ConnectionPool({ host, idleMs })
  pools.push(pool)
  const stateDir = folder()
  const board = (root = '/a', more: Partial<ConnectionOptions> = {}, place: Partial<PoolPlace> = {}) => {
    const events = new Events()
    const heard: [string, unknown?][] = []
    events.on('notification', ({ method, params }) => heard.push([method, (params as Json)['data']]))
    events.on('resource-updated', ({ uri }) => heard.push(['updated', uri]))
    events.on('log', ({ line }) => heard.push(['log', line.text]))
    const options = scriptedOptions(server, { stateDir, host, events, ...more }, { share })
    const connection = pool.take(options, { root, ...place })
    return { connection, heard, events }
  }
  const rest = async () => {
    const due = [...idle]
    idle.clear()
    for (const { run } of due) run()
    await new Promise((done) => setTimeout(done, 5))
  }
  return { pool, board, clock, idle, rest }
}

const LOGGING = { capabilities: { logging: {}, resources: { subscribe: true } } }
const levels = ({ seen }: ScriptedServer) =>
  seen.flatMap(([method, params]) => (method === 'logging/setLevel' ? [params?.['level']] : []))
const say = (server: ScriptedServer, level: unknown, data: string) =>
  server.notify('notifications/message', { ...(level !== undefined && { level }), data } as Json)
const texts = (heard: readonly [string, unknown?][], kind: string) =>
  heard.filter(([method]) => method === kind).map(([, data]) => data)

describe('what a shared server reports', () => {
  it('goes to every board, and a changed resource to those that follow it', async () => {
    const server = scriptedServer(
      { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) },
      LOGGING,
    )
    const { board } = setUp(server)
    const [a, b] = [board(), board()]
    await a.connection.settled()
    await b.connection.settled()
    server.notify('notifications/other', { data: 1 })
    await b.connection.subscribe('file:///x')
    server.notify('notifications/resources/updated', { uri: 'file:///x' })
    await until('the change arrives', () => texts(b.heard, 'updated').length === 1)
    expect(texts(a.heard, 'updated')).toEqual([])
    for (const { heard } of [a, b]) expect(texts(heard, 'notifications/other')).toEqual([1])
    // The server goes on with it until the last board lets it go.
    const asked = () => server.seen.filter(([method]) => method === 'resources/unsubscribe')
    await a.connection.subscribe('file:///x')
    await a.connection.subscribe('file:///x')
    await b.connection.unsubscribe('file:///x')
    await b.connection.unsubscribe('file:///x')
    await b.connection.close()
    await a.connection.request('ping')
    expect(asked()).toEqual([])
    await a.connection.close()
    await a.connection.close()
    await until('it is told', () => asked().length > 0)
    expect(asked()).toEqual([['resources/unsubscribe', { uri: 'file:///x' }]])
  })

  it('is not followed where the server refused, unless it was followed before', async () => {
    let isRefused = true
    const answer = () => (isRefused ? new Error('no') : {})
    const server = scriptedServer({ 'resources/subscribe': answer }, LOGGING)
    const { board } = setUp(server)
    const { connection, heard } = board()
    await connection.settled()
    await expect(connection.subscribe('file:///x')).rejects.toThrow('no')
    server.notify('notifications/resources/updated', { uri: 'file:///x' })
    await connection.request('ping')
    expect(texts(heard, 'updated')).toEqual([])
    isRefused = false
    await connection.subscribe('file:///x')
    server.notify('notifications/resources/updated', { uri: 'file:///x' })
    await connection.request('ping')
    expect(texts(heard, 'updated')).toEqual(['file:///x'])
  })

  it('is logged at the most telling level that a board wants, and each board gets what it wants', async () => {
    const server = scriptedServer({ 'logging/setLevel': () => ({}) }, LOGGING)
    const { board } = setUp(server)
    const [a, b, c] = [board(), board(), board()]
    const all = [a, b, c]
    const got = (heard: readonly [string, unknown?][]) => texts(heard, 'notifications/message')
    for (const { connection } of all) await connection.settled()
    say(server, 'debug', 'before')
    await a.connection.request('ping')
    expect(all.map(({ heard }) => got(heard))).toEqual([['before'], ['before'], ['before']])
    await a.connection.request('logging/setLevel', { level: 'warning' })
    await b.connection.request('logging/setLevel', { level: 'info' })
    expect(levels(server)).toEqual(['warning', 'info'])
    for (const level of ['info', 'warning', 'error', 'debug', undefined]) say(server, level, `at ${level}`)
    await a.connection.request('ping')
    expect(got(a.heard).slice(1)).toEqual(['at warning', 'at error', 'at undefined'])
    expect(got(b.heard).slice(1)).toEqual(['at info', 'at warning', 'at error', 'at undefined'])
    expect(got(c.heard).slice(1)).toEqual([])
    await c.connection.close()
    await b.connection.close()
    await until('the level follows', () => levels(server).length === 3)
    expect(levels(server)[2]).toBe('warning')
    // A server that comes back is told again.
    server.end()
    await until('it came back', () => server.starts === 2)
    await until('the level follows', () => levels(server).length === 4)
    expect(levels(server)[3]).toBe('warning')
    await a.connection.close()
  })

  it('takes only a level that is a text for one', async () => {
    const server = scriptedServer({ 'logging/setLevel': () => ({}) }, LOGGING)
    const { board } = setUp(server)
    const { connection } = board()
    await connection.request('logging/setLevel', { level: 7 })
    await connection.request('logging/setLevel', { level: 'nonsense' })
    await connection.request('tools/list', { level: 'info' })
    expect(levels(server)).toEqual([7, 'debug'])
  })
})

describe('a shared server that is up', () => {
  it('goes on when another board wants it started, and starts again when one wants it afresh', async () => {
    const server = scriptedServer()
    const { board } = setUp(server)
    const first = board()
    await first.connection.settled()
    const second = board()
    second.connection.wake()
    await second.connection.request('ping')
    expect(server.starts).toBe(1)
    second.connection.wake(true)
    await second.connection.request('ping')
    expect(server.starts).toBe(2)
  })
})

describe('a call on a shared server', () => {
  const OWN = ['call-started', 'progress', 'call-ended'] as const
  const tools = [
    { name: 'quick', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
    { name: 'slow', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  ]

  /** Two boards whose server is up and has answered a call of each; `slow` answers when the test says. */
  async function calling() {
    let finish = (_: Json): void => undefined
    const answer = ({ name }: Json) =>
      name === 'slow' ? new Promise<Json>((done) => (finish = done)) : { content: [] }
    const server = scriptedServer(
      { 'tools/list': () => ({ tools }), 'tools/call': answer },
      { capabilities: { tools: {} } },
    )
    const { board } = setUp(server)
    const boards = [board(), board()] as const
    const told = boards.map(({ events }) => {
      const heard: string[] = []
      for (const type of OWN) events.on(type, () => heard.push(type))
      return heard
    })
    for (const { connection } of boards) {
      await connection.settled()
      await connection.request('tools/call', { name: 'quick' })
    }
    for (const heard of told) heard.length = 0
    const started = () => server.seen.filter(([, params]) => params?.['name'] === 'slow').length
    return { server, boards, told, started, finish: (result: Json) => finish(result) }
  }

  it('is reported to its own board alone', async () => {
    const { boards, told, started, finish } = await calling()
    const [a] = boards
    const running = a.connection.request('tools/call', { name: 'slow' })
    await until('it runs', () => started() === 1)
    expect(told).toEqual([['call-started'], []])
    finish({ content: [{ type: 'text', text: 'done' }] })
    expect(await running).toEqual({ content: [{ type: 'text', text: 'done' }] })
    expect(told).toEqual([['call-started', 'call-ended'], []])
  })

  it.each(['a signal', 'a cancellation', 'the end of the board'])(
    'is cancelled by %s, and the server is told',
    async (how) => {
      const { server, boards, told, started } = await calling()
      const [a, b] = boards
      const controller = new AbortController()
      const cancellation = new Cancellation()
      const options =
        how === 'a signal' ? { signal: controller.signal } : how === 'a cancellation' ? { cancellation } : {}
      const running = a.connection.request('tools/call', { name: 'slow' }, options)
      const refused = expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
      await until('it runs', () => started() === 1)
      if (how === 'a signal') controller.abort()
      else if (how === 'a cancellation') cancellation.cancel()
      else await a.connection.close()
      await refused
      await until('it is told', () => server.seen.some(([method]) => method === 'notifications/cancelled'))
      // The client did not cancel it: it has to get an answer.
      expect(cancellation.cancelled).toBe(how === 'a cancellation')
      expect(told).toEqual([['call-started', 'call-ended'], []])
      expect(await b.connection.request('tools/call', { name: 'quick' })).toEqual({ content: [] })
    },
  )

  it.each(['a signal', 'a cancellation'])('is not sent when %s came first', async (how) => {
    const { boards, started } = await calling()
    const cancellation = new Cancellation()
    cancellation.cancel()
    const options = how === 'a signal' ? { signal: AbortSignal.abort() } : { cancellation }
    const refused = boards[0].connection.request('tools/call', { name: 'slow' }, options)
    await expect(refused).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(started()).toBe(0)
  })
})

describe('a shared server that is not used', () => {
  it('rests after a while, ends when the last board left, and is started again on need', async () => {
    const server = scriptedServer()
    const { board, idle, rest, pool } = setUp(server)
    const { connection } = board()
    await connection.request('ping')
    expect(idle.size).toBe(1)
    await rest()
    expect(connection.state.kind).toBe('pending')
    expect(pool.status()).toMatchObject([{ state: 'pending', users: 1 }])
    await connection.request('ping')
    expect(server.starts).toBe(2)
    await connection.close()
    expect(idle.size).toBe(1)
    await rest()
    expect(pool.status()).toEqual([])
    expect(idle.size).toBe(0)
  })

  it('does not rest while a request runs or a resource is followed', async () => {
    let finish = (_: unknown): void => undefined
    const slow = () =>
      new Promise((done) => {
        finish = done
      })
    const answers = { 'resources/subscribe': () => ({}), slow }
    const server = scriptedServer(answers, LOGGING)
    const { board, idle, rest, pool, clock } = setUp(server)
    const [a, b] = [board(), board()]
    await a.connection.settled()
    const running = a.connection.request('slow')
    await until('it runs', () => server.seen.some(([method]) => method === 'slow'))
    clock.now += 700
    expect(pool.status()).toMatchObject([{ idleMs: 0, users: 2 }])
    await rest()
    await b.connection.close()
    await rest()
    expect(a.connection.state.kind).toBe('connected')
    finish({})
    await running
    expect(idle.size).toBe(1)
    await a.connection.subscribe('file:///x')
    await rest()
    expect(a.connection.state.kind).toBe('connected')
  })

  it('goes on for ever where the limit is 0', async () => {
    const server = scriptedServer()
    const { board, idle } = setUp(server, { idleMs: 0 })
    const { connection } = board()
    await connection.request('ping')
    expect(idle.size).toBe(0)
    expect(connection.state.kind).toBe('connected')
  })

  it('says how it is used', async () => {
    const server = scriptedServer()
    const { board, clock, pool } = setUp(server)
    const { connection } = board('/p')
    expect(pool.status()).toEqual([])
    await connection.request('ping')
    await connection.request('ping')
    clock.now += 700
    const status = { name: 's', state: 'connected', share: 'user', users: 1, calls: 2, root: '/p' }
    expect(pool.status()).toEqual([{ ...status, idleMs: 700 }])
    clock.now -= 10_000
    expect(pool.status()).toMatchObject([{ idleMs: 0 }])
    expect(await pool.stop('other')).toBe(false)
    expect(await pool.stop('s')).toBe(true)
    expect(await pool.stop('s')).toBe(false)
    expect(pool.status()).toEqual([])
    await connection.request('ping')
    expect(server.starts).toBe(2)
  })

  it('lists the servers of one board alone beside the shared ones, until they are closed', async () => {
    const server = scriptedServer()
    const { board, pool } = setUp(server, { share: 'session' })
    const { connection } = board('/p')
    await connection.settled()
    const base = { name: 's', share: 'session', users: 1, calls: 0, idleMs: 0, root: '/p' }
    expect(pool.status()).toEqual([{ ...base, state: 'connected' }])
    await connection.close()
    expect(pool.status()).toEqual([])
  })
})

describe('a question of a shared server', () => {
  const QUESTIONS = [
    [
      'elicitation/create',
      { message: 'm', requestedSchema: { type: 'object', properties: {} } },
      'elicitForm',
    ],
    ['elicitation/create', { mode: 'url', url: 'https://a.example', elicitationId: '1' }, 'elicitUrl'],
    ['sampling/createMessage', { messages: [] }, 'sampling'],
  ] as const
  const named = (name: string) => {
    const answer = () => ({ from: name })
    return { elicitForm: answer, elicitUrl: answer, sampling: answer, roots: answer }
  }

  it.each(QUESTIONS)('%s %j goes to the board that calls', async (method, params) => {
    let asked: unknown
    const server = scriptedServer({
      asking: async () => {
        asked = await server.ask(method, params as unknown as Json)
        return {}
      },
    })
    const { board } = setUp(server)
    const [first, second] = ['first', 'second'].map((name) => board('/a', { handlers: named(name) }))
    await first?.connection.request('asking')
    expect(asked).toMatchObject({ result: { from: 'first' } })
    await second?.connection.request('asking')
    expect(asked).toMatchObject({ result: { from: 'second' } })
    expect(await server.ask(method, params as unknown as Json)).toMatchObject({
      error: { message: 'No client is calling this server, so there is no user to ask.' },
    })
    await Promise.all([first?.connection.request('asking'), second?.connection.request('asking')])
    expect(asked).toMatchObject({ error: { message: expect.stringContaining('which of 2 clients') } })
  })

  it('is answered for what the boards can do, and for nothing else', async () => {
    const offered = async (handlers: ConnectionOptions['handlers']) => {
      const server = scriptedServer()
      await setUp(server).board('/a', { handlers }).connection.settled()
      return server.seen.find(([method]) => method === 'initialize')?.[1]?.['capabilities']
    }
    expect(await offered({})).toEqual({})
    expect(await offered(named('x'))).toEqual({
      elicitation: { form: {}, url: {} },
      sampling: {},
      roots: { listChanged: true },
    })
    expect(await offered({ elicitUrl: () => ({}) })).toEqual({ elicitation: { url: {} } })
  })

  it('about roots, in the legacy era, makes the server that of the project that started it', async () => {
    const server = scriptedServer()
    const { board, pool } = setUp(server)
    const [first, second] = ['/a', '/b'].map((root) => board(root, { handlers: named(root) }))
    await first?.connection.request('ping')
    await second?.connection.request('ping')
    expect([server.starts, pool.status().length]).toEqual([1, 1])
    expect(await server.ask('roots/list')).toMatchObject({ result: { from: '/a' } })
    await first?.connection.request('ping')
    expect(server.starts).toBe(1)
    await second?.connection.request('ping')
    expect(server.starts).toBe(2)
    expect(pool.status().map(({ root }) => root)).toEqual(['/a', '/b'])
    // A third project starts with one that has no roots yet.
    const third = board('/c', { handlers: named('/c') })
    await third.connection.request('ping')
    expect(server.starts).toBe(2)
  })

  it('about roots, in the modern era, goes to the board that calls', async () => {
    const answers: unknown[] = []
    const call = (params: Json) => {
      if (!params['inputResponses'])
        return { resultType: 'input_required', inputRequests: { q: { method: 'roots/list', params: {} } } }
      answers.push(params['inputResponses'])
      return { resultType: 'complete', content: [] }
    }
    const server = scriptedServer({ 'tools/call': call }, { era: 'modern' })
    const { board, pool } = setUp(server)
    const boards = ['/a', '/b'].map((root) => board(root, { handlers: named(root) }))
    await Promise.all(boards.map(({ connection }) => connection.request('ping')))
    await Promise.all(boards.map(({ connection }) => connection.request('tools/call', { name: 'x' })))
    expect(answers).toEqual([{ q: { from: '/a' } }, { q: { from: '/b' } }])
    expect(pool.status()).toHaveLength(1)
  })
})
