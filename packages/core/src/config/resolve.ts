// resolve.ts: from every definition found to one verdict per name. Each step is a pure function over data, and its
// decision is kept, so that `explain` reports exactly what happened.
import { isAbsolute } from 'node:path'
import type { AlwaysRules } from './always-rules.ts'
import type { ConfigDocument, Definition } from './document.ts'
import {
  ignoredSettings,
  type PendingSettings,
  type PermissionRule,
  pendingIn,
  permissionRules,
  rulesOfUnknownServers,
  unboundMachines,
  type WrittenHooks,
  writtenHooks,
} from './effective-settings.ts'
import type { ServerEntry } from './entry.ts'
import { type Expansion, expandEntry } from './expand.ts'
import { hashOf, startSignature } from './fingerprints.ts'
import { type MergedSettings, mergedSettings } from './merged-settings.ts'
import { noSuchServer } from './no-such-server.ts'
import { admit, type PolicyPart, type PolicyVerdict } from './policy.ts'
import type { Source } from './sources.ts'
import { startsIn, withStartFolder } from './start-folder.ts'
import { fallsBackToSse, isInProcess, startsCommand, urlOf } from './transport-traits.ts'
import { authorOf, type ProjectRecords, type TrustVerdict, trust } from './trust.ts'
import { type ConfiguredServer, type Diagnostic, type DisabledReason, SCOPES, type Scope } from './types.ts'

export interface ResolveInput {
  readonly documents: readonly ConfigDocument[]
  readonly root: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly records: ProjectRecords
  readonly approveProject: boolean
  /** Which server each "always" of this project is for. */
  readonly grants?: AlwaysRules | 'unreadable' | undefined
  /** By server: pinned files that differ from what was approved. */
  readonly changedFiles?: ReadonlyMap<string, readonly string[]>
  /** May servers that did not come from the project start in its folder? */
  readonly folderTrusted: boolean
  /** Where they start otherwise. */
  readonly neutralFolder: string
  /** An enterprise file exists (even an unreadable one): only its servers count. */
  readonly exclusiveFile?: string | undefined
}

/** What was decided about one definition. */
export interface Contender {
  readonly definition: Definition
  readonly verdict:
    | { readonly kind: 'winner' }
    | { readonly kind: 'shadowed'; readonly by: string }
    | { readonly kind: 'invalid' }
    | { readonly kind: 'hidden'; readonly by: string }
    | { readonly kind: 'off'; readonly why: string }
}

/** Everything that was decided about one name, in the order it was decided. */
export interface Resolution {
  readonly name: string
  readonly contenders: readonly Contender[]
  readonly server?: ConfiguredServer
  readonly hash?: string
  readonly expansions: readonly Expansion[]
  readonly policy?: PolicyVerdict
  readonly trust?: TrustVerdict
  /** Sentences about assumptions, e.g. which transport a bare `url` became. */
  readonly notes: readonly string[]
}

export type { PendingSettings, PermissionRule, WrittenHooks } from './effective-settings.ts'
export { recordName } from './effective-settings.ts'
export { noSuchServer } from './no-such-server.ts'

/** What all sources together say. */
export interface Resolved extends MergedSettings {
  readonly servers: readonly ConfiguredServer[]
  readonly resolutions: ReadonlyMap<string, Resolution>
  /** Servers of other files that an enterprise file hides. */
  readonly hidden: readonly {
    readonly name: string
    readonly scope: Scope
    readonly source: string
    readonly reason: string
  }[]
  readonly rules: readonly PermissionRule[]
  readonly hooks: readonly WrittenHooks[]
  readonly pendingSettings: readonly PendingSettings[]
  readonly diagnostics: readonly Diagnostic[]
}

