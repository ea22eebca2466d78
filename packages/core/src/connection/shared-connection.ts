// shared-connection.ts: one board's part in a connection that other boards use too. Its events, its subscriptions, its
// questions and its errors are its own; the server, its lists and its log are shared.
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

export class SharedConnection implements Connection {
  /** The project of its board. */
  readonly root: string
  readonly #options: ConnectionOptions
  readonly #find: (lease: SharedConnection) => SharedServer
  readonly #closing = new AbortController()
  readonly #followed = new Set<string>()
  #shared: SharedServer
  /** What is remembered as failed was found out for an earlier board: this one has it tried again, once. */
  #isFirstUse = true

  constructor(options: ConnectionOptions, root: string, find: (lease: SharedConnection) => SharedServer) {
    this.#options = options
    this.root = root
    this.#find = find
    this.#shared = find(this)
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
    this.#current.wake(afresh)
  }

  reconnect(signal?: AbortSignal): Promise<ServerState> {
    this.#isFirstUse = false
    return this.#current.reconnect(signal)
  }

  async request(method: string, params?: Json, options: RequestOptions = {}): Promise<Json> {
    const { name } = this.server
    if (this.#closing.signal.aborted)
      throw new IoError(`The connection to "${name}" is closed.`, { server: name })
    const given = signalOf(options)
    await this.#triedAgain(given)
    const shared = this.#joined()
    const level = params?.['level']
    if (method === 'logging/setLevel' && typeof level === 'string') return await shared.setLevel(this, level)
    const { nextCall, callTimeoutMs } = this.#options
    const signal = given ? AbortSignal.any([given, this.#closing.signal]) : this.#closing.signal
    return await shared.during(this, () =>
      shared.connection.request(method, params, {
        ...options,
        cancellation: undefined,
        signal,
        timeoutMs: options.timeoutMs ?? this.server.entry.timeout ?? callTimeoutMs,
        taskMs: options.taskMs ?? options.totalMs ?? options.timeoutMs,
        sender: { events: this.events, nextCall },
      }),
    )
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
    this.#closing.abort(new Cancelled('The board was closed.'))
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
    this.#shared = this.#find(this)
    return this.#shared
  }

  async #triedAgain(signal: AbortSignal | undefined): Promise<ServerState | undefined> {
    const isFirst = this.#isFirstUse
    this.#isFirstUse = false
    const { kind } = this.state
    if (!isFirst || (kind !== 'failed' && kind !== 'needs-auth')) return undefined
    return await this.#current.reconnect(signal)
  }
}
