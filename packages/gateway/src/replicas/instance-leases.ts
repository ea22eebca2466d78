// instance-leases.ts: one replica at a time runs the instance of a server that a user has for itself; the others pass that user's calls on
// to it. A lease is renewed while its holder lives, and its holder counts it as lost before the store does: there are never two.
import { IoError } from '@plugboard/core'
import type { Leases } from '../isolation/leases.ts'
import type { Replicas } from './replicas.ts'

const LIFE_MS = 15_000
const RENEW_MS = 4000
/** The holder gives up this much earlier than the store, for clocks that run differently. */
const MARGIN_MS = 2000

interface Held {
  /** Grows with every new holder. */
  readonly fence: number
  /** By this process's own clock. */
  until: number
}

export class InstanceLeases implements Leases {
  readonly #replicas: Replicas
  readonly #held = new Map<string, Held>()
  readonly #timer: NodeJS.Timeout
  #lost: (key: string) => void = () => undefined

  constructor(replicas: Replicas) {
    this.#replicas = replicas
    this.#timer = setInterval(() => void this.#renew(), RENEW_MS)
    this.#timer.unref()
    replicas.onClose(() => this.#close())
  }

  onLost(ended: (key: string) => void): void {
    this.#lost = ended
  }

  /** For the administration: what this replica holds. */
  held(): readonly { readonly key: string; readonly fence: number }[] {
    return [...this.#held].map(([key, { fence }]) => ({ key, fence }))
  }

  elsewhere(key: string): string | undefined | Promise<string | undefined> {
    return this.#isHeld(key) ? undefined : this.#take(key).catch(() => undefined)
  }

  claim(server: string, key: string): undefined | Promise<void> {
    return this.#isHeld(key) ? undefined : this.#mustTake(server, key)
  }

  release(key: string): void {
    if (!this.#held.delete(key)) return
    // A lease that cannot be given up runs out.
    this.#replicas.store.release(nameOf(key), this.#replicas.id).catch(() => undefined)
  }

  async #mustTake(server: string, key: string): Promise<void> {
    const holder = await this.#take(key).catch((error: unknown) => {
      throw unavailable(server, error)
    })
    if (holder !== undefined) throw unavailable(server)
  }

  #isHeld(key: string): boolean {
    return (this.#held.get(key)?.until ?? 0) > performance.now()
  }

  /** Undefined when it is ours; else the replica that has it. Rejects while the store is away. */
  async #take(key: string): Promise<string | undefined> {
    const { store, id } = this.#replicas
    // Counted from before the store was asked.
    const until = performance.now() + LIFE_MS - MARGIN_MS
    const fence = await store.acquire(nameOf(key), id, LIFE_MS)
    if (fence === undefined) return (await store.holder(nameOf(key))) ?? ''
    this.#held.set(key, { fence, until })
    return undefined
  }

  async #renew(): Promise<void> {
    await Promise.all(
      [...this.#held].map(async ([key, { fence }]) => {
        // While the store is away the lease runs out by itself.
        const holder = await this.#take(key).catch(() => 'away' as const)
        const now = this.#held.get(key)
        const isOther = holder !== undefined && holder !== 'away'
        // A new fence means that another replica had it meanwhile.
        if (isOther || !this.#isHeld(key) || now?.fence !== fence) this.#end(key)
      }),
    )
  }

  #end(key: string): void {
    this.release(key)
    this.#lost(key)
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    const { store, id } = this.#replicas
    const names = [...this.#held.keys()].map(nameOf)
    this.#held.clear()
    await Promise.all(names.map((name) => store.release(name, id).catch(() => undefined)))
  }
}

function nameOf(key: string): string {
  return `lease:${key}`
}

function unavailable(server: string, cause?: unknown): IoError {
  return new IoError(`Your "${server}" runs on another replica, or it is not known on which.`, {
    server,
    hint: 'Try again in a few seconds.',
    cause,
  })
}
