// What a peer makes of each message: answers, progress, cancellations and requests, also odd ones, and what it holds until when.
import { describe, expect, it } from 'vitest'
import { AnswerTooLarge } from '../errors.ts'
import { type Host, systemHost } from '../host.ts'
import { CALL_LIMITS } from '../limits.ts'
import { RPC } from '../protocol.ts'
import { type JsonRpcHooks, JsonRpcPeer } from './json-rpc.ts'
import { JsonRpcError } from './request-errors.ts'
import type { Json, Transport } from './server-info.ts'

interface Timer {
  readonly ms: number
  readonly kind: 'awaited' | 'background'
  act(): void
}

/** A peer on a wire that a test holds in its hands, with a clock that a test sets. */
function wired(hooks: Partial<JsonRpcHooks> = {}, more: Partial<Transport> = {}) {
  const sent: Json[] = []
  const signals: (AbortSignal | undefined)[] = []
  const seen: string[] = []
  const timers = new Set<Timer>()
  let now = 1_000_000
  const timer = (kind: Timer['kind']) => (ms: number, act: () => void) => {
    const made = { ms, kind, act }
    timers.add(made)
    return () => void timers.delete(made)
  }
  const host = {
    ...systemHost(),
    now: () => now,
    awaitedTimer: timer('awaited'),
    backgroundTimer: timer('background'),
  } as unknown as Host
  let fails: Error | undefined
  const transport = {
    start: async () => undefined,
    send: async (message: unknown, options?: { requestSignal?: AbortSignal }) => {
      if (fails) throw fails
      sent.push(message as Json)
      signals.push(options?.requestSignal)
    },
    close: async () => undefined,
    ...more,
  } as unknown as Transport
  const peer = new JsonRpcPeer(transport, host, {
    request: () => ({}),
    notification: (method, params) => seen.push(`${method} ${JSON.stringify(params)}`),
    closed: () => seen.push('closed'),
    trouble: (error) => seen.push(`trouble ${error}`),
    odd: (text) => seen.push(`odd ${text}`),
    ...hooks,
  })
  const hear = (message: object) => transport.onmessage?.({ jsonrpc: '2.0', ...message } as never)
  /** Runs the timers whose time has come. */
  const at = (ms: number) => {
    now = 1_000_000 + ms
    for (const one of [...timers]) {
      timers.delete(one)
      one.act()
    }
  }
  const ask = (options: Partial<Parameters<JsonRpcPeer['request']>[2]> = {}) => {
    const outcome = { text: 'open' }
    peer.request('tools/call', {}, { timeoutMs: 1000, ...options }).then(
      (result) => {
        outcome.text = JSON.stringify(result)
      },
      (error: Error) => {
        outcome.text = `${error.name}: ${error.message}`
      },
    )
    return outcome
  }
  return {
    peer,
    sent,
    signals,
    seen,
    timers,
    hear,
    at,
    ask,
    transport,
    fail: (error?: Error) => (fails = error),
  }
}
const soon = () => new Promise((done) => setImmediate(done))

describe('an answer', () => {
  it.each([
    [{ id: 1, result: { a: 1 } }, '{"a":1}'],
    [{ id: '1', result: { a: 1 } }, '{"a":1}'],
    [{ id: 1, error: { code: 5, message: 'no' } }, 'JsonRpcError: no'],
    [{ id: 1, error: { code: 'x' } }, 'JsonRpcError: Unknown error'],
    [{ id: 1, result: 'x' }, 'JsonRpcError: The answer has neither a result nor an error'],
    [{ id: 1, error: 'x' }, 'JsonRpcError: The answer has neither a result nor an error'],
    [{ id: 2, result: {} }, 'open'],
    [{ id: null, result: {} }, 'open'],
    [{ result: {} }, 'open'],
  ])('%j is %s', async (message, wanted) => {
    const { hear, ask, seen, peer } = wired()
    const outcome = ask()
    hear(message)
    await soon()
    expect(outcome.text).toBe(wanted)
    expect(seen).toEqual(wanted === 'open' ? [expect.stringContaining('odd an answer to a request')] : [])
    expect(peer.inFlight).toBe(wanted === 'open' ? 1 : 0)
    expect([peer.heardCount, peer.lastHeard]).toEqual([1, 1_000_000])
  })

  it('with a code keeps it, and without one is an internal error', async () => {
    const { hear, peer } = wired()
    const codes: unknown[] = []
    for (const code of [5, 'x']) {
      const failed = peer
        .request('m', {}, { timeoutMs: 1000 })
        .catch((error: JsonRpcError) => codes.push(error.code))
      hear({ id: codes.length + 1, error: { code, message: 'no' } })
      await failed
    }
    expect(codes).toEqual([5, RPC.internal])
  })

  it('that was too large fails its own request; one that cannot be told fails all that wait', async () => {
    const tooLarge = new AnswerTooLarge('one', 5)
    const own = wired()
    const [one, two] = [own.ask(), own.ask()]
    own.hear({ id: 1, error: { code: 1, message: 'x', data: tooLarge } })
    await soon()
    expect([one.text.split(':')[0], two.text]).toEqual([expect.stringContaining('TooLarge'), 'open'])
    own.hear({ id: 9, error: { code: 1, message: 'x', data: tooLarge } })
    await soon()
    expect([two.text, own.seen]).toEqual(['open', []])
    const any = wired()
    const [first, second, endless] = [any.ask(), any.ask(), any.ask({ timeoutMs: 0 })]
    any.hear({ error: { code: 1, message: 'x', data: tooLarge } })
    await soon()
    expect([first.text, second.text].every((text) => text.includes('TooLarge'))).toBe(true)
    expect(endless.text).toBe('open')
  })

  it('that is none of ours is passed over', () => {
    const { hear, seen, transport, peer } = wired()
    transport.onmessage?.('x' as never)
    hear({ id: {}, method: 'm' })
    expect(seen).toEqual(['odd a request "m" with an id that is neither number nor string'])
    expect(peer.heardCount).toBe(1)
  })
})

