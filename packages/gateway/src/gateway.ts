// gateway.ts: the board as one server: what each client sees of it, and the way of its requests to the servers and
// back. It knows no transport and no era; methods.ts says what a method does, views/views.ts owns the names.
import { JsonRpcError, type LocalBoard } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { EVERYTHING, type Exposure } from './access/exposure.ts'
import type { Client, ClientRequest } from './client-request.ts'
import { declared, isObject, type Json, META, metaOf, RPC } from './json-rpc.ts'
import { type GatewayLimits, gatewayLimits } from './limits.ts'
import { METHODS } from './methods.ts'
import { Metrics } from './metrics.ts'
import { findWhenUp } from './routing/find-when-up.ts'
import { NotificationHub } from './routing/notifications.ts'
import { type AskPolicy, ServerRequestRouter, type Wiring } from './routing/server-requests.ts'
import { KeyRing } from './sealing/key-ring.ts'
import { SpentIds } from './sealing/spent-ids.ts'
import { traced } from './telemetry.ts'
import type { NameStore } from './views/name-claims.ts'
import { fromPublic, type ResourceUri, toPublic } from './views/resource-uris.ts'
import { instructions } from './views/status.ts'
import { type Naming, type Ref, type View, ViewBuilder } from './views/views.ts'

export interface GatewayOptions {
  /** How tools and prompts are called: `mcp__server__tool`, `server.tool`, or as the server calls them. */
  readonly names?: Naming
  /** Who confirms calls under an `ask` rule: the client by its own means, the user by elicitation, or none (deny). */
  readonly ask?: AskPolicy
  /** What clients without an exposure of their own see. */
  readonly expose?: Exposure
  /** What clients may hold, and how long; defaults where left out. */
  readonly limits?: Partial<GatewayLimits>
  /** Seals session ids and `requestState`; without it they are worthless after a restart. */
  readonly keys?: KeyRing
  /** Remembers ids that must not be used again; with a file, also for the next process. */
  readonly spent?: SpentIds
  /** Where names are kept for the next process, for naming schemes in which two servers can want the same one. */
  readonly nameStore?: NameStore
  /** The roots that servers are given while no client's call is running. */
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
  open: (wiring: Wiring) => Promise<LocalBoard>,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const questions = new ServerRequestRouter(options.ask ?? 'client', options.roots ?? (() => ({ roots: [] })))
  return new Gateway(await open(questions.wiring()), questions, options)
}

type Asker = Pick<ClientRequest, 'client' | 'signal'>

export class Gateway {
  readonly board: LocalBoard
  readonly questions: ServerRequestRouter
  readonly metrics = new Metrics()
  readonly feed: NotificationHub
  readonly expose: Exposure
  readonly limits: GatewayLimits
  readonly keys: KeyRing
  readonly spent: SpentIds
  readonly #names: Naming
  readonly #offers: ViewBuilder
  /** An earlier process settled which server has which name. */
  readonly knowsNames: boolean
  readonly #exposures = new WeakMap<Client, Exposure>()
  /** The first wait for the servers, which lists wait for, but not for long. */
  #waking: { readonly until: number; readonly done: Promise<void> } | undefined
  #closing: Promise<void> | undefined
  #isAwake = false

