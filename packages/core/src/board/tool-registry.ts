// tool-registry.ts: every tool of every server as one flat list with names that lead back, rebuilt only where a
// server's list changed. board-calls.ts makes calls; tools/ defines a tool.
import { TOOL_LIMITS } from '../limits.ts'
import { matchesGlob, ruleSpelling } from '../permissions/glob.ts'
import { type FoundTool, foundTools, offeredTools, type RegisteredTool, searchable } from './tool-offer.ts'

export type { FoundTool, RegisteredTool } from './tool-offer.ts'

import { readToolList } from '../tools/definition.ts'
import {
  BoundTool,
  type LoadingOptions,
  NameRegistry,
  type TokenCosts,
  type ToolActions,
  ToolIndex,
  type ToolLookup,
  tokenCosts,
} from '../tools/index.ts'

/** The part of a server that concerns its tools. */
export interface ToolSource {
  readonly server: string
  /** Its list as it came; the same array means the same tools. */
  readonly items: readonly unknown[]
  /** The list is that of an earlier process: a call asks the server first. */
  readonly remembered?: boolean
  readonly alwaysLoad: boolean | readonly string[]
  /** Tools that the settings allow to run in parallel with others, by name or with `*`. */
  readonly concurrentTools?: readonly string[] | undefined
  /** The tools that a built-in server allows by itself. */
  readonly allows?: readonly string[] | undefined
}

export interface ToolRegistryOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly actions: ToolActions
  sources(): readonly ToolSource[]
  /** Whether `sources()` would return the same as these, without making them. */
  isCurrent(sources: readonly ToolSource[]): boolean
  warn(server: string, text: string): void
}

interface ToolSet {
  readonly source: ToolSource
  readonly tools: readonly BoundTool[]
}

export class ToolRegistry {
  readonly #options: ToolRegistryOptions
  readonly #names = new NameRegistry()
  #sources: readonly ToolSource[] | undefined
  #toolSets: readonly ToolSet[] = []
  #tools: readonly BoundTool[] = []
  #byName = new Map<string, BoundTool>()
  #index: ToolIndex | undefined

  constructor(options: ToolRegistryOptions) {
    this.#options = options
  }

  tools(): readonly BoundTool[] {
    this.#refresh()
    return this.#tools
  }

  /** The tool by the name that models use, when it is known. */
  named(name: string): BoundTool | undefined {
    this.#refresh()
    return this.#byName.get(name)
  }

  resolve(spelling: string): ToolLookup {
    this.#refresh()
    const tool = this.#byName.get(spelling)
    if (tool) return { kind: 'found', tool }
    const found = this.#names.resolve(spelling)
    if (found.kind !== 'found') return found
    const named = this.#byName.get(found.name)
    return named ? { kind: 'found', tool: named } : { kind: 'none' }
  }

  /** The tool by its server's own name. */
  find(server: string, tool: string): BoundTool | undefined {
    this.#refresh()
    const name = this.#names.nameOf({ server, tool })
    return name === undefined ? undefined : this.#byName.get(name)
  }

  search(query: string, limit?: number): readonly FoundTool[] {
    const tools = this.tools()
    this.#index ??= new ToolIndex(tools.map(searchable))
    return foundTools(this.#index, query, limit, (name) => this.#byName.get(name))
  }

  ledger(): TokenCosts {
    return tokenCosts(this.tools())
  }

  offer(options: LoadingOptions): RegisteredTool {
    return offeredTools(this.tools(), options, this.#options.env)
  }

  #refresh(): void {
    if (this.#sources && this.#options.isCurrent(this.#sources)) return
    const sources = this.#options.sources()
    this.#sources = sources
    const before = this.#toolSets
    if (sources.length === before.length && sources.every((one, at) => same(one, before[at]?.source))) return
    const kept = new Map(before.map((set) => [set.source.server, set]))
    const drafts = sources.map((source) => {
      const old = kept.get(source.server)
      return old && same(source, old.source) ? old : { source, ...this.#read(source) }
    })
    const names = this.#names.update(
      drafts.flatMap(({ source, tools }) =>
        tools.map((tool) => ({
          server: source.server,
          tool: tool instanceof BoundTool ? tool.definition.name : tool.name,
        })),
      ),
    )
    let at = 0
    this.#toolSets = drafts.map(({ source, tools }) => ({
      source,
      tools: tools.map((tool) => {
        const name = names[at++] ?? ''
        return tool instanceof BoundTool ? tool : this.#bind(name, tool, source)
      }),
    }))
    this.#tools = this.#toolSets.flatMap(({ tools }) => tools)
    this.#byName = new Map(this.#tools.map((tool) => [tool.name, tool]))
    this.#index = undefined
  }

  /** The tools of another list of a server, with the names that they would have alone. */
  bindList(server: string, items: readonly unknown[]): readonly BoundTool[] {
    const known = this.#options.sources().find((source) => source.server === server)
    const source = { alwaysLoad: false, ...known, server, items, remembered: false }
    const { tools } = this.#read(source)
    const names = new NameRegistry().update(tools.map(({ name: tool }) => ({ server, tool })))
    return tools.map((tool, at) => this.#bind(names[at] ?? tool.name, tool, source))
  }

  #read(source: ToolSource) {
    const { tools, warnings } = readToolList(source.items)
    for (const warning of warnings) this.#options.warn(source.server, warning)
    return { tools }
  }

  #bind(name: string, definition: BoundTool['definition'], source: ToolSource): BoundTool {
    const { alwaysLoad, concurrentTools = [], server, allows } = source
    return new BoundTool(
      {
        name,
        server,
        definition,
        alwaysLoad: typeof alwaysLoad === 'boolean' ? alwaysLoad : alwaysLoad.includes(definition.name),
        builtinAllows: allows,
        concurrent: concurrentTools.some((pattern) => matchesGlob(pattern, definition.name)),
        env: this.#options.env,
        remembered: source.remembered === true,
      },
      this.#options.actions,
    )
  }
}

function same(a: ToolSource, b: ToolSource | undefined): boolean {
  return (
    b !== undefined &&
    a.server === b.server &&
    a.items === b.items &&
    a.alwaysLoad === b.alwaysLoad &&
    a.concurrentTools === b.concurrentTools
  )
}

const HASH_CHARS = 9

/** Which servers a spelling can mean, before any of them has listed its tools. */
export function candidateServers(spelling: string, servers: readonly string[]): readonly string[] {
  const prefixChars = TOOL_LIMITS.nameLength - HASH_CHARS
  return servers.filter((server) => {
    if (spelling.startsWith(`${server}.`)) return true
    if (spelling.startsWith(`mcp__${server}__`)) return true
    // Of a long name only the beginning is left before its hash.
    const start = `mcp__${ruleSpelling(server)}__`
    return spelling.startsWith(start.slice(0, prefixChars))
  })
}
