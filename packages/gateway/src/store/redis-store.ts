// redis-store.ts: the store in Redis or Valkey. One connection for commands and one for messages; while either is down, or does
// not answer in time, operations reject at once and the client connects again by itself.
import type { Redis as RedisClient } from 'ioredis'
import { type Rate, type RateDecision, type Store, StoreUnavailable } from './store.ts'

/** A command that takes longer counts as the store being away. */
const COMMAND_MS = 1000
const CONNECT_MS = 2000
/** How long after a failed attempt the next one follows. A refused connection costs little. */
const RETRY_MS = 250
/** A connection that no longer answers is noticed by a ping. */
const PING_MS = 2000
/** A timer that fires so many times later than it should is of a process that had no time to run. */
const LATE = 1.5

/** KEYS: rate. ARGV: ms per unit, burst, cost. The clock is the store's: those of several processes differ. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local before = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local later = before + ARGV[1] * ARGV[3]
local early = later - now - ARGV[1] * ARGV[2]
if early > 0 then return math.ceil(early) end
redis.call('SET', KEYS[1], string.format('%.3f', later), 'PX', math.max(1, math.ceil(later - now)))
return -math.floor(-early / ARGV[1])`

/** KEYS: lease, fence. ARGV: holder, life. */
const ACQUIRE = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if held then return tonumber(redis.call('GET', KEYS[2]) or '1') end
return redis.call('INCR', KEYS[2])`

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`

const INCREMENT = `
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return count`

const SET_FIELD = `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`

export class RedisStore implements Store {
  readonly #commands: RedisClient
  readonly #messages: RedisClient
  readonly #prefix: string
  readonly #channels = new Map<string, Set<(message: string) => void>>()
  readonly #changed = new Set<(isUp: boolean) => void>()
  readonly #ping: NodeJS.Timeout
  #isUp = false
  /** The second connection hears all channels; before that a message of another replica would be lost. */
  #isSubscribed = false

  /** Connects; a store that is down at first is connected when it comes up. */
  static async open(url: string, prefix = 'pb:'): Promise<RedisStore> {
    const module = await import('ioredis')
    // Inside a bundle the names of a CommonJS module are not known; its default is always there.
    const Redis = module.Redis ?? module.default.Redis
    const options = {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      connectTimeout: CONNECT_MS,
      commandTimeout: COMMAND_MS,
      retryStrategy: () => RETRY_MS,
    }
    // The subscriptions of the second connection are made again by hand, when it is ready.
    const store = new RedisStore(
      new Redis(url, options),
      new Redis(url, { ...options, autoResubscribe: false }),
      prefix,
    )
    await store.#connect()
    return store
  }

