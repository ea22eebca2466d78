// search-mode.ts: what a client is listed in place of many tools: one to search them, one to read their definitions and one
// to call them, and the few that are always listed. The list does not depend on what the servers have, so that a prompt
// cache that holds it stays valid.
import { TOOL_LIMITS } from '@plugboard/core/limits'
import { embeddingText, type SearchableTool, ToolIndex, toolTokens } from '@plugboard/core/tools'
import { isObject, type Json } from '../json-rpc.ts'
import { isFor } from './apps.ts'
import type { ToolVectors } from './tool-vectors.ts'
import type { ToolRef, View } from './views.ts'

/** List every tool, list three tools that search and call the others, or decide by their number and cost. */
export type ServeMode = 'all' | 'search' | 'auto'

/** When `auto` lists the search tools: the definitions cost more than this, or there are more tools. */
export interface SearchThreshold {
  readonly tokens: number
  readonly tools: number
}
export const SEARCH_ABOVE: SearchThreshold = { tokens: 10_000, tools: 40 }

export const SEARCH_TOOLS = 'search_tools'
export const DESCRIBE_TOOLS = 'describe_tools'
export const CALL_TOOL = 'call_tool'
export const SEARCH_MODE_TOOLS: ReadonlySet<string> = new Set([SEARCH_TOOLS, DESCRIBE_TOOLS, CALL_TOOL])

/** Clients that search long lists themselves, by the name they give in `clientInfo`. */
const SEARCHING_CLIENTS: ReadonlySet<string> = new Set(['claude-code', 'plugboard'])

export function searchesItself(clientName: string | undefined): boolean {
  return clientName !== undefined && SEARCHING_CLIENTS.has(clientName.toLowerCase())
}

const DESCRIBED_MOST = 20
const LINE_CHARS = 200

