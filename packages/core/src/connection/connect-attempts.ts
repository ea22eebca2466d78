// connect-attempts.ts: the attempts to connect one server, one after the other and never two at a time, with the
// delays between them. states.ts decides what follows an attempt; a caller that needs the server cuts a delay short.

import { backgroundSleep } from '../async/waits.ts'
import type { Host } from '../host.ts'
import { type LastTry, probeWait } from './reconnect.ts'
import type { AfterLoss, Failed, NeedsAuth, Pending } from './states.ts'

export interface ConnectAttemptsOptions {
  readonly host: Host
  /** Aborted when the connection is closed. */
  readonly signal: AbortSignal
  become(state: Pending | Failed | NeedsAuth): void
  /** One attempt; undefined when the server is up. Never rejects. */
  attempt(pending: Pending): Promise<AfterLoss | { readonly state: NeedsAuth } | undefined>
}

interface First {
  readonly state: Pending
  readonly afterMs: number
}

export class ConnectAttempts {
  readonly #options: ConnectAttemptsOptions
  #running: Promise<void> | undefined
  #rest: { readonly cut: AbortController; hurried: boolean } | undefined
  /** When the last attempt ended, how long it took, and whether the server was up then. */
  #last: { readonly at: number; readonly tookMs: number; readonly up: boolean } | undefined

  constructor(options: ConnectAttemptsOptions) {
    this.#options = options
  }

  /** Settles when the server is up, has failed, needs a login, or the connection is closed. Never rejects. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  get last(): LastTry | undefined {
    return this.#last && { sinceMs: this.#options.host.now() - this.#last.at, tookMs: this.#last.tookMs }
  }

  start(first: First, after?: Promise<void>): void {
    this.#options.become(first.state)
    const connecting = () => this.#run(first)
    const running = (after ? after.then(connecting) : connecting()).finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
  }

  /** A caller waits: the delay before the next attempt ends at once, or as soon as the last failure is old enough. */
  hurry(): void {
    const rest = this.#rest
    if (!rest || rest.hurried) return
    rest.hurried = true
    const waitMs = this.#last?.up === false ? probeWait(this.last, true) : 0
    // After a slow failure the planned delay is short enough.
    if (waitMs === undefined) return
    const stop = this.#options.host.backgroundTimer(waitMs, () => rest.cut.abort())
    rest.cut.signal.addEventListener('abort', stop, { once: true })
  }

  /** The user asked for it now. */
  hurryNow(): void {
    this.#rest?.cut.abort()
  }

  async #run(first: First): Promise<void> {
    const { host, signal, attempt, become } = this.#options
    let { state: pending, afterMs } = first
    for (;;) {
      if (afterMs > 0) await this.#pause(afterMs)
      if (signal.aborted) return
      const began = host.now()
      const outcome = await attempt(pending)
      const at = host.now()
      this.#last = { at, tookMs: at - began, up: outcome === undefined }
      if (signal.aborted || !outcome) return
      become(outcome.state)
      if (!('afterMs' in outcome)) return
      pending = outcome.state
      afterMs = outcome.afterMs
    }
  }

  async #pause(ms: number): Promise<void> {
    const { host, signal } = this.#options
    const cut = new AbortController()
    const onAbort = () => cut.abort()
    if (signal.aborted) return
    signal.addEventListener('abort', onAbort, { once: true })
    this.#rest = { cut, hurried: false }
    await backgroundSleep(host, ms, cut.signal)
    // Cancels a timer that would cut the delay short.
    cut.abort()
    this.#rest = undefined
    signal.removeEventListener('abort', onAbort)
  }
}
