import { describe, expect, it } from 'vitest'
import { SerialQueue } from './serial-queue.ts'

describe('a serial queue', () => {
  it('gives a turn at once when it is empty, and then to one at a time in their order', async () => {
    const queue = new SerialQueue()
    const first = queue.enterNow()
    expect(first).toBeDefined()
    expect(queue.enterNow()).toBeUndefined()
    const ran: number[] = []
    const others = [1, 2].map((n) => queue.run(async () => void ran.push(n)))
    await new Promise(setImmediate)
    expect(ran).toEqual([])
    first?.()
    first?.()
    await Promise.all(others)
    expect(ran).toEqual([1, 2])
    expect(queue.enterNow()).toBeDefined()
  })

  it('is left by a caller that gives up, while those before it keep their turn', async () => {
    const queue = new SerialQueue()
    const first = queue.enterNow()
    const stop = new AbortController()
    const second = queue.run(async () => 'second', stop.signal)
    const third = queue.run(async () => 'third')
    stop.abort()
    await expect(second).rejects.toThrow()
    expect(queue.enterNow()).toBeUndefined()
    first?.()
    expect(await third).toBe('third')
  })
})
