// example-call.ts: a command line that calls a tool, made from its input schema: the required arguments, with the
// schema's own examples and defaults where it has them.
import { isObject, own } from '@plugboard/core/json'
import { shellWord } from './call-target.ts'
import { resolved } from './schema-view.ts'

type Schema = Readonly<Record<string, unknown>>

const DEPTH = 6

/** `plugboard call server.tool key=value …`, ready to copy and change. */
export function exampleCall(server: string, tool: string, schema: unknown): string {
  const args = exampleArguments(schema)
  const plain = Object.entries(args).filter(([key]) => !/\p{Cc}/u.test(key))
  const words = plain.map(([key, value]) =>
    shellWord(
      typeof value === 'object' || value === null || needsJson(value, schema, key)
        ? `${key}:=${JSON.stringify(value)}`
        : `${key}=${value}`,
    ),
  )
  return ['plugboard call', shellWord(`${server}.${tool}`), ...words].join(' ')
}

/** Text that would be taken for something else. */
function needsJson(value: unknown, schema: unknown, key: string): boolean {
  if (typeof value !== 'string') return false
  const part = resolved(own(propertiesOf(schema, schema), key), schema)
  return value.startsWith('@') || /\p{Cc}/u.test(value) || part?.type !== 'string'
}

/** Arguments that fit the schema, as far as its keywords tell. */
export function exampleArguments(schema: unknown): Readonly<Record<string, unknown>> {
  const value = exampleOf(schema, schema, 0)
  return isObject(value) ? value : {}
}

function exampleOf(part: unknown, root: unknown, depth: number, name = ''): unknown {
  const schema = resolved(part, root)
  if (!schema || depth > DEPTH) return '…'
  if (Object.hasOwn(schema, 'const')) return schema.const
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0]
  if (schema.default !== undefined && depth > 0) return schema.default
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]
  const several = schema.anyOf ?? schema.oneOf
  if (Array.isArray(several) && several.length > 0 && !isObject(schema.properties))
    return exampleOf(
      several.find((one) => resolved(one, root)?.type !== 'null'),
      root,
      depth + 1,
      name,
    )
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
  switch (type) {
    case 'string':
      return exampleText(schema, name)
    case 'number':
    case 'integer':
      return exampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return exampleList(schema, root, depth, name)
    default:
      return type === 'object' || isObject(schema.properties) || depth === 0
        ? exampleObject(schema, root, depth)
        : '…'
  }
}

function exampleObject(schema: Schema, root: unknown, depth: number): Schema {
  const properties = propertiesOf(schema, root)
  const required = [schema, ...partsOf(schema, root)].flatMap((part) =>
    Array.isArray(part.required) ? part.required.filter((key) => typeof key === 'string') : [],
  )
  return Object.fromEntries(
    [...new Set(required)].map((key) => [key, exampleOf(own(properties, key), root, depth + 1, key)]),
  )
}

function partsOf(schema: Schema, root: unknown): readonly Schema[] {
  return Array.isArray(schema.allOf) ? schema.allOf.map((part) => resolved(part, root)).filter(isObject) : []
}

function propertiesOf(schema: unknown, root: unknown): Schema {
  const top = resolved(schema, root)
  if (!top) return {}
  return Object.assign(
    {},
    ...[top, ...partsOf(top, root)].map((part) => (isObject(part.properties) ? part.properties : {})),
  )
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  uri: 'https://example.com/',
  url: 'https://example.com/',
  email: 'ada@example.com',
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '127.0.0.1',
  hostname: 'example.com',
}

function exampleText(schema: Schema, name: string): string {
  const format = typeof schema.format === 'string' ? own(BY_FORMAT, schema.format) : undefined
  if (typeof format === 'string') return format
  const word = name.toUpperCase().replace(/[^A-Z0-9]+/g, '_') || 'TEXT'
  const least = typeof schema.minLength === 'number' ? Math.min(schema.minLength, 200) : 0
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : word.length
  return word.padEnd(least, 'x').slice(0, Math.max(least, most))
}

function exampleNumber(schema: Schema): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : 1
  if (typeof minimum === 'number' && (minimum > 1 || exclusiveMinimum === true))
    return Math.ceil((exclusiveMinimum === true ? minimum + step : minimum) / step) * step
  if (typeof exclusiveMinimum === 'number' && exclusiveMinimum >= 1)
    return (Math.floor(exclusiveMinimum / step) + 1) * step
  if (typeof maximum === 'number' && maximum < step) return Math.floor(maximum / step) * step
  if (typeof exclusiveMaximum === 'number' && exclusiveMaximum <= step)
    return (Math.ceil(exclusiveMaximum / step) - 1) * step
  return step
}

function exampleList(schema: Schema, root: unknown, depth: number, name: string): readonly unknown[] {
  const listed = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  if (listed.length > 0) return listed.map((item) => exampleOf(item, root, depth + 1))
  const count = typeof schema.minItems === 'number' ? Math.min(Math.max(1, schema.minItems), 5) : 1
  if (schema.items === undefined) return []
  const item = exampleOf(schema.items, root, depth + 1, name.replace(/s$/, ''))
  return Array.from({ length: count }, () => item)
}
