// token-refresh.ts: keeps one login fresh. One renewal at a time in this process, and by a lock one across processes:
// lock, read again, decide, renew, save. refresh-policy.ts decides.
import { cancellable } from '../async/waits.ts'
import { AuthRequired, IoError, PlugboardError } from '../errors.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type AuthContext, type RemoteServer, serverKey, withAuthLock } from './context.ts'
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

export function refreshLogin(options: TokenRefresherOptions): TokenRefresher {
  return new LoginRefresher(options)
}

class LoginRefresher implements TokenRefresher {
  readonly #server: RemoteServer
  readonly #context: AuthContext
  readonly #unattended: boolean
  readonly #renew: TokenRefresherOptions['renew']
  #held: Login | undefined
  /** A renewed login that the vault could not save; it stays in memory until it can. */
  #unsaved: Login | undefined
  #aheadMs: number = AUTH_LIMITS.refreshAheadMs
  #flight: Promise<Login> | undefined

  constructor({ server, context, unattended, renew }: TokenRefresherOptions) {
    this.#server = server
    this.#context = context
    this.#unattended = unattended
    this.#renew = renew
  }

  async get({ rejected, signal }: Parameters<TokenRefresher['get']>[0] = {}): Promise<Login> {
    const held = this.#held
    if (held && !this.#unsaved && this.#isGood(held, rejected)) return held
    for (let attempt = 0; attempt < 2; attempt++) {
      this.#flight ??= this.#transaction(rejected)
        .then((login) => this.#hold(login))
        .finally(() => {
          this.#flight = undefined
        })
      // All callers share this renewal, so no caller's signal may end it; a caller that gives up just stops waiting.
      const login = await cancellable(this.#flight, signal)
      // A renewal started for another caller may have ended with the very token that this caller's request was
      // rejected with.
      if (login.tokens.accessToken !== rejected) return login
    }
    throw new AuthRequired(this.#server.name, whyAsked(this.#server, 'refused'))
  }

  #isGood(login: Login, rejected: string | undefined): boolean {
    const left = millisLeft(login, this.#context.host.now())
    return login.tokens.accessToken !== rejected && left > aheadOf(login, this.#aheadMs)
  }

  #hold(login: Login): Login {
    if (login.tokens.accessToken !== this.#held?.tokens.accessToken)
      this.#aheadMs = AUTH_LIMITS.refreshAheadMs - this.#context.host.random() * AUTH_LIMITS.refreshJitterMs
    this.#held = login
    return login
  }

  async #transaction(rejected: string | undefined): Promise<Login> {
    const [server, context] = [this.#server, this.#context]
    return withAuthLock(context, serverKey(server), async (lock) => {
      const stored = await this.#newest()
      const facts = this.#factsOf(rejected, stored)
      const decision = decideRefresh(stored, facts)
      if (decision.do === 'use') return decision.login
      if (decision.do === 'ask') throw new AuthRequired(server.name, whyAsked(server, decision.why))
      // A renewal may use up the refresh token: first make sure that its successor can be saved.
      if (decision.login && !this.#unsaved) await saveLogin(server, context, decision.login)
      const outcome = await this.#renew(decision.login)
      if (outcome.kind === 'renewed') {
        // This process may have been suspended past its lock; it must not overwrite a newer login of another process.
        const sibling = (await lock.stillHeld()) ? undefined : await load(server, context)
        return sibling && sibling.generation >= outcome.login.generation ? sibling : this.#keep(outcome.login)
      }
      return this.#recover(decision.login, outcome.failure, outcome.error, facts)
    })
  }

  /** The stored login, or a newer one that this process could not save. */
  async #newest(): Promise<Login | undefined> {
    const stored = await load(this.#server, this.#context)
    if (!this.#unsaved) return stored
    if (stored && stored.generation >= this.#unsaved.generation) {
      this.#unsaved = undefined
      return stored
    }
    return this.#keep(this.#unsaved)
  }

  async #keep(login: Login): Promise<Login> {
    const { name } = this.#server
    try {
      await saveLogin(this.#server, this.#context, login)
      this.#unsaved = undefined
    } catch (error) {
      this.#unsaved = login
      const reason = error instanceof PlugboardError ? error.message : 'the vault refused it'
      this.#context.onNotice?.({
        server: name,
        kind: 'not-saved',
        message: `The renewed login of "${name}" could not be saved: ${reason} It is kept in memory and saved when that works again.`,
      })
    }
    return login
  }

  async #recover(
    tried: Login | undefined,
    failure: RefreshFailure,
    error: PlugboardError,
    facts: RefreshFacts,
  ): Promise<Login> {
    const { name } = this.#server
    const next = afterRefreshFailure(tried, await load(this.#server, this.#context), failure, facts)
    if (next.do === 'use') {
      if (next.login === tried)
        this.#context.onNotice?.({ server: name, kind: 'renewal-postponed', message: error.message })
      return next.login
    }
    if (next.do === 'fail') throw error
    if (next.do === 'retire') {
      const { refreshToken: _spent, ...tokens } = next.login.tokens
      const client = failure === 'client-dead' ? unusable(next.login.client) : next.login.client
      const retired = await this.#keep({ ...next.login, client, tokens })
      if (next.usable) return retired
    }
    throw new AuthRequired(name, {
      hint: `The login has ended (${error.message}) Run \`plugboard login ${name}\`.`,
    })
  }

  #factsOf(rejected: string | undefined, stored: Login | undefined): RefreshFacts {
    const same = stored && stored.tokens.accessToken === this.#held?.tokens.accessToken
    return {
      now: this.#context.host.now(),
      // A process that waited for the lock does not renew again what another has just renewed, whatever its own jitter.
      aheadMs: same ? this.#aheadMs : AUTH_LIMITS.refreshAheadMs - AUTH_LIMITS.refreshJitterMs,
      rejected,
      unattended: this.#unattended,
      freshMs: AUTH_LIMITS.freshMs,
    }
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
