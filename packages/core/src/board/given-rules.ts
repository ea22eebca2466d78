// given-rules.ts: the permission rules that a program passes to a board, checked, and joined with those of the files.
import type { PermissionRule } from '../config/resolve.ts'
import { parseRule } from '../config/rule-syntax.ts'
import { InvalidInput } from '../errors.ts'
import type { GivenRules } from './options.ts'

/** The program's rules. One that cannot be read is an error: the program may believe that it protects something. */
export function givenRules(given: GivenRules | undefined): readonly PermissionRule[] {
  if (given === undefined) return []
  if (isList(given)) return given
  return (['deny', 'ask', 'allow'] as const).flatMap((action) =>
    (given[action] ?? []).map((rule, at) => {
      const read = parseRule(rule, action === 'allow' ? 'allow' : 'restrict')
      if (!read.ok)
        throw new InvalidInput(`rules.${action}[${at}]: ${JSON.stringify(rule)} ${read.problem}.`, {
          hint: read.hint,
        })
      return { action, rule, file: 'given by the program', scope: 'dynamic' as const }
    }),
  )
}

/** The user's rules and the program's: none of the user's is lost. */
export function joinedRules(
  ofFiles: readonly PermissionRule[],
  ofProgram: readonly PermissionRule[],
): readonly PermissionRule[] {
  return [...ofFiles, ...ofProgram.filter((rule) => !ofFiles.includes(rule))]
}

function isList(given: GivenRules): given is readonly PermissionRule[] {
  return Array.isArray(given)
}
