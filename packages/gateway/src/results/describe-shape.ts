// describe-shape.ts: the shape of a JSON value or of a JSON Schema in one short line, for a model that wrote an expression for another
// shape: `{items: [{id: number, name: string}], total: number}`.
import { isObject } from '../json-rpc.ts'

const KEYS = 24
const DEPTH = 5
const CHARS = 1500
const SAMPLES = 20

export function shapeOf(value: unknown): string {
  return cut(valueShape(value, DEPTH))
}

/** The shape that a schema promises. */
export function schemaShape(schema: unknown): string {
  return cut(schemaPart(schema, schema, DEPTH))
}

function valueShape(value: unknown, depth: number): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    if (depth === 0) return '[…]'
    const shapes = [...new Set(value.slice(0, SAMPLES).map((item) => valueShape(item, depth - 1)))]
    const merged = value.slice(0, SAMPLES).every(isObject) ? [rowsShape(value, depth - 1)] : shapes
    return `[${merged.slice(0, 4).join(' | ')}]${value.length > 1 ? ` × ${value.length}` : ''}`
  }
  if (!isObject(value)) return typeof value
  if (depth === 0) return '{…}'
  return keysShape(Object.entries(value).map(([key, member]) => [key, valueShape(member, depth - 1)]))
}

/** Rows of a table may leave members out; together they have all of them. */
function rowsShape(rows: readonly unknown[], depth: number): string {
  const members = new Map<string, string>()
  for (const row of rows.slice(0, SAMPLES))
    if (isObject(row))
      for (const [key, value] of Object.entries(row))
        if (!members.has(key) || members.get(key) === 'null')
          members.set(key, valueShape(value, Math.max(depth - 1, 0)))
  return keysShape([...members])
}

function keysShape(members: readonly (readonly [string, string])[]): string {
  const shown = members.slice(0, KEYS).map(([key, shape]) => `${keyText(key)}: ${shape}`)
  if (members.length > KEYS) shown.push(`… ${members.length - KEYS} more`)
  return `{${shown.join(', ')}}`
}

/** As an expression has to write it. */
function keyText(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key)
}

function schemaPart(schema: unknown, root: unknown, depth: number): string {
  const target = resolved(schema, root)
  if (!isObject(target)) return 'any'
  if (depth === 0) return '…'
  const { type, properties, items, enum: values } = target
  if (isObject(properties))
    return keysShape(
      Object.entries(properties).map(([key, member]) => [key, schemaPart(member, root, depth - 1)]),
    )
  if (type === 'array' || isObject(items)) return `[${schemaPart(items, root, depth - 1)}]`
  if (Array.isArray(values))
    return values
      .slice(0, 6)
      .map((value) => JSON.stringify(value))
      .join(' | ')
  if (typeof type === 'string') return type
  return Array.isArray(type) ? type.join(' | ') : 'any'
}

/** Follows a `$ref` within the schema, a few times at most. */
export function resolved(schema: unknown, root: unknown): unknown {
  let at = schema
  for (let times = 0; times < 8; times++) {
    if (!isObject(at) || typeof at.$ref !== 'string') return at
    if (!at.$ref.startsWith('#/')) return undefined
    at = at.$ref
      .slice(2)
      .split('/')
      .map((part) => decodeURIComponent(part.replace(/~1/g, '/').replace(/~0/g, '~')))
      .reduce<unknown>(
        (value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined),
        root,
      )
  }
  return undefined
}

function cut(text: string): string {
  return text.length > CHARS ? `${text.slice(0, CHARS)}…` : text
}
