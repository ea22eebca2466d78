// modern.ts: requests of 2026-07-28, each complete in itself. A question that comes up while a call runs becomes the
// result "input required"; the call is suspended until the client comes back with the answer.
import { randomUUID } from 'node:crypto'
import { JsonRpcError } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { UNRESTRICTED } from '../access/access.ts'
import { ConcurrencyLimit, type ConcurrencySlot } from '../access/fair-slots.ts'
import { type Client, GATEWAY_ITSELF } from '../client-request.ts'
import { wireError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  ASKING_METHODS,
  CACHEABLE,
  clientNameOf,
  errorReply,
  isObject,
  type Json,
  LOG_LEVELS,
  META,
  MODERN_VERSION,
  metaOf,
  type Reply,
  type Request,
  RPC,
  readCapabilities,
  SERVER_INFO,
} from '../json-rpc.ts'
import { handle } from '../methods.ts'
import { capabilitiesFor } from '../views/capabilities.ts'
import { ModernCall, type ModernChannel } from './modern-call.ts'
import { CallStates, fingerprint, noSuchState, type Resumption, resumptionOf } from './request-state.ts'
import { Subscriptions } from './subscriptions.ts'

interface Suspended {
  readonly call: ModernCall
  readonly timer: NodeJS.Timeout
  readonly slot: ConcurrencySlot
}

export class ModernEndpoint {
  readonly #gateway: Gateway
  readonly #suspended = new Map<string, Suspended>()
  readonly #states: CallStates
  readonly #quota: ConcurrencyLimit
  readonly #subscriptions: Subscriptions

  constructor(gateway: Gateway) {
    const { limits } = gateway
    this.#gateway = gateway
    this.#states = new CallStates(gateway.keys, gateway.replicas?.id)
    this.#quota = new ConcurrencyLimit(limits.questions, limits.questionsPerOwner)
    this.#subscriptions = new Subscriptions(gateway)
  }

  /** The response; undefined when the client is gone. */
  async request(message: Request, channel: ModernChannel): Promise<Reply | undefined> {
    const { id, method, params } = message
    try {
      const client = readClient(params, channel)
      const result =
        method === 'subscriptions/listen'
          ? await this.#subscriptions.listen(id, params, client, channel)
          : await this.#result(message, client, channel)
      if (channel.connection.gone) return undefined
      return { jsonrpc: '2.0', id, result: stamped(method, result) }
    } catch (error) {
      if (channel.connection.gone) return undefined
      const { code, message: text, data } = wireError(error, 'modern', channel.narrow)
      return errorReply(id, code, text, data)
    }
  }

