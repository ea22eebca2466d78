// The faults of real servers, each in a real process.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Board } from '../board.ts'
import { isRunning } from '../files/running.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { board, configured, fixture, heldHost, recorded, textOf, until } from './fixtures/kit.ts'

const only = (made: Board) => made.servers()[0]
/** The time to come up, distinct from all other waits. */
const LIMIT_MS = 30_001

describe('a server that does not come up', () => {
  it.each(['connect', 'tools'])('names stage "%s" when it hangs there', async (stage) => {
    const { host, pass } = heldHost(LIMIT_MS)
    const raw = fixture('raw', 'raw', { fault: `hang:${stage}` })
    const made = await board({ servers: [raw.server], host, timeoutMs: LIMIT_MS })
    const ready = made.ready()
    const unanswered = stage === 'connect' ? 'initialize' : 'tools/list'
    await until('it hangs', () => raw.seen().some(({ method }) => method === unanswered))
    pass()
    await ready
    expect(only(made)).toMatchObject({ state: 'failed', stage, error: { code: 'TIMEOUT', stage } })
  })

  it.each(['resources', 'prompts'])('is usable all the same when only its %s hang', async (list) => {
    const { host, pass } = heldHost(CONNECT_LIMITS.sideListsMs)
    const raw = fixture('raw', 'raw', { fault: `hang:${list}` })
    const made = await board({ servers: [raw.server], host })
    const ready = made.ready()
    await until('it has been waited for', () => {
      pass()
      return only(made)?.state === 'connected'
    })
    await ready
    expect(only(made)).toMatchObject({ state: 'connected', tools: 6, [list]: 0 })
  })

  it('says why in its own last words when it exits at once', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'exit-at-once' }).server] })
    await made.ready()
    expect(only(made)).toMatchObject({ state: 'failed', stage: 'connect', error: { code: 'INIT_ERROR' } })
    expect(only(made)?.error?.message).toContain('no licence found')
  })

  it('fails at stage "connect" when it exits before answering', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'exit-before-answer' }).server] })
    await made.ready()
    expect(only(made)).toMatchObject({ state: 'failed', stage: 'connect' })
  })

  it('carries the refusal of initialize', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'refuse' }).server] })
    await made.ready()
    expect(only(made)?.error).toMatchObject({ code: 'INIT_ERROR', stage: 'connect', cause: { code: -32000 } })
  })

  it('is not up without its tools, but without its prompts it is', async () => {
    const made = await board({
      servers: [
        fixture('a', 'raw', { fault: 'tools-error' }).server,
        fixture('b', 'raw', { fault: 'prompts-error' }).server,
      ],
    })
    await made.ready()
    expect(made.servers()).toMatchObject([
      { state: 'failed', stage: 'tools', error: { code: 'INIT_ERROR' } },
      { state: 'connected', tools: 6, prompts: 0 },
    ])
    expect(made.link.connection('b').catalog.prompts.error).toMatchObject({ code: -32603 })
  })

  it('fails at stage "transport" or "connect" when its command does not exist', async () => {
    const entry = { type: 'stdio', command: '/does/not/exist', args: [], env: {} } as const
    const made = await board({ servers: [configured('gone', entry)] })
    await made.ready()
    expect(only(made)?.state).toBe('failed')
    expect(['transport', 'connect']).toContain(only(made)?.stage)
  })

  it('does not delay or fail the others', async () => {
    const healthy = Array.from({ length: 3 }, (_, i) => fixture(`ok${i}`, 'raw'))
    const { host, pass } = heldHost(LIMIT_MS)
    const made = await board({
      servers: [
        fixture('hangs', 'raw', { fault: 'hang:connect' }).server,
        configured('dead', { type: 'http', url: 'http://127.0.0.1:9/mcp', headers: {} }),
        ...healthy.map(({ server }) => server),
      ],
      host,
      timeoutMs: LIMIT_MS,
    })
    const ready = made.ready()
    await until('the healthy ones are up, and the dead one is known to be', () =>
      made
        .servers()
        .every(({ name, state }) => name === 'hangs' || state === (name === 'dead' ? 'failed' : 'connected')),
    )
    expect(made.servers()[0]?.state).toBe('pending')
    expect(textOf(await made.link.request('ok0', 'tools/call', { name: 'echo', arguments: {} }))).toBe('{}')
    pass()
    await ready
    expect(
      made
        .servers()
        .map(({ state }) => state)
        .slice(0, 2),
    ).toEqual(['failed', 'failed'])
    expect(made.servers()[1]?.error).toMatchObject({ code: 'INIT_ERROR', stage: 'connect' })
  })
})

