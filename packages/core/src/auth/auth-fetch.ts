// auth-fetch.ts: authenticated requests to one server: adds a token to each request and retries once after a 401 or
// 403. The transport adds the entry's headers; other files obtain and store logins.
import type { ConfiguredServer } from '../config/types.ts'
import { AuthRequired } from '../errors.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { quoted } from './auth-refused.ts'
import { type AuthChallenge, authChallenge } from './challenge.ts'
import { type AuthContext, httpUrl, isRemote, type RemoteServer, usesSingleSignOn } from './context.ts'
import { dpopProof } from './dpop.ts'
import { machineLoginFor, refresherFor } from './grants.ts'
import { forgetNeedsAuth, needsAuth, rememberNeedsAuth } from './needs-auth.ts'
import { type Login, loadLogin } from './stored-logins.ts'

type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * The auth of one server. Fits the `authProvider` option of the SDK's HTTP transports, but a transport should prefer
 * `fetch`: it knows which token was rejected, proves possession, and handles a request for more scope.
 */
export interface BoardAuth {
  /** The access token for the next request; `undefined` without a login. */
  token(): Promise<string | undefined>
  /** After a 401: returns when a retry makes sense, else throws AuthRequired. */
  onUnauthorized(context: { readonly response: Response }): Promise<void>
  /** A `fetch` that adds the token, and retries once after a 401 or 403. */
  fetch(next: FetchLike): FetchLike
  /** The user asked for a retry: ignore a cached "needs login" record. */
  tryAgain(): void
}

/** `undefined` for servers that are not reached over HTTP, or cannot be. */
export function authFor(server: ConfiguredServer, context: AuthContext): BoardAuth | undefined {
  // With an address that cannot be one, the transport says what is wrong.
  return isRemote(server) && URL.canParse(server.entry.url) ? boardAuth(server, context) : undefined
}

interface Attempt {
  readonly headers: Headers
  readonly login: Login | undefined
}

