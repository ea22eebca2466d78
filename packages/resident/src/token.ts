// token.ts: the secret by which a client proves that it is the user: the process writes it to a file that only the user can
// read. Node does not tell which user is at the other end of a socket.
import { timingSafeEqual } from 'node:crypto'
import { InvalidInput } from '@plugboard/core/errors'

export function requireToken(given: string, expected: string): void {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  if (a.length !== b.length || !timingSafeEqual(a, b))
    throw new InvalidInput('The token is not the one of this process.', {
      hint: 'The token is in the folder of the socket; only the user who started the process can read it.',
    })
}
