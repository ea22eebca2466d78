// local-login.ts: a small authorization server beside the gateway, for homes and for clients that accept only OAuth: oidc-provider with
// registration (DCR) and client metadata documents (CIMD), under the path /login. There is one user, `local`: who can read the
// terminal of the gateway. Its access tokens are JWT for this gateway alone, and are checked like those of any identity provider.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { guardedFetch } from '@plugboard/core/auth'
import type { Host } from '@plugboard/core/host'
import { printable } from '@plugboard/core/text/strip-controls'
import type { IssuerConfig } from '../config/schema.ts'
import { resourceOf } from '../identity/protected-resource.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { LoginCodes } from './login-codes.ts'
import { loginPage, messagePage, PAGE_HEADERS } from './login-page.ts'
import { LoginStore } from './login-store.ts'
import { type Interaction, loadOidcProvider, type OidcProvider } from './oidc-provider.ts'

const PATH = '/login'
export const LOCAL_USER = 'local'
const SCOPE = 'mcp'
const MINUTE = 60
const DAY = 24 * 60 * MINUTE
const FORM_BYTES = 4096
/** A client that registers says a name and a few addresses. */
const REGISTRATION_BYTES = 8192
/** Logins that one address may begin, clients that it may register: so many at once, then one every ten seconds. */
const STARTS = { perSecond: 0.1, burst: 30 }
const INTERACTION = new RegExp(`^${PATH}/interaction/([\\w-]{1,64})$`)
const METADATA = /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(\/.*)?$/

export interface LocalLoginOptions {
  readonly host: Host
  /** Where the gateway is reached by its clients. */
  readonly publicUrl: string
  /** The file that keeps keys, clients and refresh tokens. */
  readonly file: string
  /** Shows a line to who runs the gateway. */
  tell(text: string): void
}

/** The issuer that the gateway accepts; `local` is where it reaches itself. */
export function localIssuer(publicUrl: string, local: string): IssuerConfig {
  return { issuer: issuerOf(publicUrl), jwksUri: `${local}${PATH}/jwks` }
}

