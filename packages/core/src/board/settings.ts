// settings.ts: what the settings files say to a board, besides its servers: rules, hooks, and where an "always" is kept.
import type { Configuration } from '../config/load.ts'
import type { PermissionRule } from '../config/resolve.ts'
import type { WritableScope } from '../config/sources.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { type Hook, readHooks } from '../interaction/index.ts'

export interface BoardSettings {
  readonly cwd: string
  readonly workspace: readonly string[]
  readonly servers: readonly ConfiguredServer[]
  readonly rules: readonly PermissionRule[]
  readonly hooks: readonly Hook[]
  readonly saveRule: (rule: string) => Promise<string>
  /** What in the hooks could not be used. */
  readonly warnings: readonly string[]
}

export function boardSettings(configuration: Configuration): BoardSettings {
  const { place, servers, rules } = configuration
  const read = configuration.hooks.map(({ file, hooks, cwd }) => readHooks(hooks, file, cwd))
  return {
    cwd: place.root,
    workspace: [place.root],
    servers,
    rules,
    hooks: read.flatMap(({ hooks }) => hooks),
    warnings: read.flatMap(({ warnings }) => warnings),
    saveRule: (rule) => saveRule(configuration, rule, 'local'),
  }
}

/** Writes an allow rule to a file of ours, and returns the file. */
export async function saveRule(
  configuration: Pick<Configuration, 'place'>,
  rule: string,
  scope: Exclude<WritableScope, 'project'>,
): Promise<string> {
  const { addAllowRule } = await import('../config/manage.ts')
  return addAllowRule(configuration.place, rule, scope, Date.now())
}
