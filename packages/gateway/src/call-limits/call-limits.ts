// call-limits.ts: how many calls a user may make: at a time, per minute and per day, in all and for tools by pattern. The counts are
// shared by all replicas through the store; while it is away each replica allows its share.
import { JsonRpcError } from '@plugboard/core'
import type { User } from '../access/access.ts'
import { type Exposure, readExposure } from '../access/exposure.ts'
import type { CallLimitsConfig, LimitConfig } from '../config/schema.ts'
import { RPC_RATE_LIMITED } from '../json-rpc.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Rate, RateDecision, Store } from '../store/store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Calls that are taken from the shared counts at a time, at most, and how long they can be used for a rate. */
const CHUNK = 64
const SPARE_MS = 1000
/** A refused concurrent call may come back after this. */
const BUSY_RETRY_MS = 1000

/** Whose calls are counted: a user, or where users have no name an owner. */
export interface Counted {
  readonly owner: string
  readonly user?: User | undefined
}

/** The store that all replicas count in, and how many they are. */
export interface SharedCounts {
  readonly store: Store
  peers(): readonly unknown[]
}

interface Bucket {
  readonly key: string
  /** For messages: `60 calls per minute`, of `github.*`. */
  readonly of: string
  readonly limit: LimitConfig
}

interface ToolLimit {
  readonly pattern: string
  readonly exposure: Exposure
  readonly limit: LimitConfig
}

/** Counts calls by user and role against the limits of gateway.json; with a store, over all replicas. */
export class CallLimits {
  readonly #shared: SharedCounts | undefined
  readonly #local = new MemoryStore()
  readonly #running = new Map<string, number>()
  /** What was taken from the shared counts and is not used yet. */
  readonly #spare = new Map<string, { left: number; until: number }>()
  #config: CallLimitsConfig = {}
  #tools: readonly ToolLimit[] = []

  constructor(config: CallLimitsConfig, shared?: SharedCounts) {
    this.#shared = shared
    this.replace(config)
  }

