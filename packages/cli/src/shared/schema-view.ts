// schema-view.ts: a JSON Schema as lines for a user: each property with its type, whether it is required, its default and
// its description, nested shapes below it. Server text is made safe; depth and length are bounded.
import { isObject, own } from '@plugboard/core/json'
import type { Colors } from '../colors.ts'
import { wrapped } from '../wrap.ts'
import { oneLine } from './one-line.ts'

type Schema = Readonly<Record<string, unknown>>

const DEPTH = 6
const PROPERTIES = 60
const LINES = 400

export interface SchemaView {
  readonly schema: unknown
  readonly columns: number
  readonly color: Colors
}

/** The properties of an object schema, one block each; no lines when it has none. */
export function schemaLines({ schema, columns, color }: SchemaView): readonly string[] {
  const lines = new Renderer(schema, columns, color).object(resolved(schema, schema), '  ', 0)
  return lines.length > LINES ? [...lines.slice(0, LINES), '  … (--json shows the rest)'] : lines
}

/** A type in a word or two: `string`, `"a" | "b"`, `{…}[]`. */
export function typeName(part: unknown, root: unknown, depth = 0): string {
  const schema = resolved(part, root)
  if (!schema || depth > 3) return 'any'
  if (Object.hasOwn(schema, 'const')) return oneLine(JSON.stringify(schema.const), 40)
  if (Array.isArray(schema.enum)) return choices(schema.enum)
  const several = schema.anyOf ?? schema.oneOf
  if (Array.isArray(several) && several.length > 0)
    return [...new Set(several.slice(0, 8).map((one) => typeName(one, root, depth + 1)))].join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((one) => oneLine(String(one), 20)).join(' | ')
  if (schema.type === 'array' || (schema.type === undefined && schema.items)) {
    const item = typeName(schema.items, root, depth + 1)
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`
  }
  if (typeof schema.type === 'string') return oneLine(schema.type, 20)
  return isObject(schema.properties) ? 'object' : 'any'
}

function choices(values: readonly unknown[]): string {
  const shown = values.slice(0, 12).map((one) => oneLine(JSON.stringify(one), 40))
  return [...shown, ...(values.length > 12 ? [`… (${values.length})`] : [])].join(' | ')
}

class Renderer {
  readonly #root: unknown
  readonly #columns: number
  readonly #color: Colors
  #count = 0

  constructor(root: unknown, columns: number, color: Colors) {
    this.#root = root
    this.#columns = columns
    this.#color = color
  }

  object(schema: Schema | undefined, indent: string, depth: number): readonly string[] {
    if (!schema || depth > DEPTH) return []
    const parts = [
      schema,
      ...listOf(schema.allOf)
        .map((part) => resolved(part, this.#root))
        .filter(isObject),
    ]
    const required = new Set(parts.flatMap((part) => listOf(part.required)))
    const properties = parts.flatMap((part) =>
      isObject(part.properties) ? Object.entries(part.properties) : [],
    )
    const lines = properties
      .slice(0, PROPERTIES)
      .flatMap(([name, part]) => this.#property(name, part, required.has(name), indent, depth))
    if (properties.length > PROPERTIES)
      lines.push(`${indent}… and ${properties.length - PROPERTIES} more (--json)`)
    if (isObject(schema.additionalProperties))
      lines.push(...this.#property('<any name>', schema.additionalProperties, false, indent, depth))
    return lines
  }

  #property(
    name: string,
    part: unknown,
    required: boolean,
    indent: string,
    depth: number,
  ): readonly string[] {
    if (this.#count++ > LINES) return []
    const { bold, dim } = this.#color
    const schema = resolved(part, this.#root)
    const marks = [
      typeName(part, this.#root),
      required ? 'required' : 'optional',
      ...(schema ? limits(schema) : []),
    ]
    const head = `${indent}${bold(oneLine(name, 80))}  ${marks.join(', ')}`
    const below = `${indent}    `
    const described = schema && typeof schema.description === 'string' ? oneLine(schema.description, 600) : ''
    const text = described === '' ? [] : wrapped(described, Math.max(20, this.#columns - below.length))
    return [
      ...wrapped(head.trimStart(), this.#columns - indent.length, '    ').map((line) => indent + line),
      ...text.map((line) => below + dim(line)),
      ...this.#shape(schema, below, depth + 1),
    ]
  }

  /** What is inside: the members of an object, of the items of a list, or of each choice. */
  #shape(schema: Schema | undefined, indent: string, depth: number): readonly string[] {
    if (!schema || depth > DEPTH) return []
    const own = this.object(schema, indent, depth)
    if (own.length > 0) return own
    const item = resolved(schema.items, this.#root)
    if (item) return this.#shape(item, indent, depth + 1)
    const several = listOf(schema.anyOf ?? schema.oneOf).map((one) => resolved(one, this.#root))
    const shapes = several
      .map((one) => this.#shape(one, indent, depth + 1))
      .filter(({ length }) => length > 0)
    return shapes.length < 2
      ? (shapes[0] ?? [])
      : shapes.flatMap((lines, at) => [...(at > 0 ? [`${indent}${this.#color.dim('or')}`] : []), ...lines])
  }
}

const LIMITS: Readonly<Record<string, (value: string) => string>> = {
  minimum: (value) => `at least ${value}`,
  maximum: (value) => `at most ${value}`,
  exclusiveMinimum: (value) => `more than ${value}`,
  exclusiveMaximum: (value) => `less than ${value}`,
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  minItems: (value) => `at least ${value} items`,
  maxItems: (value) => `at most ${value} items`,
  pattern: (value) => `matches ${value}`,
  format: (value) => `format ${value}`,
  default: (value) => `default ${value}`,
}

function limits(schema: Schema): readonly string[] {
  return Object.entries(LIMITS).flatMap(([key, say]) => {
    const value = own(schema, key)
    if (value === undefined || (key === 'minLength' && value === 0)) return []
    return [say(oneLine(typeof value === 'string' && key !== 'default' ? value : JSON.stringify(value), 80))]
  })
}

/** The schema, references followed within the document; a loop ends at its limit. */
export function resolved(part: unknown, root: unknown): Schema | undefined {
  let at = part
  for (let step = 0; step < 8; step++) {
    if (!isObject(at)) return undefined
    const ref = own(at, '$ref')
    if (typeof ref !== 'string') return at
    const target = pointed(root, ref)
    if (!isObject(target)) return at
    const { $ref: _, ...beside } = at
    at = { ...target, ...beside }
  }
  return undefined
}

function pointed(root: unknown, ref: string): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let at: unknown = root
  for (const step of ref.slice(2).split('/')) {
    if (!isObject(at) && !Array.isArray(at)) return undefined
    at = own(at as Schema, decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return at
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
