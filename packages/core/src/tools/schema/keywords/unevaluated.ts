// unevaluated.ts: `unevaluatedProperties` and `unevaluatedItems`: what no other keyword of the same schema has
// checked. Computed on demand, by walking the schema again along the value.
import { isObject } from '../../../json.ts'
import {
  asks,
  at,
  type Build,
  type Compiler,
  charge,
  every,
  matches,
  type Run,
  type Schema,
  usable,
} from '../run.ts'

export const unevaluatedProperties: Build = (rule, schema, compiler) => {
  const check = compiler.compile(rule)
  return (value, run) => {
    if (!isObject(value)) return true
    const seen = evaluatedBy(schema, value, run, compiler)
    const rest = Object.keys(value).filter((key) => !seen.has(key))
    return every(rest, run, (key) => at(run, key, () => check(value[key], run)))
  }
}

export const unevaluatedItems: Build = (rule, schema, compiler) => {
  const check = compiler.compile(rule)
  return (value, run) => {
    if (!Array.isArray(value)) return true
    const seen = evaluatedBy(schema, value, run, compiler)
    const rest = [...value.keys()].filter((index) => !seen.has(index))
    return every(rest, run, (index) => at(run, index, () => check(value[index], run)))
  }
}

type Seen = Set<string | number>

function evaluatedBy(schema: Schema, value: unknown, run: Run, compiler: Compiler): Seen {
  const seen: Seen = new Set()
  evaluated(schema, value, run, compiler, seen, true)
  return seen
}

function evaluated(
  schema: unknown,
  value: unknown,
  run: Run,
  compiler: Compiler,
  seen: Seen,
  outermost = false,
): void {
  if (!isObject(schema)) return
  charge(run, 1)
  if (isObject(value)) evaluatedKeys(schema, value, compiler, seen, outermost)
  if (Array.isArray(value)) evaluatedIndexes(schema, value, run, compiler, seen, outermost)
  const follow = (part: unknown) => {
    if (asks(compiler.compile(part), value, run)) evaluated(part, value, run, compiler, seen)
  }
  for (const key of ['allOf', 'anyOf', 'oneOf']) {
    const list = schema[key]
    if (Array.isArray(list)) list.forEach(follow)
  }
  for (const key of ['$ref', '$dynamicRef']) {
    const target = schema[key]
    if (typeof target === 'string') follow(compiler.resolve(target, schema) ?? true)
  }
  if (isObject(schema.dependentSchemas) && isObject(value))
    for (const [key, part] of Object.entries(schema.dependentSchemas))
      if (Object.hasOwn(value, key)) follow(part)
  if (Object.hasOwn(schema, 'if')) {
    const holds = asks(compiler.compile(schema.if), value, run)
    if (holds) evaluated(schema.if, value, run, compiler, seen)
    const next = holds ? schema.then : schema.else
    if (next !== undefined) follow(next)
  }
}

function evaluatedKeys(
  schema: Schema,
  value: Schema,
  compiler: Compiler,
  seen: Seen,
  outermost: boolean,
): void {
  const all = 'additionalProperties' in schema || (!outermost && 'unevaluatedProperties' in schema)
  const known = isObject(schema.properties) ? schema.properties : {}
  const sources = isObject(schema.patternProperties) ? Object.keys(schema.patternProperties) : []
  const patterns = sources
    .map((source) => usable(source, compiler))
    .filter((matcher) => matcher !== undefined)
  for (const key of Object.keys(value))
    if (all || Object.hasOwn(known, key) || patterns.some((matcher) => matches(matcher, key, compiler)))
      seen.add(key)
}

function evaluatedIndexes(
  schema: Schema,
  value: readonly unknown[],
  run: Run,
  compiler: Compiler,
  seen: Seen,
  outermost: boolean,
): void {
  const { items: rule, prefixItems: prefix, contains: wanted } = schema
  const listed = Array.isArray(rule) ? rule.length : Array.isArray(prefix) ? prefix.length : 0
  const all =
    (rule !== undefined && !Array.isArray(rule)) ||
    (Array.isArray(rule) && 'additionalItems' in schema) ||
    (!outermost && 'unevaluatedItems' in schema)
  const check = wanted === undefined ? undefined : compiler.compile(wanted)
  value.forEach((item, index) => {
    if (all || index < listed || (check && asks(check, item, run))) seen.add(index)
  })
}
