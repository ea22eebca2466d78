// server-notices.ts: which servers are not up, in one line, each named once: those that wait for approval or a login, and
// those that failed.
import type { Board } from '@plugboard/core'
import { inBrief } from '../server-table.ts'
import { oneLine } from '../shared/one-line.ts'

const REASON_CHARS = 120
const SHOWN = 5

/** What the user can do about it. */
export interface Ways {
  readonly approve: string
  readonly login: string
  readonly doctor: string
}

const AT_SHELL: Ways = {
  approve: 'plugboard approve',
  login: 'plugboard login NAME',
  doctor: 'plugboard doctor NAME',
}

export const IN_CHAT: Ways = { approve: '/mcp approve', login: '/mcp login NAME', doctor: '/mcp logs NAME' }

export class ServerNotices {
  readonly #board: Pick<Board, 'servers'>
  readonly #ways: Ways
  readonly #told = new Set<string>()

  constructor(board: Pick<Board, 'servers'>, ways: Ways = AT_SHELL) {
    this.#board = board
    this.#ways = ways
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
        ? [`${count(waiting, 'waits', 'wait')} for approval: ${some(waiting)} (${this.#ways.approve})`]
        : []),
      ...(logins.length > 0
        ? [`${count(logins, 'needs', 'need')} a login: ${some(logins)} (${this.#ways.login})`]
        : []),
      ...(late.length > 0 ? [`${late.length} not up yet: ${some(late)} (${this.#ways.doctor})`] : []),
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
