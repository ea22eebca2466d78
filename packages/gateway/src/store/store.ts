// store.ts: what several gateway processes share, as one small interface: values that expire, fields, counters, rates, leases, lists
// and messages. memory-store.ts and redis-store.ts implement it; both pass the same tests. It knows nothing of sessions or users.

/** How fast something may happen: so many at once, and then so many per second. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** `left`: how many could be taken after it. */
export type RateDecision =
  | { readonly ok: true; readonly left: number }
  | { readonly ok: false; readonly retryMs: number }

/** Every operation rejects with `StoreUnavailable` while the store cannot be reached, soon and without a retry. */
export interface Store {
  /** False while the store cannot be reached. */
  readonly isUp: boolean
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, lifeMs: number): Promise<void>
  /** False, and nothing changed, when the key has a value. */
  add(key: string, value: string, lifeMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Sets one field; every change gives all fields of the key a new life. */
  setField(key: string, field: string, value: string, lifeMs: number): Promise<void>
  deleteField(key: string, field: string): Promise<void>
  fields(key: string): Promise<ReadonlyMap<string, string>>
  /** The new count. Its life starts with the first. */
  increment(key: string, by: number, lifeMs: number): Promise<number>
  /** Takes `cost` of a rate, or says how long until it is there. */
  take(key: string, rate: Rate, cost?: number): Promise<RateDecision>
  /**
   * A lease that one holder has at a time: its fencing number, which grows with every new holder; undefined when another one
   * holds it. The holder's own lease is renewed.
   */
  acquire(key: string, holder: string, lifeMs: number): Promise<number | undefined>
  /** Who has a lease; undefined when none has. */
  holder(key: string): Promise<string | undefined>
  /** Gives a lease up; the lease of another holder stays. */
  release(key: string, holder: string): Promise<void>
  /** Adds to a list whose oldest entries leave when there are more than `most` of them, or a few more. */
  append(key: string, value: string, most: number): Promise<void>
  /** The last entries of such a list, the oldest first. */
  last(key: string, count: number): Promise<readonly string[]>
  publish(channel: string, message: string): Promise<void>
  /** Returns what ends the subscription. Messages while the store cannot be reached are lost. */
  subscribe(channel: string, receive: (message: string) => void): Promise<() => void>
  /** `changed` is called when the store goes away and when it is back. */
  onChange(changed: (isUp: boolean) => void): () => void
  close(): Promise<void>
}

/** The store did not answer; the request can be made again. */
export class StoreUnavailable extends Error {
  constructor(cause?: unknown) {
    super('The store cannot be reached.', { cause })
    this.name = 'StoreUnavailable'
  }
}
