// deadlines.ts: one timer for the deadlines of many requests. It fires when the earliest may be due; its owner then
// looks at all of them and says when to look again. A timer per request would cost as much as sending one, so the first
// look comes soon: requests that follow each other within that time share it.
import type { Host } from '../host.ts'

/** By then most requests have their response. After the last one the timer may stay for as long. */
const FIRST_LOOK_MS = 20

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
    if (this.#stop) this.#set(ms, now)
    else this.#set(Math.min(ms, FIRST_LOOK_MS), now)
  }

  /** No deadline is left. A timer that is due soon stays: the next request may come before it fires. */
  rest(now: number): void {
    if (this.#at > now + FIRST_LOOK_MS) this.end()
  }

  end(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#at = Number.POSITIVE_INFINITY
  }

  #set(ms: number, now: number): void {
    this.#stop?.()
    this.#at = now + ms
    this.#stop = this.#timer(ms, this.#fire)
  }

  readonly #fire = (): void => {
    this.#stop = undefined
    this.#at = Number.POSITIVE_INFINITY
    const next = this.#look()
    if (next === undefined) return
    const now = this.#now()
    if (next < this.#at) this.#set(Math.max(0, next - now), now)
  }
}
