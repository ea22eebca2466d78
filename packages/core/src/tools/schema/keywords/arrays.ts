// arrays.ts: the keywords for arrays.
import { canonicalJson } from '../../../json.ts'
import { asks, at, type Check, type Compiler, charge, clip, every, fail, type Schema } from '../run.ts'
import { isNumber } from './values.ts'

export function prefixItems(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  return Array.isArray(list) ? tuple(list, compiler) : undefined
}

export function items(rule: unknown, schema: Schema, compiler: Compiler): Check | undefined {
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

export function uniqueItems(wanted: unknown): Check | undefined {
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

export function contains(rule: unknown, schema: Schema, compiler: Compiler): Check | undefined {
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
