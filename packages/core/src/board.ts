// board.ts: what a program uses of a board: its servers, tools, resources, prompts and events. `LocalBoard` in
// board/local-board.ts is a board in this process; what passes requests on for others works below it, on `BoardLink`.

import type {
  BoardPrompt,
  BoardResource,
  BoardTemplate,
  Completion,
  CompletionOf,
  OfRequest,
  PromptResult,
  ResourceContent,
} from './board/resources-and-prompts.ts'
import type { ServerHandle } from './board/server-handle.ts'
import type { BoardSkill, ReadSkillOptions } from './board/skills.ts'
import type { ServerSnapshot } from './board/snapshot.ts'
import type { FoundTool, RegisteredTool } from './board/tool-registry.ts'
import type { ServerInput } from './config/entry.ts'
import type { Diagnostic } from './config/types.ts'
import type { BoardEvent, BoardEvents, EventType, TaskState } from './events.ts'
import type { SkillFile } from './skills/index.ts'
import type {
  CallContext,
  CallRest,
  JsonSchema,
  LoadingOptions,
  ResultOf,
  TokenCosts,
  Tool,
  ToolChange,
  ToolName,
  ToolResult,
} from './tools/index.ts'

export type {
  BoardBehaviour,
  BoardDefinition,
  BoardOptions,
  InProcessServer,
  ProtocolMessage,
} from './board/options.ts'
export type { ServerSnapshot } from './board/snapshot.ts'

/** How a call for a model is made: as any other, and how its arguments are decoded. */
export interface ModelCallContext extends CallContext {
  /** Turns a provider's arguments into those of the tool: `fromAnthropic`, `fromStrict` or `fromGemini`. */
  readonly decode?: (args: unknown, schema: JsonSchema) => unknown
}

/**
 * How long to wait, and how to stop waiting.
 *
 * @example
 * const patience: WaitOptions = { timeoutMs: 5000, signal: AbortSignal.timeout(60_000) }
 * await board.ready(patience)
 */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export interface ReadyOptions extends WaitOptions {
  /**
   * `unlisted`: only servers whose lists are not known from the catalog, or were read too long ago to be relied on. Without a
   * catalog that is every server.
   */
  readonly start?: 'all' | 'unlisted' | undefined
  /** Only this server. */
  readonly server?: string | undefined
}

/** All servers of one program. Two boards in one process share nothing. */
export interface Board extends AsyncDisposable {
  /** Where logs and caches of this board are stored. */
  readonly stateDir: string

  servers(): readonly ServerSnapshot[]

  /**
   * Connects every enabled server and resolves when each is settled, connected or failed, or on timeout. It never
   * rejects because of a server.
   */
  ready(options?: ReadyOptions): Promise<void>

  /**
   * Connects one server if needed and resolves with its state, connected or not. A server that failed is tried again
   * when its last attempt is old enough.
   */
  connect(server: string, options?: Pick<WaitOptions, 'signal'>): Promise<ServerSnapshot>

  /**
   * Reconnects a server, whatever its state: one that failed or needs a login is tried at once, one that is up is
   * restarted. Resolves with its state then, connected or not; rejects with `Disabled` when it is disabled.
   *
   * @example
   * const { state, error } = await board.reconnect('github')
   * if (state !== 'connected') console.error(error?.message)
   */
  reconnect(server: string, options?: Pick<WaitOptions, 'signal'>): Promise<ServerSnapshot>

  /** Resolves when the server answers, with a result or an error; rejects when it does not. */
  ping(server: string, options?: WaitOptions): Promise<void>

  /** Every tool of every server that is, or was, connected; those of a server that is away are not `available`. */
  tools(): readonly Tool[]

  /** The tools of one server; connects it first if needed, and rejects when it cannot be connected. */
  toolsOf(server: string, options?: Pick<WaitOptions, 'signal'>): Promise<readonly Tool[]>

  /** The tool of either spelling, `mcp__server__tool` or `server.tool`; connects the servers that the name can mean. */
  tool(name: string, options?: Pick<WaitOptions, 'signal'>): Promise<Tool>

  /**
   * Calls a tool: validates the arguments, checks permission, connects if needed, and prepares the result for a
   * model.
   *
   * @example
   * const result = await board.call('mcp__codebase__search_code', { query: 'openBoard' })
   * for (const part of result.content) if (part.type === 'text') console.log(part.text)
   */
  call<const N extends ToolName>(name: N, ...rest: CallRest<N>): Promise<ResultOf<N>>

  /**
   * Calls a tool for a model, and never rejects for the model's own mistakes, a denial or a server that is away: the
   * result then has `isError` and a text that the model can act on. Only an aborted call and a closed board reject.
   * `args` may be the JSON text that some providers send.
   *
   * @example
   * const { isError, content } = await board.callForModel(block.name, block.input, { decode: fromAnthropic })
   */
  callForModel(name: string, args?: unknown, context?: ModelCallContext): Promise<ToolResult>

