// tool-offer.ts: what to give to a model of a set of tools, and what a search in them finds. Pure: tool-registry.ts has the
// tools of a board in this process, a remote board those it was told about.
import {
  type BoundTool,
  type LoadingOptions,
  planLoading,
  type SearchableTool,
  type TokenCosts,
  type Tool,
  type ToolIndex,
  type ToolSearch,
  tokenCosts,
  toolSearch,
} from '../tools/index.ts'

/** What to give to a model: everything, or a search tool and those that are always loaded. */
export type RegisteredTool =
  | { readonly kind: 'all'; readonly tools: readonly Tool[]; readonly ledger: TokenCosts }
  | {
      readonly kind: 'search'
      /** Sent to the model besides `search.definition`. */
      readonly tools: readonly Tool[]
      readonly search: ToolSearch
      readonly deferred: readonly Tool[]
      readonly why: string
      readonly ledger: TokenCosts
    }

/** A tool that a search found, and how well it matched. */
export interface FoundTool {
  readonly tool: Tool
  readonly score: number
}

export function foundTools(
  index: ToolIndex,
  query: string,
  limit: number | undefined,
  byName: (name: string) => Tool | undefined,
): readonly FoundTool[] {
  return index.search(query, limit).flatMap(({ name, score }) => {
    const tool = byName(name)
    return tool ? [{ tool, score }] : []
  })
}

/** All of them, or a search tool where they would take too much of the model's context. */
export function offeredTools(
  tools: readonly BoundTool[],
  options: LoadingOptions,
  env: Readonly<Record<string, string | undefined>>,
): RegisteredTool {
  const usable = tools.filter(({ available }) => available)
  const mode = options.mode ?? env.ENABLE_TOOL_SEARCH
  const plan = planLoading(usable, { ...options, ...(mode !== undefined && { mode }) })
  const ledger = tokenCosts(usable)
  if (plan.kind === 'all') return { kind: 'all', tools: plan.tools, ledger }
  const { loaded, deferred, why } = plan
  return {
    kind: 'search',
    tools: loaded,
    search: toolSearch(deferred.map(searchable)),
    deferred,
    why,
    ledger,
  }
}

export function searchable(tool: BoundTool): SearchableTool {
  return {
    name: tool.name,
    server: tool.server,
    tool: tool.definition.name,
    title: tool.userFacingName(),
    description: tool.description,
    inputJsonSchema: tool.inputJsonSchema,
  }
}
