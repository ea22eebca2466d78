// absent.ts: says which servers are missing from an answer about all of them, and why.
import type { Board } from '@plugboard/core'
import type { Invocation } from '../context.ts'
import { inBrief } from '../servers.ts'
import { oneLine } from './shown.ts'

export function noteAbsent(invocation: Invocation, board: Board): void {
  const { output } = invocation
  const { yellow } = output.errorColor
  for (const { name, state, error, reason } of board.servers()) {
    if (state === 'connected' || (state === 'disabled' && reason !== 'pending approval')) continue
    const why = error ? oneLine(inBrief(error.message), 200) : (reason ?? state)
    output.note(`${yellow('!')} ${name} is missing: ${why}`)
  }
}
