// Limits of calls that several replicas count together, in chunks, and alone while the store is away.
import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../store/memory-store.ts'
import { CallLimits } from './call-limits.ts'

const user = (name: string, ...roles: string[]) => ({ owner: name, user: { key: name, name, roles } })

/** How many of so many calls were allowed. */
async function allowed(
  calls: number,
  limits: readonly CallLimits[],
  who = user('ada'),
  tool = 'read',
): Promise<number> {
  let count = 0
  for (let n = 0; n < calls; n++) {
    const entered = await Promise.resolve(limits[n % limits.length]?.enter(who, 'one', tool)).catch(
      () => undefined,
    )
    entered?.leave()
    if (entered) count++
  }
  return count
}

describe('limits of calls', () => {
  it('never allow more than the limit over several replicas, and most of it', async () => {
    const store = new MemoryStore()
    const shared = { store, peerCount: 2 }
    const config = { user: { perMinute: 60, burst: 600, perDay: 1000 } }
    const replicas = [1, 2, 3].map(() => new CallLimits(config, shared))
    const count = await allowed(900, replicas)
    expect(count).toBeLessThanOrEqual(605)
    expect(count).toBeGreaterThan(540)
    await store.close()
  })

  it('are shared out while the store is away', async () => {
    const store = new MemoryStore()
    const shared = { store, peerCount: 2 }
    const replicas = [1, 2, 3].map(() => new CallLimits({ user: { perDay: 30 } }, shared))
    store.setUp(false)
    expect(await allowed(90, replicas)).toBe(30)
    expect(await allowed(30, replicas.slice(0, 1), user('eve'))).toBe(10)
    await store.close()
  })
})
