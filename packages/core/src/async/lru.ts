// lru.ts: keeps a limited number of items, and drops the least recently used one.

export class Lru<T> {
  readonly #most: number
  readonly #onEvict: (item: T) => void
  /** A Set remembers the order of insertion: oldest first. */
  readonly #items = new Set<T>()

  constructor(most: number, onEvict: (item: T) => void) {
    this.#most = most
    this.#onEvict = onEvict
  }

  used(item: T): void {
    this.#items.delete(item)
    this.#items.add(item)
    if (this.#items.size <= this.#most) return
    const [oldest] = this.#items
    if (oldest === undefined) return
    this.#items.delete(oldest)
    this.#onEvict(oldest)
  }

  remove(item: T): void {
    this.#items.delete(item)
  }
}
