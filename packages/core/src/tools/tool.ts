// tool.ts: one interface for every tool, built-in or remote, and the class for a tool of a server. call.ts has the
// steps of a call.
import type { ZodType } from 'zod'
import type { Progress } from '../events.ts'
import type { Decision } from '../permissions/index.ts'
import { describeTool } from '../text/sanitize.ts'
import { type ToolTraits, toolTraits, userFacingName } from './annotations.ts'
import type { JsonSchema, ToolDefinition } from './definition.ts'
import type { ToolResult } from './result.ts'
import { resultLimit } from './result.ts'
import {
  type CompiledSchema,
  compileSchema,
  requireZod,
  type SchemaResult,
  toZod,
  type Zod,
} from './schema/index.ts'

/** The part of a tool that a model receives. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly inputJsonSchema: JsonSchema
}

export type { Progress }

/** The caller, and how to follow the call. */
export interface CallContext {
  /** `user`: the user typed it, which is consent. `client`: the client of a served board. Default `agent`. */
  readonly caller?: 'user' | 'agent' | 'client'
  /** Which client of a served board: prompts and grants of one client do not apply to another. */
  readonly client?: string
  /** The user of that client, where a served board knows users by name; the audit log says it. */
  readonly user?: string | undefined
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** Milliseconds for this call, instead of the server's. */
  readonly timeoutMs?: number
  /**
   * Milliseconds for the whole call, however much progress it reports; when left out, ten minutes, or an hour where the
   * call becomes a task.
   */
  readonly totalMs?: number
  /**
   * A task that the call becomes goes on when `signal` is aborted, and a tool that can run as a task does. `onProgress`
   * tells the task's id; `awaitTask` of the board gets its result.
   */
  readonly detachable?: boolean
  /** The limit on returned text, instead of the tool's own. */
  readonly maxResultChars?: number
  /** Keeps the server's result as it came, in `answer` of the result, beside what a model receives. */
  readonly keepAnswer?: boolean
}

/** A tool of any server: name, schema, traits, and how to call it. */
export interface Tool extends OfferedTool {
  readonly outputJsonSchema: JsonSchema | undefined
  /** The input schema as a Zod type, made when first used. */
  readonly inputSchema: ZodType
  readonly maxResultSizeChars: number
  /** False while its server is away: the definition is the last known one. */
  readonly available: boolean
  /** Sent to the model whatever the budget. */
  readonly alwaysLoad: boolean
  readonly mcpInfo: { readonly serverName: string; readonly toolName: string }
  /** What of its schema could not be used. */
  readonly warnings: readonly string[]
  call(args: Readonly<Record<string, unknown>>, context?: CallContext): Promise<ToolResult>
  /** Whether a call with these arguments is allowed, asks or is denied, and by which rule. It prompts no user. */
  checkPermissions(args?: Readonly<Record<string, unknown>>): Decision
  /** What is wrong with the arguments, path by path; undefined when they are valid. */
  argumentProblem(args: unknown): string | undefined
  isReadOnly(): boolean
  isConcurrencySafe(): boolean
  isDestructive(): boolean
  isIdempotent(): boolean
  isOpenWorld(): boolean
  userFacingName(): string
}

/**
 * What a tool is made of.
 *
 * @example
 * const definition = { name: 'say', inputSchema: { type: 'object' } }
 * const options: BoundToolOptions = { name: 'mcp__notes__say', server: 'notes', definition, env: process.env }
 * console.log(options.definition.name) // say
 */
export interface BoundToolOptions {
  /** The name the model sees, from the registry. */
  readonly name: string
  readonly server: string
  readonly definition: ToolDefinition
  readonly alwaysLoad?: boolean
  /** The tools a built-in server allows by itself. */
  readonly builtinAllows?: readonly string[] | undefined
  /** Its definition was read by an earlier process. */
  readonly remembered?: boolean
  /** The settings say that it may run in parallel with other calls. */
  readonly concurrent?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Only `inputSchema` needs it; loaded on demand when it is not given. */
  readonly zod?: Zod
}

