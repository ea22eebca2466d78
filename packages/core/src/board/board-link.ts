// board-link.ts: a board for code that passes requests on or keeps the board true: the gateway, the resident process,
// openBoard itself. Connections, lists as servers send them, raw requests, passed-on calls with permissions and audit,
// new sets of servers. Programs use `Board`, which needs none of this.
import { isDeepStrictEqual } from 'node:util'
import { diagnosticNews } from '../config/last-good.ts'
import type { PermissionRule } from '../config/resolve.ts'
import type { ConfiguredServer, Diagnostic } from '../config/types.ts'
import { isCurrent } from '../connection/catalog-store.ts'
import type { Connection } from '../connection/connection.ts'
import type { RequestOptions } from '../connection/requests.ts'
import type { Json } from '../connection/server-info.ts'
import { IoError } from '../errors.ts'
import { Events } from '../events.ts'
import type { Hook } from '../interaction/index.ts'
import type { BoundTool, CallContext, Tool } from '../tools/index.ts'
import type { PassOptions } from '../tools/send-call.ts'
import { inProcessEntries } from './in-process.ts'
import { type BoardInternals, setRules } from './internals.ts'
import type { BoardDefinition } from './options.ts'
import type { InstanceLogin } from './servers.ts'
import { candidateServers } from './tool-registry.ts'

/**
 * One level below `Board`, for programs that pass requests on: raw requests, connections, new sets of servers.
 *
 * @example
 * console.log(Object.keys(await board.link.request('notes', 'tools/list'))[0]) // tools
 */
export class BoardLink {
  readonly #board: BoardInternals

  constructor(board: BoardInternals) {
    this.#board = board
  }

  /** One server: its state, session, catalog, log and raw requests. */
  connection(server: string): Connection {
    return this.#board.connection(server)
  }

  /**
   * One more connection to a server, for one user or client alone: a process of its own, where the server is one. The
   * caller closes it. `requestHandlers` of the board are asked for its handlers with `key` as the name; the server's
   * notifications go to `heard` alone. `own` is the user's own login, in place of the board's.
   */
  instance(
    server: string,
    key: string,
    heard: (method: string, params: unknown) => void,
    own?: InstanceLogin,
  ): Connection {
    const events = new Events()
    events.on('notification', ({ method, params }) => heard(method, params))
    events.on('list-changed', ({ list }) => heard(`notifications/${list}/list_changed`, {}))
    return this.#board.servers.instance(server, key, events, own)
  }

  /** The tools of a list that an instance of the server sent, as `pass` takes them. They are on no list of the board. */
  instanceTools(server: string, items: readonly unknown[]): readonly BoundTool[] {
    return this.#board.tools.bindList(server, items)
  }

  /** The entry that a server was configured with; undefined when the board has no such server. */
  configured(server: string): ConfiguredServer | undefined {
    return this.#board.servers.servers.get(server)
  }

  /** The servers that a spelling of a tool can mean, before any of them has listed its tools. */
  candidateServers(spelling: string): readonly string[] {
    return candidateServers(spelling, this.#board.servers.names)
  }

  /** Every tool as its server defines it, for programs that pass them on. */
  definitions(): readonly BoardDefinition[] {
    return this.#board.servers.definitions()
  }

  /**
   * Servers that may be used and whose tools are not known, neither from the server nor from the catalog; with
   * `current`, also those whose catalog is older than a list of such a server can be relied on.
   */
  unlisted({ current = false }: { readonly current?: boolean } = {}): readonly string[] {
    const now = this.#board.host.now()
    return [...this.#board.servers.connections].flatMap(([name, { state, catalog, server }]) => {
      const { listedBy, remembered } = catalog
      if (state.kind === 'disabled' || listedBy === 'server') return []
      const isKnown = remembered && (!current || isCurrent(server, remembered, now))
      return isKnown ? [] : [name]
    })
  }

  /** Sends one request to one server, connecting it first if needed. No permission is checked. */
  async request(server: string, method: string, params?: Json, options?: RequestOptions): Promise<Json> {
    return await this.connection(server).request(method, params, options)
  }

  async notify(server: string, method: string, params?: Json): Promise<void> {
    await this.connection(server).notify(method, params)
  }

  /** Every tool of every server that is, or was, connected, as `pass` takes it. */
  tools(): readonly BoundTool[] {
    return this.#board.tools.tools()
  }

  /**
   * Calls a tool for a client that reads the result itself: permissions, hooks and the audit log apply, and the
   * result is passed on whole. `params` are those of `tools/call`, without the name.
   */
  pass(
    tool: BoundTool,
    params: Json,
    context: CallContext = {},
    options: PassOptions = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    return this.#board.calls.pass(tool, params, context, options)
  }

