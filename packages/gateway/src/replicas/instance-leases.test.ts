// Which of several replicas runs the instance of a user: one at a time, also when the store goes away or a third party writes to it.
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../fixtures/kit.ts'
import { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { InstanceLeases } from './instance-leases.ts'
import { Replicas } from './replicas.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

function replicas() {
  const store = new MemoryStore()
  const keys = KeyRing.ephemeral()
  const [one, two] = [new Replicas(store, keys), new Replicas(store, keys)]
  ends.push(() => one.close())
  ends.push(() => two.close())
  return { store, one, two, first: new InstanceLeases(one), second: new InstanceLeases(two) }
}

describe('a lease', () => {
  it('is of the replica that is asked first; the other one knows which', async () => {
    const { one, first, second } = replicas()
    expect(await first.elsewhere('k')).toBeUndefined()
    expect(first.claim('s', 'k')).toBeUndefined()
    expect(await second.elsewhere('k')).toBe(one.id)
    await expect(second.claim('s', 'k')).rejects.toThrow('another replica')
    expect(await second.elsewhere('other')).toBeUndefined()
    expect(first.held()).toEqual([{ key: 'k', fence: 1 }])
  })

  it('goes to the other one when it is given up, with a higher number', async () => {
    const { first, second } = replicas()
    await first.elsewhere('k')
    first.release('k')
    await until(async () => (await second.elsewhere('k')) === undefined)
    expect(second.held()).toEqual([{ key: 'k', fence: 2 }])
  })

  it('is not given while the store is away, and is kept while it was given before', async () => {
    const { store, first, second } = replicas()
    await first.elsewhere('k')
    store.setUp(false)
    expect(first.claim('s', 'k')).toBeUndefined()
    await expect(second.claim('s', 'k')).rejects.toMatchObject({ code: 'IO_ERROR' })
    await expect(first.claim('s', 'new')).rejects.toMatchObject({ code: 'IO_ERROR' })
    store.setUp(true)
    await expect(second.claim('s', 'k')).rejects.toMatchObject({ code: 'IO_ERROR' })
  })

  it('that another program gave away ends the instance at its holder', async () => {
    const { store, first } = replicas()
    const lost: string[] = []
    first.onLost((key) => lost.push(key))
    await first.elsewhere('k')
    await store.set('lease:k', 'somebody', 60_000)
    await until(() => lost.length === 1, 15_000)
    expect(first.held()).toEqual([])
  }, 20_000)
})
