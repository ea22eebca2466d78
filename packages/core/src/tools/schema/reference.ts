// reference.ts: what a `$ref` leads to inside its own document. References to other documents lead nowhere: nothing is
// ever fetched because a schema asks for it.
import { SCHEMA_LIMITS } from '../../limits.ts'
import { isRecord, own } from '../json.ts'

export type Surveyed =
  | { readonly ok: true; readonly anchors: ReadonlyMap<string, unknown> }
  | { readonly ok: false; readonly reason: string }

/** Keywords whose value is data, not schema. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'example'])

/** Counts the document before anything compiles it, and notes the places that have names. */
export function survey(schema: unknown): Surveyed {
  const anchors = new Map<string, unknown>()
  const todo: { part: unknown; depth: number }[] = [{ part: schema, depth: 0 }]
  let nodes = 0
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { part, depth } = next
    if (typeof part !== 'object' || part === null) continue
    if (++nodes > SCHEMA_LIMITS.nodes)
      return { ok: false, reason: `the schema has more than ${SCHEMA_LIMITS.nodes} parts` }
    if (depth > SCHEMA_LIMITS.depth)
      return { ok: false, reason: `the schema is nested deeper than ${SCHEMA_LIMITS.depth} levels` }
    if (isRecord(part)) noteNames(part, anchors)
    for (const [key, child] of Object.entries(part))
      if (Array.isArray(part) || !DATA.has(key)) todo.push({ part: child, depth: depth + 1 })
  }
  return { ok: true, anchors }
}

function noteNames(part: Readonly<Record<string, unknown>>, anchors: Map<string, unknown>): void {
  for (const key of ['$anchor', '$dynamicAnchor']) {
    const name = own(part, key)
    if (typeof name === 'string' && !anchors.has(`#${name}`)) anchors.set(`#${name}`, part)
  }
  const id = own(part, '$id')
  if (typeof id === 'string' && !anchors.has(id)) anchors.set(id, part)
}

export function resolveReference(
  reference: string,
  root: unknown,
  anchors: ReadonlyMap<string, unknown>,
): unknown {
  if (reference === '#' || reference === '') return root
  const named = anchors.get(reference)
  if (named !== undefined) return named
  const hash = reference.indexOf('#')
  if (hash < 0) return undefined
  // `id#/pointer`: only when the id is one that this document defines.
  const base = hash === 0 ? root : anchors.get(reference.slice(0, hash))
  const pointer = reference.slice(hash + 1)
  if (pointer === '') return base
  return pointer.startsWith('/') ? follow(base, pointer) : undefined
}

function follow(base: unknown, pointer: string): unknown {
  let at = base
  for (const raw of pointer.slice(1).split('/')) {
    const key = decode(raw)
    if (Array.isArray(at)) at = /^\d+$/.test(key) ? at[Number(key)] : undefined
    else if (isRecord(at)) at = own(at, key)
    else return undefined
  }
  return at
}

function decode(part: string): string {
  let text = part
  try {
    text = decodeURIComponent(part)
  } catch {
    // A stray percent sign is a percent sign.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}
