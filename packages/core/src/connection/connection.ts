// connection.ts: the effects around one server's state: connect when needed, reconnect when lost, retry requests that
// can be retried, close. states.ts decides; connect.ts makes one attempt, connect-attempts.ts orders them. What a
// caller awaits here holds the process; what runs without a caller does not.
import { RequestTimedOut } from '../async/wait-errors.ts'
import { abortable, atMost, type Deadline, held } from '../async/waits.ts'
import type { TransportType } from '../config/entry.ts'
import { isInProcess, isLocal, postsMessages } from '../config/transport-traits.ts'
import { IoError, type PlugboardError, type Stage } from '../errors.ts'
import type { ListKind, LogLine } from '../events.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import type { KnownSecrets } from '../text/known-secrets.ts'
import { printable } from '../text/strip-controls.ts'
import { Catalog } from './catalog.ts'
import { CatalogMemory } from './catalog-recall.ts'
import { connectOnce, retire } from './connect.ts'
import { ConnectAttempts } from './connect-attempts.ts'
import type { Connection } from './connection-interface.ts'
import { entrySecrets, rememberTokens } from './entry-secrets.ts'
import { Health } from './health.ts'
import { notified } from './notifications.ts'
import type { ConnectionOptions } from './options.ts'
import { probeWait, type ReconnectPolicy, reconnectPolicy } from './reconnect.ts'
import {
  ChannelClosed,
  type ErrorPlace,
  isLoggedOut,
  isTooLarge,
  toPlugboardError,
  unresponsiveError,
} from './request-errors.ts'
import { type RequestOptions, Requests } from './requests.ts'
import type { Json } from './server-info.ts'
import { ServerLog } from './server-log.ts'
import type { Session } from './session.ts'
import type { AfterLoss, Connected, ServerState } from './states.ts'
import * as states from './states.ts'
import { Subscriptions } from './subscriptions.ts'

export type { Connection } from './connection-interface.ts'

