// call-limits.ts: how many calls a user may make: at a time, per minute and per day, in all and for tools by pattern. The counts are
// shared by all replicas through the store; while it is away each replica allows its share.
import type { User } from '../access/access.ts'
import { type Exposure, readExposure } from '../access/exposure.ts'
import type { CallLimitsConfig, LimitConfig } from '../config/schema.ts'
import { type BudgetRule, type CallBudget, RateLimited } from '../errors.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Calls that are taken from the shared counts at a time, at most, and how long they can be used for a rate. */
const CHUNK = 256
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

/** The store that all replicas count in, and how many they are. */
export interface SharedCounts {
  readonly store: Store
  peers(): readonly unknown[]
}

interface Bucket {
  readonly key: string
  /** The name of its rate in the store. */
  readonly rate: string
  /** For messages: `60 calls per minute`, of `github.*`. */
  readonly of: string
  readonly limit: LimitConfig
  readonly rules: BudgetRules
  /** The name of today's count in the store. */
  today: { readonly day: number; readonly name: string }
}

interface BudgetRules {
  readonly minute: BudgetRule
  readonly day: BudgetRule
}

interface Count {
  readonly name: string
  readonly of: string
  /** Takes one from the store, and maybe more for later. */
  take(name: string): Promise<void>
}

/** A call that was let in. */
export interface Admission {
  /** Counts its end, where that has to be counted. */
  readonly leave?: (() => void) | undefined
  readonly budgets: readonly CallBudget[]
}

const UNLIMITED: Admission = { budgets: [] }

interface ToolLimit {
  readonly pattern: string
  readonly exposure: Exposure
  readonly limit: LimitConfig
  readonly rules: BudgetRules
}

/** Counts calls by user and role against the limits of gateway.json; with a store, over all replicas. */
export class CallLimits {
  readonly #shared: SharedCounts | undefined
  readonly #local = new MemoryStore()
  readonly #running = new Map<string, number>()
  /** What was taken from the shared counts and is not used yet, and how much was there beyond it. */
  readonly #spare = new Map<string, { left: number; until: number; beyond: number }>()
  /** By count, the question to the store that is under way. */
  readonly #taking = new Map<string, Promise<void>>()
  #ownBuckets = new WeakMap<User, readonly Bucket[]>()
  #config: CallLimitsConfig = {}
  #tools: readonly ToolLimit[] = []

  constructor(config: CallLimitsConfig, shared?: SharedCounts) {
    this.#shared = shared
    this.replace(config)
  }

