// Ids that may be used once, over all replicas, also when the store loses them.
import { expect, it } from 'vitest'
import { MemoryStore } from '../store/memory-store.ts'
import { SharedSpentIds } from './shared-spent-ids.ts'

it('are spent once over all replicas, and stay spent where they were used when the store loses them', async () => {
  const store = new MemoryStore()
  const [one, two] = [new SharedSpentIds(store), new SharedSpentIds(store)]
  const until = Date.now() + 60_000
  expect(await Promise.all([one.add('a', until), two.add('a', until)])).toEqual([true, false])
  expect([await one.has('a'), await two.has('a'), await one.has('b')]).toEqual([true, true, false])
  await store.delete('spent:a')
  expect([await one.add('a', until), await one.has('a')]).toEqual([false, true])
  store.setUp(false)
  expect([await one.has('a'), await one.add('b', until), one.isDurable]).toEqual([true, false, false])
  store.setUp(true)
  // What could not be recorded was not used.
  expect(await one.add('b', until)).toBe(true)
  await store.close()
})
