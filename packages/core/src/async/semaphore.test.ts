import { describe, expect, it } from 'vitest'
import { Semaphore } from './semaphore.ts'
import { SerialQueue } from './serial-queue.ts'

const tick = () => new Promise((done) => setImmediate(done))

describe('slots', () => {
  it('are refilled one by one as they come free, first come first served', async () => {
    const slots = new Semaphore(2)
    const order: string[] = []
    const enter = async (name: string) => {
      const leave = await slots.take()
      order.push(name)
      return leave
    }
    const [a, b] = await Promise.all([enter('a'), enter('b')])
    const c = enter('c')
    const d = enter('d')
    await tick()
    expect(order).toEqual(['a', 'b'])
    b()
    await c
    expect(order).toEqual(['a', 'b', 'c'])
    b()
    await tick()
    expect(order).toEqual(['a', 'b', 'c'])
    a()
    await d
    expect(order).toEqual(['a', 'b', 'c', 'd'])
  })

  it('are not lost to a caller that gave up waiting', async () => {
    const slots = new Semaphore(1)
    const leave = await slots.take()
    const stop = new AbortController()
    const waiting = slots.take(stop.signal)
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'RequestAborted' })
    leave()
    await expect(slots.take()).resolves.toBeTypeOf('function')
  })
})

describe('order', () => {
  it('runs one at a time in the order of arrival, also past one that fails or gives up', async () => {
    const order = new SerialQueue()
    const log: string[] = []
    const stop = new AbortController()
    const job =
      (name: string, fails = false) =>
      async () => {
        log.push(`${name} begins`)
        await tick()
        log.push(`${name} ends`)
        if (fails) throw new Error(name)
      }
    const all = [order.run(job('a', true)), order.run(job('b'), stop.signal), order.run(job('c'))]
    stop.abort()
    const ends = await Promise.allSettled(all)
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    expect(log).toEqual(['a begins', 'a ends', 'c begins', 'c ends'])
  })
})