describe('progress', () => {
  it('reaches its request, as far as it says something', () => {
    const { hear, peer, seen } = wired()
    const told: unknown[] = []
    void peer.request('m', {}, { timeoutMs: 1000, onProgress: (progress) => told.push(progress) })
    const progress = (params: object) => hear({ method: 'notifications/progress', params })
    progress({ progressToken: 1, progress: 1 })
    progress({ progressToken: '1', progress: 2, total: 3, message: 'm' })
    progress({ progressToken: 1, progress: 3, total: 'x', message: 5 })
    progress({ progressToken: 1, progress: 'x' })
    progress({ progressToken: 9, progress: 1 })
    hear({ method: 'notifications/progress', params: 'x' })
    expect(told).toEqual([{ progress: 1 }, { progress: 2, total: 3, message: 'm' }, { progress: 3 }])
    expect(seen).toEqual([])
  })

  it('gives a request more time, up to its whole time', async () => {
    const { hear, ask, at } = wired()
    const outcome = ask({ timeoutMs: 1000, totalMs: 1500 })
    at(900)
    hear({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
    at(1000)
    await soon()
    expect(outcome.text).toBe('open')
    at(1499)
    await soon()
    expect(outcome.text).toBe('open')
    at(1500)
    await soon()
    expect(outcome.text).not.toBe('open')
  })
})

describe('a request of ours', () => {
  it('ends with its time, and its cancellation is sent', async () => {
    const { ask, at, sent, timers, peer } = wired()
    const outcome = ask()
    expect([...timers].map(({ kind }) => kind)).toEqual(['awaited'])
    at(999)
    await soon()
    expect(outcome.text).toBe('open')
    at(1000)
    await soon()
    expect(outcome.text).toContain('1000')
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(peer.inFlight).toBe(0)
  })

  it('that no one awaits does not hold the process', async () => {
    const { ask, timers, at } = wired()
    const [awaited, background] = [ask(), ask({ background: true })]
    expect([...timers].map(({ kind }) => kind).sort()).toEqual(['awaited', 'background'])
    const quiet = ask({ timeoutMs: 0 })
    expect(timers.size).toBe(2)
    at(1000)
    await soon()
    expect([awaited.text, background.text].includes('open')).toBe(false)
    expect(quiet.text).toBe('open')
  })

  it.each([
    ['legacy', {}, 'tools/call', false, ['notifications/cancelled']],
    ['a stream of its own', { hasPerRequestStream: true }, 'tools/call', true, []],
    [
      'a stream of its own that does not cancel',
      { hasPerRequestStream: true },
      'tools/call',
      false,
      ['notifications/cancelled'],
    ],
    ['without a stream', {}, 'tools/call', true, ['notifications/cancelled']],
    ['the handshake', { hasPerRequestStream: true }, 'initialize', false, []],
    ['the handshake without a stream', {}, 'initialize', false, []],
  ])('is cancelled: %s', async (_, more, method, byStream, wanted) => {
    const { peer, sent, signals } = wired({}, more as Partial<Transport>)
    peer.cancelByStream = byStream
    const stop = new AbortController()
    const outcome = peer
      .request(method, {}, { timeoutMs: 1000, signal: stop.signal })
      .catch((error: Error) => error.name)
    stop.abort()
    expect(await outcome).toBe('RequestAborted')
    await soon()
    expect(sent.slice(1).map((message) => message.method)).toEqual(wanted)
    expect(signals[0]?.aborted).toBe('hasPerRequestStream' in more ? true : undefined)
    const late = await peer
      .request('m', {}, { timeoutMs: 1, signal: stop.signal })
      .catch((error: Error) => error.name)
    expect(late).toBe('RequestAborted')
  })

  it('that could not be sent fails', async () => {
    const { ask, fail, timers } = wired()
    fail(new Error('no wire'))
    const outcome = ask()
    await soon()
    expect(outcome.text).toContain('no wire')
    expect([...timers].filter(({ kind }) => kind === 'background')).toEqual([])
  })

  it('fails when the connection is lost, with its reason, and none can be sent after', async () => {
    const { ask, transport, seen, peer } = wired()
    const outcome = ask()
    transport.onerror?.(new Error('why'))
    transport.onclose?.()
    transport.onclose?.()
    await soon()
    expect(outcome.text).toContain('ChannelClosed')
    expect(seen).toEqual(['trouble Error: why', 'closed'])
    expect([peer.closed, peer.lastTrouble]).toEqual([true, expect.objectContaining({ message: 'why' })])
    const late = ask()
    await soon()
    expect(late.text).toContain('ChannelClosed')
    await expect(peer.notify('m')).rejects.toThrow()
    transport.onmessage?.({ jsonrpc: '2.0', method: 'late' } as never)
    expect(seen).toHaveLength(2)
    const large = wired()
    const lost = large.ask()
    large.transport.onerror?.(new AnswerTooLarge('one', 5))
    large.transport.onclose?.()
    await soon()
    expect(lost.text).toContain('TooLarge')
  })
})

describe('a request of the peer', () => {
  it('is answered with a result, or with what went wrong', async () => {
    const { hear, sent } = wired({
      request: async (method) => {
        if (method === 'coded') throw new JsonRpcError(7, 'coded')
        if (method === 'plain') throw new Error('plain')
        if (method === 'odd') throw 'odd'
        return { method }
      },
    })
    for (const [id, method] of ['good', 'coded', 'plain', 'odd'].entries()) hear({ id, method })
    hear({ id: 'text', method: 'good', params: 'x' })
    await soon()
    expect(sent.sort((a, b) => String(a.id).localeCompare(String(b.id)))).toEqual([
      { jsonrpc: '2.0', id: 0, result: { method: 'good' } },
      { jsonrpc: '2.0', id: 1, error: { code: 7, message: 'coded' } },
      { jsonrpc: '2.0', id: 2, error: { code: RPC.internal, message: 'plain' } },
      { jsonrpc: '2.0', id: 3, error: { code: RPC.internal, message: 'Internal error' } },
      { jsonrpc: '2.0', id: 'text', result: { method: 'good' } },
    ])
  })

  it('that is cancelled, or whose connection is lost, is not answered', async () => {
    const given: AbortSignal[] = []
    const finish: (() => void)[] = []
    const { hear, sent, seen, transport } = wired({
      request: (_method, _params, signal) => {
        given.push(signal)
        return new Promise((done) => finish.push(() => done({})))
      },
    })
    hear({ id: 1, method: 'm' })
    hear({ id: 2, method: 'm' })
    hear({ method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(given.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(seen).toEqual([])
    // What is not open here is for others to hear.
    hear({ method: 'notifications/cancelled', params: { requestId: 9 } })
    expect(seen).toEqual(['notifications/cancelled {"requestId":9}'])
    finish[0]?.()
    await soon()
    expect(sent).toEqual([])
    transport.onclose?.()
    expect(given.map(({ aborted }) => aborted)).toEqual([true, true])
    finish[1]?.()
    await soon()
    expect(sent).toEqual([])
  })

  it('is one of so many, has its own id, and none at all in an era without requests', async () => {
    const { hear, sent, seen, peer } = wired({ request: () => new Promise(() => undefined) })
    for (let id = 0; id < CALL_LIMITS.inbound; id++) hear({ id, method: 'm' })
    expect(sent).toEqual([])
    hear({ id: 'more', method: 'm' })
    hear({ id: 0, method: 'm' })
    await soon()
    expect(sent.map(({ id, error }) => [id, error !== undefined])).toEqual([
      ['more', true],
      [0, true],
    ])
    expect(seen).toHaveLength(2)
    peer.serves = false
    hear({ id: 'x', method: 'm' })
    await soon()
    expect([sent.length, seen.at(-1)]).toEqual([2, expect.stringContaining('does not have')])
  })

  it('that takes us long gives our own requests more time', async () => {
    let finish: () => void = () => undefined
    const { hear, ask, at } = wired({
      request: () =>
        new Promise((done) => {
          finish = () => done({})
        }),
    })
    const outcome = ask()
    at(500)
    hear({ id: 1, method: 'm' })
    at(500 + CALL_LIMITS.thinkingMs + 1000)
    await soon()
    expect(outcome.text).toBe('open')
    finish()
    await soon()
    at(500 + CALL_LIMITS.thinkingMs + 1000 + 499)
    await soon()
    expect(outcome.text).toBe('open')
    at(500 + CALL_LIMITS.thinkingMs + 1000 + 501)
    await soon()
    expect(outcome.text).not.toBe('open')
  })
})
