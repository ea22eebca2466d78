// memory-store.ts: the store of a single process, and of several gateways inside one.
import { type Rate, type RateDecision, type Store, StoreUnavailable } from './store.ts'

interface Kept {
  value: string
  until: number
}

interface KeptFields {
  readonly fields: Map<string, string>
  until: number
}

/** How many keys are looked at for expired ones at a time. */
const SWEEP_MS = 10_000

export class MemoryStore implements Store {
  readonly #now: () => number
  readonly #values = new Map<string, Kept>()
  readonly #fields = new Map<string, KeptFields>()
  /** By rate key, when everything that was taken is given back. */
  readonly #rates = new Map<string, number>()
  readonly #lists = new Map<string, string[]>()
  readonly #fences = new Map<string, number>()
  readonly #channels = new Map<string, Set<(message: string) => void>>()
  readonly #changed = new Set<(isUp: boolean) => void>()
  readonly #sweep: NodeJS.Timeout
  #isUp = true

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#sweep = setInterval(() => this.#dropExpired(), SWEEP_MS)
    this.#sweep.unref()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Makes the store behave as one that cannot be reached. */
  setUp(isUp: boolean): void {
    this.#isUp = isUp
    for (const changed of [...this.#changed]) changed(isUp)
  }

  async get(key: string): Promise<string | undefined> {
    this.#mustBeUp()
    return this.#live(key)?.value
  }

  async set(key: string, value: string, lifeMs: number): Promise<void> {
    this.#mustBeUp()
    this.#values.set(key, { value, until: this.#now() + lifeMs })
  }

  async add(key: string, value: string, lifeMs: number): Promise<boolean> {
    this.#mustBeUp()
    if (this.#live(key)) return false
    this.#values.set(key, { value, until: this.#now() + lifeMs })
    return true
  }

  async delete(key: string): Promise<void> {
    this.#mustBeUp()
    this.#values.delete(key)
    this.#fields.delete(key)
  }

  async setField(key: string, field: string, value: string, lifeMs: number): Promise<void> {
    this.#mustBeUp()
    const kept = this.#liveFields(key) ?? { fields: new Map(), until: 0 }
    kept.fields.set(field, value)
    kept.until = this.#now() + lifeMs
    this.#fields.set(key, kept)
  }

  async deleteField(key: string, field: string): Promise<void> {
    this.#mustBeUp()
    this.#liveFields(key)?.fields.delete(field)
  }

  async fields(key: string): Promise<ReadonlyMap<string, string>> {
    this.#mustBeUp()
    return new Map(this.#liveFields(key)?.fields)
  }

  async increment(key: string, by: number, lifeMs: number): Promise<number> {
    this.#mustBeUp()
    const kept = this.#live(key) ?? { value: '0', until: this.#now() + lifeMs }
    kept.value = String(Number(kept.value) + by)
    this.#values.set(key, kept)
    return Number(kept.value)
  }

  async take(key: string, rate: Rate, cost = 1): Promise<RateDecision> {
    this.#mustBeUp()
    const { decision, until } = takeAt(this.#rates.get(key) ?? 0, rate, cost, this.#now())
    this.#rates.set(key, until)
    return decision
  }

  async acquire(key: string, holder: string, lifeMs: number): Promise<number | undefined> {
    this.#mustBeUp()
    const held = this.#live(key)
    if (held && held.value !== holder) return undefined
    const fence = (this.#fences.get(key) ?? 0) + (held ? 0 : 1)
    this.#fences.set(key, fence)
    this.#values.set(key, { value: holder, until: this.#now() + lifeMs })
    return fence
  }

  holder(key: string): Promise<string | undefined> {
    return this.get(key)
  }

  async release(key: string, holder: string): Promise<void> {
    this.#mustBeUp()
    if (this.#live(key)?.value === holder) this.#values.delete(key)
  }

  async append(key: string, value: string, most: number): Promise<void> {
    this.#mustBeUp()
    const list = this.#lists.get(key) ?? []
    list.push(value)
    this.#lists.set(key, list.slice(-most))
  }

  async last(key: string, count: number): Promise<readonly string[]> {
    this.#mustBeUp()
    return (this.#lists.get(key) ?? []).slice(-count)
  }

  async publish(channel: string, message: string): Promise<void> {
    this.#mustBeUp()
    for (const receive of [...(this.#channels.get(channel) ?? [])]) queueMicrotask(() => receive(message))
  }

  async subscribe(channel: string, receive: (message: string) => void): Promise<() => void> {
    const all = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, all.add(receive))
    return () => all.delete(receive)
  }

  onChange(changed: (isUp: boolean) => void): () => void {
    this.#changed.add(changed)
    return () => this.#changed.delete(changed)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep)
  }

  #mustBeUp(): void {
    if (!this.#isUp) throw new StoreUnavailable()
  }

  #live(key: string): Kept | undefined {
    const kept = this.#values.get(key)
    return kept && kept.until > this.#now() ? kept : undefined
  }

  #liveFields(key: string): KeptFields | undefined {
    const kept = this.#fields.get(key)
    return kept && kept.until > this.#now() ? kept : undefined
  }

  #dropExpired(): void {
    const now = this.#now()
    for (const [key, { until }] of this.#values) if (until <= now) this.#values.delete(key)
    for (const [key, { until }] of this.#fields) if (until <= now) this.#fields.delete(key)
    for (const [key, until] of this.#rates) if (until <= now) this.#rates.delete(key)
  }
}

/**
 * The generic cell rate algorithm: `until` is when everything that was taken is given back. What would lie further ahead than
 * the burst allows has to wait.
 */
export function takeAt(
  before: number,
  { perSecond, burst }: Rate,
  cost: number,
  now: number,
): { readonly decision: RateDecision; readonly until: number } {
  const each = 1000 / perSecond
  const until = Math.max(before, now) + each * cost
  const early = until - now - each * burst
  if (early > 0) return { decision: { ok: false, retryMs: Math.ceil(early) }, until: Math.max(before, now) }
  return { decision: { ok: true, left: Math.max(0, Math.floor(-early / each)) }, until }
}
