// keywords.ts: what each keyword of JSON Schema asks of a value. A keyword whose own value makes no sense is left out
// with a warning; the others still count.
import { formatCheck } from '../../interaction/formats.ts'
import { canonicalJson, isRecord } from '../json.ts'
import {
  asks,
  at,
  type Build,
  type Check,
  type Compiler,
  charge,
  clip,
  every,
  fail,
  issuesOf,
  matches,
  type Run,
  type Schema,
  usable,
} from './run.ts'
import { unevaluatedItems, unevaluatedProperties } from './unevaluated.ts'

/** In the order they are checked: what is cheap and says most comes first. */
export const KEYWORDS: readonly (readonly [string, Build])[] = [
  ['type', type],
  ['const', (wanted) => equals([wanted])],
  ['enum', enumeration],
  ['$ref', reference],
  ['$dynamicRef', reference],
  ['$recursiveRef', reference],
  ['required', required],
  ['properties', properties],
  ['patternProperties', patternProperties],
  ['additionalProperties', additionalProperties],
  ['propertyNames', propertyNames],
  ['minProperties', (limit) => size(limit, isRecord, keyCount, atLeast, 'properties')],
  ['maxProperties', (limit) => size(limit, isRecord, keyCount, atMost, 'properties')],
  ['dependentRequired', dependentRequired],
  ['dependentSchemas', dependentSchemas],
  ['dependencies', dependencies],
  ['prefixItems', prefixItems],
  ['items', items],
  ['minItems', (limit) => size(limit, Array.isArray, lengthOf, atLeast, 'items')],
  ['maxItems', (limit) => size(limit, Array.isArray, lengthOf, atMost, 'items')],
  ['uniqueItems', uniqueItems],
  ['contains', contains],
  ['minLength', (limit) => size(limit, isString, codePoints, atLeast, 'characters')],
  ['maxLength', (limit) => size(limit, isString, codePoints, atMost, 'characters')],
  ['pattern', pattern],
  ['format', format],
  ['minimum', (limit, schema) => bound(limit, schema.exclusiveMinimum === true ? '>' : '>=')],
  ['maximum', (limit, schema) => bound(limit, schema.exclusiveMaximum === true ? '<' : '<=')],
  ['exclusiveMinimum', (limit) => bound(limit, '>')],
  ['exclusiveMaximum', (limit) => bound(limit, '<')],
  ['multipleOf', multipleOf],
  ['allOf', allOf],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['not', not],
  ['if', conditional],
  // Last: they ask what the others have looked at.
  ['unevaluatedProperties', unevaluatedProperties],
  ['unevaluatedItems', unevaluatedItems],
]

// The type of the value itself.

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isString,
  number: isNumber,
  integer: (value) => isNumber(value) && Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isRecord,
}

function type(wanted: unknown, schema: Schema, { warn }: Compiler): Check | undefined {
  const names = (Array.isArray(wanted) ? wanted : [wanted]).filter((name) => typeof name === 'string')
  const tests = names.flatMap((name) => (Object.hasOwn(TYPES, name) ? [TYPES[name]] : [])) as ((
    value: unknown,
  ) => boolean)[]
  if (tests.length === 0 || tests.length < names.length) {
    warn(`"type" is ${clip(wanted)}, which is not a type`)
    return undefined
  }
  if (schema.nullable === true) tests.push((value) => value === null)
  const [only] = tests
  const text = names.join(' or ')
  if (tests.length === 1 && only)
    return (value, run) => only(value) || fail(run, `must be ${article(text)}, not ${typeName(value)}`)
  return (value, run) =>
    tests.some((test) => test(value)) || fail(run, `must be ${article(text)}, not ${typeName(value)}`)
}

function enumeration(values: unknown): Check | undefined {
  return Array.isArray(values) ? equals(values) : undefined
}