  private constructor(commands: RedisClient, messages: RedisClient, prefix: string) {
    this.#commands = commands
    this.#messages = messages
    this.#prefix = prefix
    for (const client of [commands, messages]) {
      // What went wrong is told by the commands that fail.
      client.on('error', () => undefined)
      client.on('close', () => this.#setUp(false))
    }
    commands.on('ready', () => this.#check())
    messages.on('close', () => {
      this.#isSubscribed = false
    })
    messages.on('ready', () => void this.#resubscribe())
    messages.on('message', (channel: string, message: string) => {
      for (const receive of [...(this.#channels.get(channel) ?? [])]) receive(message)
    })
    this.#ping = setInterval(() => void this.#alive(), PING_MS)
    this.#ping.unref()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  async #connect(): Promise<void> {
    const both = [this.#commands, this.#messages].map((client) => client.connect().catch(() => undefined))
    await Promise.all(both)
  }

  #check(): void {
    if (this.#commands.status === 'ready' && this.#isSubscribed) this.#setUp(true)
  }

  async #resubscribe(): Promise<void> {
    const channels = [...this.#channels.keys()]
    try {
      if (channels.length > 0) await this.#messages.subscribe(...channels)
      this.#isSubscribed = this.#messages.status === 'ready'
      this.#check()
    } catch {
      // The connection broke again; the next one subscribes.
      this.#messages.disconnect(true)
    }
  }

  async #alive(): Promise<void> {
    if (!this.#isUp) return
    const sent = performance.now()
    try {
      await Promise.all([this.#commands.ping(), this.#messages.ping()])
    } catch {
      // This process was late, not the store: the answer may wait to be read, and the next ping decides.
      if (performance.now() - sent > COMMAND_MS * LATE) return
      this.#setUp(false)
      // A connection that is open and does not answer is given up; both come back by themselves.
      for (const client of [this.#commands, this.#messages])
        if (client.status === 'ready') client.disconnect(true)
    }
  }

  #setUp(isUp: boolean): void {
    if (isUp === this.#isUp) return
    this.#isUp = isUp
    for (const changed of [...this.#changed]) changed(isUp)
  }

  async #run<T>(work: (redis: RedisClient) => Promise<T>): Promise<T> {
    if (!this.#isUp) throw new StoreUnavailable()
    try {
      return await work(this.#commands)
    } catch (error) {
      throw new StoreUnavailable(error)
    }
  }

  #script(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.#run((redis) =>
      redis.eval(script, keys.length, ...keys.map((key) => this.#prefix + key), ...args),
    )
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#run((redis) => redis.get(this.#prefix + key))) ?? undefined
  }

  async set(key: string, value: string, lifeMs: number): Promise<void> {
    await this.#run((redis) => redis.set(this.#prefix + key, value, 'PX', Math.ceil(lifeMs)))
  }

  async add(key: string, value: string, lifeMs: number): Promise<boolean> {
    const done = await this.#run((redis) =>
      redis.set(this.#prefix + key, value, 'PX', Math.ceil(lifeMs), 'NX'),
    )
    return done === 'OK'
  }

  async delete(key: string): Promise<void> {
    await this.#run((redis) => redis.del(this.#prefix + key))
  }

  async setField(key: string, field: string, value: string, lifeMs: number): Promise<void> {
    await this.#script(SET_FIELD, [key], [field, value, Math.ceil(lifeMs)])
  }

  async deleteField(key: string, field: string): Promise<void> {
    await this.#run((redis) => redis.hdel(this.#prefix + key, field))
  }

  async fields(key: string): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.#run((redis) => redis.hgetall(this.#prefix + key))))
  }

  async increment(key: string, by: number, lifeMs: number): Promise<number> {
    return Number(await this.#script(INCREMENT, [key], [by, Math.ceil(lifeMs)]))
  }

  async take(key: string, { perSecond, burst }: Rate, cost = 1): Promise<RateDecision> {
    // Above 0: how long to wait. Otherwise: how many are left.
    const found = Number(await this.#script(TAKE, [key], [1000 / perSecond, burst, cost]))
    return found > 0 ? { ok: false, retryMs: found } : { ok: true, left: Math.abs(found) }
  }

  async acquire(key: string, holder: string, lifeMs: number): Promise<number | undefined> {
    // The braces keep both keys in one slot of a cluster.
    const keys = [`{${key}}`, `{${key}}:fence`]
    return Number(await this.#script(ACQUIRE, keys, [holder, Math.ceil(lifeMs)])) || undefined
  }

  holder(key: string): Promise<string | undefined> {
    return this.get(`{${key}}`)
  }

  async release(key: string, holder: string): Promise<void> {
    await this.#script(RELEASE, [`{${key}}`], [holder])
  }

  /** A stream, so that other programs can follow it with a consumer group. */
  async append(key: string, value: string, most: number): Promise<void> {
    await this.#run((redis) => redis.xadd(this.#prefix + key, 'MAXLEN', '~', most, '*', 'value', value))
  }

  async last(key: string, count: number): Promise<readonly string[]> {
    const entries = await this.#run((redis) => redis.xrevrange(this.#prefix + key, '+', '-', 'COUNT', count))
    // Another program may have written other fields: then there is no value to read.
    return entries.flatMap(([, [name, value]]) => (name === 'value' ? (value ?? []) : [])).reverse()
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#run((redis) => redis.publish(this.#prefix + channel, message))
  }

  async subscribe(channel: string, receive: (message: string) => void): Promise<() => void> {
    const name = this.#prefix + channel
    const all = this.#channels.get(name) ?? new Set()
    const isFirst = all.size === 0
    this.#channels.set(name, all.add(receive))
    // While the store is away, the next connection subscribes.
    if (isFirst && this.#messages.status === 'ready')
      await this.#messages.subscribe(name).catch(() => this.#messages.disconnect(true))
    return () => {
      all.delete(receive)
      if (all.size > 0) return
      this.#channels.delete(name)
      if (this.#messages.status === 'ready') this.#messages.unsubscribe(name).catch(() => undefined)
    }
  }

  onChange(changed: (isUp: boolean) => void): () => void {
    this.#changed.add(changed)
    return () => this.#changed.delete(changed)
  }

  async close(): Promise<void> {
    clearInterval(this.#ping)
    this.#changed.clear()
    this.#commands.disconnect()
    this.#messages.disconnect()
  }
}
