// reconnect.ts: whether and when to try again after a loss. Pure; the dice are handed in.
import type { ReconnectSettings } from '../config/entry.ts'
import { CONNECT_LIMITS } from '../limits.ts'

export interface ReconnectPolicy {
  readonly maxAttempts: number
  readonly delayMs: number
  readonly stableMs: number
}

export type Verdict =
  | { readonly do: 'retry'; readonly attempt: number; readonly afterMs: number }
  | { readonly do: 'fail' }

/** A fifth up or down, so that servers lost together do not come back together. */
const JITTER = 0.2

export function reconnectPolicy(settings: ReconnectSettings | undefined): ReconnectPolicy {
  return {
    maxAttempts: settings?.maxAttempts ?? CONNECT_LIMITS.reconnectAttempts,
    delayMs: settings?.delayMs ?? CONNECT_LIMITS.reconnectDelayMs,
    stableMs: CONNECT_LIMITS.stableMs,
  }
}

/** `spent` attempts are gone; `random` is in [0, 1). */
export function afterLoss(spent: number, policy: ReconnectPolicy, random: number): Verdict {
  if (spent >= policy.maxAttempts) return { do: 'fail' }
  const attempt = spent + 1
  return { do: 'retry', attempt, afterMs: backoff(attempt, policy.delayMs, random) }
}

export function backoff(attempt: number, delayMs: number, random: number): number {
  return Math.round(delayMs * attempt * (1 - JITTER + 2 * JITTER * random))
}
