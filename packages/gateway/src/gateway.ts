// gateway.ts: the board as one server: what each client sees of it, and where a name that a client uses leads. It knows no
// transport and no era; methods.ts says what a method does, forward.ts passes requests on, views/ owns the names.
import { type Connection, InvalidInput, type LocalBoard } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { EVERYTHING, type Exposure } from './access/exposure.ts'
import type { CallLimits } from './call-limits/call-limits.ts'
import type { Client, ClientRequest } from './client-request.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { Instances } from './isolation/instances.ts'
import type { Json } from './json-rpc.ts'
import { type GatewayLimits, gatewayLimits } from './limits.ts'
import { Metrics } from './metrics.ts'
import { CallMetrics } from './operation/call-metrics.ts'
import { CircuitBreakers } from './operation/circuit-breaker.ts'
import { type AccessEntry, observed } from './operation/observe-call.ts'
import { ServerDrains } from './operation/server-drains.ts'
import type { OwnTool } from './own-tool.ts'
import { InstanceLeases } from './replicas/instance-leases.ts'
import { NotificationRelay } from './replicas/notification-relay.ts'
import type { Replicas } from './replicas/replicas.ts'
import { ResultStore } from './results/result-store.ts'
import { findWhenUp } from './routing/find-when-up.ts'
import { NotificationHub, tellRootsChanged } from './routing/notifications.ts'
import { ServerRequestRouter, type Wiring } from './routing/server-requests.ts'
import { KeyRing } from './sealing/key-ring.ts'
import { SpentIds, type SpentRecord } from './sealing/spent-ids.ts'
import { TaskStore } from './tasks/task-store.ts'
import { withTaskSupport } from './tasks/task-support.ts'
import { UserServers } from './user-servers.ts'
import { forModelOnly, hasUi, showsApps } from './views/apps.ts'
import { type CacheHints, cacheHints, type HintedList } from './views/cache-hints.ts'
import { fromPublic, type ResourceUri } from './views/resource-uris.ts'
import {
  SEARCH_ABOVE,
  SEARCH_MODE_TOOLS,
  SearchMode,
  type SearchThreshold,
  type ServeMode,
  searchesItself,
} from './views/search-mode.ts'
import { instructions, statusOf, type ToolListing } from './views/status.ts'
import { ToolOverrides } from './views/tool-overrides.ts'
import type { ToolVectors } from './views/tool-vectors.ts'
import { type Naming, type Ref, type ToolRef, type View, ViewBuilder } from './views/views.ts'

/**
 * Opens a board behind a gateway; closing the gateway closes the board.
 *
 * @example
 * const gateway = await openGateway((wiring) => openBoard({ cwd: process.cwd(), ...wiring }))
 * const { url, close } = await serveHttp(gateway, { grants: [] }) // loopback, no token
 * await close()
 * await gateway.close()
 */
export async function openGateway(
  open: (wiring: Wiring) => Promise<LocalBoard>,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const router = new ServerRequestRouter(
    options.ask ?? 'client',
    options.roots ?? (() => ({ roots: [] })),
    gatewayLimits(options.limits),
  )
  return new Gateway(await open(router.wiring()), router, options)
}

type Asker = Pick<ClientRequest, 'client' | 'signal'>
/** As far as it decides what a client is listed. */
type Listed = Pick<Client, 'exposure' | 'name' | 'isAnonymous' | 'asksForTasks'> & Partial<Client>

/**
 * A board behind one MCP endpoint. `openGateway` makes it; `serveHttp` and `serveStdio` give it to clients.
 *
 * @example
 * const gateway = await openGateway((wiring) => openBoard({ servers: {}, ...wiring }))
 * console.log(gateway instanceof Gateway, gateway.board.servers().length) // true 0
 * await gateway.close()
 */
