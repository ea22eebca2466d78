// request-body.ts: the body of one request, read with a bound. What is too long is read on for a while, unkept, so that its
// sender can be told.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'

/** Who asks before it sends can be told in time. */
export function isTooLongToStart({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && Number(headers['content-length'] ?? 0) > GATEWAY_LIMITS.bodyBytes
}

/** Nothing when it is too long. Then the rest is read on for a while, unkept: who is still sending hears no answer. */
export function readBody(req: IncomingMessage, res: ServerResponse): Promise<string | undefined> {
  if (req.headers.expect !== undefined) res.writeContinue()
  // An iterator would be shorter here, and costs more than the rest of the reading.
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
