// fair-queue.ts: the order in which requests of different owners are started. An owner that sends many at a time waits for
// itself: in each turn of the event loop a limited number is started, one of each owner in rotation.

/** Enough to keep the servers busy, and few enough that one turn of the event loop stays short. */
const STARTS_PER_TURN = 64

/** The waiting work of one owner, oldest first. */
interface Waiting {
  readonly works: (() => void)[]
  next: number
}

export class FairQueue {
  /** The owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting>()
  #scheduled = false

  /**
   * Starts the work after what has arrived by now was read: requests that arrive together are started together, and what
   * they send to one server is written at once. Work of one owner keeps its order.
   */
  run(owner: string, work: () => void): void {
    const waiting = this.#waiting.get(owner)
    if (waiting) waiting.works.push(work)
    else this.#waiting.set(owner, { works: [work], next: 0 })
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#scheduled = false
    for (let left = STARTS_PER_TURN; left > 0; left--) {
      const [next] = this.#waiting
      if (!next) return
      const [owner, waiting] = next
      const work = waiting.works[waiting.next++]
      // The owner goes to the end of the rotation; where it is alone, there is none.
      if (this.#waiting.size > 1 || waiting.next === waiting.works.length) this.#waiting.delete(owner)
      if (waiting.next < waiting.works.length) this.#waiting.set(owner, waiting)
      work?.()
    }
    if (this.#waiting.size > 0) this.#schedule()
  }
}
