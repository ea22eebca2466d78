// token-exchange.ts: an access token for a server in exchange for a token that the user already has (RFC 8693). The user's token
// goes to the authorization server that the operator named, and to no other place; what comes back is the server's.
import type { AuthorizationServer } from 'oauth4webapi'
import { AuthRequired } from '../errors.ts'
import { AuthRefused, shownUrl } from './auth-refused.ts'
import { type AuthContext, canonicalUrl, type ExchangeSettings, type RemoteServer } from './context.ts'
import { discoverIdp, idpFrom, TOKEN_EXCHANGE } from './cross-app-access.ts'
import { isIssuer } from './discovery.ts'
import type { ClientIdentity, Login } from './stored-logins.ts'
import { requestTokens } from './token-endpoint.ts'
import type { RefreshOutcome } from './token-refresh.ts'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

export async function renewByTokenExchange(
  server: RemoteServer,
  context: AuthContext,
  exchange: ExchangeSettings,
  login: Login | undefined,
): Promise<RefreshOutcome> {
  const subject = subjectOf(server, exchange)
  const { issuer, clientId, clientSecret } = exchange
  const idp = idpFrom(server, context, { issuer, clientId, ...(clientSecret && { clientSecret }) })
  // A login of another kind, or of an earlier setting, names another server: the user's token must not go there.
  const known = login?.grant === 'token_exchange' && isIssuer(login.as.issuer, issuer) ? login.as : undefined
  const as: AuthorizationServer = known ?? (await discoverIdp(server, idp))
  const resource = canonicalUrl(server)
  const answer = await requestTokens({
    server: server.name,
    as,
    client: idp.client,
    grant: TOKEN_EXCHANGE,
    params: {
      subject_token: subject,
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: ACCESS_TOKEN,
      resource,
      audience: exchange.audience,
      scope: exchange.scopes?.join(' '),
    },
    fetch: idp.fetch,
    now: () => context.host.now(),
  })
  if (answer.kind !== 'tokens')
    return {
      kind: 'failed',
      failure: answer.kind === 'trouble' ? 'temporary' : 'grant-dead',
      error: answer.error,
    }
  if (answer.tokens.accessToken === subject)
    throw new AuthRefused(
      'bad-response',
      `${shownUrl(as.issuer)} returned the user's own token, which is not passed on.`,
      { server: server.name },
    )
  const { refreshToken: _unused, ...tokens } = answer.tokens
  // The secret is read from the settings each time.
  const { clientSecret: _secret, ...client }: ClientIdentity = idp.client
  return {
    kind: 'renewed',
    login: {
      version: 1,
      grant: 'token_exchange',
      server: server.name,
      url: server.entry.url,
      as,
      resource,
      sendResource: true,
      client,
      tokens,
      generation: (login?.generation ?? 0) + 1,
    },
  }
}

function subjectOf(server: RemoteServer, { issuer, subjectToken }: ExchangeSettings): string {
  const subject = subjectToken()
  if (subject !== undefined) return subject
  throw new AuthRequired(server.name, {
    hint: `It takes tokens that ${shownUrl(issuer)} exchanges for yours, and this request carries none that can be exchanged.`,
  })
}
