// gemini.ts: tools in the form of Gemini: a small subset of OpenAPI 3.0 without references, constants, unions of
// types or free-form objects. What the subset cannot express becomes a string, and fromGemini() decodes it.
import { isObject, put } from '../../json.ts'
import type { JsonSchema } from '../definition.ts'
import { resolveReference, survey } from '../schema/reference.ts'
import type { OfferedTool } from '../tool.ts'
import { Changes, decodeArguments, type Encoded } from './decode-arguments.ts'
import { describe, describeDropped, describeShape } from './describe-limits.ts'
import { labelled, typesOf, valuesOf } from './gemini-values.ts'
import { mergeParts } from './merge-schemas.ts'
import { isPlainPattern } from './openai-strict.ts'
import { type Plain, portable } from './portable.ts'
import { renamed } from './property-names.ts'

/** A tool in the form of Google's generateContent. */
export interface GeminiFunction {
  readonly name: string
  readonly description: string
  /** Absent for a tool without parameters: Gemini rejects an object with no properties. */
  readonly parameters?: Plain
}

const PROPERTY = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const KEPT: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  array: ['minItems', 'maxItems'],
}
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
}
const DROPPED = [
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'pattern',
  'format',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'default',
]
/** References are inlined. Limits on their depth, and on how much larger than the original the result may be. */
const DEPTH = 12
const SPARE_CHARS = 4000

/**
 * A tool for Google's generateContent; `fromGemini` undoes its changes in the arguments.
 *
 * @example
 * const tools = [{ functionDeclarations: board.tools().map(toGemini) }]
 * console.log(tools[0]?.functionDeclarations.length) // 1
 */
export function toGemini(tool: OfferedTool): GeminiFunction {
  const [{ schema }] = encode(tool.inputJsonSchema)
  const empty = !isObject(schema.properties) || Object.keys(schema.properties).length === 0
  return { name: tool.name, description: tool.description, ...(!empty && { parameters: schema }) }
}

/**
 * The model's arguments, as the tool's own schema expects them.
 *
 * @example
 * const [tool] = board.tools()
 * if (tool) console.log(fromGemini({ text: 'hi' }, tool.inputJsonSchema)) // { text: 'hi' }
 */
export function fromGemini(args: unknown, schema: JsonSchema): Record<string, unknown> {
  const [subset, names] = encode(schema)
  return decodeArguments(decodeArguments(args, subset), names)
}

function encode(schema: JsonSchema): readonly [Encoded, Encoded] {
  const names = renamed(portable(schema), PROPERTY)
  return [new Subset(names.schema).encode(), names]
}

class Subset {
  readonly #root: Plain
  readonly #changes = new Changes()
  readonly #resolve: (reference: string) => unknown
  /** Characters that inlined references may still add. */
  #room: number

  constructor(root: Plain) {
    this.#root = root
    const surveyed = survey(root)
    this.#resolve = (reference) =>
      surveyed.ok ? resolveReference(reference, surveyed.names, root) : undefined
    this.#room = SPARE_CHARS + JSON.stringify(root).length
  }

