// session.ts: one conversation with one server, in whichever era it speaks: greeting, requests, what the server may ask
// of us, subscriptions. It does not reconnect, cache, order or retry; connection.ts does.
import type { Progress } from '../events.ts'
import type { Host } from '../host.ts'
import { CALL_LIMITS, CONNECT_LIMITS } from '../limits.ts'
import { httpStatus } from '../transports/faults.ts'
import { BadAnswer, ChannelClosed, neverLeft, RequestTimedOut, RpcFault, unwrapHttp } from './faults.ts'
import {
  ASKING_METHODS,
  type Discovery,
  type Era,
  isObject,
  type Json,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
  parseCapabilities,
  parseDiscovery,
  parseServerInfo,
  RPC,
  type ServerCapabilities,
  type ServerInfo,
  type Transport,
} from './protocol.ts'
import { Wire } from './wire.ts'

export interface Asking {
  readonly server: string
  /** Aborted when the server withdraws the question or the connection is lost. */
  readonly signal: AbortSignal
}
export type AskHandler = (params: Json, asking: Asking) => Promise<Json> | Json

/** What a server may ask of us. A capability is advertised exactly when its handler is here. */
export interface RequestHandlers {
  readonly elicitForm?: AskHandler
  readonly elicitUrl?: AskHandler
  readonly sampling?: AskHandler
  /** The sampling handler understands `tools` and `toolChoice`. */
  readonly samplingTools?: boolean
  readonly roots?: AskHandler
  /** Extensions that are served, by their identifier. */
  readonly extensions?: Readonly<Record<string, object>>
}

export interface SessionRequest {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface ListenFilter {
  readonly toolsListChanged?: boolean
  readonly promptsListChanged?: boolean
  readonly resourcesListChanged?: boolean
  readonly resourceSubscriptions?: readonly string[]
}

export interface Subscription {
  /** Settles when the subscription is over, whoever ended it. */
  readonly ended: Promise<'local' | 'remote'>
  close(): void
}

export interface Session {
  readonly era: Era
  readonly protocolVersion: string
  readonly serverInfo: ServerInfo | undefined
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
  /** What a modern server said about itself; worth remembering. */
  readonly discovery: Discovery | undefined
  readonly hasHttpSession: boolean
  readonly closed: boolean
  readonly inFlight: number
  readonly lastHeard: number
  request(method: string, params?: Json, options?: SessionRequest): Promise<Json>
  notify(method: string, params?: Json): Promise<void>
  /** Opens a subscription (2026-07-28 only; the older era sends its notifications unasked). */
  listen(filter: ListenFilter, options?: SessionRequest): Promise<Subscription>
  /** Asks a modern server again what it is, and takes the answer over. */
  rediscover(options?: SessionRequest): Promise<void>
  close(): Promise<void>
}

export interface SessionOptions {
  readonly host: Host
  readonly server: string
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly handlers: RequestHandlers
  /** What is known of the server's era; undefined means: find out. */
  readonly known: 'legacy' | Discovery | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onNotification: (method: string, params: Json) => void
  readonly onClosed: (why: unknown) => void
  readonly onTrouble: (error: unknown) => void
  readonly onOdd: (text: string) => void
}

/** The server ended the connection instead of answering the probe: it is of the older era, and needs a fresh start. */
export class ClosedOnProbe extends Error {
  constructor() {
    super('The server closed the connection on the version probe.')
    this.name = 'ClosedOnProbe'
  }
}

export function capabilitiesOf(handlers: RequestHandlers): Json {
  const { elicitForm, elicitUrl, sampling, samplingTools, roots, extensions } = handlers
  return {
    ...((elicitForm || elicitUrl) && {
      elicitation: { ...(elicitForm && { form: {} }), ...(elicitUrl && { url: {} }) },
    }),
    ...(sampling && { sampling: samplingTools ? { tools: {} } : {} }),
    ...(roots && { roots: { listChanged: true } }),
    ...(extensions && Object.keys(extensions).length > 0 && { extensions }),
  }
}

/** Starts the transport and greets the server. On failure the transport is closed. */
export async function openSession(transport: Transport, options: SessionOptions): Promise<Session> {
  const asks = new Asks(options)
  const wire = new Wire(transport, options.host, {
    request: (method, params, signal) => asks.answer(method, params, signal),
    notification: (method, params) => session.onNotification(method, params),
    closed: () => options.onClosed(wire.lastTrouble),
    trouble: options.onTrouble,
    odd: options.onOdd,
  })
  const session = new WireSession(wire, asks, options)
  const onAbort = () => void wire.close().catch(options.onTrouble)
  options.signal.addEventListener('abort', onAbort, { once: true })
  try {
    await wire.start()
    await session.greet()
    return session
  } catch (error) {
    await wire.close().catch(options.onTrouble)
    throw unwrapHttp(error)
  } finally {
    options.signal.removeEventListener('abort', onAbort)
  }
}

interface Answered {
  readonly era: Era
  readonly version: string
  readonly capabilities: ServerCapabilities
  readonly serverInfo: ServerInfo | undefined
  readonly instructions: string | undefined
  readonly discovery?: Discovery
}

class WireSession implements Session {
  readonly #wire: Wire
  readonly #asks: Asks
  readonly #options: SessionOptions
  readonly #envelope: Json
  readonly #acks = new Map<string, () => void>()
  #answered: Answered | undefined
  #listens = 0

