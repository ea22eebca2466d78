// store-lock.ts: one refresh of a login at a time over all replicas: a lease in the store that its holder renews while it works.
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Timeout } from '@plugboard/core'
import type { AuthLock } from '@plugboard/core/auth'
import { AUTH_LIMITS } from '@plugboard/core/limits'
import type { Store } from '../store/store.ts'

const RETRY_MS = 50

/** `scope` keeps the locks of users apart. While the store is away nothing can be locked, and no login is renewed. */
export function storeLock(store: Store, scope: string): AuthLock {
  return async (name, work) => {
    const key = `login-lock:${scope}:${name}`
    const holder = randomBytes(12).toString('hex')
    const { lockWaitMs, lockStaleMs } = AUTH_LIMITS
    const fence = await acquired(store, key, holder, lockWaitMs, lockStaleMs)
    const renew = () => store.acquire(key, holder, lockStaleMs)
    // A renewal that fails means that the lease may be lost: stillHeld() reports it.
    const beat = setInterval(() => void renew().catch(() => undefined), lockStaleMs / 4)
    beat.unref()
    const stillHeld = () =>
      renew().then(
        (now) => now === fence,
        () => false,
      )
    try {
      return await work({ stillHeld })
    } finally {
      clearInterval(beat)
      // A lease that cannot be given up ends by itself.
      await store.release(key, holder).catch(() => undefined)
    }
  }
}

async function acquired(
  store: Store,
  key: string,
  holder: string,
  waitMs: number,
  lifeMs: number,
): Promise<number> {
  const end = Date.now() + waitMs
  for (;;) {
    const fence = await store.acquire(key, holder, lifeMs)
    if (fence !== undefined) return fence
    if (Date.now() > end)
      throw new Timeout('Another replica is renewing this login and does not come to an end.', {
        stage: 'auth',
      })
    await wait(RETRY_MS)
  }
}
