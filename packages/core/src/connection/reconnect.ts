// reconnect.ts: whether and when to retry after a loss: a few quick attempts first, then slow ones without end. Pure;
// the random number is passed in.
import type { ReconnectSettings } from '../config/entry.ts'
import { CONNECT_LIMITS } from '../limits.ts'

export interface ReconnectPolicy {
  /** Quick attempts after a loss. */
  readonly maxAttempts: number
  /** The wait before the first quick attempt; it grows with each. */
  readonly delayMs: number
  /** The wait before the first slow retry; it doubles with each, up to `retryMaxMs`. */
  readonly retryMs: number
  readonly retryMaxMs: number
  readonly stableMs: number
}

export type AfterLossDecision =
  | { readonly do: 'retry'; readonly attempt: number; readonly afterMs: number }
  | { readonly do: 'fail' }

/** A fifth up or down, so that servers lost together do not reconnect together. */
const JITTER = 0.2

export function reconnectPolicy(settings: ReconnectSettings | undefined): ReconnectPolicy {
  const retryMs = settings?.retryMs ?? CONNECT_LIMITS.retryMs
  return {
    maxAttempts: settings?.maxAttempts ?? CONNECT_LIMITS.reconnectAttempts,
    delayMs: settings?.delayMs ?? CONNECT_LIMITS.reconnectDelayMs,
    retryMs,
    retryMaxMs: Math.max(retryMs, CONNECT_LIMITS.retryMaxMs),
    stableMs: CONNECT_LIMITS.stableMs,
  }
}

/** `spent` quick attempts are used up; `random` is in [0, 1). */
export function afterLoss(spent: number, policy: ReconnectPolicy, random: number): AfterLossDecision {
  if (spent >= policy.maxAttempts) return { do: 'fail' }
  const attempt = spent + 1
  return { do: 'retry', attempt, afterMs: backoff(attempt, policy.delayMs, random) }
}

export function backoff(attempt: number, delayMs: number, random: number): number {
  return Math.round(delayMs * attempt * jitter(random))
}

/** How long a failed server waits before the next slow retry; `retries` have been made. */
export function retryDelay(retries: number, policy: ReconnectPolicy, random: number): number {
  // Past 2^20 every first wait has long reached its limit.
  const grown = policy.retryMs * 2 ** Math.min(retries, 20)
  return Math.round(Math.min(grown, policy.retryMaxMs) * jitter(random))
}

/** How an attempt ended. */
export interface LastTry {
  readonly sinceMs: number
  readonly tookMs: number
}

/**
 * How long until a failed server is retried because a caller needs it; undefined when the last verdict is fresh
 * enough to stand. A caller that needs the server waits a moment for a fresh verdict; a status query does not. An
 * attempt that took long is not repeated before an equally long delay.
 */
export function probeWait(last: LastTry | undefined, needed: boolean): number | undefined {
  if (!last) return 0
  const everyMs = Math.max(CONNECT_LIMITS.probeEveryMs, last.tookMs)
  const leftMs = everyMs - last.sinceMs
  // More than the whole delay means that the clock was set back.
  if (leftMs <= 0 || leftMs > everyMs) return 0
  return needed && everyMs === CONNECT_LIMITS.probeEveryMs ? leftMs : undefined
}

function jitter(random: number): number {
  return 1 - JITTER + 2 * JITTER * random
}
