// states.ts: the states a server can be in, and the only ways between them: each way is a function of the state it
// starts from, so one that does not exist does not type-check. It decides; connection.ts acts.
import type { DisabledReason } from '../config/types.ts'
import type { PlugboardError, Stage } from '../errors.ts'
import type { StateSummary } from '../events.ts'
import { afterLoss, type ReconnectPolicy } from './reconnect.ts'
import type { Session } from './session.ts'

/** Not connected yet, or not any more. Attempt 0: nobody has needed it so far. */
export interface Pending {
  readonly kind: 'pending'
  readonly attempt: number
  readonly of: number
  readonly stage: Stage
}
export interface Connected {
  readonly kind: 'connected'
  readonly session: Session
  readonly since: number
  readonly connectMs: number
  /** Reconnect attempts spent so far; forgotten once the connection has proven stable. */
  readonly spent: number
}
export interface NeedsAuth {
  readonly kind: 'needs-auth'
  readonly since: number
  readonly error: PlugboardError
}
export interface Failed {
  readonly kind: 'failed'
  readonly stage: Stage
  readonly error: PlugboardError
}
export interface Off {
  readonly kind: 'disabled'
  readonly reason: DisabledReason
}
export type ServerState = Pending | Connected | NeedsAuth | Failed | Off

/** What a loss leads to: another try after a while, or the end. */
export type AfterLoss = { readonly state: Pending; readonly afterMs: number } | { readonly state: Failed }

export const idle: Pending = Object.freeze({ kind: 'pending', attempt: 0, of: 1, stage: 'client' })

/** The first need, or a person's wish to try again. */
export function begin(_from: Pending | Failed | NeedsAuth): Pending {
  return { kind: 'pending', attempt: 1, of: 1, stage: 'client' }
}

export function reached(from: Pending, stage: Stage): Pending {
  return { ...from, stage }
}

export function connected(from: Pending, session: Session, now: number, connectMs: number): Connected {
  // The first connect spends no reconnect attempt.
  return { kind: 'connected', session, since: now, connectMs, spent: from.of > 1 ? from.attempt : 0 }
}

/** The same connection on a fresh session: the server forgot the old one. */
export function renewed(from: Connected, session: Session): Connected {
  return { ...from, session }
}

export function unauthorised(_from: Pending | Connected, error: PlugboardError, now: number): NeedsAuth {
  return { kind: 'needs-auth', since: now, error }
}

/** An attempt that failed: a first connect is not tried again by itself, a reconnect is, while attempts are left. */
export function attemptFailed(
  from: Pending,
  error: PlugboardError,
  policy: ReconnectPolicy,
  random: number,
): AfterLoss {
  if (from.of <= 1 && from.attempt <= 1) return { state: failed(error, from.stage) }
  return next(from.attempt, error, from.stage, policy, random)
}

/** A connection that ended without being asked to. */
export function lost(
  from: Connected,
  error: PlugboardError,
  policy: ReconnectPolicy,
  now: number,
  random: number,
): AfterLoss {
  const spent = now - from.since >= policy.stableMs ? 0 : from.spent
  return next(spent, error, 'connect', policy, random)
}

export function disable(_from: Exclude<ServerState, Off>, reason: DisabledReason): Off {
  return { kind: 'disabled', reason }
}

export function summary(state: ServerState): StateSummary {
  switch (state.kind) {
    case 'pending':
      return state.attempt === 0
        ? { kind: 'pending', attempt: 0, of: state.of }
        : { kind: 'pending', attempt: state.attempt, of: state.of, stage: state.stage }
    case 'connected':
      return {
        kind: 'connected',
        protocolVersion: state.session.protocolVersion,
        connectMs: state.connectMs,
      }
    case 'failed':
      return { kind: 'failed', stage: state.stage, error: state.error }
    case 'needs-auth':
      return { kind: 'needs-auth', since: state.since, error: state.error }
    case 'disabled':
      return { kind: 'disabled', reason: state.reason.text }
  }
}

function next(
  spent: number,
  error: PlugboardError,
  stage: Stage,
  policy: ReconnectPolicy,
  random: number,
): AfterLoss {
  const verdict = afterLoss(spent, policy, random)
  if (verdict.do === 'fail') return { state: failed(error, stage) }
  return {
    // `of` above 1 is what marks a reconnect, also when the policy allows a single attempt.
    state: {
      kind: 'pending',
      attempt: verdict.attempt,
      of: Math.max(policy.maxAttempts, 2),
      stage: 'client',
    },
    afterMs: verdict.afterMs,
  }
}

function failed(error: PlugboardError, stage: Stage): Failed {
  return { kind: 'failed', stage: error.stage ?? stage, error }
}