export function resolveConfiguration(given: ResolveInput): Resolved {
  // Copied once: reading the real environment costs a system call per variable.
  const env = { CLAUDE_PROJECT_DIR: given.root, PLUGBOARD_PROJECT_DIR: given.root, ...given.env }
  const input = { ...given, env, documents: [...given.documents].sort(byRow) }
  const policy = policyParts(input.documents)
  const waiting = input.documents.flatMap((document) => pendingIn(document, input))
  const diagnostics = [
    ...input.documents.flatMap((document) => [
      ...document.diagnostics,
      ...document.definitions.flatMap((definition) => definition.faults),
    ]),
    ...waiting.map(ignoredSettings),
    ...input.documents.flatMap(unboundMachines),
  ]
  const drafts = [...contendersByName(input)].map(([name, contenders]) =>
    resolveOne(name, contenders, policy, input),
  )
  const resolutions = suppressRepeats(drafts)
  for (const resolution of resolutions.values()) diagnostics.push(...missingVariables(resolution))
  const all = [...resolutions.values()]
  const rules = permissionRules(input)
  diagnostics.push(...rulesOfUnknownServers(rules, input.documents, [...resolutions.keys()]))
  return {
    servers: all.flatMap(({ server }) => server ?? []),
    resolutions,
    hidden: all.flatMap(hiddenOnes),
    rules,
    ...mergedSettings(input.documents),
    hooks: writtenHooks(input),
    pendingSettings: waiting,
    diagnostics,
  }
}

/** Strongest first: by scope, then by the row in the table of sources; never by the order in which files were read. */
function byStrength(a: Definition, b: Definition): number {
  return byRow(a, b) || (a.line ?? 0) - (b.line ?? 0)
}

function byRow(a: { readonly source: Source }, b: { readonly source: Source }): number {
  return (
    SCOPES.indexOf(a.source.scope) - SCOPES.indexOf(b.source.scope) ||
    a.source.rank - b.source.rank ||
    (a.source.file < b.source.file ? -1 : a.source.file > b.source.file ? 1 : 0)
  )
}

function contendersByName(input: ResolveInput): Map<string, Contender[]> {
  const groups = new Map<string, Definition[]>()
  for (const definition of input.documents.flatMap((document) => document.definitions))
    groups.set(definition.name, [...(groups.get(definition.name) ?? []), definition])
  const names = [...groups.keys()].sort()
  return new Map(names.map((name) => [name, rankContenders(groups.get(name) ?? [], input.exclusiveFile)]))
}

function rankContenders(definitions: readonly Definition[], exclusiveFile: string | undefined): Contender[] {
  let winner: Definition | undefined
  return [...definitions].sort(byStrength).map((definition): Contender => {
    const outside = definition.source.scope !== 'enterprise' && !isHandedOver(definition)
    if (definition.absentBecause !== undefined)
      return { definition, verdict: { kind: 'off', why: definition.absentBecause } }
    if (exclusiveFile && outside) return { definition, verdict: { kind: 'hidden', by: exclusiveFile } }
    if (!definition.entry) return { definition, verdict: { kind: 'invalid' } }
    if (winner) return { definition, verdict: { kind: 'shadowed', by: winner.source.file } }
    winner = definition
    return { definition, verdict: { kind: 'winner' } }
  })
}

/** Only servers from the embedding program bypass the files: a repository could also write `"type": "sdk"`. */
function isHandedOver({ entry, source }: Definition): boolean {
  return entry !== undefined && isInProcess(entry) && source.scope === 'dynamic'
}

function resolveOne(
  name: string,
  contenders: readonly Contender[],
  policy: readonly PolicyPart[],
  input: ResolveInput,
): Resolution {
  const winner = contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  if (!winner?.entry) return { name, contenders, expansions: [], notes: [] }
  const { source, written } = winner
  // Only a project's entry is bound to its exact text.
  const hash = source.authorship === 'user' ? '' : hashOf(written)
  const trusted = trust({
    name,
    hash,
    authorship: source.authorship,
    approvals: input.records.approvals,
    changedFiles: input.changedFiles?.get(name) ?? [],
    approveProject: input.approveProject,
  })
  const author = authorIn(winner, hash, input)
  const replaces = author === 'repository' ? replacedBy(contenders) : undefined
  const { entry, expansions } = expandEntry(winner.entry, input.env)
  const verdict = admit(name, entry, policy, isHandedOver(winner))
  const disabled =
    whyDisabled(name, winner.entry, source.id, verdict, trusted, input.documents, winner.offBecause) ??
    unusableUrl(entry, expansions)
  return {
    name,
    contenders,
    ...(hash && { hash }),
    expansions,
    policy: verdict,
    trust: trusted,
    notes: [...(winner.note === undefined ? [] : [winner.note]), ...notesOn(entry, source, author, input)],
    server: {
      name,
      scope: source.scope,
      source: source.file,
      entry: withStartFolder(name, entry, source, author, input),
      author,
      ...(replaces !== undefined && { replaces }),
      get signature() {
        return startSignature(entry)
      },
      ...(disabled && { disabled }),
    },
  }
}

