// remote-board.ts: the board of the resident process, as a command uses it: the same interface as a board in this process.
// What the interface returns at once (servers, tools) is what the last answer or event said.
import type {
  Board,
  BoardEvent,
  BoardEvents,
  CallContext,
  EventType,
  ModelCallContext,
  ServerInput,
  ServerSnapshot,
  TaskState,
  Tool,
  ToolResult,
} from '@plugboard/core'
import { type ServerHandle, serverHandle } from '@plugboard/core/board/server-handle'
import {
  type FoundTool,
  foundTools,
  offeredTools,
  type RegisteredTool,
  searchable,
} from '@plugboard/core/board/tool-offer'
import { isPlugboardError, OutcomeUnknown, ServerNotFound } from '@plugboard/core/errors'
import { Events } from '@plugboard/core/events'
import {
  BoundTool,
  type CallRest,
  errorResult,
  type LoadingOptions,
  parsedArguments,
  type ResultOf,
  type TokenCosts,
  ToolIndex,
  type ToolName,
  tokenCosts,
} from '@plugboard/core/tools'
import { decodeErrors, decodeEvent, decodeSnapshots, type WireTool } from '../board-encoding.ts'
import type { BoardState } from '../board-methods.ts'
import { type Peer, PeerClosed, type SendOptions } from '../json-rpc-socket.ts'
import type { OpenParams, OpenResult } from '../protocol.ts'

type Params = Readonly<Record<string, unknown>>
type Returned<K extends keyof Board> = Board[K] extends (...given: never) => infer R ? Awaited<R> : never

export interface RemoteBoardOptions {
  readonly peer: Peer
  readonly params: OpenParams
  readonly opened: Extract<OpenResult, { kind: 'opened' }>
  /** Resolves when no question that was withdrawn is on the screen any more. */
  questionsClosed?(): Promise<void>
  /** Another connection with the same board, when the process ended; undefined when there is none to be had. */
  redial?(): Promise<Peer | undefined>
}

export class RemoteBoard implements Board {
  readonly #options: RemoteBoardOptions
  readonly #events = new Events()
  readonly #heard = new Set<string>()
  #peer: Peer
  #servers: readonly ServerSnapshot[] = []
  #tools: readonly BoundTool[] = []
  #wireTools = new Map<string, WireTool>()
  #index: ToolIndex | undefined
  #faults: ReturnType<Board['configurationFaults']>
  #closed = false

  constructor(options: RemoteBoardOptions) {
    this.#options = options
    this.#peer = options.peer
    this.#faults = options.opened.diagnostics
    this.#servers = decodeSnapshots(options.opened.servers)
  }

  get stateDir(): string {
    return this.#options.opened.stateDir
  }

  /** For the owner of the connection: what the process sent without being asked. */
  notified(method: string, params: unknown): void {
    if (method !== 'board/event') return
    const { event, snapshot } = params as { readonly event: unknown; readonly snapshot?: unknown }
    if (snapshot !== undefined) {
      const fresh = decodeErrors(snapshot) as ServerSnapshot
      this.#servers = this.#servers.map((server) => (server.name === fresh.name ? fresh : server))
    }
    const { type, ...rest } = decodeEvent(event)
    this.#events.emit(type, rest as BoardEvents[typeof type])
  }

  /** For the owner of the connection: something that the user should read. */
  warn(text: string): void {
    this.#events.emit('warning', { text })
  }

  servers(): readonly ServerSnapshot[] {
    return this.#servers
  }

  async ready({ signal, ...options }: Parameters<Board['ready']>[0] = {}): Promise<void> {
    this.#learn((await this.#read('board/ready', options, { signal })) as BoardState)
  }

  async connect(server: string, { signal }: SendOptions = {}): Promise<ServerSnapshot> {
    return this.#settled(await this.#read('board/connect', { server }, { signal }))
  }

  async reconnect(server: string, { signal }: SendOptions = {}): Promise<ServerSnapshot> {
    return this.#settled(await this.#read('board/reconnect', { server }, { signal }))
  }

