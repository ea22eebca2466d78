// missing-servers.ts: for output about all servers: waits for those whose lists are not known, and says which are missing, and
// why.
import type { Board } from '@plugboard/core'
import type { Invocation } from '../context.ts'
import { inBrief } from '../server-table.ts'
import { oneLine } from './one-line.ts'
import { connectTimeout } from './timeouts.ts'

interface Waiting {
  readonly board: Board
  readonly signal: AbortSignal
}

/** `unlisted`: what the catalog knows is enough. */
export async function allServers(
  invocation: Invocation,
  { board, signal }: Waiting,
  start: 'all' | 'unlisted' = 'all',
): Promise<void> {
  await board.ready({ signal, timeoutMs: await connectTimeout(invocation), start })
  noteAbsent(invocation, board)
}

export function noteAbsent(invocation: Invocation, board: Board): void {
  const { output } = invocation
  const { yellow } = output.errorColor
  for (const { name, state, error, reason, listedBy } of board.servers()) {
    if (state === 'connected' || (state === 'disabled' && reason !== 'pending approval')) continue
    if (state === 'pending' && listedBy !== undefined) continue
    const why = error ? oneLine(inBrief(error.message), 200) : (reason ?? state)
    output.note(`${yellow('!')} ${name} is missing: ${why}`)
  }
}
