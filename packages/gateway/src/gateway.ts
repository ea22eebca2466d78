// gateway.ts: answers a client's requests from the board, in the protocol's own terms. It knows no transport and no era
// beyond what an answer must look like; names are offers.ts's, questions are questions.ts's.
import { type Board, InvalidInput, NotFound, RpcFault } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Address, STATUS_URI, toPublic } from './addresses.ts'
import type { Client, Exchange } from './client.ts'
import { EVERYTHING, type Exposure } from './exposure.ts'
import { asToolResult } from './faults.ts'
import { Feed } from './feed.ts'
import { Metrics } from './metrics.ts'
import { type Naming, Offers, type Ref, type View } from './offers.ts'
import { declared, isObject, type Json, LOG_LEVELS, META, metaOf, RPC, SERVER_INFO } from './protocol.ts'
import { type AskPolicy, Questions, type Wiring } from './questions.ts'
import { instructions, statusOf } from './status.ts'

export interface GatewayOptions {
  /** How tools and prompts are called: `mcp__server__tool`, `server.tool`, or as the server calls them. */
  readonly names?: Naming
  /** Who is asked about calls that ask: the client's own user (by the client), its user by elicitation, or nobody. */
  readonly ask?: AskPolicy
  /** What clients without an exposure of their own are shown. */
  readonly expose?: Exposure
  /** The folders that servers are told of when no client's call is under way. */
  readonly roots?: () => Json
}

/**
 * Opens a board behind a gateway; closing the gateway closes the board.
 *
 * @example
 * const gateway = await openGateway((wiring) => openBoard({ cwd: process.cwd(), ...wiring }))
 * const { url } = await serveHttp(gateway, { grants: [] }) // loopback, no token
 */
export async function openGateway(
  open: (wiring: Wiring) => Promise<Board>,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const questions = new Questions(options.ask ?? 'client', options.roots ?? (() => ({ roots: [] })))
  return new Gateway(await open(questions.wiring()), questions, options)
}

type Answerer = (gateway: Gateway, params: Json, exchange: Exchange, view: () => View) => Promise<Json>

