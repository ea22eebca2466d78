// discovery.ts: from a server's address to its authorization server. Every document on the way is untrusted: only
// known fields are read, every URL is checked, and each fault has its own error code.
import type { AuthorizationServer } from 'oauth4webapi'
import { traitsOf } from '../config/transport-traits.ts'
import { isObject } from '../json.ts'
import { AuthRefused, quoted, shownUrl } from './auth-refused.ts'
import { type AuthChallenge, authChallenge } from './challenge.ts'
import { type AuthContext, httpUrl, type RemoteServer } from './context.ts'
import { type GuardedFetch, isSecureUrl } from './guarded-fetch.ts'
import { needsAuth } from './needs-auth.ts'

export interface Discovered {
  readonly as: AuthorizationServer
  readonly resource: string
  readonly sendResource: boolean
  /** The scopes that the resource says it needs. */
  readonly resourceScopes: readonly string[]
  readonly dpop: boolean
}

type Json = Readonly<Record<string, unknown>>

/** The server's challenge from its last 401, or from a request now. */
export async function challengeOf(
  server: RemoteServer,
  context: AuthContext,
  fetch: GuardedFetch,
): Promise<AuthChallenge> {
  const asked = await needsAuth(server, context)
  const telling = asked?.scope !== undefined || asked?.resourceMetadata !== undefined
  return asked && telling ? { ...asked, dpop: asked.dpop ?? false } : probe(server, fetch)
}

/** Sends a request without any credential: the server's 401 says where its metadata is. */
async function probe(server: RemoteServer, fetch: GuardedFetch): Promise<AuthChallenge> {
  const sse = traitsOf(server.entry).opensWith === 'event-stream'
  const headers: Record<string, string> = {
    ...server.entry.headers,
    accept: sse ? 'text/event-stream' : 'application/json, text/event-stream',
    ...(!sse && { 'content-type': 'application/json' }),
  }
  const response = await fetch(httpUrl(server), {
    method: sse ? 'GET' : 'POST',
    headers,
    ...(!sse && { body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }) }),
    headersOnly: true,
  })
  return response.status === 401 || response.status === 403
    ? authChallenge(response.headers.get('www-authenticate'))
    : { dpop: false }
}

export async function discover(
  server: RemoteServer,
  challenge: AuthChallenge,
  fetch: GuardedFetch,
): Promise<Discovered> {
  const document = await resourceMetadata(server, challenge, fetch)
  const resource = document ? checkedResource(server, document) : httpUrl(server)
  const configured = server.entry.oauth?.authServerMetadataUrl
  const named = document ? strings(document.authorization_servers)[0] : undefined
  const as = configured
    ? await metadataAt(server, configured, fetch)
    : named
      ? await metadataOf(server, named, fetch)
      : ((await metadataOf(server, new URL('/', httpUrl(server)).href, fetch, true)) ?? undefined)
  if (!as)
    throw new AuthRefused('bad-metadata', `"${server.name}" asks for a login and does not say where.`, {
      server: server.name,
      hint: 'Name its authorization server in `oauth.authServerMetadataUrl`.',
    })
  return {
    as,
    resource,
    sendResource: document !== undefined,
    resourceScopes: strings(document?.scopes_supported),
    dpop: challenge.dpop || document?.dpop_bound_access_tokens_required === true,
  }
}

async function resourceMetadata(
  server: RemoteServer,
  challenge: AuthChallenge,
  fetch: GuardedFetch,
): Promise<Json | undefined> {
  const url = new URL(httpUrl(server))
  if (challenge.resourceMetadata !== undefined) {
    const named = URL.canParse(challenge.resourceMetadata) ? new URL(challenge.resourceMetadata) : undefined
    if (named?.origin !== url.origin)
      throw new AuthRefused(
        'cross-origin-metadata',
        `"${server.name}" points to metadata at another origin (${shownUrl(challenge.resourceMetadata)}); only its own counts.`,
        { server: server.name, hint: 'The server is misconfigured or hostile; do not log in there.' },
      )
    const { status, json } = await getJson(named, fetch)
    if (json) return json
    if (status < 400) throw badMetadata(server, named, 'is not JSON')
  }
  const path = url.pathname === '/' ? '' : url.pathname.replace(/\/$/, '')
  const guesses = [`/.well-known/oauth-protected-resource${path}`, '/.well-known/oauth-protected-resource']
  for (const guess of new Set(guesses)) {
    // Many servers return a page for any path; only JSON counts.
    const { status, json } = await getJson(new URL(guess, url), fetch)
    if (status === 200 && json && typeof json.resource === 'string') return json
  }
  return undefined
}

