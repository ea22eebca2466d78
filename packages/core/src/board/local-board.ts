// local-board.ts: a board whose servers are connected by this process. It is the face that programs see; what passes
// requests on for others takes `link`. The parts behind both are put together in internals.ts.
import { abortable, atMost } from '../async/waits.ts'
import type { Board, ModelCallContext, ReadyOptions, WaitOptions } from '../board.ts'
import type { ServerInput } from '../config/entry.ts'
import type { ConfiguredServer, Diagnostic } from '../config/types.ts'
import { JsonRpcError } from '../connection/request-errors.ts'
import { readTask } from '../connection/task-state.ts'
import { Cancelled, InvalidInput, IoError, isPlugboardError } from '../errors.ts'
import type { BoardEvent, BoardEvents, EventType, TaskState } from '../events.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import type { SkillFile } from '../skills/index.ts'
import {
  type Args,
  type BoundTool,
  type CallContext,
  type CallRest,
  errorResult,
  type LoadingOptions,
  parsedArguments,
  type ResultOf,
  type TokenCosts,
  type Tool,
  type ToolChange,
  type ToolName,
  type ToolResult,
} from '../tools/index.ts'
import { BoardLink } from './board-link.ts'
import { disabledError, findTool } from './find-tool.ts'
import { assembleBoard, type BoardInternals } from './internals.ts'
import type { BoardParts } from './options.ts'
import { namedServer } from './programmatic-servers.ts'
import type {
  BoardPrompt,
  BoardResource,
  BoardTemplate,
  Completion,
  CompletionOf,
  OfRequest,
  PromptResult,
  ResourceContent,
} from './resources-and-prompts.ts'
import { type ServerHandle, serverHandle } from './server-handle.ts'
import type { BoardSkill, ReadSkillOptions } from './skills.ts'
import type { ServerSnapshot } from './snapshot.ts'
import type { FoundTool, RegisteredTool } from './tool-registry.ts'

type Signal = Pick<WaitOptions, 'signal'>

/**
 * A board in this process; `openBoard` returns one.
 *
 * @example
 * const local = await openBoard({ servers: {} })
 * console.log(local instanceof LocalBoard) // true
 * await local.close()
 */
export class LocalBoard implements Board {
  /** For code that passes requests on or replaces the servers; programs do not need it. */
  readonly link: BoardLink
  readonly #parts: BoardInternals

