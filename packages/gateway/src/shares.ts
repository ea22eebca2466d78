// shares.ts: places that there are only so many of, and only so many for one owner, so that nobody can use up everybody's.
import { ANYBODY } from './guard.ts'

export class Shares {
  readonly #all: number
  readonly #each: number
  readonly #taken = new Map<string, number>()
  #count = 0

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  /** False when there is none left for this owner. */
  take(owner: string): boolean {
    const own = this.#taken.get(owner) ?? 0
    // Those who show no token share one name, and may be many.
    if (this.#count >= this.#all || (owner !== ANYBODY && own >= this.#each)) return false
    this.#taken.set(owner, own + 1)
    this.#count++
    return true
  }

  giveBack(owner: string): void {
    const own = this.#taken.get(owner) ?? 0
    if (own === 0) return
    this.#count--
    if (own === 1) this.#taken.delete(owner)
    else this.#taken.set(owner, own - 1)
  }
}