/** The resource has to be the server itself or a path above it, or its tokens would be valid for another server. */
function checkedResource(server: RemoteServer, document: Json): string {
  const named = document.resource
  const url = new URL(httpUrl(server))
  if (typeof named === 'string' && URL.canParse(named)) {
    const resource = new URL(named)
    const prefix = resource.pathname.endsWith('/') ? resource.pathname : `${resource.pathname}/`
    if (resource.origin === url.origin && `${url.pathname}/`.startsWith(prefix)) return named
  }
  throw new AuthRefused(
    'resource-mismatch',
    `"${server.name}" claims to be another resource (${shownUrl(String(named))}); a token for that is not fetched.`,
    { server: server.name, hint: 'The server is misconfigured or hostile; do not log in there.' },
  )
}

/** RFC 8414 first, then OpenID Connect's places; `undefined` unless a legacy server's fixed paths will do. */
async function metadataOf(
  server: RemoteServer,
  issuer: string,
  fetch: GuardedFetch,
  legacy = false,
): Promise<AuthorizationServer | undefined> {
  if (!URL.canParse(issuer)) throw badMetadata(server, issuer, 'is not a URL')
  for (const url of wellKnownUrls(new URL(issuer))) {
    const { status, json } = await getJson(url, fetch)
    if (status >= 500 && status !== 502) throw badMetadata(server, url, `answered ${status}`)
    if (status !== 200 || !json) continue
    if (!isIssuer(json.issuer, issuer))
      throw new AuthRefused(
        'issuer-mismatch',
        `${shownUrl(url)} names another issuer (${shownUrl(String(json.issuer))}) than the one requested (${shownUrl(issuer)}).`,
        {
          server: server.name,
          hint: 'The authorization server is misconfigured or hostile; do not log in there.',
        },
      )
    return checkedMetadata(server, json)
  }
  return legacy ? legacyEndpoints(server) : undefined
}

async function metadataAt(
  server: RemoteServer,
  url: string,
  fetch: GuardedFetch,
): Promise<AuthorizationServer> {
  const { status, json } = await getJson(new URL(url), fetch)
  if (status !== 200 || !json) throw badMetadata(server, url, json ? `answered ${status}` : 'is not JSON')
  return checkedMetadata(server, json)
}

/** Servers of the first revision with OAuth publish nothing; their endpoints are at fixed paths. */
function legacyEndpoints(server: RemoteServer): AuthorizationServer {
  const at = (path: string) => new URL(path, httpUrl(server)).href
  return {
    issuer: new URL(httpUrl(server)).origin,
    authorization_endpoint: at('/authorize'),
    token_endpoint: at('/token'),
    registration_endpoint: at('/register'),
  }
}

/** RFC 8414, 3.3: the document names the issuer that was asked. A slash at the end may differ, as it does on many servers. */
export function isIssuer(said: unknown, asked: string): boolean {
  return typeof said === 'string' && said.replace(/\/$/, '') === asked.replace(/\/$/, '')
}

export function wellKnownUrls(issuer: URL): readonly URL[] {
  const path = issuer.pathname.replace(/\/$/, '')
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
  ]
  if (path !== '') places.push(`${path}/.well-known/openid-configuration`)
  return places.map((place) => new URL(place, issuer.origin))
}

const ENDPOINTS = ['token_endpoint', 'registration_endpoint', 'revocation_endpoint', 'jwks_uri'] as const
const LISTS = [
  'token_endpoint_auth_methods_supported',
  'scopes_supported',
  'grant_types_supported',
  'code_challenge_methods_supported',
  'dpop_signing_alg_values_supported',
] as const
const FLAGS = [
  'authorization_response_iss_parameter_supported',
  'client_id_metadata_document_supported',
] as const