function boardAuth(server: RemoteServer, context: AuthContext): BoardAuth {
  const { host } = context
  const keeper = refresherFor(server, context)
  const unattended = machineLoginFor(server, context) !== undefined || usesSingleSignOn(server)
  const origin = new URL(httpUrl(server)).origin
  const nonces = new Map<string, string>()
  /** The user's own Authorization header replaces any login. */
  const fixed = Object.keys(server.entry.headers).some((name) => name.toLowerCase() === 'authorization')
  /** The vault held no login when we looked; a 401 makes us look again. */
  let loggedOut = false

  async function currentLogin(): Promise<Login | undefined> {
    if (unattended) return keeper.get()
    if (loggedOut) return undefined
    loggedOut = (await loadLogin(server, context).catch(() => 'unreadable' as const)) === undefined
    return loggedOut ? undefined : keeper.get()
  }

  async function prepare(init: RequestInit | undefined, url: URL): Promise<Attempt> {
    const headers = new Headers(init?.headers)
    const login = fixed ? undefined : await known()
    if (login) await authorize(headers, login, init?.method ?? 'GET', url)
    return { headers, login }
  }

  /** Keeps the vault out of the fast path: the token refresher returns a login from memory once it holds one. */
  let met = false
  async function known(): Promise<Login | undefined> {
    try {
      const login = met ? await keeper.get() : await currentLogin()
      met ||= login !== undefined
      if (!login) await failFastIfLoginNeeded()
      return login
    } catch (error) {
      throw error instanceof AuthRequired ? await asked({ dpop: false }, error) : error
    }
  }

  /** Another request got a 401 a moment ago: only a login helps, so skip the request. Looked up once. */
  let looked = false
  async function failFastIfLoginNeeded(): Promise<void> {
    if (looked || unattended) return
    looked = true
    if (await needsAuth(server, context)) throw new AuthRequired(server.name)
  }

  /** The user asked for a retry and the server accepted: the cached "needs login" record is wrong for all processes. */
  let afresh = false
  async function letIn(): Promise<void> {
    if (!afresh) return
    afresh = false
    // The record is only a cache: a failure to change it must not fail the request.
    if (await needsAuth(server, context)) await forgetNeedsAuth(server, context).catch(() => undefined)
  }

  async function authorize(headers: Headers, login: Login, method: string, url: URL): Promise<void> {
    const { accessToken, type } = login.tokens
    if (type !== 'dpop' || !login.dpopKey) {
      headers.set('authorization', `Bearer ${accessToken}`)
      return
    }
    const nonce = nonces.get(url.origin)
    headers.set('authorization', `DPoP ${accessToken}`)
    headers.set('dpop', await dpopProof(login.dpopKey, { method, url, accessToken, nonce, now: host.now() }))
  }

  function learnNonce(url: URL, response: Response): boolean {
    const nonce = response.headers.get('dpop-nonce')
    if (!nonce || nonce.length > 512 || nonces.get(url.origin) === nonce) return false
    nonces.set(url.origin, nonce)
    return true
  }

  /** Is there something new to try after this rejection? Throws AuthRequired when the user has to act. */
  async function afterRefusal(response: Response, tried: Attempt): Promise<'retry' | 'give-up'> {
    const challenge = authChallenge(response.headers)
    if (response.status === 403) {
      if (fixed || challenge.error !== 'insufficient_scope') return 'give-up'
      return widerLogin(challenge, tried)
    }
    if (fixed) throw refusedHeaders()
    try {
      await renewed(tried.login?.tokens.accessToken)
      return 'retry'
    } catch (error) {
      throw error instanceof AuthRequired ? await asked(challenge, error) : error
    }
  }

  async function renewed(rejected: string | undefined): Promise<Login> {
    const login = await keeper.get({ rejected })
    loggedOut = false
    met = true
    return login
  }

  /** Another process may have stepped up already; otherwise the user has to grant more scope. */
  async function widerLogin(challenge: AuthChallenge, tried: Attempt): Promise<'retry'> {
    const stored = await loadLogin(server, context).catch(() => undefined)
    const other = stored && stored.tokens.accessToken !== tried.login?.tokens.accessToken
    if (other) {
      await renewed(tried.login?.tokens.accessToken)
      return 'retry'
    }
    const scope = quoted(challenge.scope ?? '', [tried.login?.tokens.accessToken])
    throw await asked(
      challenge,
      new AuthRequired(server.name, {
        wider: true,
        hint: `The server requires more scopes than were granted${scope && ` (${scope})`}. Run \`plugboard login ${server.name}\`.`,
      }),
    )
  }

  async function asked(challenge: AuthChallenge, error: AuthRequired): Promise<AuthRequired> {
    const { error: _code, dpop, ...wanted } = challenge
    // The record spares other processes a request that would get 401; a failed write must not hide the AuthRequired error.
    await rememberNeedsAuth(server, context, { ...wanted, ...(dpop && { dpop }) }).catch(() => undefined)
    return error
  }

  function refusedHeaders(): AuthRequired {
    return new AuthRequired(server.name, {
      hint: `The server refuses the Authorization header of the entry. Correct it in ${server.source}.`,
    })
  }

  /** The error after a second rejection. */
  async function stillRefused(response: Response, tried: Attempt): Promise<never> {
    const hint = `The server refuses the stored login. Run \`plugboard login ${server.name}\`.`
    throw await asked(
      authChallenge(response.headers),
      new AuthRequired(server.name, tried.login ? { hint } : {}),
    )
  }

  let handedOut: Login | undefined
  return {
    async token() {
      if (fixed) return undefined
      handedOut = await known()
      return handedOut?.tokens.accessToken
    },

    async onUnauthorized({ response }) {
      // The SDK does not say which token was rejected. A brand-new one was most likely not it: try that first.
      if (handedOut && host.now() - handedOut.tokens.obtainedAt < AUTH_LIMITS.freshMs) return
      const tried = { headers: new Headers(), login: handedOut }
      if ((await afterRefusal(response, tried)) === 'give-up') await stillRefused(response, tried)
    },

    fetch: (next) => async (input, init) => {
      const url = new URL(String(input))
      // A server may name another origin (an SSE endpoint, a redirect): it gets no token and no header of ours.
      if (url.origin !== origin) return next(input, init)
      let tried = await prepare(init, url)
      let response = await next(url, { ...init, headers: tried.headers })
      if (learnNonce(url, response) && response.status === 401 && tried.login?.tokens.type === 'dpop') {
        await drain(response)
        tried = await prepare(init, url)
        response = await next(url, { ...init, headers: tried.headers })
        learnNonce(url, response)
      }
      if (response.ok) await letIn()
      if (response.status !== 401 && response.status !== 403) return response
      const hadLogin = tried.login !== undefined
      if ((await afterRefusal(response, tried)) === 'give-up') return response
      await drain(response)
      tried = await prepare(init, url)
      response = await next(url, { ...init, headers: tried.headers })
      if (response.status === 401 && !hadLogin && tried.login) {
        // A login from another process may need its first renewal here.
        await afterRefusal(response, tried)
        await drain(response)
        tried = await prepare(init, url)
        response = await next(url, { ...init, headers: tried.headers })
      }
      if (response.status === 401) return stillRefused(response, tried)
      // A login that the server accepts may still be too narrow for this request.
      if (response.status === 403) await afterRefusal(response, tried)
      return response
    },

    tryAgain() {
      looked = true
      loggedOut = false
      afresh = true
    },
  }
}

/** Frees the connection of a response that is not read. */
async function drain(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined)
}
