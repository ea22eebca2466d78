// tool-view.ts: the tools of a view: which ones an exposure shows, under which names, and as which definitions. views.ts owns
// when a view is made anew.
import type { LocalBoard } from '@plugboard/core'
import { type BoundTool, type HeaderScan, scanHeaders } from '@plugboard/core/tools'
import type { Exposure } from '../access/exposure.ts'
import { isObject, type Json } from '../json-rpc.ts'
import { hasUi, isFor, withPublicUi } from './apps.ts'
import { listedTool } from './definition-repair.ts'
import type { GivenNames, NamedItem } from './tool-names.ts'
import { overridden, type ToolOverride, type ToolOverrides } from './tool-overrides.ts'

/** The argument that says which part of a result is wanted. */
export const SELECT_ARGUMENT = '_select'
const SELECT_SCHEMA: Json = {
  type: 'string',
  description: 'JMESPath expression: which part of the result to return.',
}

export interface Ref {
  readonly server: string
  readonly name: string
}

export interface ToolRef extends Ref {
  readonly tool: BoundTool
  /** Its questions name the task, so they can be told apart. */
  readonly runsAsTask: boolean
  /** It takes `_select` beside its own arguments. */
  readonly selects: boolean
  /** Its result is never kept back. */
  readonly whole: boolean
  /** The arguments that headers must repeat, where there are headers. Read when it is first asked for. */
  headers(): HeaderScan
}

export interface ToolViewOptions {
  readonly board: LocalBoard
  readonly overrides: ToolOverrides
  /** Every tool takes `_select`. */
  readonly selects: boolean
  /** Results may be kept back or cut down, so that no output schema can be promised. */
  readonly keepsLarge: boolean
  /** Addresses of resources are rewritten, so that they lead to their server. */
  readonly rewritesUris: boolean
}

export interface ShownTools {
  readonly list: readonly Json[]
  readonly byName: ReadonlyMap<string, ToolRef>
  /** Names from before, which no list shows any more. */
  readonly earlier: ReadonlyMap<string, ToolRef>
  /** Servers with apps, and the tools that their apps may call, by the server's own names. */
  readonly appServers: ReadonlySet<string>
  appTools(name: string): readonly string[]
}

/** A tool before a client's exposure is considered. */
export interface ServedTool extends NamedItem {
  readonly tool: BoundTool
  readonly definition: Json
  readonly override: ToolOverride | undefined
}

/** Where tools and their definitions come from: the board, or the connection of one user. */
export interface ToolListSource {
  definitions(): readonly { readonly server: string; readonly tool: { readonly name?: unknown } }[]
  tools(): readonly BoundTool[]
}

/** Every tool that may be shown to some client. */
export function servedTools(
  { board, overrides }: ToolViewOptions,
  expose: Exposure,
  source: ToolListSource = board.link,
): readonly ServedTool[] {
  const definitions = new Map(
    source.definitions().map(({ server, tool }) => [pair(server, String(tool.name)), tool as Json]),
  )
  return source.tools().flatMap((tool): ServedTool[] => {
    const { serverName: server, toolName: name } = tool.mcpInfo
    const definition = definitions.get(pair(server, name))
    if (!definition || !expose.tool(server, name, tool.name)) return []
    if (tool.checkPermissions().outcome === 'deny') return []
    const override = overrides.of(server, name, tool.name)
    if (override?.hidden) return []
    return [{ server, name, unique: tool.name, wanted: override?.name, tool, definition, override }]
  })
}

/** What one exposure shows of them. */
export function shownTools(
  served: readonly ServedTool[],
  { names, earlier }: GivenNames,
  exposure: Exposure,
  options: ToolViewOptions,
): ShownTools {
  const byName = new Map<string, ToolRef>()
  const list: Json[] = []
  for (const [at, item] of served.entries()) {
    const shown = names[at]
    if (shown === undefined || !exposure.tool(item.server, item.name, item.unique)) continue
    const ref = refOf(item, options)
    byName.set(shown, ref)
    list.push({ ...listedDefinition(item, ref, options), name: shown })
  }
  const before = [...earlier].flatMap(([name, at]): [string, ToolRef][] => {
    const ref = byName.get(names[at] ?? '')
    return ref && !byName.has(name) ? [[name, ref]] : []
  })
  const appServers = new Set(served.flatMap(({ server, definition }) => (hasUi(definition) ? [server] : [])))
  const appTools = (name: string) =>
    served.flatMap((item, at) => {
      const shown = names[at]
      const isApps = item.name === name && appServers.has(item.server) && isFor('app', item.definition)
      return isApps && shown !== undefined && byName.has(shown) ? [shown] : []
    })
  return { list, byName, earlier: new Map(before), appServers, appTools }
}

function refOf(
  { server, name, tool, definition, override }: ServedTool,
  { selects }: ToolViewOptions,
): ToolRef {
  let scan: HeaderScan | undefined
  const { inputSchema, execution } = definition
  const { taskSupport } = isObject(execution) ? execution : {}
  const { properties } = isObject(inputSchema) ? inputSchema : {}
  return {
    server,
    name,
    tool,
    runsAsTask: taskSupport === 'required' || taskSupport === 'optional',
    // A tool that has such an argument itself keeps it.
    selects: selects && !(isObject(properties) && Object.hasOwn(properties, SELECT_ARGUMENT)),
    whole: override?.result === 'whole',
    headers: () => (scan ??= scanHeaders(isObject(inputSchema) ? inputSchema : {})),
  }
}

function listedDefinition(
  { server, tool, definition, override }: ServedTool,
  ref: ToolRef,
  options: ToolViewOptions,
): Json {
  const listed = overridden(listedTool(definition), override)
  const { outputSchema, ...rest } = options.rewritesUris ? withPublicUi(listed, server) : listed
  // Clients refuse an answer without what the schema promises: a hook may have taken it out, or only a part is sent.
  const isPromised =
    outputSchema !== undefined &&
    !options.board.link.mayReplaceOutput(tool) &&
    !ref.selects &&
    (!options.keepsLarge || ref.whole)
  return {
    ...rest,
    ...(ref.selects && { inputSchema: withSelect(rest.inputSchema) }),
    ...(isPromised && { outputSchema }),
  }
}

function withSelect(schema: unknown): Json {
  const root = isObject(schema) ? schema : { type: 'object' }
  const properties = isObject(root.properties) ? root.properties : {}
  return { ...root, properties: { ...properties, [SELECT_ARGUMENT]: SELECT_SCHEMA } }
}

function pair(server: string, name: string): string {
  return JSON.stringify([server, name])
}