function whyDisabled(
  name: string,
  entry: ServerEntry,
  sourceId: string,
  policy: PolicyVerdict,
  trusted: TrustVerdict,
  documents: readonly ConfigDocument[],
  offBecause = 'disabled in its entry',
): DisabledReason | undefined {
  if (!policy.admitted) return { kind: 'policy', text: `${policy.reason}, ${policy.file}` }
  const off = documents.find(
    ({ settings }) =>
      settings.disabledServers?.includes(name) ||
      (sourceId === 'mcp-json' && settings.disabledMcpjsonServers?.includes(name)),
  )
  if (off) return { kind: 'user', text: `switched off in ${off.source.file}` }
  if (entry.disabled) return { kind: 'config', text: offBecause }
  if (!trusted.trusted) return { kind: 'trust', text: 'pending approval' }
  return undefined
}

/** What stands in the file is checked there; what its variables make of it is only known now. */
function unusableUrl(entry: ServerEntry, expansions: readonly Expansion[]): DisabledReason | undefined {
  const url = urlOf(entry)
  if (url === undefined || URL.canParse(url)) return undefined
  const inUrl = expansions.filter(({ path }) => path === 'url')
  if (inUrl.length === 0) return undefined
  const missing = inUrl.filter(({ from }) => from === 'missing').map(({ variable }) => variable)
  const names = (missing.length > 0 ? missing : inUrl.map(({ variable }) => variable)).join(', ')
  const why = missing.length > 0 ? `${names} is not set` : `check ${names}`
  return { kind: 'config', text: `its url is not a URL with its variables filled in (${why})` }
}

function authorIn(winner: Definition, hash: string, input: ResolveInput): 'user' | 'repository' {
  // A file of the project that the user named on the command line may start; it gets none of the user's credentials.
  if (winner.source.fromProject) return 'repository'
  return authorOf(winner.name, hash, winner.source.authorship, input.records.approvals)
}

/** The file of the user's own server that a repository's entry of the same name shadows. */
function replacedBy(contenders: readonly Contender[]): string | undefined {
  const own = contenders.find(
    ({ definition, verdict }) => verdict.kind === 'shadowed' && definition.source.authorship === 'user',
  )
  return own?.definition.source.file
}

function notesOn(
  entry: ServerEntry,
  source: Source,
  author: 'user' | 'repository',
  input: ResolveInput,
): string[] {
  const notes: string[] = []
  if (fallsBackToSse(entry))
    notes.push(
      'It has a "url" and no "type": Streamable HTTP, and the legacy SSE transport if that answers 4xx.',
    )
  const added = source.authorship === 'repository' && author === 'user'
  const chosen = startsCommand(entry) && entry.cwd !== undefined && (added || isAbsolute(entry.cwd))
  if (startsCommand(entry) && !chosen && !startsIn(entry, source, author, input))
    notes.push(
      'It starts in a neutral folder, because you have not trusted this one and programs such as npx take code from the folder they start in. `plugboard trust` lets your servers start in the project folder; `cwd` in the entry decides for this one.',
    )
  return notes
}

const HAND_WRITTEN: readonly Scope[] = ['enterprise', 'dynamic', 'local', 'project', 'user']

