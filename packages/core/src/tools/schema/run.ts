// run.ts: the state of one check of one value: where it is, what it found, and how much more it may do. The building
// blocks of every keyword.
import { compilePattern, type Pattern } from '../../interaction/pattern.ts'
import { SCHEMA_LIMITS } from '../../limits.ts'

/** One thing that does not fit a schema, with its path. */
export interface SchemaIssue {
  /** Where in the value, e.g. `edits[0].newText`; empty for the value itself. */
  readonly path: string
  /** The same place, step by step. */
  readonly at: readonly (string | number)[]
  readonly message: string
}

/** The state of one check of one value. */
export interface Run {
  readonly path: (string | number)[]
  /** Absent when only a boolean is needed. */
  issues: SchemaIssue[] | undefined
  steps: number
  nesting: number
}

export type Check = (value: unknown, run: Run) => boolean
export type Schema = Readonly<Record<string, unknown>>
/** Makes the check for one keyword of `schema`, or undefined when its value constrains nothing. */
export type Build = (value: unknown, schema: Schema, compiler: Compiler) => Check | undefined

/** What a keyword needs to build its check. */
export interface Compiler {
  compile(schema: unknown): Check
  /** The target of a reference, or undefined when it leads outside the document or nowhere. */
  resolve(reference: string, from: Schema): unknown
  warn(message: string): void
}

export class CheckBudgetExceeded extends Error {}

/** One schema deeper. */
export function enter(run: Run): void {
  if (++run.nesting > SCHEMA_LIMITS.nesting)
    throw new CheckBudgetExceeded('the schema refers to itself without end')
  charge(run, 1)
}

/** Charges for work that grows with the value. */
export function charge(run: Run, steps: number): void {
  run.steps += steps
  if (run.steps > SCHEMA_LIMITS.steps) throw new CheckBudgetExceeded('checking the value would take too long')
}

/** Records an issue at the current place, and returns false. */
export function fail(run: Run, message: string): false {
  if (run.issues && run.issues.length < SCHEMA_LIMITS.issues)
    run.issues.push({ path: pathText(run.path), at: [...run.path], message })
  return false
}

/** A boolean check without issues, for schemas such as those under `anyOf`. */
export function asks(check: Check, value: unknown, run: Run): boolean {
  const kept = run.issues
  const nesting = run.nesting
  run.issues = undefined
  const fits = check(value, run)
  run.issues = kept
  run.nesting = nesting
  return fits
}

/** The issues of one branch, without recording them. */
export function issuesOf(check: Check, value: unknown, run: Run): readonly SchemaIssue[] {
  const kept = run.issues
  const nesting = run.nesting
  const issues: SchemaIssue[] = []
  run.issues = issues
  check(value, run)
  run.issues = kept
  run.nesting = nesting
  return issues
}

export function pathText(path: readonly (string | number)[]): string {
  let text = ''
  for (const step of path)
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step.length > 80 ? `${step.slice(0, 80)}…` : step)}]`
  return text
}

/** Every item passes; all of them are checked only when issues are needed. */
export function every<T>(list: readonly T[], run: Run, test: (item: T, index: number) => boolean): boolean {
  let fits = true
  for (let index = 0; index < list.length; index++)
    if (!test(list[index] as T, index)) {
      fits = false
      if (!run.issues) break
    }
  return fits
}

/** Checks one step further into the value. */
export function at(run: Run, step: string | number, check: () => boolean): boolean {
  run.path.push(step)
  const fits = check()
  run.path.pop()
  return fits
}

/** The pattern, or undefined and a warning when it cannot be used. */
export function usable(source: string, { warn }: Compiler): Pattern | undefined {
  const compiled = compilePattern(source)
  if (compiled.ok) return compiled.pattern
  warn(`the pattern ${clip(source)} is not used: ${compiled.reason}`)
  return undefined
}

export function matches(matcher: Pattern, text: string, { warn }: Compiler): boolean {
  const match = matcher.test(text)
  if (match === 'too-slow') warn(`the pattern ${clip(matcher.source)} took too long and was skipped`)
  return match !== 'no'
}

/** A value as a short text for a message. */
export function clip(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
