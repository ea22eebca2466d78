import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { RequestTimedOut } from '../async/wait-errors.ts'
import { AnswerTooLarge } from '../errors.ts'
import { systemHost } from '../host.ts'
import { linkedPair } from '../transports/linked-pair.ts'
import { type JsonRpcHooks, JsonRpcPeer } from './json-rpc.ts'
import type { Json, Transport } from './server-info.ts'

async function wired(request: JsonRpcHooks['request'] = () => ({}), more: Partial<JsonRpcHooks> = {}) {
  const [near, far] = linkedPair()
  const wire = new JsonRpcPeer(near, systemHost(), {
    request,
    notification: () => undefined,
    closed: () => undefined,
    trouble: () => undefined,
    odd: () => undefined,
    ...more,
  })
  await wire.start()
  await far.start()
  return { wire, far }
}

/** The peer sends requests without end and never responds. */
function flood(far: Transport, method: string): () => void {
  let over = false
  let id = 0
  const more = () => {
    if (over) return
    for (let n = 0; n < 50; n++) void far.send({ jsonrpc: '2.0', id: `q${++id}`, method })
    setImmediate(more)
  }
  more()
  return () => {
    over = true
  }
}

describe('the timeout of a request', () => {
  it.each(['ping', 'roots/list'])('comes though the peer floods us with %s', async (method) => {
    const { wire, far } = await wired(async () => {
      await pause(1)
      return {}
    })
    const stop = flood(far, method)
    const began = Date.now()
    await expect(wire.request('tools/call', {}, { timeoutMs: 400 })).rejects.toBeInstanceOf(RequestTimedOut)
    stop()
    // Bounds, not claims: without the limit every request of the peer adds a whole new timeout, for ever.
    expect(Date.now() - began).toBeLessThan(20_000)
    await wire.close()
  })

  it('does not run while the peer waits for an answer of ours', async () => {
    const { wire, far } = await wired(async () => {
      await pause(600)
      return {}
    })
    far.onmessage = (message) => {
      if ('method' in message && 'id' in message)
        void far.send({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} })
      else if ('id' in message) void far.send({ jsonrpc: '2.0', id: 1, result: { done: true } })
    }
    await expect(wire.request('tools/call', {}, { timeoutMs: 300 })).resolves.toEqual({ done: true })
    await wire.close()
  })
})

describe('an answer that was too long', () => {
  const skipped = (id?: number | string): Json => ({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code: -32603, message: 'too long', data: new AnswerTooLarge('s', 1) },
  })

  it('fails its own request, and no other', async () => {
    const { wire, far } = await wired()
    const first = wire.request('a', {}, { timeoutMs: 5000 })
    const second = wire.request('b', {}, { timeoutMs: 5000 })
    await far.send(skipped(1) as never)
    await expect(first).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
    await far.send({ jsonrpc: '2.0', id: 2, result: { n: 2 } })
    await expect(second).resolves.toEqual({ n: 2 })
    expect(wire.closed).toBe(false)
    await wire.close()
  })

  it('of which it is not known whose it was fails what is open, but no subscription', async () => {
    const { wire, far } = await wired()
    const call = wire.request('a', {}, { timeoutMs: 5000 })
    const listen = wire.request('subscriptions/listen', {}, { timeoutMs: 0, id: 'listen:1' })
    await far.send(skipped() as never)
    await expect(call).rejects.toMatchObject({ code: 'ANSWER_TOO_LARGE' })
    await far.send({ jsonrpc: '2.0', id: 'listen:1', result: {} })
    await expect(listen).resolves.toEqual({})
    await wire.close()
  })
})

describe('a request without an answer', () => {
  const recorded = async () => {
    const told: unknown[] = []
    let asked = 0
    const { wire, far } = await wired(
      (_, __, signal) => {
        asked++
        return new Promise((_, fail) => signal.addEventListener('abort', () => fail(new Error('aborted'))))
      },
      { unanswered: (...what) => told.push(what) },
    )
    return { wire, far, told, asked: () => asked }
  }
  const failed = () => undefined

  it.each([{}, { quiet: true }])('that its caller gave up was cancelled %o', async (more) => {
    const { wire, told } = await recorded()
    const stop = new AbortController()
    const call = wire.request('tools/call', {}, { timeoutMs: 60_000, signal: stop.signal, ...more })
    stop.abort()
    await call.catch(failed)
    await wire.close()
    expect(told).toEqual([['sent', 1, 'cancelled']])
  })

  it('that took too long has timed out, and others ended with the connection', async () => {
    const { wire, told } = await recorded()
    const stays = wire.request('tools/list', {}, { timeoutMs: 60_000 }).catch(failed)
    await wire.request('tools/call', {}, { timeoutMs: 20 }).catch(failed)
    await wire.close()
    await stays
    expect(told).toEqual([
      ['sent', 2, 'timed out'],
      ['sent', 1, 'connection closed'],
    ])
  })

  it('of the peer was cancelled by it once, or ended with the connection', async () => {
    const { wire, far, told, asked } = await recorded()
    for (const id of ['a', 'b']) await far.send({ jsonrpc: '2.0', id, method: 'roots/list' })
    await expect.poll(asked).toBe(2)
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'a' },
    } as const
    await far.send(cancelled)
    await far.send(cancelled)
    await expect.poll(() => told).toEqual([['received', 'a', 'cancelled']])
    await wire.close()
    expect(told.slice(1)).toEqual([['received', 'b', 'connection closed']])
  })

  it('is none when it was answered', async () => {
    const { wire, far, told } = await recorded()
    far.onmessage = (message) => {
      if ('id' in message) void far.send({ jsonrpc: '2.0', id: 1, result: {} })
    }
    await wire.request('tools/call', {}, { timeoutMs: 60_000 })
    await wire.close()
    expect(told).toEqual([])
  })
})
