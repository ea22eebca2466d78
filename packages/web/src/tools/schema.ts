// schema.ts: what a form needs to know about a JSON Schema: references, variants, types, limits, first values. Pure.
import type { Json } from '../state/types.ts'

const REFERENCES = 20

/** Follows `$ref` inside the document, and merges `allOf`. Anything else is as it is written. */
export function resolved(schema: unknown, root: Json, depth = 0): Json {
  let current = isObject(schema) ? schema : {}
  for (let step = 0; step < REFERENCES && typeof current['$ref'] === 'string'; step++) {
    const { $ref, ...rest } = current
    const found = at(root, String($ref))
    if (!isObject(found)) return rest
    current = { ...found, ...rest }
  }
  if (!Array.isArray(current['allOf']) || depth > REFERENCES) return current
  const { allOf, ...rest } = current
  const parts = (allOf as readonly unknown[]).map((part) => resolved(part, root, depth + 1))
  const all = [rest, ...parts]
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map((part) => part['properties'])),
    required: all.flatMap((part) => (part['required'] ?? []) as readonly string[]),
  }
}

function at(root: Json, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  return reference
    .slice(1)
    .split('/')
    .filter((part) => part !== '')
    .reduce<unknown>((value, part) => {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
      return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
    }, root)
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export type Kind =
  | 'string'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'null'
  | 'object'
  | 'array'
  | 'enum'
  | 'const'
  | 'variants'
  | 'any'

export function kindOf(schema: Json): Kind {
  if (schema['const'] !== undefined) return 'const'
  if (Array.isArray(schema['enum'])) return 'enum'
  if (variantsOf(schema).length > 1) return 'variants'
  const types = typesOf(schema)
  if (types.length > 1) return 'variants'
  const [type] = types
  if (type === undefined) return schema['properties'] === undefined ? 'any' : 'object'
  return type as Kind
}

/** The types without `null`, which is what leaving a field empty means. */
function typesOf(schema: Json): readonly string[] {
  const type = schema['type']
  const all = Array.isArray(type) ? type.map(String) : typeof type === 'string' ? [type] : []
  const rest = all.filter((one) => one !== 'null')
  return rest.length > 0 ? rest : all
}

/** The schemas of which one applies. A type with several names is one schema for each. */
export function variantsOf(schema: Json): readonly Json[] {
  const { oneOf, anyOf, ...rest } = schema
  const listed = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined
  if (listed) {
    const real = listed.filter(isObject).filter((one) => one['type'] !== 'null')
    // The title and the description of the whole are shown by the field.
    const { title: _, description: __, default: ___, ...shared } = rest
    return real.map((one) => ({ ...shared, ...one }))
  }
  const types = typesOf(schema)
  return types.length > 1 ? types.map((type) => ({ ...rest, type })) : []
}

export function variantTitle(given: Json, root: Json, index: number): string {
  const schema = resolved(given, root)
  if (typeof schema['title'] === 'string') return schema['title']
  if (schema['const'] !== undefined) return String(schema['const'])
  const properties = schema['properties']
  if (isObject(properties)) {
    const fixed = Object.entries(properties).find(([, one]) => isObject(one) && one['const'] !== undefined)
    if (fixed && isObject(fixed[1])) return `${fixed[0]}: ${String(fixed[1]['const'])}`
    const names = Object.keys(properties).slice(0, 3)
    if (names.length > 0) return names.join(', ')
  }
  return typeof schema['type'] === 'string' ? schema['type'] : `Variant ${index + 1}`
}

/** Which variant a value belongs to, as far as its shape tells. */
export function variantOf(variants: readonly Json[], root: Json, value: unknown): number {
  const fits = variants.findIndex((one) => fitsShape(resolved(one, root), root, value))
  return Math.max(0, fits)
}

function fitsShape(schema: Json, root: Json, value: unknown): boolean {
  const kind = kindOf(schema)
  if (kind === 'const') return schema['const'] === value
  if (kind === 'enum') return (schema['enum'] as readonly unknown[]).includes(value)
  if (kind === 'variants')
    return variantsOf(schema).some((one) => fitsShape(resolved(one, root), root, value))
  if (kind === 'array') return Array.isArray(value)
  if (kind === 'object') {
    if (!isObject(value)) return false
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, unknown>>
    const required = (schema['required'] ?? []) as readonly string[]
    return (
      required.every((key) => Object.hasOwn(value, key)) &&
      Object.entries(properties).every(([key, one]) => {
        const own = resolved(one, root)
        return own['const'] === undefined || value[key] === undefined || own['const'] === value[key]
      })
    )
  }
  if (kind === 'integer') return Number.isInteger(value)
  return kind === 'any' || typeof value === kind
}

const DEPTH = 8

/** What a form starts with: defaults, constants, and the members that must be there. */
export function firstValue(given: unknown, root: Json, isRequired: boolean, depth = 0): unknown {
  const schema = resolved(given, root)
  if (schema['default'] !== undefined) return schema['default']
  if (!isRequired || depth > DEPTH) return undefined
  switch (kindOf(schema)) {
    case 'const':
      return schema['const']
    case 'variants': {
      const [first] = variantsOf(schema)
      return firstValue(first, root, true, depth + 1)
    }
    case 'object': {
      const required = new Set((schema['required'] ?? []) as readonly string[])
      const members = Object.entries((schema['properties'] ?? {}) as Json).flatMap(([name, property]) => {
        const value = firstValue(property, root, required.has(name), depth + 1)
        return value === undefined ? [] : [[name, value] as const]
      })
      return Object.fromEntries(members)
    }
    case 'array':
      return Array.from(
        { length: Math.min(Number(schema['minItems'] ?? 0), 10) },
        () => firstValue(schema['items'], root, true, depth + 1) ?? null,
      )
    case 'boolean':
      return false
    default:
      return undefined
  }
}

export function typeText(given: Json, root: Json): string {
  const schema = resolved(given, root)
  switch (kindOf(schema)) {
    case 'enum':
      return (schema['enum'] as readonly unknown[])
        .slice(0, 8)
        .map((one) => JSON.stringify(one))
        .join(' | ')
    case 'const':
      return JSON.stringify(schema['const'])
    case 'variants':
      return variantsOf(schema)
        .slice(0, 5)
        .map((one) => typeText(one, root))
        .join(' | ')
    case 'array':
      return `${isObject(schema['items']) ? typeText(schema['items'], root) : 'any'}[]`
    case 'string':
      return typeof schema['format'] === 'string' ? `string (${schema['format']})` : 'string'
    default:
      return kindOf(schema)
  }
}

const LIMITS = [
  ['minimum', '≥'],
  ['maximum', '≤'],
  ['exclusiveMinimum', '>'],
  ['exclusiveMaximum', '<'],
  ['multipleOf', 'multiple of'],
  ['minLength', 'at least (characters)'],
  ['maxLength', 'at most (characters)'],
  ['minItems', 'at least (items)'],
  ['maxItems', 'at most (items)'],
  ['pattern', 'matches'],
] as const

export function limitsOf(schema: Json): string {
  const limits = LIMITS.flatMap(([key, words]) =>
    schema[key] === undefined ? [] : [`${words} ${String(schema[key])}`],
  )
  const preset = schema['default'] === undefined ? [] : [`default ${JSON.stringify(schema['default'])}`]
  return [...limits, ...preset].join(', ')
}

/** Without the members that were left empty. */
export function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutEmpty(one) ?? null)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, withoutEmpty(one)]])),
  )
}
