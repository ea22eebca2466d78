// typescript.ts: a JSON Schema as a TypeScript type, for declarations that a program is checked against. It follows
// references within the document only and reads nothing from elsewhere. What TypeScript cannot say (patterns, lengths,
// `not`) widens the type and stands in a comment; it never narrows it.
import { isObject, own } from '../../json.ts'

type Schema = Readonly<Record<string, unknown>>

const DEPTH = 24
const MEMBERS = 2_000

export interface TypeOptions {
  /** Of a result: every property may be read, and others may be there. */
  readonly output?: boolean
}

/** The type of values that the schema accepts, as an expression; nested parts are indented below `indent`. */
export function typeScriptOf(schema: unknown, options: TypeOptions = {}, indent = ''): string {
  return new Writer(schema, options).type(schema, indent, 0)
}

class Writer {
  readonly #root: unknown
  readonly #options: TypeOptions
  /** References on the way here: a type that contains itself ends in `unknown`. */
  readonly #open: string[] = []
  #members = 0

  constructor(root: unknown, options: TypeOptions) {
    this.#root = root
    this.#options = options
  }

  type(part: unknown, indent: string, depth: number): string {
    if (part === false) return 'never'
    if (!isObject(part) || depth > DEPTH) return 'unknown'
    if (typeof part.$ref === 'string') return this.#reference(part, part.$ref, indent, depth)
    if (Object.hasOwn(part, 'const')) return literal(part.const)
    if (Array.isArray(part.enum)) return union(part.enum.map(literal))
    const types = [
      this.#combined(part, 'anyOf', indent, depth),
      this.#combined(part, 'oneOf', indent, depth),
      this.#all(part, indent, depth),
      this.#plain(part, indent, depth),
    ].filter((type) => type !== undefined)
    const known = types.filter((type) => type !== 'unknown')
    if (known.length === 0) return 'unknown'
    const whole = known.length === 1 ? (known[0] ?? 'unknown') : known.map(grouped).join(' & ')
    return part.nullable === true ? union([whole, 'null']) : whole
  }

  #reference(part: Schema, ref: string, indent: string, depth: number): string {
    if (this.#open.includes(ref)) return 'unknown'
    const target = pointed(this.#root, ref)
    if (target === undefined) return 'unknown'
    const { $ref: _, ...beside } = part
    this.#open.push(ref)
    const type = this.type(isObject(target) ? { ...target, ...beside } : target, indent, depth + 1)
    this.#open.pop()
    return type
  }

  #combined(part: Schema, key: 'anyOf' | 'oneOf', indent: string, depth: number): string | undefined {
    const several = part[key]
    if (!Array.isArray(several) || several.length === 0) return undefined
    return union(several.map((one) => this.type(one, indent, depth + 1)))
  }

  #all(part: Schema, indent: string, depth: number): string | undefined {
    if (!Array.isArray(part.allOf) || part.allOf.length === 0) return undefined
    const types = part.allOf.map((one) => this.type(one, indent, depth + 1))
    const known = [...new Set(types.filter((type) => type !== 'unknown'))]
    return known.length === 0 ? 'unknown' : known.map(grouped).join(' & ')
  }

  /** What `type` and the keywords of one type say. */
  #plain(part: Schema, indent: string, depth: number): string | undefined {
    const { type } = part
    if (Array.isArray(type))
      return union(type.map((one) => this.#plain({ ...part, type: one }, indent, depth) ?? 'unknown'))
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type
      case 'number':
      case 'integer':
        return 'number'
      case 'array':
        return this.#list(part, indent, depth)
      case 'object':
        return this.#object(part, indent, depth)
      case undefined:
        if (isObject(part.properties)) return this.#object(part, indent, depth)
        return part.items === undefined ? undefined : this.#list(part, indent, depth)
      default:
        return 'unknown'
    }
  }

  #list(part: Schema, indent: string, depth: number): string {
    const listed = Array.isArray(part.prefixItems)
      ? part.prefixItems
      : Array.isArray(part.items)
        ? part.items
        : undefined
    const rest = Array.isArray(part.items) ? part.additionalItems : part.items
    if (!listed) return `readonly ${grouped(this.type(rest ?? {}, indent, depth + 1))}[]`
    const least = typeof part.minItems === 'number' ? part.minItems : 0
    const items = listed.map(
      (item, at) => `${grouped(this.type(item, indent, depth + 1))}${at < least ? '' : '?'}`,
    )
    const more = rest === false ? [] : [`...${grouped(this.type(rest ?? {}, indent, depth + 1))}[]`]
    return `readonly [${[...items, ...more].join(', ')}]`
  }

  #object(part: Schema, indent: string, depth: number): string {
    const properties = isObject(part.properties) ? Object.entries(part.properties) : []
    const required = new Set(Array.isArray(part.required) ? part.required : [])
    this.#members += properties.length
    if (this.#members > MEMBERS) return 'Readonly<Record<string, unknown>>'
    const inner = `${indent}  `
    const lines = properties.flatMap(([name, schema]) => [
      ...comment(schema, inner),
      `${inner}readonly ${key(name)}${required.has(name) ? '' : '?'}: ${this.type(schema, inner, depth + 1)}`,
    ])
    const others = this.#others(part, inner, depth)
    if (lines.length === 0)
      return others ? `Readonly<Record<string, ${others}>>` : 'Readonly<Record<string, never>>'
    const index =
      others && this.#options.output === true ? [] : others ? [`${inner}readonly [key: string]: unknown`] : []
    return `{\n${[...lines, ...index].join('\n')}\n${indent}}`
  }

  /** The type of properties that are not listed; undefined when there are none, or when a typo is likelier. */
  #others(part: Schema, indent: string, depth: number): string | undefined {
    const { additionalProperties: more, patternProperties } = part
    if (more === false && !isObject(patternProperties)) return undefined
    if (isObject(patternProperties)) return 'unknown'
    if (isObject(more)) return this.type(more, indent, depth + 1)
    if (more === true) return 'unknown'
    // The schema does not say. Where it lists properties, one more is likelier a mistake.
    return isObject(part.properties) && Object.keys(part.properties).length > 0 ? undefined : 'unknown'
  }
}

