// revocations.ts: users whose access was withdrawn, on every replica within a second, until it is given back. Without a store it holds
// for this process. A store that lost an entry, or had it deleted by another
// program, gives no access back: every replica remembers what it knew, and writes it again.
import type { Json } from '../json-rpc.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'

const KEY = 'revoked'
/** How long the store keeps entries that no replica knows: longer than any sound access token lives. */
const LIFE_MS = 30 * 24 * 60 * 60 * 1000
/** What an entry says, which is sealed in it. */
const WITHDRAWN = 'revocation'
const RESTORED = 'revocation-lifted'

export interface Revocation {
  /** Of the user. */
  readonly key: string
  readonly name: string
  readonly at: number
}

/** The last that an administrator said about a user. */
interface Entry extends Revocation {
  readonly says: typeof WITHDRAWN | typeof RESTORED
}

/** Users and tokens that an administrator has withdrawn, known to every replica. */
export class Revocations {
  readonly #store: Store
  readonly #replicas: Replicas | undefined
  readonly #keys: KeyRing
  readonly #changed: (keys: ReadonlySet<string>) => void
  /** By the key of the user: the newest that was read or said. */
  readonly #known = new Map<string, Entry>()
  #last = ''

  /** `changed` gets the keys of all users without access, whenever they are others than before. */
  constructor(
    keys: KeyRing,
    replicas: Replicas | undefined,
    changed: (keys: ReadonlySet<string>) => void = () => undefined,
  ) {
    this.#keys = keys
    this.#replicas = replicas
    this.#store = replicas?.store ?? new MemoryStore()
    this.#changed = changed
    replicas?.on('revoked', () => this.read())
    // What was missed while the store was away, or before this process started.
    replicas?.onBeat(() => this.read())
  }

  /** Rejects when it cannot be recorded for all replicas. */
  add(key: string, name: string): Promise<void> {
    return this.#say(key, name, WITHDRAWN)
  }

  /** That access is given back is an entry too: one that is only missing gives nothing back. */
  async remove(key: string): Promise<void> {
    await this.#say(key, this.#known.get(key)?.name ?? '', RESTORED)
  }

  /** Rejects while the store is away. */
  async list(): Promise<readonly Revocation[]> {
    await this.#merge()
    return this.#withdrawn()
  }

  /** While the store is away, what was known last holds. */
  async read(): Promise<void> {
    try {
      await this.#merge()
    } catch {
      // See above.
    }
    const keys = this.#withdrawn().map(({ key }) => key)
    const now = keys.sort().join(' ')
    if (now === this.#last) return
    this.#last = now
    this.#changed(new Set(keys))
  }

  #withdrawn(): readonly Revocation[] {
    return [...this.#known.values()]
      .filter(({ says }) => says === WITHDRAWN)
      .map(({ key, name, at }) => ({ key, name, at }))
  }

  async #say(key: string, name: string, says: Entry['says']): Promise<void> {
    // Later than what it replaces, also where the clocks of two replicas differ.
    const at = Math.max(Date.now(), (this.#known.get(key)?.at ?? 0) + 1)
    const entry = { key, name, at, says }
    await this.#write(entry)
    this.#known.set(key, entry)
    await this.read()
    await this.#replicas?.tell('revoked', {})
  }

  async #write({ says, ...entry }: Entry): Promise<void> {
    await this.#store.setField(KEY, entry.key, this.#keys.seal(says, entry), LIFE_MS)
  }

  /** Takes what is newer in the store, and gives it what it lacks. */
  async #merge(): Promise<void> {
    const fields = await this.#store.fields(KEY)
    for (const [field, text] of fields) {
      const found = this.#open(field, text)
      if (found && found.at > (this.#known.get(field)?.at ?? 0)) this.#known.set(field, found)
    }
    const oldest = Date.now() - LIFE_MS
    for (const [key, entry] of this.#known) {
      const there = this.#open(key, fields.get(key))
      if (entry.says === RESTORED && entry.at <= oldest) this.#known.delete(key)
      else if (!there || there.at < entry.at) await this.#write(entry)
    }
  }

  /** An entry that is not ours says nothing: the store is not believed. */
  #open(field: string, text: string | undefined): Entry | undefined {
    if (text === undefined) return undefined
    for (const says of [WITHDRAWN, RESTORED] as const) {
      const value: Json | undefined = this.#keys.open(says, text)
      if (value?.key === field && typeof value.name === 'string' && typeof value.at === 'number')
        return { key: field, name: value.name, at: value.at, says }
    }
    return undefined
  }
}
