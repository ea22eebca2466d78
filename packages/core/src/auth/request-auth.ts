// request-auth.ts: the requests to one server carry its login: adds the token to each, and sends a request again after
// a 401 or 403 when a newer or wider login helps. It knows no transport: the caller gives the exchange. Other files
// obtain, renew and store logins.
import type { ConfiguredServer } from '../config/types.ts'
import { AuthRequired } from '../errors.ts'
import type { Host } from '../host.ts'
import { quoted } from './auth-refused.ts'
import { type AuthChallenge, authChallenge } from './challenge.ts'
import {
  type AuthContext,
  exchangeFor,
  httpUrl,
  isRemote,
  type RemoteServer,
  usesSingleSignOn,
} from './context.ts'
import { dpopProof } from './dpop.ts'
import { machineLoginFor, refresherFor } from './login-renewal.ts'
import { forgetNeedsAuth, needsAuth, rememberNeedsAuth } from './needs-auth.ts'
import { type Login, loadLogin } from './stored-logins.ts'
import type { TokenRefresher } from './token-refresh.ts'

type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Lower-case names: `authorization`, and `dpop` where the token is bound to a key. Empty without a login. */
export type LoginHeaders = Readonly<Record<string, string>>

export interface AuthRequest {
  readonly method: string
  readonly url: URL
}

/** What this layer reads of a response. */
export interface AuthResponse {
  readonly status: number
  /** The value of a header, by its lower-case name. */
  header(name: string): string | undefined
  /** The response is not used: its connection is freed. */
  discard(): void
}

/** Performs the request once, with these headers beside its own. */
export type Exchange<R extends AuthResponse> = (login: LoginHeaders) => Promise<R>

export interface RequestAuth {
  /**
   * One request: the exchange runs with the headers of the login, and again after a 401 or 403 when a newer or wider
   * login helps. Rejects with AuthRequired when the user has to act.
   */
  send<R extends AuthResponse>(request: AuthRequest, exchange: Exchange<R>): Promise<R>
}

/** The auth of one server. */
export interface BoardAuth extends RequestAuth {
  /** The same for programs with a `fetch` of their own, such as one that they give to a transport of the SDK. */
  fetch(next: FetchLike): FetchLike
  /** The user asked for a retry: ignore a cached "needs login" record. */
  tryAgain(): void
}

/** `undefined` for servers that are not reached over HTTP, or cannot be. */
export function authFor(server: ConfiguredServer, context: AuthContext): BoardAuth | undefined {
  // With an address that cannot be one, the transport says what is wrong.
  return isRemote(server) && URL.canParse(server.entry.url) ? new ServerAuth(server, context) : undefined
}

const NO_HEADERS: LoginHeaders = Object.freeze({})

/** One exchange, with the login that it carried. */
interface Tried<R> {
  readonly response: R
  readonly login: Login | undefined
}

class ServerAuth implements BoardAuth {
  readonly #server: RemoteServer
  readonly #context: AuthContext
  readonly #host: Host
  readonly #refresher: TokenRefresher
  readonly #unattended: boolean
  readonly #origin: string
  readonly #nonces = new Map<string, string>()
  /** The user's own Authorization header replaces any login. */
  readonly #fixed: boolean
  /** The vault held no login when we looked; a 401 makes us look again. */
  #loggedOut = false
  /** The refresher holds a login: the vault stays out of the fast path. */
  #holdsLogin = false
  /** The cached "needs login" record was looked up, which happens once. */
  #looked = false
  /** The user asked for a retry: if the server accepts, the cached record is wrong for all processes. */
  #afresh = false

  constructor(server: RemoteServer, context: AuthContext) {
    this.#server = server
    this.#context = context
    this.#host = context.host
    this.#refresher = refresherFor(server, context)
    this.#unattended =
      machineLoginFor(server, context) !== undefined ||
      exchangeFor(server, context) !== undefined ||
      usesSingleSignOn(server)
    this.#origin = new URL(httpUrl(server)).origin
    this.#fixed = Object.keys(server.entry.headers).some((name) => name.toLowerCase() === 'authorization')
  }

