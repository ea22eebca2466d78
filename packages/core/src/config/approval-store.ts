// approval-store.ts: adds to and clears the file of approvals, under a lock.
import { IoError } from '../errors.ts'
import { withFileLock } from '../files/lock.ts'
import { writeFileAtomic } from '../files/write.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type ApprovalBook, approvalsFile, readApprovalBook } from './approvals.ts'
import type { Place } from './sources.ts'

export interface NewApproval {
  readonly name: string
  readonly hash: string
  readonly source: string
}

export function recordApprovals(place: Place, entries: readonly NewApproval[], now: number): Promise<void> {
  const approvedAt = new Date(now).toISOString()
  return change(place, (book) => {
    const known = new Map(Object.entries(book.get(place.root) ?? {}))
    for (const { name, hash, source } of entries) known.set(name, { hash, source, approvedAt })
    book.set(place.root, Object.fromEntries(known))
  })
}

/** Forgets every approval of a project; says how many there were. */
export async function forgetApprovals(place: Place): Promise<number> {
  let forgotten = 0
  await change(place, (book) => {
    forgotten = Object.keys(book.get(place.root) ?? {}).length
    book.delete(place.root)
  })
  return forgotten
}

async function change(place: Place, work: (book: ApprovalBook) => void): Promise<void> {
  const file = approvalsFile(place)
  const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs, dirMode: 0o700 }
  await withFileLock(file, wait, async (lock) => {
    const book = await readApprovalBook(file)
    work(book)
    const text = `${JSON.stringify({ version: 1, projects: Object.fromEntries(book) }, null, 2)}\n`
    if (!(await lock.stillHeld()))
      throw new IoError(`Another process took over ${file}.`, { hint: 'Nothing was changed; try again.' })
    await writeFileAtomic(file, text, { mode: 0o600, dirMode: 0o700 })
  })
}
