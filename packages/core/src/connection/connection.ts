// connection.ts: the effects around one server's state: connecting when needed, reconnecting when lost, requests that
// survive what can be survived, and an end. The decisions are in states.ts; one attempt is in bringup.ts.
import { isLocal, type ServerEntry, type TransportType } from '../config/entry.ts'
import { printable } from '../config/printable.ts'
import { Disabled, IoError, type PlugboardError, type Stage } from '../errors.ts'
import type { Events, ListKind } from '../events.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { type BringUp, bringUp } from './bringup.ts'
import { Catalog } from './catalog.ts'
import { ChannelClosed, isLoggedOut, isSessionExpired, toPlugboardError } from './faults.ts'
import { Health } from './health.ts'
import type { CachedList } from './lists.ts'
import { ServerLog } from './logs.ts'
import type { Json } from './protocol.ts'
import type { Recent } from './recent.ts'
import { type ReconnectPolicy, reconnectPolicy } from './reconnect.ts'
import { type RequestOptions, Requests } from './requests.ts'
import type { Session } from './session.ts'
import type { Slots } from './slots.ts'
import type { AfterLoss, Connected, ServerState } from './states.ts'
import * as states from './states.ts'
import { Subscriptions } from './subscriptions.ts'
import { abortable, atMost, type Deadline, sleep } from './waits.ts'

export interface ConnectionOptions
  extends Pick<
    BringUp,
    'server' | 'host' | 'eras' | 'handlers' | 'clientInfo' | 'auth' | 'handOver' | 'workspace' | 'timeoutMs'
  > {
  readonly stateDir: string
  readonly events: Events
  readonly slots: Slots
  /** The lists of a board that are kept; beyond a bound the least used is read again on need. */
  readonly recent: Recent<CachedList<unknown>>
  /** How long one request may take, unless the entry or the caller says otherwise. */
  readonly callTimeoutMs: number
  /** Numbers the calls of a board. */
  nextCall(): number
}