  /**
   * Waits for the task that an earlier call of the tool became, and returns its result as the call would have. The call
   * may have been made in another process: see `detachable` of a call's context.
   *
   * @example
   * const result = await board.awaitTask('reports.generate', taskId)
   */
  awaitTask(tool: string, taskId: string, context?: CallContext): Promise<ToolResult>

  /** What a server says now of a task. */
  taskState(server: string, taskId: string, options?: Pick<WaitOptions, 'signal'>): Promise<TaskState>

  /** Tells a server to cancel a task; the server decides whether the work stops. */
  cancelTask(server: string, taskId: string, options?: Pick<WaitOptions, 'signal'>): Promise<void>

  /**
   * One server as an object, with its tools as functions. Rejects nothing by itself: it throws `ServerNotFound` at once
   * when the board has no such server.
   *
   * @example
   * await board.server('memory').tools.search_nodes({ query: 'looms' })
   */
  server<const S extends string>(name: S): ServerHandle<S>

  /**
   * Adds a server for the life of this board; no file is written. It connects when it is needed, or at once when the
   * board was asked to be `ready`. Rejects with `InvalidInput` when the name is taken or the entry is wrong.
   *
   * @example
   * await board.add('docs', { url: 'https://example.com/mcp' })
   */
  add(name: string, entry: ServerInput): Promise<ServerSnapshot>

  /** Replaces a server's entry for the life of this board: the old one is disconnected first. */
  update(name: string, entry: ServerInput): Promise<ServerSnapshot>

  /** Disconnects a server and takes it off this board; files stay as they are. */
  remove(name: string): Promise<void>

  /** The tools that match a query in plain words, best first. */
  searchTools(query: string, limit?: number): readonly FoundTool[]

  /** What to give to a model with this context: all tools, or a search tool when they would take too much of it. */
  toolsFor(options?: LoadingOptions): RegisteredTool

  /** The estimated cost of the definitions in a model's context, per server. */
  toolCosts(): TokenCosts

  /** How a server's tools differ from the accepted ones. */
  changedTools(server: string, options?: Pick<WaitOptions, 'signal'>): Promise<readonly ToolChange[]>

  /** Accepts a server's current tools: all of them, or these. */
  acceptTools(server: string, names?: readonly string[]): Promise<void>

  /** The resources of the servers; connects them first if needed. */
  resources(of?: OfRequest): Promise<readonly BoardResource[]>

  templates(of?: OfRequest): Promise<readonly BoardTemplate[]>

  /** Reads a resource, if the permissions allow it. */
  read(server: string, uri: string, context?: CallContext): Promise<readonly ResourceContent[]>

  /** From now on `resource-updated` events report its changes, also after a reconnect. */
  subscribe(server: string, uri: string, context?: CallContext): Promise<void>

  unsubscribe(server: string, uri: string): Promise<void>

  prompts(of?: OfRequest): Promise<readonly BoardPrompt[]>

  prompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    context?: CallContext,
  ): Promise<PromptResult>

  /** The skills that servers list; connects them first if needed, and reads no file of any skill. */
  skills(of?: OfRequest): Promise<readonly BoardSkill[]>

  /**
   * Reads one file of a skill, if the server's channel permissions allow it, and verifies it: size, SHA-256 and the
   * front matter of `SKILL.md` must match the server's list. Rejects with `SkillUnverified` otherwise.
   *
   * @example
   * for (const { server, name, description } of await board.skills()) console.log(server, name, description)
   * const { body } = await board.readSkill('docs', 'pdf-processing')
   * const forms = await board.readSkill('docs', 'pdf-processing', { file: 'references/FORMS.md' })
   */
  readSkill(server: string, name: string, options?: ReadSkillOptions): Promise<SkillFile>

  /** Completions for an argument; `given` are the other arguments so far. */
  complete(
    server: string,
    of: CompletionOf,
    given?: Readonly<Record<string, string>>,
    options?: Pick<WaitOptions, 'signal'>,
  ): Promise<Completion>

  /** Changes the workspace; servers that were told about it are notified. */
  setRoots(folders: readonly string[]): Promise<void>

  /** The faults of the files that the board was configured from; the last good content of each is in force. */
  configurationFaults(): readonly Diagnostic[]

  /**
   * Reloads the configuration now, without waiting for a file to change. A board without files has nothing to reload.
   * A fault in a file is an event (`configuration-fault`), not an error.
   */
  reload(): Promise<void>

  on<T extends EventType>(type: T, listener: (event: BoardEvents[T]) => void): () => void

  /** Every event from now on. */
  events(signal?: AbortSignal): AsyncIterableIterator<BoardEvent>

  /** Ends every connection; idempotent and bounded in time. */
  close(): Promise<void>
}
