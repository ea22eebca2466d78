// control.ts: a connection to the running process for verbs about the process itself, not about a board.
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { type Dialed, dialAny } from '@plugboard/resident/client'
import { placeOf, VERSION } from './process.ts'

/** Undefined when none runs. */
export async function reachResident(
  host: Host,
): Promise<Extract<Dialed, { readonly kind: 'connected' }> | undefined> {
  const dialed = await dialAny(placeOf(host), VERSION, {
    request: () => Promise.reject(new InvalidInput('Nothing is asked here.')),
  })
  if (dialed.kind === 'unusable')
    throw new InvalidInput(`The resident board cannot be reached: ${dialed.why}.`, {
      hint: `Look at ${placeOf(host).folder}; remove the folder if it is not yours or not needed.`,
    })
  return dialed.kind === 'connected' ? dialed : undefined
}
