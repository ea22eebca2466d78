// login.ts: logs in to a server, and out again. Discovery, the client identity, the browser part and the token
// request each have their own file; this one runs them in order.
import type { ConfiguredServer } from '../config/types.ts'
import { type AuthorizationCodeOptions, prepareAuthorization } from './authorization-code.ts'
import { clientIdentity } from './client-identity.ts'
import {
  type AuthContext,
  exchangeFor,
  fetchFor,
  type RemoteServer,
  remoteServer,
  serverKey,
  usesSingleSignOn,
  withAuthLock,
} from './context.ts'
import { loginToIdp } from './cross-app-access.ts'
import { challengeOf, chooseScope, type Discovered, discover } from './discovery.ts'
import { newDpopKey } from './dpop.ts'
import { machineLoginFor, refresherFor } from './login-renewal.ts'
import { forgetNeedsAuth, needsAuth } from './needs-auth.ts'
import { deleteLogin, type Login, loadLogin, saveLogin, unusable } from './stored-logins.ts'
import { clientAuthentication, requestTokens } from './token-endpoint.ts'

export interface LoginResult {
  readonly server: string
  readonly issuer: string
  readonly resource: string
  readonly scope?: string
  /** When the current access token expires; a login that renews itself lives longer. */
  readonly expiresAt?: number
  readonly renewable: boolean
  readonly client: Login['client']['source']
  /** False where single sign-on or a machine login needed no user. */
  readonly askedUser: boolean
  readonly vault: AuthContext['vault']['kind']
}

/**
 * Logs in to a server and stores the login in the vault.
 *
 *     await login(server, context, { openBrowser: true, onUrl: (url) => console.error(url) })
 */
export async function login(
  configured: ConfiguredServer,
  context: AuthContext,
  interaction: AuthorizationCodeOptions,
): Promise<LoginResult> {
  const server = remoteServer(configured)
  if (machineLoginFor(server, context) || exchangeFor(server, context) || usesSingleSignOn(server))
    return loginUnattended(server, context, interaction)
  const fetch = fetchFor(server, context)
  await checkVault(context)
  const previous = await previousLogin(server, context)
  const challenge = await challengeOf(server, context, fetch)
  const found = await discover(server, challenge, fetch)
  const granted = previous?.as.issuer === found.as.issuer ? previous.requestedScope : undefined
  const scope = chooseScope(server, found, challenge.scope, granted)
  const visit = await prepareAuthorization({
    host: context.host,
    server: server.name,
    port: server.entry.oauth?.callbackPort,
    preferredPort: portOf(previous?.client.redirectUri),
    interaction,
  })
  try {
    const client = await clientIdentity(server, context, found.as, {
      redirectUri: visit.redirectUri,
      scope,
      previous,
    })
    const grant = await visit.go(found.as, {
      client_id: client.clientId,
      scope,
      resource: found.sendResource ? found.resource : undefined,
      // OpenID providers give offline access only after prompting the user for consent.
      prompt: scope?.split(' ').includes('offline_access') ? 'consent' : undefined,
    })
    const dpopKey = found.dpop ? await newDpopKey() : undefined
    const answer = await requestTokens({
      server: server.name,
      as: found.as,
      client,
      grant: 'authorization_code',
      params: codeParams(grant, visit.redirectUri, found),
      fetch,
      now: () => context.host.now(),
      dpopKey,
      signal: interaction.signal,
    })
    if (answer.kind !== 'tokens') throw answer.error
    const made = build(server, found, { client, scope, previous })
    const fresh: Login = { ...made, tokens: answer.tokens, ...(dpopKey && { dpopKey }) }
    await store(server, context, fresh)
    return describe(context, fresh, true)
  } catch (error) {
    if (previous?.client.source === 'registered') await doubtRegistration(server, context, previous)
    throw error
  } finally {
    await visit.close()
  }
}

export function codeParams(
  { code, verifier }: { readonly code: string; readonly verifier: string },
  redirectUri: string,
  { sendResource, resource }: Pick<Discovered, 'sendResource' | 'resource'>,
) {
  return {
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
    resource: sendResource ? resource : undefined,
  }
}

/**
 * A server that forgot our registration shows the user an error and sends us nothing; so after a failed login, the
 * next one registers again.
 */
async function doubtRegistration(server: RemoteServer, context: AuthContext, previous: Login): Promise<void> {
  await locked(server, context, async () => {
    const stored = await previousLogin(server, context)
    if (stored?.generation !== previous.generation) return
    await saveLogin(server, context, { ...stored, client: unusable(stored.client) })
    // The login's own failure is reported; this only prepared the next one.
  }).catch(() => undefined)
}

export function build(
  server: RemoteServer,
  found: Pick<Discovered, 'as' | 'resource' | 'sendResource'>,
  made: { client: Login['client']; scope: string | undefined; previous: Login | undefined },
): Omit<Login, 'tokens'> {
  return {
    version: 1,
    grant: 'authorization_code',
    server: server.name,
    url: server.entry.url,
    as: found.as,
    resource: found.resource,
    sendResource: found.sendResource,
    client: made.client,
    ...(made.scope && { requestedScope: made.scope }),
    generation: (made.previous?.generation ?? 0) + 1,
  }
}

