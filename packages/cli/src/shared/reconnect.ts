// reconnect.ts: connecting one server afresh, and the line that says how it went; for the verb and for chat.
import type { Board, ServerSnapshot } from '@plugboard/core'
import { InitError } from '@plugboard/core/errors'
import type { Colors } from '../colors.ts'
import { safe } from '../output.ts'

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
