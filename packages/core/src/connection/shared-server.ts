// shared-server.ts: one connection that several boards use: who uses it, whose request a question of the server belongs
// to, and when it has been idle for long enough. shared-connection.ts is one board's part in it.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Share } from '../config/entry.ts'
import { Events, type EventType } from '../events.ts'
import type { Host } from '../host.ts'
import { ServerConnection } from './connection.ts'
import type { ConnectionOptions } from './options.ts'
import type { PooledServer } from './pool.ts'
import { JsonRpcError } from './request-errors.ts'
import { type Json, RPC } from './server-info.ts'
import type { RequestHandler, RequestHandlers, ServerRequestContext } from './server-requests.ts'
import type { SharedConnection } from './shared-connection.ts'

export interface SharedServerOptions {
  /** The project of the board that started it. */
  readonly root: string
  readonly share: Share
  readonly host: Host
  readonly idleMs: number
  /** The options of the board that started it. */
  readonly first: ConnectionOptions
  /** What all shared connections have in common. */
  readonly connection: Pick<ConnectionOptions, 'eras' | 'recent' | 'slots' | 'store'>
  /** It stopped, and is not to be given to any other board. */
  ended(): void
}

/** Events that concern every board with the server. Those of one request go to the board that sent it. */
const COMMON_EVENTS = ['state', 'log', 'list-changed', 'warning'] as const satisfies readonly EventType[]

