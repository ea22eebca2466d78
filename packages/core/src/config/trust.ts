// trust.ts: may an entry that came with a project start? Only if the person said yes to exactly this entry.
// The verdict is pure; the store at the end is the one file that remembers the yes.

import { InvalidInput, IoError } from '../errors.ts'
import { withFileLock, writeFileAtomic } from '../files/index.ts'
import { readTextFile } from '../files/read.ts'
import { CONFIG_LIMITS } from '../limits.ts'
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
  /** For `checkout` files: version control brought the file, so it is the repository's word after all. */
  readonly tracked: boolean
  readonly approvals: Approvals
  readonly approveProject: boolean
}

export function trust(question: TrustQuestion): TrustVerdict {
  const { authorship, tracked, approvals, name, hash } = question
  if (authorship === 'user') return { trusted: true, because: 'it is defined outside the project' }
  const approval = approvals.get(name)
  if (approval?.hash === hash)
    return { trusted: true, because: `approved on ${approval.approvedAt.slice(0, 10)}` }
  if (authorship === 'checkout' && !tracked)
    return { trusted: true, because: 'it is in your private file, which version control does not know' }
  if (question.approveProject) return { trusted: true, because: '--approve-project was given for this run' }
  if (approval) return { trusted: false, because: 'the entry changed since it was approved' }
  return {
    trusted: false,
    because:
      authorship === 'checkout'
        ? 'the file came with the repository and nobody approved it'
        : 'nobody approved it yet',
  }
}

/** The file in the user's own folder that remembers approvals; nothing inside a project can write it. */
export class ApprovalStore {
  readonly #file: string
  readonly #now: () => number

  constructor(file: string, now: () => number) {
    this.#file = file
    this.#now = now
  }

  async read(root: string): Promise<Approvals> {
    return approvalsIn(await this.#load(), root)
  }

  approve(root: string, entries: readonly { name: string; hash: string; source: string }[]): Promise<void> {
    const approvedAt = new Date(this.#now()).toISOString()
    return this.#change((projects) => {
      const known = new Map(Object.entries(projects.get(root) ?? {}))
      for (const { name, hash, source } of entries) known.set(name, { hash, source, approvedAt })
      projects.set(root, Object.fromEntries(known))
    })
  }

  async reset(root: string): Promise<number> {
    let forgotten = 0
    await this.#change((projects) => {
      forgotten = Object.keys(projects.get(root) ?? {}).length
      projects.delete(root)
    })
    return forgotten
  }

  async #load(): Promise<Map<string, Record<string, Approval>>> {
    const outcome = await readTextFile(this.#file, CONFIG_LIMITS.fileBytes)
    if (outcome.kind === 'missing') return new Map()
    if (outcome.kind === 'problem')
      throw new InvalidInput(`${this.#file} ${outcome.message}.`, { hint: outcome.hint })
    return projectsIn(outcome.text, this.#file)
  }

  async #change(work: (projects: Map<string, Record<string, Approval>>) => void): Promise<void> {
    const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs, dirMode: 0o700 }
    await withFileLock(this.#file, wait, async (lock) => {
      const projects = await this.#load()
      work(projects)
      const text = `${JSON.stringify({ version: 1, projects: Object.fromEntries(projects) }, null, 2)}\n`
      if (!(await lock.stillHeld()))
        throw new IoError(`Another process took over ${this.#file}.`, {
          hint: 'Nothing was changed; try again.',
        })
      await writeFileAtomic(this.#file, text, { mode: 0o600, dirMode: 0o700 })
    })
  }
}

function projectsIn(text: string, file: string): Map<string, Record<string, Approval>> {
  try {
    const { projects } = JSON.parse(text) as { projects?: Record<string, Record<string, Approval>> }
    if (
      projects !== undefined &&
      (typeof projects !== 'object' || projects === null || Array.isArray(projects))
    )
      throw new TypeError('"projects" is not an object')
    return new Map(Object.entries(projects ?? {}))
  } catch (error) {
    throw new InvalidInput(`${file} is not readable JSON, so no approval can be read or added.`, {
      hint: 'Repair it, or delete it and approve the servers again.',
      cause: error,
    })
  }
}

function approvalsIn(projects: ReadonlyMap<string, Record<string, Approval>>, root: string): Approvals {
  return new Map(
    Object.entries(projects.get(root) ?? {}).filter(
      ([, approval]) => typeof approval?.hash === 'string' && typeof approval.approvedAt === 'string',
    ),
  )
}