function equals(values: readonly unknown[]): Check {
  const simple = new Set(values.filter((value) => typeof value !== 'object' || value === null))
  const structured = new Set(
    values.filter((value) => typeof value === 'object' && value !== null).map(canonicalJson),
  )
  return (value, run) => {
    if (simple.has(value)) return true
    if (structured.size > 0 && typeof value === 'object' && value !== null) {
      const text = canonicalJson(value)
      charge(run, text.length)
      if (structured.has(text)) return true
    }
    if (!run.issues) return false
    if (values.length === 1) return fail(run, `must be ${clip(values[0])}`)
    const shown = values.slice(0, 12).map(clip).join(', ')
    return fail(run, `must be one of ${shown}${values.length > 12 ? ', …' : ''}`)
  }
}

function reference(target: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (typeof target !== 'string') return undefined
  const found = compiler.resolve(target)
  if (found === undefined) {
    compiler.warn(
      target.startsWith('#')
        ? `"$ref" to ${clip(target)} leads nowhere; that part is not checked`
        : `"$ref" to ${clip(target)} is not fetched; that part is not checked`,
    )
    return undefined
  }
  let check: Check | undefined
  // Followed when first needed, so that a chain of references cannot be as deep as it is long.
  return (value, run) => {
    check ??= compiler.compile(found)
    return check(value, run)
  }
}

// Objects.

function required(names: unknown): Check | undefined {
  if (!Array.isArray(names)) return undefined
  const wanted = names.filter(isString)
  return (value, run) => !isRecord(value) || hasAll(value, wanted, run, 'is required')
}

function hasAll(value: Schema, names: readonly string[], run: Run, message: string): boolean {
  let complete = true
  for (const name of names)
    if (!Object.hasOwn(value, name)) {
      if (!run.issues) return false
      complete = at(run, name, () => fail(run, message))
    }
  return complete
}

function properties(map: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (!isRecord(map)) return undefined
  const checks = Object.entries(map).map(([name, schema]) => [name, compiler.compile(schema)] as const)
  return (value, run) => {
    if (!isRecord(value)) return true
    let fits = true
    for (const [name, check] of checks) {
      if (!Object.hasOwn(value, name)) continue
      run.path.push(name)
      const good = check(value[name], run)
      run.path.pop()
      if (!good) {
        fits = false
        if (!run.issues) break
      }
    }
    return fits
  }
}

function patternProperties(map: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (!isRecord(map)) return undefined
  const checks = Object.entries(map).flatMap(([source, schema]) => {
    const matcher = usable(source, compiler)
    return matcher ? [{ matcher, check: compiler.compile(schema) }] : []
  })
  return (value, run) => {
    if (!isRecord(value)) return true
    let fits = true
    for (const key of Object.keys(value))
      for (const { matcher, check } of checks)
        if (matches(matcher, key, compiler) && !at(run, key, () => check(value[key], run))) fits = false
    return fits
  }
}

function additionalProperties(rest: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  if (rest === true) return undefined
  const check = compiler.compile(rest)
  const known = new Set(isRecord(schema.properties) ? Object.keys(schema.properties) : [])
  const patterns = Object.keys(isRecord(schema.patternProperties) ? schema.patternProperties : {})
    .map((source) => usable(source, compiler))
    .filter((matcher) => matcher !== undefined)
  return (value, run) => {
    if (!isRecord(value)) return true
    let fits = true
    for (const key of Object.keys(value)) {
      if (known.has(key) || patterns.some((matcher) => matches(matcher, key, compiler))) continue
      const good = at(run, key, () =>
        rest === false ? fail(run, unknownKey(key, known)) : check(value[key], run),
      )
      if (!good) fits = false
      if (!fits && !run.issues) break
    }
    return fits
  }
}

function unknownKey(key: string, known: ReadonlySet<string>): string {
  const near = [...known].find((name) => squashed(name) === squashed(key))
  if (near !== undefined) return `is not a known property; "${near}" is`
  const shown = [...known].slice(0, 12).join(', ')
  return known.size === 0
    ? 'is not expected: no properties are'
    : `is not a known property; known are ${shown}`
}

