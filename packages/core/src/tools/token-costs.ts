// token-costs.ts: what the tools cost in a model's context, per server, and what to do when that is too much.
import { TOOL_LIMITS } from '../limits.ts'
import { portable } from './formats/portable.ts'
import type { OfferedTool } from './tool.ts'

/** An estimate: about right for JSON and English in current tokenizers. */
const CHARS_PER_TOKEN = 3.6
const TOKENS_PER_TOOL = 12

/** A tool and how many tokens its definition takes. */
export interface CountedTool extends OfferedTool {
  readonly server: string
  readonly alwaysLoad: boolean
}

/** How many tokens the tools of one server take. */
export interface ServerTokenCost {
  readonly server: string
  readonly tools: number
  /** Estimated tokens of all its definitions. */
  readonly tokens: number
  readonly largest: { readonly name: string; readonly tokens: number }
}

/** How many tokens the definitions take, in all and by server. */
export interface TokenCosts {
  readonly servers: readonly ServerTokenCost[]
  readonly tools: number
  readonly tokens: number
}

/**
 * Estimated tokens of one definition as a provider gets it.
 *
 * @example
 * const [tool] = board.tools()
 * if (tool) console.log(toolTokens(tool) > 10) // true
 */
export function toolTokens(tool: OfferedTool): number {
  const text =
    tool.name.length + tool.description.length + JSON.stringify(portable(tool.inputJsonSchema)).length
  return Math.ceil(text / CHARS_PER_TOKEN) + TOKENS_PER_TOOL
}

/**
 * How many tokens of a model's context the definitions take, in all and by server.
 *
 * @example
 * console.log(tokenCosts(board.link.tools()).servers[0]?.server) // notes
 */
export function tokenCosts(tools: readonly CountedTool[]): TokenCosts {
  const lines = new Map<string, { tools: number; tokens: number; largest: ServerTokenCost['largest'] }>()
  for (const tool of tools) {
    const tokens = toolTokens(tool)
    const line = lines.get(tool.server) ?? { tools: 0, tokens: 0, largest: { name: tool.name, tokens: 0 } }
    line.tools++
    line.tokens += tokens
    if (tokens > line.largest.tokens) line.largest = { name: tool.name, tokens }
    lines.set(tool.server, line)
  }
  const servers = [...lines]
    .map(([server, line]) => ({ server, ...line }))
    .sort((a, b) => b.tokens - a.tokens)
  return { servers, tools: tools.length, tokens: servers.reduce((sum, { tokens }) => sum + tokens, 0) }
}

/**
 * What decides whether all tools are sent to a model.
 *
 * @example
 * const options: LoadingOptions = { contextTokens: 200_000, maxTools: 50 }
 * console.log(planLoading(board.link.tools(), options).kind) // all
 */
export interface LoadingOptions {
  /** The model's context in tokens. */
  readonly contextTokens?: number
  /** `ENABLE_TOOL_SEARCH`: `true` and `false` decide, `auto` and `auto:N` (percent of the context) leave it to the budget. */
  readonly mode?: string | undefined
  readonly maxTools?: number
  readonly maxShare?: number
}

/** Whether all tools are sent to a model, or a search tool. */
export type Loading<T> =
  | { readonly kind: 'all'; readonly tools: readonly T[] }
  | {
      readonly kind: 'search'
      readonly loaded: readonly T[]
      readonly deferred: readonly T[]
      readonly why: string
    }

/**
 * Sends every tool while they fit the budget; past it only those that are always loaded, and a search for the rest.
 *
 * @example
 * console.log(planLoading(board.link.tools(), { mode: 'true' }).kind) // search
 */
export function planLoading<T extends CountedTool>(
  tools: readonly T[],
  options: LoadingOptions = {},
): Loading<T> {
  const mode = options.mode?.trim().toLowerCase()
  if (mode === 'false' || mode === '0' || mode === 'off') return { kind: 'all', tools }
  const percent = /^auto:(\d{1,3})$/.exec(mode ?? '')?.[1]
  const share =
    percent === undefined ? (options.maxShare ?? TOOL_LIMITS.searchOverContextShare) : Number(percent) / 100
  const budget = (options.contextTokens ?? TOOL_LIMITS.contextTokens) * share
  const most = options.maxTools ?? TOOL_LIMITS.searchOverTools
  const forced = mode === 'true' || mode === '1' || mode === 'on'
  let why = forced ? 'tool search is switched on' : ''
  if (!forced && tools.length > most) why = `there are ${tools.length} tools, more than ${most}`
  if (why === '') {
    const { tokens } = tokenCosts(tools)
    if (tokens > budget) why = `the definitions take about ${tokens} tokens, more than ${Math.round(budget)}`
  }
  const deferred = tools.filter((tool) => !tool.alwaysLoad)
  if (why === '' || deferred.length === 0) return { kind: 'all', tools }
  return { kind: 'search', loaded: tools.filter((tool) => tool.alwaysLoad), deferred, why }
}
