// user-logins.ts: each user's own login at the servers that the operator named: how a user's instance of a server logs in, asking
// the user for a login, and taking it back. The pages of a login are in login-steps.ts; tickets and sealing have their own files.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ConfiguredServer, type Host, InvalidInput, type LocalBoard } from '@plugboard/core'
import {
  type AuthContext,
  authFor,
  isRemote,
  loadLogin,
  logout,
  needsAuth,
  type RemoteServer,
  usesSingleSignOn,
} from '@plugboard/core/auth'
import { PermissionDenied } from '@plugboard/core/errors'
import { visible } from '@plugboard/core/text/escape-controls'
import type { User } from '../access/access.ts'
import { type ClientRequest, GATEWAY_ITSELF } from '../client-request.ts'
import { headersFor } from '../config/header-templates.ts'
import type { UserLoginServerConfig, UserLoginsConfig } from '../config/schema.ts'
import { UserLoginRequired } from '../errors.ts'
import type { Json } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import { type LoginAttempt, LoginAttempts } from './login-attempts.ts'
import { type FieldStore, fieldFiles } from './login-files.ts'
import { startUrl } from './login-pages.ts'
import { type LoginInfo, SealedLogins, SIGN_ON } from './sealed-logins.ts'
import { storeLock } from './store-lock.ts'

const LOGIN_MINUTES = 10
/** Users whose context is kept; the others' are made anew. */
const CONTEXTS = 5000

/** What follows when logins change. */
export interface LoginListener {
  /** The login of a user, or of all, does not hold any more: their connections must end. */
  gone(user: string | undefined, server: string | undefined): void
  /** A login of the user was made, or failed. */
  changed(user: string): void
}

/** How replicas hear of each other's logins. */
export interface LoginBus {
  on(kind: 'login-changed', receive: (value: Json) => unknown): unknown
  tell(kind: 'login-changed', value: Json): Promise<boolean>
}

export interface UserLoginsOptions {
  readonly config: UserLoginsConfig
  readonly publicUrl: string
  readonly host: Host
  readonly stateDir: string
  /** Seals links and states. */
  readonly keys: KeyRing
  /** Seals the logins. */
  readonly loginKeys: KeyRing
  /** What replicas share; without it logins are kept in files. */
  readonly shared?: { readonly store: Store; readonly bus: LoginBus } | undefined
  /** The operator's own: settings for single sign-on, secrets of OAuth clients. */
  readonly operator: Pick<AuthContext, 'vault' | 'settings' | 'resolve'>
}

/** What an instance of a user is opened with. */
export interface UserLogin {
  readonly headers?: Readonly<Record<string, string>>
  readonly auth?: (server: ConfiguredServer) => ReturnType<typeof authFor>
}

/** Each user's own login at the servers that the operator named; give it to `openGateway` as `userLogins`. */
export class UserLogins {
  readonly options: UserLoginsOptions
  readonly attempts: LoginAttempts
  readonly fields: FieldStore
  readonly #sealed: SealedLogins
  readonly #contexts = new Map<string, AuthContext>()
  /** By user and scopes: the last token, for those that are exchanged; never kept elsewhere. */
  readonly #assertions = new Map<string, string>()
  /** By user and server: a login that is under way. */
  readonly #open = new Map<string, Promise<LoginAttempt>>()
  /** By session and server: the question that its user has before it. */
  readonly #asking = new Map<string, Promise<Json>>()
  #config: UserLoginsConfig
  #board: LocalBoard | undefined
  #listener: LoginListener | undefined

