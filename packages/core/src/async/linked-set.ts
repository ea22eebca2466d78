// linked-set.ts: items that come and go, in the order they came. For many that stay briefly it costs less than a Set, for the
// reason in open-requests.ts: an item that left holds nothing of those that stay.

/** What an item needs to be in one set at a time. */
export interface Linked<T> {
  before?: T | undefined
  after?: T | undefined
  isLinked?: boolean
}

export class LinkedSet<T extends Linked<T>> {
  #first: T | undefined
  #last: T | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The oldest; `after` of an item is the one that came after it. */
  get first(): T | undefined {
    return this.#first
  }

  has(item: T): boolean {
    return item.isLinked === true
  }

  add(item: T): void {
    if (item.isLinked) return
    item.isLinked = true
    item.before = this.#last
    if (this.#last) this.#last.after = item
    else this.#first = item
    this.#last = item
    this.#size++
  }

  /** False when it was not there. */
  delete(item: T): boolean {
    if (!item.isLinked) return false
    const { before, after } = item
    if (before) before.after = after
    else this.#first = after
    if (after) after.before = before
    else this.#last = before
    item.isLinked = false
    item.before = undefined
    item.after = undefined
    this.#size--
    return true
  }

  /** All of them now, oldest first; the list does not change with them. */
  list(): T[] {
    const all: T[] = []
    for (let item = this.#first; item; item = item.after) all.push(item)
    return all
  }
}
