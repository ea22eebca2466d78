// open-requests.ts: the requests that wait for a response, by id. Ids usually count up and most requests end soon, so a ring
// of slots holds them. A Map would do, but not cheaply: each time it makes room it leaves a table behind that points to
// the next one, and once the collector has moved one of these to the old heap, all that follow it are moved there too,
// with the requests in them.

export type RequestId = number | string

export class OpenRequests<T extends { readonly id: RequestId }> {
  readonly #slots: (T | undefined)[]
  /** Those whose slot was needed by a later request, and those whose id does not count up. */
  readonly #others = new Map<RequestId, T>()
  #inSlots = 0
  /** The slot of the latest request: the oldest ones follow it. */
  #latest = 0

  /** `slots`: about as many as are open at a time. */
  constructor(slots: number) {
    this.#slots = new Array(slots).fill(undefined)
  }

  get size(): number {
    return this.#inSlots + this.#others.size
  }

  get(id: unknown): T | undefined {
    if (isCount(id)) {
      const found = this.#slots[id % this.#slots.length]
      if (found?.id === id) return found
    }
    return this.#others.size === 0 ? undefined : this.#others.get(id as RequestId)
  }

  add(request: T): void {
    const { id } = request
    if (!isCount(id)) {
      this.#others.set(id, request)
      return
    }
    const at = id % this.#slots.length
    const older = this.#slots[at]
    if (older) this.#others.set(older.id, older)
    else this.#inSlots++
    this.#slots[at] = request
    this.#latest = at
  }

  /** False when it has been removed already. */
  remove(request: T): boolean {
    const { id } = request
    if (isCount(id) && this.#slots[id % this.#slots.length] === request) {
      this.#slots[id % this.#slots.length] = undefined
      this.#inSlots--
      return true
    }
    return this.#others.get(id) === request && this.#others.delete(id)
  }

  /** All of them now, oldest first; the list does not change with them. */
  list(): T[] {
    const all = [...this.#others.values()]
    const { length } = this.#slots
    for (let step = 1; step <= length; step++) {
      const request = this.#slots[(this.#latest + step) % length]
      if (request) all.push(request)
    }
    return all
  }
}

function isCount(id: unknown): id is number {
  return typeof id === 'number' && id >= 0 && Number.isSafeInteger(id)
}
