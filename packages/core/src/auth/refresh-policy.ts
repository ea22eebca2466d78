// refresh-policy.ts: when a login is renewed, and what follows when that fails. It decides; token-refresh.ts acts.
import type { Login } from './stored-logins.ts'

export interface RefreshFacts {
  readonly now: number
  /** Renew when fewer than this many milliseconds are left. */
  readonly aheadMs: number
  /** An access token that a server has just rejected. */
  readonly rejected?: string | undefined
  /** Renewing needs no user and no refresh token (machine login, single sign-on). */
  readonly unattended: boolean
  /** A token that was rejected although it is younger than this will not get better by another renewal. */
  readonly freshMs: number
}

export type RefreshDecision =
  | { readonly do: 'use'; readonly login: Login }
  | { readonly do: 'renew'; readonly login: Login | undefined }
  | { readonly do: 'ask'; readonly why: 'no-login' | 'expired' | 'refused' }

/** What to do about a login as it is stored right now; called under the lock. */
export function decideRefresh(stored: Login | undefined, facts: RefreshFacts): RefreshDecision {
  if (!stored) return facts.unattended ? { do: 'renew', login: undefined } : { do: 'ask', why: 'no-login' }
  const { tokens } = stored
  const refused = tokens.accessToken === facts.rejected
  if (!refused && millisLeft(stored, facts.now) > aheadOf(stored, facts.aheadMs))
    return { do: 'use', login: stored }
  if (refused && facts.now - tokens.obtainedAt < facts.freshMs) return { do: 'ask', why: 'refused' }
  if (tokens.refreshToken !== undefined || facts.unattended) return { do: 'renew', login: stored }
  if (!refused && millisLeft(stored, facts.now) > 0) return { do: 'use', login: stored }
  return { do: 'ask', why: refused ? 'refused' : 'expired' }
}

export type RefreshFailure =
  /** The authorization server no longer knows the grant. */
  | 'grant-dead'
  /** It does not know this client. */
  | 'client-dead'
  /** Network failure, a 500, a full disk: a retry may succeed. */
  | 'temporary'

export type AfterRefreshFailure =
  /** Another process renewed it in the meantime, or it is still valid: use this one. */
  | { readonly do: 'use'; readonly login: Login }
  /** The grant is dead: forget its refresh token, keep the rest, send the user to log in. */
  | { readonly do: 'retire'; readonly login: Login; readonly usable: boolean }
  | { readonly do: 'ask' }
  | { readonly do: 'fail' }

/**
 * What to do after a renewal of `tried` failed, given what is stored now: it is read again before anything is
 * dropped.
 */
export function afterRefreshFailure(
  tried: Login | undefined,
  stored: Login | undefined,
  failure: RefreshFailure,
  facts: RefreshFacts,
): AfterRefreshFailure {
  const holds = (login: Login) =>
    login.tokens.accessToken !== facts.rejected && millisLeft(login, facts.now) > 0
  const renewed = stored !== undefined && (!tried || stored.tokens.accessToken !== tried.tokens.accessToken)
  if (renewed && holds(stored)) return { do: 'use', login: stored }
  if (failure === 'temporary') return tried && holds(tried) ? { do: 'use', login: tried } : { do: 'fail' }
  if (!stored || renewed || !tried) return { do: 'ask' }
  return { do: 'retire', login: stored, usable: holds(stored) }
}

/** Infinite when the server did not say how long. A clock that was set back must not make a token eternal. */
export function millisLeft(login: Login, now: number): number {
  const { expiresAt, obtainedAt } = login.tokens
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY
  return Math.min(expiresAt - now, expiresAt - obtainedAt)
}

/** A token with a two-minute lifetime is not renewed after one: the margin is at most a quarter of its life. */
export function aheadOf(login: Login, aheadMs: number): number {
  const { expiresAt, obtainedAt } = login.tokens
  return expiresAt === undefined ? aheadMs : Math.min(aheadMs, (expiresAt - obtainedAt) / 4)
}
