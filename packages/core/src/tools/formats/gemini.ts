// gemini.ts: tools as Gemini takes them: a small subset of OpenAPI 3.0 without references, constants or free-form objects.
import { isRecord } from '../json.ts'
import { resolveReference } from '../schema/reference.ts'
import type { OfferedTool } from '../tool.ts'
import { mapValues, type Plain, portable } from './portable.ts'

export interface GeminiFunction {
  readonly name: string
  readonly description: string
  /** Absent for a tool without parameters: an object with no properties is refused. */
  readonly parameters?: Plain
}

const KEPT = new Set([
  'title',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'pattern',
])
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time', 'enum'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
}
/** References are written out; one that refers to itself ends here. */
const DEPTH = 12

export function toGemini(tool: OfferedTool): GeminiFunction {
  const schema = portable(tool.inputJsonSchema)
  const parameters = convert(schema, schema, 0)
  const empty = !isRecord(parameters.properties) || Object.keys(parameters.properties).length === 0
  return { name: tool.name, description: tool.description, ...(!empty && { parameters }) }
}

function convert(schema: unknown, root: Plain, depth: number): Plain {
  if (!isRecord(schema) || depth > DEPTH) return anything(isRecord(schema) ? schema : {})
  if (typeof schema.$ref === 'string') {
    const { $ref, ...beside } = schema
    const target = resolveReference(String($ref), root, new Map())
    return convert({ ...(isRecord(target) ? target : {}), ...beside }, root, depth + 1)
  }
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return choice(schema, choices, root, depth)
  if (Array.isArray(schema.allOf))
    return convert({ ...mergeAll(schema.allOf, root), ...without(schema, 'allOf') }, root, depth + 1)
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null')
    const forms = types.map((type) => convert({ ...schema, type }, root, depth + 1))
    const [only] = forms
    const merged =
      forms.length === 1 && only
        ? only
        : { ...describe(schema), anyOf: forms.map((form) => without(form, 'description')) }
    return types.length < schema.type.length ? { ...merged, nullable: true } : merged
  }
  return typed(schema, root, depth)
}

function typed(schema: Readonly<Plain>, root: Plain, depth: number): Plain {
  const type = typeof schema.type === 'string' ? schema.type : guessType(schema)
  const result: Plain = { type, ...describe(schema) }
  for (const [key, value] of Object.entries(schema)) if (KEPT.has(key)) result[key] = value
  if (FORMATS[type]?.includes(String(schema.format))) result.format = schema.format
  const values = Array.isArray(schema.enum)
    ? schema.enum
    : Object.hasOwn(schema, 'const')
      ? [schema.const]
      : undefined
  if (values) addValues(result, type, values)
  if (type === 'array') result.items = convert(itemsOf(schema), root, depth + 1)
  if (type === 'object') {
    const properties = isRecord(schema.properties) ? schema.properties : {}
    if (Object.keys(properties).length === 0) return depth === 0 ? result : anything(schema)
    result.properties = mapValues(properties, (part) => convert(part, root, depth + 1))
    if (Array.isArray(schema.required)) {
      const required = schema.required.filter((name) => Object.hasOwn(properties, String(name)))
      if (required.length > 0) result.required = required
    }
  }
  if (type === 'null') return { type: 'string', nullable: true, ...describe(schema) }
  return result
}

/** Only texts may be listed; other values are told in words. */
function addValues(result: Plain, type: string, values: readonly unknown[]): void {
  const texts = values.filter((value) => typeof value === 'string' && value !== '')
  if (type === 'string' && texts.length > 0) {
    result.enum = texts
    result.format = 'enum'
  } else if (type !== 'boolean') {
    const words = `One of: ${values
      .slice(0, 50)
      .map((value) => JSON.stringify(value))
      .join(', ')}.`
    result.description = [result.description, words].filter(Boolean).join(' ')
  }
  if (values.includes(null)) result.nullable = true
}

function choice(schema: Readonly<Plain>, choices: readonly unknown[], root: Plain, depth: number): Plain {
  const forms = choices
    .filter((form) => !(isRecord(form) && form.type === 'null'))
    .map((form) => convert(form, root, depth + 1))
  const nullable = forms.length < choices.length ? { nullable: true } : {}
  const [only] = forms
  if (forms.length === 1 && only) return { ...only, ...describe(schema), ...nullable }
  const constants = forms.flatMap((form) =>
    Array.isArray(form.enum) && form.enum.length === 1 ? form.enum : [],
  )
  if (constants.length === forms.length && constants.length > 0)
    return { type: 'string', format: 'enum', enum: constants, ...describe(schema), ...nullable }
  return { ...describe(schema), anyOf: forms, ...nullable }
}

function anything(schema: Readonly<Plain>): Plain {
  const words = [schema.description, 'A JSON value, written as text.'].filter(
    (text) => typeof text === 'string',
  )
  return { type: 'string', description: words.join(' ') }
}

function mergeAll(parts: readonly unknown[], root: Plain): Plain {
  const merged: Plain = {}
  for (const raw of parts) {
    const part =
      isRecord(raw) && typeof raw.$ref === 'string' ? resolveReference(raw.$ref, root, new Map()) : raw
    if (!isRecord(part)) continue
    const properties = {
      ...(merged.properties as Plain | undefined),
      ...(isRecord(part.properties) ? part.properties : {}),
    }
    const required = [
      ...((merged.required as string[] | undefined) ?? []),
      ...(Array.isArray(part.required) ? part.required : []),
    ]
    Object.assign(merged, part)
    if (Object.keys(properties).length > 0) merged.properties = properties
    if (required.length > 0) merged.required = [...new Set(required)]
  }
  return merged
}

function guessType(schema: Readonly<Plain>): string {
  if (isRecord(schema.properties)) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  const value = Array.isArray(schema.enum) ? schema.enum[0] : schema.const
  if (typeof value === 'number' || typeof value === 'boolean') return typeof value
  return 'string'
}

function itemsOf(schema: Readonly<Plain>): unknown {
  if (isRecord(schema.items)) return schema.items
  return Array.isArray(schema.prefixItems) ? { anyOf: schema.prefixItems } : {}
}

function describe(schema: Readonly<Plain>): Plain {
  return typeof schema.description === 'string' ? { description: schema.description } : {}
}

function without(schema: Readonly<Plain>, key: string): Plain {
  const { [key]: _, ...rest } = schema
  return rest
}