export class Connection {
  readonly catalog: Catalog
  readonly #options: ConnectionOptions
  readonly #policy: ReconnectPolicy
  readonly #log: ServerLog
  readonly #requests: Requests
  readonly #subscriptions: Subscriptions
  readonly #closing = new AbortController()
  #state: ServerState
  /** The session the lists are read from: the connected one, or the one on its way there. */
  #session: Session | undefined
  #health: Health | undefined
  #became: 'sse' | undefined
  #loop: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: ConnectionOptions) {
    const { server, host, events } = options
    this.#options = options
    this.#policy = reconnectPolicy(server.entry.reconnect)
    this.#log = new ServerLog(options.stateDir, server.name, host, (line) =>
      events.emit('log', { server: server.name, line }),
    )
    this.#state = server.disabled ? states.disable(states.idle, server.disabled) : states.idle
    this.catalog = new Catalog({
      host,
      recent: options.recent,
      fetch: (method, params, signal) => this.#fetch(method, params, signal),
      listed: (list, count) => events.emit('list-changed', { server: server.name, list, count }),
      warn: (text) => this.#log.add('plugboard', text),
      leftOut: (text) =>
        events.emit('warning', { server: server.name, text: printable(`${server.name}: ${text}`) }),
      wantsHeaders: () => this.#session?.era === 'modern' && isHttp(server.entry),
    })
    this.#requests = new Requests({
      ...options,
      server: server.name,
      entry: server.entry,
      catalog: this.catalog,
      current: () => (this.#state.kind === 'connected' ? this.#state.session : undefined),
      ready: (signal) => this.#ready(signal),
      renew: (old) => this.#renew(old),
      unauthorised: (error) => this.#unauthorised(error),
      good: () => this.#health?.good(),
      bad: (error) => this.#health?.bad(error),
    })
    this.#subscriptions = new Subscriptions({
      host,
      missed: () => this.catalog.refresh(this.#session?.capabilities ?? {}),
      warn: (text) => this.#log.add('plugboard', text),
    })
  }

  get server(): ConnectionOptions['server'] {
    return this.#options.server
  }
  get state(): ServerState {
    return this.#state
  }
  /** The transport in use, which for a plain `url` is only known after the first connect. */
  get type(): TransportType {
    return this.#became ?? this.server.entry.type
  }
  get log(): ServerLog {
    return this.#log
  }

  /** Connects if nobody has yet, and waits until it is settled one way or the other. Never rejects for the server's sake. */
  async settled(signal?: AbortSignal): Promise<ServerState> {
    if (this.#state.kind === 'pending' && !this.#loop && !this.#closing.signal.aborted)
      this.#start({ state: states.begin(this.#state), afterMs: 0 })
    if (this.#loop) await abortable(this.#loop, signal)
    return this.#state
  }

  /** A person's wish to try again, whatever the state: after a login, or when the server is back. */
  async reconnect(): Promise<ServerState> {
    const state = this.#state
    // Leaving is part of the new attempt: whoever comes meanwhile waits for it instead of starting another.
    if (state.kind === 'connected')
      this.#start({ state: states.begin(states.idle), afterMs: 0 }, this.#leave(state))
    else if (state.kind === 'failed' || state.kind === 'needs-auth')
      this.#start({ state: states.begin(state), afterMs: 0 })
    return this.settled()
  }

  /** Sends one request, connecting first if need be. Rejects with a `PlugboardError`. */
  request(method: string, params?: Json, options: RequestOptions = {}): Promise<Json> {
    return this.#requests.send(method, params, options)
  }

  /** One of the server's lists, connecting first if need be; read again only when it is not fresh. */
  async list<K extends ListKind>(kind: K, signal?: AbortSignal): Promise<Catalog[K]['items']> {
    try {
      await this.#ready(signal)
      return await abortable<Catalog[K]['items']>(this.catalog[kind].get(), signal)
    } catch (error) {
      throw toPlugboardError(error, { server: this.server.name, stage: 'call', method: `${kind}/list` })
    }
  }

  async notify(method: string, params?: Json): Promise<void> {
    const { name } = this.server
    try {
      await (await this.#ready()).notify(method, params)
    } catch (error) {
      throw toPlugboardError(error, { server: name, stage: 'call', method })
    }
  }

  async subscribe(uri: string): Promise<void> {
    await this.#subscribing('resources/subscribe', uri, (session) =>
      this.#subscriptions.subscribe(session, uri),
    )
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.#subscribing('resources/unsubscribe', uri, (session) =>
      this.#subscriptions.unsubscribe(session, uri),
    )
  }

  /** Ends everything this connection owns; idempotent, and over within its bound. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    const { host } = this.#options
    this.#closing.abort()
    this.#quiet()
    this.catalog.end()
    // The one in use, and the one on its way there if that is another.
    const sessions = new Set([
      this.#session,
      this.#state.kind === 'connected' ? this.#state.session : undefined,
    ])
    this.#session = undefined
    const ends = [...sessions].map((session) => session?.close())
    await atMost(host, CONNECT_LIMITS.closeMs, Promise.allSettled([...ends, this.#loop, this.#renewing]))
    await atMost(host, CONNECT_LIMITS.closeMs, this.#log.flush())
  }

  #become(state: ServerState): void {
    this.#state = state
    if (!this.#closing.signal.aborted)
      this.#options.events.emit('state', { server: this.server.name, state: states.summary(state) })
  }

  #start(first: { readonly state: states.Pending; readonly afterMs: number }, after?: Promise<void>): void {
    this.#become(first.state)
    const connecting = () => this.#connectLoop(first.state, first.afterMs)
    const loop = (after ? after.then(connecting) : connecting()).finally(() => {
      if (this.#loop === loop) this.#loop = undefined
    })
    this.#loop = loop
  }

  /** Attempts until one succeeds, none are left, or nobody wants it any more. Never rejects. */
  async #connectLoop(first: states.Pending, firstAfterMs: number): Promise<void> {
    const { host } = this.#options
    const { signal } = this.#closing
    let pending = first
    let afterMs = firstAfterMs
    for (;;) {
      if (afterMs > 0) await sleep(host, afterMs, signal)
      if (signal.aborted) return
      const outcome = await this.#attempt(pending)
      if (signal.aborted) return
      if (!outcome) return
      this.#become(outcome.state)
      if (!('afterMs' in outcome)) return
      pending = outcome.state
      afterMs = outcome.afterMs
    }
  }

  /** Undefined when it is up. */
  async #attempt(
    pending: states.Pending,
  ): Promise<AfterLoss | { readonly state: states.NeedsAuth } | undefined> {
    const { host, slots, server } = this.#options
    const { signal } = this.#closing
    let at = pending
    this.#log.turnPage()
    let giveBack: (() => void) | undefined
    let stopTimer: (() => void) | undefined
    try {
      giveBack = await slots.take(signal)
      stopTimer = host.timer(CONNECT_LIMITS.slotHoldMs, giveBack)
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
      const tail = this.#log.tail()
      const fault = toPlugboardError(error, { server: server.name, stage: at.stage, tail })
      this.#log.add('plugboard', `Connecting failed at stage "${fault.stage ?? at.stage}": ${fault.code}`)
      if (fault.code === 'AUTH_REQUIRED') return { state: states.unauthorised(at, fault, host.now()) }
      return states.attemptFailed(at, fault, this.#policy, host.random())
    } finally {
      stopTimer?.()
      giveBack?.()
    }
  }

  #open(stage: (stage: Stage) => void): Promise<Session> {
    const health = new Health({ host: this.#options.host, onDead: (error) => this.#onDead(error) })
    this.#health = isLocal(this.server.entry) ? undefined : health
    return bringUp(
      {
        ...this.#options,
        log: this.#log,
        signal: this.#closing.signal,
        stage,
        became: (type) => {
          this.#became = type
        },
        notification: (method, params) => this.#notified(method, params),
        closed: (session, why) => this.#onClosed(session, why),
        trouble: (error) => {
          this.#health?.bad(error)
          this.#log.add('transport', error instanceof Error ? error.message : String(error))
        },
      },
      (session, deadline) => this.#establish(session, deadline, stage),
    )
  }

  /** A server without its tools is not up; without its resources or prompts it is. */
  async #establish(session: Session, deadline: Deadline, stage: (stage: Stage) => void): Promise<void> {
    this.#session = session
    stage('tools')
    const { aside } = await deadline.within(this.catalog.read(session.capabilities))
    stage('resources')
    await deadline.within(aside)
    stage('server-info')
  }

  #up(state: Connected): void {
    this.#session = state.session
    this.#become(state)
    this.#health?.watch(state.session)
    void this.#subscriptions.attach(state.session)
    // It may have gone in the moment between its last answer and now.
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
    this.#lose(state, error)
    void state.session.close().catch((fault) => this.#log.add('transport', String(fault)))
  }

  #lose(state: Connected, error: unknown): void {
    const { host, server } = this.#options
    this.#quiet()
    this.#session = undefined
    const fault = toPlugboardError(error, { server: server.name, stage: 'connect', tail: this.#log.tail() })
    const next = states.lost(state, fault, this.#policy, host.now(), host.random())
    this.#log.add('plugboard', 'The connection was lost.')
    if ('afterMs' in next) this.#start(next)
    else this.#become(next.state)
  }

  /** Timers, readings and subscriptions of a connection that is over. */
  #quiet(): void {
    this.#health?.stop()
    this.#health = undefined
    this.#subscriptions.detach()
    this.catalog.drop()
  }

  async #leave(state: Connected): Promise<void> {
    this.#become(states.idle)
    this.#quiet()
    this.#session = undefined
    await atMost(this.#options.host, CONNECT_LIMITS.closeMs, state.session.close())
  }

  /** The session to use, as soon as there is one. */
  async #ready(signal?: AbortSignal): Promise<Session> {
    const state = this.#state.kind === 'pending' ? await this.settled(signal) : this.#state
    const { name } = this.server
    if (this.#closing.signal.aborted)
      throw new IoError(`The connection to "${name}" is closed.`, { server: name })
    switch (state.kind) {
      case 'connected':
        return state.session
      case 'failed':
      case 'needs-auth':
        throw state.error
      case 'disabled':
        throw new Disabled(name, state.reason.text)
      case 'pending':
        throw new IoError(`"${name}" is not connected.`, { server: name, stage: state.stage })
    }
  }

  /** The server forgot the session: greet it again on a fresh transport, once for all who noticed. */
  async #renew(old: Session): Promise<void> {
    const state = this.#state
    if (state.kind !== 'connected' || state.session !== old) return
    this.#renewing ??= this.#reopen(state).finally(() => {
      this.#renewing = undefined
    })
    await this.#renewing
  }

  async #reopen(state: Connected): Promise<void> {
    this.#log.add('plugboard', 'The session expired; a new one is opened.')
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
    const { host, server } = this.#options
    const fault = toPlugboardError(error, { server: server.name, stage: 'auth' })
    const state = this.#state
    if (state.kind === 'connected') {
      this.#quiet()
      this.#session = undefined
      this.#become(states.unauthorised(state, fault, host.now()))
      void state.session.close().catch((cause) => this.#log.add('transport', String(cause)))
    }
    return fault
  }

  async #subscribing(method: string, uri: string, work: (session: Session) => Promise<void>): Promise<void> {
    try {
      await work(await this.#ready())
    } catch (error) {
      throw toPlugboardError(error, { server: this.server.name, stage: 'call', method, name: uri })
    }
  }

  async #fetch(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json> {
    const session = this.#session
    if (!session) throw new ChannelClosed(false)
    // While connecting, the deadline of the attempt is the only clock.
    const limits = this.#options
    const timeoutMs =
      this.#state.kind === 'connected'
        ? (this.server.entry.timeout ?? limits.callTimeoutMs)
        : limits.timeoutMs
    try {
      return await session.request(method, params, { signal, timeoutMs })
    } catch (error) {
      if (!isSessionExpired(error, session.hasHttpSession) || this.#state.kind !== 'connected') throw error
      // Renewing reads the lists anew; this reading is over.
      void this.#renew(session).catch(() => undefined)
      throw error
    }
  }

  #notified(method: string, params: Json): void {
    if (this.catalog.notified(method)) return
    const { events } = this.#options
    const server = this.server.name
    if (method === 'notifications/message') {
      this.#log.add('server', logText(params))
      events.emit('notification', { server, method, params })
    } else if (method !== 'notifications/resources/updated')
      events.emit('notification', { server, method, params })
    else if (typeof params.uri === 'string') events.emit('resource-updated', { server, uri: params.uri })
  }
}

function logText(params: Json): string {
  const { level, logger, data } = params
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  const from = typeof logger === 'string' ? `${logger}: ` : ''
  return `[${typeof level === 'string' ? level : 'info'}] ${from}${text ?? ''}`
}

function isHttp(entry: ServerEntry): boolean {
  return entry.type === 'http' || entry.type === 'claudeai-proxy'
}

/** Lets a session that was replaced finish what is under way, then ends it. */
function retire(host: Host, session: Session): void {
  const end = () => void session.close().catch(() => undefined) // Nobody is left to care how it went.
  if (session.inFlight === 0) end()
  else host.timer(CONNECT_LIMITS.closeMs, end)
}
