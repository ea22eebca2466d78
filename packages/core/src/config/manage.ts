// manage.ts: the user's commands (`add`, `remove`, `enable`, `approve` …) as edits of our own files. It never writes
// another product's file.
import { InvalidInput, PermissionDenied } from '../errors.ts'
import type { Host } from '../host.ts'
import { forgetApprovals, recordApprovals, recordFolder } from './approval-writer.ts'
import { isSwitchName } from './builtin-switches.ts'
import { type Definition, defineServer } from './document.ts'
import { hashOf } from './fingerprints.ts'
import type { Configuration } from './load.ts'
import { newNameFault } from './names.ts'
import { nodeAt, parseDocument } from './parse.ts'
import {
  findResolution,
  type PendingApproval,
  type PendingSettings,
  type Resolution,
  recordName,
} from './resolve.ts'
import { parseRule } from './rule-syntax.ts'
import { isWritable, type Place, type Source, type WritableScope, writableSource } from './sources.ts'
import { editSource, plannedEdit, serverPath } from './store.ts'

export { approvalsFile } from './approval-records.ts'
export { forgetFolder, listFolders } from './approval-writer.ts'
export { filesOf } from './pins.ts'

export interface Added {
  readonly name: string
  readonly file: string
  readonly scope: WritableScope
  readonly outcome: 'added' | 'replaced' | 'unchanged' | 'kept'
}

/** Writes one server. Its author is the user unless `pending`, so what it adds to a project is recorded as written. */
export async function addServer(
  configuration: Configuration,
  host: Host,
  request: {
    readonly name: string
    readonly written: unknown
    readonly scope: WritableScope
    readonly replace?: boolean
    /** Keep an existing server of that name, instead of failing. */
    readonly keep?: boolean
    /** The entry was copied from a file of the project: it stays the repository's and waits for approval. */
    readonly pending?: boolean
  },
): Promise<Added> {
  const { name, written, scope } = request
  const source = writableSource(configuration.place, scope)
  if (request.pending && source.authorship === 'user')
    throw new InvalidInput(`"${name}" came with the project, so it is not written to ${source.file}.`, {
      server: name,
      hint: 'Leave out -s, look at it and run `plugboard approve`; or add it yourself with `plugboard add -s user`.',
    })
  assertAddable(name, written, source, configuration)
  // Set inside the edit, which runs under the lock.
  let outcome = 'added' as Added['outcome']
  const changed = await editSource(configuration.place, source, (text) => {
    const path = serverPath(text, source, name)
    const existing = nodeAt(parseDocument(text, source.file).root, path)
    if (existing && request.keep && !request.replace) {
      outcome = 'kept'
      return []
    }
    if (existing && !request.replace)
      throw new InvalidInput(`"${name}" is already in ${source.file}.`, {
        server: name,
        hint: `Use another name, \`plugboard remove ${name}\` first, or --force to replace it.`,
      })
    if (existing) outcome = 'replaced'
    return [{ do: 'set', path, value: written }]
  })
  const added = { name, file: source.file, scope }
  if (outcome === 'kept') return { ...added, outcome }
  if (!changed) outcome = 'unchanged'
  if (scope !== 'user' && !request.pending)
    await recordApprovals(
      configuration.place,
      [{ name, hash: hashOf(written), source: source.file, kind: 'written' }],
      host.now(),
    )
  return { ...added, outcome }
}

/** What `addServer` with `replace` would write: the file, its text now (undefined when it is new) and then. */
export async function previewServer(
  configuration: Configuration,
  {
    name,
    written,
    scope,
  }: { readonly name: string; readonly written: unknown; readonly scope: WritableScope },
): Promise<{ readonly file: string; readonly before: string | undefined; readonly after: string }> {
  const source = writableSource(configuration.place, scope)
  assertAddable(name, written, source, configuration)
  const { before, after } = await plannedEdit(source, (text) => [
    { do: 'set', path: serverPath(text, source, name), value: written },
  ])
  return { file: source.file, before, after }
}

