// cross-app-access.ts: single sign-on for many servers (SEP-990). One login at the company's identity provider gives
// an ID token; for each server it is exchanged for a grant (ID-JAG) and that for an access token, without prompting
// the user.
import type { JSONWebKeySet } from 'jose'
import type { AuthorizationServer } from 'oauth4webapi'
import { AuthRequired, InvalidInput } from '../errors.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { AuthRefused, shownUrl } from './auth-refused.ts'
import { type AuthorizationCodeOptions, prepareAuthorization } from './authorization-code.ts'
import { type AuthContext, fetchFor, type RemoteServer, withAuthLock, type XaaSettings } from './context.ts'
import { challengeOf, checkedMetadata, chooseScope, discover, isIssuer, wellKnownUrls } from './discovery.ts'
import { newDpopKey } from './dpop.ts'
import { type GuardedFetch, guardedFetch } from './guarded-fetch.ts'
import { type ClientIdentity, clientSecret, type Login } from './stored-logins.ts'
import { requestTokens, type TokenAnswer } from './token-endpoint.ts'
import type { RefreshOutcome } from './token-refresh.ts'

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'

/** What is kept of the login at the identity provider. */
export interface IdpSession {
  readonly version: 1
  readonly as: AuthorizationServer
  readonly idToken: string
  /** By this machine's clock: when it arrived, plus its stated lifetime. */
  readonly idTokenEndsAt: number
  readonly refreshToken?: string
}

export interface Idp {
  readonly settings: XaaSettings
  readonly client: ClientIdentity
  readonly fetch: GuardedFetch
  readonly name: string
}

export function idpOf(server: RemoteServer, context: AuthContext): Idp {
  const settings = context.settings?.xaa
  if (!settings || !URL.canParse(settings.issuer))
    throw new InvalidInput(
      `"${server.name}" uses single sign-on (\`oauth.xaa\`), and no identity provider is set up.`,
      {
        server: server.name,
        stage: 'auth',
        hint: 'Set `xaa.issuer` and `xaa.clientId` in your settings.',
      },
    )
  const clientSecret = settings.clientSecret ?? context.host.env.PLUGBOARD_XAA_CLIENT_SECRET
  return idpFrom(server, context, { ...settings, ...(clientSecret && { clientSecret }) })
}

/** An identity provider that the user, or the operator of a gateway, chose. */
export function idpFrom(server: RemoteServer, context: AuthContext, settings: XaaSettings): Idp {
  const { clientSecret: secret } = settings
  return {
    settings,
    client: { clientId: settings.clientId, ...(secret && { clientSecret: secret }), source: 'configured' },
    // The user chose the identity provider: the guard treats its own address as home, not the server's.
    fetch: guardedFetch({
      host: context.host,
      server: new URL(settings.issuer),
      serverName: server.name,
      resolve: context.resolve,
    }),
    name: JSON.stringify(['idp', settings.issuer, settings.clientId]),
  }
}

/** Makes sure there is a session at the identity provider; prompts the user only when there is none. */
export async function loginToIdp(
  server: RemoteServer,
  context: AuthContext,
  interaction: AuthorizationCodeOptions,
): Promise<{ askedUser: boolean }> {
  const idp = idpOf(server, context)
  const known = await idToken(server, context, idp).catch((error) => {
    if (error instanceof AuthRequired) return undefined
    throw error
  })
  if (known) return { askedUser: false }
  const as = await discoverIdp(server, idp)
  const visit = await prepareAuthorization({
    host: context.host,
    server: server.name,
    port: idp.settings.callbackPort,
    interaction,
  })
  try {
    const { generateRandomNonce } = await import('oauth4webapi')
    const nonce = generateRandomNonce()
    const scopes = new Set(['openid', 'offline_access', ...(idp.settings.scopes ?? [])])
    if (as.scopes_supported && !as.scopes_supported.includes('offline_access'))
      scopes.delete('offline_access')
    const grant = await visit.go(as, {
      client_id: idp.client.clientId,
      scope: [...scopes].join(' '),
      nonce,
      prompt: scopes.has('offline_access') ? 'consent' : undefined,
    })
    const answer = await requestTokens({
      server: server.name,
      as,
      client: idp.client,
      grant: 'authorization_code',
      params: { code: grant.code, code_verifier: grant.verifier, redirect_uri: visit.redirectUri },
      fetch: idp.fetch,
      now: () => context.host.now(),
      signal: interaction.signal,
    })
    const session = await sessionFrom(server, context, idp, as, answer, nonce)
    await saveIdpSession(context, idp, session)
    return { askedUser: true }
  } finally {
    await visit.close()
  }
}

