// call-limits.ts: how many calls a user may make: at a time, per minute and per day, in all and for tools by pattern. The counts are
// shared by all replicas through the store; while it is away each replica allows its share.
import type { User } from '../access/access.ts'
import { type Exposure, readExposure } from '../access/exposure.ts'
import type { CallLimitsConfig, LimitConfig } from '../config/schema.ts'
import { RateLimited } from '../errors.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import { BudgetHeaders, type BudgetRule, budgetRule, type HeaderList, shownBudget } from './budget-headers.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Calls that are taken from the shared counts at a time, at most, and how long they can be used for a rate. */
const CHUNK = 1024
const SPARE_MS = 1000
/** Unused ones of users that left are dropped when there are more. */
const SPARES = 10_000
/** How often a caller waits for another one's question before it asks itself. */
const TURNS = 20
/** A refused concurrent call may come back after this. */
const BUSY_RETRY_MS = 1000

/** Whose calls are counted: a user, or where users have no name an owner. */
export interface Counted {
  readonly owner: string
  readonly user?: User | undefined
}

/** The store that all replicas count in, and how many others there are. */
export interface SharedCounts {
  readonly store: Store
  readonly peerCount: number
}

/** What was taken from a shared count and is not used yet, and how much was there beyond it. */
interface Spare {
  left: number
  until: number
  beyond: number
}

/** A count in the store: its name there, and what was taken from it, as far as it was looked up. */
interface SharedCount {
  readonly name: string
  spare: Spare | undefined
}

/** What one limit counts. */
interface Bucket {
  readonly key: string
  /** For messages: `60 calls per minute`, of `github.*`. */
  readonly of: string
  readonly limit: LimitConfig
  readonly rate: SharedCount
  today: SharedCount & { readonly day: number }
  /** The calls that run now; the same object for all buckets of a key while there are some. */
  running: { calls: number }
}

/** All limits that a call counts for. */
interface BucketSet {
  readonly buckets: readonly Bucket[]
  readonly headers: BudgetHeaders
}

/** What has to be taken from the store before a call may start. */
interface Missing {
  readonly count: SharedCount
  /** Takes one, and maybe more for later. */
  take(): Promise<void>
}

/** A call that was let in. */
export interface Admission {
  /** What the answer says about the limits. */
  readonly headers: HeaderList
  /** Counts its end. */
  leave(): void
}

const NONE: readonly never[] = []
const UNLIMITED: Admission = { headers: NONE, leave: () => undefined }

interface ToolLimit {
  readonly pattern: string
  readonly exposure: Exposure
  readonly limit: LimitConfig
  readonly rules: readonly BudgetRule[]
}

/** Counts calls by user and role against the limits of gateway.json; with a store, over all replicas. */
export class CallLimits {
  readonly #shared: SharedCounts | undefined
  readonly #local = new MemoryStore()
  /** By the key of a bucket, where calls run. */
  readonly #running = new Map<string, Bucket['running']>()
  readonly #spare = new Map<string, Spare>()
  /** By count, the question to the store that is under way. */
  readonly #taking = new Map<string, Promise<void>>()
  #ownSets = new WeakMap<User, BucketSet>()
  #config: CallLimitsConfig = {}
  #tools: readonly ToolLimit[] = []

  constructor(config: CallLimitsConfig, shared?: SharedCounts) {
    this.#shared = shared
    this.replace(config)
  }