function union(types: readonly string[]): string {
  const unique = [...new Set(types)]
  if (unique.includes('unknown') || unique.length === 0) return 'unknown'
  const some = unique.filter((type) => type !== 'never')
  return some.length === 0
    ? 'never'
    : some.map((type) => (some.length > 1 ? grouped(type) : type)).join(' | ')
}

/** In brackets where it could be taken for something else. */
function grouped(type: string): string {
  return type.startsWith('readonly ') || hasOperator(type) ? `(${type})` : type
}

/** Whether a `|` or `&` stands outside of brackets, strings and comments. */
function hasOperator(type: string): boolean {
  let depth = 0
  for (const [token] of type.matchAll(/"(?:[^"\\]|\\.)*"|\/\*[\s\S]*?\*\/|[[\](){}<>|&]/g)) {
    if ('[({<'.includes(token)) depth++
    else if ('])}>'.includes(token)) depth--
    else if (depth === 0 && (token === '|' || token === '&')) return true
  }
  return false
}

function literal(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'unknown'
  return typeof value === 'string' ? quoted(value) : String(value)
}

/** A string literal in which nothing can end the line or the literal. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u2028\u2029\u007f-\u009f]|\p{Bidi_Control}|\p{Default_Ignorable_Code_Point}/gu,
    (char) => [...char].map((one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`).join(''),
  )
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** The description, limits and default of a part as a doc comment. */
export function comment(schema: unknown, indent: string): readonly string[] {
  if (!isObject(schema)) return []
  const said = typeof schema.description === 'string' ? schema.description : ''
  const lines = [
    ...said.split(/\r?\n/),
    ...(schema.default === undefined ? [] : [`@default ${JSON.stringify(schema.default)}`]),
    ...(typeof schema.format === 'string' ? [`@format ${schema.format}`] : []),
    ...(typeof schema.pattern === 'string' ? [`@pattern ${schema.pattern}`] : []),
    ...(schema.deprecated === true ? ['@deprecated'] : []),
  ].flatMap((line) => docLine(line))
  if (lines.length === 0) return []
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`]
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`]
}

const LINE_CHARS = 2_000

/** Text of a server within a comment: nothing in it ends the comment or hides. */
function docLine(text: string): readonly string[] {
  const clean = text
    .replaceAll(/\p{Cc}|[\u2028\u2029]|\p{Bidi_Control}|\p{Default_Ignorable_Code_Point}/gu, ' ')
    .replaceAll('*/', '*\\/')
    .trim()
    .slice(0, LINE_CHARS)
  return clean === '' ? [] : [clean]
}

function pointed(root: unknown, ref: string): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let at: unknown = root
  for (const step of ref.slice(2).split('/')) {
    if (typeof at !== 'object' || at === null) return undefined
    at = own(at as Schema, decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return at
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    // A lone percent sign is meant as it stands.
    return step
  }
}