/** Forgets the login at the identity provider; the servers keep the tokens from it until they expire. */
export async function logoutOfIdp(server: RemoteServer, context: AuthContext): Promise<boolean> {
  const idp = idpOf(server, context)
  return locked(context, idp, () => context.vault.delete(idp.name))
}

export async function discoverIdp(server: RemoteServer, idp: Idp): Promise<AuthorizationServer> {
  const { issuer } = idp.settings
  // For an identity provider OpenID discovery comes first, for a plain authorization server RFC 8414.
  for (const url of [...wellKnownUrls(new URL(issuer))].reverse()) {
    const response = await idp.fetch(url)
    if (!response.ok) continue
    const json = (await response.json().catch(() => undefined)) as Record<string, unknown> | undefined
    if (!json) continue
    if (!isIssuer(json.issuer, issuer))
      throw new AuthRefused(
        'issuer-mismatch',
        `${shownUrl(url)} names another issuer than ${shownUrl(issuer)}.`,
        {
          server: server.name,
        },
      )
    return checkedMetadata(server, json)
  }
  throw new AuthRefused('bad-metadata', `The identity provider ${shownUrl(issuer)} publishes no metadata.`, {
    server: server.name,
    hint: 'Check `xaa.issuer` in your settings.',
  })
}

export async function sessionFrom(
  server: RemoteServer,
  context: AuthContext,
  idp: Idp,
  as: AuthorizationServer,
  answer: TokenAnswer,
  nonce: string | undefined,
  before?: IdpSession,
): Promise<IdpSession> {
  if (answer.kind !== 'tokens') throw answer.error
  if (answer.idToken === undefined)
    throw new AuthRefused('bad-id-token', `${shownUrl(as.issuer)} gave no ID token.`, { server: server.name })
  const lifetime = await verifiedLifetime(server, idp, as, answer.idToken, nonce)
  const refreshToken = answer.tokens.refreshToken ?? before?.refreshToken
  return {
    version: 1,
    as,
    idToken: answer.idToken,
    idTokenEndsAt: context.host.now() + lifetime * 1000,
    ...(refreshToken && { refreshToken }),
  }
}

/** Signature, issuer, audience and nonce. The clocks of two machines differ, so only the lifetime is taken from it. */
async function verifiedLifetime(
  server: RemoteServer,
  idp: Idp,
  as: AuthorizationServer,
  token: string,
  nonce: string | undefined,
): Promise<number> {
  const jose = await import('jose')
  try {
    const response = await idp.fetch(as.jwks_uri ?? '')
    // The library checks its shape and throws on anything else.
    const keys = jose.createLocalJWKSet((await response.json()) as JSONWebKeySet)
    const { payload } = await jose.jwtVerify(token, keys, {
      issuer: as.issuer,
      audience: idp.client.clientId,
      clockTolerance: AUTH_LIMITS.clockToleranceSeconds,
      requiredClaims: ['exp', 'iat', 'sub'],
    })
    if (nonce !== undefined && payload.nonce !== nonce) throw new TypeError('nonce')
    return Math.max(0, (payload.exp ?? 0) - (payload.iat ?? 0))
  } catch {
    // The details of a bad token are hidden: a verifier's message may quote it.
    throw new AuthRefused(
      'bad-id-token',
      `The ID token of ${shownUrl(as.issuer)} is not valid (signature, issuer, audience or nonce).`,
      {
        server: server.name,
      },
    )
  }
}

/** A current ID token, renewed silently when it has expired; AuthRequired when the user has to act. */
export async function idToken(server: RemoteServer, context: AuthContext, idp: Idp): Promise<IdpSession> {
  const ask = (why: string) =>
    new AuthRequired(server.name, { hint: `${why} Run \`plugboard login ${server.name}\`.` })
  const current = await loadSession(context, idp)
  if (current && holds(current, context)) return current
  return locked(context, idp, async () => {
    const session = await loadSession(context, idp)
    if (!session) throw ask('Single sign-on is not logged in yet.')
    if (holds(session, context)) return session
    if (!session.refreshToken) throw ask('The single sign-on login has ended.')
    const answer = await requestTokens({
      server: server.name,
      as: session.as,
      client: idp.client,
      grant: 'refresh_token',
      params: { refresh_token: session.refreshToken },
      fetch: idp.fetch,
      now: () => context.host.now(),
    })
    if (answer.kind === 'refused') throw ask('The single sign-on login has ended.')
    const renewed = await sessionFrom(server, context, idp, session.as, answer, undefined, session)
    await context.vault.set(idp.name, JSON.stringify(renewed))
    return renewed
  })
}

