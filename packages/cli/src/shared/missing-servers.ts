// missing-servers.ts: for output about all servers: waits for them, and says which are missing, and why.
import type { Board } from '@plugboard/core'
import type { Invocation } from '../context.ts'
import { inBrief } from '../servers.ts'
import { oneLine } from './sanitize.ts'
import { connectTimeout } from './timeouts.ts'

interface Waiting {
  readonly board: Board
  readonly signal: AbortSignal
}

export async function allServers(invocation: Invocation, { board, signal }: Waiting): Promise<void> {
  await board.ready({ signal, timeoutMs: connectTimeout(invocation) })
  noteAbsent(invocation, board)
}

export function noteAbsent(invocation: Invocation, board: Board): void {
  const { output } = invocation
  const { yellow } = output.errorColor
  for (const { name, state, error, reason } of board.servers()) {
    if (state === 'connected' || (state === 'disabled' && reason !== 'pending approval')) continue
    const why = error ? oneLine(inBrief(error.message), 200) : (reason ?? state)
    output.note(`${yellow('!')} ${name} is missing: ${why}`)
  }
}