export class Gateway {
  readonly board: Board
  readonly questions: Questions
  readonly metrics = new Metrics()
  readonly feed: Feed
  readonly expose: Exposure
  readonly #names: Naming
  readonly #offers: Offers
  readonly #exposures = new WeakMap<Client, Exposure>()
  /** The first look at the servers, which lists wait for, but not for long. */
  #waking: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(board: Board, questions: Questions, options: GatewayOptions) {
    this.board = board
    this.questions = questions
    this.expose = options.expose ?? EVERYTHING
    this.#names = options.names ?? 'mcp'
    questions.isModern = (server) => {
      const { state } = board.connection(server)
      return state.kind === 'connected' && state.session.era === 'modern'
    }
    this.feed = new Feed(board, questions, (address) => this.publicUri(address))
    this.#offers = new Offers({
      board,
      naming: this.#names,
      changed: (shown) => this.feed.listChanged(shown),
    })
  }

  /** Shows a client something else than the gateway's own exposure. */
  restrict(client: Client, exposure: Exposure): void {
    this.#exposures.set(client, exposure)
  }

  /** Starts every server, and waits a little for those that are quick. */
  async wake(timeoutMs: number = GATEWAY_LIMITS.listWaitMs): Promise<void> {
    this.#waking ??= this.board.ready({ timeoutMs })
    await this.#waking
  }

  collisions(): readonly string[] {
    return this.#offers.view(this.expose).collisions
  }

  instructions(): string {
    return instructions(this.board, this.expose)
  }

  capabilities(): Json {
    return {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    }
  }

  /** Rejects with a fault of the server's, or with an error of the board's. */
  async answer(method: string, params: Json, exchange: Exchange): Promise<Json> {
    const answerer = Object.hasOwn(ANSWERS, method) ? ANSWERS[method] : undefined
    if (!answerer) throw new RpcFault(RPC.methodNotFound, `Method not found: ${method}`)
    const stop = this.metrics.started(method)
    try {
      const result = await answerer(this, params, exchange, () => this.view(exchange.client))
      stop(result.isError === true ? 'tool_error' : 'ok')
      return result
    } catch (error) {
      stop(exchange.signal.aborted ? 'cancelled' : 'error')
      throw error
    }
  }

  view(client: Client): View {
    return this.#offers.view(this.exposureOf(client))
  }

  exposureOf(client: Client): Exposure {
    return this.#exposures.get(client) ?? this.expose
  }

  /** The lists as they are, after the servers had a moment to come up. */
  async lists(client: Client): Promise<View> {
    await this.wake()
    this.#offers.lookAgain()
    return this.view(client)
  }

  /** The same for who asked for something that is not there yet: it may come with a server that is slow to start. */
  async settled({ client, signal }: Exchange): Promise<View> {
    await this.board.ready({ signal, timeoutMs: GATEWAY_LIMITS.callWaitMs })
    return await this.lists(client)
  }

  publicUri(address: Address): string {
    return this.#names === 'plain' ? address.uri : toPublic(address)
  }

  /** Sends a request to a server on behalf of an exchange. */
  forward(ref: { readonly server: string }, method: string, params: Json, exchange: Exchange): Promise<Json> {
    const { signal } = exchange
    const onProgress = progressOf(params, exchange)
    return this.questions.during(ref.server, exchange, () =>
      this.board.request(
        ref.server,
        method,
        { ...params, _meta: this.#meta(params, exchange) },
        { signal, onProgress },
      ),
    )
  }

  async callTool(ref: Ref, params: Json, exchange: Exchange): Promise<Json> {
    const onProgress = progressOf(params, exchange)
    const context = { caller: 'client', signal: exchange.signal, ...(onProgress && { onProgress }) } as const
    // The client decides what runs beside what, as it would with the server itself.
    const result = await this.questions.during(ref.server, exchange, () =>
      this.board.pass(ref.server, ref.name, { ...params, _meta: this.#meta(params, exchange) }, context, {
        concurrent: true,
      }),
    )
    return this.withAddresses(ref.server, result, 'content')
  }

  /** Addresses inside an answer, so that the client can read them here. */
  withAddresses(server: string, result: Readonly<Json>, field: 'content' | 'messages' | 'contents'): Json {
    const items = result[field]
    if (this.#names === 'plain' || !Array.isArray(items)) return result
    let changed = false
    const renamed = items.map((item: unknown) => {
      const next = this.#readdressed(server, item, field)
      if (next !== item) changed = true
      return next
    })
    return changed ? { ...result, [field]: renamed } : result
  }

  #readdressed(server: string, item: unknown, field: 'content' | 'messages' | 'contents'): unknown {
    if (!isObject(item)) return item
    if (field === 'messages') {
      const content = this.#readdressed(server, item.content, 'content')
      return content === item.content ? item : { ...item, content }
    }
    if ((field === 'contents' || item.type === 'resource_link') && typeof item.uri === 'string')
      return { ...item, uri: toPublic({ server, uri: item.uri }) }
    if (item.type === 'resource' && isObject(item.resource) && typeof item.resource.uri === 'string')
      return { ...item, resource: { ...item.resource, uri: toPublic({ server, uri: item.resource.uri }) } }
    return item
  }

  /** What travels beside the parameters: everything of the client's but the envelope of its own connection. */
  #meta(params: Json, { client }: Exchange): Json {
    const { progressToken: _, ...rest } = metaOf(params)
    const meta: Json = {}
    for (const [key, value] of Object.entries(rest)) if (!OWN_META.has(key)) meta[key] = value
    return {
      ...meta,
      [META.clientCapabilities]: declared(client.capabilities),
      ...(client.logLevel !== undefined && { [META.logLevel]: client.logLevel }),
    }
  }

  /** Ends everything, the board included; idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#offers.close()
      this.feed.close()
      await this.board.close()
    })()
    return this.#closing
  }
}

const OWN_META: ReadonlySet<string> = new Set(Object.values(META))

const ANSWERS: Readonly<Record<string, Answerer>> = {
  'tools/list': async (gateway, _params, { client }) => ({ tools: (await gateway.lists(client)).tools }),
  'prompts/list': async (gateway, _params, { client }) => ({
    prompts: (await gateway.lists(client)).prompts,
  }),
  'resources/list': async (gateway, _params, { client }) => ({
    resources: (await gateway.lists(client)).resources,
  }),
  'resources/templates/list': async (gateway, _params, { client }) => ({
    resourceTemplates: (await gateway.lists(client)).templates,
  }),
  'tools/call': async (gateway, params, exchange, view) => {
    const name = text(params, 'name')
    if (params.arguments !== undefined && !isObject(params.arguments))
      throw new InvalidInput('The arguments of a tool are an object.')
    // A client may call what it saw in an earlier run, before the servers are up.
    const ref = view().tool(name) ?? (await gateway.settled(exchange)).tool(name)
    if (!ref) throw new NotFound('tool', name)
    try {
      return await gateway.callTool(ref, params, exchange)
    } catch (error) {
      const result = asToolResult(error)
      if (!result) throw error
      return result
    }
  },
  'prompts/get': async (gateway, params, exchange, view) => {
    const name = text(params, 'name')
    const ref = view().prompt(name) ?? (await gateway.lists(exchange.client)).prompt(name)
    if (!ref) throw new NotFound('prompt', name)
    const result = await gateway.forward(ref, 'prompts/get', { ...params, name: ref.name }, exchange)
    return gateway.withAddresses(ref.server, result, 'messages')
  },
  'resources/read': async (gateway, params, exchange, view) => {
    const uri = text(params, 'uri')
    if (uri === STATUS_URI) return statusOf(gateway.board, gateway.exposureOf(exchange.client))
    const address = view().resource(uri) ?? (await gateway.lists(exchange.client)).resource(uri)
    if (!address) throw new NotFound('resource', uri)
    const { signal } = exchange
    await gateway.questions.during(address.server, exchange, () =>
      gateway.board.permitRead(address.server, address.uri, { caller: 'client', signal }),
    )
    const result = await gateway.forward(address, 'resources/read', { ...params, uri: address.uri }, exchange)
    return gateway.withAddresses(address.server, result, 'contents')
  },
  'completion/complete': async (gateway, params, exchange, view) => {
    const { ref } = params
    if (!isObject(ref)) throw new InvalidInput('A completion says what it is for: "ref".')
    const prompt = ref.type === 'ref/prompt' ? view().prompt(text(ref, 'name')) : undefined
    const template =
      ref.type === 'ref/resource'
        ? (view().template(text(ref, 'uri')) ?? view().resource(text(ref, 'uri')))
        : undefined
    if (!prompt && !template)
      throw new NotFound(ref.type === 'ref/prompt' ? 'prompt' : 'resource', String(ref.name ?? ref.uri))
    const server = prompt?.server ?? template?.server ?? ''
    const { state } = gateway.board.connection(server)
    if (state.kind === 'connected' && !state.session.capabilities.completions)
      return { completion: { values: [], total: 0, hasMore: false } }
    const inner = prompt ? { ...ref, name: prompt.name } : { ...ref, uri: template?.uri }
    return await gateway.forward({ server }, 'completion/complete', { ...params, ref: inner }, exchange)
  },
}

/** Requests of the older era only, which a session answers with the gateway's help. */
export function readLogLevel(params: Json): string {
  const level = text(params, 'level')
  if (!LOG_LEVELS.includes(level)) throw new InvalidInput(`"${level}" is no log level.`)
  return level
}

export function serverInfo(): Json {
  return { ...SERVER_INFO }
}

export function text(params: Json, field: string): string {
  const value = params[field]
  if (typeof value !== 'string') throw new InvalidInput(`"${field}" is missing or not a text.`)
  return value
}

function progressOf(params: Json, exchange: Exchange) {
  const { progressToken } = metaOf(params)
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined
  return (progress: {
    readonly progress: number
    readonly total?: number | undefined
    readonly message?: string | undefined
  }) => exchange.notify('notifications/progress', { progressToken, ...progress })
}