  async send<R extends AuthResponse>(request: AuthRequest, exchange: Exchange<R>): Promise<R> {
    // A server may name another origin (an SSE endpoint, a redirect): it gets no token of ours.
    if (request.url.origin !== this.#origin) return exchange(NO_HEADERS)
    let tried = await this.#attempt(request, exchange)
    const gaveNonce = this.#learnNonce(request, tried.response)
    if (gaveNonce && tried.response.status === 401 && tried.login?.tokens.type === 'dpop') {
      tried = await this.#again(tried, request, exchange)
      this.#learnNonce(request, tried.response)
    }
    const { status } = tried.response
    if (status < 300 && this.#afresh) await this.#forgetRecord()
    return status === 401 || status === 403
      ? this.#afterFirstRefusal(tried, request, exchange)
      : tried.response
  }

  fetch(next: FetchLike): FetchLike {
    return async (input, init) => {
      const url = new URL(String(input))
      const { response } = await this.send({ method: init?.method ?? 'GET', url }, async (login) => {
        const headers = new Headers(init?.headers)
        for (const [name, value] of Object.entries(login)) headers.set(name, value)
        return asAuthResponse(await next(url, { ...init, headers }))
      })
      return response
    }
  }

  tryAgain(): void {
    this.#looked = true
    this.#loggedOut = false
    // The user may have logged out meanwhile, or in with another account.
    this.#holdsLogin = false
    this.#afresh = true
  }

  async #attempt<R extends AuthResponse>(request: AuthRequest, exchange: Exchange<R>): Promise<Tried<R>> {
    // Without a login, and once the record was looked up, there is nothing to wait for.
    const isOpen = this.#fixed || (this.#loggedOut && this.#looked && !this.#unattended)
    const login = isOpen ? undefined : await this.#login()
    const headers = login ? await this.#headers(login, request) : NO_HEADERS
    return { response: await exchange(headers), login }
  }

  #again<R extends AuthResponse>(
    { response }: Tried<R>,
    request: AuthRequest,
    exchange: Exchange<R>,
  ): Promise<Tried<R>> {
    response.discard()
    return this.#attempt(request, exchange)
  }

