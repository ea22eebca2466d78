// legacy.ts: one conversation of the older era, from initialize to its end: open requests, cancellation, the questions we
// ask, and what the client follows. Which wire it runs on is the outlet's business.
import { randomUUID } from 'node:crypto'
import { InvalidInput, NotFound, RpcFault } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Address, STATUS_URI } from './addresses.ts'
import type { Client, Exchange } from './client.ts'
import { wireError } from './faults.ts'
import { tooMany } from './feed.ts'
import { type Gateway, readLogLevel, serverInfo, text } from './gateway.ts'
import {
  type ClientCapabilities,
  errorReply,
  type Id,
  isObject,
  type Json,
  LEGACY_VERSIONS,
  META,
  type Notification,
  type Reply,
  type Request,
  RPC,
  readCapabilities,
} from './protocol.ts'

export interface Outlet {
  /** Sends a message; `about` is the request of the client that it belongs to. */
  send(message: object, about?: Id): void
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
  readonly #gateway: Gateway
  readonly #outlet: Outlet
  readonly #open = new Map<Id, AbortController>()
  readonly #asked = new Map<Id, Asked>()
  readonly #uris = new Map<string, Address>()
  readonly #unfollow = new Map<string, () => Promise<void>>()
  #stopListening: (() => void) | undefined
  #asks = 0

  constructor(gateway: Gateway, outlet: Outlet) {
    this.#gateway = gateway
    this.#outlet = outlet
  }

  get busy(): boolean {
    return this.#open.size > 0
  }

  notify(method: string, params: Json): void {
    // Before the greeting nobody is known to listen in this era.
    if (this.protocolVersion !== undefined) this.#outlet.send({ jsonrpc: '2.0', method, params })
  }

  /** The answer; nothing when the client has withdrawn the request. */
  async request(message: Request, gone?: AbortSignal): Promise<Reply | undefined> {
    const { id, method, params } = message
    if (this.#open.has(id)) return errorReply(id, RPC.invalidRequest, 'A request with this id is still open.')
    if (this.#open.size >= GATEWAY_LIMITS.openPerClient)
      return errorReply(id, RPC.internal, 'Too many requests are open.')
    const controller = new AbortController()
    const onGone = () => controller.abort()
    if (gone?.aborted) controller.abort()
    gone?.addEventListener('abort', onGone, { once: true })
    this.#open.set(id, controller)
    try {
      const result = await this.#answer(method, params, id, controller.signal)
      return controller.signal.aborted ? undefined : { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (controller.signal.aborted) return undefined
      const { code, message: words, data } = wireError(error, 'legacy')
      return errorReply(id, code, words, data)
    } finally {
      gone?.removeEventListener('abort', onGone)
      this.#open.delete(id)
    }
  }

  notified({ method, params }: Notification): void {
    if (method === 'notifications/cancelled') this.#open.get(params.requestId as Id)?.abort()
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
        fail(new RpcFault(RPC.internal, 'The question was withdrawn.'))
      }
      const timer = setTimeout(
        () => fail(new RpcFault(RPC.internal, 'The client did not answer in time.')),
        GATEWAY_LIMITS.parkedMs,
      )
      const settle = ({ result, error }: Reply) => {
        if (result === undefined)
          return fail(new RpcFault(error?.code ?? RPC.internal, error?.message ?? 'No answer', error?.data))
        end()
        resolve(result)
      }
      if (signal.aborted) return fail(new RpcFault(RPC.internal, 'The question was withdrawn.'))
      signal.addEventListener('abort', onAbort, { once: true })
      this.#asked.set(id, { settle, fail })
      this.#outlet.send({ jsonrpc: '2.0', id, method, params: asLegacyQuestion(params) }, about)
    })
  }

  /** Ends what is open; the servers hear that nobody waits any more. */
  async close(): Promise<void> {
    this.#stopListening?.()
    for (const controller of this.#open.values()) controller.abort()
    for (const { fail } of [...this.#asked.values()]) fail(new RpcFault(RPC.internal, 'The client is gone.'))
    await Promise.allSettled([...this.#unfollow.values()].map((stop) => stop()))
    this.#unfollow.clear()
  }

  async #answer(method: string, params: Json, id: Id, signal: AbortSignal): Promise<Json> {
    if (method === 'initialize') return await this.#initialize(params)
    if (method === 'ping') return {}
    if (this.protocolVersion === undefined)
      throw new RpcFault(RPC.order, `Not initialized: send initialize before ${method}.`)
    switch (method) {
      case 'logging/setLevel':
        this.logLevel = readLogLevel(params)
        this.#gateway.feed.wantLevel(this.logLevel)
        return {}
      case 'resources/subscribe':
        await this.#subscribe(text(params, 'uri'), signal)
        return {}
      case 'resources/unsubscribe':
        await this.#unsubscribe(text(params, 'uri'))
        return {}
    }
    const exchange: Exchange = {
      client: this,
      id,
      signal,
      notify: (name, what) => this.#outlet.send({ jsonrpc: '2.0', method: name, params: what }, id),
      ask: (name, what, until) => this.ask(name, what, AbortSignal.any([until, signal]), id),
    }
    return asLegacy(await this.#gateway.answer(method, params, exchange))
  }

  async #initialize(params: Json): Promise<Json> {
    if (this.protocolVersion !== undefined)
      throw new RpcFault(RPC.invalidRequest, 'Already initialized: initialize comes once.')
    const wanted = text(params, 'protocolVersion')
    if (!isObject(params.capabilities)) throw new InvalidInput('"capabilities" is missing.')
    this.protocolVersion = LEGACY_VERSIONS.includes(wanted) ? wanted : (LEGACY_VERSIONS[0] ?? wanted)
    this.capabilities = readCapabilities(params.capabilities)
    await this.#gateway.wake()
    const { feed } = this.#gateway
    this.#stopListening = feed.add({
      interest: { tools: true, resources: true, prompts: true, uris: this.#uris },
      notify: (method, what) => this.notify(method, what),
    })
    return {
      protocolVersion: this.protocolVersion,
      capabilities: this.#gateway.capabilities(),
      serverInfo: serverInfo(),
      instructions: this.#gateway.instructions(),
    }
  }

  async #subscribe(uri: string, signal: AbortSignal): Promise<void> {
    if (this.#unfollow.has(uri) || uri === STATUS_URI) return
    if (tooMany(this.#uris)) throw new InvalidInput('Too many resources are followed.')
    const address = (await this.#gateway.lists(this)).resource(uri)
    if (!address) throw new NotFound('resource', uri)
    const stop = await this.#gateway.feed.follow(address, signal)
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

/** In the older era the way to a web page has an id, by which the client may hear that all is done there. */
function asLegacyQuestion(params: Json): Json {
  if (params.mode !== 'url' || params.elicitationId !== undefined) return params
  return { ...params, elicitationId: randomUUID() }
}

/** An answer of the newer era without the words that the older one does not have. */
function asLegacy(result: Json): Json {
  if (!('resultType' in result)) return result
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest } = result
  const { [META.serverInfo]: _info, ...meta } = isObject(_meta) ? _meta : {}
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}