  constructor(wire: Wire, asks: Asks, options: SessionOptions) {
    this.#wire = wire
    this.#asks = asks
    this.#options = options
    this.#envelope = Object.freeze({
      [META.protocolVersion]: MODERN_VERSION,
      [META.clientInfo]: options.clientInfo,
      [META.clientCapabilities]: asks.capabilities,
    })
  }

  get #facts(): Answered {
    if (!this.#answered) throw new BadAnswer('the session has not been greeted')
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
  get closed(): boolean {
    return this.#wire.closed
  }
  get inFlight(): number {
    return this.#wire.inFlight
  }
  get lastHeard(): number {
    return this.#wire.lastHeard
  }

  async greet(): Promise<void> {
    const { known } = this.#options
    if (known === 'legacy') this.#adopt(await this.#initialize())
    else if (known) this.#adopt(modernFacts(known))
    else this.#adopt(await this.#findEra())
    if (this.era === 'legacy') await this.#wire.notify('notifications/initialized')
  }

  async request(method: string, params?: Json, options: SessionRequest = {}): Promise<Json> {
    const wireOptions = { ...options, timeoutMs: options.timeoutMs ?? CALL_LIMITS.timeoutMs }
    if (this.era === 'legacy') {
      try {
        return await this.#wire.request(method, params, wireOptions)
      } catch (error) {
        throw unwrapHttp(error)
      }
    }
    let asked = params
    for (let round = 0; round <= CALL_LIMITS.inputRounds; round++) {
      const result = await this.#modern(method, asked, wireOptions)
      const type = result.resultType
      if (type === undefined || type === 'complete') return result
      if (type !== 'input_required' || !ASKING_METHODS.has(method))
        throw new RpcFault(
          RPC.internal,
          `The server answered with the unsupported result type "${String(type)}"`,
        )
      asked = await this.#fulfil(params, result, options.signal)
    }
    throw new RpcFault(RPC.internal, `The server asked for input more than ${CALL_LIMITS.inputRounds} times`)
  }

  async notify(method: string, params?: Json): Promise<void> {
    await this.#wire.notify(method, this.era === 'modern' ? this.#enveloped(params) : params)
  }

  async listen(filter: ListenFilter, options: SessionRequest = {}): Promise<Subscription> {
    if (this.era === 'legacy')
      throw new RpcFault(RPC.methodNotFound, 'subscriptions/listen is not in this era')
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
        stopTimer = this.#options.host.timer(waitMs, () => reject(new RequestTimedOut(waitMs)))
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
      throw new BadAnswer('it no longer speaks the protocol version it spoke before')
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

  #adopt(facts: Answered): void {
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
    options: Parameters<Wire['request']>[2],
  ): Promise<Json> {
    try {
      return await this.#wire.request(method, this.#enveloped(params), options)
    } catch (error) {
      throw unwrapHttp(error)
    }
  }

  /** Answers what an input-required result asks for, and returns the parameters to ask again with. */
  async #fulfil(params: Json | undefined, result: Json, signal: AbortSignal | undefined): Promise<Json> {
    const wanted = isObject(result.inputRequests) ? Object.entries(result.inputRequests) : []
    if (wanted.length > CALL_LIMITS.inputsPerRound)
      throw new RpcFault(RPC.internal, `The server asked for ${wanted.length} inputs at once`)
    const responses: [string, Json][] = []
    // One at a time: each may be a question to the same person.
    for (const [key, entry] of wanted) {
      if (!isObject(entry) || typeof entry.method !== 'string')
        throw new RpcFault(RPC.internal, `The server asked for an input "${key}" that is no request`)
      const asked = isObject(entry.params) ? entry.params : {}
      responses.push([
        key,
        await this.#asks.answer(entry.method, asked, signal ?? new AbortController().signal),
      ])
    }
    const state = result.requestState
    return {
      ...params,
      ...(responses.length > 0 && { inputResponses: Object.fromEntries(responses) }),
      ...(state !== undefined && { requestState: state }),
    }
  }

  async #initialize(): Promise<Answered> {
    const { clientInfo, timeoutMs, signal } = this.#options
    const result = await this.#wire.request(
      'initialize',
      { protocolVersion: LEGACY_VERSIONS[0], capabilities: this.#asks.capabilities, clientInfo },
      { timeoutMs, signal },
    )
    const version = result.protocolVersion
    if (typeof version !== 'string') throw new BadAnswer('its initialize result names no protocol version')
    if (!LEGACY_VERSIONS.some((known) => known === version))
      throw new BadAnswer(`it speaks protocol version ${JSON.stringify(version).slice(0, 40)}`)
    const instructions = result.instructions
    return {
      era: 'legacy',
      version,
      capabilities: parseCapabilities(result.capabilities),
      serverInfo: parseServerInfo(result.serverInfo),
      instructions: typeof instructions === 'string' ? instructions : undefined,
    }
  }

  /**
   * Asks `server/discover` in place. No answer within the probe time means an older server, or a slow start: then
   * `initialize` follows on the same channel and whichever is answered first decides, so a slow modern server is
   * still met as one and an older one has lost nothing.
   */
  async #findEra(): Promise<Answered> {
    const { host, timeoutMs, signal } = this.#options
    const giveUp = new AbortController()
    const onAbort = () => giveUp.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    let verdict: Probed | undefined
    const probe: Promise<Probed> = this.#wire
      .request('server/discover', this.#enveloped(undefined), {
        timeoutMs,
        signal: giveUp.signal,
        quiet: true,
      })
      .then(probeAnswered, probeFailed)
      .then((found) => {
        verdict = found
        return found
      })
    let stopTimer: (() => void) | undefined
    try {
      const silence = new Promise<'silent'>((resolve) => {
        stopTimer = host.timer(CONNECT_LIMITS.probeMs, () => resolve('silent'))
      })
      const first = await Promise.race([probe, silence])
      if (first !== 'silent') return await this.#conclude(first)
      const late = probe.then((found) =>
        found.kind === 'modern' ? modernFacts(found.discovery) : new Promise<never>(() => undefined),
      )
      const answered = await Promise.race([late, this.#initialize()])
      // Both answers may have come together; the one to the first question counts.
      await Promise.resolve()
      return verdict?.kind === 'modern' ? modernFacts(verdict.discovery) : answered
    } catch (error) {
      // It may have taken its time to fall over the probe.
      throw error instanceof ChannelClosed ? new ClosedOnProbe() : error
    } finally {
      stopTimer?.()
      signal.removeEventListener('abort', onAbort)
      giveUp.abort()
    }
  }

  async #conclude(verdict: Probed): Promise<Answered> {
    switch (verdict.kind) {
      case 'modern':
        return modernFacts(verdict.discovery)
      case 'legacy':
        return await this.#initialize()
      case 'closed':
        throw new ClosedOnProbe()
      case 'fatal':
        throw verdict.error
    }
  }
}

