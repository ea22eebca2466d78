// legacy.ts: one legacy session, from initialize to its end: open requests, cancellation, the requests to the
// client, and its subscriptions. The outlet knows which transport it runs on.
import { randomUUID } from 'node:crypto'
import { InvalidInput, JsonRpcError, NotFound } from '@plugboard/core'
import { OpenRequests } from '@plugboard/core/async/open-requests'
import { Cancellation } from '@plugboard/core/async/waits'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { Exposure } from '../access/exposure.ts'
import type { Client, ClientRequest, ResponseConnection } from '../client-request.ts'
import { wireError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  type ClientCapabilities,
  clientNameOf,
  errorReply,
  type Id,
  isLegacyVersion,
  isObject,
  type Json,
  LEGACY_VERSIONS,
  LOG_LEVELS,
  META,
  type Notification,
  type Reply,
  type Request,
  RPC,
  readCapabilities,
  SERVER_INFO,
} from '../json-rpc.ts'
import { handle, text } from '../methods.ts'
import { tooMany } from '../routing/notifications.ts'
import { capabilitiesFor } from '../views/capabilities.ts'
import { type ResourceUri, STATUS_URI } from '../views/resource-uris.ts'
import { startTask } from './legacy-task.ts'

export interface Outlet {
  /** Sends a message; `about` is the client's request that it belongs to. */
  send(message: object, about?: Id): void
  /** The client's connection for a request broke, and the client has not come back yet. */
  away?(about: Id): boolean
}

/** What a client declared in `initialize`, as far as the session depends on it. */
export interface Handshake {
  readonly protocolVersion: string
  readonly clientName?: string | undefined
  readonly capabilities: ClientCapabilities
}

/** Throws when the parameters of `initialize` are malformed. */
export function readHandshake(params: Json): Handshake {
  const wanted = text(params, 'protocolVersion')
  if (!isObject(params.capabilities)) throw new InvalidInput('"capabilities" is missing.')
  return {
    protocolVersion: isLegacyVersion(wanted) ? wanted : LEGACY_VERSIONS[0],
    capabilities: readCapabilities(params.capabilities),
    clientName: clientNameOf(params.clientInfo),
  }
}

const SESSION_METHODS: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Requests that most clients have open at a time. */
export const OPEN_SLOTS = 16
/** The part of a session that other replicas share; where there are none it is left out. */
export interface SessionSharing {
  readonly replica: string
  read(): Promise<{ readonly level: string | undefined; readonly uris: readonly string[] } | undefined>
  setLevel(level: string): Promise<void>
  follow(uri: string): Promise<void>
  unfollow(uri: string): Promise<void>
  /** A request that does not run here. */
  cancel(request: Id): void
}

interface Asked {
  readonly settle: (reply: Reply) => void
  readonly fail: (error: Error) => void
}

export class LegacySession implements Client {
  readonly id = randomUUID()
  readonly era = 'legacy'
  capabilities: ClientCapabilities = readCapabilities(undefined)
  logLevel: string | undefined = 'info'
  protocolVersion: string | undefined
  name: string | undefined
  /** Set by the transport that knows it. */
  owner = 'client'
  /** What the client may see can change while it is connected. */
  exposure: Exposure
  user: Client['user']
  readonly #gateway: Gateway
  readonly #outlet: Outlet
  readonly #shared: SessionSharing | undefined
  readonly #open = new OpenRequests<LegacyRequest>(OPEN_SLOTS)
  readonly #asked = new Map<Id, Asked>()
  readonly #uris = new Map<string, ResourceUri>()
  readonly #unfollow = new Map<string, () => Promise<void>>()
  #stopListening: (() => void) | undefined
  #asks = 0
  #asksForLevel = false
  #isAbsent = false
  #closed = false

  constructor(gateway: Gateway, outlet: Outlet, exposure: Exposure, shared?: SessionSharing) {
    this.#gateway = gateway
    this.#outlet = outlet
    this.#shared = shared
    this.exposure = exposure
  }

  get busy(): boolean {
    return this.#open.size > 0
  }

  /** Tasks are part of one legacy version only. */
  get asksForTasks(): boolean {
    return this.protocolVersion === LEGACY_VERSIONS[0]
  }

  notify(method: string, params: Json): void {
    // Before the handshake the client does not listen yet.
    if (this.protocolVersion !== undefined) this.#outlet.send({ jsonrpc: '2.0', method, params })
  }

