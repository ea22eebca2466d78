// When a request is sent again, and when not: every fault, with sessions that answer as the test says.
import { describe, expect, it } from 'vitest'
import { RequestAborted, RequestTimedOut } from '../async/wait-errors.ts'
import type { ServerEntry } from '../config/entry.ts'
import { AuthRequired } from '../errors.ts'
import { type BoardEvent, Events } from '../events.ts'
import { systemHost } from '../host.ts'
import { HttpStatusError } from '../transports/transport-errors.ts'
import type { Catalog } from './catalog.ts'
import type { RequestHost, RequestOptions } from './direct-call.ts'
import type { ResponseSink } from './pending-request.ts'
import { ChannelClosed, JsonRpcError } from './request-errors.ts'
import { Requests } from './requests.ts'
import { type Json, RPC } from './server-info.ts'
import type { Session } from './session.ts'

const OK: Json = { content: [] }
const LOST = new ChannelClosed(true)
const UNSENT = new ChannelClosed(false)
const READS = { annotations: { readOnlyHint: true } }
const IDEMPOTENT = { annotations: { idempotentHint: true } }

interface Setup {
  /** What the sessions answer, one after another; an error is thrown. */
  readonly answers: readonly unknown[]
  readonly tool?: object
  readonly entry?: object
  readonly hasHttpSession?: boolean
  /** After this many answers the connection has another session. */
  readonly sessionAfter?: number
  readonly connected?: boolean
}

function setup({ answers, tool, entry = {}, hasHttpSession = false, sessionAfter, connected = true }: Setup) {
  const log: string[] = []
  const told: BoardEvent[] = []
  const limits: Json[] = []
  const left = [...answers]
  const session = (name: string) => {
    const request = async (method: string, _params: Json, options: Json): Promise<Json> => {
      log.push(`${method} on ${name}`)
      limits.push(options)
      if (sessionAfter !== undefined && answers.length - left.length + 1 >= sessionAfter) now = 'second'
      const answer = left.shift()
      if (answer instanceof Error) throw answer
      if (typeof answer === 'function') return await answer()
      return (answer ?? OK) as Json
    }
    const exchange = (method: string, params: Json, options: Json, sink: ResponseSink): void => {
      request(method, params, options).then(
        (result) => sink.settle(result),
        (error) => sink.fail(error),
      )
    }
    return { name, hasHttpSession, protocolVersion: '2025-11-25', isFinal: () => true, request, exchange }
  }
  const sessions = { first: session('first'), second: session('second') }
  let now: keyof typeof sessions = 'first'
  let isConnected = connected
  const events = new Events()
  for (const type of ['call-started', 'call-ended'] as const)
    events.on(type, (event) => void told.push({ type, ...event } as BoardEvent))
  const host: RequestHost = {
    host: systemHost(),
    events,
    server: 's',
    entry: { type: 'stdio', command: 'x', args: [], env: {}, ...entry } as ServerEntry,
    catalog: {
      tool: () => tool,
      headers: (name: string) => ({ 'mcp-param': name }),
      relist: async () => void log.push('relist'),
    } as unknown as Catalog,
    callTimeoutMs: 1000,
    hide: (text) => text,
    nextCall: () => 1,
    current: () => (isConnected ? (sessions[now] as unknown as Session) : undefined),
    ready: (signal) =>
      new Promise((resolve, reject) => {
        log.push(`ready${signal ? ' with a signal' : ''}`)
        if (!connected) signal?.addEventListener('abort', () => reject(new RequestAborted(undefined)))
        else resolve(sessions[now] as unknown as Session)
      }),
    renew: async (old) => {
      log.push(`renew ${(old as unknown as { name: string }).name}`)
      now = 'second'
    },
    unauthorised: () => new AuthRequired('s'),
    good: () => void log.push('good'),
    bad: () => void log.push('bad'),
    timedOut: () => void log.push('timed out'),
    stderrTail: () => ['last words'],
  }
  const requests = new Requests(host)
  const send = (method = 'tools/call', options: RequestOptions = {}, params: Json = { name: 't' }) =>
    requests.send(method, params, options)
  const sent = () => log.filter((line) => line.includes(' on ')).length
  return { requests, send, sent, log, told, limits, disconnect: () => (isConnected = false) }
}

const endOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error) => error.code,
  )

