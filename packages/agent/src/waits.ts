// waits.ts: the few ways of waiting that have to end: by the work, by a signal, or by a timeout.
import { Cancelled } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'

/** Waits for the work unless the caller gives up; the work itself goes on. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Cancelled())
    if (signal.aborted) {
      // The work has another owner; this caller only no longer listens.
      work.catch(() => undefined)
      onAbort()
      return
    }
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Waits; the signal ends it with `Cancelled`. The process stays up for it: a caller is waiting. */
export function pause(host: Host, ms: number, signal: AbortSignal): Promise<void> {
  let stop: (() => void) | undefined
  const timer = new Promise<void>((resolve) => {
    stop = host.awaitedTimer(ms, resolve)
  })
  return abortable(timer, signal).finally(() => stop?.())
}

/** Waits for the work, but not longer than this; the work itself goes on. */
export async function atMost(host: Host, ms: number, work: Promise<unknown>): Promise<void> {
  let stop: (() => void) | undefined
  const time = new Promise<void>((resolve) => {
    stop = host.awaitedTimer(ms, resolve)
  })
  await Promise.race([work, time]).finally(() => stop?.())
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
