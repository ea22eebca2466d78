// login-codes.ts: the code of a login that waits for its user: shown on the terminal of the gateway, typed on the page. Who reaches the
// page but not the terminal cannot log in.
import { randomInt, timingSafeEqual } from 'node:crypto'

const LIFE_MS = 5 * 60_000
const TRIES = 5
/** Logins that wait at a time; more make the oldest end. */
const MOST = 20
/** Without letters and digits that look alike. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

interface Waiting {
  readonly code: string
  readonly until: number
  tries: number
}

export class LoginCodes {
  readonly #now: () => number
  readonly #waiting = new Map<string, Waiting>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** The code to show; undefined when this login has one already. */
  start(uid: string): string | undefined {
    if (this.#live(uid)) return undefined
    const code = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
    this.#waiting.set(uid, { code, until: this.#now() + LIFE_MS, tries: 0 })
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size > MOST && oldest !== undefined) this.#waiting.delete(oldest)
    return `${code.slice(0, 4)}-${code.slice(4)}`
  }

  /** `over`: it was tried too often, or its time is over. A code is good once. */
  check(uid: string, typed: string): 'right' | 'wrong' | 'over' {
    const waiting = this.#live(uid)
    if (!waiting) return 'over'
    const given = Buffer.from(typed.toUpperCase().replace(/[^A-Z0-9]/g, ''))
    const code = Buffer.from(waiting.code)
    if (given.length === code.length && timingSafeEqual(given, code)) {
      this.#waiting.delete(uid)
      return 'right'
    }
    return ++waiting.tries >= TRIES ? 'over' : 'wrong'
  }

  #live(uid: string): Waiting | undefined {
    const waiting = this.#waiting.get(uid)
    return waiting && waiting.until > this.#now() && waiting.tries < TRIES ? waiting : undefined
  }
}
