// fair-queue.ts: the order in which requests of different owners are started. An owner that sends many at a time waits for
// itself: in each turn of the event loop a limited number is started, one of each owner in rotation.

/** Enough to keep the servers busy, and few enough that one turn of the event loop stays short. */
const STARTS_PER_TURN = 32

export class FairQueue {
  /** By owner, oldest first; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #left = STARTS_PER_TURN
  #scheduled = false

  /** Starts the work at once where this turn has room; work of one owner keeps its order. */
  run(owner: string, work: () => void): void {
    if (this.#waiting.size === 0 && this.#left > 0) {
      this.#left--
      this.#schedule()
      work()
      return
    }
    const own = this.#waiting.get(owner)
    if (own) own.push(work)
    else this.#waiting.set(owner, [work])
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#scheduled = false
    this.#left = STARTS_PER_TURN
    while (this.#left > 0) {
      const [next] = this.#waiting
      if (!next) return
      const [owner, [work, ...later]] = next
      this.#waiting.delete(owner)
      if (later.length > 0) this.#waiting.set(owner, later)
      this.#left--
      work?.()
    }
    this.#schedule()
  }
}
