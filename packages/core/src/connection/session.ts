// session.ts: one session with one server, in either era: handshake, requests, the server's own requests,
// subscriptions. It does not reconnect, cache, order or retry; connection.ts does.

import { RequestTimedOut } from '../async/wait-errors.ts'
import type { Progress } from '../events.ts'
import type { Host } from '../host.ts'
import { CALL_LIMITS } from '../limits.ts'
import { handshake, modernFacts, type ProbeAnswer } from './handshake.ts'
import { type JsonRpcHooks, JsonRpcPeer } from './json-rpc.ts'
import type { OutgoingRequest, ResponseSink } from './pending-request.ts'
import { BadResponse, ChannelClosed, JsonRpcError, unwrapHttp } from './request-errors.ts'
import {
  ASKING_METHODS,
  type Discovery,
  type Era,
  isObject,
  type Json,
  META,
  MODERN_VERSION,
  parseDiscovery,
  RPC,
  type ServerCapabilities,
  type ServerInfo,
  TASKS_EXTENSION,
  type Transport,
} from './server-info.ts'
import { type RequestHandlers, ServerRequests } from './server-requests.ts'

export interface SessionRequest {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The answer to the first round, when it is known already. */
  readonly first?: Json | undefined
  /** Abandoned without telling the server. */
  readonly quiet?: boolean
  /** No caller awaits it, or one that holds the process itself. */
  readonly background?: boolean
}

export interface ListenFilter {
  readonly toolsListChanged?: boolean
  readonly promptsListChanged?: boolean
  readonly resourcesListChanged?: boolean
  readonly resourceSubscriptions?: readonly string[]
}

export interface Subscription {
  /** Settles when the subscription has ended, for any reason. */
  readonly ended: Promise<'local' | 'remote'>
  close(): void
}

export interface Session {
  readonly era: Era
  readonly protocolVersion: string
  readonly serverInfo: ServerInfo | undefined
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
  /** What a modern server said about itself; worth caching. */
  readonly discovery: Discovery | undefined
  readonly hasHttpSession: boolean
  readonly closed: boolean
  readonly inFlight: number
  /** The process of a server that we started. */
  readonly pid: number | undefined
  readonly lastHeard: number
  /** How many messages of the server have arrived. */
  readonly heardCount: number
  request(method: string, params?: Json, options?: SessionRequest): Promise<Json>
  /** One round of a request, without a promise: the sink gets the first answer, which may not be `isFinal`. */
  exchange(method: string, params: Json | undefined, options: OutgoingRequest, sink: ResponseSink): void
  /** False when the server needs input first (2026-07-28): then `request` continues with the answer as `first`. */
  isFinal(answer: Json): boolean
  /** Answers what a result or a task of the server asks for; the answers by their keys. */
  answerInputs(inputRequests: Json, signal: AbortSignal | undefined): Promise<Json>
  notify(method: string, params?: Json): Promise<void>
  /** Opens a subscription (2026-07-28 only; the legacy era sends its notifications unrequested). */
  listen(filter: ListenFilter, options?: SessionRequest): Promise<Subscription>
  /** Repeats the discovery of a modern server, and applies the result. */
  rediscover(options?: SessionRequest): Promise<void>
  close(): Promise<void>
}

export interface SessionOptions {
  readonly host: Host
  readonly server: string
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly handlers: RequestHandlers
  /** The server's known era; undefined means: find out. */
  readonly known: 'legacy' | Discovery | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onNotification: (method: string, params: Json) => void
  readonly onClosed: (why: unknown) => void
  readonly onTrouble: (error: unknown) => void
  readonly onOdd: (text: string) => void
  readonly onRefused: (text: string) => void
  /** Every message, as it is sent and as it arrived. */
  readonly record?: JsonRpcHooks['record']
  readonly unanswered?: JsonRpcHooks['unanswered']
}

/** Starts the transport and does the handshake. On failure the transport is closed. */
export async function openSession(transport: Transport, options: SessionOptions): Promise<Session> {
  const asks = new ServerRequests(options)
  const wire = new JsonRpcPeer(transport, options.host, {
    request: (method, params, signal) => asks.answer(method, params, signal),
    notification: (method, params) => session.onNotification(method, params),
    closed: () => options.onClosed(wire.lastTrouble),
    trouble: options.onTrouble,
    odd: options.onOdd,
    record: options.record,
    unanswered: options.unanswered,
  })
  const session = new WireSession(wire, asks, options)
  const onAbort = () => void wire.close().catch(options.onTrouble)
  options.signal.addEventListener('abort', onAbort, { once: true })
  try {
    await wire.start()
    await session.handshake()
    return session
  } catch (error) {
    await wire.close().catch(options.onTrouble)
    throw unwrapHttp(error)
  } finally {
    options.signal.removeEventListener('abort', onAbort)
  }
}