  constructor(options: BoardParts, servers: readonly ConfiguredServer[]) {
    this.#parts = assembleBoard(options, servers)
    this.link = new BoardLink(this.#parts)
  }

  get stateDir(): string {
    return this.#parts.stateDir
  }

  servers(): readonly ServerSnapshot[] {
    const { servers } = this.#parts
    return [...servers.connections.values()].map((connection) => servers.snapshot(connection))
  }

  async ready({ start = 'all', server, ...options }: ReadyOptions = {}): Promise<void> {
    const { state, servers, host } = this.#parts
    if (start === 'all' && server === undefined) state.awake = true
    const names = start === 'all' ? [...servers.connections.keys()] : this.link.unlisted({ current: true })
    const wanted = names.filter((name) => server === undefined || name === server)
    const all = Promise.all(wanted.map((name) => this.#parts.connection(name).settled()))
    const work = options.timeoutMs === undefined ? all : atMost(host, options.timeoutMs, all)
    try {
      await abortable<unknown>(work, options.signal)
    } catch (error) {
      throw new Cancelled(undefined, { cause: error })
    }
  }

  async connect(server: string, { signal }: Signal = {}): Promise<ServerSnapshot> {
    const connection = this.#parts.connection(server)
    await connection.settled(signal)
    return this.#parts.servers.snapshot(connection)
  }

  async reconnect(server: string, { signal }: Signal = {}): Promise<ServerSnapshot> {
    const connection = this.#parts.connection(server)
    if (connection.state.kind === 'disabled') throw disabledError(server, connection.state.reason)
    await connection.reconnect(signal)
    return this.#parts.servers.snapshot(connection)
  }

  async ping(server: string, options: WaitOptions = {}): Promise<void> {
    const connection = this.#parts.connection(server)
    const { state } = connection
    // 2026-07-28 has no ping.
    const modern = state.kind === 'connected' && state.session.era === 'modern'
    try {
      await connection.request(modern ? 'server/discover' : 'ping', {}, options)
    } catch (error) {
      // A server that does not know the method has answered.
      if (!(error instanceof Error && error.cause instanceof JsonRpcError)) throw error
    }
  }

  tools(): readonly Tool[] {
    return this.#parts.tools.tools()
  }

  async toolsOf(server: string, { signal }: Signal = {}): Promise<readonly BoundTool[]> {
    await this.#parts.connection(server).list('tools', signal)
    return this.#parts.tools.tools().filter((tool) => tool.server === server)
  }

  tool(name: string, { signal }: Signal = {}): Promise<Tool> {
    return this.#find(name, signal)
  }

  call<const N extends ToolName>(name: N, ...rest: CallRest<N>): Promise<ResultOf<N>> {
    // The types of a known tool are narrower than these; nothing else can be in the tuple.
    const [args = {}, context] = rest as readonly [Args?, CallContext?]
    const { tools, calls } = this.#parts
    const known = tools.named(name)
    const result = known ? calls.call(known, args, context) : this.#call(name, args, context)
    return result as Promise<ResultOf<N>>
  }

  async callForModel(
    name: string,
    args: unknown = {},
    { decode, ...context }: ModelCallContext = {},
  ): Promise<ToolResult> {
    try {
      const tool = await this.#find(name, context.signal)
      const given = typeof args === 'string' ? parsedArguments(args) : args
      const decoded = decode ? decode(given, tool.definition.inputSchema) : given
      // The call itself refuses anything but an object.
      return await this.#parts.calls.call(tool, decoded as Args, context)
    } catch (error) {
      if (this.#parts.state.closed || context.signal?.aborted) throw error
      if (!isPlugboardError(error) || error.code === 'CANCELLED') throw error
      return errorResult(error)
    }
  }

  async awaitTask(tool: string, taskId: string, context?: CallContext): Promise<ToolResult> {
    const found = await this.#find(tool, context?.signal)
    return await this.#parts.calls.awaitTask(found, taskId, context)
  }

  async taskState(server: string, taskId: string, options: Signal = {}): Promise<TaskState> {
    const task = readTask(await this.#parts.connection(server).request('tasks/get', { taskId }, options))
    if (!task) throw new IoError(`"${server}" answered something that is not a task.`, { server })
    return task
  }

  async cancelTask(server: string, taskId: string, options: Signal = {}): Promise<void> {
    await this.#parts.connection(server).request('tasks/cancel', { taskId }, options)
  }

  server<const S extends string>(name: S): ServerHandle<S> {
    this.#parts.connection(name)
    return serverHandle(
      {
        board: this,
        call: (server, tool, args, context) => this.#callOn(server, tool, args, context),
        toolNames: (server) =>
          this.#parts.tools.tools().flatMap((tool) => (tool.server === server ? [tool.definition.name] : [])),
      },
      name,
    )
  }

  async add(name: string, entry: ServerInput): Promise<ServerSnapshot> {
    if (this.link.configured(name))
      throw new InvalidInput(`There is a server named "${name}" already.`, {
        server: name,
        hint: 'Use `board.update()` to replace it, or another name.',
      })
    return await this.#put(name, entry)
  }

  async update(name: string, entry: ServerInput): Promise<ServerSnapshot> {
    this.#parts.connection(name)
    return await this.#put(name, entry)
  }

  async remove(name: string): Promise<void> {
    this.#parts.connection(name)
    await this.link.drop(name)
  }

  searchTools(query: string, limit?: number): readonly FoundTool[] {
    return this.#parts.tools.search(query, limit)
  }

  toolsFor(options: LoadingOptions = {}): RegisteredTool {
    return this.#parts.tools.offer(options)
  }

  toolCosts(): TokenCosts {
    return this.#parts.tools.ledger()
  }

  async changedTools(server: string, options: Signal = {}): Promise<readonly ToolChange[]> {
    return await this.#parts.calls.accepted.review(server, await this.toolsOf(server, options))
  }

  async acceptTools(server: string, names?: readonly string[]): Promise<void> {
    const tools = await this.toolsOf(server)
    const { accepted } = this.#parts.calls
    if (!names) return await accepted.acceptAll(server, tools)
    for (const tool of tools) if (names.includes(tool.definition.name)) accepted.accept(tool)
    await accepted.flush()
  }

  resources(of: OfRequest = {}): Promise<readonly BoardResource[]> {
    return this.#parts.offers.resources(of)
  }

  templates(of: OfRequest = {}): Promise<readonly BoardTemplate[]> {
    return this.#parts.offers.templates(of)
  }

  read(server: string, uri: string, context: CallContext = {}): Promise<readonly ResourceContent[]> {
    return this.#parts.offers.read(server, uri, context)
  }

  subscribe(server: string, uri: string, context: CallContext = {}): Promise<void> {
    return this.#parts.offers.subscribe(server, uri, context)
  }

  async unsubscribe(server: string, uri: string): Promise<void> {
    await this.#parts.connection(server).unsubscribe(uri)
  }

  prompts(of: OfRequest = {}): Promise<readonly BoardPrompt[]> {
    return this.#parts.offers.prompts(of)
  }

  prompt(
    server: string,
    name: string,
    args: Readonly<Record<string, string>> = {},
    context: CallContext = {},
  ): Promise<PromptResult> {
    return this.#parts.offers.prompt(server, name, args, context)
  }

  skills(of: OfRequest = {}): Promise<readonly BoardSkill[]> {
    return this.#parts.skills.list(of)
  }

  readSkill(server: string, name: string, options: ReadSkillOptions = {}): Promise<SkillFile> {
    return this.#parts.skills.read(server, name, options)
  }

  complete(
    server: string,
    of: CompletionOf,
    given: Readonly<Record<string, string>> = {},
    { signal }: Signal = {},
  ): Promise<Completion> {
    return this.#parts.offers.complete(server, of, given, signal)
  }

  async setRoots(folders: readonly string[]): Promise<void> {
    const { state, servers } = this.#parts
    if (!state.roots) throw new InvalidInput('This board was opened without roots.')
    state.roots = folders
    const told = [...servers.connections.values()].filter(
      ({ state: at }) => at.kind === 'connected' && at.session.era === 'legacy',
    )
    await Promise.allSettled(told.map((one) => one.notify('notifications/roots/list_changed')))
  }

  configurationFaults(): readonly Diagnostic[] {
    return this.#parts.state.faults
  }

  async reload(): Promise<void> {
    await this.#parts.state.reload?.()
  }

  on<T extends EventType>(type: T, listener: (event: BoardEvents[T]) => void): () => void {
    return this.#parts.events.on(type, listener)
  }

  events(signal?: AbortSignal): AsyncIterableIterator<BoardEvent> {
    return this.#parts.events.stream(signal)
  }

  close(): Promise<void> {
    const { state } = this.#parts
    state.closed ??= this.#end()
    return state.closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #end(): Promise<void> {
    const { servers, calls, closers, host } = this.#parts
    await servers.close()
    await atMost(host, CONNECT_LIMITS.closeMs, calls.close())
    const owned = Promise.allSettled(closers.map(async (closer) => closer()))
    await atMost(host, CONNECT_LIMITS.closeMs, owned)
    await servers.flush()
  }

  async #call(name: string, args: Args, context?: CallContext): Promise<ToolResult> {
    const tool = await this.#find(name, context?.signal)
    return await this.#parts.calls.call(tool, args, context)
  }

  /** By the server's own name of the tool, which no other spelling can mean. */
  async #callOn(server: string, tool: string, args: Args, context: CallContext): Promise<ToolResult> {
    const { tools, calls } = this.#parts
    if (!tools.find(server, tool)) await this.toolsOf(server, context)
    const found = tools.find(server, tool)
    if (!found) return await this.#call(`${server}.${tool}`, args, context)
    return await calls.call(found, args, context)
  }

  async #put(name: string, entry: ServerInput): Promise<ServerSnapshot> {
    await this.link.put(await namedServer(name, entry, name))
    return this.#parts.servers.snapshot(this.#parts.connection(name))
  }

  #find(name: string, signal: AbortSignal | undefined): Promise<BoundTool> {
    const { tools, servers, connection } = this.#parts
    return findTool({ pool: tools, servers: servers.names, connection }, name, signal)
  }
}
