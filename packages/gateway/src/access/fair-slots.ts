// fair-slots.ts: a limited number of slots, in all and per owner. When all are taken, the owner that holds most gives one
// up to an owner that holds less, so no owner can use up what the others need.
import { UNRESTRICTED } from './access.ts'

export interface ConcurrencySlot {
  release(): void
}

interface Held extends ConcurrencySlot {
  readonly evict: (() => void) | undefined
}

export class ConcurrencyLimit {
  readonly #all: number
  readonly #each: number
  /** By owner, the oldest slot first. */
  readonly #taken = new Map<string, Set<Held>>()
  #count = 0

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  get count(): number {
    return this.#count
  }

  /** A slot, or undefined when this owner can have none. `evict` ends what holds the slot, if it can be ended. */
  tryAcquire(owner: string, evict?: () => void): ConcurrencySlot | undefined {
    const own = this.#taken.get(owner)?.size ?? 0
    // Clients without a token share one owner, and may be many.
    if (owner !== UNRESTRICTED && own >= this.#each) return undefined
    if (this.#count >= this.#all && !this.#evictFor(own)) return undefined
    const held: Held = { evict, release: () => this.#release(owner, held) }
    const slots = this.#taken.get(owner) ?? new Set()
    this.#taken.set(owner, slots.add(held))
    this.#count++
    return held
  }

  /** The oldest slot of the owner that holds most, if that is more than the requester would hold. */
  #evictFor(own: number): boolean {
    let most: [string, Set<Held>] | undefined
    for (const entry of this.#taken) if (entry[1].size > (most?.[1].size ?? own + 1)) most = entry
    const oldest = [...(most?.[1] ?? [])].find(({ evict }) => evict)
    if (!most || !oldest) return false
    oldest.release()
    oldest.evict?.()
    return true
  }

  #release(owner: string, held: Held): void {
    const slots = this.#taken.get(owner)
    if (!slots?.delete(held)) return
    this.#count--
    if (slots.size === 0) this.#taken.delete(owner)
  }
}
