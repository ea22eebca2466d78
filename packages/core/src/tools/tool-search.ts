// tool-search.ts: the one tool that a model gets in place of many. It returns definitions as text, so that it works
// with any model; the agent adds the found tools to the next request.
import { TOOL_LIMITS } from '../limits.ts'
import { portable } from './formats/portable.ts'
import { type SearchableTool, ToolIndex } from './search-ranking.ts'
import type { OfferedTool } from './tool.ts'

/**
 * The name of the tool that searches for tools.
 *
 * @example
 * console.log(TOOL_SEARCH_NAME) // tool_search
 */
export const TOOL_SEARCH_NAME = 'tool_search'

/** What a search for tools gave. */
export interface FoundTools {
  /** The names to offer to the model from now on, best first. */
  readonly names: readonly string[]
  /** What the model reads. */
  readonly text: string
}

/** The tool that searches for tools, and what it found. */
export interface ToolSearch {
  readonly definition: OfferedTool
  search(args: unknown): FoundTools
}

/**
 * Makes the tool that searches for tools.
 *
 * @example
 * const about = { description: 'Repeats a text', inputJsonSchema: { type: 'object' } }
 * const say = { name: 'mcp__notes__say', server: 'notes', tool: 'say', ...about }
 * console.log(toolSearch([say]).search({ query: 'repeat a text' }).names[0]) // mcp__notes__say
 */
export function toolSearch(deferred: readonly SearchableTool[]): ToolSearch {
  const index = new ToolIndex(deferred)
  const byName = new Map(deferred.map((tool) => [tool.name, tool]))
  return {
    definition: definitionFor(deferred),
    search(args) {
      const { query, names, max_results: wanted } = (args ?? {}) as Record<string, unknown>
      const limit = typeof wanted === 'number' && wanted >= 1 ? Math.floor(wanted) : TOOL_LIMITS.searchResults
      const asked = Array.isArray(names)
        ? names.filter((name) => byName.has(name)).slice(0, TOOL_LIMITS.searchResultsMost)
        : []
      const found =
        typeof query === 'string' && query.trim() !== ''
          ? index.search(query, limit).map(({ name }) => name)
          : []
      const all = [...new Set<string>([...asked, ...found])]
      const tools = all.flatMap((name) => byName.get(name) ?? [])
      return { names: all, text: tools.length === 0 ? nothing(deferred) : tools.map(entry).join('\n\n') }
    },
  }
}

function definitionFor(deferred: readonly SearchableTool[]): OfferedTool {
  const counts = new Map<string, number>()
  for (const { server } of deferred) counts.set(server, (counts.get(server) ?? 0) + 1)
  const servers = [...counts].slice(0, 40).map(([server, count]) => `${server} (${count})`)
  return {
    name: TOOL_SEARCH_NAME,
    description:
      `Finds tools that are not listed yet. ${deferred.length} more tools are available from these servers: ` +
      `${servers.join(', ')}${counts.size > 40 ? ', …' : ''}. Say in a few words what you want to do; ` +
      'the tools that come back can be called by their name.',
    inputJsonSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What you want to do, in a few words.' },
        names: { type: 'array', items: { type: 'string' }, description: 'Exact names, when you know them.' },
        max_results: {
          type: 'integer',
          minimum: 1,
          maximum: TOOL_LIMITS.searchResultsMost,
          description: `How many to return (${TOOL_LIMITS.searchResults} if left out).`,
        },
      },
    },
  }
}

function entry(tool: SearchableTool): string {
  return `${tool.name}\n${tool.description}\nparameters: ${JSON.stringify(portable(tool.inputJsonSchema))}`
}

function nothing(deferred: readonly SearchableTool[]): string {
  const servers = [...new Set(deferred.map(({ server }) => server))].slice(0, 40).join(', ')
  return `No tool matches. Try other words, or the name of a server: ${servers}.`
}
