// zod.ts: the same schema as a Zod type, for callers that use Zod. Zod's own converter gives the shape wherever it is
// faithful; the compiled checker runs on top, so both always accept the same values. The caller passes zod in:
// loading it costs tens of milliseconds, and a connection has it loaded anyway.
import { createRequire } from 'node:module'
import type { ZodType } from 'zod'
import { isObject, put } from '../../json.ts'
import type { JsonSchema } from '../definition.ts'
import type { CompiledSchema } from './compile.ts'

/** The module `zod`. */
export type Zod = typeof import('zod')

/** Loads Zod when it is first needed. */
export function loadZod(): Promise<Zod> {
  return import('zod')
}

/** For synchronous callers: a property cannot be a promise. */
export function requireZod(): Zod {
  return createRequire(import.meta.url)('zod')
}

/** Keywords that Zod's converter handles exactly as JSON Schema does. */
const SHAPE = new Set(['type', 'properties', 'required', 'items', 'enum', 'additionalProperties'])
const DESCRIPTIVE = new Set(['title', 'description'])
const DEEPEST_SHAPE = 40

/** A JSON Schema as a Zod schema. */
export function toZod(z: Zod, schema: JsonSchema, compiled: CompiledSchema): ZodType {
  return shapeOf(z, schema).superRefine((value, context) => {
    const verdict = compiled.check(value)
    if (verdict.kind !== 'invalid') return
    for (const issue of verdict.issues)
      context.addIssue({
        code: 'custom',
        path: [...issue.at],
        message: issue.message,
      })
  })
}

function shapeOf(z: Zod, schema: JsonSchema): ZodType {
  try {
    const shape = plainShape(schema, 0)
    return shape === undefined ? z.unknown() : z.fromJSONSchema(shape as Parameters<Zod['fromJSONSchema']>[0])
  } catch {
    // A schema that Zod's converter rejects has no shape; the checker on top still reports what is wrong.
    return z.unknown()
  }
}

/** The structural part of the schema, without what Zod reads differently or would apply by itself. */
function plainShape(schema: unknown, depth: number): Record<string, unknown> | undefined {
  if (!isObject(schema) || typeof schema.type !== 'string' || depth > DEEPEST_SHAPE) return undefined
  if (schema.nullable === true || Object.hasOwn(schema, 'const')) return undefined
  const shape: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (DESCRIPTIVE.has(key) && typeof value === 'string') shape[key] = value
    if (!SHAPE.has(key)) continue
    if (key === 'properties' && isObject(value)) shape[key] = mapShapes(value, depth)
    else if (key === 'items') {
      // Beside a tuple, `items` means the rest only.
      if (!Object.hasOwn(schema, 'prefixItems')) shape[key] = plainShape(value, depth + 1) ?? {}
    } else if (key === 'additionalProperties') {
      if (value === false && !Object.hasOwn(schema, 'patternProperties')) shape[key] = false
    } else if (key === 'required')
      shape[key] = Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
    else if (key === 'enum') {
      if (schema.type === 'string' && isTextList(value)) shape[key] = value
    } else if (key === 'type') shape[key] = value === 'integer' ? 'number' : value
  }
  return shape
}

function mapShapes(map: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const shapes: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(map)) put(shapes, name, plainShape(schema, depth + 1) ?? {})
  return shapes
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
}
