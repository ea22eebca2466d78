// client-identity.ts: the OAuth client of a login: the client id from the configuration, this client's own metadata
// document, or a dynamic registration.
import type { AuthorizationServer } from 'oauth4webapi'
import { isObject } from '../json.ts'
import { AuthRefused, quoted, shownUrl } from './auth-refused.ts'
import { type AuthContext, fetchFor, type RemoteServer } from './context.ts'
import { type ClientAuthMethod, type ClientIdentity, clientSecret, type Login } from './stored-logins.ts'

export async function clientIdentity(
  server: RemoteServer,
  context: AuthContext,
  as: AuthorizationServer,
  request: {
    readonly redirectUri: string
    readonly scope?: string | undefined
    readonly previous?: Pick<Login, 'as' | 'client'> | undefined
  },
): Promise<ClientIdentity> {
  const configured = server.entry.oauth?.clientId
  const { previous } = request
  if (configured !== undefined) {
    const secret = await clientSecret(server, context, as.issuer)
    if (secret && previous && previous.as.issuer !== as.issuer)
      throw new AuthRefused(
        'issuer-mismatch',
        `"${server.name}" now names another authorization server (${shownUrl(as.issuer)}, it was ${shownUrl(previous.as.issuer)}); the client secret is not sent there.`,
        { server: server.name, hint: `If the move is real, run \`plugboard logout ${server.name}\` first.` },
      )
    return { clientId: configured, ...(secret && { clientSecret: secret }), source: 'configured' }
  }
  const document = context.settings?.clientMetadataUrl
  if (document && as.client_id_metadata_document_supported)
    return { clientId: document, authMethod: 'none', source: 'metadata-document' }
  const known = previous?.as.issuer === as.issuer ? previous.client : undefined
  if (
    known?.source === 'registered' &&
    known.redirectUri === request.redirectUri &&
    covers(known.scope, request.scope)
  )
    return known
  return register(server, context, as, request)
}

/** Some servers restrict a client to the scopes it registered with; more scope needs a new registration. */
function covers(registered: string | undefined, wanted: string | undefined): boolean {
  const known = new Set(registered?.split(' '))
  return (wanted ?? '').split(' ').every((word) => word === '' || known.has(word))
}

async function register(
  server: RemoteServer,
  context: AuthContext,
  as: AuthorizationServer,
  { redirectUri, scope }: { readonly redirectUri: string; readonly scope?: string | undefined },
): Promise<ClientIdentity> {
  const refused = (why: string) =>
    new AuthRefused('registration-refused', `${shownUrl(as.issuer)} ${why}.`, {
      server: server.name,
      hint: 'Register a client there by hand and set its id as `oauth.clientId` (with `oauth.callbackPort`).',
    })
  if (!as.registration_endpoint) throw refused('does not let clients register themselves')
  const methods = as.token_endpoint_auth_methods_supported
  const method: ClientAuthMethod =
    !methods || methods.includes('none')
      ? 'none'
      : methods.includes('client_secret_basic')
        ? 'client_secret_basic'
        : 'client_secret_post'
  const response = await fetchFor(server, context)(as.registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      client_name: context.settings?.clientName ?? 'Plugboard',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: isLoopbackUri(redirectUri) ? 'native' : 'web',
      ...(scope && { scope }),
    }),
  })
  const body = await readObject(response)
  if (response.status !== 200 && response.status !== 201) {
    const words = [body?.error, body?.error_description].map((part) => quoted(part)).filter(Boolean)
    throw refused(`refused to register this client (${[response.status, ...words].join(', ')})`)
  }
  if (typeof body?.client_id !== 'string') throw refused('answered the registration without a client id')
  const authMethod = body.token_endpoint_auth_method
  return {
    clientId: body.client_id,
    ...(typeof body.client_secret === 'string' && { clientSecret: body.client_secret }),
    authMethod: isMethod(authMethod) ? authMethod : method,
    source: 'registered',
    redirectUri,
    ...(scope && { scope }),
  }
}

/** OpenID Connect Registration: a redirect to this machine is that of a native client, one over https that of a web client. */
function isLoopbackUri(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

function isMethod(value: unknown): value is ClientAuthMethod {
  return value === 'none' || value === 'client_secret_basic' || value === 'client_secret_post'
}

async function readObject(response: Response): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const body: unknown = JSON.parse(await response.text())
    return isObject(body) ? body : undefined
  } catch {
    // A web page instead of JSON; the status is enough.
    return undefined
  }
}