  constructor(options: UserLoginsOptions) {
    const { shared, stateDir, keys, loginKeys, host } = options
    this.options = options
    this.#config = options.config
    this.attempts = new LoginAttempts(shared?.store ?? new MemoryStore(), keys, () => host.now())
    this.fields = shared?.store ?? fieldFiles(join(stateDir, 'user-logins'))
    this.#sealed = new SealedLogins(this.fields, loginKeys)
    shared?.bus.on('login-changed', (value) => this.#heard(value))
  }

  bind(board: LocalBoard, listener: LoginListener): void {
    this.#board = board
    this.#listener = listener
  }

  get config(): UserLoginsConfig {
    return this.#config
  }

  /** Connections to servers that are configured differently now are made anew. */
  replace(config: UserLoginsConfig): void {
    const before = this.#config.servers
    for (const server of Object.keys(before))
      if (!isDeepStrictEqual(before[server], config.servers[server])) this.#listener?.gone(undefined, server)
    this.#config = config
    this.#contexts.clear()
  }

  /** The servers that users have for themselves because of what they log in with. */
  serves(server: string): boolean {
    return Object.hasOwn(this.#config.servers, server)
  }

  /** Whether a user logs in there in person. */
  asks(server: string): boolean {
    const config = this.#serverConfig(server)
    return config !== undefined && config.login !== false && config.exchange === undefined
  }

  get servers(): readonly string[] {
    return Object.keys(this.#config.servers)
  }

  #serverConfig(server: string): UserLoginServerConfig | undefined {
    return this.serves(server) ? this.#config.servers[server] : undefined
  }

  /** A request of a user came with this token. */
  present(user: User, bearer: () => string): void {
    const isExchanged = Object.values(this.#config.servers).some(
      ({ exchange }) => exchange !== undefined && exchange.issuer === user.issuer,
    )
    if (!isExchanged) return
    const of = contextKey(user, scopesOf(user))
    this.#assertions.delete(of)
    this.#assertions.set(of, bearer())
    dropOldest(this.#assertions)
  }

  /** What an instance is told apart by, besides its user: another header, or a token with other scopes that is exchanged. */
  variant(server: string, user: User): string {
    const headers = this.#headers(server, user)
    const scopes = this.#exchanges(server) ? scopesOf(user) : ''
    return `${headers ? digest(JSON.stringify(headers)) : ''}${scopes}`
  }

  #exchanges(server: string): boolean {
    return this.#serverConfig(server)?.exchange !== undefined
  }

  instanceLogin(server: string, user: User): UserLogin {
    const config = this.#serverConfig(server)
    const configured = this.configured(server)
    const headers = this.#headers(server, user)
    if (config?.login === false) return headers ? { headers } : {}
    if (Object.keys(configured.entry.headers).some((name) => name.toLowerCase() === 'authorization'))
      throw new InvalidInput(
        `"${server}" has an Authorization header in its entry, which no user's login can replace.`,
        {
          server,
          hint: 'The operator of this gateway has to remove the header, or the server from "userLogins".',
        },
      )
    // A token with fewer scopes gets nothing that one with more was exchanged for.
    const context = this.contextOf(user, this.#exchanges(server) ? scopesOf(user) : '')
    return { ...(headers && { headers }), auth: (one) => authFor(one, context) }
  }

  #headers(server: string, user: User): Readonly<Record<string, string>> | undefined {
    const templates = this.#serverConfig(server)?.headers
    return templates && headersFor(server, templates, user)
  }

  /** The server as it is configured. What a repository configures is told nothing about users. */
  configured(server: string): RemoteServer {
    const configured = this.#board?.link.configured(server)
    if (configured && isRemote(configured) && configured.author !== 'repository') return configured
    throw new InvalidInput(`"${server}" is no server that users can log in to.`, {
      server,
      hint: "It has to be a remote server of the operator's own configuration.",
    })
  }

  contextOf(user: User, variant = ''): AuthContext {
    const of = contextKey(user, variant)
    const known = this.#contexts.get(of)
    if (known) return known
    const { host, stateDir, shared, operator } = this.options
    const { xaa, clientMetadataUrl } = operator.settings ?? {}
    const records = new Map<string, NonNullable<Awaited<ReturnType<typeof needsAuth>>>>()
    const context: AuthContext = {
      host,
      // For lock files, where no store is shared.
      stateDir: join(stateDir, 'user-logins', user.key.slice(0, 32)),
      vault: this.#sealed.vault(user, operator.vault, variant),
      settings: {
        ...(xaa && { xaa }),
        ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
        exchanges: this.#exchangesOf(user, of),
      },
      ...(operator.resolve && { resolve: operator.resolve }),
      ...(shared && { lock: storeLock(shared.store, of) }),
      needs: records,
    }
    this.#contexts.set(of, context)
    dropOldest(this.#contexts)
    return context
  }

  /** A token goes to the issuer that it came from, and to no other. */
  #exchangesOf(user: User, of: string) {
    const { env } = this.options.host
    return Object.fromEntries(
      Object.entries(this.#config.servers).flatMap(([server, { exchange }]) => {
        if (!exchange) return []
        const { clientSecretEnv, ...rest } = exchange
        const clientSecret = clientSecretEnv === undefined ? undefined : env[clientSecretEnv]
        const subjectToken = () => (exchange.issuer === user.issuer ? this.#assertions.get(of) : undefined)
        return [[server, { ...rest, clientSecret, subjectToken }]]
      }),
    )
  }

  /** Whether a connection can be tried without asking the user. */
  async mayConnect(server: string, user: User): Promise<boolean> {
    if (!this.asks(server)) return true
    const configured = this.configured(server)
    const context = this.contextOf(user)
    if (usesSingleSignOn(configured)) return await this.#sealed.hasAny(user.key)
    return (await loadLogin(configured, context)) !== undefined
  }

  /** Sends the user to log in, and resolves when that is done. Rejects when it is not, with what the user can do. */
  async ask(server: string, request: ClientRequest, signal: AbortSignal = request.signal): Promise<void> {
    const { client } = request
    const { user } = client
    if (!user) throw new PermissionDenied(`"${server}" is for users with a name.`, { server })
    const hadLogin = await this.mayConnect(server, user)
    const attempt = await this.#attempt(server, user)
    const url = startUrl(this.options.publicUrl, this.attempts.ticket(attempt))
    const byHand = (why: string) => new UserLoginRequired(server, why, url)
    if (!client.capabilities.elicitUrl)
      throw byHand('Open this address in a browser, log in, then call again')
    const answer = await this.#question(server, request, attempt, url, signal).catch((error: unknown) => {
      if (signal.aborted) throw error
      throw byHand('Open this address in a browser, log in, then call again')
    })
    if (answer.action !== 'accept')
      throw byHand('The login was declined. To log in after all, open this address, then call again')
    // A login that the user finished elsewhere, in another client or at another replica, is as good.
    const elsewhere = hadLogin ? undefined : () => this.mayConnect(server, user)
    const outcome = await this.attempts.wait(attempt, signal, elsewhere)
    if (outcome?.ok === false)
      throw byHand(`The login did not go through: ${outcome.reason} To try again, open`)
    if (!outcome) throw byHand('The login was not finished in time. Call again')
    if (client.era === 'legacy')
      request.notify('notifications/elicitation/complete', { elicitationId: attempt.id })
  }

