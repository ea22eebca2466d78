// shared-spent-ids.ts: ids that no replica may use again. Of several replicas that use one at the same moment, one succeeds.
import type { SpentRecord } from '../sealing/spent-ids.ts'
import type { Store } from '../store/store.ts'

/** Ids that may be used once, over all replicas. */
export class SharedSpentIds implements SpentRecord {
  readonly #store: Store
  readonly #now: () => number

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
  }

  get isDurable(): boolean {
    return this.#store.isUp
  }

  async add(id: string, until: number): Promise<boolean> {
    return await this.#store.add(keyOf(id), '1', Math.max(1, until - this.#now())).catch(() => false)
  }

  /** While the store is away it is not known; what must not happen twice depends on `add`. */
  async has(id: string): Promise<boolean> {
    return await this.#store.get(keyOf(id)).then(
      (value) => value !== undefined,
      () => false,
    )
  }
}

function keyOf(id: string): string {
  return `spent:${id}`
}
