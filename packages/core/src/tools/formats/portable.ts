// portable.ts: a schema that every provider accepts, made from the server's. The original is unchanged, and arguments
// are checked against it; this is only what the model reads.
//
// The result is valid 2020-12 with an object at the root. Every reference leads to `#` or to `#/$defs/NAME`, whatever the
// original used: `definitions`, `components`, anchors, ids, dynamic references, pointers into properties.
import { canonicalJson, isObject, put } from '../../json.ts'
import { SCHEMA_LIMITS } from '../../limits.ts'
import { cleanText, cutText } from '../../text/sanitize.ts'
import type { JsonSchema } from '../definition.ts'
import { resolveReference, type SchemaNames, survey } from '../schema/reference.ts'
import { asObject, isPlainRoot } from './object-root.ts'

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
const MAP = new Set(['dependentSchemas', 'patternProperties'])
const COUNTS = new Set([
  'maxContains',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minContains',
  'minItems',
  'minLength',
  'minProperties',
])
const BOUNDS = new Set(['exclusiveMaximum', 'exclusiveMinimum', 'maximum', 'minimum'])
/** Keywords that are kept unchanged when their value is of the right kind. */
const KEPT: Readonly<Record<string, (value: unknown) => boolean>> = {
  const: () => true,
  default: () => true,
  deprecated: (value) => typeof value === 'boolean',
  examples: Array.isArray,
  format: (value) => typeof value === 'string',
  multipleOf: (value) => typeof value === 'number' && value > 0,
  uniqueItems: (value) => typeof value === 'boolean',
}

/** A JSON Schema without what only some validators understand. */
export function portable(schema: JsonSchema): Plain {
  const surveyed = survey(schema)
  if (!isObject(schema) || !surveyed.ok) return { type: 'object', properties: {} }
  const tidier = new Tidier(surveyed.names)
  const root = asObject(tidier.tidy(schema), (reference) => tidier.definition(reference))
  const definitions = tidier.definitions()
  return Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
}

class Tidier {
  readonly #names: SchemaNames
  readonly #rootStays: boolean
  /** The targets of references, each under its own name. */
  readonly #named = new Map<object, string>()
  readonly #defined = new Map<string, Plain>()
  /** Size written so far. Copies of reference targets cannot make a schema grow without end. */
  #written = 0

  constructor(names: SchemaNames) {
    this.#names = names
    this.#rootStays = isPlainRoot(names.root)
  }

  /** The target of a reference in the result; the root has no definition. */
  definition(reference: string): Plain | undefined {
    return this.#defined.get(reference.slice('#/$defs/'.length))
  }

  /** Writes the targets of references, and their targets, until no name is open. */
  definitions(): Record<string, Plain> {
    const all: Record<string, Plain> = {}
    for (const name of this.#named.values()) put(all, name, this.#defined.get(name) ?? {})
    return all
  }

  tidy(schema: unknown): Plain {
    if (!isObject(schema)) return schema === false ? { not: {} } : {}
    if (++this.#written > 2 * SCHEMA_LIMITS.nodes) return {}
    const plain: Plain = {}
    for (const [key, value] of Object.entries(schema)) this.#keyword(plain, key, value, schema)
    completeArray(plain)
    completeRequired(plain)
    return plain
  }

  #keyword(plain: Plain, key: string, value: unknown, schema: Readonly<Plain>): void {
    if (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef')
      this.#reference(plain, value, schema)
    else if (key === 'properties') {
      if (isObject(value)) plain.properties = this.#map(value, true)
    } else if (key === 'items') this.#items(plain, value, schema)
    else if (key === 'dependencies') this.#dependencies(plain, value)
    else if (ONE.has(key)) plain[key] = typeof value === 'boolean' ? value : this.tidy(value)
    else if (LIST.has(key)) {
      if (Array.isArray(value) && value.length > 0) plain[key] = value.map((part) => this.tidy(part))
    } else if (MAP.has(key)) {
      if (isObject(value)) {
        const usable = Object.entries(value).filter(
          ([name]) => key !== 'patternProperties' || isPattern(name),
        )
        plain[key] = this.#map(Object.fromEntries(usable), false)
      }
    } else keepValue(plain, key, value, schema)
  }

  /** A property that is never allowed is left out: no provider can express it. */
  #map(map: Readonly<Plain>, isProperties: boolean): Plain {
    const tidied: Plain = {}
    for (const [name, part] of Object.entries(map))
      if (!(isProperties && part === false)) put(tidied, name, this.tidy(part))
    return tidied
  }

  #items(plain: Plain, value: unknown, schema: Readonly<Plain>): void {
    if (Array.isArray(value)) {
      plain.prefixItems = value.map((item) => this.tidy(item))
      this.#rest(plain, schema.additionalItems, value.length)
    } else this.#rest(plain, value, Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0)
  }