/** How a tool reaches the call pipeline; the board provides it. */
export interface ToolActions {
  call(tool: BoundTool, args: Readonly<Record<string, unknown>>, context: CallContext): Promise<ToolResult>
  decide(tool: BoundTool, args?: Readonly<Record<string, unknown>>): Decision
  /** True when left out. */
  isAvailable?(tool: BoundTool): boolean
}

/**
 * One tool of one server. Everything costly is made once, when first needed.
 *
 * @example
 * const [tool] = board.link.tools()
 * if (tool instanceof BoundTool) console.log(tool.server, tool.definition.name) // notes say
 */
export class BoundTool implements Tool {
  readonly name: string
  readonly server: string
  readonly definition: ToolDefinition
  readonly traits: ToolTraits
  readonly alwaysLoad: boolean
  readonly builtinAllows: readonly string[] | undefined
  /** Its definition was read by an earlier process: enough to show it, not to call it. */
  readonly remembered: boolean
  readonly maxResultSizeChars: number
  readonly #zod: Zod | undefined
  readonly #actions: ToolActions
  #description: string | undefined
  #input: CompiledSchema | undefined
  #output: CompiledSchema | undefined
  #inputSchema: ZodType | undefined

  constructor(options: BoundToolOptions, actions: ToolActions) {
    this.name = options.name
    this.server = options.server
    this.definition = options.definition
    const traits = toolTraits(options.definition)
    this.traits = options.concurrent ? { ...traits, concurrencySafe: true } : traits
    this.alwaysLoad =
      options.alwaysLoad === true || options.definition.meta?.['anthropic/alwaysLoad'] === true
    this.builtinAllows = options.builtinAllows
    this.remembered = options.remembered === true
    this.maxResultSizeChars = resultLimit(options.definition.meta, options.env)
    this.#zod = options.zod
    this.#actions = actions
  }

  get description(): string {
    this.#description ??= describeTool(this.definition.description, {
      name: this.definition.name,
      title: this.definition.title ?? this.definition.annotations?.title,
    })
    return this.#description
  }

  get inputJsonSchema(): JsonSchema {
    return this.definition.inputSchema
  }

  get outputJsonSchema(): JsonSchema | undefined {
    return this.definition.outputSchema
  }

  get inputSchema(): ZodType {
    this.#inputSchema ??= toZod(this.#zod ?? requireZod(), this.definition.inputSchema, this.#compiledInput())
    return this.#inputSchema
  }

  get available(): boolean {
    return this.#actions.isAvailable?.(this) ?? true
  }

  get mcpInfo(): { readonly serverName: string; readonly toolName: string } {
    return { serverName: this.server, toolName: this.definition.name }
  }

  get warnings(): readonly string[] {
    return this.#compiledInput().warnings
  }

  checkArguments(args: unknown): SchemaResult {
    return this.#compiledInput().check(args)
  }

  checkOutput(structured: unknown): SchemaResult {
    if (this.definition.outputSchema === undefined) return { kind: 'valid' }
    this.#output ??= compileSchema(this.definition.outputSchema)
    return this.#output.check(structured)
  }

  argumentProblem(args: unknown): string | undefined {
    const verdict = this.checkArguments(args)
    return verdict.kind === 'invalid' ? issueText(verdict) : undefined
  }

  call(args: Readonly<Record<string, unknown>>, context: CallContext = {}): Promise<ToolResult> {
    return this.#actions.call(this, args, context)
  }

  checkPermissions(args?: Readonly<Record<string, unknown>>): Decision {
    return this.#actions.decide(this, args)
  }

  isReadOnly = () => this.traits.readOnly
  isConcurrencySafe = () => this.traits.concurrencySafe
  isDestructive = () => this.traits.destructive
  isIdempotent = () => this.traits.idempotent
  isOpenWorld = () => this.traits.openWorld
  userFacingName = () => userFacingName(this.definition)

  #compiledInput(): CompiledSchema {
    this.#input ??= compileSchema(this.definition.inputSchema)
    return this.#input
  }
}

/** One line per fault, each with its place. */
export function issueText(verdict: Extract<SchemaResult, { kind: 'invalid' }>): string {
  return verdict.issues
    .map(({ path, message }) => (path === '' ? `it ${message}` : `${path} ${message}`))
    .join('; ')
}
