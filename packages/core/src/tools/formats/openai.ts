// openai.ts: tools as OpenAI and everything compatible with it takes them, plain or strict.
// Strict means that the model's arguments always fit the schema; not every schema can be said that way, and a tool whose
// schema cannot goes plain.
import type { JsonSchema } from '../definition.ts'
import { isRecord, own, put } from '../json.ts'
import type { OfferedTool } from '../tool.ts'
import { mapValues, type Plain, portable } from './portable.ts'

export interface OpenAiFunction {
  readonly name: string
  readonly description: string
  readonly parameters: Plain
  readonly strict: boolean
}
/** Chat Completions. */
export interface OpenAiChatTool {
  readonly type: 'function'
  readonly function: OpenAiFunction
}
/** Responses. */
export interface OpenAiResponsesTool extends OpenAiFunction {
  readonly type: 'function'
}

/** The API allows 1024 characters of description. */
const DESCRIPTION_CHARS = 1024
const STRICT_DEPTH = 10
const STRICT_PROPERTIES = 5000
const STRICT_ENUM = 1000
const STRICT_FORMATS = new Set([
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
const STRICT_KEPT = new Set([
  'description',
  'title',
  'enum',
  'const',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
])

export function toOpenAiChat(tool: OfferedTool, options: { readonly strict?: boolean } = {}): OpenAiChatTool {
  return { type: 'function', function: openAiFunction(tool, options.strict === true) }
}

export function toOpenAiResponses(
  tool: OfferedTool,
  options: { readonly strict?: boolean } = {},
): OpenAiResponsesTool {
  return { type: 'function', ...openAiFunction(tool, options.strict === true) }
}

function openAiFunction(tool: OfferedTool, wantStrict: boolean): OpenAiFunction {
  const schema = portable(tool.inputJsonSchema)
  const strict = wantStrict ? strictSchema(schema) : undefined
  const description =
    tool.description.length > DESCRIPTION_CHARS
      ? `${tool.description.slice(0, DESCRIPTION_CHARS - 1)}…`
      : tool.description
  return { name: tool.name, description, parameters: strict ?? schema, strict: strict !== undefined }
}

class NotStrict extends Error {}

/** The same schema in the strict subset, or nothing when it cannot be said there. */
export function strictSchema(schema: Plain): Plain | undefined {
  const count = { properties: 0 }
  try {
    return strictPart(schema, 0, count)
  } catch (error) {
    if (error instanceof NotStrict) return undefined
    throw error
  }
}

function strictPart(schema: unknown, depth: number, count: { properties: number }): Plain {
  if (!isRecord(schema) || depth > STRICT_DEPTH) throw new NotStrict()
  for (const key of [
    'not',
    'if',
    'patternProperties',
    'dependentRequired',
    'dependentSchemas',
    'propertyNames',
    'prefixItems',
    'contains',
    'unevaluatedProperties',
    'unevaluatedItems',
    'allOf',
  ])
    if (Object.hasOwn(schema, key)) throw new NotStrict()
  const next = (part: unknown) => strictPart(part, depth + 1, count)
  const strict: Plain = {}
  for (const [key, value] of Object.entries(schema)) {
    if (STRICT_KEPT.has(key)) strict[key] = value
    if (key === 'format' && STRICT_FORMATS.has(String(value))) strict.format = value
    if (key === '$ref') strict.$ref = value
    if (key === 'type') strict.type = value
    if (key === 'items') strict.items = next(value)
    if (key === 'anyOf' || key === 'oneOf') strict.anyOf = (value as unknown[]).map(next)
    if (key === '$defs' || key === 'definitions') strict[key] = mapValues(value as Plain, next)
  }
  if (Array.isArray(strict.enum) && strict.enum.length > STRICT_ENUM) throw new NotStrict()
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (types.includes('object') || isRecord(schema.properties)) {
    // An object of any keys has no strict form.
    if (
      schema.additionalProperties !== undefined &&
      schema.additionalProperties !== false &&
      isRecord(schema.additionalProperties)
    )
      throw new NotStrict()
    const properties = isRecord(schema.properties) ? schema.properties : {}
    if (Object.keys(properties).length === 0 && (depth > 0 || schema.additionalProperties === true))
      throw new NotStrict()
    count.properties += Object.keys(properties).length
    if (count.properties > STRICT_PROPERTIES) throw new NotStrict()
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    strict.properties = mapValues(properties, (part, key) =>
      required.has(key) ? next(part) : orNull(next(part)),
    )
    strict.required = Object.keys(properties)
    strict.additionalProperties = false
  } else if (
    strict.type === undefined &&
    !strict.anyOf &&
    !strict.$ref &&
    !strict.enum &&
    !Object.hasOwn(strict, 'const')
  )
    throw new NotStrict()
  return strict
}

/** What was optional is required and may be null. */
function orNull(schema: Plain): Plain {
  if (typeof schema.type === 'string' && !schema.enum && !Object.hasOwn(schema, 'const'))
    return { ...schema, type: [schema.type, 'null'] }
  if (Array.isArray(schema.type) && schema.type.includes('null')) return schema
  const { description, ...rest } = schema
  return { ...(description !== undefined && { description }), anyOf: [rest, { type: 'null' }] }
}

/** Undoes what strict did: a null where the original schema only says "may be left out" is left out. */
export function fromStrict(
  args: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
): Record<string, unknown> {
  return withoutNulls(args, schema, 0) as Record<string, unknown>
}

function withoutNulls(value: unknown, schema: unknown, depth: number): unknown {
  if (!isRecord(schema) || depth > STRICT_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, schema.items, depth + 1))
  if (!isRecord(value)) return value
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const kept: Record<string, unknown> = {}
  for (const [key, part] of Object.entries(value)) {
    const own_ = own(properties, key)
    if (part === null && !required.has(key) && !takesNull(own_)) continue
    put(kept, key, withoutNulls(part, own_, depth + 1))
  }
  return kept
}

function takesNull(schema: unknown): boolean {
  if (!isRecord(schema)) return true
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (types.includes('null') || schema.nullable === true) return true
  if (Array.isArray(schema.enum)) return schema.enum.includes(null)
  for (const list of [schema.anyOf, schema.oneOf]) if (Array.isArray(list)) return list.some(takesNull)
  return schema.type === undefined && schema.$ref === undefined
}
