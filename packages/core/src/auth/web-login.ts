// web-login.ts: a login whose redirect comes to a web server of the program, perhaps in another process: the first half makes the
// address that the user visits, the second half takes the answer. Between them lies a value that the program keeps in secret.
// Who may open and finish a login is decided by the program.
import type { AuthorizationServer } from 'oauth4webapi'
import type { ConfiguredServer } from '../config/types.ts'
import { AuthRefused, shownUrl } from './auth-refused.ts'
import { authorizationUrl, checkedAnswer, secret } from './authorization-code.ts'
import { clientIdentity } from './client-identity.ts'
import {
  type AuthContext,
  fetchFor,
  type RemoteServer,
  remoteServer,
  usesSingleSignOn,
  type XaaSettings,
} from './context.ts'
import { discoverIdp, type Idp, idpFrom, idpOf, saveIdpSession, sessionFrom } from './cross-app-access.ts'
import { challengeOf, chooseScope, discover, isIssuer } from './discovery.ts'
import { newDpopKey } from './dpop.ts'
import { build, codeParams, previousLogin, store } from './login.ts'
import type { ClientIdentity } from './stored-logins.ts'
import { requestTokens } from './token-endpoint.ts'

/** Where the answer comes to, and the value by which it is known. */
export interface Redirection {
  readonly redirectUri: string
  readonly state: string
}

interface Visit {
  readonly as: AuthorizationServer
  readonly verifier: string
  readonly redirectUri: string
}

/** What the second half needs: plain JSON, and secret. */
export type PendingLogin =
  | (Visit & {
      readonly kind: 'server'
      readonly resource: string
      readonly sendResource: boolean
      readonly dpop: boolean
      readonly client: ClientIdentity
      readonly scope?: string
    })
  | PendingIdentityCheck

/** A visit at an identity provider that tells who the user is. */
export interface PendingIdentityCheck extends Visit {
  readonly kind: 'idp'
  readonly nonce: string
}

export interface WebLogin {
  readonly url: string
  readonly pending: PendingLogin
  /** The client that was registered for this server and redirect, for the next login. */
  readonly registered?: ClientIdentity
}

/** Who an identity provider says the user is. */
export interface CheckedIdentity {
  readonly issuer: string
  readonly subject: string
}

export async function beginWebLogin(
  configured: ConfiguredServer,
  context: AuthContext,
  to: Redirection,
  known?: { readonly issuer: string; readonly client: ClientIdentity },
): Promise<WebLogin> {
  const server = remoteServer(configured)
  if (usesSingleSignOn(server)) return beginAtIdp(server, idpOf(server, context), to, ['offline_access'])
  const fetch = fetchFor(server, context)
  const previous = await previousLogin(server, context)
  const challenge = await challengeOf(server, context, fetch)
  const found = await discover(server, challenge, fetch)
  const { as, resource, sendResource } = found
  const granted = previous?.as.issuer === as.issuer ? previous.requestedScope : undefined
  const scope = chooseScope(server, found, challenge.scope, granted)
  const client = await clientIdentity(server, context, as, {
    redirectUri: to.redirectUri,
    scope,
    previous: known && { as: { issuer: known.issuer }, client: known.client },
  })
  const verifier = secret()
  const params = {
    client_id: client.clientId,
    scope,
    resource: sendResource ? resource : undefined,
    prompt: scope?.split(' ').includes('offline_access') ? 'consent' : undefined,
  }
  const { redirectUri } = to
  return {
    url: authorizationUrl(server.name, as, { ...to, verifier }, params).href,
    pending: {
      kind: 'server',
      as,
      resource,
      sendResource,
      dpop: found.dpop,
      client,
      ...(scope !== undefined && { scope }),
      verifier,
      redirectUri,
    },
    ...(client.source === 'registered' && { registered: client }),
  }
}

/**
 * Takes the answer and saves the login. At an identity provider (single sign-on) `expected` is the user that it must name, where
 * that is known.
 */
