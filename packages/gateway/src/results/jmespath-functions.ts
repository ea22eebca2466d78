// jmespath-functions.ts: the functions of JMESPath, one row each: what its arguments must be, and what it does. An argument of
// another type is an error that says what was found.
import { isDeepStrictEqual } from 'node:util'
import {
  ExpressionReference,
  JmesPathError,
  type Machine,
  type TypeName,
  typeName,
} from './jmespath-nodes.ts'

type Given = readonly unknown[]
/** What one argument may be; `numbers` and `strings` are arrays of these. */
type Kind = TypeName | 'numbers' | 'strings' | 'any'

interface FunctionRow {
  readonly takes: readonly (readonly Kind[])[]
  /** The last argument may be repeated. */
  readonly variadic?: boolean
  run(args: Given, machine: Machine): unknown
}

const numbers = (value: unknown) => value as readonly number[]
const texts = (value: unknown) => value as readonly string[]
const list = (value: unknown) => value as readonly unknown[]
const object = (value: unknown) => value as Record<string, unknown>
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const CHARS_PER_WORK = 12

const TABLE: Readonly<Record<string, FunctionRow>> = {
  abs: { takes: [['number']], run: ([value]) => Math.abs(Number(value)) },
  ceil: { takes: [['number']], run: ([value]) => Math.ceil(Number(value)) },
  floor: { takes: [['number']], run: ([value]) => Math.floor(Number(value)) },
  sum: { takes: [['numbers']], run: ([values]) => sum(numbers(values)) },
  avg: {
    takes: [['numbers']],
    run: ([values]) => (numbers(values).length === 0 ? null : sum(numbers(values)) / numbers(values).length),
  },
  length: {
    takes: [['string', 'array', 'object']],
    run: ([value]) => {
      if (typeof value === 'string') return [...value].length
      return Array.isArray(value) ? value.length : Object.keys(object(value)).length
    },
  },
  contains: {
    takes: [['string', 'array'], ['any']],
    run: ([where, what]) =>
      typeof where === 'string'
        ? typeof what === 'string' && where.includes(what)
        : list(where).some((item) => isDeepStrictEqual(item, what)),
  },
  starts_with: { takes: [['string'], ['string']], run: ([a, b]) => String(a).startsWith(String(b)) },
  ends_with: { takes: [['string'], ['string']], run: ([a, b]) => String(a).endsWith(String(b)) },
  join: {
    takes: [['string'], ['strings']],
    run: ([glue, parts], machine) => {
      const chars = texts(parts).reduce((total, part) => total + part.length + String(glue).length, 0)
      machine.charge(chars / CHARS_PER_WORK)
      return texts(parts).join(String(glue))
    },
  },
  reverse: {
    takes: [['string', 'array']],
    run: ([value]) =>
      typeof value === 'string' ? [...value].reverse().join('') : [...list(value)].reverse(),
  },
  keys: { takes: [['object']], run: ([value]) => Object.keys(object(value)) },
  values: { takes: [['object']], run: ([value]) => Object.values(object(value)) },
  merge: {
    takes: [['object']],
    variadic: true,
    run: (args) => Object.fromEntries(args.flatMap((one) => Object.entries(object(one)))),
  },
  map: {
    takes: [['expression'], ['array']],
    run: ([reference, items], machine) => list(items).map((item) => applied(machine, reference, item)),
  },
  sort: { takes: [['strings', 'numbers']], run: ([values]) => [...list(values)].sort(order) },
  sort_by: {
    takes: [['array'], ['expression']],
    run: ([items, reference], machine) =>
      keyed(machine, list(items), reference)
        .sort((a, b) => order(a.key, b.key))
        .map(({ item }) => item),
  },
  max: { takes: [['numbers', 'strings']], run: ([values]) => extreme(list(values), 1) },
  min: { takes: [['numbers', 'strings']], run: ([values]) => extreme(list(values), -1) },
  max_by: { takes: [['array'], ['expression']], run: (args, machine) => extremeBy(args, machine, 1) },
  min_by: { takes: [['array'], ['expression']], run: (args, machine) => extremeBy(args, machine, -1) },
  not_null: { takes: [['any']], variadic: true, run: (args) => args.find((one) => one !== null) ?? null },
  to_array: { takes: [['any']], run: ([value]) => (Array.isArray(value) ? value : [value]) },
  to_string: {
    takes: [['any']],
    run: ([value], machine) => (typeof value === 'string' ? value : chargedJson(value, machine)),
  },
  to_number: {
    takes: [['any']],
    run: ([value]) => {
      const number =
        typeof value === 'number' ? value : typeof value === 'string' ? Number(value) : Number.NaN
      return Number.isFinite(number) && String(value).trim() !== '' ? number : null
    },
  },
  type: { takes: [['any']], run: ([value]) => typeName(value) },
}