function holds(session: IdpSession, { host }: AuthContext): boolean {
  return session.idTokenEndsAt - host.now() > AUTH_LIMITS.idTokenAheadMs
}

async function loadSession(context: AuthContext, idp: Idp): Promise<IdpSession | undefined> {
  const text = await context.vault.get(idp.name)
  return text === undefined ? undefined : (JSON.parse(text) as IdpSession)
}

function locked<T>(context: AuthContext, idp: Idp, work: () => Promise<T>): Promise<T> {
  return withAuthLock(context, idp.name, work)
}

/** Keeps the session at the identity provider for the exchanges to come. */
export async function saveIdpSession(context: AuthContext, idp: Idp, session: IdpSession): Promise<void> {
  await locked(context, idp, () => context.vault.set(idp.name, JSON.stringify(session)))
}

/** ID token → ID-JAG → access token. The grant in the middle is good for one use, so only the ends are kept. */
export async function renewByXaa(
  server: RemoteServer,
  context: AuthContext,
  login: Login | undefined,
): Promise<RefreshOutcome> {
  const idp = idpOf(server, context)
  const session = await idToken(server, context, idp)
  const fetch = fetchFor(server, context)
  const challenge = await challengeOf(server, context, fetch)
  const found = await discover(server, challenge, fetch)
  const scope = chooseScope(server, { ...found, as: { issuer: found.as.issuer } }, challenge.scope, undefined)
  const { resource } = found
  const now = () => context.host.now()
  const jag = await identityGrant(server, idp, session, { audience: found.as.issuer, resource, scope }, now)
  if (jag.kind !== 'tokens') return failedRefresh(jag)
  const client = await xaaClient(server, context, found.as.issuer, idp)
  const dpopKey = found.dpop ? (login?.dpopKey ?? (await newDpopKey())) : undefined
  const answer = await requestTokens({
    server: server.name,
    as: found.as,
    client,
    grant: JWT_BEARER,
    params: { assertion: jag.tokens.accessToken, resource: found.sendResource ? resource : undefined, scope },
    fetch,
    now,
    dpopKey,
  })
  if (answer.kind !== 'tokens') return failedRefresh(answer)
  const { refreshToken: _unused, ...tokens } = answer.tokens
  return {
    kind: 'renewed',
    login: {
      version: 1,
      grant: 'xaa',
      server: server.name,
      url: server.entry.url,
      as: found.as,
      resource,
      sendResource: found.sendResource,
      client,
      tokens,
      ...(scope && { requestedScope: scope }),
      ...(dpopKey && { dpopKey }),
      generation: (login?.generation ?? 0) + 1,
    },
  }
}

/** Exchanges the ID token at the identity provider for a grant to the server's authorization server (ID-JAG). */
async function identityGrant(
  server: RemoteServer,
  idp: Idp,
  session: IdpSession,
  wanted: { readonly audience: string; readonly resource: string; readonly scope: string | undefined },
  now: () => number,
): Promise<TokenAnswer> {
  const answer = await requestTokens({
    server: server.name,
    as: session.as,
    client: idp.client,
    grant: TOKEN_EXCHANGE,
    params: {
      requested_token_type: ID_JAG,
      subject_token: session.idToken,
      subject_token_type: ID_TOKEN,
      ...wanted,
    },
    fetch: idp.fetch,
    now,
  })
  if (answer.kind === 'tokens' && answer.issuedType !== ID_JAG)
    throw new AuthRefused(
      'bad-response',
      `${shownUrl(session.as.issuer)} answered the exchange of the ID token without a grant.`,
      { server: server.name },
    )
  return answer
}

function failedRefresh({ kind, error }: Exclude<TokenAnswer, { kind: 'tokens' }>): RefreshOutcome {
  return { kind: 'failed', failure: kind === 'trouble' ? 'temporary' : 'grant-dead', error }
}

async function xaaClient(
  server: RemoteServer,
  context: AuthContext,
  issuer: string,
  idp: Idp,
): Promise<ClientIdentity> {
  const secret = await clientSecret(server, context, issuer)
  return {
    clientId: server.entry.oauth?.clientId ?? idp.client.clientId,
    ...(secret && { clientSecret: secret }),
    source: 'configured',
  }
}
