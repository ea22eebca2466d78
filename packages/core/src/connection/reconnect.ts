// reconnect.ts: whether and when to try again after a loss: a few quick attempts first, then slow ones without end.
// Pure; the dice are handed in.
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

export type Verdict =
  | { readonly do: 'retry'; readonly attempt: number; readonly afterMs: number }
  | { readonly do: 'fail' }

/** A fifth up or down, so that servers lost together do not come back together. */
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

/** `spent` quick attempts are gone; `random` is in [0, 1). */
export function afterLoss(spent: number, policy: ReconnectPolicy, random: number): Verdict {
  if (spent >= policy.maxAttempts) return { do: 'fail' }
  const attempt = spent + 1
  return { do: 'retry', attempt, afterMs: backoff(attempt, policy.delayMs, random) }
}

export function backoff(attempt: number, delayMs: number, random: number): number {
  return Math.round(delayMs * attempt * jitter(random))
}

/** How long a failed server rests before the next slow retry; `retries` of them have been made. */
export function retryDelay(retries: number, policy: ReconnectPolicy, random: number): number {
  // Past 2^20 every first wait has long reached its limit.
  const grown = policy.retryMs * 2 ** Math.min(retries, 20)
  return Math.round(Math.min(grown, policy.retryMaxMs) * jitter(random))
}

/**
 * How long a caller that needs a server now waits for the next attempt, or undefined when the last verdict is so fresh
 * that it stands. A server that came up and died again is worth a short wait; one that did not come up is not.
 */
export function probeWait(sinceLastTryMs: number, cameUp: boolean): number | undefined {
  const left = CONNECT_LIMITS.probeEveryMs - sinceLastTryMs
  // More than the whole interval means that the clock was set back.
  if (left <= 0 || left > CONNECT_LIMITS.probeEveryMs) return 0
  return cameUp ? left : undefined
}

function jitter(random: number): number {
  return 1 - JITTER + 2 * JITTER * random
}