export class ServerConnection implements Connection {
  readonly catalog: Catalog
  readonly #options: ConnectionOptions
  readonly #policy: ReconnectPolicy
  readonly log: ServerLog
  readonly secrets: KnownSecrets
  readonly #requests: Requests
  readonly #subscriptions: Subscriptions
  readonly #memory: CatalogMemory
  readonly #closing = new AbortController()
  #state: ServerState
  /** The session the lists are read from: the connected one, or the one being set up. */
  #session: Session | undefined
  #health: Health | undefined
  #became: 'sse' | undefined
  readonly #attempts: ConnectAttempts
  /** Cancels the timer for the next slow retry of a failed server. */
  #stopRetry: (() => void) | undefined
  #renewing: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: ConnectionOptions) {
    const { server, host, events } = options
    this.#options = options
    this.#policy = reconnectPolicy(server.entry.reconnect)
    this.secrets = entrySecrets(server.entry)
    const { hide } = this.secrets
    const onLine = (line: LogLine) => events.emit('log', { server: server.name, line })
    this.log = new ServerLog(options.stateDir, server.name, host, onLine, hide)
    this.#state = server.disabled ? states.disable(states.idle, server.disabled) : states.idle
    this.#attempts = new ConnectAttempts({
      host,
      signal: this.#closing.signal,
      become: (state) => this.#become(state),
      attempt: (pending) => this.#attempt(pending),
    })
    this.catalog = new Catalog({
      host,
      recent: options.recent,
      // While connecting, the deadline of the attempt is the only timer.
      timeoutMs: () =>
        this.#state.kind === 'connected'
          ? (server.entry.timeout ?? options.callTimeoutMs)
          : options.timeoutMs,
      // Renewing reads the lists again; the read that noticed is obsolete.
      expired: (session) => void this.#renew(session).catch(() => undefined),
      listed: (list, count) => {
        events.emit('list-changed', { server: server.name, list, count })
        this.#memory.keep(this.#state)
      },
      warn: (text) => this.log.add('plugboard', text),
      leftOut: (text) =>
        events.emit('warning', { server: server.name, text: printable(`${server.name}: ${text}`) }),
      posts: postsMessages(server.entry),
    })
    this.#memory = new CatalogMemory(options, this.catalog)
    this.#requests = new Requests({
      ...options,
      server: server.name,
      entry: server.entry,
      catalog: this.catalog,
      hide,
      current: () => (this.#state.kind === 'connected' ? this.#state.session : undefined),
      ready: (signal) => this.#ready(signal),
      renew: (old) => this.#renew(old),
      unauthorised: (error) => this.#unauthorised(error),
      good: () => this.#health?.good(),
      bad: (error) => this.#health?.bad(error),
      timedOut: (session) => void this.#health?.timedOut(session),
      stderrTail: () => this.log.tail(),
    })
    this.#subscriptions = new Subscriptions({
      host,
      missed: () => this.catalog.refresh(),
      warn: (text) => this.log.add('plugboard', text),
    })
  }

  get server(): ConnectionOptions['server'] {
    return this.#options.server
  }
  get state(): ServerState {
    return this.#state
  }
  get type(): TransportType {
    return this.#became ?? this.server.entry.type
  }

  settled(signal?: AbortSignal): Promise<ServerState> {
    return this.#awaited(this.#settled(signal))
  }

  needed(signal?: AbortSignal): Promise<ServerState> {
    return this.#awaited(this.#settled(signal, true))
  }

  wake(afresh = false): void {
    void (afresh ? this.#reconnect() : this.#settled())
  }

  reconnect(signal?: AbortSignal): Promise<ServerState> {
    return this.#awaited(this.#reconnect(signal))
  }

  request(method: string, params?: Json, options: RequestOptions = {}): Promise<Json> {
    return this.#requests.send(method, params, options)
  }

  async list<K extends ListKind>(kind: K, signal?: AbortSignal): Promise<Catalog[K]['items']> {
    const { host } = this.#options
    try {
      await held(host, this.#ready(signal))
      return await held(host, abortable<Catalog[K]['items']>(this.catalog[kind].get(), signal))
    } catch (error) {
      throw this.#fault(error, { stage: 'call', method: `${kind}/list` })
    }
  }

  async notify(method: string, params?: Json): Promise<void> {
    const notifying = async () => (await this.#ready()).notify(method, params)
    try {
      await held(this.#options.host, notifying())
    } catch (error) {
      throw this.#fault(error, { stage: 'call', method })
    }
  }

  subscribe(uri: string): Promise<void> {
    return this.#subscribing('subscribe', uri)
  }

  unsubscribe(uri: string): Promise<void> {
    return this.#subscribing('unsubscribe', uri)
  }

  /** Stops a server that nothing uses until it is needed again; its lists stay known. */
  async rest(): Promise<void> {
    const state = this.#state
    const isBusy = this.#attempts.running !== undefined || this.#renewing !== undefined
    if (state.kind === 'connected' && !isBusy) await this.#disconnect(state)
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    const { host } = this.#options
    this.#closing.abort()
    this.#stopRetry?.()
    this.#quiet()
    this.catalog.end()
    // The one in use, and the one being set up if that is another.
    const sessions = new Set([
      this.#session,
      this.#state.kind === 'connected' ? this.#state.session : undefined,
    ])
    this.#session = undefined
    const ends = [...sessions].map((session) => session?.close())
    await atMost(
      host,
      CONNECT_LIMITS.closeMs,
      Promise.allSettled([...ends, this.#attempts.running, this.#renewing]),
    )
    await atMost(host, CONNECT_LIMITS.closeMs, this.log.flush())
  }

  #fault(error: unknown, place: Omit<ErrorPlace, 'server' | 'hide'>): PlugboardError {
    return toPlugboardError(error, { server: this.server.name, hide: this.secrets.hide, ...place })
  }

  /** A caller waits for it: the process is held, and giving up is `Cancelled`. */
  async #awaited(work: Promise<ServerState>): Promise<ServerState> {
    try {
      return await held(this.#options.host, work)
    } catch (error) {
      throw this.#fault(error, { stage: 'connect' })
    }
  }

  async #settled(signal?: AbortSignal, needed = false): Promise<ServerState> {
    const state = this.#state
    const attempts = this.#attempts
    if (!this.#closing.signal.aborted) {
      if (attempts.running) attempts.hurry()
      else if (state.kind === 'pending') attempts.start({ state: states.begin(state), afterMs: 0 })
      else if (state.kind === 'failed') this.#probe(state, needed)
    }
    if (attempts.running) await abortable(attempts.running, signal)
    return this.#state
  }

  async #reconnect(signal?: AbortSignal): Promise<ServerState> {
    const state = this.#state
    this.#options.auth?.tryAgain?.()
    // Disconnecting is part of the new attempt: a caller that comes meanwhile waits for it instead of starting another.
    if (state.kind === 'connected')
      this.#attempts.start({ state: states.begin(states.idle), afterMs: 0 }, this.#disconnect(state))
    else if (state.kind === 'failed' || state.kind === 'needs-auth')
      this.#attempts.start({ state: states.begin(state), afterMs: 0 })
    else this.#attempts.hurryNow()
    return this.#settled(signal)
  }

  /** A caller needs a failed server: one retry at once for all callers, unless the last verdict is too fresh. */
  #probe(state: states.Failed, needed: boolean): void {
    const afterMs = probeWait(this.#attempts.last, needed)
    if (afterMs !== undefined) this.#attempts.start({ state: states.retry(state, false), afterMs })
  }

  #become(state: ServerState): void {
    this.#stopRetry?.()
    this.#stopRetry = undefined
    this.#state = state
    if (this.#closing.signal.aborted) return
    if (state.kind === 'failed')
      this.#stopRetry = this.#options.host.backgroundTimer(state.retryMs, () =>
        this.#attempts.start({ state: states.retry(state, true), afterMs: 0 }),
      )
    this.#options.events.emit('state', { server: this.server.name, state: states.summary(state) })
  }

  /** Undefined when it is up. */
  async #attempt(
    pending: states.Pending,
  ): Promise<AfterLoss | { readonly state: states.NeedsAuth } | undefined> {
    const { host, slots } = this.#options
    const { signal } = this.#closing
    let at = pending
    this.log.turnPage()
    let releaseSlot: (() => void) | undefined
    let stopTimer: (() => void) | undefined
    try {
      releaseSlot = await slots.take(signal)
      stopTimer = host.backgroundTimer(CONNECT_LIMITS.slotHoldMs, releaseSlot)
      const started = host.now()
      const session = await this.#open((stage) => {
        at = states.reached(at, stage)
        this.#become(at)
      })
      this.#up(states.connected(at, session, host.now(), host.now() - started))
      return undefined
    } catch (error) {
      this.#quiet()
      this.#session = undefined
      const fault = this.#fault(error, { stage: at.stage, tail: this.log.tail() })
      this.log.add('plugboard', `Connecting failed at stage "${fault.stage ?? at.stage}": ${fault.code}`)
      if (fault.code === 'AUTH_REQUIRED') return { state: states.unauthorised(at, fault, host.now()) }
      return states.attemptFailed(at, fault, this.#policy, host.random())
    } finally {
      stopTimer?.()
      releaseSlot?.()
    }
  }

  #open(stage: (stage: Stage) => void): Promise<Session> {
    const { entry } = this.server
    this.#memory.starting()
    const health = new Health({
      host: this.#options.host,
      local: isLocal(entry),
      onDead: (error) => this.#onDead(error),
    })
    // A server in this process lives as long as we do.
    this.#health = isInProcess(entry) ? undefined : health
    const targets = { ...this.#options, log: this.log, catalog: this.catalog }
    return connectOnce(
      {
        ...this.#options,
        auth: rememberTokens(this.#options.auth, this.secrets),
        learnSecret: (value) => this.secrets.learn(value),
        hide: this.secrets.hide,
        log: this.log,
        signal: this.#closing.signal,
        stage,
        became: (type) => {
          this.#became = type
        },
        notification: (method, params) => notified(targets, method, params),
        closed: (session, why) => this.#onClosed(session, why),
        trouble: (error) => {
          this.#health?.bad(error)
          this.log.add('transport', error instanceof Error ? error.message : String(error))
        },
      },
      (session, deadline) => this.#establish(session, deadline, stage),
    )
  }

  /** A server without its tools is not up; without its resources or prompts it is. */
  async #establish(session: Session, deadline: Deadline, stage: (stage: Stage) => void): Promise<void> {
    this.#session = session
    stage('tools')
    const { aside } = await deadline.within(this.catalog.read(session))
    stage('resources')
    await deadline.within(aside)
    stage('server-info')
  }

  #up(state: Connected): void {
    this.#session = state.session
    this.#become(state)
    this.#health?.watch(state.session)
    void this.#subscriptions.attach(state.session)
    this.#memory.keep(state)
    // It may have closed in the moment between its last response and now.
    if (state.session.closed) this.#onClosed(state.session, undefined)
  }

  #onClosed(session: Session | undefined, why: unknown): void {
    const state = this.#state
    if (state.kind !== 'connected' || state.session !== session || this.#closing.signal.aborted) return
    this.#lose(state, new ChannelClosed(true, why))
  }

  #onDead(error: unknown): void {
    const state = this.#state
    if (state.kind !== 'connected') return
    const why = error instanceof RequestTimedOut ? unresponsiveError(this.server.name, error) : error
    const closing = state.session.close().catch((fault) => this.log.add('transport', String(fault)))
    // The old process is gone before a new one starts: they may share a port or a file.
    this.#lose(state, why, atMost(this.#options.host, CONNECT_LIMITS.closeMs, closing))
  }

  #lose(state: Connected, error: unknown, after?: Promise<void>): void {
    const { host } = this.#options
    this.#quiet()
    this.#session = undefined
    this.log.add('plugboard', 'The connection was lost.')
    const fault = this.#fault(error, { stage: 'call', tail: this.log.tail() })
    const next = isTooLarge(error)
      ? states.renew(state)
      : states.lost(state, fault, this.#policy, host.now(), host.random())
    if ('afterMs' in next) this.#attempts.start(next, after)
    else this.#become(next.state)
  }

  /** Timers, reads and subscriptions of a closed connection. */
  #quiet(): void {
    this.#health?.stop()
    this.#health = undefined
    this.#subscriptions.detach()
    this.catalog.drop()
  }

  async #disconnect(state: Connected): Promise<void> {
    this.#become(states.idle)
    this.#quiet()
    this.#session = undefined
    await atMost(this.#options.host, CONNECT_LIMITS.closeMs, state.session.close())
  }

  /** The session to use, as soon as there is one. */
  async #ready(signal?: AbortSignal): Promise<Session> {
    const state = this.#state.kind === 'connected' ? this.#state : await this.#settled(signal, true)
    const { name } = this.server
    if (this.#closing.signal.aborted)
      throw new IoError(`The connection to "${name}" is closed.`, { server: name })
    return states.sessionIn(state, name)
  }

  /** The server forgot the session: initialize again on a fresh transport, once for all requests that noticed. */
  async #renew(old: Session): Promise<void> {
    const state = this.#state
    if (state.kind !== 'connected' || state.session !== old) return
    this.#renewing ??= this.#reopen(state).finally(() => {
      this.#renewing = undefined
    })
    await this.#renewing
  }

  async #reopen(state: Connected): Promise<void> {
    this.log.add('plugboard', 'The session expired; a new one is opened.')
    this.#quiet()
    try {
      const session = await this.#open(() => undefined)
      if (this.#state !== state) return await session.close()
      this.#up(states.renewed(state, session))
      retire(this.#options.host, state.session)
    } catch (error) {
      if (this.#state !== state) return
      if (isLoggedOut(error)) throw this.#unauthorised(error)
      this.#lose(state, error)
    }
  }

  #unauthorised(error: unknown): PlugboardError {
    const { host } = this.#options
    const fault = this.#fault(error, { stage: 'auth' })
    const state = this.#state
    if (state.kind === 'connected') {
      this.#quiet()
      this.#session = undefined
      this.#become(states.unauthorised(state, fault, host.now()))
      void state.session.close().catch((cause) => this.log.add('transport', String(cause)))
    }
    return fault
  }

  async #subscribing(way: 'subscribe' | 'unsubscribe', uri: string): Promise<void> {
    try {
      const changed = this.#subscriptions.change(way, uri, () => this.#ready())
      await held(this.#options.host, changed)
    } catch (error) {
      throw this.#fault(error, { stage: 'call', method: `resources/${way}`, name: uri })
    }
  }
}