  /** New limits count from now on; what was used stays used. */
  replace(config: CallLimitsConfig): void {
    this.#config = config
    this.#ownSets = new WeakMap()
    this.#tools = Object.entries(config.tools ?? {}).map(([pattern, limit]) => ({
      pattern,
      limit,
      exposure: readExposure([pattern]),
      rules: rulesOf(pattern, limit),
    }))
  }

  get config(): CallLimitsConfig {
    return this.#config
  }

  /** How many calls run now, by what they are counted for. */
  running(): readonly { readonly of: string; readonly calls: number }[] {
    return [...this.#running].map(([of, { calls }]) => ({ of, calls }))
  }

  /**
   * Counts a call that starts. Rejects with when to come back. At once when everything it needs was taken from the shared counts
   * before.
   */
  enter(who: Counted, server: string, tool: string | undefined): Admission | Promise<Admission> {
    const set = this.#setOf(who, server, tool)
    if (set.buckets.length === 0) return UNLIMITED
    const now = Date.now()
    const refusal = this.#start(set.buckets)
    if (refusal) return Promise.reject(this.#told(refusal, set))
    const missing = this.#missing(set.buckets, now)
    if (missing.length === 0) return this.#admission(set, now)
    return this.#takeAll(missing).then(
      () => this.#admission(set, Date.now()),
      (error: unknown) => {
        this.#end(set.buckets)
        throw this.#told(error, set)
      },
    )
  }

  #admission(set: BucketSet, now: number): Admission {
    return new AdmittedCall(this.#headers(set, now), set.buckets, this.#end)
  }

  /** A refusal says what is left, too. */
  #told(error: unknown, set: BucketSet): unknown {
    if (error instanceof RateLimited) error.headers = this.#headers(set, Date.now())
    return error
  }

  #setOf(who: Counted, server: string, tool: string | undefined): BucketSet {
    const own = this.#ownSet(who)
    if (tool === undefined || this.#tools.length === 0) return own
    const matching = this.#tools.filter(({ exposure }) => exposure.tool(server, tool))
    if (matching.length === 0) return own
    const key = who.user?.key ?? who.owner
    const buckets = matching.map(({ pattern, limit }) => bucket(`${key}:${pattern}`, ` of ${pattern}`, limit))
    const rules = matching.flatMap((one) => one.rules)
    return { buckets: [...own.buckets, ...buckets], headers: own.headers.with(rules) }
  }

  /** A user that calls often has the same one. */
  #ownSet({ owner, user }: Counted): BucketSet {
    const known = user && this.#ownSets.get(user)
    if (known) return known
    const limit = this.#limitOf(user?.roles ?? [])
    const made = {
      buckets: limit ? [bucket(user?.key ?? owner, '', limit)] : [],
      headers: new BudgetHeaders(limit ? rulesOf('user', limit) : []),
    }
    if (user) this.#ownSets.set(user, made)
    return made
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
    return (this.#shared?.peerCount ?? 0) + 1
  }

  /** One of several replicas has its share. */
  #share(count: number): number {
    return Math.max(1, Math.ceil(count / this.#replicas))
  }

  /** Counts a call in every bucket, or in none when one is full: then its refusal. */
  #start(buckets: readonly Bucket[]): RateLimited | undefined {
    for (const one of buckets) {
      const { concurrent } = one.limit
      if (concurrent === undefined) continue
      const running = this.#runningIn(one)
      if (running.calls > 0 && running.calls >= this.#share(concurrent))
        return new RateLimited(`${concurrent} calls${one.of} at a time`, BUSY_RETRY_MS)
    }
    for (const { key, limit, running } of buckets)
      if (limit.concurrent !== undefined && running.calls++ === 0) this.#running.set(key, running)
    return undefined
  }

  readonly #end = (buckets: readonly Bucket[]): void => {
    for (const { key, limit, running } of buckets)
      if (limit.concurrent !== undefined && --running.calls === 0) this.#running.delete(key)
  }

  /** Buckets of one key that were made for several connections of a user count together. */
  #runningIn(one: Bucket): Bucket['running'] {
    if (one.running.calls === 0) one.running = this.#running.get(one.key) ?? one.running
    return one.running
  }

  /** Spends what was taken from the store before, for all replicas, and returns what has to be taken now. */
  #missing(buckets: readonly Bucket[], now: number): readonly Missing[] {
    let missing: Missing[] | undefined
    for (const one of buckets) {
      const { of } = one
      const { perMinute, burst, perDay } = one.limit
      if (perMinute !== undefined && !this.#spend(one.rate, now)) {
        missing ??= []
        missing.push({ count: one.rate, take: () => this.#takeRate(one.rate.name, of, perMinute, burst) })
      }
      if (perDay === undefined) continue
      const today = todayOf(one, now)
      if (this.#spend(today, now)) continue
      missing ??= []
      missing.push({ count: today, take: () => this.#takeDay(today, of, perDay) })
    }
    return missing ?? NONE
  }

  async #takeAll(missing: readonly Missing[]): Promise<void> {
    for (const one of missing) await this.#takeOne(one)
  }

  /** One caller asks the store; those of the same moment wait for what it gets, and for a refusal with it. */
  async #takeOne({ count, take }: Missing): Promise<void> {
    const { name } = count
    for (let turn = 0; turn < TURNS; turn++) {
      const taking = this.#taking.get(name)
      if (!taking) break
      await taking
      if (this.#spend(count, Date.now())) return
    }
    const taking = take().finally(() => {
      if (this.#taking.get(name) === taking) this.#taking.delete(name)
    })
    this.#taking.set(name, taking)
    await taking
    count.spare = this.#spare.get(name)
  }

  /** Several at once, if they are there: the rest is spent without asking. */
  async #takeRate(name: string, of: string, perMinute: number, given: number | undefined): Promise<void> {
    const rate = { perSecond: perMinute / 60, burst: burstOf(perMinute, given) }
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
    let chunk = this.#chunk(Math.min(rate.burst / 2, rate.perSecond))
    let taken = await take(chunk)
    if (!taken.ok && chunk > 1) {
      chunk = 1
      taken = await take(1)
    }
    if (!taken.ok) throw new RateLimited(`${perMinute} calls${of} per minute`, taken.retryMs)
    this.#keep(name, chunk - 1, Date.now() + SPARE_MS, taken.left)
  }

  async #takeDay({ name, day }: Bucket['today'], of: string, perDay: number): Promise<void> {
    const chunk = this.#chunk(perDay / 100)
    const used = await this.#counted(
      (store) => store.increment(name, chunk, DAY_MS),
      async () => (await this.#local.increment(name, chunk, DAY_MS)) * this.#replicas,
    )
    const left = chunk - Math.max(0, used - perDay)
    const until = (day + 1) * DAY_MS
    if (left <= 0) throw new RateLimited(`${perDay} calls${of} per day`, until - Date.now())
    this.#keep(name, left - 1, until, Math.max(0, perDay - used))
  }

  /** What was taken and is not used, beside what other callers took meanwhile. */
  #keep(name: string, taken: number, until: number, beyond: number): void {
    const now = Date.now()
    const known = this.#spare.get(name)
    const before = known && known.until > now ? known.left : 0
    if (known) Object.assign(known, { left: before + taken, until, beyond })
    else this.#spare.set(name, { left: taken, until, beyond })
    if (this.#spare.size > SPARES)
      for (const [key, { until: end }] of this.#spare) if (end <= now) this.#spare.delete(key)
  }

  /** As far as it is known here: other replicas count too. */
  #headers({ buckets, headers }: BucketSet, now: number): HeaderList {
    let rule = 0
    for (const one of buckets) {
      const { perMinute, burst, perDay } = one.limit
      if (perMinute !== undefined) {
        const left = this.#left(one.rate)
        const missing = Math.max(0, burstOf(perMinute, burst) - left)
        headers.say(rule++, left, Math.ceil((missing * 60) / perMinute))
      }
      if (perDay === undefined) continue
      const today = todayOf(one, now)
      headers.say(rule++, this.#left(today), Math.ceil(((today.day + 1) * DAY_MS - now) / 1000))
    }
    return headers.list
  }

  #left({ name, spare = this.#spare.get(name) }: SharedCount): number {
    return spare ? shownBudget(Math.max(0, Math.floor(spare.left + spare.beyond))) : 0
  }

  /** How many are taken at a time: few enough that what one replica keeps is not missed at another. */
  #chunk(most: number): number {
    return Math.max(1, Math.min(CHUNK, Math.floor(most / this.#replicas)))
  }

  /** Spends one of what was taken before; false when there is none. */
  #spend(count: SharedCount, now: number): boolean {
    // One that has run out may have been dropped, and another one made.
    if (count.spare === undefined || count.spare.until <= now) count.spare = this.#spare.get(count.name)
    const { spare } = count
    if (!spare || spare.left <= 0 || spare.until <= now) return false
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

class AdmittedCall implements Admission {
  readonly headers: HeaderList
  readonly #end: (buckets: readonly Bucket[]) => void
  #buckets: readonly Bucket[]

  constructor(headers: HeaderList, buckets: readonly Bucket[], end: (buckets: readonly Bucket[]) => void) {
    this.headers = headers
    this.#buckets = buckets
    this.#end = end
  }

  leave(): void {
    this.#end(this.#buckets)
    this.#buckets = NONE
  }
}

function bucket(key: string, of: string, limit: LimitConfig): Bucket {
  const rate = { name: `rate:{${key}}`, spare: undefined }
  return { key, of, limit, rate, today: { day: -1, name: '', spare: undefined }, running: { calls: 0 } }
}

/** In the order in which the headers have them. */
function rulesOf(title: string, { perMinute, perDay }: LimitConfig): readonly BudgetRule[] {
  return [
    ...(perMinute === undefined ? [] : [budgetRule(`${title}-minute`, perMinute, 60)]),
    ...(perDay === undefined ? [] : [budgetRule(`${title}-day`, perDay, DAY_MS / 1000)]),
  ]
}

/** Another one for every day. */
function todayOf(one: Bucket, now: number): Bucket['today'] {
  const day = Math.floor(now / DAY_MS)
  if (one.today.day !== day) one.today = { day, name: `day:{${one.key}}:${day}`, spare: undefined }
  return one.today
}

function burstOf(perMinute: number, given: number | undefined): number {
  return given ?? Math.max(1, Math.ceil(perMinute / 6))
}
