// schema: untrusted JSON Schemas, compiled once per tool and safe to run.
export { type CompiledSchema, compileSchema, type SchemaResult } from './compile.ts'
export type { SchemaIssue } from './run.ts'
export { loadZod, requireZod, toZod, type Zod } from './zod.ts'
