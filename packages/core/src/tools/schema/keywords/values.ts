// values.ts: the keywords for the value itself: its type, what it equals, its length or size.
import { formatCheck } from '../../../interaction/string-formats.ts'
import { canonicalJson, isObject } from '../../../json.ts'
import { type Check, type Compiler, charge, clip, fail, matches, type Schema, usable } from '../run.ts'

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isString,
  number: isNumber,
  integer: (value) => isNumber(value) && Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
}

export function type(wanted: unknown, schema: Schema, { warn }: Compiler): Check | undefined {
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

export function enumeration(values: unknown): Check | undefined {
  return Array.isArray(values) ? equals(values) : undefined
}

export function equals(values: readonly unknown[]): Check {
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

export function pattern(source: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const matcher = typeof source === 'string' ? usable(source, compiler) : undefined
  if (!matcher) return undefined
  return (value, run) =>
    !isString(value) ||
    matches(matcher, value, compiler) ||
    fail(run, `must match the pattern ${clip(matcher.source)}`)
}

export function format(name: unknown): Check | undefined {
  const good = formatCheck(name)
  return good && ((value, run) => !isString(value) || good(value) || fail(run, `must be a valid ${name}`))
}

export function bound(limit: unknown, sign: '>' | '>=' | '<' | '<='): Check | undefined {
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

/** 0.3 counts as a multiple of 0.1 and 19999999.99 as one of 0.01, which binary fractions alone would deny. */
export function multipleOf(step: unknown): Check | undefined {
  if (!isNumber(step) || step <= 0) return undefined
  return (value, run) =>
    !isNumber(value) ||
    Number.isInteger(value / step) ||
    isDecimalMultiple(value, step) ||
    isNearMultiple(value, step) ||
    fail(run, `must be a multiple of ${step}`)
}

/** By the decimal digits that both are written with, exactly. */
function isDecimalMultiple(value: number, step: number): boolean {
  const a = decimal(value)
  const b = decimal(step)
  const exponent = Math.min(a.exponent, b.exponent)
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent)
  return scaled(a) % scaled(b) === 0n
}

interface Decimal {
  readonly digits: bigint
  /** The power of ten that the digits are multiplied by. */
  readonly exponent: number
}

function decimal(value: number): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  return { digits: BigInt(`${sign}${whole}${fraction}` || '0'), exponent: Number(power) - fraction.length }
}

/** Sums such as 0.1 + 0.2 are off by a rounding. */
function isNearMultiple(value: number, step: number): boolean {
  const ratio = value / step
  return Math.abs(ratio) < 1e9 && Math.abs(ratio - Math.round(ratio)) <= 1e-9 * Math.max(1, Math.abs(ratio))
}

/** JSON Schema counts characters, not UTF-16 units. */
function codePoints(text: string): number {
  if (!/[\ud800-\udbff]/.test(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}

/** What is counted in a value, if it is of a countable kind. */
const COUNTS = {
  properties: (value: unknown) => (isObject(value) ? Object.keys(value).length : undefined),
  items: (value: unknown) => (Array.isArray(value) ? value.length : undefined),
  characters: (value: unknown) => (isString(value) ? codePoints(value) : undefined),
} as const

export function size(
  limit: unknown,
  bound: 'at least' | 'at most',
  unit: keyof typeof COUNTS,
): Check | undefined {
  if (!isNumber(limit)) return undefined
  const countOf = COUNTS[unit]
  const holds = (count: number) => (bound === 'at least' ? count >= limit : count <= limit)
  return (value, run) => {
    const count = countOf(value)
    return count === undefined || holds(count) || fail(run, `must have ${bound} ${limit} ${unit}`)
  }
}

export function isString(value: unknown): value is string {
  return typeof value === 'string'
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
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
