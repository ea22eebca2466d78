// auth-fetch.ts: what a transport needs to make authenticated requests to one server: a token on the way out, and a second
// try after a refusal. Headers of the entry are the transport's; getting and keeping logins is done elsewhere.
import type { ConfiguredServer } from '../config/types.ts'
import { AuthRequired, PlugboardError } from '../errors.ts'
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
 * The auth of one server. Fits the `authProvider` option of the SDK's HTTP transports, but a transport that can
 * should use `fetch`: it knows which token was refused, proves possession, and understands a wish for more scope.
 */
export interface BoardAuth {
  /** The access token for the next request; `undefined` where no login is known. */
  token(): Promise<string | undefined>
  /** After a 401: returns when another try makes sense, else throws AuthRequired. */
  onUnauthorized(context: { readonly response: Response }): Promise<void>
  /** A `fetch` that carries the login, and tries once more after a refusal. */
  fetch(next: FetchLike): FetchLike
  /** The user wants another try: a refusal that is only remembered does not count. */
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
  /** With an Authorization of the user's own there is nothing for a login to do. */
  const fixed = Object.keys(server.entry.headers).some((name) => name.toLowerCase() === 'authorization')
  /** Nothing was in the vault when we looked; a refusal makes us look again. */
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

  /** Keeps the fast path free of the vault: the keeper answers from memory once it holds a login. */
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

  /** Somebody was refused a moment ago: then only a login helps, and nobody needs to ask again. Looked up once. */
  let looked = false
  async function failFastIfLoginNeeded(): Promise<void> {
    if (looked || unattended) return
    looked = true
    if (await needsAuth(server, context)) throw new AuthRequired(server.name)
  }

  /** The user asked to try again, and the server let us in: then the memory of its refusal is wrong, for all processes. */
  let afresh = false
  async function letIn(): Promise<void> {
    if (!afresh) return
    afresh = false
    // It is only a memory: that it cannot be changed must not fail the request.
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

  /** Is there something new to try after this refusal? Throws AuthRequired when only a person can help. */
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

  /** A sibling may have stepped up already; otherwise the person has to grant more. */
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
        hint: `It wants more than was granted${scope && ` (${scope})`}. Run \`plugboard login ${server.name}\`.`,
      }),
    )
  }

  async function asked(challenge: AuthChallenge, error: AuthRequired): Promise<AuthRequired> {
    const { error: _code, dpop, ...wanted } = challenge
    // The memory spares others a vain knock; that it cannot be written must not hide what the person has to do.
    await rememberNeedsAuth(server, context, { ...wanted, ...(dpop && { dpop }) }).catch(() => undefined)
    return error
  }

  function refusedHeaders(): AuthRequired {
    return new AuthRequired(server.name, {
      hint: `The server refuses the Authorization of the entry's \`headers\`. Correct it in ${server.source}.`,
    })
  }

  /** The last word after a second refusal. */
  async function stillRefused(response: Response, tried: Attempt): Promise<never> {
    const hint = `The server refuses the login it was given. Run \`plugboard login ${server.name}\`.`
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
      // Which token was refused is not said here. One that is brand-new was most likely not it: try with that first.
      if (handedOut && host.now() - handedOut.tokens.obtainedAt < AUTH_LIMITS.freshMs) return
      const tried = { headers: new Headers(), login: handedOut }
      if ((await afterRefusal(response, tried)) === 'give-up') await stillRefused(response, tried)
    },

    fetch: (next) => async (input, init) => {
      const url = new URL(String(input))
      // A server may name another origin (an SSE endpoint, a redirect): it gets nothing of ours.
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
        // A login that somebody else made a while ago may need its first renewal here.
        await afterRefusal(response, tried)
        await drain(response)
        tried = await prepare(init, url)
        response = await next(url, { ...init, headers: tried.headers })
      }
      if (response.status === 401) return stillRefused(response, tried)
      // A login that lets us in may still be too narrow for this request.
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

/** The error of ours inside one that a library has wrapped around it, e.g. the SDK when it probes for the era. */
export function causedBy(error: unknown): PlugboardError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    if (at instanceof PlugboardError) return at
  return undefined
}

/** Frees the connection of an answer nobody reads. */
async function drain(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined)
}
