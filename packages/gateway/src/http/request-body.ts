// request-body.ts: the body of one request, read with a bound. The rest of a body that is too long is read for a while
// and dropped, so that its sender can read the refusal.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'

/** A client that sends `Expect: 100-continue` can be refused before it sends. */
export function isTooLongToStart({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && Number(headers['content-length'] ?? 0) > GATEWAY_LIMITS.bodyBytes
}

/** Undefined when it is too long. The rest is then read for a while and dropped: a client that is still sending reads no response. */
export function readBody(req: IncomingMessage, res: ServerResponse): Promise<string | undefined> {
  if (req.headers.expect !== undefined) res.writeContinue()
  // An async iterator would be shorter, but costs more than the rest of the reading.
  return new Promise((done, fail) => {
    if (Number(req.headers['content-length'] ?? 0) > GATEWAY_LIMITS.discardedBytes) return done(undefined)
    const pieces: Buffer[] = []
    let size = 0
    req.on('data', (piece: Buffer) => {
      size += piece.length
      if (size <= GATEWAY_LIMITS.bodyBytes) pieces.push(piece)
      else pieces.length = 0
      if (size <= GATEWAY_LIMITS.discardedBytes) return
      req.pause()
      done(undefined)
    })
    req.on('end', () => {
      if (size > GATEWAY_LIMITS.bodyBytes) return done(undefined)
      const [only] = pieces
      done((pieces.length === 1 && only ? only : Buffer.concat(pieces)).toString('utf8'))
    })
    req.on('error', fail)
    req.on('close', () => fail(new Error('The client left before its request was complete.')))
  })
}
