// effective-settings.ts: which hooks, allow rules and machine logins of the settings files count. Those in a private
// file of the project need a record in the user's home; the shared file of a project allows nothing.
import { relative, sep } from 'node:path'
import type { AlwaysRules } from './always-rules.ts'
import type { ConfigDocument } from './document.ts'
import { hashOf } from './fingerprints.ts'
import { isEffective, isOurs, rulesWithoutServer, rulesWithoutTool } from './rule-errors.ts'
import type { ToolNames } from './rule-matcher.ts'
import type { Source } from './sources.ts'
import { startsInProject } from './start-folder.ts'
import type { ProjectRecords } from './trust.ts'
import type { Diagnostic, Scope } from './types.ts'

export interface SettingsInput {
  readonly documents: readonly ConfigDocument[]
  readonly root: string
  readonly records: ProjectRecords
  /** Which server each "always" of this project is for. */
  readonly grants?: AlwaysRules | 'unreadable' | undefined
  /** May programs that did not come from the project start in its folder? */
  readonly folderTrusted: boolean
  /** Where they start otherwise. */
  readonly neutralFolder: string
}

export interface PermissionRule {
  readonly action: 'allow' | 'ask' | 'deny'
  readonly rule: string
  readonly file: string
  readonly scope: Scope
  /** `user-servers`: an allow rule that does not cover servers from a repository. */
  readonly reach?: 'user-servers'
  /** An "always": the signatures of the servers it was granted for. */
  readonly signatures?: readonly string[]
}

/** The `hooks` of one settings file, as written. */
export interface WrittenHooks {
  readonly file: string
  readonly hooks: Readonly<Record<string, unknown>>
  /** The folder its commands start in. */
  readonly cwd: string
}

/** Hooks or allow rules of a private file in the project that have no effect until the user approves them. */
export interface PendingSettings {
  readonly kind: 'hooks' | 'allow'
  readonly file: string
  /** The file as records name it: relative to the project. */
  readonly record: string
  /** The hooks as written, or the rules that are not approved. */
  readonly written: unknown
  /** Of the hooks. */
  readonly hash?: string
}

/** A repository may request caution (`ask`, `deny`) but not permission: its `allow` counts once the user approves it. */
export function permissionRules(input: SettingsInput): PermissionRule[] {
  return input.documents.flatMap(({ source, settings }) =>
    (['deny', 'ask', 'allow'] as const).flatMap((action) => {
      const rules = (settings.permissions?.[action] ?? []).filter(
        (rule) => isOurs(rule, source) && isEffective(action, rule),
      )
      const counting = action === 'allow' ? rules.filter((rule) => isAllowed(rule, source, input)) : rules
      return counting.map((rule) => ({
        action,
        rule,
        file: source.file,
        scope: source.scope,
        ...(action === 'allow' && boundTo(rule, source.scope, input.grants)),
      }))
    }),
  )
}

/** Rules in our own files that name a server which does not exist. */
export function rulesOfUnknownServers(
  rules: readonly PermissionRule[],
  documents: readonly ConfigDocument[],
  servers: readonly string[],
): Diagnostic[] {
  return rulesWithoutServer(ownRules(rules, documents), servers)
}

/** A rule of the settings that matches no tool, and what to tell the user. */
export interface UnmatchedToolRule {
  readonly rule: PermissionRule
  readonly diagnostic: Diagnostic
}

/** Rules in our own files that match no tool of their server, where `toolsOf` knows its tools. */
export function rulesOfUnknownTools(
  { rules, documents, servers }: UnknownToolInput,
  toolsOf: (server: string) => readonly ToolNames[] | undefined,
): readonly UnmatchedToolRule[] {
  const names = servers.map(({ name }) => name)
  return rulesWithoutTool(ownRules(rules, documents), names, toolsOf)
}

/** The parts of a configuration that it needs. */
export interface UnknownToolInput {
  readonly rules: readonly PermissionRule[]
  readonly documents: readonly ConfigDocument[]
  readonly servers: readonly { readonly name: string }[]
}