const text = (description: string): Json => ({ type: 'string', description })
const DEFINITIONS: readonly Json[] = [
  {
    name: SEARCH_TOOLS,
    title: 'Search tools',
    description:
      'Finds tools of all connected servers. Say in a few words what you want to do. Returns names with their parameters, best first; run them with call_tool.',
    inputSchema: {
      type: 'object',
      properties: {
        query: text('What you want to do, in a few words.'),
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: TOOL_LIMITS.searchResultsMost,
          description: `How many to return (${TOOL_LIMITS.searchResults} if left out).`,
        },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: DESCRIBE_TOOLS,
    title: 'Describe tools',
    description: `Returns the full definitions, with JSON Schemas, of up to ${DESCRIBED_MOST} tools by name.`,
    inputSchema: {
      type: 'object',
      properties: {
        names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: DESCRIBED_MOST },
      },
      required: ['names'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description: 'Calls a tool that search_tools found, by its name, with the arguments that it takes.',
    inputSchema: {
      type: 'object',
      properties: {
        name: text('The name as search_tools returned it.'),
        arguments: { type: 'object', description: 'The arguments of that tool.' },
        select: text('JMESPath expression for the part of the result that you need.'),
      },
      required: ['name'],
    },
  },
]

export class SearchMode {
  /** What `tools/list` returns. */
  readonly listed: readonly Json[]
  readonly #view: View
  readonly #vectors: ToolVectors | undefined
  #index: { readonly words: ToolIndex; readonly texts: readonly string[] } | undefined
  #definitions: ReadonlyMap<string, Json> | undefined
  #tokens: { readonly all: number; readonly listed: number } | undefined

  /** `always`: tools that are listed beside the search tools. `vectors`: search goes by meaning too. */
  constructor(
    view: View,
    always: (tool: ToolRef, definition: Json) => boolean,
    vectors?: ToolVectors | undefined,
  ) {
    this.#view = view
    this.#vectors = vectors
    const direct = view.tools.filter((definition) => {
      const name = String(definition.name)
      const ref = view.tool(name)
      return ref !== undefined && !SEARCH_MODE_TOOLS.has(name) && always(ref, definition)
    })
    this.listed = [...DEFINITIONS, ...direct]
  }

  /** Nothing is listed beside the search tools. */
  get isFixed(): boolean {
    return this.listed.length === DEFINITIONS.length
  }

  /** Estimated tokens of all definitions, and of those that are listed. */
  get tokens(): { readonly all: number; readonly listed: number } {
    this.#tokens ??= { all: tokensOf(this.#view.tools), listed: tokensOf(this.listed) }
    return this.#tokens
  }

  get tools(): number {
    return this.#view.tools.length
  }

  /** Begins to make the vectors of its tools: a client that lists the search tools will search. */
  warm(): void {
    if (this.#vectors) void this.#vectors.prepare(this.#indexed().texts)
  }

  /** The best tools for a query, one line each. */
  async search(query: string, limit: number = TOOL_LIMITS.searchResults): Promise<string> {
    const most = Math.min(Math.max(1, Math.floor(limit)), TOOL_LIMITS.searchResultsMost)
    const asked = query.slice(0, TOOL_LIMITS.searchQueryChars)
    const nearness = await this.#vectors?.nearness(asked, this.#indexed().texts)
    const hits = this.#hits(query, most, nearness)
    const found = hits.length > 0 ? hits : this.#toolsOf(query.trim().toLowerCase()).slice(0, most)
    if (found.length === 0)
      return `No tool matches. Try other words, or the name of a server: ${this.#servers().join(', ')}.`
    return found.map((definition) => lineOf(definition)).join('\n')
  }

  /** A model may call it. */
  offers(name: string): boolean {
    const definition = this.#view.tools.find((one) => one.name === name)
    return definition === undefined || isFor('model', definition)
  }

  /** The names of tools that a wrong name may mean. */
  similar(name: string): readonly string[] {
    return this.#hits(name.replace(/[_.-]+/g, ' '), 3).map((definition) => String(definition.name))
  }

  /** The definitions by name, as JSON; names that no tool has are said. */
  describe(names: readonly string[]): string {
    const byName = this.#byName()
    const parts = names.slice(0, DESCRIBED_MOST).map((name) => {
      const definition = byName.get(name)
      return definition ? JSON.stringify(definition) : `There is no tool ${JSON.stringify(name)}.`
    })
    if (names.length > DESCRIBED_MOST) parts.push(`Only ${DESCRIBED_MOST} tools are described at a time.`)
    return parts.join('\n')
  }

  #hits(query: string, limit: number, nearness?: Float32Array): readonly Json[] {
    const byName = this.#byName()
    return this.#indexed()
      .words.search(query, limit, nearness)
      .flatMap(({ name }): readonly Json[] => {
        const definition = byName.get(name)
        return definition ? [definition] : []
      })
  }

  #indexed(): { readonly words: ToolIndex; readonly texts: readonly string[] } {
    if (this.#index) return this.#index
    const tools = [...this.#byName().keys()].flatMap((name) => searchable(name, this.#view.tool(name)))
    this.#index = { words: new ToolIndex(tools), texts: tools.map(embeddingText) }
    return this.#index
  }

  #byName(): ReadonlyMap<string, Json> {
    // A tool that is there for an app alone is none for a model.
    this.#definitions ??= new Map(
      this.#view.tools
        .filter((definition) => isFor('model', definition))
        .map((definition) => [String(definition.name), definition]),
    )
    return this.#definitions
  }

  /** A server may be called by a word that no search considers. */
  #toolsOf(server: string): readonly Json[] {
    return [...this.#byName()].flatMap(([name, definition]) =>
      this.#view.tool(name)?.server.toLowerCase() === server ? [definition] : [],
    )
  }

  #servers(): readonly string[] {
    const names = this.#view.tools.flatMap(({ name }) => this.#view.tool(String(name))?.server ?? [])
    return [...new Set(names)].slice(0, 40)
  }
}

function searchable(name: string, ref: ToolRef | undefined): readonly SearchableTool[] {
  if (!ref) return []
  const { tool, server } = ref
  const { description, inputJsonSchema } = tool
  return [{ name, server, tool: ref.name, title: tool.userFacingName(), description, inputJsonSchema }]
}

function tokensOf(definitions: readonly Json[]): number {
  let tokens = 0
  for (const { name, description, inputSchema } of definitions)
    tokens += toolTokens({
      name: String(name),
      description: typeof description === 'string' ? description : '',
      inputJsonSchema: isObject(inputSchema) ? inputSchema : {},
    })
  return tokens
}

/** `name(query: string, limit?: integer): what it does`. */
function lineOf({ name, description, inputSchema }: Json): string {
  const { properties, required } = isObject(inputSchema) ? inputSchema : {}
  const needed = new Set(Array.isArray(required) ? required : [])
  const parameters = Object.entries(isObject(properties) ? properties : {}).map(
    ([key, schema]) => `${key}${needed.has(key) ? '' : '?'}: ${typeOf(schema)}`,
  )
  const about = typeof description === 'string' ? description.replace(/\s+/g, ' ').trim() : ''
  const short = about.length > LINE_CHARS ? `${about.slice(0, LINE_CHARS)}…` : about
  return `${name}(${parameters.join(', ')})${short === '' ? '' : `: ${short}`}`
}

function typeOf(schema: unknown): string {
  const { type, enum: values } = isObject(schema) ? schema : {}
  if (Array.isArray(values) && values.length > 0 && values.length <= 6)
    return values.map((value) => JSON.stringify(value)).join(' | ')
  if (typeof type === 'string') return type
  return Array.isArray(type) ? type.join(' | ') : 'any'
}
