// login-renewal.ts: how a login is renewed: by its refresh token, as a machine login, or through single sign-on
// (cross-app-access.ts).
import { PlugboardError } from '../errors.ts'
import { AuthRefused, shownUrl } from './auth-refused.ts'
import {
  type AuthContext,
  exchangeFor,
  fetchFor,
  httpUrl,
  type MachineSettings,
  mayUseCredentials,
  type RemoteServer,
  usesSingleSignOn,
} from './context.ts'
import { JWT_BEARER, renewByXaa } from './cross-app-access.ts'
import { challengeOf, chooseScope, discover } from './discovery.ts'
import { newDpopKey } from './dpop.ts'
import { type ClientIdentity, clientSecret, type Login } from './stored-logins.ts'
import { CLIENT_FAULTS, requestTokens, type TokenAnswer } from './token-endpoint.ts'
import { renewByTokenExchange } from './token-exchange.ts'
import { asFailure, type RefreshOutcome, refreshLogin, type TokenRefresher } from './token-refresh.ts'

export function refresherFor(server: RemoteServer, context: AuthContext): TokenRefresher {
  const machine = machineLoginFor(server, context)
  if (machine)
    return refreshLogin({
      server,
      context,
      unattended: true,
      renew: (login) => attempt(() => renewAsMachine(server, context, machine, login)),
    })
  const exchange = exchangeFor(server, context)
  if (exchange)
    return refreshLogin({
      server,
      context,
      unattended: true,
      renew: (login) => attempt(() => renewByTokenExchange(server, context, exchange, login)),
    })
  if (usesSingleSignOn(server))
    return refreshLogin({
      server,
      context,
      unattended: true,
      renew: (login) => attempt(() => renewByXaa(server, context, login)),
    })
  return refreshLogin({
    server,
    context,
    unattended: false,
    renew: (login) => attempt(() => renewByRefreshToken(server, context, login)),
  })
}

export function machineLoginFor(
  server: RemoteServer,
  { settings }: AuthContext,
): MachineSettings | undefined {
  const machines = mayUseCredentials(server) ? settings?.machines : undefined
  return machines && Object.hasOwn(machines, server.name) ? machines[server.name] : undefined
}

async function attempt(renew: () => Promise<RefreshOutcome>): Promise<RefreshOutcome> {
  try {
    return await renew()
  } catch (error) {
    // A step the user has to take (log in at the identity provider) is not a failure to retry.
    if (error instanceof PlugboardError && error.code === 'AUTH_REQUIRED') throw error
    return asFailure(error)
  }
}

async function renewByRefreshToken(
  server: RemoteServer,
  context: AuthContext,
  login: Login | undefined,
): Promise<RefreshOutcome> {
  const refreshToken = login?.tokens.refreshToken
  if (!login || !refreshToken) return asFailure(undefined)
  const answer = await requestTokens({
    server: server.name,
    as: login.as,
    client: login.client,
    grant: 'refresh_token',
    params: { refresh_token: refreshToken, resource: login.sendResource ? login.resource : undefined },
    fetch: fetchFor(server, context),
    now: () => context.host.now(),
    dpopKey: login.dpopKey,
  })
  return outcomeOf(answer, (tokens) => ({
    ...login,
    // A server that rotates sends a new refresh token; otherwise the old one stays valid.
    tokens: { refreshToken, ...(login.tokens.scope && { scope: login.tokens.scope }), ...tokens },
    generation: login.generation + 1,
  }))
}

export function outcomeOf(answer: TokenAnswer, build: (tokens: Login['tokens']) => Login): RefreshOutcome {
  if (answer.kind === 'tokens') return { kind: 'renewed', login: build(answer.tokens) }
  if (answer.kind === 'trouble') return { kind: 'failed', failure: 'temporary', error: answer.error }
  const temporary = ['temporarily_unavailable', 'server_error', 'slow_down'].includes(answer.code)
  const client = CLIENT_FAULTS.has(answer.code)
  return {
    kind: 'failed',
    failure: temporary ? 'temporary' : client ? 'client-dead' : 'grant-dead',
    error: answer.error,
  }
}