  /** `items: false` means: no more than the listed ones. */
  #rest(plain: Plain, rest: unknown, listed: number): void {
    if (rest === false)
      plain.maxItems = typeof plain.maxItems === 'number' ? Math.min(plain.maxItems, listed) : listed
    else plain.items = this.tidy(rest)
  }

  #dependencies(plain: Plain, value: unknown): void {
    if (!isObject(value)) return
    const names: Plain = {}
    const schemas: Plain = {}
    for (const [key, rule] of Object.entries(value))
      if (Array.isArray(rule)) put(names, key, texts(rule))
      else put(schemas, key, this.tidy(rule))
    if (Object.keys(names).length > 0) plain.dependentRequired = names
    if (Object.keys(schemas).length > 0) plain.dependentSchemas = schemas
  }

  /** A provider would reject the whole request for a dangling reference, so it is left out. */
  #reference(plain: Plain, value: unknown, schema: Readonly<Plain>): void {
    if (typeof value !== 'string') return
    const target = this.#follow(value, schema)
    if (target === false) plain.not = {}
    if (!isObject(target)) return
    plain.$ref = target === this.#names.root && this.#rootStays ? '#' : `#/$defs/${this.#name(target, value)}`
  }

  /** Follows references that contain only another reference; circular ones lead nowhere. */
  #follow(reference: string, from: Readonly<Plain>): unknown {
    const seen = new Set<unknown>([from])
    let target = resolveReference(reference, this.#names, from)
    while (isObject(target) && typeof target.$ref === 'string' && Object.keys(target).every(isIdle)) {
      if (seen.has(target)) return undefined
      seen.add(target)
      target = resolveReference(target.$ref, this.#names, target)
    }
    return seen.has(target) && isObject(target) && Object.keys(target).every(isIdle) ? undefined : target
  }

  #name(target: object, reference: string): string {
    const known = this.#named.get(target)
    if (known !== undefined) return known
    const last = reference.split(/[/#]/).findLast((part) => part !== '') ?? 'root'
    const plain = last.replace(/%[0-9A-Fa-f]{2}|~[01]|[^A-Za-z0-9_.-]/g, '_').slice(0, 48) || 'root'
    const taken = new Set(this.#named.values())
    let name = plain
    for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`
    this.#named.set(target, name)
    // Named before it is written: it may refer to itself.
    this.#defined.set(name, this.tidy(target))
    return name
  }
}

/** Keywords that do not constrain a value, and the reference itself. */
const IDLE = new Set([
  '$ref',
  '$comment',
  '$id',
  '$schema',
  '$anchor',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
])

function isIdle(key: string): boolean {
  return IDLE.has(key)
}

function keepValue(plain: Plain, key: string, value: unknown, schema: Readonly<Plain>): void {
  if (key === 'type') {
    const types = new Set(
      (Array.isArray(value) ? value : [value]).filter((type) => TYPES.has(type as string)),
    )
    if (schema.nullable === true && types.size > 0) types.add('null')
    if (types.size > 0) plain.type = types.size === 1 ? [...types][0] : [...types]
  } else if (key === 'description' || key === 'title') {
    if (typeof value === 'string') plain[key] = cutText(cleanText(value), NESTED_DESCRIPTION_CHARS, '…')
  } else if (key === 'enum') {
    if (Array.isArray(value) && value.length > 0)
      plain.enum = [...new Map(value.map((one) => [canonicalJson(one), one])).values()]
  } else if (key === 'required') {
    const names = texts(value)
    if (names.length > 0) plain.required = names
  } else if (key === 'dependentRequired') {
    if (isObject(value)) plain[key] = mapValues(value, texts)
  } else if (key === 'pattern') {
    if (typeof value === 'string' && isPattern(value)) plain.pattern = value
  } else if (key === 'exclusiveMinimum' && value === true) {
    if (typeof schema.minimum === 'number') plain.exclusiveMinimum = schema.minimum
  } else if (key === 'exclusiveMaximum' && value === true) {
    if (typeof schema.maximum === 'number') plain.exclusiveMaximum = schema.maximum
  } else if (COUNTS.has(key)) {
    // A broken `maxItems` must not undo the one that `items: false` stands for.
    if (Number.isInteger(value) && (value as number) >= 0)
      plain[key] = typeof plain[key] === 'number' ? Math.min(plain[key], value as number) : value
  } else if (BOUNDS.has(key)) {
    if (typeof value === 'number' && Number.isFinite(value)) plain[key] = value
  } else if (Object.hasOwn(KEPT, key) && KEPT[key]?.(value)) plain[key] = value
  // Everything else ($schema, $id, x-…, comments) tells a model nothing and a provider may reject it.
}

/** Some providers reject an array without `items`, also beside a tuple and when it may be null. */
function completeArray(plain: Plain): void {
  const types = Array.isArray(plain.type) ? plain.type : [plain.type]
  if ((types.includes('array') || plain.prefixItems !== undefined) && plain.items === undefined)
    plain.items = {}
}

/** Some providers reject a required name that is no property; it becomes one that accepts what any other key accepts. */
function completeRequired(plain: Plain): void {
  if (!Array.isArray(plain.required) || (plain.type !== 'object' && !isObject(plain.properties))) return
  const properties: Plain = isObject(plain.properties) ? { ...plain.properties } : {}
  const rest = plain.additionalProperties
  for (const name of plain.required)
    if (!Object.hasOwn(properties, name) && rest !== false)
      put(properties, name, isObject(rest) ? { ...rest } : {})
  plain.required = plain.required.filter((name) => Object.hasOwn(properties, name))
  if ((plain.required as string[]).length === 0) delete plain.required
  plain.properties = properties
}

export function mapValues<T>(
  map: Readonly<Plain>,
  change: (value: unknown, key: string) => T,
): Record<string, T> {
  const changed: Record<string, T> = {}
  for (const [key, value] of Object.entries(map)) put(changed, key, change(value, key))
  return changed
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? [...new Set(list.filter((name) => typeof name === 'string'))] : []
}

/** Providers compile patterns too, and fail the whole request for a bad one. */
function isPattern(source: string): boolean {
  if (source.length > SCHEMA_LIMITS.patternChars) return false
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}