function squashed(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

function propertyNames(schema: unknown, _all: Schema, compiler: Compiler): Check | undefined {
  const check = compiler.compile(schema)
  return (value, run) =>
    !isRecord(value) || every(Object.keys(value), run, (key) => at(run, key, () => check(key, run)))
}

function dependentRequired(map: unknown): Check | undefined {
  if (!isRecord(map)) return undefined
  const rules = Object.entries(map).map(([key, names]) => ({
    key,
    names: Array.isArray(names) ? names.filter(isString) : [],
  }))
  return (value, run) =>
    !isRecord(value) ||
    every(
      rules,
      run,
      ({ key, names }) =>
        !Object.hasOwn(value, key) || hasAll(value, names, run, `is required when "${key}" is given`),
    )
}

function dependentSchemas(map: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (!isRecord(map)) return undefined
  const rules = Object.entries(map).map(([key, schema]) => ({ key, check: compiler.compile(schema) }))
  return (value, run) =>
    !isRecord(value) || every(rules, run, ({ key, check }) => !Object.hasOwn(value, key) || check(value, run))
}

/** Draft 7 has both kinds under one keyword. */
function dependencies(map: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  if (!isRecord(map)) return undefined
  const entries = Object.entries(map)
  const names = dependentRequired(Object.fromEntries(entries.filter(([, rule]) => Array.isArray(rule))))
  const schemas = dependentSchemas(
    Object.fromEntries(entries.filter(([, rule]) => !Array.isArray(rule))),
    schema,
    compiler,
  )
  return (value, run) => (names?.(value, run) ?? true) && (schemas?.(value, run) ?? true)
}

// Arrays.

function prefixItems(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  return Array.isArray(list) ? tuple(list, compiler) : undefined
}

function items(rule: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  if (Array.isArray(rule)) {
    const first = tuple(rule, compiler)
    const rest = Object.hasOwn(schema, 'additionalItems')
      ? tail(compiler.compile(schema.additionalItems), rule.length)
      : undefined
    return (value, run) => first(value, run) && (rest?.(value, run) ?? true)
  }
  const prefix = schema.prefixItems
  return tail(compiler.compile(rule), Array.isArray(prefix) ? prefix.length : 0)
}

function tuple(list: readonly unknown[], compiler: Compiler): Check {
  const checks = list.map((schema) => compiler.compile(schema))
  return (value, run) => {
    if (!Array.isArray(value)) return true
    return every(checks.slice(0, value.length), run, (check, index) =>
      at(run, index, () => check(value[index], run)),
    )
  }
}

function tail(check: Check, from: number): Check {
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let fits = true
    for (let index = from; index < value.length; index++) {
      run.path.push(index)
      const good = check(value[index], run)
      run.path.pop()
      if (!good) {
        fits = false
        if (!run.issues) break
      }
    }
    return fits
  }
}

function uniqueItems(wanted: unknown): Check | undefined {
  if (wanted !== true) return undefined
  return (value, run) => {
    if (!Array.isArray(value)) return true
    const seen = new Set<string>()
    for (const item of value) {
      const text = canonicalJson(item)
      charge(run, 1 + (text.length >> 4))
      if (seen.has(text)) return fail(run, `must not hold ${clip(item)} twice`)
      seen.add(text)
    }
    return true
  }
}

function contains(rule: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  const check = compiler.compile(rule)
  const least = isNumber(schema.minContains) ? schema.minContains : 1
  const most = isNumber(schema.maxContains) ? schema.maxContains : Number.POSITIVE_INFINITY
  return (value, run) => {
    if (!Array.isArray(value)) return true
    const count = value.filter((item) => asks(check, item, run)).length
    if (count < least) return fail(run, `must hold at least ${least} of the items it asks for`)
    return count <= most || fail(run, `must hold at most ${most} of the items it asks for`)
  }
}

// Strings and numbers.

function pattern(source: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const matcher = typeof source === 'string' ? usable(source, compiler) : undefined
  if (!matcher) return undefined
  return (value, run) =>
    !isString(value) ||
    matches(matcher, value, compiler) ||
    fail(run, `must match the pattern ${clip(matcher.source)}`)
}

function format(name: unknown): Check | undefined {
  const good = formatCheck(name)
  return good && ((value, run) => !isString(value) || good(value) || fail(run, `must be a valid ${name}`))
}

