// token-refresh.ts: keeps one login fresh. One renewal at a time in this process, and by a lock one across processes:
// lock, read again, decide, renew, save. refresh-policy.ts decides.
import { cancellable } from '../async/waits.ts'
import { AuthRequired, IoError, PlugboardError } from '../errors.ts'
import { withFileLock } from '../files/index.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type AuthContext, lockPath, type RemoteServer, serverKey } from './context.ts'
import {
  afterRefreshFailure,
  aheadOf,
  decideRefresh,
  millisLeft,
  type RefreshFacts,
  type RefreshFailure,
} from './refresh-policy.ts'
import { type Login, loadLogin, saveLogin, unusable } from './stored-logins.ts'
import { VaultDamaged } from './vault.ts'

export type RefreshOutcome =
  | { readonly kind: 'renewed'; readonly login: Login }
  | { readonly kind: 'failed'; readonly failure: RefreshFailure; readonly error: PlugboardError }

export interface TokenRefresherOptions {
  readonly server: RemoteServer
  readonly context: AuthContext
  /** Needs no user and no refresh token. */
  readonly unattended: boolean
  readonly renew: (login: Login | undefined) => Promise<RefreshOutcome>
}

export interface TokenRefresher {
  /** A valid login, renewed if needed; `rejected` is an access token the server has just rejected. */
  get(request?: {
    readonly rejected?: string | undefined
    readonly signal?: AbortSignal | undefined
  }): Promise<Login>
}

export function refreshLogin({ server, context, unattended, renew }: TokenRefresherOptions): TokenRefresher {
  const { host } = context
  let held: Login | undefined
  /** A renewed login that the vault could not save; it stays in memory until it can. */
  let unsaved: Login | undefined
  let aheadMs = AUTH_LIMITS.refreshAheadMs
  let flight: Promise<Login> | undefined

  const hold = (login: Login): Login => {
    if (login.tokens.accessToken !== held?.tokens.accessToken)
      aheadMs = AUTH_LIMITS.refreshAheadMs - host.random() * AUTH_LIMITS.refreshJitterMs
    held = login
    return login
  }

  async function transaction(rejected: string | undefined): Promise<Login> {
    const options = {
      waitMs: AUTH_LIMITS.lockWaitMs,
      staleMs: AUTH_LIMITS.lockStaleMs,
      dirMode: 0o700,
    }
    return withFileLock(lockPath(context, serverKey(server)), options, async (lock) => {
      const stored = await newest()
      const facts = factsOf(rejected, stored)
      const decision = decideRefresh(stored, facts)
      if (decision.do === 'use') return decision.login
      if (decision.do === 'ask') throw new AuthRequired(server.name, whyAsked(server, decision.why))
      // A renewal may use up the refresh token: first make sure that its successor can be saved.
      if (decision.login && !unsaved) await saveLogin(server, context, decision.login)
      const outcome = await renew(decision.login)
      if (outcome.kind === 'renewed') {
        // This process may have been suspended past its lock; it must not overwrite a newer login of another process.
        const sibling = (await lock.stillHeld()) ? undefined : await load(server, context)
        return sibling && sibling.generation >= outcome.login.generation ? sibling : keep(outcome.login)
      }
      return recover(decision.login, outcome.failure, outcome.error, facts)
    })
  }

  /** The stored login, or a newer one that this process could not save. */
  async function newest(): Promise<Login | undefined> {
    const stored = await load(server, context)
    if (!unsaved) return stored
    if (stored && stored.generation >= unsaved.generation) {
      unsaved = undefined
      return stored
    }
    return keep(unsaved)
  }

  async function keep(login: Login): Promise<Login> {
    try {
      await saveLogin(server, context, login)
      unsaved = undefined
    } catch (error) {
      unsaved = login
      const reason = error instanceof PlugboardError ? error.message : 'the vault refused it'
      context.onNotice?.({
        server: server.name,
        kind: 'not-saved',
        message: `The renewed login of "${server.name}" could not be saved: ${reason} It is kept in memory and saved when that works again.`,
      })
    }
    return login
  }

  async function recover(
    tried: Login | undefined,
    failure: RefreshFailure,
    error: PlugboardError,
    facts: RefreshFacts,
  ): Promise<Login> {
    const next = afterRefreshFailure(tried, await load(server, context), failure, facts)
    if (next.do === 'use') {
      if (next.login === tried)
        context.onNotice?.({ server: server.name, kind: 'renewal-postponed', message: error.message })
      return next.login
    }
    if (next.do === 'fail') throw error
    if (next.do === 'retire') {
      const { refreshToken: _spent, ...tokens } = next.login.tokens
      const client = failure === 'client-dead' ? unusable(next.login.client) : next.login.client
      const retired = await keep({ ...next.login, client, tokens })
      if (next.usable) return retired
    }
    throw new AuthRequired(server.name, {
      hint: `The login has ended (${error.message}) Run \`plugboard login ${server.name}\`.`,
    })
  }

  function factsOf(rejected: string | undefined, stored: Login | undefined): RefreshFacts {
    const same = stored && stored.tokens.accessToken === held?.tokens.accessToken
    return {
      now: host.now(),
      // A process that waited for the lock does not renew again what another has just renewed, whatever its own jitter.
      aheadMs: same ? aheadMs : AUTH_LIMITS.refreshAheadMs - AUTH_LIMITS.refreshJitterMs,
      rejected,
      unattended,
      freshMs: AUTH_LIMITS.freshMs,
    }
  }

  return {
    async get({ rejected, signal } = {}) {
      const good = (login: Login | undefined) =>
        login &&
        login.tokens.accessToken !== rejected &&
        millisLeft(login, host.now()) > aheadOf(login, aheadMs)
      if (held && good(held) && !unsaved) return held
      for (let attempt = 0; attempt < 2; attempt++) {
        flight ??= transaction(rejected)
          .then(hold)
          .finally(() => {
            flight = undefined
          })
        // All callers share this renewal, so no caller's signal may end it; a caller that gives up just stops waiting.
        const login = await cancellable(flight, signal)
        // A renewal started for another caller may have ended with the very token that this caller's request was
        // rejected with.
        if (login.tokens.accessToken !== rejected) return login
      }
      throw new AuthRequired(server.name, whyAsked(server, 'refused'))
    },
  }
}

async function load(server: RemoteServer, context: AuthContext): Promise<Login | undefined> {
  try {
    return await loadLogin(server, context)
  } catch (error) {
    if (!(error instanceof VaultDamaged)) throw error
    throw new AuthRequired(server.name, {
      hint: `The stored login is damaged (${error.file}; it is kept). Run \`plugboard login ${server.name}\`.`,
      cause: error,
    })
  }
}

function whyAsked(server: RemoteServer, why: 'no-login' | 'expired' | 'refused') {
  const reasons = {
    'no-login': `Run \`plugboard login ${server.name}\`.`,
    expired: `The login has expired and cannot renew itself. Run \`plugboard login ${server.name}\`.`,
    refused: `The server refuses the stored login. Run \`plugboard login ${server.name}\`.`,
  }
  return { hint: reasons[why] }
}

/** A network or server failure, as the outcome of a renewal. */
export function asFailure(error: unknown): RefreshOutcome {
  const known =
    error instanceof PlugboardError
      ? error
      : new IoError('The login could not be renewed.', { stage: 'auth' })
  return { kind: 'failed', failure: 'temporary', error: known }
}