  close(): void {
    this.#subscriptions.close()
    for (const id of [...this.#suspended.keys()]) this.#release(id)?.call.stop()
  }

  /** Ends the suspended calls and the subscriptions of an owner that lost access. */
  dropOwner(owner: string): void {
    this.endSubscriptions(owner)
    for (const [id, { call }] of [...this.#suspended])
      if (call.owner === owner) this.#release(id)?.call.stop()
  }

  /** Ends the subscriptions of an owner; its client may open new ones. */
  endSubscriptions(owner: string): void {
    this.#subscriptions.endOf(owner)
  }

  async #result(message: Request, client: Client, channel: ModernChannel): Promise<Json> {
    const { method, params } = message
    if (method === 'server/discover') return await this.#discover(client)
    const call =
      ASKING_METHODS.has(method) && params.requestState !== undefined
        ? await this.#resumed(message, client, channel)
        : this.#started(message, client, channel)
    return (await call.wait(channel)) ?? this.#suspend(call)
  }

  #started(message: Request, client: Client, channel: ModernChannel, resumption?: Resumption): ModernCall {
    const call = new ModernCall(message, client, channel, resumption, this.#gateway.tasks)
    call.run(handle(this.#gateway, message.method, serverParams(message, resumption), call))
    return call
  }

  /** The suspended call that a client answers, or the same call made again where another process suspended it. */
  async #resumed(message: Request, client: Client, channel: ModernChannel): Promise<ModernCall> {
    const { method, params } = message
    const tool = method === 'tools/call' ? this.#gateway.viewOf(client).tool(String(params.name)) : undefined
    if (tool) channel.checkHeaders?.(tool, params.arguments)
    const request = { owner: channel.owner, fingerprint: fingerprint(method, params) }
    const state = this.#states.open(params.requestState, request)
    // Removed before anything is awaited: of two answers only one counts.
    const call = this.#release(state.id)?.call
    if (!call && state.ours) throw noSuchState()
    // What changes nothing may be done again, with the answers at hand.
    if (!call && !state.resumption && tool?.tool.isReadOnly()) return this.#started(message, client, channel)
    if (!call && (!state.resumption || (await this.#gateway.spent.has(state.id)))) throw lostCall()
    // Recorded before it is passed on: from here on no other process passes the same answer on again.
    if (state.resumption && !(await this.#gateway.spent.add(state.id, state.until))) {
      call?.stop()
      throw notRecorded()
    }
    call?.answer(params.inputResponses)
    // What the gateway itself asked came before the server saw the call: the call starts anew, with the answer at hand.
    const resumption = state.resumption?.server === GATEWAY_ITSELF ? undefined : state.resumption
    return call ?? this.#started(message, client, channel, resumption)
  }

  async #discover(client: Client): Promise<Json> {
    await this.#gateway.listed()
    return {
      supportedVersions: [MODERN_VERSION],
      capabilities: capabilitiesFor('modern'),
      instructions: this.#gateway.instructions(client),
      ...this.#gateway.cacheHints('tools', client),
      cacheScope: 'private',
    }
  }

  #suspend(call: ModernCall): Json {
    // While used-up answers cannot be recorded, none may be passed on by another process.
    const resumption = this.#gateway.spent.isDurable ? resumptionOf(call.questions) : undefined
    const { id, token } = this.#states.seal(call, resumption)
    const giveUp = () => {
      this.#release(id)
      call.stop()
    }
    const slot = this.#quota.tryAcquire(call.owner, giveUp)
    if (!slot) {
      call.stop()
      throw new JsonRpcError(
        RPC.internal,
        'Too many calls are waiting for input: answer what was asked, then try again.',
      )
    }
    const timer = setTimeout(giveUp, GATEWAY_LIMITS.clientQuestionMs)
    timer.unref()
    this.#suspended.set(id, { call, timer, slot })
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(
        [...call.questions].map(([key, { method, params }]) => [key, { method, params }]),
      ),
      requestState: token,
    }
  }

  #release(id: string): Suspended | undefined {
    const suspended = this.#suspended.get(id)
    if (!suspended) return undefined
    clearTimeout(suspended.timer)
    this.#suspended.delete(id)
    suspended.slot.release()
    return suspended
  }
}

/** The parameters without what is between the client and the gateway. */
function serverParams({ method, params }: Request, resumption: Resumption | undefined): Json {
  if (!ASKING_METHODS.has(method)) return params
  if (!resumption && params.inputResponses === undefined && params.requestState === undefined) return params
  const { inputResponses, requestState: _, ...bare } = params
  return resumption
    ? { ...bare, ...answersFor(resumption, isObject(inputResponses) ? inputResponses : {}) }
    : bare
}

/** What goes to the server itself: the answers to its questions, and its own state. */
function answersFor({ keys, requestState }: Resumption, given: Json): Json {
  const answers = keys.flatMap((key) => (isObject(given[key]) ? [[key, given[key]]] : []))
  return {
    inputResponses: Object.fromEntries(answers),
    ...(requestState !== undefined && { requestState }),
  }
}

/** A legacy server, or a question of the gateway itself, waited in the process that is gone. */
function lostCall(): JsonRpcError {
  return new JsonRpcError(
    RPC.internal,
    'OUTCOME_UNKNOWN: this call waited for an answer in a gateway process that has ended; what it had done by then is unknown. Check, then make the call again.',
    { code: 'OUTCOME_UNKNOWN' },
  )
}

/** The answer was not passed on, because the next process could pass it on a second time. */
function notRecorded(): JsonRpcError {
  return new JsonRpcError(
    RPC.internal,
    'The answer was not passed on: it was used before, or the gateway cannot record at the moment that it is used. Make the call again.',
  )
}

function readClient(params: Json, channel: ModernChannel): Client {
  const meta = metaOf(params)
  const requested = meta[META.protocolVersion]
  if (typeof requested !== 'string')
    throw new JsonRpcError(RPC.invalidParams, `"${META.protocolVersion}" is not a text.`)
  if (requested !== MODERN_VERSION)
    throw new JsonRpcError(RPC.unsupportedVersion, `The protocol version "${requested}" is not served.`, {
      supported: [MODERN_VERSION],
      requested,
    })
  if (!isObject(meta[META.clientCapabilities]))
    throw new JsonRpcError(RPC.invalidParams, `"${META.clientCapabilities}" is missing in _meta.`)
  const level = meta[META.logLevel]
  return {
    id: identityOf(channel, meta),
    era: 'modern',
    owner: channel.owner,
    name: clientNameOf(meta[META.clientInfo]),
    exposure: channel.exposure,
    user: channel.user,
    isAnonymous: channel.owner === UNRESTRICTED,
    capabilities: readCapabilities(meta[META.clientCapabilities]),
    logLevel: typeof level === 'string' && LOG_LEVELS.includes(level) ? level : undefined,
    notify: (method, what) => channel.notify(method, what),
  }
}

/**
 * Requests of this era stand alone. The same program with the same token counts as one client, so its calls may carry
 * each other's questions; without tokens every request is a client of its own.
 */
function identityOf({ owner }: ModernChannel, meta: Json): string {
  if (owner === UNRESTRICTED) return randomUUID()
  const info = meta[META.clientInfo]
  const { name, version } = isObject(info) ? info : {}
  return JSON.stringify([owner, name, version])
}

/** The members that every result of this era carries. */
function stamped(method: string, result: Json): Json {
  const type = result.resultType
  const asks = type === 'input_required'
  const cached = CACHEABLE.has(method) && !asks
  return {
    ...(cached && { ttlMs: 0, cacheScope: 'private' }),
    ...result,
    resultType: asks || (type === 'task' && method === 'tools/call') ? type : 'complete',
    _meta: { ...metaOf(result), [META.serverInfo]: SERVER_INFO },
  }
}
