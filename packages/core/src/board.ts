// board.ts: the API for all servers of one program, and the owner of everything behind it. All state belongs to a
// board, so two boards in one process share nothing. board/ opens a board, chooses its servers and serves calls,
// prompts and lists; connection/ keeps a single server connected.
import { isDeepStrictEqual } from 'node:util'
import { SerialQueue } from './async/serial-queue.ts'
import { abortable, atMost } from './async/waits.ts'
import { Calls, disabledError, findTool } from './board/calls.ts'
import { inProcessEntries } from './board/in-process.ts'
import type { BoardDefinition, BoardParts } from './board/options.ts'
import type { RequestHandlerOptions } from './board/request-handlers.ts'
import {
  type BoardPrompt,
  type BoardResource,
  type BoardTemplate,
  type Completion,
  type CompletionOf,
  type OfRequest,
  type PromptResult,
  type ResourceContent,
  ResourcesAndPrompts,
} from './board/resources-and-prompts.ts'
import { BoardServers } from './board/servers.ts'
import { type BoardSkill, type ReadSkillOptions, Skills } from './board/skills.ts'
import type { ServerSnapshot } from './board/snapshot.ts'
import { candidateServers, type FoundTool, type RegisteredTool, ToolRegistry } from './board/tool-registry.ts'
import { diagnosticNews } from './config/last-good.ts'
import type { PermissionRule } from './config/resolve.ts'
import { stateFolder } from './config/sources.ts'
import type { ConfiguredServer, Diagnostic } from './config/types.ts'
import type { Connection } from './connection/connection.ts'
import type { RequestOptions } from './connection/requests.ts'
import type { Json } from './connection/server-info.ts'
import { Cancelled, InvalidInput, IoError, NotFound } from './errors.ts'
import { type BoardEvent, type BoardEvents, Events, type EventType } from './events.ts'
import { type Host, systemHost } from './host.ts'
import { type Hook, Hooks, Sampling } from './interaction/index.ts'
import { CONNECT_LIMITS } from './limits.ts'
import type { SkillFile } from './skills/index.ts'
import type {
  Args,
  BoundTool,
  CallContext,
  LoadingOptions,
  TokenCosts,
  Tool,
  ToolChange,
  ToolResult,
} from './tools/index.ts'

export type { BoardBehaviour, BoardDefinition, BoardOptions, InProcessServer } from './board/options.ts'
export type { ServerSnapshot } from './board/snapshot.ts'

import type { TaskOptions } from './board/tasks.ts'

export class Board {
  readonly #options: BoardParts
  readonly #host: Host
  readonly #events = new Events()
  readonly #stateDir: string
  readonly #roster: BoardServers
  readonly #applying = new SerialQueue()
  readonly #pool: ToolRegistry
  readonly #calls: Calls
  readonly #offers: ResourcesAndPrompts
  readonly #skills: Skills
  readonly #asks: RequestHandlerOptions
  #rules: readonly PermissionRule[] = []
  #roots: readonly string[] | undefined
  #faults: readonly Diagnostic[] = []
  #awake = false
  #closed: Promise<void> | undefined
  #reload: (() => Promise<void>) | undefined
  readonly #closers: (() => unknown)[] = []

