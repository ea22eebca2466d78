// restricting-settings.ts: what remains of a settings key with a fault, or in a file with a syntax error: the part that
// restricts. One typo must not lift the other denials.
import * as z from 'zod/mini'
import type { Settings, SettingsKey } from './settings.ts'

export const policyMatcher = z.union(
  [
    z.strictObject({ serverName: z.string() }),
    z.strictObject({
      serverCommand: z.array(z.string()).check(z.minLength(1)),
      env: z.optional(z.union([z.literal('*'), z.array(z.string())])),
      cwd: z.optional(z.boolean()),
    }),
    z.strictObject({ serverUrl: z.string().check(z.minLength(1)), headersHelper: z.optional(z.boolean()) }),
  ],
  'expected {"serverName": …}, {"serverCommand": [ … ]} or {"serverUrl": …}',
)

/** For a key with faults, the part that restricts: one typo must not lift the other denials. */
export function rightPart(key: SettingsKey, given: unknown): unknown {
  const right = (list: unknown, item: { safeParse(value: unknown): { success: boolean } }) =>
    Array.isArray(list) ? list.filter((value) => item.safeParse(value).success) : undefined
  switch (key) {
    case 'allowedMcpServers':
      return right(given, policyMatcher) ?? []
    case 'deniedMcpServers':
      return right(given, policyMatcher)
    case 'allowManagedMcpServersOnly':
      return true
    case 'disabledServers':
    case 'disabledMcpjsonServers':
      return right(given, z.string())
    case 'builtins':
      return onlyOff(given)
    case 'permissions': {
      if (typeof given !== 'object' || given === null) return undefined
      const { deny, ask } = given as Record<string, unknown>
      // `"deny": "files"` is not a list, but what it denies stays denied.
      const rules = (list: unknown) => right(typeof list === 'string' ? [list] : list, z.string()) ?? []
      return { deny: rules(deny), ask: rules(ask) }
    }
    default:
      return undefined
  }
}

/** The built-ins that are switched off: a fault elsewhere does not switch them on. */
function onlyOff(given: unknown): Record<string, boolean> {
  if (typeof given !== 'object' || given === null) return {}
  return Object.fromEntries(Object.entries(given).filter(([, on]) => on === false))
}

/** The part that counts in a file with a syntax error. */
export function restrictingPart(key: SettingsKey, value: unknown): unknown {
  if (key === 'builtins') return onlyOff(value)
  if (key !== 'permissions') return value
  const { deny, ask } = value as NonNullable<Settings['permissions']>
  return { ...(deny && { deny }), ...(ask && { ask }) }
}
