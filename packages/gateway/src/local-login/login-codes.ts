// login-codes.ts: the code of a login that waits for its user: shown on the terminal of the gateway, typed on the page. Who reaches the
// page but not the terminal cannot log in.
import { randomInt, timingSafeEqual } from 'node:crypto'

const LIFE_MS = 5 * 60_000
const TRIES = 5
/** Logins of one address that wait at a time; more are refused, so that one address ends no login of another. */
const PER_ADDRESS = 10
/** In all; more make the oldest of the address with the most end. */
const MOST = 500
/** Without letters and digits that look alike. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

interface Waiting {
  readonly address: string
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

  /** The code to show; `known` when this login has one already, `busy` when too many logins of the address wait. */
  start(uid: string, address: string): { readonly code: string } | 'known' | 'busy' {
    if (this.#live(uid)) return 'known'
    for (const [id, { until }] of this.#waiting) if (until <= this.#now()) this.#waiting.delete(id)
    if ((this.#counts().get(address) ?? 0) >= PER_ADDRESS) return 'busy'
    if (this.#waiting.size >= MOST) this.#dropOldest()
    const code = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
    this.#waiting.set(uid, { address, code, until: this.#now() + LIFE_MS, tries: 0 })
    return { code: `${code.slice(0, 4)}-${code.slice(4)}` }
  }

  #dropOldest(): void {
    const counts = this.#counts()
    const most = Math.max(...counts.values())
    const [oldest] = [...this.#waiting].find(([, { address }]) => counts.get(address) === most) ?? []
    if (oldest !== undefined) this.#waiting.delete(oldest)
  }

  #counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { address } of this.#waiting.values()) counts.set(address, (counts.get(address) ?? 0) + 1)
    return counts
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
