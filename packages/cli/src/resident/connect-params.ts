// connect-params.ts: what every `plugboard connect` tells the resident process, however it was started.
import { IoError } from '@plugboard/core/errors'

/** A client of `connect` is an agent, and is asked by its own protocol. */
export const CONNECT_PARAMS = { caller: 'agent', asks: {}, confirms: 'client' } as const

export function lostBoard(why: string): IoError {
  return new IoError(`The resident board ended, and no other could be started: ${why}.`, {
    hint: 'Start the client again, or use `plugboard serve` instead of `plugboard connect`.',
  })
}
