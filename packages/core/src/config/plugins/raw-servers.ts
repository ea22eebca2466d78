// raw-servers.ts: the text of a file or response that lists servers → each server's raw value and its position. It
// checks no entry: the schema does that later for every source.
import type { Node } from 'jsonc-parser'
import { parseJsonTree, plain } from '../import/tree.ts'
import type { Diagnostic } from '../types.ts'

export interface RawServer {
  /** The entry as written: a JSON value, unchecked. */
  readonly value: unknown
  /** 1-based position in `source`, when its text can be opened. */
  readonly line?: number
  readonly column?: number
  /** Why the entry is disabled, when the user did not disable it. */
  readonly offBecause?: string
}

/** The content of one source, unchecked. */
export interface RawDocument {
  /** The file or URL. */
  readonly source: string
  /** Names exactly as written; they are checked together with every other source's. */
  readonly servers: ReadonlyMap<string, RawServer>
  readonly diagnostics: readonly Diagnostic[]
  /** For a bundle that was only inspected: unpacks it, or says why it cannot. */
  readonly unpack?: (() => Promise<Diagnostic | undefined>) | undefined
}

export interface DocumentShape {
  /** The keys that may hold the map of servers; the first one present counts. */
  readonly keys: readonly string[]
  /** Without such a key, the whole object is the map. */
  readonly flat: boolean
}

/** `readable` is false when the text is not a list of servers, and the one diagnostic says why. */
export function readServers(
  text: string,
  source: string,
  shape: DocumentShape,
): RawDocument & { readonly readable: boolean } {
  const tree = parseJsonTree(text)
  const fail = (message: string, at?: { line: number; column: number }) => ({
    source,
    readable: false,
    servers: new Map(),
    diagnostics: [
      {
        severity: 'error' as const,
        file: source,
        ...(at && { line: at.line, column: at.column }),
        message,
        hint: `A JSON object with "${shape.keys[0]}" is expected.`,
      },
    ],
  })
  if (tree.kind === 'empty')
    return shape.flat ? { source, readable: true, servers: new Map(), diagnostics: [] } : fail('It is empty.')
  if (tree.kind === 'fault') return fail(`It is not valid JSON: ${tree.reason}.`, tree)
  if (tree.root.type !== 'object') return fail('It is not a JSON object.', tree.position(tree.root))

  const members = membersOf(tree.root)
  const key = shape.keys.find((name) => members.has(name))
  const map = key === undefined ? tree.root : members.get(key)
  if (key === undefined && !shape.flat) return fail(`There is no "${shape.keys[0]}" in it.`)
  if (map?.type !== 'object') return fail(`"${key}" is not an object.`, map && tree.position(map))

  const servers = new Map<string, RawServer>()
  const diagnostics: Diagnostic[] = []
  for (const [name, node] of membersOf(map)) {
    if (key === undefined && name === '$schema') continue
    if (name === '__proto__')
      diagnostics.push({
        severity: 'error',
        file: source,
        ...tree.position(node),
        server: name,
        message: 'A server may not have the name "__proto__"; it is left out.',
      })
    else servers.set(name, { value: plain(node), ...tree.position(node) })
  }
  return { source, readable: true, servers, diagnostics }
}

function membersOf(object: Node): Map<string, Node> {
  const members = new Map<string, Node>()
  for (const { children } of object.children ?? []) {
    const [key, value] = children ?? []
    if (key && value) members.set(String(key.value), value)
  }
  return members
}

/** The same value with `change` applied to every string in it; keys stay. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}