  encode(): Encoded {
    return { schema: this.#typed(this.#root, 'object', 0, []), changes: this.#changes }
  }

  /** `open` are the references being inlined. */
  #part(raw: unknown, depth: number, open: readonly unknown[]): Plain {
    if (!isObject(raw)) return this.#anything({})
    if (depth > DEPTH) return this.#anything(raw)
    const { $ref, allOf, ...rest } = raw
    const target = typeof $ref === 'string' ? this.#resolve($ref) : undefined
    if (target !== undefined && (open.includes(target) || !this.#pays(target)))
      return this.#anything({ ...(target as Plain), ...rest })
    const parts = [target, ...(Array.isArray(allOf) ? allOf : [])].filter(isObject)
    if (parts.length > 0) {
      const merged = mergeParts([...parts, rest])
      const next = target === undefined ? open : [...open, target]
      return merged ? this.#part(merged, depth + 1, next) : this.#anything({ ...parts[0], ...rest })
    }
    const choices = raw.anyOf ?? raw.oneOf
    if (Array.isArray(choices)) return this.#choice(raw, choices, depth, open)
    const values = valuesOf(raw)
    return values ? this.#values(raw, values) : this.#types(raw, depth, open)
  }

  #pays(target: unknown): boolean {
    const chars = JSON.stringify(target)?.length ?? 0
    if (chars > this.#room) return false
    this.#room -= chars
    return true
  }

  #types(schema: Readonly<Plain>, depth: number, open: readonly unknown[]): Plain {
    const types = typesOf(schema)
    const others = types.filter((type) => type !== 'null')
    const nullable = others.length < types.length ? { nullable: true } : {}
    const [only] = others
    if (types.length === 0) return this.#anything(schema)
    if (only === undefined) return this.#values(schema, [null])
    if (others.length === 1) return Object.assign(this.#typed(schema, only, depth, open), nullable)
    const { description: _, ...bare } = schema
    const forms = others.map((type) => this.#typed(bare, type, depth + 1, open))
    return { ...described(schema), anyOf: forms, ...nullable }
  }

  #typed(schema: Readonly<Plain>, type: string, depth: number, open: readonly unknown[]): Plain {
    const properties = isObject(schema.properties) ? schema.properties : {}
    const isEmpty = Object.keys(properties).length === 0
    if (type === 'object' && isEmpty && depth > 0) return this.#anything({ ...schema, type })
    const result: Plain = { type, ...described(schema) }
    if (typeof schema.title === 'string') result.title = schema.title
    for (const key of KEPT[type] ?? [])
      if (schema[key] !== undefined && (key !== 'pattern' || isPlainPattern(String(schema[key]))))
        result[key] = schema[key]
    if (FORMATS[type]?.includes(String(schema.format))) result.format = schema.format
    if (type === 'integer') inclusive(result, schema)
    if (type === 'array') result.items = this.#part(itemsOf(schema), depth + 1, open)
    if (type === 'object' && !isEmpty) {
      const converted: Plain = {}
      for (const [name, part] of Object.entries(properties))
        put(converted, name, this.#part(part, depth + 1, open))
      result.properties = converted
      const required = Array.isArray(schema.required)
        ? schema.required.filter((name) => Object.hasOwn(properties, String(name)))
        : []
      if (required.length > 0) result.required = required
    }
    return describeDropped(result, schema, DROPPED)
  }

  /** Only strings may be listed; other values are listed as strings, and decoded. */
  #values(schema: Readonly<Plain>, values: readonly unknown[]): Plain {
    const listed = values.filter((value) => value !== null || values.length === 1)
    const nullable = listed.length < values.length ? { nullable: true } : {}
    const labels = labelled(listed)
    const part: Plain = { type: 'string', ...described(schema), ...nullable }
    if (listed.length > 0) Object.assign(part, { format: 'enum', enum: [...labels.keys()] })
    if ([...labels].some(([label, value]) => label !== value)) this.#changes.values.set(part, labels)
    return part
  }

  #choice(
    schema: Readonly<Plain>,
    choices: readonly unknown[],
    depth: number,
    open: readonly unknown[],
  ): Plain {
    const { anyOf: _any, oneOf: _one, description: _words, ...siblings } = schema
    const others = choices.filter((form) => !(isObject(form) && form.type === 'null'))
    const nullable = others.length < choices.length ? { nullable: true } : {}
    if (others.length > 0 && others.every(onlyRequires)) {
      const names = others.map((form) => (form as { required: unknown[] }).required.join(' and '))
      const part = this.#part({ ...siblings, ...described(schema) }, depth + 1, open)
      return describe(part, `Needs one of: ${names.join('; ')}.`)
    }
    const forms = others.map((form) => {
      const whole = isObject(form) ? this.#withSiblings(form, siblings) : form
      return this.#part(whole, depth + 1, open)
    })
    const [only] = forms
    if (only === undefined) return this.#values(schema, [null])
    if (forms.length === 1) return Object.assign(only, bothDescribed(schema, only), nullable)
    return this.#constants(schema, others, nullable) ?? { ...described(schema), anyOf: forms, ...nullable }
  }

  /** Keywords beside a choice apply to every alternative. */
  #withSiblings(form: Readonly<Plain>, siblings: Readonly<Plain>): Readonly<Plain> {
    if (Object.keys(siblings).length === 0) return form
    const target = typeof form.$ref === 'string' ? this.#resolve(form.$ref) : undefined
    const { $ref: _, ...rest } = form
    const parts = isObject(target) ? [target, rest] : [form]
    return mergeParts([...parts, siblings]) ?? form
  }

  /** A choice of constants is a list of values. */
  #constants(schema: Readonly<Plain>, forms: readonly unknown[], nullable: Plain): Plain | undefined {
    const values: unknown[] = []
    for (const form of forms) {
      const own = isObject(form) && !('$ref' in form) ? valuesOf(form) : undefined
      if (own === undefined) return undefined
      values.push(...own)
    }
    return Object.assign(this.#values(schema, values), nullable)
  }

  /** A value without a form in the subset is requested as JSON. */
  #anything(schema: Readonly<Plain>): Plain {
    const kind = typesOf(schema).join(' or ') || 'value'
    const part: Plain = { type: 'string', ...described(schema) }
    describe(part, `A JSON ${kind}, written as text.${describeShape(schema)}`)
    this.#changes.json.add(part)
    return part
  }
}

function onlyRequires(form: unknown): boolean {
  return isObject(form) && Array.isArray(form.required) && Object.keys(form).length === 1
}

/** Integers have a next value, so that an exclusive bound can be expressed as an inclusive one. */
function inclusive(result: Plain, { exclusiveMinimum, exclusiveMaximum }: Readonly<Plain>): void {
  if (typeof exclusiveMinimum === 'number') {
    const least = Math.floor(exclusiveMinimum) + 1
    result.minimum = typeof result.minimum === 'number' ? Math.max(result.minimum, least) : least
  }
  if (typeof exclusiveMaximum === 'number') {
    const most = Math.ceil(exclusiveMaximum) - 1
    result.maximum = typeof result.maximum === 'number' ? Math.min(result.maximum, most) : most
  }
}

/** The items of a tuple may be of any of its kinds. */
function itemsOf(schema: Readonly<Plain>): unknown {
  const listed = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  if (listed.length === 0) return schema.items
  const isOpen = isObject(schema.items) && Object.keys(schema.items).length > 0
  const forms = isOpen ? [...listed, schema.items] : listed
  return forms.length === 1 ? forms[0] : { anyOf: forms }
}

function described(schema: Readonly<Plain>): Plain {
  return typeof schema.description === 'string' ? { description: schema.description } : {}
}

/** Keeps the description of the only alternative: it may say how to write the value. */
function bothDescribed(schema: Readonly<Plain>, form: Readonly<Plain>): Plain {
  const texts = [schema.description, form.description].filter((text) => typeof text === 'string')
  return texts.length === 0 ? {} : { description: [...new Set(texts)].join(' ') }
}
