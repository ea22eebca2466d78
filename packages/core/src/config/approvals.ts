// approvals.ts: what the person said yes to, read from the one file that remembers it. It lies in the user's own
// folder, where nothing inside a project can write. approval-store.ts writes it.
import { join } from 'node:path'
import { InvalidInput } from '../errors.ts'
import { readTextFile } from '../files/read.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Place, plugboardHome } from './sources.ts'
import type { Approval, Approvals } from './trust.ts'

/** project folder → server name → approval */
export type ApprovalBook = Map<string, Record<string, Approval>>

export function approvalsFile(place: Pick<Place, 'home' | 'env'>): string {
  return join(plugboardHome(place), 'approvals.json')
}

export async function readApprovals(place: Place): Promise<Approvals> {
  const book = await readApprovalBook(approvalsFile(place))
  return new Map(
    Object.entries(book.get(place.root) ?? {}).filter(
      ([, approval]) => typeof approval?.hash === 'string' && typeof approval.approvedAt === 'string',
    ),
  )
}

export async function readApprovalBook(file: string): Promise<ApprovalBook> {
  const outcome = await readTextFile(file, CONFIG_LIMITS.fileBytes)
  if (outcome.kind === 'missing') return new Map()
  if (outcome.kind === 'problem')
    throw new InvalidInput(`${file} ${outcome.message}.`, { hint: outcome.hint })
  try {
    const whole = JSON.parse(outcome.text) as { projects?: Record<string, Record<string, Approval>> }
    if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
      throw new TypeError('the file does not hold an object')
    const { projects } = whole
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