function issuerOf(publicUrl: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${PATH}`
}

/** The authorization server of `serve --login local`, for one user. */
export class LocalLogin {
  readonly #options: LocalLoginOptions
  readonly #provider: OidcProvider
  readonly #answer: (req: IncomingMessage, res: ServerResponse) => void
  readonly #store: LoginStore
  readonly #codes: LoginCodes
  readonly #starts: MemoryStore

  static async open(options: LocalLoginOptions): Promise<LocalLogin> {
    const { Provider, InvalidTarget } = await loadOidcProvider()
    const lost = () => options.tell(`Logins end with this process: ${options.file} cannot be written.`)
    const store = await LoginStore.open(options.file, () => options.host.now(), lost)
    const provider = new Provider(issuerOf(options.publicUrl), configuration(options, store, InvalidTarget))
    return new LocalLogin(options, provider, store)
  }

  private constructor(options: LocalLoginOptions, provider: OidcProvider, store: LoginStore) {
    this.#options = options
    this.#provider = provider
    this.#store = store
    this.#codes = new LoginCodes(() => options.host.now())
    this.#starts = new MemoryStore(() => options.host.now())
    // What a proxy would say is written into each request by `claim`, whatever the client sent.
    provider.proxy = true
    this.#answer = provider.callback()
  }

  /** Answers what belongs to the login; false for every other request. */
  readonly answer = (req: IncomingMessage, res: ServerResponse): boolean => {
    const url = req.url ?? '/'
    const path = url.split('?', 1)[0] ?? ''
    const { pathname } = new URL(issuerOf(this.#options.publicUrl))
    const about = METADATA.exec(path)
    if (about && (about[1] ?? '') === pathname) {
      this.#pass(req, res, '/.well-known/openid-configuration')
      return true
    }
    if (path !== PATH && !path.startsWith(`${PATH}/`)) return false
    if (INTERACTION.test(path)) void this.#interact(req, res).catch(() => failed(res))
    else void this.#admit(req, res, path, withScope(url.slice(PATH.length) || '/'))
    return true
  }

  /** What begins something is counted by the address that it comes from, so that one address leaves room for others. */
  async #admit(req: IncomingMessage, res: ServerResponse, path: string, url: string): Promise<void> {
    const registers = path === `${PATH}/reg` && req.method === 'POST'
    const length = Number(req.headers['content-length'] ?? Number.NaN)
    if (registers && !(length <= REGISTRATION_BYTES))
      return tooMuch(res, 413, `A registration says its length, of at most ${REGISTRATION_BYTES} bytes.`)
    if (registers || path === `${PATH}/auth`) {
      const decision = await this.#starts.take(addressOf(req), STARTS)
      if (!decision.ok) {
        res.setHeader('Retry-After', Math.ceil(decision.retryMs / 1000))
        return tooMuch(res, 429, 'Too many logins were begun from this address. Try again in a moment.')
      }
    }
    this.#pass(req, res, url)
  }

  async close(): Promise<void> {
    await this.#starts.close()
    await this.#store.flush()
  }

  #pass(req: IncomingMessage, res: ServerResponse, url: string): void {
    this.#claim(req)
    // By these two the provider knows that it is not at the root.
    Object.assign(req, { originalUrl: `${this.#mount}${url}`, url })
    this.#answer(req, res)
  }

  get #mount(): string {
    return new URL(issuerOf(this.#options.publicUrl)).pathname
  }

  /** Addresses that the provider makes are those of the public address, not of headers. */
  #claim(req: IncomingMessage): void {
    const { host, protocol } = new URL(this.#options.publicUrl)
    for (const name of Object.keys(req.headers))
      if (name.startsWith('x-forwarded-') || name === 'forwarded') delete req.headers[name]
    Object.assign(req.headers, { host, 'x-forwarded-host': host, 'x-forwarded-proto': protocol.slice(0, -1) })
  }

  async #interact(req: IncomingMessage, res: ServerResponse): Promise<void> {
    this.#claim(req)
    const interaction = await this.#provider.interactionDetails(req, res).catch(() => undefined)
    if (!interaction) return page(res, 400, messagePage(OVER))
    const { uid, params } = interaction
    const clientId = String(params['client_id'])
    const name = printable((await this.#provider.Client.find(clientId))?.clientName ?? clientId).slice(0, 80)
    const goesTo = originOf(params['redirect_uri'])
    if (req.method !== 'POST') {
      const started = this.#codes.start(uid, addressOf(req))
      if (started === 'busy') return page(res, 429, messagePage(BUSY))
      if (started !== 'known')
        this.#options.tell(
          `Login: ${JSON.stringify(name)} wants to use this gateway, and goes to ${goesTo}. If you started that, its code is ${started.code} (five minutes).`,
        )
      return page(res, 200, loginPage({ client: name, goesTo }))
    }
    const form = new URLSearchParams(await body(req))
    switch (this.#codes.check(uid, form.get('code') ?? '')) {
      case 'over':
        return page(res, 403, messagePage(OVER))
      case 'wrong':
        return page(res, 403, loginPage({ client: name, goesTo, message: 'This is not the code.' }))
      case 'right':
        await this.#finish(req, res, interaction)
    }
  }

  async #finish(req: IncomingMessage, res: ServerResponse, { params }: Interaction): Promise<void> {
    const grant = new this.#provider.Grant({ accountId: LOCAL_USER, clientId: String(params['client_id']) })
    if (typeof params['scope'] === 'string') grant.addOIDCScope(params['scope'])
    // As the client wrote it: a slash at the end names the same resource, and the provider compares the text.
    for (const asked of [params['resource'] ?? resourceOf(this.#options.publicUrl)].flat())
      grant.addResourceScope(String(asked), SCOPE)
    await this.#provider.interactionFinished(req, res, {
      login: { accountId: LOCAL_USER, remember: false },
      consent: { grantId: await grant.save() },
    })
  }
}

const BUSY = 'Too many logins of this address wait for their code. Finish one, or try again in five minutes.'
const OVER = 'This login is over, or was tried too often. Start again in your client.'
/** Clients do not learn of it: they keep the id with which they registered, and only the user can remove it. */
const FORGOTTEN =
  'This gateway does not know the client. It forgets one that was not let in within an hour, or before the gateway was restarted. Remove the connection in your client and add it again: it then registers anew.'

function configuration(
  { publicUrl, host, tell }: LocalLoginOptions,
  store: LoginStore,
  InvalidTarget: new () => Error,
): object {
  const resource = resourceOf(publicUrl)
  const fetcher = guardedFetch({ host, server: new URL('https://client.invalid'), serverName: 'a client' })
  return {
    adapter: (kind: string) => store.adapter(kind),
    jwks: { keys: [store.jwk] },
    cookies: { keys: [store.cookieKey] },
    scopes: ['openid', 'offline_access', SCOPE],
    clientDefaults: { id_token_signed_response_alg: 'ES256', token_endpoint_auth_method: 'none' },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    // A login lasts as long as its refresh token, also after a restart; sessions are of one visit.
    expiresWithSession: async () => false,
    findAccount: async (_: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    extraTokenClaims: async () => ({ groups: [LOCAL_USER] }),
    ttl: {
      AccessToken: 10 * MINUTE,
      AuthorizationCode: MINUTE,
      Grant: 60 * DAY,
      IdToken: 10 * MINUTE,
      Interaction: 5 * MINUTE,
      RefreshToken: 30 * DAY,
      Session: 5 * MINUTE,
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true, initialAccessToken: false },
      revocation: { enabled: true, allowedPolicy: async () => true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: tokensFor(resource, InvalidTarget),
    },
    // Documents of clients are at addresses that a stranger chose: not in this network.
    fetch: (url: string | URL, init?: { signal?: AbortSignal }) => fetcher(url, { signal: init?.signal }),
    interactions: {
      url: (_: unknown, { uid }: Interaction) =>
        `${new URL(issuerOf(publicUrl)).pathname}/interaction/${uid}`,
    },
    renderError: async (ctx: { type: string; body: unknown }, out: Readonly<Record<string, unknown>>) => {
      ctx.type = 'html'
      const isUnknown = out['error'] === 'invalid_client'
      const said = String(out['error_description'] ?? out['error'])
      ctx.body = messagePage(isUnknown ? FORGOTTEN : said)
      if (out['error'] === 'server_error') tell('Login: an error inside the login; the client was told.')
    },
  }
}

/** Access tokens are JWT for the gateway, and for nothing else. */
function tokensFor(resource: string, InvalidTarget: new () => Error): object {
  return {
    enabled: true,
    defaultResource: async () => resource,
    useGrantedResource: async () => true,
    getResourceServerInfo: async (_: unknown, asked: string) => {
      if (asked.replace(/\/+$/, '') !== resource) throw new InvalidTarget()
      return {
        scope: SCOPE,
        audience: resource,
        accessTokenTTL: 10 * MINUTE,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }
    },
  }
}

/** A client that asks for no scope, or for others, gets the one that there is. */
function withScope(url: string): string {
  const [path, query = ''] = url.split('?', 2)
  if (path !== '/auth') return url
  const params = new URLSearchParams(query)
  const scopes = (params.get('scope') ?? '').split(' ').filter(Boolean)
  if (!scopes.includes(SCOPE)) params.set('scope', [...scopes, SCOPE].join(' '))
  return `${path}?${params}`
}

function originOf(address: unknown): string {
  if (typeof address !== 'string' || !URL.canParse(address)) return 'an unknown address'
  const { origin, protocol } = new URL(address)
  return origin === 'null' ? protocol : origin
}

async function body(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) {
    text += chunk
    if (text.length > FORM_BYTES) throw new Error('too long')
  }
  return text
}

function tooMuch(res: ServerResponse, status: number, description: string): void {
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    Connection: 'close',
  })
  res.end(JSON.stringify({ error: 'invalid_request', error_description: description }))
}

/** By which requests are told apart; of IPv6 the network, which is one customer's. */
function addressOf({ socket }: IncomingMessage): string {
  const address = socket.remoteAddress ?? ''
  return address.includes(':') && !address.startsWith('::ffff:')
    ? address.split(':').slice(0, 4).join(':')
    : address
}

function page(res: ServerResponse, status: number, html: string): void {
  res.writeHead(status, PAGE_HEADERS).end(html)
}

function failed(res: ServerResponse): void {
  if (!res.headersSent) page(res, 500, messagePage('The login failed. Start again in your client.'))
  else res.destroy()
}