  async ping(server: string, { signal, timeoutMs }: Parameters<Board['ping']>[1] = {}): Promise<void> {
    await this.#send('board/ping', { server, timeoutMs }, { signal })
  }

  tools(): readonly Tool[] {
    return this.#tools
  }

  async toolsOf(server: string, { signal }: SendOptions = {}): Promise<readonly Tool[]> {
    this.#learn((await this.#read('board/toolsOf', { server }, { signal })) as BoardState)
    return this.#tools.filter((tool) => tool.server === server)
  }

  async tool(name: string, { signal }: SendOptions = {}): Promise<Tool> {
    try {
      const wire = (await this.#read('board/tool', { name }, { signal })) as WireTool
      return this.#bound(wire)
    } catch (error) {
      // What the board knows by now is what a caller would look up next.
      if (!this.#peer.isClosed && !signal?.aborted)
        this.#learn((await this.#send('board/state', {}, {})) as BoardState)
      throw error
    }
  }

  async call<const N extends ToolName>(name: N, ...rest: CallRest<N>): Promise<ResultOf<N>> {
    // The types of a known tool are narrower than these; nothing else can be in the tuple.
    const [args = {}, context = {}] = rest as readonly [Params?, CallContext?]
    return (await this.#call(name, args, context)) as ResultOf<N>
  }

  async callForModel(
    name: string,
    args: unknown = {},
    { decode, ...context }: ModelCallContext = {},
  ): Promise<ToolResult> {
    try {
      const tool = await this.tool(name, { signal: context.signal })
      const given = typeof args === 'string' ? parsedArguments(args) : args
      const decoded = decode ? decode(given, tool.inputJsonSchema) : given
      return await this.#call(tool.name, decoded as Params, context)
    } catch (error) {
      if (this.#closed || context.signal?.aborted) throw error
      if (!isPlugboardError(error) || error.code === 'CANCELLED') throw error
      return errorResult(error)
    }
  }

  async awaitTask(tool: string, taskId: string, context: CallContext = {}): Promise<ToolResult> {
    const { options, sent } = wireContext(context)
    return (await this.#read('board/awaitTask', { tool, taskId, context: sent }, options)) as ToolResult
  }

  async taskState(server: string, taskId: string, { signal }: SendOptions = {}): Promise<TaskState> {
    return (await this.#read('board/taskState', { server, taskId }, { signal })) as TaskState
  }

  async cancelTask(server: string, taskId: string, { signal }: SendOptions = {}): Promise<void> {
    await this.#send('board/cancelTask', { server, taskId }, { signal })
  }

  server<const S extends string>(name: S): ServerHandle<S> {
    if (!this.#servers.some((server) => server.name === name)) throw new ServerNotFound(name)
    return serverHandle(
      {
        board: this,
        call: (server, tool, args, context) => this.#callOn(server, tool, args, context),
        toolNames: (server) =>
          this.#tools.flatMap((tool) => (tool.server === server ? [tool.definition.name] : [])),
      },
      name,
    )
  }

  async add(name: string, entry: ServerInput): Promise<ServerSnapshot> {
    return this.#settled(await this.#send('board/add', { name, entry }, {}))
  }

  async update(name: string, entry: ServerInput): Promise<ServerSnapshot> {
    return this.#settled(await this.#send('board/update', { name, entry }, {}))
  }

  async remove(name: string): Promise<void> {
    this.#learn((await this.#send('board/remove', { name }, {})) as BoardState)
  }

  async #callOn(server: string, tool: string, args: Params, context: CallContext): Promise<ToolResult> {
    const find = () => this.#tools.find((one) => one.server === server && one.definition.name === tool)
    if (!find()) await this.toolsOf(server, { signal: context.signal })
    return await this.#call(find()?.name ?? `${server}.${tool}`, args, context)
  }

  async #call(name: string, args: Params, context: CallContext): Promise<ToolResult> {
    const { options, sent: given } = wireContext(context)
    const sent = { name, args, context: given }
    const tool = this.#wireTools.get(name)
    const { readOnlyHint, idempotentHint } = tool?.definition.annotations ?? {}
    if (readOnlyHint || idempotentHint) return (await this.#read('board/call', sent, options)) as ToolResult
    try {
      return (await this.#send('board/call', sent, options)) as ToolResult
    } catch (error) {
      if (!(error instanceof PeerClosed)) throw error
      const what = tool ? `${tool.server}.${tool.definition.name}` : name
      throw new OutcomeUnknown(
        `The resident board ended while ${what} was running; whether it was done is unknown.`,
        {
          ...(tool && { server: tool.server }),
          hint: 'Check what happened before you call it again.',
          cause: error,
        },
      )
    }
  }

  searchTools(query: string, limit?: number): readonly FoundTool[] {
    this.#index ??= new ToolIndex(this.#tools.map(searchable))
    const byName = new Map(this.#tools.map((tool) => [tool.name, tool]))
    return foundTools(this.#index, query, limit, (name) => byName.get(name))
  }

  toolsFor(options: LoadingOptions = {}): RegisteredTool {
    return offeredTools(this.#tools, options, this.#options.params.env)
  }

  toolCosts(): TokenCosts {
    return tokenCosts(this.#tools)
  }

  async changedTools(server: string, { signal }: SendOptions = {}): Promise<Returned<'changedTools'>> {
    return (await this.#read('board/changedTools', { server }, { signal })) as Returned<'changedTools'>
  }

  async acceptTools(server: string, names?: readonly string[]): Promise<void> {
    await this.#read('board/acceptTools', { server, ...(names && { names }) }, {})
  }

  async resources(of: Parameters<Board['resources']>[0] = {}): Promise<Returned<'resources'>> {
    return (await this.#list('resources', of)) as Returned<'resources'>
  }

  async templates(of: Parameters<Board['templates']>[0] = {}): Promise<Returned<'templates'>> {
    return (await this.#list('templates', of)) as Returned<'templates'>
  }

  async prompts(of: Parameters<Board['prompts']>[0] = {}): Promise<Returned<'prompts'>> {
    return (await this.#list('prompts', of)) as Returned<'prompts'>
  }

  async skills(of: Parameters<Board['skills']>[0] = {}): Promise<Returned<'skills'>> {
    return (await this.#list('skills', of)) as Returned<'skills'>
  }

  async read(server: string, uri: string, context: CallContext = {}): Promise<Returned<'read'>> {
    return (await this.#withContext('board/read', { server, uri }, context)) as Returned<'read'>
  }

  async subscribe(server: string, uri: string, context: CallContext = {}): Promise<void> {
    await this.#withContext('board/subscribe', { server, uri }, context)
  }

  async unsubscribe(server: string, uri: string): Promise<void> {
    await this.#read('board/unsubscribe', { server, uri }, {})
  }

  async prompt(
    server: string,
    name: string,
    args: Readonly<Record<string, string>> = {},
    context: CallContext = {},
  ): Promise<Returned<'prompt'>> {
    return (await this.#withContext('board/prompt', { server, name, args }, context)) as Returned<'prompt'>
  }

  async readSkill(
    server: string,
    name: string,
    options: Parameters<Board['readSkill']>[2] = {},
  ): Promise<Returned<'readSkill'>> {
    const { file, ...context } = options
    const given = { server, name, ...(file !== undefined && { file }) }
    const read = (await this.#withContext('board/readSkill', given, context)) as { bytes: string }
    return { ...read, bytes: Buffer.from(read.bytes, 'base64') } as unknown as Returned<'readSkill'>
  }

  async complete(
    server: string,
    of: Parameters<Board['complete']>[1],
    given: Readonly<Record<string, string>> = {},
    { signal }: SendOptions = {},
  ): Promise<Returned<'complete'>> {
    return (await this.#read('board/complete', { server, of, given }, { signal })) as Returned<'complete'>
  }

  async setRoots(folders: readonly string[]): Promise<void> {
    await this.#send('board/setRoots', { folders }, {})
  }

  configurationFaults(): Returned<'configurationFaults'> {
    return this.#faults
  }

  async reload(): Promise<void> {
    await this.#read('board/reload', {}, {})
    this.#faults = (await this.#read('board/faults', {}, {})) as Returned<'configurationFaults'>
    this.#learn((await this.#read('board/state', {}, {})) as BoardState)
  }

  on<T extends EventType>(type: T, listener: (event: BoardEvents[T]) => void): () => void {
    this.#hear([type])
    return this.#events.on(type, listener)
  }

  events(signal?: AbortSignal): AsyncIterableIterator<BoardEvent> {
    this.#hear(EVENT_TYPES)
    return this.#events.stream(signal)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#peer.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Warnings come without being asked for. */
  #hear(types: readonly EventType[]): void {
    const more = types.filter((type) => type !== 'warning' && !this.#heard.has(type))
    if (more.length === 0) return
    for (const type of more) this.#heard.add(type)
    // A process that ended has no more events; the next request says so.
    void this.#peer.request('board/events', { types: more }).catch(() => undefined)
  }

  #list(kind: string, { server, signal }: { readonly server?: string | undefined } & SendOptions) {
    return this.#read(`board/${kind}`, { ...(server !== undefined && { server }) }, { signal })
  }

  #withContext(method: string, params: Params, context: CallContext): Promise<unknown> {
    const { signal, onProgress, ...rest } = context
    return this.#read(method, { ...params, context: rest }, { signal, ...(onProgress && { onProgress }) })
  }

  #settled(answer: unknown): ServerSnapshot {
    const { snapshot, state } = answer as { readonly snapshot: unknown; readonly state: BoardState }
    this.#learn(state)
    return decodeErrors(snapshot) as ServerSnapshot
  }

  #learn({ servers, tools }: BoardState): void {
    this.#servers = decodeSnapshots(servers)
    this.#tools = tools.map((tool) => this.#bound(tool))
    this.#index = undefined
  }

  #bound(wire: WireTool): BoundTool {
    this.#wireTools.set(wire.name, wire)
    const { env } = this.#options.params
    return new BoundTool(
      { ...wire, env },
      {
        call: (tool, args, context) => this.#call(tool.name, args, context),
        decide: ({ name }) => (this.#wireTools.get(name) ?? wire).decision,
        isAvailable: ({ name }) => (this.#wireTools.get(name) ?? wire).available,
      },
    )
  }

  async #send(method: string, params: Params, options: SendOptions): Promise<unknown> {
    const answer = await this.#peer.request(method, params, options)
    await this.#options.questionsClosed?.()
    return answer
  }

  /** A request that may be sent twice: when the process ended, it is sent to the next one, once. */
  async #read(method: string, params: Params, options: SendOptions): Promise<unknown> {
    try {
      return await this.#send(method, params, options)
    } catch (error) {
      if (!(error instanceof PeerClosed) || this.#closed) throw error
      const next = await this.#options.redial?.()
      if (!next) throw error
      this.#peer = next
      this.#heard.clear()
      return await this.#send(method, params, options)
    }
  }
}

const EVENT_TYPES: readonly EventType[] = [
  'state',
  'configuration-changed',
  'configuration-fault',
  'configuration-mended',
  'log',
  'list-changed',
  'resource-updated',
  'notification',
  'progress',
  'call-started',
  'call-ended',
]

/** A call's context as it travels, and what stays here. */
function wireContext({ signal, onProgress, maxResultChars, ...rest }: CallContext) {
  return {
    options: { signal, ...(onProgress && { onProgress }) },
    sent: {
      ...rest,
      // JSON has no infinity.
      ...(maxResultChars !== undefined && {
        maxResultChars: Number.isFinite(maxResultChars) ? maxResultChars : null,
      }),
    },
  }
}