  /** New limits count from now on; what was used stays used. */
  replace(config: CallLimitsConfig): void {
    this.#config = config
    this.#tools = Object.entries(config.tools ?? {}).map(([pattern, limit]) => ({
      pattern,
      limit,
      exposure: readExposure([pattern]),
    }))
  }

  /** Counts a call that starts; returns what counts its end. Rejects with when to come back. */
  async enter(who: Counted, server: string, tool: string | undefined): Promise<() => void> {
    const buckets = this.#bucketsOf(who, server, tool)
    if (buckets.length === 0) return () => undefined
    const leave = this.#enterAll(buckets)
    try {
      await this.#takeRates(buckets)
      await this.#takeDays(buckets)
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  #bucketsOf({ owner, user }: Counted, server: string, tool: string | undefined): Bucket[] {
    const key = user?.key ?? owner
    const limit = this.#limitOf(user?.roles ?? [])
    const all: Bucket[] = limit ? [{ key, of: '', limit }] : []
    if (tool !== undefined)
      for (const { pattern, exposure, limit: own } of this.#tools)
        if (exposure.tool(server, tool))
          all.push({ key: `${key}:${pattern}`, of: ` of ${pattern}`, limit: own })
    return all
  }

  /** A role with limits replaces those of all users; of several roles the largest number counts, and none is no limit. */
  #limitOf(roles: readonly string[]): LimitConfig | undefined {
    const { user, roles: byRole = {} } = this.#config
    const own = roles.flatMap((role) => byRole[role] ?? [])
    if (own.length === 0) return user
    const most = (key: keyof LimitConfig) =>
      own.some((limit) => limit[key] === undefined)
        ? undefined
        : Math.max(...own.map((limit) => limit[key] ?? 0))
    return {
      concurrent: most('concurrent'),
      perMinute: most('perMinute'),
      burst: most('burst'),
      perDay: most('perDay'),
    }
  }

  get #replicas(): number {
    return (this.#shared?.peers().length ?? 0) + 1
  }

  /** One of several replicas has its share. */
  #share(count: number): number {
    return Math.max(1, Math.ceil(count / this.#replicas))
  }

  #enterAll(buckets: readonly Bucket[]): () => void {
    const entered: string[] = []
    const leave = () => {
      for (const key of entered.splice(0)) {
        const left = (this.#running.get(key) ?? 1) - 1
        if (left > 0) this.#running.set(key, left)
        else this.#running.delete(key)
      }
    }
    for (const { key, of, limit } of buckets) {
      if (limit.concurrent === undefined) continue
      const running = this.#running.get(key) ?? 0
      if (running >= this.#share(limit.concurrent)) {
        leave()
        throw rateLimited(`${limit.concurrent} calls${of} at a time`, BUSY_RETRY_MS)
      }
      this.#running.set(key, running + 1)
      entered.push(key)
    }
    return leave
  }

  async #takeRates(buckets: readonly Bucket[]): Promise<void> {
    for (const { key, of, limit } of buckets) {
      const { perMinute } = limit
      if (perMinute === undefined) continue
      const name = `rate:{${key}}`
      if (this.#spend(name)) continue
      const burst = limit.burst ?? Math.max(1, Math.ceil(perMinute / 6))
      const chunk = this.#chunk(Math.min(burst / 2, perMinute / 60))
      const taken = await this.#takeRate(name, { perSecond: perMinute / 60, burst }, chunk)
      if (!taken.ok) throw rateLimited(`${perMinute} calls${of} per minute`, taken.retryMs)
    }
  }

  /** Several at once, if they are there: the rest is spent without asking. */
  async #takeRate(name: string, rate: Rate, chunk: number): Promise<RateDecision> {
    const take = (cost: number) =>
      this.#counted(
        (store) => store.take(name, rate, cost),
        () =>
          this.#local.take(
            name,
            { perSecond: rate.perSecond / this.#replicas, burst: this.#share(rate.burst) },
            cost,
          ),
      )
    if (chunk > 1 && (await take(chunk)).ok) {
      this.#spare.set(name, { left: chunk - 1, until: Date.now() + SPARE_MS })
      return { ok: true }
    }
    return await take(1)
  }

  async #takeDays(buckets: readonly Bucket[]): Promise<void> {
    const now = Date.now()
    const day = Math.floor(now / DAY_MS)
    for (const { key, of, limit } of buckets) {
      const { perDay } = limit
      if (perDay === undefined) continue
      const name = `day:{${key}}:${day}`
      if (this.#spend(name)) continue
      const chunk = this.#chunk(perDay / 100)
      const used = await this.#counted(
        (store) => store.increment(name, chunk, DAY_MS),
        async () => (await this.#local.increment(name, chunk, DAY_MS)) * this.#replicas,
      )
      const left = chunk - Math.max(0, used - perDay)
      if (left <= 0) throw rateLimited(`${perDay} calls${of} per day`, (day + 1) * DAY_MS - now)
      if (left > 1) this.#spare.set(name, { left: left - 1, until: (day + 1) * DAY_MS })
    }
  }

  /** How many are taken at a time: few enough that what one replica keeps is not missed at another. */
  #chunk(most: number): number {
    return Math.max(1, Math.min(CHUNK, Math.floor(most / this.#replicas)))
  }

  /** Spends one of what was taken before; false when there is none. */
  #spend(name: string): boolean {
    const spare = this.#spare.get(name)
    if (!spare) return false
    if (spare.left <= 0 || spare.until < Date.now()) {
      this.#spare.delete(name)
      return false
    }
    spare.left--
    return true
  }

  /** In the store of all replicas, or where there is none, or it is away, in this process. */
  async #counted<T>(there: (store: Store) => Promise<T>, here: () => Promise<T>): Promise<T> {
    const store = this.#shared?.store
    if (!store?.isUp) return await here()
    return await there(store).catch(here)
  }
}

function rateLimited(limit: string, retryMs: number): JsonRpcError {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000))
  return new JsonRpcError(
    RPC_RATE_LIMITED,
    `RATE_LIMITED: you may make ${limit}. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    { code: 'RATE_LIMITED', retryAfterSeconds: seconds },
  )
}