  /** Rejects when the permissions do not allow reading the resource. */
  permitRead(server: string, uri: string, context: CallContext = {}): Promise<void> {
    return this.#board.calls.permit(server, 'resources/read', uri, context)
  }

  /** Rejects when the permissions do not allow getting the prompt. */
  permitPrompt(server: string, name: string, context: CallContext = {}): Promise<void> {
    return this.#board.calls.permit(server, 'prompts/get', name, context)
  }

  /** False where the permissions deny everything but tools: resources, prompts, completion and subscriptions. */
  isReadable(server: string): boolean {
    return this.#board.calls.isReadable(server)
  }

  /** May a hook replace the tool's result? Then the tool's output schema promises too much. */
  mayReplaceOutput({ name, mcpInfo }: Pick<Tool, 'name' | 'mcpInfo'>): boolean {
    const { serverName: server, toolName: tool } = mcpInfo
    return this.#board.hooks.concerns('PostToolUse', { name, server, tool })
  }

  /** Retries the servers that `same` selects, e.g. because the user logged in to them. */
  reconnectSame(same: (server: ConfiguredServer) => boolean): void {
    for (const [name, server] of this.#board.servers.servers)
      if (same(server)) this.connection(name).wake(true)
  }

  /**
   * Applies a new set of servers: added, changed and removed ones follow, the others are not touched. New rules and
   * hooks apply first: what is forbidden now must not run while a server starts.
   */
  async apply(
    servers: readonly ConfiguredServer[],
    rules?: readonly PermissionRule[],
    hooks?: readonly Hook[],
  ): Promise<void> {
    const { applying, options } = this.#board
    if (hooks) this.#board.hooks.replace(hooks)
    await applying.run(() => this.#apply(this.#withOwn([...servers, ...inProcessEntries(options)]), rules))
  }

  /** Puts one server on the board, in place of one of the same name. It stays through a reload of the files. */
  async put(server: ConfiguredServer): Promise<void> {
    const { state, applying } = this.#board
    state.added.set(server.name, server)
    state.removed.delete(server.name)
    await applying.run(() => this.#apply(this.#withOwn(this.#current())))
  }

  /** Takes one server off the board, also after a reload of the files. */
  async drop(name: string): Promise<void> {
    const { state, applying } = this.#board
    state.added.delete(name)
    state.removed.add(name)
    await applying.run(() => this.#apply(this.#withOwn(this.#current())))
  }

  #current(): readonly ConfiguredServer[] {
    return [...this.#board.servers.servers.values()]
  }

  /** The servers with what the program added, replaced and removed. */
  #withOwn(servers: readonly ConfiguredServer[]): readonly ConfiguredServer[] {
    const { added, removed } = this.#board.state
    const others = servers.filter(({ name }) => !removed.has(name) && !added.has(name))
    return [...others, ...added.values()]
  }

  /** Stores the current faults of the files, and reports new and repaired ones. */
  setConfigurationFaults(faults: readonly Diagnostic[]): void {
    const { state, events } = this.#board
    const { appeared, mended } = diagnosticNews(state.faults, faults)
    state.faults = faults
    for (const fault of appeared) events.emit('configuration-fault', fault)
    for (const file of mended) events.emit('configuration-mended', { file })
  }

  /** How the configuration is reloaded. */
  reloadWith(reload: () => Promise<void>): void {
    this.#board.state.reload = reload
  }

  /** Ends something together with the board. */
  beforeClose(closer: () => unknown): void {
    this.#board.closers.push(closer)
  }

  /** Reports a problem that did not stop the work; also to listeners that subscribe a moment later. */
  warn(text: string, server?: string): void {
    this.#board.warn(text, server)
  }

  async #apply(configured: readonly ConfiguredServer[], rules?: readonly PermissionRule[]): Promise<void> {
    const { state, servers, calls, events } = this.#board
    if (state.closed) throw new IoError('The board is closed.')
    const { arrived, removed, left } = servers.replace(configured)
    const newRules = rules !== undefined && !isDeepStrictEqual(rules, state.rules)
    if (newRules) setRules(this.#board, rules)
    else calls.forget()
    const added = arrived.map(({ server }) => server.name)
    if (!newRules && added.length + removed.length === 0) return
    events.emit('configuration-changed', { added, removed, rules: newRules })
    // A changed server is started when the old one is gone: they may compete for a port or a file.
    await left
    if (state.awake && !state.closed) for (const connection of arrived) connection.wake()
  }
}