type Probed =
  | { readonly kind: 'modern'; readonly discovery: Discovery }
  | { readonly kind: 'legacy' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fatal'; readonly error: unknown }

function probeAnswered(result: Json): Probed {
  const discovery = parseDiscovery(result)
  return discovery?.supportedVersions.includes(MODERN_VERSION)
    ? { kind: 'modern', discovery }
    : { kind: 'legacy' }
}

/** Only what would fail the older greeting too is fatal; every other failure is how an older server says no. */
function probeFailed(error: unknown): Probed {
  if (error instanceof ChannelClosed) return { kind: 'closed' }
  const status = httpStatus(error)
  if (status === 401 || status === 403 || neverLeft(error)) return { kind: 'fatal', error }
  return { kind: 'legacy' }
}

function modernFacts(discovery: Discovery): Answered {
  const { capabilities, serverInfo, instructions } = discovery
  return { era: 'modern', version: MODERN_VERSION, capabilities, serverInfo, instructions, discovery }
}

/** The questions a server may ask, whichever way they arrive. */
class Asks {
  readonly capabilities: Json
  readonly #server: string
  readonly #handlers: RequestHandlers

  constructor(options: Pick<SessionOptions, 'server' | 'handlers'>) {
    this.#server = options.server
    this.#handlers = options.handlers
    this.capabilities = Object.freeze(capabilitiesOf(options.handlers))
  }

  async answer(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    if (method === 'ping') return {}
    const handler = this.#handlerFor(method, params)
    if (!handler) throw new RpcFault(RPC.methodNotFound, `Method not found: ${method}`)
    return await handler(params, { server: this.#server, signal })
  }

  #handlerFor(method: string, params: Json): AskHandler | undefined {
    const { elicitForm, elicitUrl, sampling, roots } = this.#handlers
    switch (method) {
      case 'elicitation/create': {
        const handler = params.mode === 'url' ? elicitUrl : elicitForm
        if (!handler && (elicitForm || elicitUrl))
          throw new RpcFault(RPC.invalidParams, 'This mode of elicitation is not supported')
        return handler
      }
      case 'sampling/createMessage':
        return sampling
      case 'roots/list':
        return roots
      default:
        return undefined
    }
  }
}
