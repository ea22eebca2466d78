// gemini-values.ts: the types and values that a part of a schema accepts, and values as strings that can be told apart.
import { canonicalJson, isObject } from '../../json.ts'
import type { Plain } from './portable.ts'

/** The types of a part, as far as its keywords tell; none when it accepts anything. */
export function typesOf(schema: Readonly<Plain>): readonly string[] {
  if (Array.isArray(schema.type)) return schema.type
  if (typeof schema.type === 'string') return [schema.type]
  if (isObject(schema.properties)) return ['object']
  if (schema.prefixItems !== undefined || schema.items !== undefined) return ['array']
  return []
}

/** The values that a part lists, without those of a wrong type. */
export function valuesOf(schema: Readonly<Plain>): readonly unknown[] | undefined {
  const listed = Array.isArray(schema.enum) ? schema.enum : undefined
  const isConstant = Object.hasOwn(schema, 'const')
  if (!listed && !isConstant) return undefined
  const constant = canonicalJson(schema.const)
  const values = listed?.filter((value) => !isConstant || canonicalJson(value) === constant) ?? [schema.const]
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type]
  return types.length === 0 ? values : values.filter((value) => types.some((type) => isOfType(value, type)))
}

function isOfType(value: unknown, type: unknown): boolean {
  return typeOf(value) === type || (type === 'number' && typeof value === 'number')
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** A string for each value: itself for a non-empty string, its JSON for anything else. */
export function labelled(values: readonly unknown[]): ReadonlyMap<string, unknown> {
  const labels = new Map<string, unknown>()
  for (const value of values) if (typeof value === 'string' && value !== '') labels.set(value, value)
  for (const value of values) {
    if (typeof value === 'string' && value !== '') continue
    let label = JSON.stringify(value) ?? 'null'
    while (labels.has(label)) label = `JSON ${label}`
    labels.set(label, value)
  }
  return labels
}
