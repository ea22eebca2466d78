// transports/authentication.ts: who may call over HTTP: the user this server runs as, from this machine, and callers with a token. It checks
// the connection and the headers only, before any byte of the body is read.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { peerUser } from './peer-user.ts'

export interface AccessOptions {
  /** Any of these as a bearer token lets a caller in. */
  readonly tokens?: readonly string[]
  /** False lets every caller in that can reach the port. */
  readonly auth?: boolean
}

/** What a proxy adds: then the user at the other end is the proxy's, not the caller's. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const
const ROOT = 0

export class Access {
  readonly #digests: readonly Buffer[]
  readonly #isOpen: boolean
  /** A connection stays with its two ends, so its user is looked up once. */
  readonly #users = new WeakMap<Socket, Promise<number | undefined>>()

  constructor({ tokens = [], auth = true }: AccessOptions) {
    this.#digests = tokens.map(digestOf)
    this.#isOpen = !auth
  }

  async allows(req: IncomingMessage): Promise<boolean> {
    return this.#isOpen || this.#hasToken(req) || (await this.#isOwnUser(req))
  }

  #hasToken({ headers }: IncomingMessage): boolean {
    const [, token] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
    if (token === undefined) return false
    const given = digestOf(token)
    // Every token is compared, so the time does not tell which one was nearly right.
    let found = false
    for (const digest of this.#digests) found = timingSafeEqual(digest, given) || found
    return found
  }

  /** Root may read every file without us. */
  async #isOwnUser({ socket, headers }: IncomingMessage): Promise<boolean> {
    // A wrong token is refused wherever it comes from.
    if (headers.authorization !== undefined) return false
    if (PROXY_HEADERS.some((name) => headers[name] !== undefined)) return false
    let user = this.#users.get(socket)
    if (!user) {
      user = peerUser(socket)
      this.#users.set(socket, user)
    }
    const found = await user
    return found !== undefined && (found === process.geteuid?.() || found === ROOT)
  }
}

export const REFUSED =
  'This server answers the user who started it, on the same machine; every other caller needs its token: Authorization: Bearer TOKEN.'

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
