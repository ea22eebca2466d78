// The users that were let in lately: noted once in an hour, kept for a month, and believed only as a replica sealed them.
import { afterEach, describe, expect, it } from 'vitest'
import { freshKey, KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { UserDirectory } from './user-directory.ts'

const HOUR = 60 * 60_000
const MONTH = 30 * 24 * HOUR
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

function made() {
  const clock = { now: 1_000_000, fails: false }
  const keys = new KeyRing([freshKey()])
  const store = new MemoryStore(() => clock.now)
  const writes: string[] = []
  const setField: MemoryStore['setField'] = async (key, field, ...rest) => {
    if (clock.fails) throw new Error('away')
    writes.push(field)
    return MemoryStore.prototype.setField.call(store, key, field, ...rest)
  }
  Object.assign(store, { setField })
  const active = [{ key: 'k', name: 'ada', roles: ['staff'] }]
  const directory = new UserDirectory(
    store,
    keys,
    () => active,
    () => clock.now,
  )
  ends.push(
    () => directory.close(),
    () => store.close(),
  )
  return { clock, keys, store, writes, active, directory }
}

describe('the directory of users', () => {
  it('notes an active user once in an hour, and again what could not be written', async () => {
    const { clock, writes, directory } = made()
    clock.fails = true
    await directory.note()
    clock.fails = false
    await directory.note()
    await directory.note()
    clock.now += HOUR - 1
    await directory.note()
    expect(writes).toEqual(['k'])
    clock.now += 1
    await directory.note()
    expect(writes).toEqual(['k', 'k'])
    expect(await directory.list()).toEqual([{ key: 'k', name: 'ada', roles: ['staff'], lastSeen: clock.now }])
  })

  it('forgets a user who was not seen for a month', async () => {
    const { clock, store, keys, active, directory } = made()
    active.pop()
    const seen = (lastSeen: number) => keys.seal('known-user', { key: 'k', name: 'ada', roles: [], lastSeen })
    await MemoryStore.prototype.setField.call(store, 'users', 'k', seen(clock.now - MONTH + 1), 2 * MONTH)
    expect(await directory.list()).toHaveLength(1)
    clock.now += 1
    expect(await directory.list()).toEqual([])
    expect((await store.fields('users')).size).toBe(0)
  })

  it.each([
    { key: 'other', name: 'ada', roles: [], lastSeen: 1_000_000 },
    { key: 'k', name: 7, roles: [], lastSeen: 1_000_000 },
    { key: 'k', name: 'ada', roles: 'all', lastSeen: 1_000_000 },
    { key: 'k', name: 'ada', roles: [], lastSeen: 'now' },
    { name: 'ada', roles: [], lastSeen: 1_000_000 },
  ])('does not list %j', async (value) => {
    const { store, keys, directory } = made()
    await MemoryStore.prototype.setField.call(store, 'users', 'k', keys.seal('known-user', value), MONTH)
    expect(await directory.list()).toEqual([])
  })
})
