// reference.ts: resolves a `$ref` inside its own document. References to other documents do not resolve: a schema
// never triggers a fetch.
import { isObject, own } from '../../json.ts'
import { SCHEMA_LIMITS } from '../../limits.ts'
import { positionOf, type Schema } from './positions.ts'

/** The named places of one document. */
export interface SchemaNames {
  readonly root: unknown
  /** `id` → the schema of that id; `id#anchor` → the schema of that anchor. Ids are absolute. */
  readonly named: ReadonlyMap<string, unknown>
  /** The id that references inside a schema are relative to, where it is not the document's own. */
  readonly bases: ReadonlyMap<object, string>
}

export type Surveyed =
  | { readonly ok: true; readonly names: SchemaNames }
  | { readonly ok: false; readonly reason: string }

/** The base address of a document without one, so that relative ids can be resolved. */
const NO_ADDRESS = 'schema://document/'
/** Keywords whose value is data, not schema. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'example'])

interface Visit {
  readonly part: unknown
  readonly depth: number
  readonly base: string
  /** A schema, a list or map of schemas, or something unknown that a pointer may still lead into. */
  readonly kind: 'schema' | 'members' | 'unknown'
}

/** Measures the document before anything compiles it, and records the named places. Walks without recursion. */
export function survey(schema: unknown): Surveyed {
  const named = new Map<string, unknown>()
  const bases = new Map<object, string>()
  const todo: Visit[] = [{ part: schema, depth: 0, base: NO_ADDRESS, kind: 'schema' }]
  let nodes = 0
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { part, depth, kind } = next
    if (typeof part !== 'object' || part === null) continue
    if (++nodes > SCHEMA_LIMITS.nodes)
      return { ok: false, reason: `the schema has more than ${SCHEMA_LIMITS.nodes} parts` }
    if (depth > SCHEMA_LIMITS.depth)
      return { ok: false, reason: `the schema is nested deeper than ${SCHEMA_LIMITS.depth} levels` }
    const base = kind !== 'members' && isObject(part) ? noteNames(part, next.base, named) : next.base
    if (base !== NO_ADDRESS && isObject(part)) bases.set(part, base)
    for (const [key, child] of Object.entries(part)) {
      const inside = kindOf(kind, key, part)
      if (inside) todo.push({ part: child, depth: depth + 1, base, kind: inside })
    }
  }
  return { ok: true, names: { root: schema, named, bases } }
}

function kindOf(kind: Visit['kind'], key: string, part: object): Visit['kind'] | undefined {
  if (kind === 'members') return 'schema'
  if (Array.isArray(part)) return kind
  if (DATA.has(key)) return undefined
  const position = positionOf(key)
  if (position === undefined) return 'unknown'
  const value = own(part as Schema, key)
  return position === 'map' || Array.isArray(value) ? 'members' : 'schema'
}

/** Returns the id that references inside are relative to. The first of two equal names counts. */
function noteNames(part: Schema, outer: string, named: Map<string, unknown>): string {
  const note = (name: string) => {
    if (!named.has(name)) named.set(name, part)
  }
  const id = own(part, '$id')
  let base = outer
  if (typeof id === 'string' && id !== '') {
    // In drafts 6 and 7 an id of a fragment alone is an anchor.
    if (id.startsWith('#')) note(outer + id)
    else {
      base = absolute(id, outer) ?? outer
      if (base !== outer) note(base)
    }
  }
  for (const key of ['$anchor', '$dynamicAnchor']) {
    const name = own(part, key)
    if (typeof name === 'string') note(`${base}#${name}`)
  }
  return base
}

function absolute(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href.replace(/#$/, '') : undefined
}

/** The target of a reference, seen from the schema that holds it; undefined when it leads outside or nowhere. */
export function resolveReference(reference: string, names: SchemaNames, from?: unknown): unknown {
  const hash = reference.indexOf('#')
  const address = hash < 0 ? reference : reference.slice(0, hash)
  const fragment = hash < 0 ? '' : reference.slice(hash + 1)
  const own_ = (typeof from === 'object' && from !== null && names.bases.get(from)) || baseOfRoot(names)
  const base = address === '' ? own_ : absolute(address, own_)
  if (base === undefined) return undefined
  if (fragment !== '' && !fragment.startsWith('/')) return names.named.get(`${base}#${fragment}`)
  const start = base === NO_ADDRESS ? names.root : names.named.get(base)
  const found = fragment === '' ? start : follow(start, fragment)
  // Many documents with an id have pointers that were meant from the root, whatever ids are on the way.
  return found === undefined && address === '' && fragment !== '' ? follow(names.root, fragment) : found
}

function baseOfRoot({ root, bases }: SchemaNames): string {
  return (typeof root === 'object' && root !== null && bases.get(root)) || NO_ADDRESS
}

function follow(base: unknown, pointer: string): unknown {
  let at = base
  for (const raw of pointer.slice(1).split('/')) {
    const key = decode(raw)
    if (Array.isArray(at)) at = /^\d+$/.test(key) ? at[Number(key)] : undefined
    else if (isObject(at)) at = own(at, key)
    else return undefined
  }
  return at
}

function decode(part: string): string {
  let text = part
  try {
    text = decodeURIComponent(part)
  } catch {
    // A stray percent sign is a literal one.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}
