// login-attempts.ts: logins that users have begun: the sealed link that a user is sent, the state that travels to the authorization
// server and back, and whether a login is finished. Any replica can take the next step; each step counts once.
import { createHash, randomBytes } from 'node:crypto'
import { InvalidInput } from '@plugboard/core'
import type { PendingLogin } from '@plugboard/core/auth'
import type { User } from '../access/access.ts'
import { isObject, type Json } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import type { Store } from '../store/store.ts'

const POLL_MS = 1000
/** Of one attempt; each is kept until the attempt ends, and asks the server's authorization server. */
const VISITS = 20
const UNANSWERED_MS = 24 * 60 * 60 * 1000

/** What the server's challenge required. */
export interface LoginChallenge {
  readonly scope?: string
  readonly resourceMetadata?: string
  readonly dpop?: boolean
}

/** One login of one user at one server. */
export interface LoginAttempt {
  readonly id: string
  readonly user: User
  readonly server: string
  readonly until: number
  readonly challenge?: LoginChallenge
}

/** A visit at an authorization server or identity provider, between its two halves. */
export interface LoginVisit {
  readonly attempt: LoginAttempt
  /** `identity`: who is this browser's user? `login`: the login itself. */
  readonly step: 'identity' | 'login'
  readonly pending: PendingLogin
}

export type LoginOutcome = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export class LoginAttempts {
  readonly #store: Store
  readonly #keys: KeyRing
  readonly #now: () => number
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(store: Store, keys: KeyRing, now: () => number) {
    this.#store = store
    this.#keys = keys
    this.#now = now
  }

  begin(user: User, server: string, lifeMs: number, challenge?: LoginChallenge): LoginAttempt {
    const id = randomBytes(16).toString('base64url')
    return { id, user, server, until: this.#now() + lifeMs, ...(challenge && { challenge }) }
  }

  /** The attempt as a text that only this gateway can read. */
  ticket(attempt: LoginAttempt): string {
    return this.#keys.seal('user-login-ticket', { ...attempt })
  }

  /** Undefined when it is not ours, or has expired. */
  openTicket(text: unknown): LoginAttempt | undefined {
    const value = this.#keys.open('user-login-ticket', text)
    return value && Number(value.until) > this.#now() ? asAttempt(value) : undefined
  }

  /** Makes the state for a visit, and keeps the visit for the browser with this cookie. */
  async depart(
    attempt: LoginAttempt,
    cookie: string,
    visit: (state: string) => Promise<Omit<LoginVisit, 'attempt'>>,
  ): Promise<void> {
    const id = randomBytes(16).toString('base64url')
    const { until } = attempt
    if ((await this.#store.increment(`login-visits:${attempt.id}`, 1, this.#left(until))) > VISITS)
      throw new InvalidInput('This address was used too often.', {
        hint: 'Make the call again in your client to get a new one.',
      })
    const { step, pending } = await visit(this.#keys.seal('user-login-state', { id, until }))
    const kept = this.#keys.seal('user-login-visit', {
      id,
      attempt,
      step,
      pending,
      cookie: digest(cookie),
      until,
    })
    await this.#store.set(visitKey(id), kept, this.#left(until))
  }

  /**
   * The visit that a state belongs to, once: undefined when the state is not ours, has expired, was used, or came with another
   * browser than the one that departed. The wrong browser does not use it up.
   */
  async arrive(state: unknown, cookie: string | undefined): Promise<LoginVisit | undefined> {
    const value = this.#keys.open('user-login-state', state)
    if (!value || !(Number(value.until) > this.#now())) return undefined
    const id = String(value.id)
    const visit = this.#keys.open('user-login-visit', await this.#store.get(visitKey(id)))
    if (!visit || visit.id !== id || cookie === undefined || visit.cookie !== digest(cookie)) return undefined
    if (!(await this.#store.add(`login-used:${id}`, '1', this.#left(Number(value.until))))) return undefined
    await this.#store.delete(visitKey(id))
    const attempt = isObject(visit.attempt) ? asAttempt(visit.attempt) : undefined
    if (!attempt) return undefined
    // It was sealed here or by a process that shares our keys.
    return { attempt, step: visit.step as LoginVisit['step'], pending: visit.pending as PendingLogin }
  }

  /** Counts visits from which no login came, by the place that they go to. */
  async departed(place: string): Promise<void> {
    await this.#store.increment(unansweredKey(place), 1, UNANSWERED_MS)
  }

  async answered(place: string): Promise<void> {
    await this.#store.delete(unansweredKey(place))
  }

  async unanswered(place: string): Promise<number> {
    return Number((await this.#store.get(unansweredKey(place))) ?? 0)
  }

  async finish({ id, until }: LoginAttempt, outcome: LoginOutcome): Promise<void> {
    const text = this.#keys.seal('user-login-outcome', { id, ...outcome })
    await this.#store.set(outcomeKey(id), text, this.#left(until))
    this.wake(id)
  }

  async outcome({ id }: Pick<LoginAttempt, 'id'>): Promise<LoginOutcome | undefined> {
    const value = this.#keys.open('user-login-outcome', await this.#store.get(outcomeKey(id)))
    if (value?.id !== id) return undefined
    return value.ok === true ? { ok: true } : { ok: false, reason: String(value.reason) }
  }

  /** The attempt may be over: those that wait for it look now. */
  wake(id: string): void {
    for (const look of this.#waiting.get(id) ?? []) look()
  }

  /** How it ended; undefined when its time is over first. Rejects when the signal fires. `elsewhere`: is there a login all the same? */
  async wait(
    attempt: LoginAttempt,
    signal: AbortSignal,
    elsewhere: () => Promise<boolean> = async () => false,
  ): Promise<LoginOutcome | undefined> {
    while (attempt.until > this.#now()) {
      const news = this.#news(attempt.id, signal)
      try {
        // A store that is away for a moment is asked again.
        const outcome = await this.outcome(attempt).catch(() => undefined)
        if (outcome) return outcome
        if (await elsewhere().catch(() => false)) return { ok: true }
        signal.throwIfAborted()
        await news.heard
      } finally {
        news.stop()
      }
    }
    return undefined
  }

  #news(id: string, signal: AbortSignal) {
    let stop: () => void = () => undefined
    const heard = new Promise<void>((done) => {
      const timer = setTimeout(done, POLL_MS)
      const look = () => done()
      const all = this.#waiting.get(id) ?? new Set()
      this.#waiting.set(id, all.add(look))
      signal.addEventListener('abort', look, { once: true })
      stop = () => {
        clearTimeout(timer)
        all.delete(look)
        if (all.size === 0) this.#waiting.delete(id)
        signal.removeEventListener('abort', look)
      }
    })
    return { heard, stop: () => stop() }
  }

  #left(until: number): number {
    return Math.max(1, until - this.#now())
  }
}

/** A sealed value of ours; its shape is checked all the same, because releases differ. */
function asAttempt(value: Json): LoginAttempt | undefined {
  const { id, user, server, until, challenge } = value
  if (typeof id !== 'string' || typeof server !== 'string' || !isObject(user)) return undefined
  if (typeof user.key !== 'string' || typeof user.name !== 'string') return undefined
  return {
    id,
    server,
    until: Number(until),
    user: user as unknown as User,
    ...(isObject(challenge) && { challenge: challenge as LoginChallenge }),
  }
}

function digest(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}

const visitKey = (id: string) => `login-visit:${id}`
const unansweredKey = (place: string) => `login-unanswered:${digest(place)}`
const outcomeKey = (id: string) => `login-outcome:${id}`
