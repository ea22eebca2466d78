// refresh-policy.ts: when a login is renewed, and what follows when that fails. It decides; token-refresh.ts does.
import type { Login } from './stored-logins.ts'

export interface RefreshFacts {
  readonly now: number
  /** Renew when fewer than this many milliseconds are left. */
  readonly aheadMs: number
  /** An access token that a server has just refused. */
  readonly rejected?: string | undefined
  /** Renewing needs no person and no refresh token (machines, single sign-on). */
  readonly unattended: boolean
  /** A token issued less than this long ago and refused all the same will not get better by another renewal. */
  readonly freshMs: number
}

export type RefreshDecision =
  | { readonly do: 'use'; readonly login: Login }
  | { readonly do: 'renew'; readonly login: Login | undefined }
  | { readonly do: 'ask'; readonly why: 'no-login' | 'expired' | 'refused' }

/** What to do about a login as it is stored right now; asked under the lock. */
export function decideRefresh(stored: Login | undefined, moment: RefreshFacts): RefreshDecision {
  if (!stored) return moment.unattended ? { do: 'renew', login: undefined } : { do: 'ask', why: 'no-login' }
  const { tokens } = stored
  const refused = tokens.accessToken === moment.rejected
  if (!refused && millisLeft(stored, moment.now) > aheadOf(stored, moment.aheadMs))
    return { do: 'use', login: stored }
  if (refused && moment.now - tokens.obtainedAt < moment.freshMs) return { do: 'ask', why: 'refused' }
  if (tokens.refreshToken !== undefined || moment.unattended) return { do: 'renew', login: stored }
  if (!refused && millisLeft(stored, moment.now) > 0) return { do: 'use', login: stored }
  return { do: 'ask', why: refused ? 'refused' : 'expired' }
}

export type RefreshFailure =
  /** The authorization server knows the grant no more. */
  | 'grant-dead'
  /** It does not know this client. */
  | 'client-dead'
  /** A dead line, a 500, a full disk: another try may do. */
  | 'temporary'

export type AfterRefreshFailure =
  /** Somebody renewed it in the meantime, or it still holds: go on with this. */
  | { readonly do: 'use'; readonly login: Login }
  /** Nothing more will come of this grant: forget its refresh token, keep the rest, ask the person. */
  | { readonly do: 'retire'; readonly login: Login; readonly usable: boolean }
  | { readonly do: 'ask' }
  | { readonly do: 'fail' }

/** What to do after a renewal of `tried` failed, given what is stored now: it is read again before anything is lost. */
export function afterRefreshFailure(
  tried: Login | undefined,
  stored: Login | undefined,
  failure: RefreshFailure,
  moment: RefreshFacts,
): AfterRefreshFailure {
  const holds = (login: Login) =>
    login.tokens.accessToken !== moment.rejected && millisLeft(login, moment.now) > 0
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

/** A token that lives two minutes is not renewed after one: at most a quarter of its life is given up. */
export function aheadOf(login: Login, aheadMs: number): number {
  const { expiresAt, obtainedAt } = login.tokens
  return expiresAt === undefined ? aheadMs : Math.min(aheadMs, (expiresAt - obtainedAt) / 4)
}