function bound(limit: unknown, sign: '>' | '>=' | '<' | '<='): Check | undefined {
  if (!isNumber(limit)) return undefined
  const holds: Record<typeof sign, (value: number) => boolean> = {
    '>': (value) => value > limit,
    '>=': (value) => value >= limit,
    '<': (value) => value < limit,
    '<=': (value) => value <= limit,
  }
  const test = holds[sign]
  return (value, run) => !isNumber(value) || test(value) || fail(run, `must be ${sign} ${limit}`)
}

/** 0.3 counts as a multiple of 0.1, which binary fractions alone would deny. */
function multipleOf(step: unknown): Check | undefined {
  if (!isNumber(step) || step <= 0) return undefined
  return (value, run) => {
    if (!isNumber(value)) return true
    const ratio = value / step
    const near =
      Math.abs(ratio - Math.round(ratio)) <= 1e-9 * Math.max(1, Math.abs(ratio)) && Math.abs(ratio) < 1e9
    return Number.isInteger(ratio) || near || fail(run, `must be a multiple of ${step}`)
  }
}

// Combinations.

function branches(list: unknown, compiler: Compiler): readonly Check[] | undefined {
  return Array.isArray(list) ? list.map((schema) => compiler.compile(schema)) : undefined
}

function allOf(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const checks = branches(list, compiler)
  return checks && ((value, run) => every(checks, run, (check) => check(value, run)))
}

function anyOf(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const checks = branches(list, compiler)
  return (
    checks &&
    ((value, run) => checks.some((check) => asks(check, value, run)) || noBranch(checks, value, run))
  )
}

function oneOf(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const checks = branches(list, compiler)
  return (
    checks &&
    ((value, run) => {
      let count = 0
      for (const check of checks) if (asks(check, value, run) && ++count > 1) break
      if (count === 1) return true
      return count > 1
        ? fail(run, 'fits more than one of the forms it may take')
        : noBranch(checks, value, run)
    })
  )
}

/** Tells what the nearest branch misses: the one that was entered deepest. */
function noBranch(checks: readonly Check[], value: unknown, run: Run): false {
  if (!run.issues) return false
  let best: ReturnType<typeof issuesOf> = []
  for (const check of checks.slice(0, 50)) {
    const issues = issuesOf(check, value, run)
    const deeper = (issues[0]?.path.length ?? 0) > (best[0]?.path.length ?? 0)
    if (best.length === 0 || deeper || (issues[0]?.path === best[0]?.path && issues.length < best.length))
      best = issues
  }
  const [nearest] = best
  const about = nearest ? ` (nearest: ${nearest.path === '' ? 'it' : nearest.path} ${nearest.message})` : ''
  return fail(run, `fits none of the ${checks.length} forms it may take${about}`)
}

function not(rule: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const check = compiler.compile(rule)
  return (value, run) => !asks(check, value, run) || fail(run, 'has a form that is ruled out')
}

function conditional(rule: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  const test = compiler.compile(rule)
  const then = Object.hasOwn(schema, 'then') ? compiler.compile(schema.then) : undefined
  const otherwise = Object.hasOwn(schema, 'else') ? compiler.compile(schema.else) : undefined
  return (value, run) => (asks(test, value, run) ? then : otherwise)?.(value, run) ?? true
}

// Small parts.

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

const atLeast = (count: number, limit: number) => count >= limit
const atMost = (count: number, limit: number) => count <= limit
const keyCount = (value: unknown) => Object.keys(value as object).length
const lengthOf = (value: unknown) => (value as readonly unknown[]).length

/** JSON Schema counts characters, not UTF-16 units. */
function codePoints(value: unknown): number {
  const text = value as string
  if (!/[\ud800-\udbff]/.test(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}

function size(
  limit: unknown,
  applies: (value: unknown) => boolean,
  count: (value: unknown) => number,
  holds: (count: number, limit: number) => boolean,
  unit: string,
): Check | undefined {
  if (!isNumber(limit)) return undefined
  const words = holds === atLeast ? 'at least' : 'at most'
  return (value, run) =>
    !applies(value) || holds(count(value), limit) || fail(run, `must have ${words} ${limit} ${unit}`)
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  return article(Array.isArray(value) ? 'array' : typeof value)
}

function article(word: string): string {
  if (word === 'null') return word
  return /^[aeio]/.test(word) ? `an ${word}` : `a ${word}`
}