/** From the most to the least telling, as `logging/setLevel` orders them. */
const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export class SharedServer {
  readonly connection: ServerConnection
  readonly #options: SharedServerOptions
  readonly #events = new Events()
  readonly #leases = new Set<SharedConnection>()
  /** Requests that run now, by board. */
  readonly #running = new Map<SharedConnection, number>()
  readonly #levels = new Map<SharedConnection, string>()
  readonly #sending = new AsyncLocalStorage<SharedConnection>()
  #isStarted = false
  #wasConnected = false
  /** A board is about to start it. */
  #isBegun = false
  #askedForRoots = false
  #calls = 0
  #lastUse: number
  #stopIdle: (() => void) | undefined
  #closed: Promise<void> | undefined

  constructor(options: SharedServerOptions) {
    const { first, host } = options
    this.#options = options
    this.#lastUse = host.now()
    this.connection = new ServerConnection({
      ...first,
      ...options.connection,
      events: this.#events,
      handlers: this.#handlers(first.handlers),
    })
    this.#events.on('state', ({ state }) => {
      this.#isStarted = true
      if (state.kind !== 'connected') return
      this.#wasConnected = true
      this.#sendLevel()
      this.#restLater()
    })
    // Copies: a listener may make its board leave or join.
    for (const type of COMMON_EVENTS)
      this.#events.on(type, (event) => {
        for (const lease of [...this.#leases]) lease.events.emit(type, event)
      })
    this.#events.on('notification', (event) => {
      for (const lease of [...this.#leases])
        if (event.method !== 'notifications/message' || this.#wants(lease, event.params))
          lease.events.emit('notification', event)
    })
    this.#events.on('resource-updated', (event) => {
      for (const lease of [...this.#leases])
        if (lease.follows(event.uri)) lease.events.emit('resource-updated', event)
    })
  }

  get root(): string {
    return this.#options.root
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Whether it was ever connected or tried. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  /**
   * Whether boards of other projects may use it too; those of `project` never look here, because their key names the project. A server that asked for roots, in the era where it keeps them,
   * belongs to the project that answered; while it starts for the first time, that is not known yet.
   */
  fitsAll(): boolean {
    return this.#wasConnected && !this.#askedForRoots
  }

  /** While it starts for the first time: resolves when it is known whether it fits other projects. */
  get starting(): Promise<unknown> | undefined {
    const isOpen = this.#isBegun && !this.#wasConnected && !this.isClosed
    return isOpen && this.connection.state.kind === 'pending' ? this.connection.settled() : undefined
  }

  begin(): void {
    this.#isBegun = true
  }

  fits(lease: SharedConnection): boolean {
    return !this.isClosed && (lease.root === this.root || !this.#askedForRoots)
  }

  join(lease: SharedConnection): void {
    this.#leases.add(lease)
    this.#restLater()
  }

  leave(lease: SharedConnection): void {
    this.#leases.delete(lease)
    this.#running.delete(lease)
    if (this.#levels.delete(lease)) this.#sendLevel()
    this.#restLater()
  }

  /** Without a board it ends; with boards that only wait, it stops until one of them needs it. */
  #restLater(): void {
    const { idleMs, host } = this.#options
    this.#stopIdle?.()
    if (idleMs === 0 || this.isClosed) return
    this.#stopIdle = host.backgroundTimer(idleMs, () => {
      if (this.#leases.size === 0) void this.close()
      else if (this.#running.size === 0 && !this.#isFollowed) void this.connection.rest()
    })
  }

  /** A server that reports changes is in use. */
  get #isFollowed(): boolean {
    return [...this.#leases].some(({ isFollowing }) => isFollowing)
  }

  /** Runs one request of a board; questions that come out of it go to that board. */
  async during<T>(lease: SharedConnection, work: () => Promise<T>): Promise<T> {
    const { host } = this.#options
    this.#calls++
    this.#running.set(lease, (this.#running.get(lease) ?? 0) + 1)
    try {
      return await this.#sending.run(lease, work)
    } finally {
      this.#lastUse = host.now()
      const left = (this.#running.get(lease) ?? 1) - 1
      if (left > 0) this.#running.set(lease, left)
      else this.#running.delete(lease)
      this.#restLater()
    }
  }

  /** Whether any board but this one still follows the resource. */
  isFollowed(uri: string, except: SharedConnection): boolean {
    return [...this.#leases].some((lease) => lease !== except && lease.follows(uri))
  }

  /** Each board has its own log level: the server gets the most telling one, and each board what it asked for. */
  async setLevel(lease: SharedConnection, level: string): Promise<Json> {
    this.#levels.set(lease, level)
    return await this.connection.request('logging/setLevel', { level: this.#level() })
  }

  status(): PooledServer {
    const { connection } = this
    const { share, host } = this.#options
    const pid = connection.state.kind === 'connected' ? connection.state.session.pid : undefined
    return {
      name: connection.server.name,
      state: connection.state.kind,
      share,
      users: this.#leases.size,
      calls: this.#calls,
      idleMs: this.#running.size > 0 ? 0 : Math.max(0, host.now() - this.#lastUse),
      root: this.root,
      ...(pid !== undefined && { pid }),
    }
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      this.#stopIdle?.()
      this.#options.ended()
      await this.connection.close()
    })()
    return this.#closed
  }

  #level(): string {
    const wanted = [...this.#levels.values()].map((level) => LOG_LEVELS.indexOf(level))
    return LOG_LEVELS[Math.max(0, Math.min(...wanted))] ?? 'debug'
  }

  #sendLevel(): void {
    if (this.#levels.size === 0 || this.connection.state.kind !== 'connected') return
    // A board that left wanted more; a server that does not take less goes on as before.
    void this.connection.request('logging/setLevel', { level: this.#level() }).catch(() => undefined)
  }

  #wants(lease: SharedConnection, params: unknown): boolean {
    const level = this.#levels.get(lease)
    if (level === undefined) return this.#levels.size === 0
    const said = (params as { level?: unknown } | undefined)?.level
    return typeof said !== 'string' || LOG_LEVELS.indexOf(said) >= LOG_LEVELS.indexOf(level)
  }

  #handlers(first: RequestHandlers): RequestHandlers {
    const pass =
      (kind: 'elicitForm' | 'elicitUrl' | 'sampling'): RequestHandler =>
      (params, asking) => {
        const handler = this.#askerOf(asking).handlers[kind]
        if (!handler) throw new JsonRpcError(RPC.methodNotFound, 'The client that called cannot be asked.')
        return handler(params, asking)
      }
    return {
      ...first,
      ...(first.elicitForm && { elicitForm: pass('elicitForm') }),
      ...(first.elicitUrl && { elicitUrl: pass('elicitUrl') }),
      ...(first.sampling && { sampling: pass('sampling') }),
      ...(first.roots && { roots: (params, asking) => this.#roots(params, asking) }),
    }
  }

  /** The board whose request a question belongs to. Where that cannot be told, the server is refused. */
  #askerOf(asking: ServerRequestContext): SharedConnection {
    const asker = this.#senderOf(asking)
    if (asker) return asker
    const callers = this.#running.size
    throw new JsonRpcError(
      RPC.internal,
      callers === 0
        ? 'No client is calling this server, so there is no user to ask.'
        : `It is not clear which of ${callers} clients this question is for: all of them are calling this server. Call again when no other client does.`,
    )
  }

  #senderOf({ inCall }: ServerRequestContext): SharedConnection | undefined {
    // A modern server asks inside a result, and a stream of HTTP belongs to one call: then the context tells.
    const { state } = this.connection
    const isModern = state.kind === 'connected' && state.session.era === 'modern'
    const sender = inCall || isModern ? this.#sending.getStore() : undefined
    if (sender && this.#leases.has(sender)) return sender
    const [only, ...more] = this.#running.keys()
    return more.length === 0 ? only : undefined
  }

  #roots(params: Json, asking: ServerRequestContext): Promise<Json> | Json {
    const { state } = this.connection
    // In the modern era a server asks for each call and keeps nothing.
    if (state.kind === 'connected' && state.session.era === 'modern') {
      const handler = this.#askerOf(asking).handlers.roots
      return handler ? handler(params, asking) : { roots: [] }
    }
    this.#askedForRoots = true
    const { roots } = this.#options.first.handlers
    return roots ? roots(params, asking) : { roots: [] }
  }
}
