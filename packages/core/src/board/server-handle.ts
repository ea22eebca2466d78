// server-handle.ts: one server of a board as an object: its tools as functions, and what the board knows of it.
import type { Board, WaitOptions } from '../board.ts'
import { ServerNotFound } from '../errors.ts'
import type { Args, CallContext, Tool, ToolFunctions, ToolResult } from '../tools/index.ts'
import type { BoardPrompt, BoardResource, PromptResult, ResourceContent } from './resources-and-prompts.ts'
import type { ServerSnapshot } from './snapshot.ts'

/**
 * One server.
 *
 * @example
 * const memory = board.server('memory')
 * const { structuredContent } = await memory.tools.search_nodes({ query: 'looms' })
 */
export interface ServerHandle<S extends string = string> {
  readonly name: S
  /** Its tools by their own names, as functions. A name that it does not have rejects with `NotFound` when it is called. */
  readonly tools: ToolFunctions<S>
  state(): ServerSnapshot
  connect(options?: Pick<WaitOptions, 'signal'>): Promise<ServerSnapshot>
  listTools(options?: Pick<WaitOptions, 'signal'>): Promise<readonly Tool[]>
  resources(): Promise<readonly BoardResource[]>
  read(uri: string, context?: CallContext): Promise<readonly ResourceContent[]>
  prompts(): Promise<readonly BoardPrompt[]>
  prompt(name: string, args?: Readonly<Record<string, string>>, context?: CallContext): Promise<PromptResult>
}

export interface ServerHandlePorts {
  readonly board: Board
  call(server: string, tool: string, args: Args, context: CallContext): Promise<ToolResult>
  /** The names of its tools, as far as they are known now. */
  toolNames(server: string): readonly string[]
}

export function serverHandle<S extends string>(
  { board, call, toolNames }: ServerHandlePorts,
  name: S,
): ServerHandle<S> {
  const tools = new Proxy(Object.create(null) as object, {
    get: (_, tool) =>
      // A promise resolves to an object with `then` by calling it.
      typeof tool === 'string' && tool !== 'then'
        ? (args: Args = {}, context: CallContext = {}) => call(name, tool, args, context)
        : undefined,
    has: (_, tool) => typeof tool === 'string' && toolNames(name).includes(tool),
    ownKeys: () => [...new Set(toolNames(name))],
    getOwnPropertyDescriptor: (_, tool) =>
      typeof tool === 'string' && toolNames(name).includes(tool)
        ? { configurable: true, enumerable: true, value: undefined }
        : undefined,
  })
  return {
    name,
    // The proxy answers every name; the type says which are known.
    tools: tools as ToolFunctions<S>,
    state: () => {
      const [state] = board.servers().filter((server) => server.name === name)
      if (!state) throw new ServerNotFound(name)
      return state
    },
    connect: (options) => board.connect(name, options),
    listTools: (options) => board.toolsOf(name, options),
    resources: () => board.resources({ server: name }),
    read: (uri, context) => board.read(name, uri, context),
    prompts: () => board.prompts({ server: name }),
    prompt: (prompt, args, context) => board.prompt(name, prompt, args, context),
  }
}
