// compile.ts: compiles an untrusted JSON Schema (draft 7 or 2020-12) to a checker that never throws, never fetches
// and always ends. keywords.ts knows the keywords; this file walks, resolves references and enforces the limits.
import { isObject } from '../../json.ts'
import { SCHEMA_LIMITS } from '../../limits.ts'
import type { JsonSchema } from '../definition.ts'
import { KEYWORDS } from './keywords.ts'
import { resolveReference, survey } from './reference.ts'
import {
  type Check,
  CheckBudgetExceeded,
  type Compiler,
  enter,
  fail,
  type Run,
  type SchemaIssue,
} from './run.ts'

/** Whether a value fits a schema. */
export type SchemaResult =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly issues: readonly SchemaIssue[] }
  /** The schema needs more work than allowed; the value passes, and the reason is reported. */
  | { readonly kind: 'unchecked'; readonly reason: string }

/** A JSON Schema that is ready to check values. */
export interface CompiledSchema {
  check(value: unknown): SchemaResult
  /** What of the schema could not be used. Grows with use: references are resolved when first needed. */
  readonly warnings: readonly string[]
}

const VALID: SchemaResult = { kind: 'valid' }

/** Makes a checker of a JSON Schema. */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const warnings: string[] = []
  const warn = (message: string) => {
    if (!warnings.includes(message) && warnings.length < SCHEMA_LIMITS.issues) warnings.push(message)
  }
  const root = compileRoot(schema, warn)
  return {
    warnings,
    check(value) {
      if (!root) return { kind: 'unchecked', reason: warnings[0] ?? 'the schema could not be used' }
      try {
        if (root(value, newRun(undefined))) return VALID
        const issues: SchemaIssue[] = []
        root(value, newRun(issues))
        return { kind: 'invalid', issues }
      } catch (error) {
        // CheckBudgetExceeded is our own limit; a RangeError is the stack's, on a value nested deeper than any limit here.
        if (!(error instanceof CheckBudgetExceeded || error instanceof RangeError)) throw error
        const reason = error instanceof CheckBudgetExceeded ? error.message : 'the value is nested too deeply'
        warn(reason)
        return { kind: 'unchecked', reason }
      }
    },
  }
}

function newRun(issues: SchemaIssue[] | undefined): Run {
  return { path: [], issues, steps: 0, nesting: 0 }
}

function compileRoot(
  schema: JsonSchema,
  warn: (message: string) => void,
  part?: JsonSchema,
): Check | undefined {
  const surveyed = survey(schema)
  if (!surveyed.ok) {
    warn(surveyed.reason)
    return undefined
  }
  const done = new Map<object, Check>()
  const compiler: Compiler = {
    warn,
    resolve: (reference, from) => resolveReference(reference, surveyed.names, from),
    compile(part) {
      if (part === true) return accept
      if (part === false) return refuse
      if (!isObject(part)) {
        warn('a part of the schema that should be a schema is not one')
        return accept
      }
      const known = done.get(part)
      if (known) return known
      const check = compileObject(part, compiler)
      done.set(part, check)
      return check
    },
  }
  return compiler.compile(part ?? schema)
}

/** Boolean checks for single parts of one document; their references resolve in that document. */
export function partsOf(schema: JsonSchema): (part: JsonSchema, value: unknown) => boolean {
  const checks = new Map<JsonSchema, Check | undefined>()
  return (part, value) => {
    const check = checks.has(part) ? checks.get(part) : compileRoot(schema, () => undefined, part)
    checks.set(part, check)
    try {
      return check?.(value, newRun(undefined)) ?? true
    } catch (error) {
      if (error instanceof CheckBudgetExceeded || error instanceof RangeError) return true
      throw error
    }
  }
}

const accept: Check = () => true
const refuse: Check = (_value, run) => fail(run, 'is not allowed here')

function compileObject(schema: Readonly<Record<string, unknown>>, compiler: Compiler): Check {
  const checks: Check[] = []
  for (const [keyword, build] of KEYWORDS) {
    if (!Object.hasOwn(schema, keyword)) continue
    const check = build(schema[keyword], schema, compiler)
    if (check) checks.push(check)
  }
  const count = checks.length
  if (count === 0) return accept
  return (value, run) => {
    enter(run)
    let fits = true
    for (let index = 0; index < count; index++)
      if (!(checks[index] as Check)(value, run)) {
        fits = false
        if (!run.issues) break
      }
    run.nesting--
    return fits
  }
}
