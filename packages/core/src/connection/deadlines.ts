// deadlines.ts: one timer for the deadlines of many requests. It fires when the earliest may be due; its owner then
// looks at all of them and says when to look again. A timer per request would cost as much as sending one.
import type { Host } from '../host.ts'

export class SharedTimer {
  readonly #timer: Host['awaitedTimer']
  readonly #now: () => number
  /** Ends what is due, and returns when the next one may be. */
  readonly #look: () => number | undefined
  #stop: (() => void) | undefined
  #at = Number.POSITIVE_INFINITY

  constructor(timer: Host['awaitedTimer'], now: () => number, look: () => number | undefined) {
    this.#timer = timer
    this.#now = now
    this.#look = look
  }

  /** One more deadline: in `ms` from `now`. */
  within(ms: number, now: number): void {
    if (now + ms >= this.#at) return
    this.#stop?.()
    this.#at = now + ms
    this.#stop = this.#timer(ms, this.#fire)
  }

  /** No deadline is left. */
  end(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#at = Number.POSITIVE_INFINITY
  }

  readonly #fire = (): void => {
    this.#stop = undefined
    this.#at = Number.POSITIVE_INFINITY
    const next = this.#look()
    const now = this.#now()
    if (next !== undefined) this.within(Math.max(0, next - now), now)
  }
}