export function callFunction(machine: Machine, name: string, args: Given): unknown {
  const row = Object.hasOwn(TABLE, name) ? TABLE[name] : undefined
  if (!row)
    throw new JmesPathError(`there is no function ${name}(); there are ${Object.keys(TABLE).join(', ')}`)
  const { takes, variadic } = row
  const isCount = variadic ? args.length >= takes.length : args.length === takes.length
  if (!isCount)
    throw new JmesPathError(
      `${name}() takes ${variadic ? 'at least ' : ''}${takes.length} argument${takes.length === 1 ? '' : 's'}, not ${args.length}`,
    )
  for (const [at, value] of args.entries()) {
    const kinds = takes[at] ?? takes.at(-1) ?? []
    if (Array.isArray(value)) machine.charge(value.length)
    else if (typeof value === 'string') machine.charge(value.length / CHARS_PER_WORK)
    if (!kinds.some((kind) => isKind(value, kind)))
      throw new JmesPathError(`${name}() takes ${kinds.join(' or ')}, and got ${described(value)}`)
  }
  return row.run(args, machine)
}

function isKind(value: unknown, kind: Kind): boolean {
  if (kind === 'any') return true
  if (kind === 'numbers') return Array.isArray(value) && value.every((one) => typeof one === 'number')
  if (kind === 'strings') return Array.isArray(value) && value.every((one) => typeof one === 'string')
  return typeName(value) === kind
}

function described(value: unknown): string {
  if (!Array.isArray(value)) return typeName(value)
  const kinds = [...new Set(value.map(typeName))]
  return kinds.length === 0 ? 'an empty array' : `an array of ${kinds.join(' and ')}`
}

function applied(machine: Machine, reference: unknown, item: unknown): unknown {
  if (!(reference instanceof ExpressionReference)) throw new JmesPathError('an expression is written &name')
  return machine.visit(reference.expression, item)
}

function order(a: unknown, b: unknown): number {
  return (a as string) < (b as string) ? -1 : (a as string) > (b as string) ? 1 : 0
}

function keyed(machine: Machine, items: Given, reference: unknown) {
  const rows = items.map((item) => ({ item, key: applied(machine, reference, item) }))
  const kinds = new Set(rows.map(({ key }) => typeof key))
  const [kind] = kinds
  if (kinds.size > 1 || (kind !== undefined && kind !== 'number' && kind !== 'string'))
    throw new JmesPathError('the keys to compare by must all be numbers, or all be texts')
  return rows
}

function extreme(values: Given, sign: 1 | -1): unknown {
  return values.reduce((best, value) => (order(value, best) * sign > 0 ? value : best), values[0]) ?? null
}

function extremeBy([items, reference]: Given, machine: Machine, sign: 1 | -1): unknown {
  const rows = keyed(machine, list(items), reference)
  const [first] = rows
  if (!first) return null
  return rows.reduce((best, row) => (order(row.key, best.key) * sign > 0 ? row : best), first).item
}

/** JSON of a value that may refer to the same part many times. */
function chargedJson(value: unknown, machine: Machine): string {
  return JSON.stringify(value, (_, part) => {
    machine.charge(typeof part === 'string' ? 1 + part.length / CHARS_PER_WORK : 1)
    return part
  })
}