function assertAddable(name: string, written: unknown, source: Source, configuration: Configuration): void {
  if (configuration.exclusiveFile)
    throw new PermissionDenied(
      `${configuration.exclusiveFile} allows its own servers only, so none can be added.`,
      {
        server: name,
        stage: 'config',
        hint: 'Ask the administrator of this machine.',
      },
    )
  const fault = newNameFault(name)
  if (fault) throw new InvalidInput(`${capital(fault.message)}.`, { server: name, hint: fault.hint })
  const errors = defineServer(name, written, source).faults.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return
  throw new InvalidInput(errors.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    server: name,
    hint: errors[0]?.hint,
  })
}

export async function removeServer(
  configuration: Configuration,
  name: string,
  scope?: WritableScope,
): Promise<{ readonly files: readonly string[] }> {
  const resolution = findResolution(configuration, name)
  const all = resolution.contenders.map(({ definition }) => definition.source)
  const ours = all.filter((source) => isWritable(source) && (scope === undefined || source.scope === scope))
  if (ours.length === 0) throw cannotRemove(name, all, scope)
  const scopes = new Set(ours.map((source) => source.scope))
  if (scopes.size > 1)
    throw new InvalidInput(`"${name}" is defined in several scopes: ${[...scopes].join(', ')}.`, {
      server: name,
      hint: `Say which: \`plugboard remove ${name} -s ${[...scopes][0]}\`.`,
    })
  for (const source of ours)
    await editSource(configuration.place, source, (text) => [
      { do: 'remove', path: serverPath(text, source, name) },
    ])
  return { files: ours.map((source) => source.file) }
}

function cannotRemove(name: string, all: readonly Source[], scope: WritableScope | undefined): Error {
  const places = all.map((source) => `${source.file} (${source.scope})`).join(', ')
  if (scope !== undefined && all.some(isWritable))
    return new InvalidInput(`"${name}" is not defined in the ${scope} scope, but in ${places}.`, {
      server: name,
    })
  return new InvalidInput(`"${name}" is defined in ${places}, which plugboard does not edit.`, {
    server: name,
    hint: `Remove it there, or switch it off with \`plugboard disable ${name}\`.`,
  })
}

/**
 * Enables or disables a server for this user, wherever it is defined: a list in our own settings, so that a shared
 * file stays unchanged. Enabling also clears a `disabled` flag in a file of ours.
 */
export async function setEnabled(
  configuration: Configuration,
  host: Host,
  name: string,
  enabled: boolean,
): Promise<{ readonly changed: readonly string[] }> {
  const { place } = configuration
  const resolution = findResolution(configuration, name)
  const winner = resolution.contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  const personal = [writableSource(place, 'local'), writableSource(place, 'user')] as const
  const changed: string[] = []
  if (!enabled) {
    const inProject = winner && (winner.source.scope === 'local' || winner.source.scope === 'project')
    const source = inProject ? personal[0] : personal[1]
    if (await editSource(place, source, () => [{ do: 'include', path: ['disabledServers'], item: name }]))
      changed.push(source.file)
    return { changed }
  }
  const lists = switchedOffIn(configuration, name, winner)
  const files = new Set<string>(personal.map(({ file }) => file))
  const foreign = lists.find(({ source }) => !files.has(source.file))
  if (foreign)
    throw new InvalidInput(
      `"${name}" is switched off in ${foreign.source.file}, which you share with others.`,
      { server: name, hint: `Remove it from "${foreign.key}" there.` },
    )
  for (const { source, key } of lists)
    if (await editSource(place, source, () => [{ do: 'exclude', path: [key], item: name }]))
      changed.push(source.file)
  if (isSwitchName(name) && resolution.contenders.some(({ verdict }) => verdict.kind === 'off')) {
    const [, user] = personal
    if (await editSource(place, user, () => [{ do: 'set', path: ['builtins', name], value: true }]))
      changed.push(user.file)
  }
  if (winner?.entry?.disabled) changed.push(await clearDisabledFlag(configuration, host, name, resolution))
  return { changed }
}

/** Every list that disables the server, and where it is. */
function switchedOffIn(
  { documents }: Configuration,
  name: string,
  winner: Definition | undefined,
): { readonly source: Source; readonly key: 'disabledServers' | 'disabledMcpjsonServers' }[] {
  return documents.flatMap(({ source, settings }) =>
    (['disabledServers', 'disabledMcpjsonServers'] as const)
      .filter((key) => key === 'disabledServers' || winner?.source.id === 'mcp-json')
      .filter((key) => settings[key]?.includes(name))
      .map((key) => ({ source, key })),
  )
}

