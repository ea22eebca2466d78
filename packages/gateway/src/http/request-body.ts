// request-body.ts: the body of one request, read with a bound. The rest of a body that is too long is read for a while
// and dropped, so that its sender can read the refusal.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'

/** A client that sends `Expect: 100-continue` can be refused before it sends. */
export function isTooLongToStart({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && Number(headers['content-length'] ?? 0) > GATEWAY_LIMITS.bodyBytes
}

/**
 * Calls `received` once with the body, or with undefined when it is too long; never when the client leaves first. The rest
 * of a long body is read for a while and dropped: a client that is still sending reads no response.
 */
export function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  received: (body: string | undefined) => void,
): void {
  if (req.headers.expect !== undefined) res.writeContinue()
  if (Number(req.headers['content-length'] ?? 0) > GATEWAY_LIMITS.discardedBytes) {
    received(undefined)
    return
  }
  // Callbacks instead of an async iterator, which costs more than the rest of the reading.
  let pieces: Buffer[] = []
  let size = 0
  req.on('data', (piece: Buffer) => {
    size += piece.length
    if (size <= GATEWAY_LIMITS.bodyBytes) pieces.push(piece)
    else pieces = []
    if (size <= GATEWAY_LIMITS.discardedBytes) return
    req.removeAllListeners('data')
    req.removeAllListeners('end')
    req.pause()
    received(undefined)
  })
  req.on('end', () => {
    if (size > GATEWAY_LIMITS.bodyBytes) return received(undefined)
    const [only] = pieces
    received((pieces.length === 1 && only ? only : Buffer.concat(pieces)).toString('utf8'))
  })
  // A client that left gets no response; nothing was started for it yet.
  req.on('error', () => undefined)
}
