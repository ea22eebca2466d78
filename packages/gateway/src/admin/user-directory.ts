// user-directory.ts: the users that were let in lately, by any replica: so that an administrator can withdraw the access of a user who
// is not active here. With a store it is shared; entries are sealed, because the store is not believed.
import type { User } from '../access/access.ts'
import type { Json } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'

const KEY = 'users'
const NOTE_MS = 3000
/** A user that stays active is noted again after this. */
const AGAIN_MS = 60 * 60_000
/** As long as a revocation is kept. */
const LIFE_MS = 30 * 24 * 60 * 60_000

export interface KnownUser extends User {
  readonly lastSeen: number
}

/** Who was let in lately, on all replicas. */
export class UserDirectory {
  readonly #store: Store
  readonly #keys: KeyRing
  readonly #active: () => readonly User[]
  readonly #now: () => number
  /** By user: when it was noted last. */
  readonly #noted = new Map<string, number>()
  readonly #timer: NodeJS.Timeout

  /** `active` are the users that are let in here at the moment. Without a store only this process knows them. */
  constructor(
    store: Store | undefined,
    keys: KeyRing,
    active: () => readonly User[],
    now: () => number = Date.now,
  ) {
    this.#store = store ?? new MemoryStore()
    this.#keys = keys
    this.#active = active
    this.#now = now
    this.#timer = setInterval(() => void this.note(), NOTE_MS)
    this.#timer.unref()
  }

  /** Writes down those that are new here. What cannot be written now is tried again. */
  async note(): Promise<void> {
    const now = this.#now()
    for (const [key, at] of this.#noted) if (now - at >= AGAIN_MS) this.#noted.delete(key)
    const fresh = this.#active().filter(({ key }) => !this.#noted.has(key))
    for (const user of fresh) {
      this.#noted.set(user.key, now)
      const text = this.#keys.seal('known-user', { ...user, lastSeen: now })
      await this.#store.setField(KEY, user.key, text, LIFE_MS).catch(() => void this.#noted.delete(user.key))
    }
  }

  async list(): Promise<readonly KnownUser[]> {
    const entries = await this.#store.fields(KEY)
    const known: KnownUser[] = []
    for (const [field, text] of entries) {
      const user = asKnown(this.#keys.open('known-user', text))
      if (user?.key !== field) continue
      if (this.#now() - user.lastSeen < LIFE_MS) known.push(user)
      else await this.#store.deleteField(KEY, field)
    }
    return known
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** It was sealed by a replica; its shape is checked all the same, because releases differ. */
function asKnown(value: Json | undefined): KnownUser | undefined {
  if (!value || typeof value.key !== 'string' || typeof value.name !== 'string') return undefined
  if (!Array.isArray(value.roles) || typeof value.lastSeen !== 'number') return undefined
  return value as unknown as KnownUser
}