  async #afterFirstRefusal<R extends AuthResponse>(
    first: Tried<R>,
    request: AuthRequest,
    exchange: Exchange<R>,
  ): Promise<R> {
    if ((await this.#afterRefusal(first)) === 'give-up') return first.response
    let tried = await this.#again(first, request, exchange)
    if (tried.response.status === 401 && !first.login && tried.login) {
      // A login from another process may need its first renewal here.
      await this.#afterRefusal(tried)
      tried = await this.#again(tried, request, exchange)
    }
    if (tried.response.status === 401) throw await this.#stillRefused(tried.response)
    // A login that the server accepts may still be too narrow for this request.
    if (tried.response.status === 403) await this.#afterRefusal(tried)
    return tried.response
  }

  async #login(): Promise<Login | undefined> {
    try {
      const login = this.#holdsLogin ? await this.#refresher.get() : await this.#storedLogin()
      this.#holdsLogin ||= login !== undefined
      if (!login) await this.#failFastIfLoginNeeded()
      return login
    } catch (error) {
      throw error instanceof AuthRequired ? await this.#asked({ dpop: false }, error) : error
    }
  }

  async #storedLogin(): Promise<Login | undefined> {
    if (this.#unattended) return this.#refresher.get()
    const stored = await loadLogin(this.#server, this.#context).catch(() => 'unreadable' as const)
    this.#loggedOut = stored === undefined
    return this.#loggedOut ? undefined : this.#refresher.get()
  }

  /** Another request got a 401 a moment ago: only a login helps, so the request is skipped. */
  async #failFastIfLoginNeeded(): Promise<void> {
    if (this.#looked || this.#unattended) return
    this.#looked = true
    if (await needsAuth(this.#server, this.#context)) throw new AuthRequired(this.#server.name)
  }

  async #forgetRecord(): Promise<void> {
    this.#afresh = false
    if (!(await needsAuth(this.#server, this.#context))) return
    // The record is only a cache: a failure to change it must not fail the request.
    await forgetNeedsAuth(this.#server, this.#context).catch(() => undefined)
  }

  async #headers(login: Login, { method, url }: AuthRequest): Promise<LoginHeaders> {
    const { accessToken, type } = login.tokens
    if (type !== 'dpop' || !login.dpopKey) return { authorization: `Bearer ${accessToken}` }
    const nonce = this.#nonces.get(url.origin)
    const proof = { method, url, accessToken, nonce, now: this.#host.now() }
    return { authorization: `DPoP ${accessToken}`, dpop: await dpopProof(login.dpopKey, proof) }
  }

  #learnNonce({ url }: AuthRequest, response: AuthResponse): boolean {
    const nonce = response.header('dpop-nonce')
    if (!nonce || nonce.length > 512 || this.#nonces.get(url.origin) === nonce) return false
    this.#nonces.set(url.origin, nonce)
    return true
  }

  /** Is there something new to try after this rejection? Throws AuthRequired when the user has to act. */
  async #afterRefusal({ response, login }: Tried<AuthResponse>): Promise<'retry' | 'give-up'> {
    try {
      return await this.#newerLogin(response, login)
    } catch (error) {
      response.discard()
      throw error
    }
  }

  async #newerLogin(response: AuthResponse, login: Login | undefined): Promise<'retry' | 'give-up'> {
    const challenge = challengeOf(response)
    if (response.status === 403) {
      if (this.#fixed || challenge.error !== 'insufficient_scope') return 'give-up'
      return this.#widerLogin(challenge, login)
    }
    if (this.#fixed) throw this.#refusedHeaders()
    try {
      await this.#renewed(login)
      return 'retry'
    } catch (error) {
      throw error instanceof AuthRequired ? await this.#asked(challenge, error) : error
    }
  }

  async #renewed(rejected: Login | undefined): Promise<void> {
    await this.#refresher.get({ rejected: rejected?.tokens.accessToken })
    this.#loggedOut = false
    this.#holdsLogin = true
  }

  /** Another process may have stepped up already; otherwise the user has to grant more scope. */
  async #widerLogin(challenge: AuthChallenge, tried: Login | undefined): Promise<'retry'> {
    const { name } = this.#server
    const stored = await loadLogin(this.#server, this.#context).catch(() => undefined)
    if (stored && stored.tokens.accessToken !== tried?.tokens.accessToken) {
      await this.#renewed(tried)
      return 'retry'
    }
    const scope = quoted(challenge.scope, [tried?.tokens.accessToken])
    const hint = `The server requires more scopes than were granted${scope && ` (${scope})`}. Run \`plugboard login ${name}\`.`
    throw await this.#asked(challenge, new AuthRequired(name, { wider: true, hint }))
  }

  async #asked(challenge: AuthChallenge, error: AuthRequired): Promise<AuthRequired> {
    const { error: _code, dpop, ...wanted } = challenge
    const record = { ...wanted, ...(dpop && { dpop }) }
    // The record spares other processes a request that would get 401; a failed write must not hide the AuthRequired error.
    await rememberNeedsAuth(this.#server, this.#context, record).catch(() => undefined)
    return error
  }

  #refusedHeaders(): AuthRequired {
    const { name, source } = this.#server
    return new AuthRequired(name, {
      hint: `The server refuses the Authorization header of the entry. Correct it in ${source}.`,
    })
  }

  /** The error after a second rejection. */
  #stillRefused(response: AuthResponse): Promise<AuthRequired> {
    const { name } = this.#server
    const hint = `The server refuses the stored login. Run \`plugboard login ${name}\`.`
    const error = new AuthRequired(name, { hint })
    const challenge = challengeOf(response)
    response.discard()
    return this.#asked(challenge, error)
  }
}

function challengeOf(response: AuthResponse): AuthChallenge {
  return authChallenge(response.header('www-authenticate'))
}

function asAuthResponse(response: Response): AuthResponse & { readonly response: Response } {
  return {
    response,
    status: response.status,
    header: (name) => response.headers.get(name) ?? undefined,
    discard: () => void response.body?.cancel().catch(() => undefined),
  }
}