/** The known fields of a metadata document, each checked. */
export function checkedMetadata(server: { readonly name: string }, json: Json): AuthorizationServer {
  if (typeof json.issuer !== 'string' || !URL.canParse(json.issuer))
    throw badMetadata(server, 'issuer', 'is not a URL')
  const as: Record<string, unknown> & { issuer: string } = { issuer: json.issuer }
  for (const name of ENDPOINTS) {
    const value = json[name]
    if (value === undefined || value === null) continue
    if (typeof value !== 'string' || !URL.canParse(value)) throw badMetadata(server, name, 'is not a URL')
    if (!isSecureUrl(new URL(value)))
      throw new AuthRefused('insecure-url', `The ${name} ${shownUrl(value)} is not https.`, {
        server: server.name,
      })
    as[name] = value
  }
  if (json.authorization_endpoint !== undefined)
    as.authorization_endpoint = checkedAuthorizationUrl(server.name, json.authorization_endpoint)
  for (const name of LISTS) if (Array.isArray(json[name])) as[name] = strings(json[name])
  for (const name of FLAGS) if (typeof json[name] === 'boolean') as[name] = json[name]
  const methods = as.code_challenge_methods_supported as readonly string[] | undefined
  if (methods && !methods.includes('S256'))
    throw new AuthRefused('pkce-unsupported', `${shownUrl(json.issuer)} does not support PKCE with S256.`, {
      server: server.name,
    })
  // Strings, lists of strings and booleans, as read above; the index signature of the type says JSON.
  return as as AuthorizationServer
}

/** An address to open in a browser: http(s) only, and https unless it is this machine. */
export function checkedAuthorizationUrl(server: string, value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (url && isSecureUrl(url) && url.username === '' && url.password === '') return url.href
  throw new AuthRefused(
    'bad-authorization-url',
    `The authorization address "${quoted(String(value)).slice(0, 80)}" is not an https page; it is not opened.`,
    { server, hint: 'The server is misconfigured or hostile; do not log in there.' },
  )
}

function badMetadata(server: { readonly name: string }, what: string | URL, how: string): AuthRefused {
  return new AuthRefused('bad-metadata', `The authorization metadata ${shownUrl(what)} ${how}.`, {
    server: server.name,
    hint: 'Report it to the operator of the server, or name the right document in `oauth.authServerMetadataUrl`.',
  })
}

async function getJson(url: URL, fetch: GuardedFetch): Promise<{ status: number; json?: Json }> {
  const response = await fetch(url, { headers: { accept: 'application/json' } })
  const text = await response.text()
  if (!response.ok) return { status: response.status }
  try {
    const json: unknown = JSON.parse(text)
    return { status: response.status, ...(isObject(json) && { json }) }
  } catch {
    // The caller tells "not JSON" from "not found" by the status.
    return { status: response.status }
  }
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value)
    ? value.filter((item): item is string => typeof item === 'string').slice(0, 200)
    : []
}

/**
 * Scopes to request, from the first source that has any: the entry, the challenge, the resource metadata, the
 * authorization server metadata. Scopes granted before stay.
 */
export function chooseScope(
  server: RemoteServer,
  found: Discovered,
  challenged: string | undefined,
  granted: string | undefined,
): string | undefined {
  const configured = server.entry.oauth?.scopes?.join(' ')
  const listed = found.resourceScopes.length > 0 ? found.resourceScopes : (found.as.scopes_supported ?? [])
  const base = configured ?? challenged ?? (listed.join(' ') || undefined)
  const wanted = new Set([...words(granted), ...words(base), ...words(challenged)])
  if (wanted.size === 0) return undefined
  // Without this scope an OpenID provider gives no refresh token, and the login would end within the hour.
  if (found.as.scopes_supported?.includes('offline_access')) wanted.add('offline_access')
  return [...wanted].join(' ')
}

const words = (scope: string | undefined) => (scope ?? '').split(/\s+/).filter(Boolean)
