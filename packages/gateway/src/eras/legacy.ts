// legacy.ts: one legacy session, from initialize to its end: open requests, cancellation, the requests to the
// client, and its subscriptions. The outlet knows which transport it runs on.
import { randomUUID } from 'node:crypto'
import { InvalidInput, JsonRpcError, NotFound } from '@plugboard/core'
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
import { type ResourceUri, STATUS_URI } from '../views/resource-uris.ts'

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
  /** What the client may see can change while it is connected. */
  exposure: Exposure
  readonly #gateway: Gateway
  readonly #outlet: Outlet
  readonly #open = new Map<Id, LegacyRequest>()
  readonly #asked = new Map<Id, Asked>()
  readonly #uris = new Map<string, ResourceUri>()
  readonly #unfollow = new Map<string, () => Promise<void>>()
  #stopListening: (() => void) | undefined
  #asks = 0
  #asksForLevel = false
  #isAbsent = false
  #closed = false

  constructor(gateway: Gateway, outlet: Outlet, exposure: Exposure) {
    this.#gateway = gateway
    this.#outlet = outlet
    this.exposure = exposure
  }

  get busy(): boolean {
    return this.#open.size > 0
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
    if (this.#open.has(id)) return errorReply(id, RPC.invalidRequest, 'A request with this id is still open.')
    if (this.#open.size >= GATEWAY_LIMITS.openPerClient)
      return errorReply(id, RPC.internal, 'Too many requests are open.')
    const request = new LegacyRequest(this, this.#outlet, id, connection)
    this.#open.set(id, request)
    try {
      const result = await this.#result(method, params, request)
      return request.cancelled ? undefined : { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (request.cancelled) return undefined
      const { code, message, data } = wireError(error, 'legacy', this.#gateway.isNarrow(this.exposure))
      return errorReply(id, code, message, data)
    } finally {
      this.#open.delete(id)
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
    if (method === 'notifications/cancelled') this.#open.get(params.requestId as Id)?.cancel()
    // Servers that came up before the client were given the board's roots.
    const news = method === 'notifications/roots/list_changed' || method === 'notifications/initialized'
    if (news && this.capabilities.roots) this.#gateway.rootsChanged(this)
  }

  replied(reply: Reply): void {
    if (reply.id !== null) this.#asked.get(reply.id)?.settle(reply)
  }

  ask(method: string, params: Json, signal: AbortSignal, about?: Id): Promise<Json> {
    const id = `plugboard-${++this.#asks}`
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
        GATEWAY_LIMITS.parkedMs,
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
    for (const request of this.#open.values()) request.cancel()
    for (const { fail } of [...this.#asked.values()])
      fail(new JsonRpcError(RPC.internal, 'The client is gone.'))
    await Promise.allSettled([...this.#unfollow.values()].map((stop) => stop()))
    this.#unfollow.clear()
  }

  async #result(method: string, params: Json, request: LegacyRequest): Promise<Json> {
    if (method === 'initialize') return await this.#initialize(params)
    if (method === 'ping') return {}
    if (this.protocolVersion === undefined)
      throw new JsonRpcError(RPC.order, `Not initialized: send initialize before ${method}.`)
    switch (method) {
      case 'logging/setLevel':
        this.logLevel = readLogLevel(params)
        this.#asksForLevel = true
        this.#gateway.notifications.wantLevel(this, this.logLevel)
        return {}
      case 'resources/subscribe':
        await this.#subscribe(text(params, 'uri'), request.signal)
        return {}
      case 'resources/unsubscribe':
        await this.#unsubscribe(text(params, 'uri'))
        return {}
    }
    return asLegacy(await handle(this.#gateway, method, params, request))
  }

  async #initialize(params: Json): Promise<Json> {
    if (this.protocolVersion !== undefined)
      throw new JsonRpcError(RPC.invalidRequest, 'Already initialized: initialize comes once.')
    const handshake = readHandshake(params)
    this.#take(handshake)
    await this.#gateway.wake()
    if (this.#closed) throw new JsonRpcError(RPC.internal, 'The client is gone.')
    this.#listen()
    return {
      protocolVersion: handshake.protocolVersion,
      capabilities: this.#gateway.capabilities(),
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
    for (const list of ['tools', 'resources', 'prompts'])
      this.notify(`notifications/${list}/list_changed`, {})
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
      interest: { tools: true, resources: true, prompts: true, uris: this.#uris },
      notify: (method, what) => this.notify(method, what),
    })
  }

  async #subscribe(uri: string, signal: AbortSignal): Promise<void> {
    if (tooMany(this.#uris)) throw new InvalidInput('Too many resources are followed.')
    if (uri === STATUS_URI) return void this.#uris.set(uri, { server: '', uri })
    const address = await this.#gateway.findResource(uri, { client: this, signal })
    if (!address) throw new NotFound('resource', uri)
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
  /** Made when it is first asked for: many requests end without one. */
  #controller: AbortController | undefined
  #cancelled = false

  constructor(client: LegacySession, outlet: Outlet, id: Id, connection: ResponseConnection | undefined) {
    this.client = client
    this.id = id
    this.#outlet = outlet
    if (!connection) return
    this.#cancelled = connection.gone
    connection.onGone = () => this.cancel()
  }

  get cancelled(): boolean {
    return this.#cancelled
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#cancelled) this.#controller.abort()
    }
    return this.#controller.signal
  }

  cancel(): void {
    this.#cancelled = true
    this.#controller?.abort()
  }

  notify(method: string, params: Json): void {
    this.#outlet.send({ jsonrpc: '2.0', method, params }, this.id)
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
  if (!('resultType' in result)) return result
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest } = result
  const { [META.serverInfo]: _info, ...meta } = isObject(_meta) ? _meta : {}
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}
