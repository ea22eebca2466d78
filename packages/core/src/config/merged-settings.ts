// merged-settings.ts: settings of several files as one, part by part: the administrator's count before the user's.
import type { ConfigDocument } from './document.ts'
import type { GatewaySettings, ToolSettings } from './gateway-settings.ts'
import type { AuditSettings, LoginSettings, ModelSettings, Settings } from './settings.ts'
import { SCOPES } from './types.ts'

export interface MergedSettings {
  /** Settings merged part by part, the administrator's before the user's. */
  readonly logins: LoginSettings
  /** How `plugboard serve` serves, and what it accepts from its clients. */
  readonly gateway: GatewaySettings
  /** How it shows single tools, by `server.tool`, and the sets of tools that it can serve, by name. */
  readonly tools: Readonly<Record<string, ToolSettings>>
  readonly profiles: Readonly<Record<string, readonly string[]>>
  readonly audit: AuditSettings
  /** Whether the settings allow the resident process; undefined when they say nothing. */
  readonly resident: { readonly enabled?: boolean; readonly idleMs?: number }
  /** Prices and context of models, by their names. */
  readonly models: Readonly<Record<string, ModelSettings>>
}

export function mergedSettings(documents: readonly ConfigDocument[]): MergedSettings {
  return {
    logins: loginSettings(documents),
    gateway: gatewaySettings(documents),
    tools: Object.assign({}, ...weakestFirst(documents, 'tools')),
    profiles: Object.assign({}, ...weakestFirst(documents, 'profiles')),
    audit: Object.assign({}, ...weakestFirst(documents, 'audit')),
    resident: residentSettings(documents),
    models: Object.assign({}, ...weakestFirst(documents, 'models')),
  }
}

function loginSettings(documents: readonly ConfigDocument[]): LoginSettings {
  const parts = documents.flatMap(({ source, settings }) =>
    settings.logins ? [{ source, logins: settings.logins }] : [],
  )
  const weakestFirst = parts.sort((a, b) => SCOPES.indexOf(b.source.scope) - SCOPES.indexOf(a.source.scope))
  const machines = Object.assign({}, ...weakestFirst.map(({ logins }) => logins.machines ?? {}))
  return { ...Object.assign({}, ...weakestFirst.map(({ logins }) => logins)), machines }
}

function gatewaySettings(documents: readonly ConfigDocument[]): GatewaySettings {
  const parts = weakestFirst(documents, 'gateway')
  return { ...Object.assign({}, ...parts), limits: Object.assign({}, ...parts.map(({ limits }) => limits)) }
}

function residentSettings(documents: readonly ConfigDocument[]): MergedSettings['resident'] {
  const parts = weakestFirst(documents, 'resident').map((said) =>
    typeof said === 'boolean'
      ? { enabled: said }
      : { enabled: true, ...(said.idleMs !== undefined && { idleMs: said.idleMs }) },
  )
  return Object.assign({}, ...parts)
}

/** One key of every settings file that has it, the administrator's last. */
function weakestFirst<K extends 'gateway' | 'tools' | 'profiles' | 'audit' | 'models' | 'resident'>(
  documents: readonly ConfigDocument[],
  key: K,
): NonNullable<Settings[K]>[] {
  return [...documents]
    .sort((a, b) => SCOPES.indexOf(b.source.scope) - SCOPES.indexOf(a.source.scope))
    .map(({ settings }) => settings[key])
    .filter((value) => value !== undefined)
}
