// random-id.ts: ids that a person may have to type after a command.
import { randomBytes } from 'node:crypto'

/** In base64url, and never with a dash in front: a command would take it for an option. */
export function randomId(bytes: number): string {
  return randomBytes(bytes).toString('base64url').replace(/^-/, '_')
}
