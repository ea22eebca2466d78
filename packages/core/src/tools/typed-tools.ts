// typed-tools.ts: the exact types of calls. `plugboard generate types` fills `ToolTypes` by declaration merging; a tool that
// is not in it takes and returns what every tool does.
import type { Args } from './call.ts'
import type { ToolResult } from './result.ts'
import type { CallContext } from './tool.ts'

/**
 * The tools whose types are known, by `server.tool`.
 *
 * @example
 * declare module '@plugboard/core' {
 *   interface ToolTypes {
 *     'github.create_issue': { arguments: { title: string }; result: { number: number } }
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declaration merging
export interface ToolTypes {}

/** The names of `ToolTypes`; every other name is as good at run time. */
export type ToolName = (keyof ToolTypes & string) | (string & {})

/** The result of a tool, with the type of its structured content where it is known. */
export type ResultOf<N> = N extends keyof ToolTypes
  ? ToolTypes[N] extends { result: infer R }
    ? Omit<ToolResult, 'structuredContent'> & { readonly structuredContent?: R }
    : ToolResult
  : ToolResult

/** What follows the name in a call: the arguments, which may be left out where none is required, and the context. */
export type CallRest<N> = N extends keyof ToolTypes
  ? ToolTypes[N] extends { arguments: infer A }
    ? object extends A
      ? [args?: A, context?: CallContext]
      : [args: A, context?: CallContext]
    : [args?: Args, context?: CallContext]
  : [args?: Args, context?: CallContext]

/** The tools of one server as functions. */
export type ToolFunctions<S extends string> = [KnownOf<S>] extends [never]
  ? Readonly<Record<string, (args?: Args, context?: CallContext) => Promise<ToolResult>>>
  : {
      readonly [T in KnownOf<S>]: (...rest: CallRest<`${S}.${T}`>) => Promise<ResultOf<`${S}.${T}`>>
    }

type KnownOf<S extends string> = string extends S
  ? never
  : keyof ToolTypes extends infer K
    ? K extends `${S}.${infer T}`
      ? T
      : never
    : never