async function clearDisabledFlag(
  configuration: Configuration,
  host: Host,
  name: string,
  resolution: Resolution,
): Promise<string> {
  const winner = resolution.contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  if (!winner || !isWritable(winner.source))
    throw new InvalidInput(
      `"${name}" is disabled in ${winner?.source.file}, which plugboard does not edit.`,
      {
        server: name,
        hint: 'Remove "disabled" there.',
      },
    )
  await editSource(configuration.place, winner.source, (text) => [
    { do: 'remove', path: [...serverPath(text, winner.source, name), 'disabled'] },
  ])
  const record = configuration.records.approvals.get(name)
  if (record && record.hash === resolution.hash) {
    // The user changed one flag of a recorded entry; the record is updated with it.
    const { disabled: _, ...rest } = winner.written as Record<string, unknown>
    const { kind = 'approved', files } = record
    await recordApprovals(
      configuration.place,
      [{ name, hash: hashOf(rest), source: winner.source.file, kind, ...(files && { files }) }],
      host.now(),
    )
  }
  return winner.source.file
}

export interface Approving {
  readonly entries: readonly PendingApproval[]
  readonly settings?: readonly PendingSettings[]
  /** The user claims the entries as their own text: the user's credentials and rules may apply. */
  readonly mine?: boolean
  /** By server: the files to pin, with their hashes. */
  readonly files?: ReadonlyMap<string, Readonly<Record<string, string>>>
}

export async function approve(
  configuration: Configuration,
  host: Host,
  { entries, settings = [], mine = false, files }: Approving,
): Promise<void> {
  if (entries.length === 0 && settings.length === 0) return
  await recordApprovals(
    configuration.place,
    entries.map(({ name, hash, file }) => {
      const pinned = files?.get(name)
      const kind = mine ? 'written' : 'approved'
      return { name, hash, source: file, kind, ...(pinned && { files: pinned }) }
    }),
    host.now(),
    settings.map(({ record, hash, kind, written }) => ({
      file: record,
      ...(kind === 'hooks' && hash !== undefined && { hooks: hash }),
      ...(kind === 'allow' && { allow: written as readonly string[] }),
    })),
  )
}

/** A permission rule that the user chose, and the file of ours that it goes to. */
export interface NewRule {
  readonly action: 'allow' | 'ask' | 'deny'
  readonly rule: string
  readonly scope: Exclude<WritableScope, 'project'>
}

/** What `addRule` would write: the file, its text now (undefined when it is new) and then. */
export async function previewRule(
  place: Place,
  { action, rule, scope }: NewRule,
): Promise<{ readonly file: string; readonly before: string | undefined; readonly after: string }> {
  const parsed = parseRule(rule, action === 'allow' ? 'allow' : 'restrict')
  if (!parsed.ok) throw new InvalidInput(`The rule "${rule}" ${parsed.problem}.`, { hint: parsed.hint })
  const source = writableSource(place, scope)
  const { before, after } = await plannedEdit(source, () => [
    { do: 'include', path: ['permissions', action], item: rule },
  ])
  return { file: source.file, before, after }
}

/** Writes an allow rule that the user chose to a file of ours, records it as the user's, and returns the file. */
export function addAllowRule(
  place: Place,
  rule: string,
  scope: NewRule['scope'],
  now: number,
): Promise<string> {
  return addRule(place, { action: 'allow', rule, scope }, now)
}

/** Writes a rule that the user chose; one that allows is recorded as the user's. Returns the file. */
export async function addRule(place: Place, { action, rule, scope }: NewRule, now: number): Promise<string> {
  const source = writableSource(place, scope)
  await editSource(place, source, () => [{ do: 'include', path: ['permissions', action], item: rule }])
  if (action === 'allow' && source.authorship !== 'user')
    await recordApprovals(place, [], now, [{ file: recordName(source.file, place.root), allow: [rule] }])
  return source.file
}

/** Allows the user's own servers to start in the project folder, or forbids it. */
export function trustFolder(configuration: Configuration, host: Host, trusted: boolean): Promise<void> {
  return recordFolder(configuration.place, configuration.place.root, trusted, host.now())
}

export function resetProjectChoices(configuration: Configuration): Promise<number> {
  return forgetApprovals(configuration.place)
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}
