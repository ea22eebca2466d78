// param-headers.ts: the HTTP headers that a 2026-07-28 tool requires besides its arguments (`x-mcp-header` in its
// schema). A schema with misplaced or wrong annotations makes the tool unusable over HTTP.
import { encodeHeader } from '../transports/mcp-headers.ts'
import { isObject, type Json } from './server-info.ts'

interface Marked {
  readonly header: string
  readonly path: readonly string[]
}

/** Which arguments a tool wants as HTTP headers. */
export type HeaderScan = { readonly marked: readonly Marked[] } | { readonly fault: string }

const KEY = 'x-mcp-header'
const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
const DEPTH = 32

/**
 * Finds the arguments that a tool wants as HTTP headers.
 *
 * @example
 * const schema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
 * console.log(mirrored(scanHeaders(schema), { region: 'eu' })[0]?.header) // Mcp-Param-Region
 */
export function scanHeaders(schema: Json): HeaderScan {
  // Few schemas have any, and most of the walk below looks for misplaced ones.
  const marked: Marked[] = []
  const names = new Set<string>()
  const fault = visit(schema, [], true, marked, names, 0)
  return fault === undefined ? { marked } : { fault }
}

/** An argument that is also sent in a header. */
export interface Mirrored {
  readonly header: string
  readonly value: string | number | boolean
}

/**
 * The arguments of one call that headers repeat; a missing, null or unsuitable one is not repeated.
 *
 * @example
 * const schema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
 * console.log(mirrored(scanHeaders(schema), { region: 'eu' })[0]?.value) // eu
 */
export function mirrored(scan: HeaderScan, args: unknown): readonly Mirrored[] {
  if (!('marked' in scan)) return []
  return scan.marked.flatMap(({ header, path }) => {
    let value: unknown = args
    for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
    return isPlain(value) ? [{ header: `Mcp-Param-${header}`, value }] : []
  })
}

/** The headers for one call, when its tool requires any. */
export function paramHeaders(scan: HeaderScan, args: unknown): Record<string, string> | undefined {
  if (!('marked' in scan) || scan.marked.length === 0) return undefined
  return Object.fromEntries(
    mirrored(scan, args).map(({ header, value }) => [header, encodeHeader(String(value))]),
  )
}

function isPlain(value: unknown): value is Mirrored['value'] {
  if (typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value !== 'number' || !Number.isFinite(value)) return false
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}

function visit(
  node: unknown,
  path: readonly string[],
  reachable: boolean,
  marked: Marked[],
  names: Set<string>,
  depth: number,
): string | undefined {
  if (typeof node !== 'object' || node === null || depth > DEPTH) return undefined
  if (Array.isArray(node)) {
    for (const item of node) {
      const fault = visit(item, path, false, marked, names, depth + 1)
      if (fault) return fault
    }
    return undefined
  }
  const schema = node as Json
  if (Object.hasOwn(schema, KEY)) {
    const fault = mark(schema, path, reachable, marked, names)
    if (fault) return fault
  }
  for (const [key, child] of Object.entries(schema)) {
    if (key === KEY || key === 'enum' || key === 'const' || key === 'default' || key === 'examples') continue
    const fault =
      key === 'properties' && isObject(child)
        ? visitProperties(child, path, reachable, marked, names, depth)
        : visit(child, path, false, marked, names, depth + 1)
    if (fault) return fault
  }
  return undefined
}

function visitProperties(
  properties: Json,
  path: readonly string[],
  reachable: boolean,
  marked: Marked[],
  names: Set<string>,
  depth: number,
): string | undefined {
  for (const [name, child] of Object.entries(properties)) {
    const fault = visit(child, [...path, name], reachable, marked, names, depth + 1)
    if (fault) return fault
  }
  return undefined
}

function mark(
  schema: Json,
  path: readonly string[],
  reachable: boolean,
  marked: Marked[],
  names: Set<string>,
): string | undefined {
  const header = schema[KEY]
  const where = path.join('.') || 'the root'
  if (!reachable || path.length === 0) return `${KEY} at ${where} cannot be read from the arguments`
  if (typeof header !== 'string' || !TOKEN.test(header)) return `${KEY} at ${where} is not a header name`
  if (!TYPES.has(schema.type)) return `${KEY} at ${where} is not on a string, integer or boolean`
  if (names.has(header.toLowerCase())) return `${KEY} "${header}" is used twice`
  names.add(header.toLowerCase())
  marked.push({ header, path })
  return undefined
}