describe('a request that fails', () => {
  // What the session answers, what is known about the tool, how often it is sent, and how it ends.
  it.each<[string, Partial<Setup> & Pick<Setup, 'answers'>, string, RequestOptions, number, string]>([
    ['succeeds', { answers: [OK] }, 'tools/call', {}, 1, 'ok'],
    ['a lost writing call', { answers: [LOST, OK] }, 'tools/call', {}, 1, 'OUTCOME_UNKNOWN'],
    ['a lost reading call', { answers: [LOST, OK], tool: READS }, 'tools/call', {}, 2, 'ok'],
    ['a lost idempotent call', { answers: [LOST, OK], tool: IDEMPOTENT }, 'tools/call', {}, 2, 'ok'],
    ['a call that may run twice', { answers: [LOST, OK] }, 'tools/call', { replayable: true }, 2, 'ok'],
    [
      'a reading call that may not',
      { answers: [LOST, OK], tool: READS },
      'tools/call',
      { replayable: false },
      1,
      'OUTCOME_UNKNOWN',
    ],
    ['a lost read of a resource', { answers: [LOST, OK] }, 'resources/read', {}, 2, 'ok'],
    [
      'a lost request that changes something',
      { answers: [LOST, OK] },
      'logging/setLevel',
      {},
      1,
      'OUTCOME_UNKNOWN',
    ],
    ['lost twice', { answers: [LOST, LOST, OK], tool: READS }, 'tools/call', {}, 2, 'IO_ERROR'],
    [
      'never sent, and another session is there',
      { answers: [UNSENT, OK], sessionAfter: 1 },
      'tools/call',
      {},
      2,
      'ok',
    ],
    ['never sent twice', { answers: [UNSENT, UNSENT, OK], sessionAfter: 1 }, 'tools/call', {}, 2, 'IO_ERROR'],
    ['never sent, and no other session is there', { answers: [UNSENT, OK] }, 'tools/call', {}, 1, 'IO_ERROR'],
    [
      'a forgotten session',
      { answers: [new HttpStatusError(404, '', ''), OK], hasHttpSession: true },
      'tools/call',
      {},
      2,
      'ok',
    ],
    [
      'a session forgotten twice',
      {
        answers: [new HttpStatusError(404, '', ''), new HttpStatusError(404, '', ''), OK],
        hasHttpSession: true,
      },
      'tools/call',
      {},
      2,
      'IO_ERROR',
    ],
    [
      'HTTP 404 without a session',
      { answers: [new HttpStatusError(404, '', ''), OK] },
      'tools/call',
      {},
      1,
      'IO_ERROR',
    ],
    [
      'a missing login',
      { answers: [new HttpStatusError(401, '', ''), OK] },
      'tools/call',
      {},
      1,
      'AUTH_REQUIRED',
    ],
    [
      'headers of an old list',
      { answers: [new JsonRpcError(RPC.headerMismatch, 'x'), OK] },
      'tools/call',
      {},
      2,
      'ok',
    ],
    [
      'the same again',
      { answers: [new JsonRpcError(RPC.headerMismatch, 'x'), new JsonRpcError(RPC.headerMismatch, 'x'), OK] },
      'tools/call',
      {},
      2,
      'TOOL_ERROR',
    ],
    [
      'an error of the server',
      { answers: [new JsonRpcError(-1, 'x'), OK], tool: READS },
      'tools/call',
      {},
      1,
      'TOOL_ERROR',
    ],
    ['a timeout', { answers: [new RequestTimedOut(5), OK], tool: READS }, 'tools/call', {}, 1, 'TIMEOUT'],
    [
      'cancelled',
      { answers: [new RequestAborted(undefined), OK], tool: READS },
      'tools/call',
      {},
      1,
      'CANCELLED',
    ],
    [
      'HTTP 502 of a writing call',
      { answers: [new HttpStatusError(502, '', ''), OK] },
      'tools/call',
      {},
      1,
      'OUTCOME_UNKNOWN',
    ],
    [
      'HTTP 502 of a reading call',
      { answers: [new HttpStatusError(502, '', ''), OK], tool: READS },
      'tools/call',
      {},
      2,
      'ok',
    ],
  ])('%s', async (_, given, method, options, times, outcome) => {
    const made = setup(given)
    const ended = await endOf(made.send(method, options))
    expect([ended, made.sent()]).toEqual([outcome, times])
    expect(made.log.filter((line) => line === 'good')).toHaveLength(outcome === 'ok' ? 1 : 0)
    expect(made.log.filter((line) => line === 'bad')).toHaveLength(outcome === 'ok' ? times - 1 : times)
    expect(made.log.includes('timed out')).toBe(outcome === 'TIMEOUT')
    expect(made.told.map(({ type }) => type)).toEqual(['call-started', 'call-ended'])
    expect(made.told[1]).toMatchObject({
      server: 's',
      method,
      outcome: outcome === 'ok' ? 'ok' : outcome === 'CANCELLED' ? 'cancelled' : 'error',
    })
  })

  it('directly, on a connection in use, ends the same way', async () => {
    const cases: [unknown[], object | undefined, string][] = [
      [[OK], undefined, 'ok'],
      [[LOST], undefined, 'OUTCOME_UNKNOWN'],
      [[LOST, OK], READS, 'ok'],
      [[LOST, LOST], READS, 'IO_ERROR'],
      [[new JsonRpcError(-1, 'x')], READS, 'TOOL_ERROR'],
      [[new RequestAborted(undefined)], READS, 'CANCELLED'],
    ]
    for (const [answers, tool, outcome] of cases) {
      const made = setup({ answers: [OK, ...answers], ...(tool && { tool }) })
      await made.send()
      expect([answers.length, await endOf(made.send())]).toEqual([answers.length, outcome])
      expect(made.sent()).toBe(1 + answers.length)
      expect(made.told.slice(2).map(({ type }) => type)).toEqual(['call-started', 'call-ended'])
      // The turn is over, whatever the end.
      expect(await endOf(made.send())).toBe('ok')
    }
  })

  it('says how it ended: what was lost, or what a proxy answered', async () => {
    const how = async (answer: Error, params?: Json) =>
      (await setup({ answers: [answer] })
        .send('tools/call', {}, params)
        .catch((error) => error.message)) as string
    expect(await how(LOST)).toBe(
      'The connection to "s" was lost while t was running; whether it was done is unknown.\nLast stderr lines:\n  last words',
    )
    expect(await how(LOST, {})).toContain('while tools/call was running')
    expect(await how(new HttpStatusError(502, '', ''))).toBe(
      '"s" did not say how t ended; whether it was done is unknown. It answered HTTP 502.',
    )
  })

  it('goes on with a fresh session', async () => {
    const made = setup({ answers: [new HttpStatusError(404, '', ''), OK], hasHttpSession: true })
    await made.send()
    expect(made.log).toEqual(['tools/call on first', 'bad', 'renew first', 'tools/call on second', 'good'])
  })
})