export async function finishWebLogin(
  configured: ConfiguredServer,
  context: AuthContext,
  pending: PendingLogin,
  answer: URLSearchParams,
  state: string,
  expected?: CheckedIdentity,
): Promise<{ readonly issuer: string }> {
  const server = remoteServer(configured)
  if (pending.kind === 'idp') {
    const idp = idpOf(server, context)
    const session = await sessionAtIdp(server, context, idp, pending, answer, state)
    const subject = await subjectOf(session.idToken)
    if (expected && isIssuer(expected.issuer, pending.as.issuer) && expected.subject !== subject)
      throw otherUser(server, pending.as.issuer)
    await saveIdpSession(context, idp, session)
    return { issuer: pending.as.issuer }
  }
  const { as, client, verifier, redirectUri, scope } = pending
  const code = checkedAnswer(server.name, as, answer, state)
  const dpopKey = pending.dpop ? await newDpopKey() : undefined
  const tokens = await requestTokens({
    server: server.name,
    as,
    client,
    grant: 'authorization_code',
    params: codeParams({ code, verifier }, redirectUri, pending),
    fetch: fetchFor(server, context),
    now: () => context.host.now(),
    dpopKey,
  })
  if (tokens.kind !== 'tokens') throw tokens.error
  const previous = await previousLogin(server, context)
  const made = build(server, pending, { client, scope, previous })
  await store(server, context, { ...made, tokens: tokens.tokens, ...(dpopKey && { dpopKey }) })
  return { issuer: as.issuer }
}

/** A visit at an identity provider only to learn who the user of a browser is. Nothing of it is kept. */
export function beginIdentityCheck(
  configured: ConfiguredServer,
  context: AuthContext,
  settings: XaaSettings,
  to: Redirection,
): Promise<{ readonly url: string; readonly pending: PendingIdentityCheck }> {
  const server = remoteServer(configured)
  return beginAtIdp(server, idpFrom(server, context, settings), to, [])
}

/** Rejects when the provider names another user, or its answer cannot be believed. */
export async function finishIdentityCheck(
  configured: ConfiguredServer,
  context: AuthContext,
  settings: XaaSettings,
  pending: PendingIdentityCheck,
  answer: URLSearchParams,
  state: string,
  expected: CheckedIdentity,
): Promise<void> {
  const server = remoteServer(configured)
  const idp = idpFrom(server, context, settings)
  const { idToken } = await sessionAtIdp(server, context, idp, pending, answer, state)
  const subject = await subjectOf(idToken)
  if (expected.issuer !== pending.as.issuer || expected.subject !== subject)
    throw otherUser(server, pending.as.issuer)
}

async function beginAtIdp(server: RemoteServer, idp: Idp, to: Redirection, more: readonly string[]) {
  const as = await discoverIdp(server, idp)
  const { generateRandomNonce } = await import('oauth4webapi')
  const [nonce, verifier] = [generateRandomNonce(), secret()]
  const scopes = new Set(['openid', ...more, ...(idp.settings.scopes ?? [])])
  if (as.scopes_supported && !as.scopes_supported.includes('offline_access')) scopes.delete('offline_access')
  const url = authorizationUrl(
    server.name,
    as,
    { ...to, verifier },
    {
      client_id: idp.client.clientId,
      scope: [...scopes].join(' '),
      nonce,
      prompt: scopes.has('offline_access') ? 'consent' : undefined,
    },
  )
  const pending: PendingIdentityCheck = { kind: 'idp', as, nonce, verifier, redirectUri: to.redirectUri }
  return { url: url.href, pending }
}

/** The ID token in the session is verified. */
async function sessionAtIdp(
  server: RemoteServer,
  context: AuthContext,
  idp: Idp,
  { as, nonce, verifier, redirectUri }: PendingIdentityCheck,
  answer: URLSearchParams,
  state: string,
) {
  const code = checkedAnswer(server.name, as, answer, state)
  const tokens = await requestTokens({
    server: server.name,
    as,
    client: idp.client,
    grant: 'authorization_code',
    params: { code, code_verifier: verifier, redirect_uri: redirectUri },
    fetch: idp.fetch,
    now: () => context.host.now(),
  })
  return await sessionFrom(server, context, idp, as, tokens, nonce)
}

/** Of an ID token that was verified. */
async function subjectOf(idToken: string): Promise<string> {
  const { decodeJwt } = await import('jose')
  return String(decodeJwt(idToken).sub)
}

function otherUser(server: RemoteServer, issuer: string): AuthRefused {
  return new AuthRefused(
    'wrong-user',
    `${shownUrl(issuer)} says that another user is logged in in this browser than the one this login is for.`,
    { server: server.name, hint: 'Log out there, and open the address again as the right user.' },
  )
}
