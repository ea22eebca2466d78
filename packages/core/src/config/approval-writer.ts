// approval-writer.ts: adds records to the approvals file and clears them, under a lock.
import { IoError } from '../errors.ts'
import { withFileLock } from '../files/lock.ts'
import { writeFileAtomic } from '../files/write.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type ApprovalBook, approvalsFile, type FolderRecord, readApprovalBook } from './approval-records.ts'
import { realPath } from './project.ts'
import type { Place } from './sources.ts'
import type { RecordKind, SettingsRecord } from './trust.ts'

export interface NewApproval {
  readonly name: string
  readonly hash: string
  readonly source: string
  readonly kind: RecordKind
  readonly files?: Readonly<Record<string, string>>
}

/** What counts in a settings file from now on; its other hooks and rules stay without effect. */
export interface NewSettingsRecord {
  /** The settings file, relative to the project. */
  readonly file: string
  readonly hooks?: string
  readonly allow?: readonly string[]
}

export function recordApprovals(
  place: Place,
  entries: readonly NewApproval[],
  now: number,
  settings: readonly NewSettingsRecord[] = [],
): Promise<void> {
  const approvedAt = new Date(now).toISOString()
  return change(place, (book) => {
    if (entries.length > 0) {
      const known = new Map(Object.entries(book.projects.get(place.root) ?? {}))
      for (const { name, ...record } of entries) known.set(name, { ...record, approvedAt })
      book.projects.set(place.root, Object.fromEntries(known))
    }
    if (settings.length > 0) {
      const known = new Map(Object.entries(book.settings.get(place.root) ?? {}))
      for (const { file, hooks, allow = [] } of settings)
        known.set(file, withMore(known.get(file), hooks, allow))
      book.settings.set(place.root, Object.fromEntries(known))
    }
  })
}

function withMore(
  known: SettingsRecord | undefined,
  hooks: string | undefined,
  allow: readonly string[],
): SettingsRecord {
  const rules = [...new Set([...(Array.isArray(known?.allow) ? known.allow : []), ...allow])].sort()
  const kept = hooks ?? known?.hooks
  return { ...(kept !== undefined && { hooks: kept }), ...(rules.length > 0 && { allow: rules }) }
}

/** Records whether the user's servers may start in a folder. */
export function recordFolder(place: Place, folder: string, trusted: boolean, now: number): Promise<void> {
  return change(place, (book) => {
    book.folders.set(realPath(folder), { trusted, at: new Date(now).toISOString() })
  })
}

/** Forgets the decision about a folder; returns whether there was one. */
export function forgetFolder(place: Place, folder: string): Promise<boolean> {
  // A folder that is gone has no real path any more, so its text is used.
  return change(place, ({ folders }) => folders.delete(realPath(folder)) || folders.delete(folder))
}

export async function listFolders(
  place: Place,
): Promise<readonly (FolderRecord & { readonly folder: string })[]> {
  const { folders } = await readApprovalBook(approvalsFile(place))
  return [...folders].map(([folder, record]) => ({ folder, ...record }))
}

/** Forgets everything about a project; returns how many records there were. */
export function forgetApprovals(place: Place): Promise<number> {
  return change(place, ({ projects, settings, folders }) => {
    const records = [projects, settings].map((part) => Object.keys(part.get(place.root) ?? {}).length)
    for (const part of [projects, settings]) part.delete(place.root)
    return records.reduce((sum, count) => sum + count, folders.delete(place.root) ? 1 : 0)
  })
}

async function change<T>(place: Place, work: (book: ApprovalBook) => T): Promise<T> {
  const file = approvalsFile(place)
  const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs, dirMode: 0o700 }
  return await withFileLock(file, wait, async (lock) => {
    const book = await readApprovalBook(file)
    const result = work(book)
    const parts = Object.entries(book).map(([key, map]) => [key, Object.fromEntries(map)])
    const text = `${JSON.stringify({ version: 1, ...Object.fromEntries(parts) }, null, 2)}\n`
    if (!(await lock.stillHeld()))
      throw new IoError(`Another process took over ${file}.`, { hint: 'Nothing was changed; try again.' })
    await writeFileAtomic(file, text, { mode: 0o600, dirMode: 0o700 })
    return result
  })
}
