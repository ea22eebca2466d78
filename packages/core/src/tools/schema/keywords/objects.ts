// objects.ts: the keywords for objects.
import { isObject } from '../../../json.ts'
import { at, type Check, type Compiler, every, fail, matches, type Run, type Schema, usable } from '../run.ts'
import { isString } from './values.ts'

export function required(names: unknown): Check | undefined {
  if (!Array.isArray(names)) return undefined
  const wanted = names.filter(isString)
  return (value, run) => !isObject(value) || hasAll(value, wanted, run, 'is required')
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

export function properties(map: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (!isObject(map)) return undefined
  const checks = Object.entries(map).map(([name, schema]) => [name, compiler.compile(schema)] as const)
  return (value, run) => {
    if (!isObject(value)) return true
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

export function patternProperties(map: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (!isObject(map)) return undefined
  const checks = Object.entries(map).flatMap(([source, schema]) => {
    const matcher = usable(source, compiler)
    return matcher ? [{ matcher, check: compiler.compile(schema) }] : []
  })
  return (value, run) => {
    if (!isObject(value)) return true
    let fits = true
    for (const key of Object.keys(value))
      for (const { matcher, check } of checks)
        if (matches(matcher, key, compiler) && !at(run, key, () => check(value[key], run))) fits = false
    return fits
  }
}

export function additionalProperties(rest: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  if (rest === true) return undefined
  const check = compiler.compile(rest)
  const known = new Set(isObject(schema.properties) ? Object.keys(schema.properties) : [])
  const patterns = Object.keys(isObject(schema.patternProperties) ? schema.patternProperties : {})
    .map((source) => usable(source, compiler))
    .filter((matcher) => matcher !== undefined)
  return (value, run) => {
    if (!isObject(value)) return true
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

export function propertyNames(schema: unknown, _all: Schema, compiler: Compiler): Check | undefined {
  const check = compiler.compile(schema)
  return (value, run) =>
    !isObject(value) || every(Object.keys(value), run, (key) => at(run, key, () => check(key, run)))
}

export function dependentRequired(map: unknown): Check | undefined {
  if (!isObject(map)) return undefined
  const rules = Object.entries(map).map(([key, names]) => ({
    key,
    names: Array.isArray(names) ? names.filter(isString) : [],
  }))
  return (value, run) =>
    !isObject(value) ||
    every(
      rules,
      run,
      ({ key, names }) =>
        !Object.hasOwn(value, key) || hasAll(value, names, run, `is required when "${key}" is given`),
    )
}

export function dependentSchemas(map: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  if (!isObject(map)) return undefined
  const rules = Object.entries(map).map(([key, schema]) => ({ key, check: compiler.compile(schema) }))
  return (value, run) =>
    !isObject(value) || every(rules, run, ({ key, check }) => !Object.hasOwn(value, key) || check(value, run))
}

/** Draft 7 has both kinds under one keyword. */
export function dependencies(map: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  if (!isObject(map)) return undefined
  const entries = Object.entries(map)
  const names = dependentRequired(Object.fromEntries(entries.filter(([, rule]) => Array.isArray(rule))))
  const schemas = dependentSchemas(
    Object.fromEntries(entries.filter(([, rule]) => !Array.isArray(rule))),
    schema,
    compiler,
  )
  return (value, run) => (names?.(value, run) ?? true) && (schemas?.(value, run) ?? true)
}
