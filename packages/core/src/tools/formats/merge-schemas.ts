// merge-schemas.ts: merges several schemas that all apply into one: the meaning of `allOf` and of a `$ref` with
// sibling keywords. Only where that can be expressed without `allOf`.
import { canonicalJson, isObject, put } from '../../json.ts'
import type { Plain } from './portable.ts'

const SAID_ONCE = new Set(['title', 'description', 'default', 'examples', 'deprecated'])
const SMALLER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])
const LARGER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])

/** The schema that matches when all of them do; undefined when only an `allOf` can express it. */
export function mergeParts(parts: readonly Readonly<Plain>[]): Plain | undefined {
  const merged: Plain = {}
  for (const part of parts)
    for (const [key, value] of Object.entries(part)) {
      if (value === undefined) continue
      if (!Object.hasOwn(merged, key) || SAID_ONCE.has(key)) {
        put(merged, key, value)
        continue
      }
      const both = mergeKeyword(key, merged[key], value)
      if (both === undefined) return undefined
      merged[key] = both
    }
  return closedOverOthers(parts) ? undefined : merged
}

/** A closed part rejects the properties of the others. */
function closedOverOthers(parts: readonly Readonly<Plain>[]): boolean {
  return parts.some((part) => {
    if (part.additionalProperties === undefined || part.additionalProperties === true) return false
    const own = new Set(isObject(part.properties) ? Object.keys(part.properties) : [])
    return parts.some(
      (other) => isObject(other.properties) && Object.keys(other.properties).some((name) => !own.has(name)),
    )
  })
}

function mergeKeyword(key: string, a: unknown, b: unknown): unknown {
  if (canonicalJson(a) === canonicalJson(b)) return a
  if (key === 'required' && Array.isArray(a) && Array.isArray(b)) return [...new Set([...a, ...b])]
  if (typeof a === 'number' && typeof b === 'number') {
    if (SMALLER.has(key)) return Math.min(a, b)
    if (LARGER.has(key)) return Math.max(a, b)
  }
  if (key === 'type') return commonTypes(a, b)
  if (key === 'enum' && Array.isArray(a) && Array.isArray(b)) {
    const known = new Set(a.map(canonicalJson))
    const both = b.filter((value) => known.has(canonicalJson(value)))
    return both.length > 0 ? both : undefined
  }
  if (key === 'properties' && isObject(a) && isObject(b)) return mergeProperties(a, b)
  return undefined
}

function commonTypes(a: unknown, b: unknown): unknown {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])
  const both = list(a).filter((type) => list(b).includes(type))
  // Every integer is a number.
  if (both.length === 0 && [a, b].includes('integer') && [a, b].includes('number')) return 'integer'
  return both.length === 0 ? undefined : both.length === 1 ? both[0] : both
}

function mergeProperties(a: Readonly<Plain>, b: Readonly<Plain>): Plain | undefined {
  const merged: Plain = {}
  for (const [name, part] of Object.entries(a)) put(merged, name, part)
  for (const [name, part] of Object.entries(b)) {
    const known = Object.hasOwn(merged, name) ? merged[name] : undefined
    const both =
      known === undefined
        ? part
        : isObject(known) && isObject(part) && !('$ref' in known) && !('$ref' in part)
          ? mergeParts([known, part])
          : undefined
    if (both === undefined) return undefined
    put(merged, name, both)
  }
  return merged
}
