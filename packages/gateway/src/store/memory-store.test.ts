// What a store of one process forgets, and when; store.test.ts has what all stores share.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryStore, takeAt } from './memory-store.ts'
import { StoreUnavailable } from './store.ts'

let now = 1000
const ends: MemoryStore[] = []
function store(): MemoryStore {
  now = 1000
  const made = new MemoryStore(() => now)
  ends.push(made)
  return made
}
afterEach(async () => {
  for (const one of ends.splice(0)) await one.close()
  vi.useRealTimers()
})

describe('the store in memory, by its clock', () => {
  it('has a value until the moment its life ends', async () => {
    const kept = store()
    await kept.set('a', 'x', 100)
    await kept.setField('h', 'f', 'x', 100)
    await kept.increment('n', 2, 100)
    now = 1099
    expect([await kept.get('a'), (await kept.fields('h')).size, await kept.increment('n', 3, 100)]).toEqual([
      'x',
      1,
      5,
    ])
    now = 1100
    expect([await kept.get('a'), (await kept.fields('h')).size, await kept.increment('n', 3, 100)]).toEqual([
      undefined,
      0,
      3,
    ])
    expect(await kept.add('a', 'y', 100)).toBe(true)
    expect(await kept.add('a', 'z', 100)).toBe(false)
  })

  it('gives all fields a new life with every change, and starts anew after their end', async () => {
    const kept = store()
    await kept.setField('h', 'one', '1', 100)
    now = 1050
    await kept.setField('h', 'two', '2', 100)
    now = 1140
    expect([...(await kept.fields('h')).keys()]).toEqual(['one', 'two'])
    now = 1150
    await kept.setField('h', 'three', '3', 100)
    expect([...(await kept.fields('h')).keys()]).toEqual(['three'])
    await kept.deleteField('h', 'three')
    await kept.deleteField('none', 'x')
    expect((await kept.fields('h')).size).toBe(0)
    await kept.setField('h', 'four', '4', 100)
    await kept.delete('h')
    expect((await kept.fields('h')).size).toBe(0)
  })

  it('gives a lease to another holder when it ends, with the next number', async () => {
    const kept = store()
    expect(await kept.acquire('l', 'a', 100)).toBe(1)
    expect(await kept.acquire('l', 'a', 100)).toBe(1)
    expect(await kept.acquire('l', 'b', 100)).toBeUndefined()
    await kept.release('l', 'b')
    expect(await kept.acquire('l', 'b', 100)).toBeUndefined()
    now = 1100
    expect(await kept.acquire('l', 'b', 100)).toBe(2)
    await kept.release('l', 'b')
    expect(await kept.get('l')).toBeUndefined()
  })

  it('drops what has ended from time to time, and keeps the rest', async () => {
    vi.useFakeTimers()
    const deleted = vi.spyOn(Map.prototype, 'delete')
    try {
      const kept = store()
      const rate = { perSecond: 1, burst: 1 }
      for (const [key, life] of [
        ['short', 100],
        ['long', 5000],
      ] as const) {
        await kept.set(key, 'x', life)
        await kept.setField(`${key}-fields`, 'f', 'x', life)
        await kept.take(`${key}-rate`, { ...rate, perSecond: 1000 / life })
      }
      deleted.mockClear()
      now = 1100
      vi.advanceTimersByTime(10_000)
      const keys = deleted.mock.calls.map(([key]) => key).filter((key) => /^(?:short|long)/.test(String(key)))
      expect(keys).toEqual(['short', 'short-fields', 'short-rate'])
      expect(await kept.get('long')).toBe('x')
      await kept.close()
      deleted.mockClear()
      now = 60_000
      vi.advanceTimersByTime(60_000)
      expect(deleted.mock.calls.filter(([key]) => String(key).startsWith('long'))).toEqual([])
    } finally {
      deleted.mockRestore()
    }
  })

  it('refuses every operation while it is away, and tells who wants to know', async () => {
    const kept = store()
    const told: boolean[] = []
    const stop = kept.onChange((isUp) => told.push(isUp))
    kept.setUp(false)
    const rate = { perSecond: 1, burst: 1 }
    const works = [
      kept.get('a'),
      kept.set('a', '', 1),
      kept.add('a', '', 1),
      kept.delete('a'),
      kept.setField('a', 'b', '', 1),
      kept.deleteField('a', 'b'),
      kept.fields('a'),
      kept.increment('a', 1, 1),
      kept.take('a', rate),
      kept.acquire('a', 'b', 1),
      kept.release('a', 'b'),
      kept.publish('a', 'b'),
    ]
    for (const work of works) await expect(work).rejects.toBeInstanceOf(StoreUnavailable)
    expect(kept.isUp).toBe(false)
    kept.setUp(true)
    stop()
    kept.setUp(false)
    expect(told).toEqual([false, true])
  })

  it('carries a message to those that listen, until they stop', async () => {
    const kept = store()
    const heard: string[] = []
    const stop = await kept.subscribe('c', (text) => heard.push(`a ${text}`))
    await kept.subscribe('c', (text) => heard.push(`b ${text}`))
    await kept.publish('c', '1')
    await kept.publish('other', '2')
    await Promise.resolve()
    stop()
    await kept.publish('c', '3')
    await Promise.resolve()
    expect(heard).toEqual(['a 1', 'b 1', 'b 3'])
  })
})

describe('a rate', () => {
  const rate = { perSecond: 10, burst: 3 }

  it.each([
    { what: 'the first', before: 0, cost: 1, now: 1000, ok: true, until: 1100 },
    { what: 'a whole burst', before: 0, cost: 3, now: 1000, ok: true, until: 1300 },
    { what: 'the last of a burst', before: 1200, cost: 1, now: 1000, ok: true, until: 1300 },
    { what: 'one more than the burst', before: 1300, cost: 1, now: 1000, retryMs: 100, until: 1300 },
    { what: 'after a part was given back', before: 1300, cost: 1, now: 1050, retryMs: 50, until: 1300 },
    { what: 'exactly when it was given back', before: 1300, cost: 1, now: 1100, ok: true, until: 1400 },
    { what: 'more than a burst', before: 0, cost: 4, now: 1000, retryMs: 100, until: 1000 },
    { what: 'long after', before: 1300, cost: 1, now: 9000, ok: true, until: 9100 },
  ])('$what', ({ before, cost, now: at, ok, retryMs, until }) => {
    const left = (now: number) => Math.floor((now + 300 - until) / 100)
    const decision = ok ? { ok: true, left: left(at) } : { ok: false, retryMs }
    expect(takeAt(before, rate, cost, at)).toEqual({ decision, until })
  })

  it('takes one where no cost is given', async () => {
    const kept = store()
    for (let n = 0; n < 3; n++) expect(await kept.take('r', rate)).toEqual({ ok: true, left: 2 - n })
    expect(await kept.take('r', rate)).toEqual({ ok: false, retryMs: 100 })
    expect(await kept.take('other', rate, 3)).toEqual({ ok: true, left: 0 })
    expect(await kept.take('other', rate)).toEqual({ ok: false, retryMs: 100 })
  })
})
