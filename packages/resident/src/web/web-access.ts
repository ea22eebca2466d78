// web-access.ts: who may use the page. A one-time token of the command is exchanged for two halves of a session: a cookie that
// no script can read, and a proof that only this origin can read. Cookies are shared between the ports of a host, so
// another server on this machine may get to see the cookie; without the proof it is worth nothing.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { WEB_LIMITS } from './web-limits.ts'

export interface Halves {
  readonly cookie: string
  readonly proof: string
}

export class WebAccess {
  /** Survives the process, so that a page finds the next one. */
  readonly #key: Buffer
  readonly #tokens = new Map<string, number>()
  readonly #now: () => number

  constructor(key: string, now: () => number = Date.now) {
    this.#key = Buffer.from(key, 'hex')
    this.#now = now
  }

  /** For one exchange, soon. */
  oneTimeToken(): string {
    this.#dropOld()
    const token = randomBytes(32).toString('hex')
    this.#tokens.set(hashOf(token), this.#now() + WEB_LIMITS.tokenMs)
    return token
  }

  exchange(token: unknown): Halves | undefined {
    this.#dropOld()
    return typeof token === 'string' && this.#tokens.delete(hashOf(token)) ? this.open() : undefined
  }

  /** A session for a user who has shown another proof already. */
  open(): Halves {
    const id = randomBytes(16).toString('hex')
    return { cookie: `${id}.${this.#seal('cookie', id)}`, proof: this.#seal('proof', id) }
  }

  /** Both halves belong together and are ours. */
  admits(cookie: string | undefined, proof: string | undefined): boolean {
    const [id = '', seal = ''] = (cookie ?? '').split('.')
    return isSame(seal, this.#seal('cookie', id)) && isSame(proof ?? '', this.#seal('proof', id))
  }

  #seal(half: string, id: string): string {
    return createHmac('sha256', this.#key).update(`${half} ${id}`).digest('hex')
  }

  #dropOld(): void {
    const now = this.#now()
    for (const [hash, until] of this.#tokens) if (until < now) this.#tokens.delete(hash)
  }
}

/** Looked up by hash: the time of a lookup says nothing about the token. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

export function isSame(a: string, b: string): boolean {
  const [one, two] = [Buffer.from(a), Buffer.from(b)]
  return one.length === two.length && timingSafeEqual(one, two)
}

/** A name that leads elsewhere (DNS rebinding) arrives with its own Host. */
export function isOurHost({ headers }: IncomingMessage, host: string): boolean {
  return headers.host === host
}

/** Whether a page of ours sent it: browsers name the origin of every such request. */
export function isOurOrigin({ headers }: IncomingMessage, origin: string): boolean {
  return headers.origin === origin && (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin'
}

export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [key, ...value] = part.trim().split('=')
    if (key === name) return value.join('=')
  }
  return undefined
}
