// server-notices.ts: which servers are not up, in one line, each named once: those that wait for approval or a login, and
// those that failed.
import type { Board } from '@plugboard/core'
import { inBrief } from '../servers.ts'
import { oneLine } from '../shared/sanitize.ts'

const REASON_CHARS = 120
const SHOWN = 5

export class ServerNotices {
  readonly #board: Pick<Board, 'servers'>
  readonly #told = new Set<string>()

  constructor(board: Pick<Board, 'servers'>) {
    this.#board = board
  }

  /** Servers to report since the last call, if any. */
  next(): string | undefined {
    const waiting: string[] = []
    const logins: string[] = []
    const failed: string[] = []
    const late: string[] = []
    for (const { name, state, attempt = 0, reason, error } of this.#board.servers()) {
      const shown = oneLine(name, 60)
      const kind = state === 'disabled' && reason?.includes('approval') ? 'approval' : state
      const key = `${kind} ${name}`
      if (this.#told.has(key)) continue
      if (kind === 'approval') waiting.push(shown)
      // A first attempt takes time; after a second one something is wrong.
      else if (kind === 'pending' && attempt > 1) late.push(shown)
      else if (kind === 'needs-auth') logins.push(shown)
      else if (kind === 'failed')
        failed.push(`${shown} (${oneLine(inBrief(error?.message ?? 'no reason known'), REASON_CHARS)})`)
      else continue
      this.#told.add(key)
    }
    const parts = [
      ...(waiting.length > 0
        ? [`${count(waiting, 'waits', 'wait')} for approval: ${some(waiting)} (plugboard approve)`]
        : []),
      ...(logins.length > 0
        ? [`${count(logins, 'needs', 'need')} a login: ${some(logins)} (plugboard login NAME)`]
        : []),
      ...(late.length > 0 ? [`${late.length} not up yet: ${some(late)} (plugboard doctor NAME)`] : []),
      ...(failed.length > 0 ? [`${failed.length} failed: ${some(failed)}`] : []),
    ]
    return parts.length > 0 ? parts.join('; ') : undefined
  }
}

function count({ length }: readonly string[], one: string, several: string): string {
  return `${length} ${length === 1 ? one : several}`
}

function some(names: readonly string[]): string {
  const more = names.length - SHOWN
  return [...names.slice(0, SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
