// One table for every store: what holds for the one in memory holds for Redis too.
import { afterEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../../test/support/redis.ts'
import { until } from '../fixtures/kit.ts'
import { MemoryStore } from './memory-store.ts'
import { RedisStore } from './redis-store.ts'
import { type Store, StoreUnavailable } from './store.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

interface Opened {
  readonly store: Store
  /** Another client of the same store. */
  readonly other: Store
  setUp(isUp: boolean): Promise<void>
}

const OPEN: Readonly<Record<string, () => Promise<Opened>>> = {
  memory: async () => {
    const store = new MemoryStore()
    ends.push(() => store.close())
    return { store, other: store, setUp: async (isUp) => store.setUp(isUp) }
  },
  redis: async () => {
    const redis: RedisServer = await startRedis()
    ends.push(() => redis.stop())
    const [store, other] = await Promise.all([RedisStore.open(redis.url), RedisStore.open(redis.url)])
    ends.push(
      () => store.close(),
      () => other.close(),
    )
    return { store, other, setUp: async (isUp) => (isUp ? await redis.start() : await redis.stop()) }
  },
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

describe.each(Object.entries(OPEN))('the store in %s', (_, open) => {
  it('keeps values until they expire; of two that add one wins', async () => {
    const { store, other } = await open()
    await store.set('a', 'x', 60_000)
    expect(await other.get('a')).toBe('x')
    expect(await other.get('b')).toBeUndefined()
    const added = await Promise.all([store.add('n', '1', 60_000), other.add('n', '2', 60_000)])
    expect(added.filter(Boolean)).toHaveLength(1)
    await store.delete('a')
    expect(await store.get('a')).toBeUndefined()
    await store.set('short', 'x', 30)
    await until(async () => (await store.get('short')) === undefined)
    expect(await store.add('short', 'y', 1000)).toBe(true)
  })

  it('keeps fields that several clients change', async () => {
    const { store, other } = await open()
    await Promise.all([store.setField('h', 'one', '1', 60_000), other.setField('h', 'two', '2', 60_000)])
    expect(new Map(await store.fields('h'))).toEqual(
      new Map([
        ['one', '1'],
        ['two', '2'],
      ]),
    )
    await other.deleteField('h', 'one')
    expect([...(await store.fields('h')).keys()]).toEqual(['two'])
    expect((await store.fields('none')).size).toBe(0)
    await store.setField('h', 'two', '3', 30)
    await until(async () => (await store.fields('h')).size === 0)
  })

  it('counts, and gives a rate with the time to come back', async () => {
    const { store, other } = await open()
    const counts = await Promise.all(
      [1, 2, 3].map((by) => (by === 2 ? other : store).increment('c', by, 60_000)),
    )
    expect(Math.max(...counts)).toBe(6)
    const rate = { perSecond: 0.01, burst: 3 }
    const taken = []
    for (let n = 0; n < 5; n++) taken.push(await (n % 2 ? other : store).take('r', rate))
    expect(taken.map(({ ok }) => ok)).toEqual([true, true, true, false, false])
    const last = taken.at(-1)
    expect(last?.ok === false && last.retryMs > 90_000 && last.retryMs <= 100_000).toBe(true)
    expect(await store.take('fast', { perSecond: 1000, burst: 1 })).toEqual({ ok: true, left: 0 })
    await pause(20)
    expect(await store.take('fast', { perSecond: 1000, burst: 1 })).toEqual({ ok: true, left: 0 })
  })

  it('gives a lease to one holder, with a number that grows', async () => {
    const { store, other } = await open()
    const first = await store.acquire('l', 'a', 60_000)
    expect(first).toBeGreaterThan(0)
    expect(await other.acquire('l', 'b', 60_000)).toBeUndefined()
    expect([await other.holder('l'), await other.holder('none')]).toEqual(['a', undefined])
    expect(await store.acquire('l', 'a', 60_000)).toBe(first)
    await other.release('l', 'b')
    expect(await other.acquire('l', 'b', 60_000)).toBeUndefined()
    await store.release('l', 'a')
    expect(await other.acquire('l', 'b', 30)).toBe((first ?? 0) + 1)
    await until(async () => (await store.acquire('l', 'a', 60_000)) === (first ?? 0) + 2)
  })

  it('keeps a list, and no more of it than wanted', async () => {
    const { store, other } = await open()
    expect(await store.last('list', 5)).toEqual([])
    for (const value of ['a', 'b', 'c']) await store.append('list', value, 1000)
    expect(await other.last('list', 2)).toEqual(['b', 'c'])
    for (let n = 0; n < 2000; n++) await store.append('long', String(n), 100)
    const kept = await store.last('long', 5000)
    expect(kept.at(-1)).toBe('1999')
    expect(kept.length).toBeLessThan(500)
  })

  it('carries messages, also after it was away; while away every operation is refused at once', async () => {
    const { store, other, setUp } = await open()
    const seen: string[] = []
    const stop = await other.subscribe('news', (message) => seen.push(message))
    const changes: boolean[] = []
    store.onChange((isUp) => changes.push(isUp))
    await store.publish('news', 'one')
    await until(() => seen.length === 1)
    await setUp(false)
    await until(() => !store.isUp && !other.isUp)
    for (const work of [
      store.get('a'),
      store.add('a', 'b', 1),
      store.publish('news', 'lost'),
      store.take('r', { perSecond: 1, burst: 1 }),
    ])
      await expect(work).rejects.toBeInstanceOf(StoreUnavailable)
    await setUp(true)
    await until(() => store.isUp && other.isUp)
    await store.publish('news', 'two')
    await until(() => seen.length === 2)
    stop()
    await store.publish('news', 'three')
    await store.get('a')
    expect(seen).toEqual(['one', 'two'])
    expect(changes).toEqual([false, true])
  })
})
