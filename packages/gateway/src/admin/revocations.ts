// revocations.ts: users whose access was withdrawn, on every replica within a second. Without a store it holds for this process. An
// entry lives as long as a token of the user can, or until it is taken back.
import type { Json } from '../json-rpc.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'

const KEY = 'revoked'
/** Longer than any sound access token lives. */
const LIFE_MS = 30 * 24 * 60 * 60 * 1000

export interface Revocation {
  /** Of the user. */
  readonly key: string
  readonly name: string
  readonly at: number
}

/** Users and tokens that an administrator has withdrawn, known to every replica. */
export class Revocations {
  readonly #store: Store
  readonly #replicas: Replicas | undefined
  readonly #keys: KeyRing
  readonly #changed: (keys: ReadonlySet<string>) => void
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
  async add(key: string, name: string): Promise<void> {
    const value = this.#keys.seal('revocation', { key, name, at: Date.now() })
    await this.#store.setField(KEY, key, value, LIFE_MS)
    await this.#tell()
  }

  async remove(key: string): Promise<void> {
    await this.#store.deleteField(KEY, key)
    await this.#tell()
  }

  async list(): Promise<readonly Revocation[]> {
    const entries = await this.#store.fields(KEY)
    return [...entries].flatMap(([field, text]) => {
      const value: Json | undefined = this.#keys.open('revocation', text)
      // An entry that is not ours withdraws nothing: the store is not believed.
      if (value?.key !== field || typeof value.name !== 'string' || typeof value.at !== 'number') return []
      return [{ key: field, name: value.name, at: value.at }]
    })
  }

  /** While the store is away, what was known last holds. */
  async read(): Promise<void> {
    try {
      const keys = (await this.list()).map(({ key }) => key).sort()
      const now = keys.join(' ')
      if (now === this.#last) return
      this.#last = now
      this.#changed(new Set(keys))
    } catch {
      // See above.
    }
  }

  async #tell(): Promise<void> {
    await this.read()
    await this.#replicas?.tell('revoked', {})
  }
}
