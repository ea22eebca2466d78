// states.ts: the states of a server, and the only transitions between them: each transition is a function of the
// state it starts from, so an invalid one does not type-check. It decides; connection.ts acts.
import type { DisabledReason } from '../config/types.ts'
import { Disabled, IoError, type PlugboardError, type Stage } from '../errors.ts'
import type { StateSummary } from '../events.ts'
import { afterLoss, type ReconnectPolicy, retryDelay } from './reconnect.ts'
import type { Session } from './session.ts'

/** Counters that survive a server's failures until a connection has proven stable. */
interface Trials {
  /** Quick reconnect attempts used so far. */
  readonly spent: number
  /** Slow retries made so far. */
  readonly retries: number
}

/** Not connected yet, or not any more. Attempt 0: not needed so far. */
export interface Pending extends Trials {
  readonly kind: 'pending'
  /** A first connect, one of the quick attempts after a loss, or a slow retry of a failed server. */
  readonly phase: 'first' | 'quick' | 'slow'
  readonly attempt: number
  readonly of: number
  readonly stage: Stage
}
export interface Connected extends Trials {
  readonly kind: 'connected'
  readonly session: Session
  readonly since: number
  readonly connectMs: number
}
export interface NeedsAuth {
  readonly kind: 'needs-auth'
  readonly since: number
  readonly error: PlugboardError
}
/** Not final: it is retried after `retryMs`, or sooner when a caller needs it. */
export interface Failed extends Trials {
  readonly kind: 'failed'
  readonly stage: Stage
  readonly error: PlugboardError
  readonly retryMs: number
}
export interface Off {
  readonly kind: 'disabled'
  readonly reason: DisabledReason
}
export type ServerState = Pending | Connected | NeedsAuth | Failed | Off

/** What follows a loss: a quick attempt after a delay, or the slow retries of a failed server. */
export type AfterLoss = { readonly state: Pending; readonly afterMs: number } | { readonly state: Failed }

export const idle: Pending = Object.freeze({
  kind: 'pending',
  phase: 'first',
  attempt: 0,
  of: 1,
  stage: 'client',
  spent: 0,
  retries: 0,
})

/** The first use, or the user asks for a retry. */
export function begin(_from: Pending | Failed | NeedsAuth): Pending {
  return { ...idle, attempt: 1 }
}

/** A failed server is retried, because its delay is over (`scheduled`) or because a caller needs it now. */
export function retry(from: Failed, scheduled: boolean): Pending {
  const { spent, retries } = from
  return {
    kind: 'pending',
    phase: 'slow',
    attempt: 1,
    of: 1,
    stage: 'client',
    spent,
    retries: retries + (scheduled ? 1 : 0),
  }
}

export function reached(from: Pending, stage: Stage): Pending {
  return { ...from, stage }
}

export function connected(from: Pending, session: Session, now: number, connectMs: number): Connected {
  const spent = from.phase === 'quick' ? from.attempt : from.spent
  return { kind: 'connected', session, since: now, connectMs, spent, retries: from.retries }
}

/** The same connection with a fresh session: the server forgot the old one. */
export function renewed(from: Connected, session: Session): Connected {
  return { ...from, session }
}

export function unauthorised(_from: Pending | Connected, error: PlugboardError, now: number): NeedsAuth {
  return { kind: 'needs-auth', since: now, error }
}

/** A failed attempt: only quick attempts are followed by another one at once. */
export function attemptFailed(
  from: Pending,
  error: PlugboardError,
  policy: ReconnectPolicy,
  random: number,
): AfterLoss {
  const { stage, retries } = from
  if (from.phase === 'quick') return next({ spent: from.attempt, retries }, { error, stage }, policy, random)
  return { state: failed(from, { error, stage }, policy, random) }
}

/** A connection that ended unexpectedly. */
export function lost(
  from: Connected,
  error: PlugboardError,
  policy: ReconnectPolicy,
  now: number,
  random: number,
): AfterLoss {
  const stable = now - from.since >= policy.stableMs
  const record = stable ? { spent: 0, retries: 0 } : from
  return next(record, { error, stage: 'call' }, policy, random)
}

/** A connection that we closed ourselves without a network fault: reopened without counting an attempt. */
export function renew({ spent, retries }: Connected): {
  readonly state: Pending
  readonly afterMs: number
} {
  return { state: { ...idle, attempt: 1, spent, retries }, afterMs: 0 }
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

interface Loss {
  readonly error: PlugboardError
  readonly stage: Stage
}

function next(record: Trials, loss: Loss, policy: ReconnectPolicy, random: number): AfterLoss {
  const { spent, retries } = record
  const verdict = afterLoss(spent, policy, random)
  if (verdict.do === 'fail') return { state: failed(record, loss, policy, random) }
  return {
    state: {
      kind: 'pending',
      phase: 'quick',
      attempt: verdict.attempt,
      of: policy.maxAttempts,
      stage: 'client',
      spent,
      retries,
    },
    afterMs: verdict.afterMs,
  }
}

function failed({ spent, retries }: Trials, loss: Loss, policy: ReconnectPolicy, random: number): Failed {
  const { error, stage } = loss
  const retryMs = retryDelay(retries, policy, random)
  return { kind: 'failed', stage: error.stage ?? stage, error, retryMs, spent, retries }
}

/** The session to use in this state; throws what keeps a caller from using one. */
export function sessionIn(state: ServerState, server: string): Session {
  switch (state.kind) {
    case 'connected':
      return state.session
    case 'failed':
    case 'needs-auth':
      throw state.error
    case 'disabled':
      throw new Disabled(server, state.reason.text)
    case 'pending':
      throw new IoError(`"${server}" is not connected.`, { server, stage: state.stage })
  }
}