  /** The response; undefined when the client has cancelled the request. */
  async request(
    { id, method, params }: Request,
    connection?: ResponseConnection,
  ): Promise<Reply | undefined> {
    if (this.#open.get(id)) return errorReply(id, RPC.invalidRequest, 'A request with this id is still open.')
    if (this.#open.size >= GATEWAY_LIMITS.openPerClient)
      return errorReply(id, RPC.internal, 'Too many requests are open.')
    const request = new LegacyRequest(this, this.#outlet, id, connection)
    this.#open.add(request)
    try {
      const result = asLegacy(await this.#result(method, params, request))
      return request.cancelled ? undefined : { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (request.cancelled) return undefined
      const { code, message, data } = wireError(error, 'legacy', this.#gateway.isNarrow(this.exposure))
      return errorReply(id, code, message, data)
    } finally {
      this.#open.remove(request)
    }
  }

  /** Nothing shows that the client is still there: it has no open stream, and no request is running. */
  absent(): void {
    this.#isAbsent = true
    this.#gateway.notifications.forgetLevel(this)
  }

  /** The client sent something. */
  returned(): void {
    if (!this.#isAbsent) return
    this.#isAbsent = false
    if (this.#asksForLevel && this.logLevel !== undefined && !this.#closed)
      this.#gateway.notifications.wantLevel(this, this.logLevel)
  }

  notified({ method, params }: Notification): void {
    if (method === 'notifications/cancelled' && !this.cancel(params.requestId as Id))
      this.#shared?.cancel(params.requestId as Id)
    // Servers that came up before the client were given the board's roots.
    const news = method === 'notifications/roots/list_changed' || method === 'notifications/initialized'
    if (news && this.capabilities.roots) this.#gateway.rootsChanged(this)
  }

  /** False when no such request runs here. */
  cancel(id: Id): boolean {
    const request = this.#open.get(id)
    request?.cancel()
    return request !== undefined
  }

  replied(reply: Reply): void {
    if (reply.id !== null) this.#asked.get(reply.id)?.settle(reply)
  }

  ask(method: string, params: Json, signal: AbortSignal, about?: Id): Promise<Json> {
    // The id says which replica waits for the reply.
    const id = `plugboard-${this.#shared ? `${this.#shared.replica}-` : ''}${++this.#asks}`
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#asked.delete(id)
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const fail = (error: Error) => {
        end()
        reject(error)
      }
      const onAbort = () => {
        this.#outlet.send(
          { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } },
          about,
        )
        fail(new JsonRpcError(RPC.internal, 'The question was withdrawn.'))
      }
      const timer = setTimeout(
        () => fail(new JsonRpcError(RPC.internal, 'The client did not answer in time.')),
        GATEWAY_LIMITS.clientQuestionMs,
      )
      const settle = ({ result, error }: Reply) => {
        if (result === undefined)
          return fail(
            new JsonRpcError(error?.code ?? RPC.internal, error?.message ?? 'No answer', error?.data),
          )
        end()
        resolve(result)
      }
      if (signal.aborted) return fail(new JsonRpcError(RPC.internal, 'The question was withdrawn.'))
      signal.addEventListener('abort', onAbort, { once: true })
      this.#asked.set(id, { settle, fail })
      this.#outlet.send({ jsonrpc: '2.0', id, method, params: asLegacyQuestion(params) }, about)
    })
  }

  /** Ends what is open; the servers are told that their requests are cancelled. */
  async close(): Promise<void> {
    this.#closed = true
    this.#stopListening?.()
    this.#gateway.notifications.forgetLevel(this)
    this.#gateway.instances?.left(this)
    for (const request of this.#open.list()) request.cancel()
    for (const { fail } of [...this.#asked.values()])
      fail(new JsonRpcError(RPC.internal, 'The client is gone.'))
    await Promise.allSettled([...this.#unfollow.values()].map((stop) => stop()))
    this.#unfollow.clear()
  }

  /** Throws or rejects with what went wrong. */
  #result(method: string, params: Json, request: LegacyRequest): Promise<Json> | Json {
    if (method === 'initialize') return this.#initialize(params)
    if (method === 'ping') return {}
    if (this.protocolVersion === undefined)
      throw new JsonRpcError(RPC.order, `Not initialized: send initialize before ${method}.`)
    if (method === 'tools/call' && isObject(params.task) && this.asksForTasks)
      return startTask(this.#gateway, this, params, request.id)
    return SESSION_METHODS.has(method)
      ? this.#change(method, params, request)
      : handle(this.#gateway, method, params, request)
  }

  /** Changes what the session is told. */
  async #change(method: string, params: Json, request: LegacyRequest): Promise<Json> {
    switch (method) {
      case 'logging/setLevel':
        this.#setLevel(readLogLevel(params))
        if (this.logLevel !== undefined) await this.#shared?.setLevel(this.logLevel)
        break
      case 'resources/subscribe':
        await this.#subscribe(text(params, 'uri'), request.signal)
        await this.#shared?.follow(text(params, 'uri'))
        break
      default:
        await this.#unsubscribe(text(params, 'uri'))
        await this.#shared?.unfollow(text(params, 'uri'))
    }
    return {}
  }

  async #initialize(params: Json): Promise<Json> {
    if (this.protocolVersion !== undefined)
      throw new JsonRpcError(RPC.invalidRequest, 'Already initialized: initialize comes once.')
    const handshake = readHandshake(params)
    this.#take(handshake)
    await this.#gateway.listed()
    if (this.#closed) throw new JsonRpcError(RPC.internal, 'The client is gone.')
    this.#listen()
    return {
      protocolVersion: handshake.protocolVersion,
      capabilities: capabilitiesFor(this.asksForTasks === true),
      serverInfo: SERVER_INFO,
      instructions: this.#gateway.instructions(this),
    }
  }

  /**
   * Continues where an earlier process, or an earlier session of this one, left off. The client's subscriptions and log
   * level are not known: it has none, gets `info`, and is told that every list may have changed.
   */
  restore(handshake: Handshake): void {
    this.#take(handshake)
    this.#listen()
    if (!this.#shared) this.mayHaveChanged()
  }

  /** What was told in between went elsewhere: the client looks at everything again. */
  mayHaveChanged(): void {
    for (const list of ['tools', 'resources', 'prompts'])
      this.notify(`notifications/${list}/list_changed`, {})
    for (const uri of this.#uris.keys()) this.notify('notifications/resources/updated', { uri })
  }

  /** Takes over what other replicas know of the session. What cannot be followed here now is left out. */
  async takeOver(): Promise<void> {
    const state = await this.#shared?.read()
    if (!state || this.#closed) return
    if (state.level !== undefined && state.level !== this.logLevel && LOG_LEVELS.includes(state.level))
      this.#setLevel(state.level)
    const wanted = new Set(state.uris)
    const gone = [...this.#uris.keys()].filter((uri) => !wanted.has(uri))
    const missing = state.uris.filter((uri) => !this.#uris.has(uri))
    const signal = AbortSignal.timeout(GATEWAY_LIMITS.listWaitMs)
    await Promise.allSettled([
      ...gone.map((uri) => this.#unsubscribe(uri)),
      ...missing.map((uri) => this.#subscribe(uri, signal)),
    ])
  }

  #setLevel(level: string): void {
    this.logLevel = level
    this.#asksForLevel = true
    this.#gateway.notifications.wantLevel(this, level)
  }

  #take({ protocolVersion, capabilities, clientName }: Handshake): void {
    this.protocolVersion = protocolVersion
    this.name = clientName
    this.capabilities = capabilities
  }

  #listen(): void {
    const client = this
    this.#stopListening = this.#gateway.notifications.add({
      get exposure() {
        return client.exposure
      },
      get user() {
        return client.user?.key
      },
      interest: { tools: true, resources: true, prompts: true, uris: this.#uris },
      notify: (method, what) => this.notify(method, what),
    })
  }

  async #subscribe(uri: string, signal: AbortSignal): Promise<void> {
    if (tooMany(this.#uris)) throw new InvalidInput('Too many resources are followed.')
    if (uri === STATUS_URI) return void this.#uris.set(uri, { server: '', uri })
    const address = await this.#gateway.findResource(uri, { client: this, signal })
    if (!address) throw new NotFound('resource', uri)
    this.#gateway.mustBeShared(address.server)
    const stop = await this.#gateway.notifications.follow(address, signal)
    // The client may ask twice at once, or may have left since: one request is enough, and none is fine too.
    if (this.#closed || this.#unfollow.has(uri)) return await stop()
    this.#uris.set(uri, address)
    this.#unfollow.set(uri, stop)
  }

  async #unsubscribe(uri: string): Promise<void> {
    const stop = this.#unfollow.get(uri)
    this.#unfollow.delete(uri)
    this.#uris.delete(uri)
    await stop?.()
  }
}

/** One request of the session, from its arrival to its response. */
class LegacyRequest implements ClientRequest {
  readonly client: LegacySession
  readonly id: Id
  readonly #outlet: Outlet
  readonly #connection: ResponseConnection | undefined
  readonly cancellation = new Cancellation()

  constructor(client: LegacySession, outlet: Outlet, id: Id, connection: ResponseConnection | undefined) {
    this.client = client
    this.id = id
    this.#outlet = outlet
    this.#connection = connection
    if (!connection) return
    if (connection.gone) this.cancel()
    connection.onGone = () => this.cancel()
  }

  get cancelled(): boolean {
    return this.cancellation.cancelled
  }

  get signal(): AbortSignal {
    return this.cancellation.signal
  }

  cancel(): void {
    this.cancellation.cancel()
  }

  notify(method: string, params: Json): void {
    this.#outlet.send({ jsonrpc: '2.0', method, params }, this.id)
  }

  tellBudget(headers: readonly string[]): void {
    this.#connection?.tellBudget?.(headers)
  }

  away(): boolean {
    return this.#outlet.away?.(this.id) ?? false
  }

  ask(method: string, params: Json, until: AbortSignal): Promise<Json> {
    return this.client.ask(method, params, AbortSignal.any([until, this.signal]), this.id)
  }
}

function readLogLevel(params: Json): string {
  const level = text(params, 'level')
  if (!LOG_LEVELS.includes(level)) throw new InvalidInput(`"${level}" is no log level.`)
  return level
}

/** In the legacy era a URL elicitation has an id, by which the client may hear that it is complete. */
function asLegacyQuestion(params: Json): Json {
  if (params.mode !== 'url' || params.elicitationId !== undefined) return params
  return { ...params, elicitationId: randomUUID() }
}

/** A modern result without the members that legacy results do not have. */
function asLegacy(result: Json): Json {
  if (!('resultType' in result || 'ttlMs' in result)) return result
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest } = result
  const { [META.serverInfo]: _info, ...meta } = isObject(_meta) ? _meta : {}
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}
