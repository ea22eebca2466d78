import { setTimeout as pause } from 'node:timers/promises'
import { type Span, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { board, fixture, recorded, textOf, until } from './fixtures/kit.ts'

/** A call of a program that traces takes every step one by one; any other call is sent directly. */
const WAYS = ['sent directly', 'step by step'] as const
function take(way: (typeof WAYS)[number]): void {
  if (way === 'sent directly') return
  const span = { spanContext: () => ({ traceId: '', spanId: '', traceFlags: 0 }), end: () => undefined }
  trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan: () => span as unknown as Span,
      startActiveSpan: () => undefined as never,
    }),
  })
}
afterEach(() => trace.disable())

const write = (n: number, ms: number) => ({ name: 'write', arguments: { n, ms } })

describe.each(WAYS)('the time a call may take (%s)', (way) => {
  beforeEach(() => take(way))

  it("ends with the entry's timeout, and the server hears of it", async () => {
    const raw = fixture('raw', 'raw', { entry: { timeout: 150 } })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    await expect(
      made.link.request('raw', 'tools/call', { name: 'slow', arguments: { ms: 5000 } }),
    ).rejects.toMatchObject({
      code: 'TIMEOUT',
      stage: 'call',
    })
    await until('the server is told', () => raw.seenText().includes('notifications/cancelled'))
  })

  it('ends though the clock is set back meanwhile', async () => {
    const real = systemHost()
    let setBack = 0
    const made = await board({
      servers: [fixture('raw', 'raw', { entry: { timeout: 200 } }).server],
      host: { ...real, now: () => real.now() - setBack },
    })
    await made.ready()
    const call = made.link.request('raw', 'tools/call', { name: 'slow', arguments: { ms: 15_000 } })
    setBack = 3_600_000
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('is MCP_TOOL_TIMEOUT without one', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server], env: { MCP_TOOL_TIMEOUT: '400' } })
    await made.ready()
    const call = made.link.request('raw', 'tools/call', { name: 'slow', arguments: { ms: 5000 } })
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('is extended by progress', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    const events = recorded(made)
    const steps: number[] = []
    const result = await made.link.request(
      'raw',
      'tools/call',
      { name: 'slow', arguments: { ms: 3000, progress: true, everyMs: 50 } },
      { timeoutMs: 1500, onProgress: ({ progress }) => steps.push(progress) },
    )
    expect(textOf(result)).toBe('done')
    expect(steps.length).toBeGreaterThan(3)
    expect(events.filter(({ type }) => type === 'progress')).toHaveLength(steps.length)
  })

  it('is not extended past its cap, however much progress there is', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    await made.ready()
    const call = made.link.request(
      'raw',
      'tools/call',
      { name: 'slow', arguments: { ms: 8000, progress: true } },
      { timeoutMs: 400, totalMs: 900 },
    )
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' })
  })
})

describe.each(WAYS)('cancelling (%s)', (way) => {
  beforeEach(() => take(way))

  it('reaches the server with the id of the call', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    const stop = new AbortController()
    const call = made.link.request(
      'raw',
      'tools/call',
      { name: 'slow', arguments: { ms: 5000 } },
      { signal: stop.signal },
    )
    await until('the call is there', () => raw.seenText().includes('tools/call'))
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until('the server is told', () => raw.seenText().includes('notifications/cancelled'))
    const { id } = raw.seen().find(({ method }) => method === 'tools/call') ?? {}
    expect(raw.seen().find(({ method }) => method === 'notifications/cancelled')?.params?.requestId).toBe(id)
  })

  it('is free before the call was sent', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    const call = made.link.request('raw', 'tools/call', { name: 'echo' }, { signal: AbortSignal.abort() })
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})

describe.each(WAYS)('calls to one server (%s)', (way) => {
  beforeEach(() => take(way))

  it('run beside each other when the tool only reads', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    const slow = made.link.request('raw', 'tools/call', { name: 'slow', arguments: { ms: 3000 } })
    slow.catch(() => undefined)
    expect(textOf(await made.link.request('raw', 'tools/call', { name: 'echo', arguments: {} }))).toBe('{}')
    await made.close()
  })

  it('run one at a time in their order otherwise', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    const ends: string[] = []
    await Promise.all(
      [write(1, 80), write(2, 0), write(3, 20)].map(async (params) =>
        ends.push(textOf(await made.link.request('raw', 'tools/call', params))),
      ),
    )
    expect(ends).toEqual(['wrote 1', 'wrote 2', 'wrote 3'])
  })

  it('do not wait for one that was cancelled', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    const stop = new AbortController()
    const stuck = made.link.request('raw', 'tools/call', write(1, 60_000), { signal: stop.signal })
    const queued = made.link.request('raw', 'tools/call', write(2, 0))
    await pause(50)
    stop.abort()
    await expect(stuck).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(textOf(await queued)).toBe('wrote 2')
  })

  it('to different servers do not wait for each other', async () => {
    const made = await board({ servers: [fixture('a', 'raw').server, fixture('b', 'raw').server] })
    await made.ready()
    const stuck = made.link.request('a', 'tools/call', write(1, 60_000))
    stuck.catch(() => undefined)
    expect(textOf(await made.link.request('b', 'tools/call', write(2, 0)))).toBe('wrote 2')
    await made.close()
    await expect(stuck).rejects.toMatchObject({ server: 'a' })
  })
})

describe.each(WAYS)('events of calls (%s)', (way) => {
  beforeEach(() => take(way))

  it('say when one starts and how it ends', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    await made.ready()
    const events = recorded(made)
    await made.link.request('raw', 'tools/call', { name: 'echo', arguments: {} })
    await made.link.request('raw', 'nonsense').catch(() => undefined)
    const calls = events.filter(({ type }) => type.startsWith('call-'))
    expect(calls).toMatchObject([
      { type: 'call-started', server: 'raw', method: 'tools/call', name: 'echo' },
      { type: 'call-ended', outcome: 'ok', name: 'echo' },
      { type: 'call-started', method: 'nonsense' },
      { type: 'call-ended', outcome: 'error', error: { code: 'TOOL_ERROR' } },
    ])
  })
})
