// combinations.ts: the keywords that apply other schemas to a value: references, branches, conditions.
import {
  asks,
  type Check,
  type Compiler,
  clip,
  every,
  fail,
  issuesOf,
  type Run,
  type Schema,
} from '../run.ts'

export function reference(target: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  if (typeof target !== 'string') return undefined
  const found = compiler.resolve(target, schema)
  if (found === undefined) {
    compiler.warn(
      target.startsWith('#')
        ? `"$ref" to ${clip(target)} leads nowhere; that part is not checked`
        : `"$ref" to ${clip(target)} is not fetched; that part is not checked`,
    )
    return undefined
  }
  let check: Check | undefined
  // Resolved when first needed, so that a chain of references cannot be as deep as it is long.
  return (value, run) => {
    check ??= compiler.compile(found)
    return check(value, run)
  }
}

function branches(list: unknown, compiler: Compiler): readonly Check[] | undefined {
  return Array.isArray(list) ? list.map((schema) => compiler.compile(schema)) : undefined
}

export function allOf(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const checks = branches(list, compiler)
  return checks && ((value, run) => every(checks, run, (check) => check(value, run)))
}

export function anyOf(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const checks = branches(list, compiler)
  return (
    checks &&
    ((value, run) => checks.some((check) => asks(check, value, run)) || noBranch(checks, value, run))
  )
}

export function oneOf(list: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
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

/** Reports the issues of the nearest branch: the one that was entered deepest. */
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

export function not(rule: unknown, _schema: Schema, compiler: Compiler): Check | undefined {
  const check = compiler.compile(rule)
  return (value, run) => !asks(check, value, run) || fail(run, 'has a form that is ruled out')
}

export function conditional(rule: unknown, schema: Schema, compiler: Compiler): Check | undefined {
  const test = compiler.compile(rule)
  const then = Object.hasOwn(schema, 'then') ? compiler.compile(schema.then) : undefined
  const otherwise = Object.hasOwn(schema, 'else') ? compiler.compile(schema.else) : undefined
  return (value, run) => (asks(test, value, run) ? then : otherwise)?.(value, run) ?? true
}