  constructor(options: BoardParts, servers: readonly ConfiguredServer[]) {
    const host = options.host ?? systemHost()
    this.#options = options
    this.#host = host
    this.#stateDir = options.stateDir ?? stateFolder(host)
    this.#roots =
      (options.roots ?? options.workspace ?? (options.cwd === undefined ? false : [options.cwd])) || undefined
    const cwd = options.cwd ?? process.cwd()
    const warn = (text: string) => this.warn(text)
    const hooks = new Hooks(options.hooks ?? [], { host: hookHost(host, cwd), cwd, warn })
    const elicitation = { ask: options.elicit, hooks, warn }
    const sampling = options.sample && new Sampling({ host, ...options.sample })
    this.#asks = { elicitation, hooks, sampling, cwd, roots: () => this.#roots }
    const connection = (name: string) => this.connection(name)
    this.#roster = new BoardServers({
      board: options,
      host,
      stateDir: this.#stateDir,
      events: this.#events,
      asks: this.#asks,
    })
    this.#calls = new Calls({
      host,
      stateDir: this.#stateDir,
      events: this.#events,
      caller: options.caller ?? 'agent',
      ask: options.ask,
      saveRule: options.saveRule,
      ruleFile: options.ruleFile,
      askForClients: options.askForClients,
      audit: options.audit,
      builtinAsks: options.builtinAsks,
      hooks,
      elicitation: options.elicit || hooks.has('Elicitation') ? elicitation : undefined,
      server: (name) => this.#roster.servers.get(name),
      connection,
    })
    this.#setRules(options.rules ?? [])
    this.#pool = new ToolRegistry({
      env: host.env,
      actions: this.#calls,
      sources: () => this.#roster.toolSources(),
      warn: (server, text) => this.#roster.connections.get(server)?.log.add('plugboard', text),
    })
    this.#offers = new ResourcesAndPrompts({
      connection,
      connections: () => [...this.#roster.connections],
      permit: (server, method, name, context) => this.#calls.permit(server, method, name, context),
      isReadable: (server) => this.isReadable(server),
      requireReadable: (server) => this.#calls.requireReadable(server),
    })
    this.#skills = new Skills(this.#offers, connection)
    for (const server of servers) this.#roster.add(server)
  }

  /** Where logs and caches of this board are stored. */
  get stateDir(): string {
    return this.#stateDir
  }

  servers(): readonly ServerSnapshot[] {
    return [...this.#roster.connections.values()].map((connection) => this.#roster.snapshot(connection))
  }

  /**
   * Connects every enabled server and resolves when each is settled, connected or failed, or on timeout. It never
   * rejects because of a server.
   */
  async ready(options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {}): Promise<void> {
    this.#awake = true
    const all = Promise.all([...this.#roster.connections.values()].map((connection) => connection.settled()))
    const work = options.timeoutMs === undefined ? all : atMost(this.#host, options.timeoutMs, all)
    try {
      await abortable<unknown>(work, options.signal)
    } catch (error) {
      throw new Cancelled(undefined, { cause: error })
    }
  }

  connection(name: string): Connection {
    return this.#roster.connection(name)
  }

  /** The servers that a spelling of a tool can mean, before any of them has listed its tools. */
  serversMeant(spelling: string): readonly string[] {
    return candidateServers(spelling, this.#roster.names)
  }

  /** Every tool of every server that is, or was, connected; those of a server that is away are not `available`. */
  tools(): readonly Tool[] {
    return this.#pool.tools()
  }

  /** The tool of either spelling, `mcp__server__tool` or `server.tool`; connects the servers that the name can mean. */
  tool(name: string, options: { readonly signal?: AbortSignal } = {}): Promise<Tool> {
    return this.#find(name, options.signal)
  }

  /**
   * Calls a tool: validates the arguments, checks permission, connects if needed, and prepares the result for a
   * model.
   *
   * @example
   * const result = await board.call('mcp__codebase__search_code', { query: 'openBoard' })
   * for (const part of result.content) if (part.type === 'text') console.log(part.text)
   */
  async call(name: string, args: Args = {}, context: CallContext = {}): Promise<ToolResult> {
    const known = this.#pool.resolve(name)
    const tool = known.kind === 'found' ? known.tool : await this.#find(name, context.signal)
    return await this.#calls.call(tool, args, context)
  }

  /** The tools that match a query in plain words, best first. */
  searchTools(query: string, limit?: number): readonly FoundTool[] {
    return this.#pool.search(query, limit)
  }

  /** What to give to a model with this context: all tools, or a search tool when they would take too much of it. */
  toolsFor(options: LoadingOptions = {}): RegisteredTool {
    return this.#pool.offer(options)
  }

  /** The estimated cost of the definitions in a model's context, per server. */
  toolCosts(): TokenCosts {
    return this.#pool.ledger()
  }

  /** How a server's tools differ from the accepted ones. */
  async changedTools(
    server: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly ToolChange[]> {
    await this.connection(server).list('tools', options.signal)
    return await this.#calls.accepted.review(server, this.#toolsOf(server))
  }

  /** Accepts a server's current tools: all of them, or these. */
  async acceptTools(server: string, names?: readonly string[]): Promise<void> {
    await this.connection(server).list('tools')
    const tools = this.#toolsOf(server)
    const { accepted } = this.#calls
    if (!names) return await accepted.acceptAll(server, tools)
    for (const tool of tools) if (names.includes(tool.definition.name)) accepted.accept(tool)
    await accepted.flush()
  }

  /** The resources of the servers; connects them first if needed. */
  resources(of: OfRequest = {}): Promise<readonly BoardResource[]> {
    return this.#offers.resources(of)
  }

  templates(of: OfRequest = {}): Promise<readonly BoardTemplate[]> {
    return this.#offers.templates(of)
  }

  /** Reads a resource, if the permissions allow it. */
  read(server: string, uri: string, context: CallContext = {}): Promise<readonly ResourceContent[]> {
    return this.#offers.read(server, uri, context)
  }

  /** From now on `resource-updated` events report its changes, also after a reconnect. */
  subscribe(server: string, uri: string, context: CallContext = {}): Promise<void> {
    return this.#offers.subscribe(server, uri, context)
  }

  unsubscribe(server: string, uri: string): Promise<void> {
    return this.connection(server).unsubscribe(uri)
  }

  prompts(of: OfRequest = {}): Promise<readonly BoardPrompt[]> {
    return this.#offers.prompts(of)
  }

  prompt(
    server: string,
    name: string,
    args: Readonly<Record<string, string>> = {},
    context: CallContext = {},
  ): Promise<PromptResult> {
    return this.#offers.prompt(server, name, args, context)
  }

  /** The skills that servers list; connects them first if needed, and reads no file of any skill. */
  skills(of: OfRequest = {}): Promise<readonly BoardSkill[]> {
    return this.#skills.list(of)
  }

  /**
   * Reads one file of a skill, if the server's channel permissions allow it, and verifies it: size, SHA-256 and the
   * front matter of `SKILL.md` must match the server's list. Rejects with `SkillUnverified` otherwise.
   *
   * @example
   * for (const { server, name, description } of await board.skills()) console.log(server, name, description)
   * const { body } = await board.readSkill('docs', 'pdf-processing')
   * const forms = await board.readSkill('docs', 'pdf-processing', { file: 'references/FORMS.md' })
   */
  readSkill(server: string, name: string, options: ReadSkillOptions = {}): Promise<SkillFile> {
    return this.#skills.read(server, name, options)
  }

  /** Completions for an argument; `given` are the other arguments so far. */
  complete(
    server: string,
    of: CompletionOf,
    given: Readonly<Record<string, string>> = {},
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<Completion> {
    return this.#offers.complete(server, of, given, options.signal)
  }

  /** Changes the workspace; servers that were told about it are notified. */
  async setRoots(folders: readonly string[]): Promise<void> {
    if (!this.#roots) throw new InvalidInput('This board was opened without roots.')
    this.#roots = folders
    const told = [...this.#roster.connections.values()].filter(
      ({ state }) => state.kind === 'connected' && state.session.era === 'legacy',
    )
    await Promise.allSettled(told.map((one) => one.notify('notifications/roots/list_changed')))
  }

  /** Every tool as its server defines it, for programs that pass them on. */
  definitions(): readonly BoardDefinition[] {
    return this.#roster.definitions()
  }

  /** Sends one request to one server, connecting it first if needed. */
  async request(server: string, method: string, params?: Json, options?: RequestOptions): Promise<Json> {
    return await this.connection(server).request(method, params, options)
  }

  /**
   * Calls a tool for a client that reads the result itself: permissions, hooks and the audit log apply, and the
   * result is passed on whole. `params` are those of `tools/call`, without the name.
   */
  async pass(
    server: string,
    tool: string,
    params: Json,
    context: CallContext = {},
    options: Pick<RequestOptions, 'concurrent' | 'totalMs'> & TaskOptions = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const known = this.#pool.find(server, tool)
    if (!known) throw new NotFound('tool', tool, { server, stage: 'call' })
    return await this.#calls.pass(known, params, context, options)
  }

  /** Rejects when the permissions do not allow reading the resource. */
  permitRead(server: string, uri: string, context: CallContext = {}): Promise<void> {
    return this.#calls.permit(server, 'resources/read', uri, context)
  }

  /** Rejects when the permissions do not allow getting the prompt. */
  permitPrompt(server: string, name: string, context: CallContext = {}): Promise<void> {
    return this.#calls.permit(server, 'prompts/get', name, context)
  }

  /** False where the permissions deny everything but tools: resources, prompts, completion and subscriptions. */
  isReadable(server: string): boolean {
    return this.#calls.decideRead(server).outcome !== 'deny'
  }

  /** May a hook replace the tool's result? Then the tool's output schema promises too much. */
  mayReplaceOutput({ name, mcpInfo }: Pick<Tool, 'name' | 'mcpInfo'>): boolean {
    const { serverName: server, toolName: tool } = mcpInfo
    return this.#asks.hooks.concerns('PostToolUse', { name, server, tool })
  }

  /**
   * Reconnects a server, whatever its state: one that failed or needs a login is tried at once, one that is up is
   * restarted. Resolves with its state then, connected or not; rejects with `Disabled` when it is disabled.
   *
   * @example
   * const { state, error } = await board.reconnect('github')
   * if (state !== 'connected') console.error(error?.message)
   */
  async reconnect(server: string, options: { readonly signal?: AbortSignal } = {}): Promise<ServerSnapshot> {
    const connection = this.connection(server)
    if (connection.state.kind === 'disabled') throw disabledError(server, connection.state.reason)
    await connection.reconnect(options.signal)
    return this.#roster.snapshot(connection)
  }

  /** Retries the servers that `same` selects, e.g. because the user logged in to them. */
  reconnectSame(same: (server: ConfiguredServer) => boolean): void {
    for (const [name, server] of this.#roster.servers) if (same(server)) this.connection(name).wake(true)
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
    if (hooks) this.#asks.hooks.replace(hooks)
    await this.#applying.run(() => this.#apply([...servers, ...inProcessEntries(this.#options)], rules))
  }

  /** The faults of the files that the board was configured from; the last good content of each is in force. */
  configurationFaults(): readonly Diagnostic[] {
    return this.#faults
  }

  /** Stores the current faults of the files, and reports new and repaired ones. */
  setConfigurationFaults(faults: readonly Diagnostic[]): void {
    const { appeared, mended } = diagnosticNews(this.#faults, faults)
    this.#faults = faults
    for (const fault of appeared) this.#events.emit('configuration-fault', fault)
    for (const file of mended) this.#events.emit('configuration-mended', { file })
  }

  on<T extends EventType>(type: T, listener: (event: BoardEvents[T]) => void): () => void {
    return this.#events.on(type, listener)
  }

  /** Every event from now on. */
  events(signal?: AbortSignal): AsyncIterableIterator<BoardEvent> {
    return this.#events.stream(signal)
  }

  /** Ends every connection; idempotent and bounded in time. */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#roster.close()
      await atMost(this.#host, CONNECT_LIMITS.closeMs, this.#calls.flush())
      const owned = Promise.allSettled(this.#closers.map(async (closer) => closer()))
      await atMost(this.#host, CONNECT_LIMITS.closeMs, owned)
      await this.#roster.flush()
    })()
    return this.#closed
  }

  /**
   * Reloads the configuration now, without waiting for a file to change. A board without files has nothing to reload.
   * A fault in a file is an event (`configuration-fault`), not an error.
   */
  async reload(): Promise<void> {
    await this.#reload?.()
  }

  /** How the configuration is reloaded. */
  reloadWith(reload: () => Promise<void>): void {
    this.#reload = reload
  }

  /** Ends something together with the board. */
  beforeClose(closer: () => unknown): void {
    this.#closers.push(closer)
  }

  /** Reports a problem that did not stop the work; also to listeners that subscribe a moment later. */
  warn(text: string, server?: string): void {
    this.#host.backgroundTimer(0, () =>
      this.#events.emit('warning', { text, ...(server !== undefined && { server }) }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #apply(servers: readonly ConfiguredServer[], rules?: readonly PermissionRule[]): Promise<void> {
    if (this.#closed) throw new IoError('The board is closed.')
    const { arrived, removed, left } = this.#roster.replace(servers)
    const newRules = rules !== undefined && !isDeepStrictEqual(rules, this.#rules)
    if (newRules) this.#setRules(rules)
    else this.#calls.forget()
    const added = arrived.map(({ server }) => server.name)
    if (!newRules && added.length + removed.length === 0) return
    this.#events.emit('configuration-changed', { added, removed, rules: newRules })
    // A changed server is started when the old one is gone: they may compete for a port or a file.
    await left
    if (this.#awake && !this.#closed) for (const connection of arrived) connection.wake()
  }

  #find(name: string, signal: AbortSignal | undefined): Promise<BoundTool> {
    const { names } = this.#roster
    return findTool(
      { pool: this.#pool, servers: names, connection: (one) => this.connection(one) },
      name,
      signal,
    )
  }

  #toolsOf(server: string): readonly BoundTool[] {
    return this.#pool.tools().filter((tool) => tool.server === server)
  }

  #setRules(rules: readonly PermissionRule[]): void {
    this.#rules = rules
    this.#calls.setRules(
      rules.map(({ action, rule, file, reach, signatures }) => ({
        effect: action,
        text: rule,
        source: file,
        reach,
        signatures,
      })),
    )
  }
}

/** Hooks written for a project find its folder where they expect it. */
function hookHost(host: Host, cwd: string): Host {
  return { ...host, env: { CLAUDE_PROJECT_DIR: cwd, PLUGBOARD_PROJECT_DIR: cwd, ...host.env } }
}
