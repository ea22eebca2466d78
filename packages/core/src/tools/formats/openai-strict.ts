// openai-strict.ts: OpenAI's strict subset. What was optional is required and may be null; references stand alone;
// everything has a type. Beyond the documented limits, or where the subset cannot express a schema, there is no
// strict form.
import { isObject, put } from '../../json.ts'
import { resolveReference, survey } from '../schema/reference.ts'
import { Changes, type Encoded } from './decode-arguments.ts'
import { describeDropped } from './describe-limits.ts'
import { typeOf, valuesOf } from './gemini-values.ts'
import { mergeParts } from './merge-schemas.ts'
import type { Plain } from './portable.ts'

/** The documented limits of structured outputs. */
const LIMITS = {
  depth: 10,
  properties: 5000,
  /** Names of properties and definitions, values of enums and constants, all together. */
  chars: 120_000,
  enumValues: 1000,
  /** Limit for one enum of strings with more values than this. */
  longEnumValues: 250,
  longEnumChars: 15_000,
} as const
const FORMATS = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
])
const KEPT: Readonly<Record<string, readonly string[]>> = {
  string: ['pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['minItems', 'maxItems'],
}
/** What is dropped, and described in text. Everything else that is not understood has no strict form. */
const DROPPED = [
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'default',
]
const IGNORED = new Set(['$defs', 'title', 'deprecated', 'examples', 'description', ...DROPPED])
const UNDERSTOOD = new Set([
  ...IGNORED,
  ...Object.values(KEPT).flat(),
  '$ref',
  'additionalProperties',
  'anyOf',
  'const',
  'enum',
  'items',
  'oneOf',
  'properties',
  'required',
  'type',
])

class NotStrict extends Error {}

/** The API's pattern engine has no backtracking: no lookaround, no group references. */
export function isPlainPattern(source: string): boolean {
  // Removes escapes and classes first, so that `\\(?=` and `[(?=]` are not misread.
  const bare = source.replace(/\\[^1-9k]/g, '').replace(/\[[^\]]*\]/g, '')
  return !/\(\?(?:[=!]|<[=!])|\\[1-9]|\\k/.test(bare)
}

export class Strict {
  readonly #root: Plain
  readonly #changes = new Changes()
  readonly #resolve: (reference: string) => unknown
  #properties = 0
  #chars = 0
  #enumValues = 0

  constructor(root: Plain) {
    this.#root = root
    const surveyed = survey(root)
    this.#resolve = (reference) =>
      surveyed.ok ? resolveReference(reference, surveyed.names, root) : undefined
  }

  /** The same schema in the strict subset, or undefined when it cannot be expressed. */
  encode(): Encoded | undefined {
    try {
      const schema = this.#object(this.#root, 'object', 0)
      const definitions = isObject(this.#root.$defs) ? this.#root.$defs : {}
      const strict: Plain = {}
      for (const [name, part] of Object.entries(definitions)) {
        this.#count(name.length)
        put(strict, name, this.#part(part, 1))
      }
      if (Object.keys(definitions).length > 0) schema.$defs = strict
      return { schema, changes: this.#changes }
    } catch (error) {
      if (error instanceof NotStrict) return undefined
      throw error
    }
  }

  #part(raw: unknown, depth: number): Plain {
    if (!isObject(raw) || depth > LIMITS.depth) throw new NotStrict()
    const schema = this.#merged(raw, 0)
    for (const key of Object.keys(schema)) if (!UNDERSTOOD.has(key)) throw new NotStrict()
    if (typeof schema.$ref === 'string') return { $ref: schema.$ref }
    const choices = schema.anyOf ?? schema.oneOf
    if (Array.isArray(choices)) return this.#choice(schema, choices, depth)
    const values = valuesOf(schema)
    if (values) return this.#values(schema, values)
    const types = typesOf(schema)
    if (types.length === 1) return this.#typed(schema, types[0] as string, depth)
    if (types.length === 0) throw new NotStrict()
    const [only, ...others] = types.filter((type) => type !== 'null')
    if (only !== undefined && others.length === 0)
      return Object.assign(this.#typed(schema, only, depth), { type: [only, 'null'] })
    // One alternative per type: keywords of one type beside another are rejected.
    const forms = types.map((type) => this.#typed({ ...schema, description: undefined }, type, depth))
    return { ...described(schema), anyOf: forms }
  }

  /** Without `allOf`, and without siblings of a reference: a lone reference, or everything inlined. */
  #merged(schema: Readonly<Plain>, depth: number): Readonly<Plain> {
    if (depth > LIMITS.depth) throw new NotStrict()
    const { $ref, allOf, ...rest } = schema
    const list = Array.isArray(allOf) ? allOf : []
    const says = Object.keys(rest).some((key) => !IGNORED.has(key) || DROPPED.includes(key))
    if (typeof $ref === 'string' && list.length === 0 && !says) return { $ref }
    const parts = [...(typeof $ref === 'string' ? [this.#resolve($ref)] : []), ...list]
    if (parts.length === 0) return schema
    if (parts.length === 1 && $ref === undefined && !says && isObject(parts[0])) {
      const only = this.#merged(parts[0], depth + 1)
      return typeof only.$ref === 'string' ? only : { ...only, ...described(rest) }
    }
    const flat = parts.map((part) => (isObject(part) ? this.#written(part, depth + 1) : {}))
    const merged = mergeParts([...flat, rest])
    if (merged === undefined) throw new NotStrict()
    return merged
  }

  /** Like #merged, with the reference itself inlined. */
  #written(schema: Readonly<Plain>, depth: number): Readonly<Plain> {
    const merged = this.#merged(schema, depth)
    if (typeof merged.$ref !== 'string') return merged
    const target = this.#resolve(merged.$ref)
    return isObject(target) ? this.#written(target, depth + 1) : {}
  }

  #choice(schema: Readonly<Plain>, choices: readonly unknown[], depth: number): Plain {
    const { anyOf: _any, oneOf: _one, description: _words, ...siblings } = schema
    if (schema.anyOf !== undefined && schema.oneOf !== undefined) throw new NotStrict()
    const says = Object.keys(siblings).some((key) => !IGNORED.has(key))
    const forms = choices.map((choice) => {
      if (!says) return this.#part(choice, depth + 1)
      const merged = isObject(choice) ? mergeParts([this.#written(choice, 0), siblings]) : undefined
      if (merged === undefined) throw new NotStrict()
      return this.#part(merged, depth + 1)
    })
    return { ...described(schema), anyOf: forms }
  }

  #values(schema: Readonly<Plain>, values: readonly unknown[]): Plain {
    if (values.length === 0 || values.some((value) => typeof value === 'object' && value !== null))
      throw new NotStrict()
    const texts = values.filter((value) => typeof value === 'string')
    const chars = texts.reduce((sum, text) => sum + text.length, 0)
    this.#count(chars)
    this.#enumValues += values.length
    if (this.#enumValues > LIMITS.enumValues) throw new NotStrict()
    if (values.length > LIMITS.longEnumValues && chars > LIMITS.longEnumChars) throw new NotStrict()
    const types = [...new Set(values.map(typeOf))]
    return { ...described(schema), type: types.length === 1 ? types[0] : types, enum: values }
  }

  #typed(schema: Readonly<Plain>, type: string, depth: number): Plain {
    if (type === 'object') return this.#object(schema, type, depth)
    const strict: Plain = { type, ...described(schema) }
    for (const key of KEPT[type] ?? []) {
      const value = schema[key]
      const known =
        key === 'format'
          ? FORMATS.has(String(value))
          : key !== 'pattern' || (typeof value === 'string' && isPlainPattern(value))
      if (value !== undefined && known) strict[key] = value
    }
    if (type === 'array') strict.items = this.#part(schema.items, depth + 1)
    return describeDropped(strict, schema, DROPPED)
  }

  #object(schema: Readonly<Plain>, type: string, depth: number): Plain {
    for (const key of Object.keys(schema)) if (!UNDERSTOOD.has(key)) throw new NotStrict()
    const { additionalProperties: rest } = schema
    const properties = isObject(schema.properties) ? schema.properties : {}
    const names = Object.keys(properties)
    // An object with arbitrary keys has no strict form; at the root it is a tool without parameters.
    if (isObject(rest) && Object.keys(rest).length > 0) throw new NotStrict()
    if (names.length === 0 && (rest === true || isObject(rest) || (depth > 0 && rest === undefined)))
      throw new NotStrict()
    this.#properties += names.length
    if (this.#properties > LIMITS.properties) throw new NotStrict()
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    const strict: Plain = { type, ...described(schema), properties: {} }
    const absent = new Set<string>()
    for (const name of names) {
      this.#count(name.length)
      const part = this.#part(properties[name], depth + 1)
      // Checked before the part is made nullable.
      if (!required.has(name) && !this.#takesNull(part, 0)) absent.add(name)
      put(strict.properties as Plain, name, required.has(name) ? part : orNull(part))
    }
    strict.required = names
    strict.additionalProperties = false
    if (absent.size > 0) this.#changes.absent.set(strict, absent)
    return describeDropped(strict, schema, ['minProperties', 'maxProperties', 'default'])
  }

  /** Whether null already had its own meaning there. */
  #takesNull(part: unknown, depth: number): boolean {
    if (!isObject(part) || depth > LIMITS.depth) return false
    if (typeof part.$ref === 'string') {
      const target = this.#resolve(part.$ref)
      return isObject(target) && this.#takesNull(this.#written(target, 0), depth + 1)
    }
    if (Array.isArray(part.enum)) return part.enum.includes(null)
    if (Object.hasOwn(part, 'const')) return part.const === null
    const list = part.anyOf ?? part.oneOf
    if (Array.isArray(list)) return list.some((one) => this.#takesNull(one, depth + 1))
    return part.type === 'null' || (Array.isArray(part.type) && part.type.includes('null'))
  }

  #count(chars: number): void {
    this.#chars += chars
    if (this.#chars > LIMITS.chars) throw new NotStrict()
  }
}

/** What was optional is required and may be null. */
function orNull(part: Plain): Plain {
  if (Array.isArray(part.anyOf)) {
    const isThere = part.anyOf.some((one: Plain) => one.type === 'null')
    return isThere ? part : { ...part, anyOf: [...part.anyOf, { type: 'null' }] }
  }
  if (part.type === 'null' || (Array.isArray(part.enum) && part.enum.includes(null))) return part
  if (Array.isArray(part.type) && part.type.includes('null')) return part
  if (part.type !== undefined && !part.enum)
    // Changes are recorded by identity, so the part stays the same object.
    return Object.assign(part, { type: [part.type, 'null'].flat() })
  const { description, ...rest } = part
  return { ...(description !== undefined && { description }), anyOf: [rest, { type: 'null' }] }
}

function typesOf(schema: Readonly<Plain>): readonly string[] {
  if (Array.isArray(schema.type)) return schema.type
  if (typeof schema.type === 'string') return [schema.type]
  return isObject(schema.properties) ? ['object'] : []
}

function described(schema: Readonly<Plain>): Plain {
  return typeof schema.description === 'string' ? { description: schema.description } : {}
}