class WireSession implements Session {
  readonly #wire: JsonRpcPeer
  readonly #asks: ServerRequests
  readonly #options: SessionOptions
  readonly #envelope: Json
  readonly #acks = new Map<string, () => void>()
  #answered: ProbeAnswer | undefined
  #listens = 0

  constructor(wire: JsonRpcPeer, asks: ServerRequests, options: SessionOptions) {
    this.#wire = wire
    this.#asks = asks
    this.#options = options
    this.#envelope = Object.freeze({
      [META.protocolVersion]: MODERN_VERSION,
      [META.clientInfo]: options.clientInfo,
      [META.clientCapabilities]: withTasks(asks.capabilities),
    })
  }

  get #facts(): ProbeAnswer {
    if (!this.#answered) throw new BadResponse('the session is not initialized yet')
    return this.#answered
  }
  get era(): Era {
    return this.#facts.era
  }
  get protocolVersion(): string {
    return this.#facts.version
  }
  get serverInfo(): ServerInfo | undefined {
    return this.#facts.serverInfo
  }
  get capabilities(): ServerCapabilities {
    return this.#facts.capabilities
  }
  get instructions(): string | undefined {
    return this.#facts.instructions
  }
  get discovery(): Discovery | undefined {
    return this.#facts.discovery
  }
  get hasHttpSession(): boolean {
    return this.era === 'legacy' && this.#wire.transport.sessionId !== undefined
  }
  get pid(): number | undefined {
    return this.#wire.transport.pid ?? undefined
  }
  get closed(): boolean {
    return this.#wire.closed
  }
  get inFlight(): number {
    return this.#wire.inFlight
  }
  get lastHeard(): number {
    return this.#wire.lastHeard
  }
  get heardCount(): number {
    return this.#wire.heardCount
  }

  async handshake(): Promise<void> {
    const { host, clientInfo, known, timeoutMs, signal } = this.#options
    const { capabilities } = this.#asks
    const envelope = this.#envelope
    const wire = this.#wire
    this.#adopt(await handshake({ wire, host, clientInfo, capabilities, envelope, known, timeoutMs, signal }))
    if (this.era === 'legacy') await this.#wire.notify('notifications/initialized')
  }

  async request(method: string, params?: Json, options: SessionRequest = {}): Promise<Json> {
    const wireOptions = { ...options, timeoutMs: options.timeoutMs ?? CALL_LIMITS.timeoutMs }
    if (this.era === 'legacy') {
      try {
        return await this.#wire.request(method, withoutModernMeta(params), wireOptions)
      } catch (error) {
        throw unwrapHttp(error)
      }
    }
    let asked = params
    for (let round = 0; round <= CALL_LIMITS.inputRounds; round++) {
      const known = round === 0 ? options.first : undefined
      const result = known ?? (await this.#modern(method, asked, wireOptions))
      if (this.isFinal(result)) return result
      const type = result.resultType
      // The caller follows it.
      if (type === 'task' && method === 'tools/call') return result
      if (type !== 'input_required' || !ASKING_METHODS.has(method))
        throw new JsonRpcError(
          RPC.internal,
          `The server answered with the unsupported result type "${String(type)}"`,
        )
      asked = await this.#fulfil(params, result, options.signal)
    }
    throw new JsonRpcError(
      RPC.internal,
      `The server asked for input more than ${CALL_LIMITS.inputRounds} times`,
    )
  }

  exchange(method: string, params: Json | undefined, options: OutgoingRequest, sink: ResponseSink): void {
    const sent = this.era === 'legacy' ? withoutModernMeta(params) : this.#enveloped(params)
    this.#wire.exchange(method, sent, options, sink)
  }

  isFinal({ resultType }: Json): boolean {
    return this.era === 'legacy' || resultType === undefined || resultType === 'complete'
  }

  answerInputs(inputRequests: Json, signal: AbortSignal | undefined): Promise<Json> {
    return this.#answers(inputRequests, undefined, signal)
  }

  async notify(method: string, params?: Json): Promise<void> {
    await this.#wire.notify(method, this.era === 'modern' ? this.#enveloped(params) : params)
  }

  async listen(filter: ListenFilter, options: SessionRequest = {}): Promise<Subscription> {
    if (this.era === 'legacy')
      throw new JsonRpcError(RPC.methodNotFound, 'this protocol version has no subscriptions/listen')
    const id = `listen:${++this.#listens}`
    const stop = new AbortController()
    const over = this.#wire
      .request('subscriptions/listen', this.#enveloped({ notifications: filter }), {
        id,
        timeoutMs: 0,
        signal: stop.signal,
      })
      .finally(() => this.#acks.delete(id))
    const ended = over.then(
      () => 'remote' as const,
      () => (stop.signal.aborted ? ('local' as const) : ('remote' as const)),
    )
    const waitMs = options.timeoutMs ?? CALL_LIMITS.timeoutMs
    let stopTimer: (() => void) | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        this.#acks.set(id, resolve)
        stopTimer = this.#options.host.awaitedTimer(waitMs, () => reject(new RequestTimedOut(waitMs)))
        over.then(() => reject(new ChannelClosed(true)), reject)
      })
    } catch (error) {
      stop.abort()
      throw unwrapHttp(error)
    } finally {
      stopTimer?.()
    }
    return { ended, close: () => stop.abort() }
  }

  async rediscover(options: SessionRequest = {}): Promise<void> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs
    const found = parseDiscovery(await this.#modern('server/discover', undefined, { ...options, timeoutMs }))
    if (!found?.supportedVersions.includes(MODERN_VERSION))
      throw new BadResponse('it no longer speaks the protocol version it spoke before')
    this.#adopt(modernFacts(found))
  }

  close(): Promise<void> {
    return this.#wire.close()
  }

  onNotification(method: string, params: Json): void {
    if (method === 'notifications/subscriptions/acknowledged') {
      const id = isObject(params._meta) ? params._meta[META.subscriptionId] : undefined
      const ack = typeof id === 'string' ? this.#acks.get(id) : undefined
      if (ack) {
        ack()
        return
      }
    }
    this.#options.onNotification(method, params)
  }

  #adopt(facts: ProbeAnswer): void {
    this.#answered = facts
    this.#wire.serves = facts.era === 'legacy'
    this.#wire.cancelByStream = facts.era === 'modern'
    this.#wire.transport.setProtocolVersion?.(facts.version)
  }

  #enveloped(params: Json | undefined): Json {
    const meta = params && isObject(params._meta) ? params._meta : undefined
    return { ...params, _meta: meta ? { ...this.#envelope, ...meta } : this.#envelope }
  }

  async #modern(
    method: string,
    params: Json | undefined,
    options: Parameters<JsonRpcPeer['request']>[2],
  ): Promise<Json> {
    try {
      return await this.#wire.request(method, this.#enveloped(params), options)
    } catch (error) {
      throw unwrapHttp(error)
    }
  }

  /** Handles the requests of an input-required result, and returns the parameters for the retry. */
  async #fulfil(params: Json | undefined, result: Json, signal: AbortSignal | undefined): Promise<Json> {
    const wanted = isObject(result.inputRequests) ? result.inputRequests : {}
    const state = result.requestState
    const inputResponses = await this.#answers(wanted, state, signal)
    // Input that a caller gave for an earlier round is not part of this one.
    const { inputResponses: _responses, requestState: _state, ...asked } = params ?? {}
    return {
      ...asked,
      ...(Object.keys(inputResponses).length > 0 && { inputResponses }),
      ...(state !== undefined && { requestState: state }),
    }
  }

  async #answers(inputRequests: Json, state: unknown, signal: AbortSignal | undefined): Promise<Json> {
    const wanted = Object.entries(inputRequests)
    if (wanted.length > CALL_LIMITS.inputsPerRound)
      throw new JsonRpcError(RPC.internal, `The server asked for ${wanted.length} inputs at once`)
    const answer = async ([key, entry]: [string, unknown]): Promise<[string, Json]> => {
      if (!isObject(entry) || typeof entry.method !== 'string')
        throw new JsonRpcError(RPC.internal, `The server asked for an input "${key}" that is not a request`)
      const asked = isObject(entry.params) ? entry.params : {}
      const until = signal ?? new AbortController().signal
      return [key, await this.#asks.answer(entry.method, asked, until, { key, requestState: state })]
    }
    if (this.#asks.together) return Object.fromEntries(await Promise.all(wanted.map(answer)))
    // One at a time: each may be a prompt to the same user.
    const responses: [string, Json][] = []
    for (const one of wanted) responses.push(await answer(one))
    return Object.fromEntries(responses)
  }
}

/** Tasks are followed whoever the caller is. A legacy server is told nothing: its tasks are ours to ask for. */
function withTasks(capabilities: Json): Json {
  const extensions = isObject(capabilities.extensions) ? capabilities.extensions : {}
  return { ...capabilities, extensions: { ...extensions, [TASKS_EXTENSION]: {} } }
}

/** What a 2026-07-28 message says about its client; a legacy server learned it in `initialize`. */
const MODERN_META: readonly string[] = [
  META.protocolVersion,
  META.clientInfo,
  META.clientCapabilities,
  META.logLevel,
]

function withoutModernMeta(params: Json | undefined): Json | undefined {
  const meta = params?._meta
  if (!isObject(meta) || !MODERN_META.some((key) => key in meta)) return params
  const kept = Object.entries(meta).filter(([key]) => !MODERN_META.includes(key))
  const { _meta, ...rest } = params ?? {}
  return kept.length > 0 ? { ...rest, _meta: Object.fromEntries(kept) } : rest
}
