// trust.ts: may an entry that came with a project start? Only if the person said yes to exactly this entry.
// Pure; approvals.ts keeps the file that remembers the yes.

import type { Authorship } from './sources.ts'

export interface Approval {
  readonly hash: string
  readonly source: string
  readonly approvedAt: string
}

/** name → approval, for one project. */
export type Approvals = ReadonlyMap<string, Approval>

export type TrustVerdict =
  | { readonly trusted: true; readonly because: string }
  | { readonly trusted: false; readonly because: string }

export interface TrustQuestion {
  readonly name: string
  readonly hash: string
  readonly authorship: Authorship
  /** For `checkout` files: version control or an archive brought the file, so it is somebody else's word after all. */
  readonly brought: boolean
  readonly approvals: Approvals
  readonly approveProject: boolean
}

export function trust(question: TrustQuestion): TrustVerdict {
  const { authorship, brought, approvals, name, hash } = question
  if (authorship === 'user') return { trusted: true, because: 'it is defined outside the project' }
  const approval = approvals.get(name)
  if (approval?.hash === hash)
    return { trusted: true, because: `approved on ${approval.approvedAt.slice(0, 10)}` }
  if (authorship === 'checkout' && !brought)
    return { trusted: true, because: 'it is in your private file, which was written here' }
  if (question.approveProject) return { trusted: true, because: '--approve-project was given for this run' }
  if (approval) return { trusted: false, because: 'the entry changed since it was approved' }
  return {
    trusted: false,
    because:
      authorship === 'checkout'
        ? 'the file came with the repository or an archive, and nobody approved it'
        : 'nobody approved it yet',
  }
}