/** The credentials are for an address; an entry with the right name proves nothing. */
function assertBound(server: RemoteServer, machine: MachineSettings): void {
  const { name } = server
  if (machine.url === undefined && machine.issuer === undefined)
    throw new AuthRefused(
      'unbound-credentials',
      `The machine login of "${name}" does not say which server it is for, so its credentials are not sent.`,
      { server: name, hint: `Add "url": "${shownUrl(httpUrl(server))}" to \`logins.machines.${name}\`.` },
    )
  if (machine.url === undefined || isUnder(httpUrl(server), machine.url)) return
  throw new AuthRefused(
    'address-mismatch',
    `"${name}" is at ${shownUrl(httpUrl(server))}; the credentials are for ${shownUrl(machine.url)}.`,
    { server: name, hint: `Correct \`logins.machines.${name}.url\`, or leave the server alone.` },
  )
}

/** The same origin, and the same path or one below it. */
function isUnder(url: string, base: string): boolean {
  const asHttp = base.replace(/^ws(s?):/, 'http$1:')
  if (!URL.canParse(url) || !URL.canParse(asHttp)) return false
  const [at, wanted] = [new URL(url), new URL(asHttp)]
  const path = wanted.pathname.replace(/\/$/, '')
  return at.origin === wanted.origin && (at.pathname === path || at.pathname.startsWith(`${path}/`))
}

async function renewAsMachine(
  server: RemoteServer,
  context: AuthContext,
  machine: MachineSettings,
  login: Login | undefined,
): Promise<RefreshOutcome> {
  assertBound(server, machine)
  const fetch = fetchFor(server, context)
  const challenge = await challengeOf(server, context, fetch)
  const found = await discover(server, challenge, fetch)
  if (machine.issuer !== undefined && found.as.issuer !== machine.issuer)
    throw new AuthRefused(
      'issuer-mismatch',
      `"${server.name}" names ${shownUrl(found.as.issuer)} as its authorization server; the credentials are for ${shownUrl(machine.issuer)}.`,
      { server: server.name, hint: 'Correct the settings, or leave the server alone.' },
    )
  const secret =
    machine.clientSecret ??
    (machine.privateKey ? undefined : await clientSecret(server, context, found.as.issuer))
  const client: ClientIdentity = {
    clientId: machine.clientId,
    ...(secret && { clientSecret: secret }),
    source: 'configured',
  }
  const dpopKey = found.dpop ? (login?.dpopKey ?? (await newDpopKey())) : undefined
  // An authorization server also lists scopes for users (`openid`); a machine login requests the resource's own.
  const resourceOnly = { ...found, as: { issuer: found.as.issuer } }
  const scope =
    machine.scopes?.join(' ') ?? withoutOffline(chooseScope(server, resourceOnly, challenge.scope, undefined))
  const assertion = typeof machine.assertion === 'function' ? await machine.assertion() : machine.assertion
  const answer = await requestTokens({
    server: server.name,
    as: found.as,
    client,
    grant: assertion === undefined ? 'client_credentials' : JWT_BEARER,
    params: { assertion, scope, resource: found.sendResource ? found.resource : undefined },
    fetch,
    now: () => context.host.now(),
    dpopKey,
    clientAuth: machine.privateKey === undefined ? undefined : await signedAssertion(machine),
  })
  const { clientSecret: _kept, ...publicClient } = client
  return outcomeOf(answer, (tokens) => ({
    version: 1,
    grant: 'client_credentials',
    server: server.name,
    url: server.entry.url,
    as: found.as,
    resource: found.resource,
    sendResource: found.sendResource,
    client: publicClient,
    tokens,
    ...(scope && { requestedScope: scope }),
    ...(dpopKey && { dpopKey }),
    generation: (login?.generation ?? 0) + 1,
  }))
}

/** A machine login has no session to keep alive. */
function withoutOffline(scope: string | undefined): string | undefined {
  const rest = scope?.split(' ').filter((word) => word !== 'offline_access')
  return rest && rest.length > 0 ? rest.join(' ') : undefined
}

async function signedAssertion(machine: MachineSettings) {
  const [oauth, jose] = await Promise.all([import('oauth4webapi'), import('jose')])
  const alg = machine.alg ?? 'ES256'
  const { privateKey } = machine
  try {
    const key =
      typeof privateKey === 'string'
        ? await jose.importPKCS8(privateKey, alg)
        : await jose.importJWK({ ...privateKey } as Parameters<typeof jose.importJWK>[0], alg)
    if (key instanceof Uint8Array) throw new TypeError('a symmetric key')
    return oauth.PrivateKeyJwt(machine.kid ? { key, kid: machine.kid } : key)
  } catch {
    // A key parser's error may quote the key.
    throw new AuthRefused(
      'token-refused',
      `The private key of client "${machine.clientId}" is not a ${alg} key.`,
      {
        hint: 'Give it as a PKCS#8 PEM or a private JWK, with the right `alg`.',
      },
    )
  }
}
