// trust.ts: may something inside a project start or count? Only if the user's home holds a record of exactly this
// text for exactly this folder. Pure; approval-records.ts reads the records, approval-writer.ts writes them.
import type { Authorship } from './sources.ts'

/**
 * `written`: a command of ours wrote the entry for the user. `approved`: the user allowed the repository's entry to
 * start.
 */
export type RecordKind = 'written' | 'approved'

export interface Approval {
  readonly hash: string
  readonly source: string
  readonly approvedAt: string
  /** Absent in records of older versions, which did not distinguish the two: approved. */
  readonly kind?: RecordKind
  /** `approve --pin`: the files the entry names, relative to the project, and the SHA-256 of each. */
  readonly files?: Readonly<Record<string, string>>
}

/** name → approval, for one project. */
export type Approvals = ReadonlyMap<string, Approval>

/** What the user's home records about one project folder. */
export interface ProjectRecords {
  readonly approvals: Approvals
  /** settings file, relative to the project → the hooks and the allow rules in it that count. */
  readonly settings: ReadonlyMap<string, SettingsRecord>
  /** May the user's servers start in this folder? Undefined when the user was never prompted. */
  readonly folder?: boolean
}

export interface SettingsRecord {
  /** The hash of the whole `hooks` object. */
  readonly hooks?: string
  /** Each approved allow rule, in its own spelling. */
  readonly allow?: readonly string[]
}

export const NO_RECORDS: ProjectRecords = { approvals: new Map(), settings: new Map() }

export type TrustVerdict =
  | { readonly trusted: true; readonly because: string }
  | { readonly trusted: false; readonly because: string }

export interface TrustQuestion {
  readonly name: string
  readonly hash: string
  readonly authorship: Authorship
  readonly approvals: Approvals
  /** Pinned files of the entry that are missing or differ from what was approved. */
  readonly changedFiles?: readonly string[]
  readonly approveProject: boolean
}

export function trust(question: TrustQuestion): TrustVerdict {
  const { authorship, approvals, name, hash, changedFiles = [] } = question
  if (authorship === 'user') return { trusted: true, because: 'it is defined outside the project' }
  const approval = approvals.get(name)
  const same = approval?.hash === hash
  if (approval && same && changedFiles.length === 0) {
    const verb = approval.kind === 'written' ? 'written by you' : 'approved'
    return { trusted: true, because: `${verb} on ${approval.approvedAt.slice(0, 10)}` }
  }
  if (question.approveProject) return { trusted: true, because: '--approve-project was given for this run' }
  if (approval && same)
    return {
      trusted: false,
      because: `a pinned file changed since it was approved: ${changedFiles.join(', ')}`,
    }
  if (approval) return { trusted: false, because: 'the entry changed since it was approved' }
  return {
    trusted: false,
    because: 'it lies inside the project folder and there is no record that you wrote or approved it',
  }
}

/**
 * Who is the author of the entry, for credentials and rules? An approval lets it start; it does not make it the
 * user's.
 */
export function authorOf(
  name: string,
  hash: string,
  authorship: Authorship,
  approvals: Approvals,
): 'user' | 'repository' {
  if (authorship === 'user') return 'user'
  const approval = approvals.get(name)
  return approval?.kind === 'written' && approval.hash === hash ? 'user' : 'repository'
}