/** A plugin's or fetched list's copy of a server that exists under another name is disabled. */
function suppressRepeats(drafts: readonly Resolution[]): Map<string, Resolution> {
  const hasExternal = drafts.some(({ server }) => server && !HAND_WRITTEN.includes(server.scope))
  if (!hasExternal) return new Map(drafts.map((draft) => [draft.name, draft]))
  // They come sorted by name, and sorting keeps that order.
  const strongestFirst = [...drafts].sort((a, b) => scopeRank(a) - scopeRank(b))
  const nameBySignature = new Map<string, string>()
  const suppressed = new Map<string, string>()
  for (const { name, server } of strongestFirst) {
    if (!server || !isComparable(server.entry)) continue
    const original = nameBySignature.get(server.signature)
    // One that is already disabled keeps its reason; it starts nothing either way.
    if (original !== undefined && !HAND_WRITTEN.includes(server.scope)) {
      if (!server.disabled) suppressed.set(name, original)
    }
    // A server without trust, or forbidden by policy, shadows no other.
    else if (
      original === undefined &&
      server.disabled?.kind !== 'trust' &&
      server.disabled?.kind !== 'policy'
    )
      nameBySignature.set(server.signature, name)
  }
  return new Map(drafts.map((draft) => [draft.name, suppress(draft, suppressed.get(draft.name))]))
}

/** Servers found by name or by lock file have no content to compare. */
function isComparable(entry: ServerEntry): boolean {
  return startsCommand(entry) || urlOf(entry) !== undefined
}

function suppress(draft: Resolution, by: string | undefined): Resolution {
  if (by === undefined || !draft.server) return draft
  const disabled: DisabledReason = { kind: 'suppressed', text: `the same server as "${by}"`, by }
  return { ...draft, server: { ...draft.server, disabled } }
}

function scopeRank({ server }: Resolution): number {
  return server ? SCOPES.indexOf(server.scope) : SCOPES.length
}

function hiddenOnes({ name, contenders }: Resolution) {
  return contenders.flatMap(({ definition, verdict }) =>
    verdict.kind === 'hidden'
      ? [
          {
            name,
            scope: definition.source.scope,
            source: definition.source.file,
            reason: `hidden: ${verdict.by} allows its own servers only`,
          },
        ]
      : [],
  )
}

function policyParts(documents: readonly ConfigDocument[]): PolicyPart[] {
  return documents
    .filter(({ source }) => source.scope === 'enterprise' || source.scope === 'user')
    .map(({ source, settings }) => ({ file: source.file, scope: source.scope, settings }))
}

function missingVariables({ name, expansions, server, contenders }: Resolution): Diagnostic[] {
  // A disabled server does not need its variables; one that waits for approval soon will.
  if (!server || (server.disabled && server.disabled.kind !== 'trust')) return []
  const winner = contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  if (!winner) return []
  return expansions
    .filter(({ from }) => from === 'missing')
    .map(({ variable, path }) => ({
      severity: 'warning' as const,
      file: server.source,
      ...(winner.line !== undefined && { line: winner.line }),
      path: `${winner.path}.${path}`,
      server: name,
      message: `the environment variable ${variable} is not set`,
      hint: `Set it, or write \${${variable}:-default}.`,
    }))
}

export interface PendingApproval {
  readonly name: string
  readonly hash: string
  readonly file: string
  readonly written: unknown
  /** Why approval is needed: never approved, or changed since. */
  readonly because: string
  /** The file of the user's own server of this name, which it would replace. */
  readonly replaces?: string
}

/** The project's servers that wait for approval. */
export function pendingApprovals(resolved: Resolved): PendingApproval[] {
  return [...resolved.resolutions.values()].flatMap((resolution) =>
    resolution.trust?.trusted === false ? projectEntry(resolution) : [],
  )
}

/** The project's entry that won a name, approved or not; undefined for the user's own. */
export function projectEntry({ name, hash, trust, contenders, server }: Resolution): PendingApproval[] {
  const winner = contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  if (!winner || !hash || !trust) return []
  const { written, source } = winner
  const replaces = server?.replaces === undefined ? {} : { replaces: server.replaces }
  return [{ name, hash, file: source.file, written, because: trust.because, ...replaces }]
}

/** The resolution of a name, or an error that suggests similar names. */
export function findResolution(resolved: Resolved, name: string): Resolution {
  const found = resolved.resolutions.get(name)
  if (found) return found
  throw noSuchServer(name, [...resolved.resolutions.keys()])
}
