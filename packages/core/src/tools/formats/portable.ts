// portable.ts: a schema that every provider's front door accepts, made from one that its server wrote. The original is not
// touched, and stays what arguments are checked against; this is only what the model reads.
import { SCHEMA_LIMITS } from '../../limits.ts'
import type { JsonSchema } from '../definition.ts'
import { cleanText, cutText } from '../describe.ts'
import { isRecord, own, put } from '../json.ts'
import { resolveReference, survey } from '../schema/reference.ts'

export type Plain = Record<string, unknown>

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'])
const NESTED_DESCRIPTION_CHARS = 1024
/** Keywords that hold one schema, a list of schemas, or a map of them. */
const ONE = new Set([
  'additionalProperties',
  'contains',
  'else',
  'if',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])
const LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const MAP = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'])
const NUMBERS = new Set([
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxContains',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minContains',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
])
const KEPT = new Set(['const', 'default', 'deprecated', 'examples', 'format', 'uniqueItems'])

/** Valid 2020-12 with an object at the root, and nothing in it that leads elsewhere. */
export function portable(schema: JsonSchema): Plain {
  const surveyed = survey(schema)
  if (!isRecord(schema) || !surveyed.ok) return { type: 'object', properties: {} }
  const resolve = (reference: string) => resolveReference(reference, schema, surveyed.anchors)
  return asObject(tidy(schema, resolve), schema, resolve)
}

type Resolve = (reference: string) => unknown

function tidy(schema: unknown, resolve: Resolve): Plain {
  if (!isRecord(schema)) return schema === false ? { not: {} } : {}
  const plain: Plain = {}
  for (const [key, value] of Object.entries(schema)) tidyKeyword(plain, key, value, schema, resolve)
  if (plain.type === 'array' && plain.items === undefined && plain.prefixItems === undefined) plain.items = {}
  return plain
}

function tidyKeyword(
  plain: Plain,
  key: string,
  value: unknown,
  schema: Readonly<Plain>,
  resolve: Resolve,
): void {
  if (key === 'type') {
    const types = (Array.isArray(value) ? value : [value]).filter((type) => TYPES.has(type as string))
    if (types.length > 0) plain.type = types.length === 1 ? types[0] : types
  } else if (key === 'description' || key === 'title') {
    if (typeof value === 'string') plain[key] = cutText(cleanText(value), NESTED_DESCRIPTION_CHARS, '…')
  } else if (key === '$ref') {
    // A reference that leads nowhere here would make the provider refuse the whole request.
    if (typeof value === 'string' && value.startsWith('#') && resolve(value) !== undefined) plain.$ref = value
  } else if (key === 'enum') {
    if (Array.isArray(value) && value.length > 0) plain.enum = value
  } else if (key === 'required') {
    const names = Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === 'string'))] : []
    if (names.length > 0) plain.required = names
  } else if (key === 'pattern') {
    if (typeof value === 'string' && value.length <= SCHEMA_LIMITS.patternChars && isPattern(value))
      plain.pattern = value
  } else if (key === 'items') {
    if (Array.isArray(value)) {
      plain.prefixItems = value.map((item) => tidy(item, resolve))
      if (schema.additionalItems !== undefined) plain.items = flag(schema.additionalItems, resolve)
    } else plain.items = flag(value, resolve)
  } else if (key === 'nullable') {
    if (value === true && typeof schema.type === 'string') plain.type = [schema.type, 'null']
  } else if (key === 'exclusiveMinimum' && value === true) {
    if (typeof schema.minimum === 'number') plain.exclusiveMinimum = schema.minimum
  } else if (key === 'exclusiveMaximum' && value === true) {
    if (typeof schema.maximum === 'number') plain.exclusiveMaximum = schema.maximum
  } else if (NUMBERS.has(key)) {
    if (typeof value === 'number' && Number.isFinite(value)) plain[key] = value
  } else if (ONE.has(key)) plain[key] = flag(value, resolve)
  else if (LIST.has(key)) {
    if (Array.isArray(value) && value.length > 0) plain[key] = value.map((part) => tidy(part, resolve))
  } else if (MAP.has(key)) {
    if (isRecord(value)) plain[key] = mapValues(value, (part) => flag(part, resolve))
  } else if (KEPT.has(key)) plain[key] = value
  // Everything else ($schema, $id, x-…, comments) tells a model nothing and may upset its provider.
}

function flag(value: unknown, resolve: Resolve): Plain | boolean {
  return typeof value === 'boolean' ? value : tidy(value, resolve)
}

export function mapValues<T>(
  map: Readonly<Plain>,
  change: (value: unknown, key: string) => T,
): Record<string, T> {
  const changed: Record<string, T> = {}
  for (const [key, value] of Object.entries(map)) put(changed, key, change(value, key))
  return changed
}

/** Providers want `type: "object"` at the root and no choice beside it: the branches' properties become one object's. */
function asObject(root: Plain, original: Readonly<Plain>, resolve: Resolve): Plain {
  const {
    anyOf,
    oneOf,
    allOf,
    $ref,
    not: _not,
    if: _if,
    then: _then,
    else: _else,
    enum: _enum,
    const: _const,
    ...rest
  } = root
  const merged: Plain = {
    ...rest,
    type: 'object',
    properties: isRecord(rest.properties) ? { ...rest.properties } : {},
  }
  const parts: Plain[] = []
  if (typeof $ref === 'string') parts.push(tidy(resolve($ref), resolve))
  for (const list of [allOf]) if (Array.isArray(list)) parts.push(...list)
  for (const part of parts) mergeInto(merged, part, resolve, true)
  for (const list of [anyOf, oneOf])
    if (Array.isArray(list)) {
      const always = commonRequired(list.map((part) => follow(part, resolve)))
      for (const part of list) mergeInto(merged, part, resolve, false)
      merged.required = union(merged.required, always)
    }
  const known = merged.properties as Plain
  const required = union(merged.required, []).filter(
    (name) => Object.hasOwn(known, name) || original.properties === undefined,
  )
  delete merged.required
  if (required.length > 0) merged.required = required
  return merged
}

function mergeInto(target: Plain, part: unknown, resolve: Resolve, required: boolean, depth = 0): void {
  const schema = follow(part, resolve)
  if (depth > 8) return
  if (isRecord(schema.properties))
    for (const [key, value] of Object.entries(schema.properties)) {
      const properties = target.properties as Plain
      if (!Object.hasOwn(properties, key)) put(properties, key, value)
    }
  if (required) target.required = union(target.required, schema.required)
  for (const list of [schema.allOf, schema.anyOf, schema.oneOf])
    if (Array.isArray(list))
      for (const inner of list)
        mergeInto(target, inner, resolve, required && list === schema.allOf, depth + 1)
}

function follow(part: unknown, resolve: Resolve): Plain {
  if (!isRecord(part)) return {}
  const reference = own(part, '$ref')
  return typeof reference === 'string' ? tidy(resolve(reference), resolve) : part
}

function commonRequired(parts: readonly Plain[]): string[] {
  const [first, ...others] = parts.map((part) => union(part.required, []))
  return (first ?? []).filter((name) => others.every((names) => names.includes(name)))
}

function union(a: unknown, b: unknown): string[] {
  const names = (list: unknown) =>
    Array.isArray(list) ? list.filter((name) => typeof name === 'string') : []
  return [...new Set([...names(a), ...names(b)])]
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    // Providers compile patterns too, and fail the whole request over a bad one.
    return false
  }
}
