// positions.ts: where in a JSON Schema the schemas are. A property may be named `properties`, `enum` or `$ref`, and
// data may look like a schema; code that walks a schema uses this instead of guessing by the name of a key.
import { isObject, put } from '../../json.ts'

/** What the value of a keyword is: one schema, a list or a map of them, or either a schema or a list. */
type Position = 'schema' | 'list' | 'map' | 'schema-or-list'

const POSITIONS: ReadonlyMap<string, Position> = new Map<string, Position>([
  ['additionalItems', 'schema'],
  ['additionalProperties', 'schema'],
  ['contains', 'schema'],
  ['contentSchema', 'schema'],
  ['else', 'schema'],
  ['if', 'schema'],
  ['not', 'schema'],
  ['propertyNames', 'schema'],
  ['then', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['items', 'schema-or-list'],
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['prefixItems', 'list'],
  ['$defs', 'map'],
  ['definitions', 'map'],
  // Draft 7 has lists of names in it too; those are not schemas.
  ['dependencies', 'map'],
  ['dependentSchemas', 'map'],
  ['patternProperties', 'map'],
  ['properties', 'map'],
])

export type Schema = Readonly<Record<string, unknown>>

/** One schema inside another: under a keyword, and there under a name or at an index. */
export interface Subschema {
  readonly keyword: string
  readonly key?: string | number
  readonly schema: unknown
}

export function positionOf(keyword: string): Position | undefined {
  return POSITIONS.get(keyword)
}

/** Every schema directly inside this one; booleans and broken parts too. */
export function* subschemas(schema: Schema): Generator<Subschema> {
  for (const [keyword, value] of Object.entries(schema)) {
    const position = positionOf(keyword)
    if (position === undefined) continue
    if (Array.isArray(value)) {
      if (position === 'list' || position === 'schema-or-list')
        for (const [key, part] of value.entries()) yield { keyword, key, schema: part }
    } else if (position === 'map') {
      if (isObject(value))
        for (const [key, part] of Object.entries(value))
          if (!(keyword === 'dependencies' && Array.isArray(part))) yield { keyword, key, schema: part }
    } else if (position !== 'list') yield { keyword, schema: value }
  }
}

/** A copy in which every schema directly inside was changed; everything else stays. */
export function mapSubschemas(
  schema: Schema,
  change: (part: unknown, keyword: string, key?: string) => unknown,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const position = positionOf(keyword)
    if (position === undefined) put(copy, keyword, value)
    else if (Array.isArray(value))
      copy[keyword] =
        position === 'list' || position === 'schema-or-list'
          ? value.map((part) => change(part, keyword))
          : value
    else if (position === 'map') copy[keyword] = isObject(value) ? mapNamed(value, keyword, change) : value
    else copy[keyword] = position === 'list' ? value : change(value, keyword)
  }
  return copy
}

function mapNamed(
  map: Schema,
  keyword: string,
  change: (part: unknown, keyword: string, key?: string) => unknown,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [key, part] of Object.entries(map))
    put(copy, key, keyword === 'dependencies' && Array.isArray(part) ? part : change(part, keyword, key))
  return copy
}
