// gateway.ts: the board as one server: what each client sees of it, and where a name that a client uses leads. It knows no
// transport and no era; methods.ts says what a method does, forward.ts passes requests on, views/ owns the names.
import type { LocalBoard } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { EVERYTHING, type Exposure } from './access/exposure.ts'
import type { Client, ClientRequest } from './client-request.ts'
import type { Json } from './json-rpc.ts'
import { type GatewayLimits, gatewayLimits } from './limits.ts'
import { Metrics } from './metrics.ts'
import { NotificationHub } from './routing/notifications.ts'
import { findWhenUp } from './routing/resolve-target.ts'
import { type AskPolicy, ServerRequestRouter, type Wiring } from './routing/server-requests.ts'
import { KeyRing } from './sealing/key-ring.ts'
import { SpentIds } from './sealing/spent-ids.ts'
import type { NameStore } from './views/name-claims.ts'
import { fromPublic, type ResourceUri } from './views/resource-uris.ts'
import {
  SEARCH_ABOVE,
  SearchMode,
  type SearchThreshold,
  type ServeMode,
  searchesItself,
} from './views/search-mode.ts'
import { instructions, statusOf, type ToolListing } from './views/status.ts'
import { type Naming, type Ref, type ToolRef, type View, ViewBuilder } from './views/views.ts'

export interface GatewayOptions {
  /** List every tool, or three tools to search and call them; `auto` decides by what the definitions cost. */
  readonly mode?: ServeMode
  /** From when on `auto` lists the search tools. */
  readonly searchAbove?: Partial<SearchThreshold>
  /** Tools that are listed in search mode too, beside those that entries load always. */
  readonly always?: Exposure
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
  const router = new ServerRequestRouter(options.ask ?? 'client', options.roots ?? (() => ({ roots: [] })))
  return new Gateway(await open(router.wiring()), router, options)
}

type Asker = Pick<ClientRequest, 'client' | 'signal'>
/** As far as it decides what a client is listed. */
type Listed = Pick<Client, 'exposure' | 'name'>

export class Gateway {
  readonly board: LocalBoard
  readonly serverRequests: ServerRequestRouter
  readonly metrics = new Metrics()
  readonly notifications: NotificationHub
  readonly expose: Exposure
  readonly limits: GatewayLimits
  readonly keys: KeyRing
  readonly spent: SpentIds
  readonly #names: Naming
  readonly #views: ViewBuilder
  readonly #mode: ServeMode
  readonly #searchAbove: SearchThreshold
  readonly #always: Exposure | undefined
  readonly #searchModes = new WeakMap<View, SearchMode>()
  /** Exposures for which `auto` chose to search: a list that shrinks again does not change what clients are shown. */
  readonly #searching = new WeakSet<Exposure>()
  /** An earlier process settled which server has which name. */
  readonly knowsNames: boolean
  /** The first wait for the servers, which lists wait for, but not for long. */
  #waking: { readonly until: number; readonly done: Promise<void> } | undefined
  #closing: Promise<void> | undefined
  #isAwake = false

  constructor(board: LocalBoard, router: ServerRequestRouter, options: GatewayOptions) {
    this.board = board
    this.serverRequests = router
    this.expose = options.expose ?? EVERYTHING
    this.limits = gatewayLimits(options.limits)
    this.keys = options.keys ?? KeyRing.ephemeral()
    this.spent = options.spent ?? new SpentIds()
    this.#names = options.names ?? 'mcp'
    this.#mode = options.mode ?? 'all'
    this.#searchAbove = { ...SEARCH_ABOVE, ...options.searchAbove }
    this.#always = options.always
    this.knowsNames = (options.nameStore?.known.size ?? 0) > 0
    router.bind((server) => {
      const { state } = board.link.connection(server)
      return state.kind === 'connected' ? state.session.era : undefined
    })
    this.notifications = new NotificationHub(board, router, (exposure) => !this.isNarrow(exposure))
    this.#views = new ViewBuilder({
      board,
      naming: this.#names,
      expose: this.expose,
      store: options.nameStore,
      changed: (shown, server, tools) => this.notifications.listChanged(shown, server, tools),
    })
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

  /** It shows only a part of what is served; its client learns nothing about the rest. */
  isNarrow(exposure: Exposure): boolean {
    return exposure !== this.expose && exposure !== EVERYTHING
  }

  /** Resource URIs in results name their server; with plain names they stay as the server wrote them. */
  get rewritesUris(): boolean {
    return this.#names !== 'plain'
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
    return instructions(this.board, client.exposure, this.searchMode(client) !== undefined)
  }

  /** The resource `plugboard://status`, as far as this client may know it. */
  status(client: Listed): Json {
    const { exposure } = client
    return statusOf(this.board, exposure, this.view(exposure), {
      narrow: this.isNarrow(exposure),
      refusedNames: this.refusedNames(),
      listing: this.#mode === 'all' ? undefined : this.listing(client),
    })
  }

  /** What a client is listed in search mode; undefined when it is listed every tool. */
  searchMode(client: Listed): SearchMode | undefined {
    if (this.#mode === 'all') return undefined
    const search = this.#searchModeOf(this.view(client.exposure))
    if (this.#mode === 'search') return search
    if (searchesItself(client.name)) return undefined
    const { tokens, tools } = this.#searchAbove
    if (search.tools > tools || search.tokens.all > tokens) this.#searching.add(client.exposure)
    return this.#searching.has(client.exposure) ? search : undefined
  }

  /** How tools are listed to a client, and what that costs in its model's context. */
  listing(client: Listed): ToolListing {
    const search = this.searchMode(client)
    const { tools, tokens, listed } = this.#searchModeOf(this.view(client.exposure))
    return search
      ? { mode: 'search', tools, tokens: tokens.all, listedTools: listed.length, listedTokens: tokens.listed }
      : { mode: 'all', tools, tokens: tokens.all, listedTools: tools, listedTokens: tokens.all }
  }

  #searchModeOf(view: View): SearchMode {
    const known = this.#searchModes.get(view)
    if (known) return known
    const always = this.#always
    const made = new SearchMode(
      view,
      ({ server, name, tool }) => tool.alwaysLoad || always?.tool(server, name, tool.name) === true,
    )
    this.#searchModes.set(view, made)
    return made
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

  /** What a client with this exposure sees. */
  view(exposure: Exposure): View {
    return this.#views.view(exposure)
  }

  /** A client may ask for what it saw in an earlier run, before the servers are up. */
  findTool(name: string, asker: Asker): Promise<ToolRef | undefined> {
    return this.#find((view) => view.tool(name), this.#serversOf(name), asker)
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
    return this.#names === 'plain' ? undefined : this.board.link.candidateServers(name)
  }

  #find<T>(
    look: (view: View) => T | undefined,
    servers: readonly string[] | undefined,
    { client: { exposure }, signal }: Asker,
  ): Promise<T | undefined> {
    return findWhenUp(this.board, () => look(this.view(exposure)), {
      may: (server) => exposure.server(server) && (servers === undefined || servers.includes(server)),
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
    for (const { name } of this.board.servers()) {
      const connection = this.board.link.connection(name)
      if (connection.state.kind === 'connected' && connection.state.session.era === 'legacy')
        // A server that goes down at this moment asks when it is back.
        connection.notify('notifications/roots/list_changed').catch(() => undefined)
    }
  }

  /** Ends everything, the board included; idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#views.close()
      this.notifications.close()
      await this.board.close()
    })()
    return this.#closing
  }
}