  /** Several calls of one session at a time put one question. */
  async #question(
    server: string,
    request: ClientRequest,
    attempt: LoginAttempt,
    url: string,
    signal: AbortSignal,
  ): Promise<Json> {
    const { client } = request
    const params = {
      mode: 'url',
      message: `"${visible(server)}" needs your own login. Open the page to log in; the call goes on when you are done.`,
      url,
      ...(client.era === 'legacy' && { elicitationId: attempt.id }),
    }
    const origin = { server: GATEWAY_ITSELF, key: `login-${server}`, requestState: undefined }
    const put = () => request.ask('elicitation/create', params, signal, origin)
    // The question of a task may wait for its stream: no other call waits with it.
    if (client.era !== 'legacy' || request.prefersTask) return await put()
    const key = JSON.stringify([client.id, server])
    for (;;) {
      const running = this.#asking.get(key)
      // A call that gave up has not asked: the next one does.
      const heard = await running?.catch(() => undefined)
      if (heard) return heard
      if (this.#asking.has(key) && this.#asking.get(key) !== running) continue
      const own = put()
      this.#asking.set(key, own)
      try {
        return await own
      } finally {
        if (this.#asking.get(key) === own) this.#asking.delete(key)
      }
    }
  }

  /** One that is under way is gone on with, so that a user sees one address. */
  async #attempt(server: string, user: User): Promise<LoginAttempt> {
    const key = JSON.stringify([user.key, server])
    const before = this.#open.get(key)
    const lifeMs = (this.#config.minutes ?? LOGIN_MINUTES) * 60_000
    const made = (async () => {
      const open = await before?.catch(() => undefined)
      const isFresh = open !== undefined && open.until - this.options.host.now() > lifeMs / 2
      if (isFresh && !(await this.attempts.outcome(open))) return open
      const note = await needsAuth(this.configured(server), this.contextOf(user))
      const { since: _, ...challenge } = note ?? { since: 0 }
      return this.attempts.begin(user, server, lifeMs, challenge)
    })()
    // Set before anything is awaited: calls at the same time have the same attempt.
    this.#open.set(key, made)
    dropOldest(this.#open)
    return await made
  }

  /** A login is there, or an attempt failed: those that wait for it go on, on every replica. */
  async changed({ id, user, server }: LoginAttempt): Promise<void> {
    this.#open.delete(JSON.stringify([user.key, server]))
    this.#listener?.changed(user.key)
    await this.options.shared?.bus.tell('login-changed', { id, user: user.key, server })
  }

  #heard({ id, user, server, gone }: Json): void {
    if (gone === true) this.#drop(String(user), typeof server === 'string' ? server : undefined)
    else this.#listener?.changed(String(user))
    this.#open.delete(JSON.stringify([user, server]))
    this.attempts.wake(String(id))
  }

  #drop(user: string, server: string | undefined): void {
    for (const of of [...this.#contexts.keys()]) if (of.split(' ', 1)[0] === user) this.#contexts.delete(of)
    this.#listener?.gone(user, server)
  }

  list(): Promise<readonly LoginInfo[]> {
    return this.#sealed.list()
  }

  /** Users that have a login. */
  users(): ReturnType<SealedLogins['users']> {
    return this.#sealed.users()
  }

  /**
   * Forgets a user's login at one server, or all of them, and revokes it there where that works. Undefined when there is none. With
   * a login that came from single sign-on the session at the identity provider goes too, or it would make the next one.
   */
  async revoke(
    user: { readonly key: string; readonly name: string },
    server?: string,
  ): Promise<{ readonly servers: readonly string[] } | undefined> {
    const own = await this.#sealed.of(user)
    const named = own.filter((one) => server === undefined || one.server === server)
    const signsOn = server === SIGN_ON || named.some(({ bySignOn }) => bySignOn) || this.#signsOn(server)
    const ended =
      server === SIGN_ON
        ? own.filter(({ bySignOn }) => bySignOn)
        : own.filter((one) => named.includes(one) || (signsOn && one.server === SIGN_ON))
    for (const { server: name, variant } of ended) {
      const configured = this.#board?.link.configured(name)
      const context = this.contextOf({ roles: [], ...user }, variant)
      // What the server says does not matter: here the login is forgotten in any case.
      if (configured && isRemote(configured)) await logout(configured, context).catch(() => undefined)
    }
    const servers = [...new Set(ended.map((one) => one.server))]
    const names = server === undefined ? [undefined] : [...new Set([server, ...servers])]
    let had = ended.length > 0
    for (const name of names) had = (await this.#sealed.forget(user.key, name)) || had
    const gone = server === SIGN_ON ? undefined : server
    this.#drop(user.key, gone)
    const news = { user: user.key, gone: true, ...(gone !== undefined && { server: gone }) }
    await this.options.shared?.bus.tell('login-changed', news)
    return had ? { servers } : undefined
  }

  #signsOn(server: string | undefined): boolean {
    const configured = server === undefined ? undefined : this.#board?.link.configured(server)
    return configured !== undefined && isRemote(configured) && usesSingleSignOn(configured)
  }
}

function contextKey({ key }: Pick<User, 'key'>, variant: string): string {
  return variant === '' ? key : `${key} ${variant}`
}

/** Tokens of one user with other scopes are other rights. */
function scopesOf({ scopes }: User): string {
  return scopes === undefined ? '' : digest([...new Set(scopes)].sort().join(' '))
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

function dropOldest(map: Map<string, unknown>): void {
  if (map.size <= CONTEXTS) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
