// control.ts: a connection to the running process for verbs about the process itself, not about a board.
import { atMost } from '@plugboard/core/async/waits'
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { type Dialed, dialAny } from '@plugboard/resident/client'
import { placeOf, VERSION } from './process.ts'

const FLUSH_MS = 2000

/** Has a running process write its servers' logs to their files. A process that cannot be asked writes them a moment later. */
export async function flushResidentLogs(host: Host): Promise<void> {
  const flush = async () => {
    const reached = await reachResident(host)
    await reached?.peer.request('board/flushLogs', {}).catch(() => undefined)
    reached?.peer.close()
  }
  await atMost(
    host,
    FLUSH_MS,
    flush().catch(() => undefined),
  )
}

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
