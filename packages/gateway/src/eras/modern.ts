// modern.ts: requests of 2026-07-28, each complete in itself. A question that comes up while a call runs becomes the
// result "input required"; the call waits, parked, until the client comes back with the answer.
import { randomUUID } from 'node:crypto'
import { InvalidInput, JsonRpcError, NotFound } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { UNRESTRICTED } from '../access/access.ts'
import type { Exposure } from '../access/exposure.ts'
import { type Place, Quota } from '../access/quota.ts'
import { CallEnded, type Client, type ClientRequest, type Origin } from '../client-request.ts'
import { isAway, type WireError, wireError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  ASKING_METHODS,
  CACHEABLE,
  errorReply,
  type Id,
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
import { type ResourceUri, STATUS_URI } from '../views/resource-uris.ts'
import { CallStates, fingerprint, noSuchState, type Resumption, resumptionOf } from './request-state.ts'

/** The way back to the client for one request. */
export interface Channel {
  readonly signal: AbortSignal
  /** The owner of the request, as far as the transport can tell; a parked call is only given back to its owner. */
  readonly owner: string
  readonly exposure: Exposure
  /** It sees only a part of what is served. */
  readonly narrow?: boolean
  notify(method: string, params: Json): void
  readonly vet?: (params: Json) => void
}

interface OpenQuestion {
  readonly method: string
  readonly params: Json
  readonly origin: Origin | undefined
  readonly settle: (answer: Json) => void
  readonly fail: (error: Error) => void
}

/** A call that is running, whether a client waits for it at the moment or not. */
interface Call {
  readonly fingerprint: string
  readonly owner: string
  readonly questions: Map<string, OpenQuestion>
  readonly result: Promise<{ readonly result: Json } | { readonly error: unknown }>
  channel: Channel | undefined
  asked: (() => void) | undefined
  readonly stop: AbortController
}

interface Parked {
  readonly call: Call
  readonly timer: NodeJS.Timeout
  readonly place: Place
}

export class ModernEndpoint {
  readonly #gateway: Gateway
  readonly #parked = new Map<string, Parked>()
  readonly #states: CallStates
  readonly #closing = new AbortController()
  readonly #places: Quota
  readonly #listens: Quota
  /** By owner, what ends its subscriptions. */
  readonly #listening = new Map<string, Set<() => void>>()

  constructor(gateway: Gateway) {
    const { limits } = gateway
    this.#gateway = gateway
    this.#states = new CallStates(gateway.keys)
    this.#places = new Quota(limits.questions, limits.questionsPerOwner)
    this.#listens = new Quota(limits.listens, limits.listensPerOwner)
  }

  /** The response; undefined when the client is gone. */
  async request(message: Request, channel: Channel): Promise<Reply | undefined> {
    const { id, method, params } = message
    try {
      const client = readClient(params, channel)
      this.#gateway.restrict(client, channel.exposure)
      const result =
        method === 'subscriptions/listen'
          ? await this.#listen(id, params, client, channel)
          : await this.#answer(message, client, channel)
      if (channel.signal.aborted) return undefined
      return { jsonrpc: '2.0', id, result: stamped(method, result) }
    } catch (error) {
      if (channel.signal.aborted) return undefined
      const { code, message: words, data }: WireError = wireError(error, 'modern', channel.narrow)
      return errorReply(id, code, words, data)
    }
  }

  close(): void {
    this.#closing.abort()
    for (const [token, { call }] of [...this.#parked]) {
      this.#unpark(token)
      call.stop.abort()
    }
  }

  /** Ends the parked calls of an owner that lost access. */
  dropOwner(owner: string): void {
    this.endListens(owner)
    for (const [token, { call }] of [...this.#parked]) {
      if (call.owner !== owner) continue
      this.#unpark(token)
      call.stop.abort()
    }
  }

  /** Ends the subscriptions of an owner; its client may open new ones. */
  endListens(owner: string): void {
    for (const end of [...(this.#listening.get(owner) ?? [])]) end()
  }

  async #answer({ id, method, params }: Request, client: Client, channel: Channel): Promise<Json> {
    if (method === 'server/discover') return await this.#discover(client)
    if (!ASKING_METHODS.has(method)) {
      const ask = () => Promise.reject(new JsonRpcError(RPC.internal, 'Nothing can be asked here.'))
      return await this.#gateway.answer(method, params, { ...channel, client, id, ask })
    }
    if (params.requestState === undefined)
      return await this.#wait(this.#start({ id, method, params }, client, channel), channel)
    if (method === 'tools/call') channel.vet?.(params)
    const request = { owner: channel.owner, fingerprint: fingerprint(method, params) }
    const state = this.#states.open(params.requestState, request)
    // Removed before anything is awaited: of two answers only one counts.
    const call = this.#unpark(state.id)?.call
    if (!call && state.ours) throw noSuchState()
    if (!call && (!state.resumption || (await this.#gateway.spent.has(state.id)))) throw lostCall()
    // Recorded before it is passed on: from here on no other process passes the same answer on again.
    if (state.resumption && !(await this.#gateway.spent.add(state.id, state.until))) {
      call?.stop.abort()
      throw notRecorded()
    }
    if (call) settle(call, params.inputResponses)
    const resumed = call ?? this.#start({ id, method, params }, client, channel, state.resumption)
    return await this.#wait(resumed, channel)
  }

  async #discover(client: Client): Promise<Json> {
    await this.#gateway.wake()
    return {
      supportedVersions: [MODERN_VERSION],
      capabilities: this.#gateway.capabilities(),
      instructions: this.#gateway.instructions(client),
    }
  }

  #start(
    { id, method, params }: Pick<Request, 'id' | 'method' | 'params'>,
    client: Client,
    channel: Channel,
    resumption?: Resumption,
  ): Call {
    const stop = new AbortController()
    const questions = new Map<string, OpenQuestion>()
    const { inputResponses, requestState: _, ...bare } = params
    const brought: Json = isObject(inputResponses) ? { ...inputResponses } : {}
    const given = resumption ? {} : brought
    const asked = resumption ? { ...bare, ...answersFor(resumption, brought) } : bare
    let count = 0
    const exchange: ClientRequest = {
      client,
      id,
      signal: stop.signal,
      ...(channel.vet && { vet: channel.vet }),
      ...(resumption && { resumes: resumption.server }),
      away: () => call.channel === undefined,
      notify: (name, what) => call.channel?.notify(name, what),
      ask: (name, what, signal, origin) =>
        new Promise((settle, fail) => {
          const key = origin !== undefined && !questions.has(origin.key) ? origin.key : `input-${++count}`
          // A client that knows what will be asked may send the answer with the call.
          const answer = Object.hasOwn(given, key) ? given[key] : undefined
          delete given[key]
          if (isObject(answer)) return settle(answer)
          const withdraw = () => {
            questions.delete(key)
            fail(new JsonRpcError(RPC.internal, 'The question was withdrawn.'))
          }
          const until = AbortSignal.any([signal, stop.signal])
          if (until.aborted) return withdraw()
          until.addEventListener('abort', withdraw, { once: true })
          questions.set(key, { method: name, params: what, origin, settle, fail })
          call.asked?.()
        }),
    }
    const call: Call = {
      fingerprint: fingerprint(method, params),
      owner: channel.owner,
      questions,
      channel,
      asked: undefined,
      stop,
      result: Promise.resolve()
        .then(() => this.#gateway.answer(method, asked, exchange))
        .then(
          (result) => ({ result }),
          (error: unknown) => ({ error }),
        ),
    }
    return call
  }

  /** Waits for the result or for a question, whichever comes first. */
  async #wait(call: Call, channel: Channel): Promise<Json> {
    call.channel = channel
    const onGone = () => call.stop.abort()
    if (channel.signal.aborted) onGone()
    channel.signal.addEventListener('abort', onGone, { once: true })
    try {
      const asked = new Promise<undefined>((resolve) => {
        // Questions of one result come together; questions of the same moment are sent together.
        call.asked = () => setImmediate(() => resolve(undefined))
        if (call.questions.size > 0) call.asked()
      })
      const settled = await Promise.race([call.result, asked])
      if (settled) letGo(call.questions)
      if (settled && 'error' in settled) throw settled.error
      return settled ? settled.result : this.#park(call)
    } finally {
      channel.signal.removeEventListener('abort', onGone)
      call.asked = undefined
      call.channel = undefined
    }
  }

  #park(call: Call): Json {
    // While used-up answers cannot be recorded, none may be passed on by another process.
    const resumption = this.#gateway.spent.isDurable ? resumptionOf(call.questions) : undefined
    const { id, token } = this.#states.seal(call, resumption)
    const giveUp = () => {
      this.#unpark(id)
      call.stop.abort()
    }
    const place = this.#places.take(call.owner, giveUp)
    if (!place) {
      call.stop.abort()
      throw new JsonRpcError(
        RPC.internal,
        'Too many calls are waiting for input: answer what was asked, then try again.',
      )
    }
    const timer = setTimeout(giveUp, GATEWAY_LIMITS.parkedMs)
    timer.unref()
    this.#parked.set(id, { call, timer, place })
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(
        [...call.questions].map(([key, { method, params }]) => [key, { method, params }]),
      ),
      requestState: token,
    }
  }

  #unpark(id: string): Parked | undefined {
    const parked = this.#parked.get(id)
    if (!parked) return undefined
    clearTimeout(parked.timer)
    this.#parked.delete(id)
    parked.place.giveBack()
    return parked
  }

  async #listen(id: Id, params: Json, client: Client, channel: Channel): Promise<Json> {
    const { notifications } = params
    if (!isObject(notifications)) throw new InvalidInput('"notifications" says what to listen to.')
    const wanted = notifications.resourceSubscriptions
    const list = Array.isArray(wanted) ? wanted.filter((uri) => typeof uri === 'string') : []
    if (list.length > GATEWAY_LIMITS.subscriptionsPerClient)
      throw new InvalidInput('Too many resources are followed.')
    const { feed } = this.#gateway
    const uris = new Map<string, ResourceUri>()
    const stops: (() => unknown)[] = []
    const ended = new AbortController()
    const end = () => ended.abort()
    const place = this.#listens.take(channel.owner, end)
    if (!place)
      throw new JsonRpcError(RPC.internal, 'Too many subscriptions are open: close one, then try again.')
    const own = this.#listening.get(channel.owner) ?? new Set()
    this.#listening.set(channel.owner, own.add(end))
    try {
      const follow = async (uri: string) => {
        const followed = await this.#follow(uri, client, channel.signal)
        if (!followed) return
        uris.set(uri, followed.address)
        stops.push(followed.stop)
      }
      const tried = await Promise.allSettled([...new Set(list)].map(follow))
      for (const one of tried) if (one.status === 'rejected') throw one.reason
      const honoured = list.filter((uri) => uris.has(uri))
      const interest = {
        tools: notifications.toolsListChanged === true,
        resources: notifications.resourcesListChanged === true,
        prompts: notifications.promptsListChanged === true,
        uris,
      }
      const notify = (method: string, what: Json) =>
        channel.notify(method, { ...what, _meta: { ...metaOf(what), [META.subscriptionId]: id } })
      notify('notifications/subscriptions/acknowledged', {
        notifications: {
          ...(interest.tools && { toolsListChanged: true }),
          ...(interest.resources && { resourcesListChanged: true }),
          ...(interest.prompts && { promptsListChanged: true }),
          ...(honoured.length > 0 && { resourceSubscriptions: honoured }),
        },
      })
      stops.push(feed.add({ interest, exposure: channel.exposure, notify }))
      const hears = interest.tools || interest.resources || interest.prompts || honoured.length > 0
      if (hears) await over(channel.signal, this.#closing.signal, ended.signal)
      return { _meta: { [META.subscriptionId]: id } }
    } finally {
      place.giveBack()
      own.delete(end)
      if (own.size === 0 && this.#listening.get(channel.owner) === own) this.#listening.delete(channel.owner)
      for (const stop of stops) void stop()
    }
  }

  /** Undefined when its server is down: the client must still get its other subscriptions. */
  async #follow(uri: string, client: Client, signal: AbortSignal) {
    if (uri === STATUS_URI) return { address: { server: '', uri }, stop: () => undefined }
    try {
      const address = await this.#gateway.resource(uri, { client, signal })
      if (!address) throw new NotFound('resource', uri)
      return { address, stop: await this.#gateway.feed.follow(address, signal) }
    } catch (error) {
      if (isAway(error)) return undefined
      throw error
    }
  }
}

function over(...signals: AbortSignal[]): Promise<void> {
  return new Promise((done) => {
    const any = AbortSignal.any(signals)
    if (any.aborted) return done()
    any.addEventListener('abort', () => done(), { once: true })
  })
}

/** Gives a parked call the answers it waited for. */
function settle(call: Call, inputResponses: unknown): void {
  const given = isObject(inputResponses) ? inputResponses : {}
  for (const [key, question] of [...call.questions]) {
    const answer = Object.hasOwn(given, key) ? given[key] : undefined
    if (!isObject(answer)) continue
    call.questions.delete(key)
    question.settle(answer)
  }
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
    'The answer was not passed on: the gateway cannot write to its state folder. Make the call again.',
  )
}

function readClient(params: Json, channel: Channel): Client {
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
    capabilities: readCapabilities(meta[META.clientCapabilities]),
    logLevel: typeof level === 'string' && LOG_LEVELS.includes(level) ? level : undefined,
    notify: (method, what) => channel.notify(method, what),
  }
}

/**
 * Requests of this era stand alone. The same program with the same token counts as one client, so its calls may carry
 * each other's questions; without tokens every request is a client of its own.
 */
function identityOf({ owner }: Channel, meta: Json): string {
  if (owner === UNRESTRICTED) return randomUUID()
  const info = meta[META.clientInfo]
  const { name, version } = isObject(info) ? info : {}
  return JSON.stringify([owner, name, version])
}

/** The response is ready: the last chance for these questions to be seen. */
function letGo(questions: Call['questions']): void {
  for (const { fail } of questions.values()) fail(new CallEnded())
  questions.clear()
}

/** The members that every result of this era carries. */
function stamped(method: string, result: Json): Json {
  const asks = result.resultType === 'input_required'
  const cached = CACHEABLE.has(method) && !asks
  return {
    ...(cached && { ttlMs: 0 }),
    ...result,
    ...(cached && { cacheScope: 'private' }),
    resultType: asks ? 'input_required' : 'complete',
    _meta: { ...metaOf(result), [META.serverInfo]: SERVER_INFO },
  }
}