/** The rules in our own files. */
function ownRules(
  rules: readonly PermissionRule[],
  documents: readonly ConfigDocument[],
): readonly PermissionRule[] {
  const ours = new Set(
    documents.filter(({ source }) => source.product === 'plugboard').map(({ source }) => source.file),
  )
  return rules.filter(({ file }) => ours.has(file))
}

/** Rules the user wrote elsewhere cover the user's servers; an "always" of this project covers the server it was for. */
function boundTo(
  rule: string,
  scope: Scope,
  grants: SettingsInput['grants'],
): Pick<PermissionRule, 'reach' | 'signatures'> {
  if (scope !== 'local') return { reach: 'user-servers' }
  if (grants === 'unreadable') return { signatures: [] }
  const signatures = grants?.get(rule)
  return signatures ? { signatures } : {}
}

/** The shared file never allows anything; a private one allows what the user approved, rule by rule. */
function isAllowed(rule: string, source: Source, input: SettingsInput): boolean {
  if (source.authorship === 'user') return true
  if (source.scope !== 'local') return false
  return settingsRecord(source, input)?.allow?.includes(rule) ?? false
}

function settingsRecord(source: Source, { records, root }: SettingsInput) {
  return records.settings.get(recordName(source.file, root))
}

/** Records name a settings file by its path in the project. */
export function recordName(file: string, root: string): string {
  return relative(root, file).split(sep).join('/')
}

export function pendingIn({ source, settings }: ConfigDocument, input: SettingsInput): PendingSettings[] {
  if (source.authorship === 'user' || source.scope !== 'local') return []
  const place = { file: source.file, record: recordName(source.file, input.root) }
  const pending: PendingSettings[] = []
  if (settings.hooks) {
    const hash = hashOf(settings.hooks)
    if (settingsRecord(source, input)?.hooks !== hash)
      pending.push({ kind: 'hooks', ...place, written: settings.hooks, hash })
  }
  const rules = (settings.permissions?.allow ?? []).filter(
    (rule) => isOurs(rule, source) && isEffective('allow', rule) && !isAllowed(rule, source, input),
  )
  if (rules.length > 0) pending.push({ kind: 'allow', ...place, written: [...new Set(rules)] })
  return pending
}

/** What a private file contains without effect; the user who wrote it is told. */
export function ignoredSettings({ kind, file, written }: PendingSettings): Diagnostic {
  const rules = kind === 'allow' && Array.isArray(written) ? written.length : 0
  return {
    severity: 'warning',
    file,
    path: kind === 'hooks' ? 'hooks' : 'permissions.allow',
    message:
      kind === 'hooks'
        ? 'has no effect: the file is in the project and you have not approved these hooks'
        : `${rules === 1 ? 'one rule has' : `${rules} rules have`} no effect: the file is in the project and you have not approved ${rules === 1 ? 'it' : 'them'}`,
    hint: 'Run `plugboard approve`: it shows them and asks.',
  }
}

/** Credentials without an address would follow a name; they are not used, and the diagnostic says what to add. */
export function unboundMachines({ source, settings }: ConfigDocument): Diagnostic[] {
  return Object.entries(settings.logins?.machines ?? {})
    .filter(([, machine]) => machine.url === undefined && machine.issuer === undefined)
    .map(([name]) => ({
      severity: 'warning',
      file: source.file,
      path: `logins.machines.${name}`,
      server: name,
      message: 'has neither "url" nor "issuer", so its credentials are not used',
      hint: 'Add "url" with the address of the server that they are for.',
    }))
}

/** A hook is a command on the user's machine: of the project's files only approved hooks of a private one run. */
export function writtenHooks(input: SettingsInput): WrittenHooks[] {
  return input.documents.flatMap(({ source, settings }) => {
    if (!settings.hooks) return []
    const own = source.authorship === 'user'
    if (!own && settingsRecord(source, input)?.hooks !== hashOf(settings.hooks)) return []
    const cwd = startsInProject(source, input) ? input.root : input.neutralFolder
    return [{ file: source.file, hooks: settings.hooks, cwd }]
  })
}