describe('a call that is cancelled while there is no connection', () => {
  it.each(['tools/call', 'resources/read', 'prompts/get'])('%s is never sent', async (method) => {
    const made = setup({ answers: [OK], connected: false })
    const stop = new AbortController()
    const call = made.send(method, { signal: stop.signal })
    await expect.poll(() => made.log).toEqual(['ready with a signal'])
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(made.sent()).toBe(0)
    expect(made.told[1]).toMatchObject({ outcome: 'cancelled' })
  })

  it('also when the connection is lost between two tries', async () => {
    const stop = new AbortController()
    const made = setup({ answers: [LOST, OK], tool: READS })
    const call = made.send('tools/call', { signal: stop.signal })
    made.disconnect()
    await expect(call).resolves.toEqual(OK)
    expect(made.log.filter((line) => line.startsWith('ready'))).toEqual([
      'ready with a signal',
      'ready with a signal',
      'ready with a signal',
    ])
  })
})

describe('the limits of a request', () => {
  it.each<[RequestOptions, object, number]>([
    [{}, {}, 1000],
    [{}, { timeout: 50 }, 50],
    [{ timeoutMs: 7 }, { timeout: 50 }, 7],
    [{ timeoutMs: 0 }, { timeout: 50 }, 0],
  ])('%j with the entry %j: %i ms', async (options, entry, timeoutMs) => {
    const made = setup({ answers: [OK], entry })
    await made.send('tools/call', { ...options, totalMs: 9 })
    expect(made.limits[0]).toMatchObject({ timeoutMs, totalMs: 9, headers: { 'mcp-param': 't' } })
  })

  it('has the headers of a tool with its calls only', async () => {
    const made = setup({ answers: [OK, OK] })
    await made.send('prompts/get')
    await made.send('tools/call', {}, {})
    expect(made.limits.map(({ headers }) => headers)).toEqual([undefined, undefined])
  })
})

describe('calls of one server', () => {
  /** How many of three calls run at once. */
  async function atOnce(given: Partial<Setup>, options: RequestOptions = {}, method = 'tools/call') {
    let running = 0
    let most = 0
    const slow = async () => {
      most = Math.max(most, ++running)
      await new Promise((done) => setTimeout(done, 2))
      running--
      return OK
    }
    const { send } = setup({ answers: [slow, slow, slow], ...given })
    await Promise.all([1, 2, 3].map(() => send(method, options)))
    return most
  }

  it.each<[string, Partial<Setup>, RequestOptions, string, boolean]>([
    ['of a tool without hints', {}, {}, 'tools/call', false],
    ['of a tool that only reads', { tool: READS }, {}, 'tools/call', true],
    ['of a tool that the entry names', { entry: { concurrentTools: ['x', 't*'] } }, {}, 'tools/call', true],
    [
      'of a tool that the entry does not name',
      { entry: { concurrentTools: ['x'] } },
      {},
      'tools/call',
      false,
    ],
    ['that the caller says may', {}, { concurrent: true }, 'tools/call', true],
    ['that the caller says may not', { tool: READS }, { concurrent: false }, 'tools/call', false],
    ['that call no tool', {}, {}, 'resources/read', true],
  ])('%s run together: %s', async (_, given, options, method, together) => {
    expect(await atOnce(given, options, method)).toBe(together ? 3 : 1)
  })

  it('go on after one that failed', async () => {
    const { send } = setup({ answers: [new JsonRpcError(-1, 'x'), OK] })
    const [first, second] = await Promise.allSettled([send(), send()])
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
  })

  it('tell whether the tool itself failed', async () => {
    const { send, told } = setup({ answers: [{ content: [], isError: true }] })
    await send()
    expect(told[1]).toMatchObject({ outcome: 'tool-error' })
  })

  it('are told to the board that sent them', async () => {
    const { send, told } = setup({ answers: [OK] })
    const own: string[] = []
    const events = new Events()
    events.on('call-ended', ({ call }) => void own.push(`ended ${call}`))
    await send('tools/call', { sender: { events, nextCall: () => 42 } })
    expect([own, told]).toEqual([['ended 42'], []])
  })
})
