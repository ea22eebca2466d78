// shared-spent-ids.ts: ids that no replica may use again. Of several replicas that use one at the same moment, one succeeds. A replica
// also remembers its own: a store that lost them, or had them deleted by another program, makes no id good again where it was used.
import { SpentIds, type SpentRecord } from '../sealing/spent-ids.ts'
import type { Store } from '../store/store.ts'

/** Ids that may be used once, over all replicas. */
export class SharedSpentIds implements SpentRecord {
  readonly #store: Store
  readonly #now: () => number
  readonly #own: SpentIds

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
    this.#own = new SpentIds(undefined, now)
  }

  get isDurable(): boolean {
    return this.#store.isUp
  }

  async add(id: string, until: number): Promise<boolean> {
    if (await this.#own.has(id)) return false
    const isFirst = await this.#store.add(keyOf(id), '1', Math.max(1, until - this.#now())).catch(() => false)
    if (isFirst) await this.#own.add(id, until)
    return isFirst
  }

  /** While the store is away only this replica's own are known; what must not happen twice depends on `add`. */
  async has(id: string): Promise<boolean> {
    if (await this.#own.has(id)) return true
    return await this.#store.get(keyOf(id)).then(
      (value) => value !== undefined,
      () => false,
    )
  }
}

function keyOf(id: string): string {
  return `spent:${id}`
}