  /** New limits count from now on; what was used stays used. */
  replace(config: CallLimitsConfig): void {
    this.#config = config
    this.#ownBuckets = new WeakMap()
    this.#tools = Object.entries(config.tools ?? {}).map(([pattern, limit]) => ({
      pattern,
      limit,
      exposure: readExposure([pattern]),
      rules: budgetRules(pattern, limit),
    }))
  }

  get config(): CallLimitsConfig {
    return this.#config
  }

  /** How many calls run now, by what they are counted for. */
  running(): readonly { readonly of: string; readonly calls: number }[] {
    return [...this.#running].map(([of, calls]) => ({ of, calls }))
  }

  /**
   * Counts a call that starts. Rejects with when to come back. At once when everything it needs was taken from the shared counts
   * before.
   */
  enter(who: Counted, server: string, tool: string | undefined): Admission | Promise<Admission> {
    const buckets = this.#bucketsOf(who, server, tool)
    if (buckets.length === 0) return UNLIMITED
    let leave: (() => void) | undefined
    try {
      leave = this.#enterAll(buckets)
    } catch (error) {
      return Promise.reject(this.#told(error, buckets))
    }
    const missing = this.#missing(buckets, Date.now())
    const admission = () => ({ leave, budgets: this.#budgets(buckets) })
    if (missing.length === 0) return admission()
    return this.#takeAll(missing).then(admission, (error: unknown) => {
      leave?.()
      throw this.#told(error, buckets)
    })
  }

  /** A refusal says what is left, too. */
  #told(error: unknown, buckets: readonly Bucket[]): unknown {
    if (error instanceof RateLimited) error.budgets = this.#budgets(buckets)
    return error
  }

  #bucketsOf(who: Counted, server: string, tool: string | undefined): readonly Bucket[] {
    const own = this.#ownBucket(who)
    if (tool === undefined || this.#tools.length === 0) return own
    const key = who.user?.key ?? who.owner
    const ofTools = this.#tools.flatMap(({ pattern, exposure, limit, rules }) =>
      exposure.tool(server, tool) ? [bucket(`${key}:${pattern}`, ` of ${pattern}`, limit, rules)] : [],
    )
    return [...own, ...ofTools]
  }

  /** A user that calls often has the same one. */
  #ownBucket({ owner, user }: Counted): readonly Bucket[] {
    const known = user && this.#ownBuckets.get(user)
    if (known) return known
    const limit = this.#limitOf(user?.roles ?? [])
    const made = limit ? [bucket(user?.key ?? owner, '', limit, budgetRules('user', limit))] : []
    if (user) this.#ownBuckets.set(user, made)
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
    return (this.#shared?.peers().length ?? 0) + 1
  }

  /** One of several replicas has its share. */
  #share(count: number): number {
    return Math.max(1, Math.ceil(count / this.#replicas))
  }

  /** Undefined when nothing has to be counted at the end. */
  #enterAll(buckets: readonly Bucket[]): (() => void) | undefined {
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
        throw new RateLimited(`${limit.concurrent} calls${of} at a time`, BUSY_RETRY_MS)
      }
      this.#running.set(key, running + 1)
      entered.push(key)
    }
    return entered.length > 0 ? leave : undefined
  }

  /** Spends what was taken from the store before, for all replicas, and returns what has to be taken now. */
  #missing(buckets: readonly Bucket[], now: number): readonly Count[] {
    const day = Math.floor(now / DAY_MS)
    const missing: Count[] = []
    for (const one of buckets) {
      const { rate, of } = one
      const { perMinute, burst, perDay } = one.limit
      if (perMinute !== undefined && !this.#spend(rate, now))
        missing.push({ name: rate, of, take: (name) => this.#takeRate(name, of, perMinute, burst) })
      if (perDay === undefined) continue
      const daily = dayName(one, day)
      if (!this.#spend(daily, now))
        missing.push({ name: daily, of, take: (name) => this.#takeDay(name, of, perDay, day) })
    }
    return missing
  }

  async #takeAll(counts: readonly Count[]): Promise<void> {
    for (const { name, take } of counts) await this.#takeOne(name, take)
  }

  /** One caller asks the store; those of the same moment wait for what it gets, and for a refusal with it. */
  async #takeOne(name: string, take: (name: string) => Promise<void>): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) {
      const taking = this.#taking.get(name)
      if (!taking) break
      await taking
      if (this.#spend(name, Date.now())) return
    }
    const taking = take(name).finally(() => {
      if (this.#taking.get(name) === taking) this.#taking.delete(name)
    })
    this.#taking.set(name, taking)
    await taking
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

  async #takeDay(name: string, of: string, perDay: number, day: number): Promise<void> {
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
    this.#spare.set(name, { left: before + taken, until, beyond })
    if (this.#spare.size > SPARES)
      for (const [key, { until: end }] of this.#spare) if (end <= now) this.#spare.delete(key)
  }

  /** As far as it is known here: other replicas count too. */
  #budgets(buckets: readonly Bucket[]): readonly CallBudget[] {
    const now = Date.now()
    const day = Math.floor(now / DAY_MS)
    const leftOf = (name: string) => {
      const spare = this.#spare.get(name)
      return spare ? Math.max(0, Math.floor(spare.left + spare.beyond)) : 0
    }
    const budgets: CallBudget[] = []
    for (const one of buckets) {
      const { perMinute, burst, perDay } = one.limit
      if (perMinute !== undefined) {
        const left = leftOf(one.rate)
        const missing = Math.max(0, burstOf(perMinute, burst) - left)
        budgets.push({ rule: one.rules.minute, left, resetSeconds: Math.ceil((missing * 60) / perMinute) })
      }
      if (perDay !== undefined)
        budgets.push({
          rule: one.rules.day,
          left: leftOf(dayName(one, day)),
          resetSeconds: Math.ceil(((day + 1) * DAY_MS - now) / 1000),
        })
    }
    return budgets
  }

  /** How many are taken at a time: few enough that what one replica keeps is not missed at another. */
  #chunk(most: number): number {
    return Math.max(1, Math.min(CHUNK, Math.floor(most / this.#replicas)))
  }

  /** Spends one of what was taken before; false when there is none. */
  #spend(name: string, now: number): boolean {
    const spare = this.#spare.get(name)
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

function bucket(key: string, of: string, limit: LimitConfig, rules: BudgetRules): Bucket {
  return { key, rate: `rate:{${key}}`, of, limit, rules, today: { day: -1, name: '' } }
}

function budgetRules(of: string, { perMinute, perDay }: LimitConfig): BudgetRules {
  return {
    minute: budgetRule(`${of}-minute`, perMinute, 60),
    day: budgetRule(`${of}-day`, perDay, DAY_MS / 1000),
  }
}

function budgetRule(title: string, quota: number | undefined, seconds: number): BudgetRule {
  const name = JSON.stringify(title).replace(/[^ -~]/g, '?')
  return { name, policy: `${name};q=${quota};w=${seconds}` }
}

/** The same text for every call of a day. */
function dayName(one: Bucket, day: number): string {
  if (one.today.day !== day) one.today = { day, name: `day:{${one.key}}:${day}` }
  return one.today.name
}

function burstOf(perMinute: number, given: number | undefined): number {
  return given ?? Math.max(1, Math.ceil(perMinute / 6))
}
