// shared-connection.ts: one board's part in a connection that other boards use too. Its events, its subscriptions, its
// questions and its errors are its own; the server, its lists and its log are shared.
import { abortable, Cancellation } from '../async/waits.ts'
import type { TransportType } from '../config/entry.ts'
import { Cancelled, IoError } from '../errors.ts'
import type { Events, ListKind } from '../events.ts'
import type { KnownSecrets } from '../text/known-secrets.ts'
import type { Catalog } from './catalog.ts'
import type { Connection } from './connection-interface.ts'
import { signalOf } from './direct-call.ts'
import type { ConnectionOptions } from './options.ts'
import type { RequestOptions } from './requests.ts'
import type { Json } from './server-info.ts'
import type { ServerLog } from './server-log.ts'
import type { RequestHandlers } from './server-requests.ts'
import type { SharedServer } from './shared-server.ts'
import type { ServerState } from './states.ts'

/** Where a board finds its server. */
export interface SharedServers {
  find(lease: SharedConnection): SharedServer
  /** Resolves when another server that starts now is known to fit all projects or not; undefined when none starts. */
  starting(own: SharedServer): Promise<unknown> | undefined
}

/** Servers of other projects that are waited for, one after the other, before this board starts its own. */
const WAITS = 3

export class SharedConnection implements Connection {
  /** The project of its board. */
  readonly root: string
  readonly #options: ConnectionOptions
  readonly #servers: SharedServers
  readonly #closing = new AbortController()
  /** The requests that run now. */
  readonly #running = new Set<Cancellation>()
  readonly #sender: NonNullable<RequestOptions['sender']>
  readonly #followed = new Set<string>()
  #shared: SharedServer
  /** What is remembered as failed was found out for an earlier board: this one has it tried again, once. */
  #isFirstUse = true

  constructor(options: ConnectionOptions, root: string, servers: SharedServers) {
    this.#options = options
    this.root = root
    this.#servers = servers
    this.#sender = { events: options.events, nextCall: options.nextCall }
    this.#shared = servers.find(this)
  }

  get events(): Events {
    return this.#options.events
  }
  get handlers(): RequestHandlers {
    return this.#options.handlers
  }
  get server(): ConnectionOptions['server'] {
    return this.#options.server
  }
  get catalog(): Catalog {
    return this.#current.catalog
  }
  get secrets(): KnownSecrets {
    return this.#current.secrets
  }
  get state(): ServerState {
    return this.#current.state
  }
  get type(): TransportType {
    return this.#current.type
  }
  get log(): ServerLog {
    return this.#current.log
  }

  get isFollowing(): boolean {
    return this.#followed.size > 0
  }

  follows(uri: string): boolean {
    return this.#followed.has(uri)
  }

