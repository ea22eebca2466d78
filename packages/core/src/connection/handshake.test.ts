// Which era a server is met in: what is asked, in which order, and what each answer, refusal or silence leads to.
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { IoError, PlugboardError } from '../errors.ts'
import { systemHost } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { HttpStatusError } from '../transports/transport-errors.ts'
import { ClosedOnProbe, type Handshake, handshake } from './handshake.ts'
import type { JsonRpcPeer } from './json-rpc.ts'
import { BadResponse, ChannelClosed, JsonRpcError } from './request-errors.ts'
import { type Json, RPC } from './server-info.ts'

interface Asked {
  readonly method: string
  readonly params: Json
  readonly options: { readonly signal: AbortSignal }
  answer(result: Json): void
  fail(error: unknown): void
}

/** A handshake whose answers and timers the test holds. */
function begun(more: Partial<Handshake> & { readonly hasPerRequestStream?: boolean } = {}) {
  const { hasPerRequestStream = false, ...given } = more
  const asked: Asked[] = []
  const timers: { readonly ms: number; readonly fire: () => void }[] = []
  const stop = new AbortController()
  const wire = {
    transport: { hasPerRequestStream },
    request: (method: string, params: Json, options: Asked['options']) =>
      new Promise<Json>((answer, fail) => asked.push({ method, params, options, answer, fail })),
    // Only the members of a peer that are used here.
  } as unknown as JsonRpcPeer
  const host = systemHost({
    backgroundTimer: (ms, fire) => {
      const timer = { ms, fire }
      timers.push(timer)
      return () => {
        if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1)
      }
    },
  })
  const outcome = handshake({
    wire,
    host,
    clientInfo: { name: 'test', version: '1' },
    capabilities: { roots: {} },
    envelope: { envelope: true },
    known: undefined,
    timeoutMs: 1234,
    signal: stop.signal,
    ...given,
  })
  outcome.catch(() => undefined)
  const soon = () => new Promise((done) => setImmediate(done))
  return {
    asked,
    timers,
    stop,
    outcome,
    soon,
    methods: () => asked.map(({ method }) => method),
    /** The timer of that many milliseconds comes. */
    pass: async (ms: number) => {
      await soon()
      const at = timers.findIndex((timer) => timer.ms === ms)
      if (at !== -1) timers.splice(at, 1)[0]?.fire()
      await soon()
    },
  }
}

const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, instructions: 'i' }
const GREETED = { protocolVersion: '2025-06-18', capabilities: { prompts: {} }, serverInfo: { name: 'n' } }
const LEGACY = {
  era: 'legacy',
  version: '2025-06-18',
  capabilities: { prompts: {} },
  serverInfo: { name: 'n' },
  instructions: undefined,
}
const MODERN = {
  era: 'modern',
  version: '2026-07-28',
  capabilities: { tools: {} },
  instructions: 'i',
  discovery: DISCOVERED,
}
const { probeMs } = CONNECT_LIMITS
const [PROBE, GREETING] = ['server/discover', 'initialize']

describe('a server of a known era', () => {
  it('is not asked again when it is modern', async () => {
    const { outcome, asked } = begun({ known: DISCOVERED })
    expect(await outcome).toMatchObject(MODERN)
    expect(asked).toEqual([])
  })

  it.each<[unknown, unknown]>([
    [GREETED, LEGACY],
    [
      { ...GREETED, instructions: 'i' },
      { ...LEGACY, instructions: 'i' },
    ],
    [{ ...GREETED, instructions: 7 }, LEGACY],
    [{ ...GREETED, protocolVersion: 7 }, 'its initialize result names no protocol version'],
    [{ ...GREETED, protocolVersion: '2026-07-28' }, 'it speaks protocol version "2026-07-28"'],
    [
      { ...GREETED, protocolVersion: 'x'.repeat(99) },
      `it speaks protocol version ${`"${'x'.repeat(99)}`.slice(0, 40)}`,
    ],
  ])('is greeted when it is legacy: %j', async (result, expected) => {
    const { outcome, asked } = begun({ known: 'legacy' })
    expect(asked).toMatchObject([
      {
        method: GREETING,
        params: {
          protocolVersion: '2025-11-25',
          capabilities: { roots: {} },
          clientInfo: { name: 'test', version: '1' },
        },
        options: { timeoutMs: 1234, background: true },
      },
    ])
    asked[0]?.answer(result as Json)
    if (typeof expected !== 'string') expect(await outcome).toEqual(expected)
    else await expect(outcome).rejects.toEqual(new BadResponse(expected))
  })
})