  constructor(board: LocalBoard, questions: ServerRequestRouter, options: GatewayOptions) {
    this.board = board
    this.questions = questions
    this.expose = options.expose ?? EVERYTHING
    this.limits = gatewayLimits(options.limits)
    this.keys = options.keys ?? KeyRing.ephemeral()
    this.spent = options.spent ?? new SpentIds()
    this.#names = options.names ?? 'mcp'
    this.knowsNames = (options.nameStore?.known.size ?? 0) > 0
    questions.eraOf = (server) => {
      const { state } = board.link.connection(server)
      return state.kind === 'connected' ? state.session.era : undefined
    }
    this.feed = new NotificationHub(board, questions, (exposure) => this.#isWhole(exposure))
    this.#offers = new ViewBuilder({
      board,
      naming: this.#names,
      expose: this.expose,
      store: options.nameStore,
      changed: (shown, server, tools) => this.feed.listChanged(shown, server, tools),
    })
  }

  /** Gives a client another exposure than the gateway's own. */
  restrict(client: Client, exposure: Exposure): void {
    this.#exposures.set(client, exposure)
  }

  /** Starts every server, and waits a little for the fast ones. */
  async wake(timeoutMs: number = GATEWAY_LIMITS.listWaitMs): Promise<void> {
    await this.#awake(timeoutMs).done
  }

  #awake(timeoutMs: number) {
    this.#waking ??= {
      until: Date.now() + timeoutMs,
      done: this.board.ready({ timeoutMs }).finally(() => {
        this.#isAwake = true
      }),
    }
    return this.#waking
  }

  /** The servers have had their first chance to come up. */
  get isAwake(): boolean {
    return this.#isAwake
  }

  /** It sees only a part of what is served, and learns nothing about the rest. */
  isNarrow(client: Client): boolean {
    return !this.#isWhole(this.exposureOf(client))
  }

  #isWhole(exposure: Exposure): boolean {
    return exposure === this.expose || exposure === EVERYTHING
  }

  /** Names that a server wanted while another one had them, as sentences. */
  refusedNames(): readonly string[] {
    return this.#offers.refusedNames()
  }

  /** A name that any server may have is waited for no longer than the first list: one server may never come up. */
  #waitMs(named: boolean): number {
    const { callWaitMs, listWaitMs } = GATEWAY_LIMITS
    return named ? callWaitMs : this.#awake(listWaitMs).until - Date.now()
  }

  collisions(): readonly string[] {
    return this.#offers.view(this.expose).collisions
  }

  /** The names are settled: from now on they are kept for the next process. */
  keepNames(): void {
    this.#offers.keepNames()
  }

  instructions(client: Client): string {
    return instructions(this.board, this.exposureOf(client))
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

  /** Rejects with an error of the server or of the board. */
  async answer(method: string, params: Json, exchange: ClientRequest): Promise<Json> {
    const answerer = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
    if (!answerer) throw new JsonRpcError(RPC.methodNotFound, `Method not found: ${method}`)
    const stop = this.metrics.started(method)
    try {
      const result = await traced(method, params, (told) => answerer(this, told, exchange))
      stop(result.isError === true ? 'tool_error' : 'ok')
      return result
    } catch (error) {
      stop(exchange.signal.aborted ? 'cancelled' : 'error')
      throw error
    }
  }

  view(client: Client): View {
    return this.viewOf(this.exposureOf(client))
  }

  /** What a client with this exposure sees. */
  viewOf(exposure: Exposure): View {
    return this.#offers.view(exposure)
  }

  exposureOf(client: Client): Exposure {
    return this.#exposures.get(client) ?? this.expose
  }

  /** The current lists, after the servers had a chance to come up. */
  async lists(client: Client): Promise<View> {
    await this.wake()
    return this.view(client)
  }

  /** A client may ask for what it saw in an earlier run, before the servers are up. */
  tool(name: string, who: Asker): Promise<Ref | undefined> {
    return this.#sought((view) => view.tool(name), this.#meant(name), who)
  }

  prompt(name: string, who: Asker): Promise<Ref | undefined> {
    return this.#sought((view) => view.prompt(name), this.#meant(name), who)
  }

  resource(uri: string, who: Asker): Promise<ResourceUri | undefined> {
    // A server's own URI is accepted where only one server can have it; a server that is not up yet does not count.
    const server = fromPublic(uri)?.server
    const meant = this.#names === 'plain' ? undefined : server === undefined ? [] : [server]
    return this.#sought((view) => view.resource(uri), meant, who)
  }

  /** The servers that a name may belong to; undefined when the name does not tell. */
  #meant(name: string): readonly string[] | undefined {
    return this.#names === 'plain' ? undefined : this.board.link.serversMeant(name)
  }

  #sought<T>(look: (view: View) => T | undefined, meant: readonly string[] | undefined, who: Asker) {
    const { client, signal } = who
    const exposure = this.exposureOf(client)
    return findWhenUp(this.board, () => look(this.view(client)), {
      may: (server) => exposure.server(server) && (meant === undefined || meant.includes(server)),
      named: meant !== undefined,
      waitMs: this.#waitMs(meant !== undefined),
      signal,
    })
  }

  /** The roots of the only client changed; servers that know the old ones ask again. */
  rootsChanged(client: Client): void {
    if (!this.questions.isOnly(client)) return
    for (const { name } of this.board.servers()) {
      const connection = this.board.link.connection(name)
      if (connection.state.kind === 'connected' && connection.state.session.era === 'legacy')
        // A server that goes down at this moment asks when it is back.
        connection.notify('notifications/roots/list_changed').catch(() => undefined)
    }
  }

  /** Sends a request to a server on behalf of a client's request. */
  async forward(
    ref: { readonly server: string },
    method: string,
    params: Json,
    exchange: ClientRequest,
  ): Promise<Json> {
    const { signal } = exchange
    const onProgress = progressOf(params, exchange)
    this.#mustResume(ref.server, exchange)
    return await this.questions.during(ref.server, exchange, () =>
      this.board.link.request(
        ref.server,
        method,
        { ...params, _meta: this.#meta(ref.server, params, exchange) },
        { signal, onProgress },
      ),
    )
  }

  /** An answer to a question goes to the server that asked, and only while that server can still read its own state. */
  #mustResume(server: string, { resumes }: ClientRequest): void {
    if (resumes === undefined || (resumes === server && this.questions.eraOf(server) === 'modern')) return
    throw new JsonRpcError(
      RPC.invalidParams,
      'The server that asked is not the one that would get the answer now. Make the call again.',
    )
  }

  async callTool(ref: Ref, params: Json, exchange: ClientRequest): Promise<Json> {
    this.#mustResume(ref.server, exchange)
    const onProgress = progressOf(params, exchange)
    const context = {
      caller: 'client',
      client: exchange.client.id,
      signal: exchange.signal,
      ...(onProgress && { onProgress }),
    } as const
    // Tasks are not declared here; a client that asks for one all the same gets a plain result.
    const { task: _, ...asked } = params
    // The client decides what runs in parallel, as it would with the server itself.
    const result = await this.questions.during(ref.server, exchange, (onTask) =>
      this.board.link.pass(
        ref.server,
        ref.name,
        { ...asked, _meta: this.#meta(ref.server, params, exchange) },
        context,
        {
          concurrent: true,
          onTask,
        },
      ),
    )
    return this.withAddresses(ref.server, result, 'content')
  }

  /** Rewrites resource URIs inside a result, so that the client can read them here. */
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

  /** The `_meta` that goes on to the server: all of the client's but the envelope of its own connection. */
  #meta(server: string, params: Json, { client }: ClientRequest): Json {
    const { progressToken: _, ...rest } = metaOf(params)
    const meta: Json = {}
    for (const [key, value] of Object.entries(rest)) if (!OWN_META.has(key)) meta[key] = value
    // A legacy server was told once, in the handshake.
    if (this.questions.eraOf(server) === 'legacy') return meta
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

function progressOf(params: Json, exchange: ClientRequest) {
  const { progressToken } = metaOf(params)
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined
  return (progress: {
    readonly progress: number
    readonly total?: number | undefined
    readonly message?: string | undefined
  }) => exchange.notify('notifications/progress', { progressToken, ...progress })
}