/** Machine logins need no user; single sign-on needs one only when the identity provider's own login has expired. */
async function loginUnattended(
  server: RemoteServer,
  context: AuthContext,
  interaction: AuthorizationCodeOptions,
): Promise<LoginResult> {
  const refresher = refresherFor(server, context)
  const { askedUser } = server.entry.oauth?.xaa
    ? await loginToIdp(server, context, interaction)
    : { askedUser: false }
  // A server that has just rejected the stored token needs a new one, not the same again.
  if (await needsAuth(server, context)) await locked(server, context, () => deleteLogin(server, context))
  const fresh = await refresher.get({ signal: interaction.signal })
  await forgetNeedsAuth(server, context)
  return describe(context, fresh, askedUser)
}

/** Under the renewal lock, so that a running renewal cannot overwrite the new login with the old one. */
export async function store(server: RemoteServer, context: AuthContext, fresh: Login): Promise<void> {
  await locked(server, context, () => saveLogin(server, context, fresh))
  await forgetNeedsAuth(server, context)
}

function locked<T>(server: RemoteServer, context: AuthContext, work: () => Promise<T>): Promise<T> {
  return withAuthLock(context, serverKey(server), work)
}

/** A damaged login does not block a new one; the vault moves it aside. */
export async function previousLogin(server: RemoteServer, context: AuthContext): Promise<Login | undefined> {
  return loadLogin(server, context).catch(() => undefined)
}

/** Check that the login can be stored before sending the user through it. */
async function checkVault({ vault }: AuthContext): Promise<void> {
  await vault.set('trial', 'trial')
  await vault.delete('trial')
}

function portOf(redirectUri: string | undefined): number | undefined {
  return redirectUri && URL.canParse(redirectUri) ? Number(new URL(redirectUri).port) || undefined : undefined
}

function describe(context: AuthContext, made: Login, askedUser: boolean): LoginResult {
  const scope = made.tokens.scope ?? made.requestedScope
  return {
    server: made.server,
    issuer: made.as.issuer,
    resource: made.resource,
    ...(scope && { scope }),
    ...(made.tokens.expiresAt !== undefined && { expiresAt: made.tokens.expiresAt }),
    renewable: made.tokens.refreshToken !== undefined || made.grant !== 'authorization_code',
    client: made.client.source,
    askedUser,
    vault: context.vault.kind,
  }
}

export interface LogoutResult {
  readonly server: string
  /** There was a login, and it was removed from the vault. */
  readonly forgotten: boolean
  /** The authorization server revoked its tokens. */
  readonly revoked: boolean
  /** Why not, as a message for the user. */
  readonly reason?: string
}

/** Revokes the tokens at the authorization server, and forgets them here whatever it responds. */
export async function logout(configured: ConfiguredServer, context: AuthContext): Promise<LogoutResult> {
  const server = remoteServer(configured)
  const done = await locked(server, context, async () => {
    const known = await previousLogin(server, context)
    const outcome = known
      ? await revoke(server, context, known)
      : { revoked: false, reason: 'There was no login.' }
    const forgotten = await deleteLogin(server, context)
    return { server: server.name, forgotten, ...outcome }
  })
  // Boards that run hold the login in memory: they connect anew, without it.
  if (done.forgotten) await forgetNeedsAuth(server, context)
  return done
}

async function revoke(
  server: RemoteServer,
  context: AuthContext,
  known: Login,
): Promise<{ revoked: boolean; reason?: string }> {
  if (!known.as.revocation_endpoint)
    return { revoked: false, reason: 'The authorization server has no revocation endpoint.' }
  const oauth = await import('oauth4webapi')
  const fetch = fetchFor(server, context)
  const auth = await clientAuthentication(known.as, known.client)
  const tokens = [
    ['refresh_token', known.tokens.refreshToken],
    ['access_token', known.tokens.accessToken],
  ] as const
  try {
    for (const [hint, token] of tokens) {
      if (!token) continue
      const response = await oauth.revocationRequest(
        known.as,
        { client_id: known.client.clientId },
        auth,
        token,
        {
          [oauth.allowInsecureRequests]: true,
          [oauth.customFetch]: (url, init) =>
            fetch(url, { method: init.method, headers: init.headers, body: init.body as URLSearchParams }),
          additionalParameters: { token_type_hint: hint },
        },
      )
      // Structured access tokens often cannot be revoked; the refresh token is what counts.
      if (response.status !== 200 && (hint === 'refresh_token' || !known.tokens.refreshToken))
        return { revoked: false, reason: `The authorization server answered ${response.status}.` }
    }
    return { revoked: true }
  } catch {
    // Logging out must not fail because the network is down; the result says what did not happen.
    return { revoked: false, reason: 'The authorization server could not be reached.' }
  }
}
