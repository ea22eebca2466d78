// waits.ts: the few kinds of waits, each with an end: at a time, on a signal, or with the work. What a caller awaits
// holds the process (`hold`, `held`); what runs without a caller does not.
import { Cancelled } from '../errors.ts'
import type { Host } from '../host.ts'
import { RequestAborted, RequestTimedOut } from './wait-errors.ts'

/** The longest delay of a Node timer; it is set again when it fires. */
const HOLD_MS = 2 ** 31 - 1

/** Keeps the process alive until the returned function is called; more calls do nothing. */
export function hold(host: Host): () => void {
  let stop: () => void = () => undefined
  const arm = () => {
    stop = host.awaitedTimer(HOLD_MS, arm)
  }
  arm()
  return () => stop()
}

/** The same work, for a caller that awaits it: the process does not end before it does. */
export async function held<T>(host: Host, work: Promise<T>): Promise<T> {
  const release = hold(host)
  try {
    return await work
  } finally {
    release()
  }
}

/** Waits for the work, but not longer than this; the work's outcome is ignored. */
export function atMost(host: Host, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const stop = host.awaitedTimer(ms, resolve)
    const done = () => {
      stop()
      resolve()
    }
    work.then(done, done)
  })
}

/** Waits for a caller; the signal ends it early. */
export function sleep(host: Host, ms: number, signal?: AbortSignal): Promise<void> {
  return rest(host.awaitedTimer, ms, signal)
}

/** Waits between attempts that no caller awaits; the signal ends it early. */
export function backgroundSleep(host: Host, ms: number, signal?: AbortSignal): Promise<void> {
  return rest(host.backgroundTimer, ms, signal)
}

function rest(timer: Host['awaitedTimer'], ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stop()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const stop = timer(ms, done)
    if (signal?.aborted) done()
    else signal?.addEventListener('abort', done, { once: true })
  })
}

/** Waits for the work unless the caller gives up; the work itself continues. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return unlessAborted(work, signal, (reason) => new RequestAborted(reason))
}

/** The same, and giving up is `Cancelled`. */
export function cancellable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return unlessAborted(work, signal, () => new Cancelled())
}

function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  errorFor: (reason: unknown) => Error,
): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(errorFor(signal.reason))
    if (signal.aborted) {
      // The work has another owner; this caller has only stopped listening.
      work.catch(() => undefined)
      onAbort()
      return
    }
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** A signal that follows another and can be ended by itself. */
export function linked(outer: AbortSignal | undefined): {
  readonly signal: AbortSignal
  abort(): void
  release(): void
} {
  const controller = new AbortController()
  const follow = () => controller.abort(outer?.reason)
  if (outer?.aborted) follow()
  outer?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: () => controller.abort(new Cancelled()),
    release: () => outer?.removeEventListener('abort', follow),
  }
}

/**
 * A way to cancel one request at a time. Its signal is made when it is first asked for: making one and listening to it costs
 * as much as all the rest of a short call.
 */
export class Cancellation {
  /** Called once, for the request that is on its way. */
  onCancel: (() => void) | undefined
  #cancelled = false
  #reason: unknown
  #controller: AbortController | undefined

  get cancelled(): boolean {
    return this.#cancelled
  }

  get reason(): unknown {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#cancelled) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  cancel(reason?: unknown): void {
    if (this.#cancelled) return
    this.#cancelled = true
    this.#reason = reason
    this.#controller?.abort(reason)
    this.onCancel?.()
  }
}

export interface DeadlineOptions {
  readonly host: Host
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * One deadline for several steps. It aborts what listens to its signal, and reports that afterwards. It does not hold
 * the process: a reconnect may run without a waiting caller, and a caller that waits holds it.
 */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #end: () => void
  #expiredAfter: number | undefined

  constructor({ host, timeoutMs, signal }: DeadlineOptions) {
    const onAbort = () => this.#controller.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const stopTimer = host.backgroundTimer(timeoutMs, () => {
      this.#expiredAfter = timeoutMs
      this.#controller.abort(new RequestTimedOut(timeoutMs))
    })
    this.#end = () => {
      stopTimer()
      signal.removeEventListener('abort', onAbort)
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    this.#end()
  }

  /** The real reason behind the abort error. */
  explain(error: unknown): unknown {
    if (this.#expiredAfter !== undefined) return new RequestTimedOut(this.#expiredAfter)
    return this.signal.aborted ? new RequestAborted(this.signal.reason) : error
  }

  within<T>(work: Promise<T>): Promise<T> {
    return abortable(work, this.signal)
  }
}
