import { describe, expect, it } from 'vitest'
import { IoError } from '../errors.ts'
import { wire } from './fixtures/support.ts'
import { linkedPair } from './linked-pair.ts'

describe('a linked pair', () => {
  it('hands a message over as it is, one microtask later', async () => {
    const [near, far] = linkedPair()
    const { received } = wire(far)
    await Promise.all([near.start(), far.start()])
    const message = { jsonrpc: '2.0', method: 'hello', params: {} } as const
    const sent = near.send(message)
    expect(received).toEqual([])
    await sent
    expect(received[0]).toBe(message)
  })

  it('keeps what comes before the other end has started, in order', async () => {
    const [near, far] = linkedPair()
    await near.start()
    for (let n = 0; n < 3; n++) await near.send({ jsonrpc: '2.0', method: `m${n}` })
    const { received } = wire(far)
    await far.start()
    await Promise.resolve()
    expect(received.map((message) => 'method' in message && message.method)).toEqual(['m0', 'm1', 'm2'])
  })

  it('is closed at both ends by either, once each, and carries nothing after that', async () => {
    const [near, far] = linkedPair()
    const ends = [wire(near), wire(far)]
    await Promise.all([near.start(), far.start()])
    await near.send({ jsonrpc: '2.0', method: 'too late' })
    await far.close()
    await near.close()
    expect(ends.map(({ closes }) => closes())).toEqual([1, 1])
    await expect(near.send({ jsonrpc: '2.0', method: 'x' })).rejects.toBeInstanceOf(IoError)
    expect(ends[1]?.received.length).toBeLessThanOrEqual(1)
  })

  it('survives a receiver that throws', async () => {
    const [near, far] = linkedPair()
    const { errors } = wire(far)
    far.onmessage = () => {
      throw new Error('no')
    }
    await Promise.all([near.start(), far.start()])
    await near.send({ jsonrpc: '2.0', method: 'x' })
    await Promise.resolve()
    expect(errors[0]?.message).toBe('no')
  })

  it('does not start after it was closed, and delivers nothing that was under way', async () => {
    const [near, far] = linkedPair()
    const { received } = wire(far)
    await near.start()
    await near.send({ jsonrpc: '2.0', method: 'early' })
    await near.close()
    await expect(far.start()).rejects.toBeInstanceOf(IoError)
    const [left, right] = linkedPair()
    const second = wire(right)
    await Promise.all([left.start(), right.start()])
    const sent = left.send({ jsonrpc: '2.0', method: 'under way' })
    const closed = right.close()
    await Promise.all([sent, closed])
    await new Promise((resolve) => setImmediate(resolve))
    expect([received, second.received]).toEqual([[], []])
  })

  it('reports as an error what a receiver throws, whatever it is', async () => {
    const [near, far] = linkedPair()
    const { errors } = wire(far)
    far.onmessage = () => {
      throw 'text'
    }
    await Promise.all([near.start(), far.start()])
    await near.send({ jsonrpc: '2.0', method: 'x' })
    await Promise.resolve()
    expect(errors[0]?.message).toBe('text')
    expect(errors[0]).toBeInstanceOf(Error)
  })
})
