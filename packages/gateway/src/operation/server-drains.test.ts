// Servers that are drained: no new calls, and the end of those that run is awaited for a time.
import { Disabled } from '@plugboard/core/errors'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ServerDrains } from './server-drains.ts'

afterEach(() => vi.useRealTimers())

describe('a server that is drained', () => {
  it('takes no new calls until it is resumed, and others do', () => {
    const drains = new ServerDrains()
    void drains.drain('one', 1000)
    expect(() => drains.enter('one')).toThrow(Disabled)
    drains.enter('two')
    expect([drains.running('one'), drains.running('two')]).toEqual([0, 1])
    expect([drains.isDraining('one'), drains.isDraining('two')]).toEqual([true, false])
    drains.resume('one')
    drains.enter('one')
    expect([drains.running('one'), drains.isDraining('one')]).toEqual([1, false])
  })

  it('is done at once without calls, with the last of them, or when its time is over', async () => {
    vi.useFakeTimers()
    const drains = new ServerDrains()
    expect([await drains.drain('idle', 1000), vi.getTimerCount()]).toEqual([0, 0])
    drains.enter('one')
    drains.enter('one')
    const left: number[] = []
    const waiting = [drains.drain('one', 1000), drains.drain('one', 1000)].map((drained) =>
      drained.then((count) => void left.push(count)),
    )
    drains.leave('one')
    await vi.advanceTimersByTimeAsync(500)
    expect(left).toEqual([])
    drains.leave('one')
    await Promise.all(waiting)
    expect([left, vi.getTimerCount()]).toEqual([[0, 0], 0])
    drains.resume('one')
    drains.enter('one')
    const late = drains.drain('one', 1000)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await late).toBe(1)
  })
})
