// reconnect: connects one server afresh, whatever is remembered of it, and prints the result.

import type { Board, ServerSnapshot } from '@plugboard/core'
import { findResolution } from '@plugboard/core/config'
import { InitError } from '@plugboard/core/errors'
import type { Colors } from '../colors.ts'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe } from '../output.ts'
import { withBoard } from '../with-board.ts'
import { snapshotRow } from './list.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  return withBoard(invocation, async ({ board, configuration, signal }) => {
    findResolution(configuration, name)
    const snapshot = await reconnect(board, name, signal)
    output.result(snapshotRow(snapshot), () => connectedText(snapshot, output.color))
    return EXIT.done
  })
}

/** The server once it is connected; rejects with the reason when it does not connect. */
export async function reconnect(board: Board, name: string, signal: AbortSignal): Promise<ServerSnapshot> {
  const snapshot = await board.reconnect(name, { signal })
  if (snapshot.state === 'connected') return snapshot
  throw snapshot.error ?? new InitError(`"${name}" is ${snapshot.state}.`, { server: name })
}

export function connectedText(snapshot: ServerSnapshot, { green, dim }: Colors): string {
  const { name, tools, resources, prompts, connectMs = 0 } = snapshot
  const offers = `${tools} tools, ${resources} resources, ${prompts} prompts`
  return `${green('✔')} ${safe(name)}: connected, ${offers} ${dim(`(${Math.round(connectMs)} ms)`)}`
}