export class Gateway {
  readonly board: LocalBoard
  readonly serverRequests: ServerRequestRouter
  readonly metrics = new Metrics()
  readonly notifications: NotificationHub
  readonly expose: Exposure
  readonly limits: GatewayLimits
  readonly keys: KeyRing
  /** Results that were too large to be sent. */
  readonly results: ResultStore
  readonly tasks: TaskStore
  readonly #overrides: ToolOverrides
  readonly #large: 'whole' | 'reference'
  readonly spent: SpentRecord
  readonly replicas: Replicas | undefined
  readonly callLimits: CallLimits | undefined
  readonly callMetrics = new CallMetrics()
  readonly circuits = new CircuitBreakers()
  readonly drains = new ServerDrains()
  readonly instances: Instances | undefined
  readonly userServers: UserServers | undefined
  readonly accessLog: ((entry: AccessEntry) => void) | undefined
  readonly #ownTools: readonly OwnTool[]
  readonly #names: Naming
  readonly #views: ViewBuilder
  readonly #mode: ServeMode
  readonly #searchAbove: SearchThreshold
  readonly #always: Exposure | undefined
  readonly #vectors: ToolVectors | undefined
  readonly #searchModes = new WeakMap<View, Map<boolean, SearchMode>>()
  /** Exposures for which `auto` chose to search: a list that shrinks again does not change what clients are shown. */
  readonly #searching = new WeakSet<Exposure>()
  /** An earlier process settled which server has which name. */
  readonly knowsNames: boolean
  /** The first wait for the servers, which lists wait for, but not for long. */
  #waking: { readonly until: number; readonly done: Promise<void> } | undefined
  #closing: Promise<void> | undefined
  #isAwake = false
  readonly #start: 'all' | 'unlisted'
  readonly #ownLogin = (server: string) => this.userServers?.logins.asks(server) === true