describe('a server of an unknown era', () => {
  it('is modern when it says so, and nothing is left of the question', async () => {
    const { outcome, asked, timers, stop } = begun()
    expect(asked).toMatchObject([
      {
        method: PROBE,
        params: { _meta: { envelope: true } },
        options: { timeoutMs: 1234, quiet: true, background: true },
      },
    ])
    expect(timers).toMatchObject([{ ms: probeMs }])
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
    asked[0]?.answer(DISCOVERED)
    expect(await outcome).toMatchObject(MODERN)
    expect(timers).toEqual([])
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    expect(asked[0]?.options.signal.aborted).toBe(true)
  })

  it.each<[string, (asked: Asked | undefined) => void]>([
    ['another version', (asked) => asked?.answer({ ...DISCOVERED, supportedVersions: ['2027-01-01'] })],
    ['no discovery', (asked) => asked?.answer({})],
    ['no such method', (asked) => asked?.fail(new JsonRpcError(-32601, 'x'))],
    ['a bad request', (asked) => asked?.fail(new HttpStatusError(400, '', ''))],
    ['another code that names versions', (asked) => asked?.fail(unsupported(['2026-07-28'], -32000))],
    ['no version that we have', (asked) => asked?.fail(unsupported(['2027-01-01']))],
    ['no list of versions', (asked) => asked?.fail(unsupported('2026-07-28'))],
    ['no versions', (asked) => asked?.fail(new JsonRpcError(RPC.unsupportedVersion, 'x'))],
    ['another error', (asked) => asked?.fail(new PlugboardError('IO_ERROR', 'x', { stage: 'connect' }))],
  ])('is greeted as a legacy one after %s', async (_, reply) => {
    const { outcome, asked, methods, soon } = begun()
    reply(asked[0])
    await soon()
    expect(methods()).toEqual([PROBE, GREETING])
    asked[1]?.answer(GREETED)
    expect(await outcome).toEqual(LEGACY)
  })

  it.each<[string, unknown]>([
    ['401', new HttpStatusError(401, '', '')],
    ['403', new HttpStatusError(403, '', '')],
    ['a login that failed', new PlugboardError('AUTH_REQUIRED', 'x', { stage: 'auth' })],
    ['no connection', new IoError('x', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) })],
  ])('is not greeted after %s', async (_, error) => {
    const { outcome, asked, methods } = begun()
    asked[0]?.fail(error)
    await expect(outcome).rejects.toBe(error)
    expect(methods()).toEqual([PROBE])
  })

  it('that closes on the question, at once or later, is started again', async () => {
    const first = begun()
    first.asked[0]?.fail(new ChannelClosed(true))
    await expect(first.outcome).rejects.toBeInstanceOf(ClosedOnProbe)
    const later = begun()
    await later.pass(probeMs)
    later.asked[1]?.fail(new ChannelClosed(true))
    await expect(later.outcome).rejects.toBeInstanceOf(ClosedOnProbe)
    expect(later.timers).toEqual([])
  })

  it('that refuses a version which it names is asked once more', async () => {
    const { outcome, asked, methods, soon } = begun()
    asked[0]?.fail(unsupported(['x', '2026-07-28']))
    await soon()
    expect(methods()).toEqual([PROBE, PROBE])
    asked[1]?.answer(DISCOVERED)
    expect(await outcome).toMatchObject(MODERN)
    const again = begun()
    for (const at of [0, 1]) {
      again.asked[at]?.fail(unsupported(['2026-07-28']))
      await again.soon()
    }
    expect(again.methods()).toEqual([PROBE, PROBE, GREETING])
  })

  it('is given up with the reason of its caller', async () => {
    const { asked, stop } = begun()
    stop.abort(new Error('enough'))
    expect(asked[0]?.options.signal.reason).toEqual(new Error('enough'))
  })
})

describe('a server that is slow to answer', () => {
  const slow = async (more: Parameters<typeof begun>[0] = {}) => {
    const one = begun(more)
    await one.pass(probeMs)
    expect(one.methods()).toEqual([PROBE, GREETING])
    return one
  }

  it('is legacy when it only takes the greeting', async () => {
    const { outcome, asked, pass, timers } = await slow()
    asked[1]?.answer(GREETED)
    await pass(0)
    expect(await outcome).toEqual(LEGACY)
    expect(timers.filter(({ ms }) => ms === 0)).toEqual([])
  })

  it('is legacy in this session when it takes both, and known as modern', async () => {
    const { outcome, asked } = await slow()
    asked[1]?.answer(GREETED)
    asked[0]?.answer(DISCOVERED)
    expect(await outcome).toEqual({ ...LEGACY, discovery: DISCOVERED })
    const other = await slow()
    other.asked[0]?.answer(DISCOVERED)
    await other.soon()
    other.asked[1]?.answer(GREETED)
    expect(await other.outcome).toEqual({ ...LEGACY, discovery: DISCOVERED })
  })

  it.each<[string, (one: Awaited<ReturnType<typeof slow>>) => unknown]>([
    ['refuses', ({ asked }) => asked[1]?.fail(new JsonRpcError(-32601, 'x'))],
    ['ignores', ({ pass }) => pass(probeMs)],
  ])('is modern when it says so and %s the greeting', async (_, then) => {
    const one = await slow()
    one.asked[0]?.answer(DISCOVERED)
    await one.soon()
    await then(one)
    expect(await one.outcome).toMatchObject(MODERN)
    expect(one.timers).toEqual([])
  })

  it('is modern at once where each request has a stream of its own', async () => {
    const { outcome, asked } = await slow({ hasPerRequestStream: true })
    asked[0]?.answer(DISCOVERED)
    expect(await outcome).toMatchObject(MODERN)
  })

  it('is what its greeting says when the question is refused later', async () => {
    const { outcome, asked, soon, pass } = await slow()
    asked[0]?.fail(new JsonRpcError(-32601, 'x'))
    await soon()
    asked[1]?.answer(GREETED)
    await pass(0)
    expect(await outcome).toEqual(LEGACY)
  })
})

function unsupported(supported: unknown, code: number = RPC.unsupportedVersion): JsonRpcError {
  return new JsonRpcError(code, 'x', { supported })
}
