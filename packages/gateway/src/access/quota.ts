// quota.ts: a limited number of places, in all and per owner. When all are taken, the owner that holds most gives one
// up to an owner that holds less, so no owner can use up what the others need.
import { UNRESTRICTED } from './access.ts'

export interface Place {
  giveBack(): void
}

interface Held extends Place {
  readonly evict: (() => void) | undefined
}

export class Quota {
  readonly #all: number
  readonly #each: number
  /** By owner, the oldest place first. */
  readonly #taken = new Map<string, Set<Held>>()
  #count = 0

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  get count(): number {
    return this.#count
  }

  /** A place, or undefined when this owner can have none. `evict` ends what holds the place, if it can be ended. */
  take(owner: string, evict?: () => void): Place | undefined {
    const own = this.#taken.get(owner)?.size ?? 0
    // Clients without a token share one owner, and may be many.
    if (owner !== UNRESTRICTED && own >= this.#each) return undefined
    if (this.#count >= this.#all && !this.#makeRoom(own)) return undefined
    const held: Held = { evict, giveBack: () => this.#giveBack(owner, held) }
    const places = this.#taken.get(owner) ?? new Set()
    this.#taken.set(owner, places.add(held))
    this.#count++
    return held
  }

  /** The oldest place of the owner that holds most, if that is more than the requester would hold. */
  #makeRoom(own: number): boolean {
    let most: [string, Set<Held>] | undefined
    for (const entry of this.#taken) if (entry[1].size > (most?.[1].size ?? own + 1)) most = entry
    const oldest = [...(most?.[1] ?? [])].find(({ evict }) => evict)
    if (!most || !oldest) return false
    oldest.giveBack()
    oldest.evict?.()
    return true
  }

  #giveBack(owner: string, held: Held): void {
    const places = this.#taken.get(owner)
    if (!places?.delete(held)) return
    this.#count--
    if (places.size === 0) this.#taken.delete(owner)
  }
}
