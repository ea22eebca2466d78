// approval-records.ts: reads the file that records what the user wrote or approved. It is in the user's own folder, where
// nothing inside a project can write. approval-writer.ts writes it.
import { join } from 'node:path'
import { InvalidInput } from '../errors.ts'
import { readTextFile } from '../files/read.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Place, plugboardHome } from './sources.ts'
import type { Approval, ProjectRecords, RecordKind, SettingsRecord } from './trust.ts'

/** The file as it is kept: each part by the real path of a project folder. */
export interface ApprovalBook {
  readonly projects: Map<string, Record<string, Approval>>
  readonly settings: Map<string, Record<string, SettingsRecord>>
  readonly folders: Map<string, FolderRecord>
}

export interface FolderRecord {
  readonly trusted: boolean
  readonly at: string
}

export function approvalsFile(place: Pick<Place, 'home' | 'env'>): string {
  return join(plugboardHome(place), 'approvals.json')
}

export async function readRecords(place: Place): Promise<ProjectRecords> {
  const book = await readApprovalBook(approvalsFile(place))
  const approvals = Object.entries(book.projects.get(place.root) ?? {}).flatMap(([name, record]) => {
    const approval = soundApproval(record)
    return approval ? [[name, approval] as const] : []
  })
  const settings = Object.entries(book.settings.get(place.root) ?? {}).map(
    ([file, record]) => [file, soundSettings(record)] as const,
  )
  const folder: unknown = book.folders.get(place.root)?.trusted
  return {
    approvals: new Map(approvals),
    settings: new Map(settings),
    ...(typeof folder === 'boolean' && { folder }),
  }
}

export async function readApprovalBook(file: string): Promise<ApprovalBook> {
  const outcome = await readTextFile(file, CONFIG_LIMITS.fileBytes)
  if (outcome.kind === 'missing') return { projects: new Map(), settings: new Map(), folders: new Map() }
  if (outcome.kind === 'problem')
    throw new InvalidInput(`${file} ${outcome.message}.`, { hint: outcome.hint })
  try {
    const read: unknown = JSON.parse(outcome.text)
    if (typeof read !== 'object' || read === null || Array.isArray(read))
      throw new TypeError('it is not an object')
    return {
      projects: part(read, 'projects'),
      settings: part(read, 'settings'),
      folders: part(read, 'folders'),
    }
  } catch (error) {
    throw new InvalidInput(`${file} is not readable JSON, so no approval can be read or added.`, {
      hint: 'Repair it, or delete it and approve the servers again.',
      cause: error,
    })
  }
}

/** The values are checked where they are used: a damaged record affects only itself. */
function part<T>(read: object, key: keyof ApprovalBook): Map<string, T> {
  const found: unknown = (read as Readonly<Record<string, unknown>>)[key]
  if (found === undefined) return new Map()
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new TypeError(`"${key}" is not an object`)
  return new Map(Object.entries(found).filter(([, value]) => typeof value === 'object' && value !== null))
}

function soundApproval(record: unknown): Approval | undefined {
  const { hash, source, approvedAt, kind, files } = (record ?? {}) as Record<string, unknown>
  if (typeof hash !== 'string' || typeof approvedAt !== 'string') return undefined
  return {
    hash,
    source: typeof source === 'string' ? source : '',
    approvedAt,
    ...(kind === 'written' || kind === 'approved' ? { kind: kind as RecordKind } : {}),
    ...(typeof files === 'object' && files !== null && { files: files as Record<string, string> }),
  }
}

function soundSettings(record: unknown): SettingsRecord {
  const { hooks, allow } = (record ?? {}) as Record<string, unknown>
  return {
    ...(typeof hooks === 'string' && { hooks }),
    ...(Array.isArray(allow) && { allow: allow.filter((rule) => typeof rule === 'string') }),
  }
}
