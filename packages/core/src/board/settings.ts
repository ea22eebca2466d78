// settings.ts: what the settings files define for a board besides its servers: rules, hooks, and where an "always" is
// saved.
import type { Configuration } from '../config/load.ts'
import type { PermissionRule } from '../config/resolve.ts'
import type { AuditSettings } from '../config/settings.ts'
import { type WritableScope, writableSource } from '../config/sources.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { type Hook, readHooks } from '../interaction/index.ts'

export interface BoardSettings {
  readonly cwd: string
  readonly workspace: readonly string[]
  readonly servers: readonly ConfiguredServer[]
  readonly rules: readonly PermissionRule[]
  readonly hooks: readonly Hook[]
  readonly audit: AuditSettings
  readonly saveRule: (rule: string, signature?: string) => Promise<string>
  /** Where `saveRule` writes. */
  readonly ruleFile: string
  /** Hooks that could not be used. */
  readonly warnings: readonly string[]
}

/** What the settings files say about the behaviour of a board: rules and hooks. */
export function boardSettings(configuration: Configuration): BoardSettings {
  const { place, servers, rules } = configuration
  const read = configuration.hooks.map(({ file, hooks, cwd }) => readHooks(hooks, file, cwd))
  return {
    cwd: place.root,
    workspace: [place.root],
    servers,
    rules,
    audit: configuration.audit,
    hooks: read.flatMap(({ hooks }) => hooks),
    warnings: read.flatMap(({ warnings }) => warnings),
    saveRule: (rule, signature) => saveRule(configuration, rule, 'local', signature),
    ruleFile: writableSource(place, 'local').file,
  }
}

/**
 * Writes an allow rule to a file of ours, and returns the file. A rule for the project is bound to the server that it
 * was granted for: another server of the same name needs permission again.
 */
export async function saveRule(
  configuration: Pick<Configuration, 'place'>,
  rule: string,
  scope: Exclude<WritableScope, 'project'>,
  signature?: string,
): Promise<string> {
  const { place } = configuration
  // Bound before the rule counts.
  if (signature !== undefined && scope === 'local')
    await (await import('../config/always-rules.ts')).recordAlwaysRule(place, rule, signature)
  const { addAllowRule } = await import('../config/manage.ts')
  return addAllowRule(place, rule, scope, Date.now())
}