  constructor(board: LocalBoard, router: ServerRequestRouter, options: GatewayOptions) {
    this.board = board
    this.serverRequests = router
    this.expose = options.expose ?? EVERYTHING
    this.#ownTools = options.ownTools ?? []
    this.limits = gatewayLimits(options.limits)
    this.keys = options.keys ?? KeyRing.ephemeral()
    this.spent = options.spent ?? new SpentIds()
    this.results = options.results ?? new ResultStore()
    this.tasks = new TaskStore(options.replicas?.id)
    this.#overrides = new ToolOverrides(options.tools)
    this.#large = options.large ?? 'whole'
    this.replicas = options.replicas
    this.callLimits = options.callLimits
    this.accessLog = options.accessLog
    this.#names = options.names ?? 'mcp'
    this.#mode = options.mode ?? 'all'
    this.#start = options.start ?? 'all'
    this.#searchAbove = { ...SEARCH_ABOVE, ...options.searchAbove }
    this.#always = options.always
    this.#vectors = options.vectors
    this.knowsNames = (options.nameStore?.known.size ?? 0) > 0
    router.bind((key) => {
      const shared = () => (board.link.configured(key) ? board.link.connection(key) : undefined)
      const state = (this.instances?.connection(key) ?? shared())?.state
      return state?.kind === 'connected' ? state.session.era : undefined
    })
    this.notifications = new NotificationHub(board, router, (exposure) => !this.isNarrow(exposure))
    const heard = this.notifications.heardFrom.bind(this.notifications)
    const leases = options.replicas && new InstanceLeases(options.replicas)
    const sharing = { leases, logins: options.userLogins }
    this.instances = options.isolation && new Instances(board, options.isolation, heard, sharing)
    if (options.replicas) new NotificationRelay(options.replicas, this.notifications)
    const viewing = {
      board,
      naming: this.#names,
      reserved: SEARCH_MODE_TOOLS,
      overrides: this.#overrides,
      selects: options.select ?? false,
      keepsLarge: this.#large === 'reference',
      rewritesUris: this.#names !== 'plain',
      expose: this.expose,
    }
    this.#views = new ViewBuilder({
      ...viewing,
      store: options.nameStore,
      changed: (shown, server, tools) => this.notifications.listChanged(shown, server, tools),
    })
    if (options.userLogins && this.instances)
      this.userServers = new UserServers(options.userLogins, board, this.instances, viewing, {
        observe: (call, work) => observed(this, call, work),
        changed: (user) => this.notifications.userListsChanged(user),
      })
  }

  /** Starts every server, and waits a little for the fast ones. */
  async wake(timeoutMs: number = GATEWAY_LIMITS.listWaitMs): Promise<void> {
    await this.#awake(timeoutMs).done
  }

  /**
   * Waits a little for servers whose lists are not known. Those that an earlier process knew are shown at once, and
   * `list_changed` follows where they were wrong.
   */
  async listed(): Promise<void> {
    const { done } = this.#awake(GATEWAY_LIMITS.listWaitMs)
    if (this.#isAwake) return
    const unknown = this.board.link.unlisted({ current: true })
    await Promise.race([
      done,
      Promise.all(unknown.map((server) => this.board.link.connection(server).settled())),
    ])
  }

  #awake(timeoutMs: number) {
    this.#waking ??= {
      until: Date.now() + timeoutMs,
      done: this.board.ready({ timeoutMs, start: this.#start }).finally(() => {
        this.#isAwake = true
      }),
    }
    return this.#waking
  }

  /** The servers have had their first chance to come up. */
  get isAwake(): boolean {
    return this.#isAwake
  }

  /** It shows only a part of what is served; its client learns nothing about the rest. */
  isNarrow(exposure: Exposure): boolean {
    return exposure !== this.expose && exposure !== EVERYTHING
  }

  /** Resource URIs in results name their server; with plain names they stay as the server wrote them. */
  get rewritesUris(): boolean {
    return this.#names !== 'plain'
  }

  /** Throws where a server cannot be followed: what its instances tell is not routed. */
  mustBeShared(server: string): void {
    if (this.instances && this.instances.kindOf(server) !== 'shared')
      throw new InvalidInput(`Resources of "${server}" cannot be followed: every user has it for itself.`)
  }

  /** Names that a server wanted while another one had them, as sentences. */
  refusedNames(): readonly string[] {
    return this.#views.refusedNames()
  }

  collisions(): readonly string[] {
    return this.#views.view(this.expose).collisions
  }

  /** The names are settled: from now on they are kept for the next process. */
  keepNames(): void {
    this.#views.keepNames()
  }

  instructions(client: Listed): string {
    return instructions(this.board, client.exposure, this.searchMode(client) !== undefined, this.#ownLogin)
  }

  /** The resource `plugboard://status`, as far as this client may know it. */
  status(client: Listed): Json {
    const { exposure } = client
    return statusOf(this.board, exposure, this.viewOf(client), {
      narrow: this.isNarrow(exposure),
      refusedNames: this.refusedNames(),
      ownLogin: this.#ownLogin,
      listing: this.#mode === 'all' ? undefined : this.listing(client),
    })
  }

  /** What a client is listed in search mode; undefined when it is listed every tool. */
  searchMode(client: Listed): SearchMode | undefined {
    if (this.#mode === 'all') return undefined
    const search = this.#searchModeOf(this.viewOf(client), client)
    if (this.#mode === 'search') return search
    if (searchesItself(client.name)) return undefined
    const { tokens, tools } = this.#searchAbove
    if (search.tools > tools || search.tokens.all > tokens) this.#searching.add(client.exposure)
    return this.#searching.has(client.exposure) ? search : undefined
  }

  /** A large result of the tool stays here, when the client calls the tool itself. */
  keepsLarge({ tool }: Pick<ToolRef, 'tool'>, client: Listed): boolean {
    if (this.#large === 'reference') return true
    // A client refuses a result without what the output schema promises.
    return tool.outputJsonSchema === undefined && this.searchMode(client) !== undefined
  }

  /** Keys of `tools` in the settings that fit no tool of any server. */
  unusedOverrides(): readonly string[] {
    return this.#overrides.unused(
      this.board.link
        .tools()
        .map(({ name, mcpInfo: { serverName: server, toolName: tool } }) => ({ server, tool, name })),
    )
  }

  /** How tools are listed to a client, and what that costs in its model's context. */
  listing(client: Listed): ToolListing {
    const search = this.searchMode(client)
    const { tools, tokens, listed } = this.#searchModeOf(this.viewOf(client), client)
    return search
      ? { mode: 'search', tools, tokens: tokens.all, listedTools: listed.length, listedTokens: tokens.listed }
      : { mode: 'all', tools, tokens: tokens.all, listedTools: tools, listedTokens: tokens.all }
  }

  #searchModeOf(view: View, client: Listed): SearchMode {
    // A host of apps has to know the tools that apps are shown for.
    const isHost = showsApps(client)
    const made = this.#searchModes.get(view) ?? new Map<boolean, SearchMode>()
    this.#searchModes.set(view, made)
    const known = made.get(isHost)
    if (known) return known
    const always = this.#always
    const search = new SearchMode(
      view,
      ({ server, name, tool }, definition) =>
        tool.alwaysLoad || always?.tool(server, name, tool.name) === true || (isHost && hasUi(definition)),
      this.#vectors,
    )
    made.set(isHost, search)
    return search
  }

  /** A tool of the program itself. */
  ownTool(name: string): OwnTool | undefined {
    return this.#ownTools.find(({ definition }) => definition.name === name)
  }

  /** What `tools/list` returns. */
  listedTools(client: Listed): readonly Json[] {
    const view = this.viewOf(client)
    const logins = this.userServers?.loginTools(client, view) ?? []
    const own = [...this.#ownTools.map(({ definition }) => definition), ...logins]
    const search = this.searchMode(client)
    search?.warm()
    const definitions = [...(search?.listed ?? view.tools), ...own]
    const listed = client.asksForTasks
      ? withTaskSupport((server) => this.connectionFor(server, client), view, definitions)
      : definitions
    if (!showsApps(client) || view.appServers.size === 0) return listed
    return listed.map((definition) => {
      const server = view.tool(String(definition.name))?.server
      return server !== undefined && view.appServers.has(server) ? definition : forModelOnly(definition)
    })
  }

  /** Every client of the endpoint is shown what this one is. */
  isShared({ exposure, isAnonymous }: Pick<Client, 'exposure' | 'isAnonymous'>): boolean {
    return isAnonymous === true && !this.isNarrow(exposure)
  }

  /** How long a client may keep a list. That of search mode does not depend on the servers. */
  cacheHints(list: HintedList, client: Listed): CacheHints {
    if (this.userServers?.concerns(client)) return { ttlMs: 0, cacheScope: 'private' }
    const { exposure } = client
    const shows = (server: string) => (list === 'tools' ? exposure.server(server) : exposure.whole(server))
    const isFixed = list === 'tools' && this.searchMode(client)?.isFixed === true
    return cacheHints(this.board, list, isFixed ? () => false : shows, this.isShared(client), Date.now())
  }

  /** What a client with this exposure sees. */
  view(exposure: Exposure): View {
    return this.#views.view(exposure)
  }

  /** The same with what the client's user has for itself. */
  viewOf(client: Listed): View {
    const base = this.view(client.exposure)
    return this.userServers ? this.userServers.view(client, base) : base
  }

  /** The connection that the client's calls of a server use, or the gateway's own where the user has none yet. */
  connectionFor(server: string, client: Listed): Connection {
    return this.userServers?.connection(server, client) ?? this.board.link.connection(server)
  }

  /** A client may ask for what it saw in an earlier run, before the servers are up. */
  async findTool(name: string, asker: ClientRequest): Promise<ToolRef | undefined> {
    await this.userServers?.lookUp(this.#serversOf(name), asker)
    return await this.#find((view) => view.tool(name), this.#serversOf(name), asker)
  }

  findPrompt(name: string, asker: Asker): Promise<Ref | undefined> {
    return this.#find((view) => view.prompt(name), this.#serversOf(name), asker)
  }

  findResource(uri: string, asker: Asker): Promise<ResourceUri | undefined> {
    // A server's own URI is accepted where only one server can have it; a server that is not up yet does not count.
    const server = fromPublic(uri)?.server
    const servers = this.#names === 'plain' ? undefined : server === undefined ? [] : [server]
    return this.#find((view) => view.resource(uri), servers, asker)
  }

  /** The servers that a name may belong to; undefined when the name does not tell. */
  #serversOf(name: string): readonly string[] | undefined {
    return this.#names === 'plain' || this.#names === 'auto'
      ? undefined
      : this.board.link.candidateServers(name)
  }

  #find<T>(
    look: (view: View) => T | undefined,
    servers: readonly string[] | undefined,
    { client, signal }: Asker,
  ): Promise<T | undefined> {
    return findWhenUp(this.board, () => look(this.viewOf(client)), {
      may: (server) => client.exposure.server(server) && (servers === undefined || servers.includes(server)),
      named: servers !== undefined,
      waitMs: this.#waitMs(servers !== undefined),
      signal,
    })
  }

  /** A name that any server may have is waited for no longer than the first list: one server may never come up. */
  #waitMs(named: boolean): number {
    const { callWaitMs, listWaitMs } = GATEWAY_LIMITS
    return named ? callWaitMs : this.#awake(listWaitMs).until - Date.now()
  }

  /** The roots of the only client changed; servers that know the old ones ask again. */
  rootsChanged(client: Client): void {
    if (!this.serverRequests.isOnly(client)) return
    tellRootsChanged(this.board)
  }

  /** An app knows the tools of its own server only, by that server's names. Rejects when several servers could be meant. */
  findAppTool(name: string, client: Listed): ToolRef | undefined {
    if (!showsApps(client)) return undefined
    const view = this.viewOf(client)
    const [only, ...more] = view.appTools(name)
    if (only === undefined) return undefined
    if (more.length === 0) return view.tool(only)
    throw new InvalidInput(`Several servers with apps have a tool ${JSON.stringify(name)}.`, {
      hint: `Call it by its whole name: ${[only, ...more].join(', ')}.`,
    })
  }

  /** Ends everything, the board included; idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#views.close()
      this.notifications.close()
      this.tasks.close()
      await this.results.close()
      await this.#vectors?.close()
      await this.instances?.close()
      await this.board.close()
      await this.replicas?.close()
    })()
    return this.#closing
  }
}