  async settled(signal?: AbortSignal): Promise<ServerState> {
    return await ((await this.#triedAgain(signal)) ?? this.#current.settled(signal))
  }

  async needed(signal?: AbortSignal): Promise<ServerState> {
    return await ((await this.#triedAgain(signal)) ?? this.#current.needed(signal))
  }

  wake(afresh = false): void {
    const start = () => {
      const shared = this.#joined()
      shared.begin()
      shared.connection.wake(afresh)
    }
    if (!this.#mustWait) start()
    // The board may be closed meanwhile.
    else void this.#decided(this.#closing.signal).then(start, () => undefined)
  }

  async reconnect(signal?: AbortSignal): Promise<ServerState> {
    this.#isFirstUse = false
    await this.#decided(signal)
    return await this.#current.reconnect(signal)
  }

  async request(method: string, params?: Json, options: RequestOptions = {}): Promise<Json> {
    const { name } = this.server
    if (this.#closing.signal.aborted)
      throw new IoError(`The connection to "${name}" is closed.`, { server: name })
    if (this.#isFirstUse || this.#mustWait) await this.#triedAgain(signalOf(options))
    const shared = this.#joined()
    const level = params?.['level']
    if (method === 'logging/setLevel' && typeof level === 'string') return await shared.setLevel(this, level)
    const { callTimeoutMs } = this.#options
    return await this.#untilClosed(options, (cancellation) =>
      shared.during(this, () =>
        shared.connection.request(method, params, {
          ...options,
          signal: undefined,
          cancellation,
          timeoutMs: options.timeoutMs ?? this.server.entry.timeout ?? callTimeoutMs,
          taskMs: options.taskMs ?? options.totalMs ?? options.timeoutMs,
          sender: this.#sender,
        }),
      ),
    )
  }

  /** Cancelled by the caller, and by the end of the board, of which the caller has to be told. */
  async #untilClosed<T>(
    { signal, cancellation: given }: RequestOptions,
    work: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T> {
    const own = new Cancellation()
    const follow = () => own.cancel(given ? given.reason : signal?.reason)
    if (given) given.onCancel = follow
    else signal?.addEventListener('abort', follow, { once: true })
    if (given ? given.cancelled : signal?.aborted) follow()
    if (this.#closing.signal.aborted) own.cancel(this.#closing.signal.reason)
    this.#running.add(own)
    try {
      return await work(own)
    } finally {
      this.#running.delete(own)
      if (given) given.onCancel = undefined
      else signal?.removeEventListener('abort', follow)
    }
  }

  async list<K extends ListKind>(kind: K, signal?: AbortSignal): Promise<Catalog[K]['items']> {
    await this.#triedAgain(signal)
    return await this.#current.list(kind, signal)
  }

  notify(method: string, params?: Json): Promise<void> {
    return this.#current.notify(method, params)
  }

  async subscribe(uri: string): Promise<void> {
    const isNew = !this.#followed.has(uri)
    // A server may report a change before it answers.
    this.#followed.add(uri)
    try {
      await this.#decided(this.#closing.signal)
      await this.#current.subscribe(uri)
    } catch (error) {
      if (isNew) this.#followed.delete(uri)
      throw error
    }
  }

  async unsubscribe(uri: string): Promise<void> {
    if (!this.#followed.delete(uri)) return
    if (!this.#shared.isFollowed(uri, this)) await this.#current.unsubscribe(uri)
  }

  /** The board leaves: its requests are cancelled, and the server goes on for the others. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const closed = new Cancelled('The board was closed.')
    this.#closing.abort(closed)
    for (const running of this.#running) running.cancel(closed)
    const shared = this.#shared
    shared.leave(this)
    const alone = [...this.#followed].filter((uri) => !shared.isFollowed(uri, this))
    this.#followed.clear()
    if (shared.connection.state.kind === 'connected')
      // The board is gone whether or not the server takes it.
      for (const uri of alone) void shared.connection.unsubscribe(uri).catch(() => undefined)
  }

  get #current(): SharedServer['connection'] {
    return this.#joined().connection
  }

  /** The server, or another one when this one stopped or turned out to belong to another project. */
  #joined(): SharedServer {
    if (this.#closing.signal.aborted) return this.#shared
    // Until it starts, another project's may be up by now.
    if (this.#shared.fits(this) && this.#shared.isStarted) return this.#shared
    this.#shared.leave(this)
    this.#shared = this.#servers.find(this)
    return this.#shared
  }

  /** Two boards that start at once would otherwise have a server each. */
  get #mustWait(): boolean {
    const own = this.#joined()
    return !own.isStarted && this.#servers.starting(own) !== undefined
  }

  async #decided(signal: AbortSignal | undefined): Promise<void> {
    for (let waits = 0; waits < WAITS && this.#mustWait; waits++)
      await abortable(this.#servers.starting(this.#shared) ?? Promise.resolve(), signal)
    this.#joined().begin()
  }

  async #triedAgain(signal: AbortSignal | undefined): Promise<ServerState | undefined> {
    await this.#decided(signal)
    const isFirst = this.#isFirstUse
    this.#isFirstUse = false
    const { kind } = this.state
    if (!isFirst || (kind !== 'failed' && kind !== 'needs-auth')) return undefined
    return await this.#current.reconnect(signal)
  }
}