describe('a server that is lost', () => {
  it('comes back by itself, its tools listed all the while and marked unavailable', async () => {
    const raw = fixture('raw', 'raw', { entry: { reconnect: { maxAttempts: 3, delayMs: 200 } } })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    process.kill(raw.pids().at(-1) ?? 0, 'SIGKILL')
    await until('the loss is noticed', () => only(made)?.state === 'pending')
    expect(only(made)).toMatchObject({ attempt: 1, of: 3 })
    expect(made.link.definitions()[0]).toMatchObject({ tool: { name: 'echo' }, available: false })
    await until('it is back', () => only(made)?.state === 'connected')
    expect(made.link.definitions()[0]).toMatchObject({ tool: { name: 'echo' }, available: true })
    expect(raw.pids()).toHaveLength(2)
  })

  it('is failed for now when it does not stay after three more attempts', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    for (let round = 0; round < 4; round++) {
      await until('it is up', () => only(made)?.state === 'connected' && raw.pids().length === round + 1)
      process.kill(raw.pids().at(-1) ?? 0, 'SIGKILL')
      await until('it is noticed', () => only(made)?.state !== 'connected')
    }
    await until('it is given up', () => only(made)?.state === 'failed')
    expect(raw.pids()).toHaveLength(4)
  })

  it('is tried again when a caller asks for it', async () => {
    const raw = fixture('raw', 'raw', { entry: { reconnect: { maxAttempts: 0 } } })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    process.kill(raw.pids().at(-1) ?? 0, 'SIGKILL')
    await until('it failed', () => only(made)?.state === 'failed')
    expect(await made.reconnect('raw')).toMatchObject({ state: 'connected' })
  })

  it('is started once, however many want it afresh or call it meanwhile', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    const echo = () => made.link.request('raw', 'tools/call', { name: 'echo', arguments: {} })
    const again = [made.reconnect('raw'), echo(), made.reconnect('raw'), echo()]
    await Promise.all(again)
    expect(raw.pids()).toHaveLength(2)
    await made.close()
    expect(raw.pids().some(isRunning)).toBe(false)
  })

  it('is not brought back by a board that closed meanwhile', async () => {
    const raw = fixture('raw', 'raw', { entry: { reconnect: { maxAttempts: 3, delayMs: 300 } } })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    process.kill(raw.pids().at(-1) ?? 0, 'SIGKILL')
    await until('the loss is noticed', () => only(made)?.state === 'pending')
    await made.close()
    await pause(500)
    expect(raw.pids()).toHaveLength(1)
    expect(raw.pids().some(isRunning)).toBe(false)
  })
})

describe('a call that was under way when the server was lost', () => {
  it('is made again when the tool only reads', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    expect(textOf(await made.link.request('raw', 'tools/call', { name: 'die' }))).toBe('survived')
    expect(raw.pids()).toHaveLength(2)
  })

  it('is not made again when that might do it twice: its outcome is unknown', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    await expect(made.link.request('raw', 'tools/call', { name: 'die-writing' })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      server: 'raw',
      stage: 'call',
    })
    await until('it is back', () => only(made)?.state === 'connected')
    expect(raw.seen().filter(({ method }) => method === 'tools/call')).toHaveLength(1)
  })
})

describe('a server that misbehaves', () => {
  it('may answer twice or without a request: the first answer counts and the rest is logged', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    const events = recorded(made)
    expect(textOf(await made.link.request('raw', 'tools/call', { name: 'twice' }))).toBe('first')
    expect(textOf(await made.link.request('raw', 'tools/call', { name: 'stray' }))).toBe('ok')
    const odd = () => events.filter((event) => event.type === 'log' && event.line.text.includes('not open'))
    await until('both are logged', () => odd().length === 2)
    expect(only(made)?.state).toBe('connected')
  })

  it('may ask for what we do not serve: it is told so, and goes on', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    const stop = new AbortController()
    const call = made.link.request('raw', 'tools/call', { name: 'ask' }, { signal: stop.signal })
    await until('both questions are answered', () => raw.seen().filter(({ error }) => error).length === 2)
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(raw.seen().flatMap(({ error }) => (error ? [error] : []))).toMatchObject([
      { code: -32601 },
      { code: -32601 },
    ])
    expect(raw.seen().find(({ method }) => method === 'initialize')?.params?.capabilities).toEqual({})
  })
})
