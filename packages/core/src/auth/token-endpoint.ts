// token-endpoint.ts: one request to a token endpoint, for any grant, and the parsing of its response. Responses carry
// secrets: of a body only the tokens and the OAuth error code leave this file.
import type { webcrypto } from 'node:crypto'
import type { JWK } from 'jose'
import type { AuthorizationServer, ClientAuth, DPoPHandle } from 'oauth4webapi'
import { IoError, type PlugboardError } from '../errors.ts'
import { isObject } from '../json.ts'
import { AuthRefused, quoted, shownUrl } from './auth-refused.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import type { ClientIdentity, Tokens } from './stored-logins.ts'

export interface TokenRequest {
  readonly server: string
  readonly as: AuthorizationServer
  readonly client: ClientIdentity
  readonly grant: string
  readonly params: Readonly<Record<string, string | undefined>>
  readonly fetch: GuardedFetch
  readonly now: () => number
  readonly dpopKey?: JWK | undefined
  /** Replaces the client's own authentication, e.g. with a signed assertion. */
  readonly clientAuth?: ClientAuth | undefined
  readonly signal?: AbortSignal | undefined
}

export type TokenAnswer =
  | {
      readonly kind: 'tokens'
      readonly tokens: Tokens
      readonly idToken?: string
      readonly issuedType?: string
    }
  /** The server refused, with its OAuth error code. */
  | { readonly kind: 'refused'; readonly code: string; readonly error: PlugboardError }
  /** The server failed; the same request may succeed later. */
  | { readonly kind: 'trouble'; readonly error: PlugboardError }

export async function requestTokens(request: TokenRequest): Promise<TokenAnswer> {
  const oauth = await import('oauth4webapi')
  const { as, client } = request
  if (!as.token_endpoint)
    throw new AuthRefused('bad-metadata', `${shownUrl(as.issuer)} names no token endpoint.`, {
      server: request.server,
    })
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(request.params)) if (value !== undefined) params.set(name, value)
  const dpop = request.dpopKey && (await dpopHandle(request.dpopKey, client.clientId))
  const send = async () =>
    oauth.genericTokenEndpointRequest(
      as,
      { client_id: client.clientId },
      request.clientAuth ?? (await clientAuthentication(as, client)),
      request.grant,
      params,
      {
        // The guard has its own, stricter rule: https, or this machine.
        [oauth.allowInsecureRequests]: true,
        [oauth.customFetch]: async (url, init) =>
          request.fetch(url, {
            method: init.method,
            headers: init.headers,
            body: init.body as URLSearchParams,
          }),
        ...(dpop && { DPoP: dpop }),
        ...(request.signal && { signal: request.signal }),
      },
    )
  let response = await send()
  let body = await readJson(response)
  // A server that requires nonces first responds with an error that carries one.
  if (dpop && body?.error === 'use_dpop_nonce') {
    response = await send()
    body = await readJson(response)
  }
  return interpret(request, response.status, body)
}

async function readJson(response: Response): Promise<Record<string, unknown> | undefined> {
  try {
    const body: unknown = JSON.parse(await response.text())
    return isObject(body) ? body : undefined
  } catch {
    // Not JSON; interpret() reports it without repeating any of it.
    return undefined
  }
}

/** The server does not know the client, or lets it do no such thing (RFC 6749, section 5.2). */
export const CLIENT_FAULTS: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client'])

function interpret(
  request: TokenRequest,
  status: number,
  body: Record<string, unknown> | undefined,
): TokenAnswer {
  const where = shownUrl(request.as.token_endpoint ?? '')
  const server = request.server
  if (typeof body?.error === 'string' && status < 500) {
    const secrets = [...Object.values(request.params), request.client.clientSecret]
    const code = quoted(body.error, secrets).slice(0, 64)
    const words = quoted(body.error_description, secrets)
    return {
      kind: 'refused',
      code,
      error: new AuthRefused(
        CLIENT_FAULTS.has(code) ? 'client-refused' : 'token-refused',
        `${where} refused with ${code}${words && `: ${words}`}.`,
        { server },
      ),
    }
  }
  if (status >= 500 || status === 429 || status === 408)
    return {
      kind: 'trouble',
      error: new IoError(`${where} answered ${status}.`, {
        server,
        stage: 'auth',
        hint: 'The authorization server failed. The login is kept, and the client tries again later.',
      }),
    }
  if (status !== 200 || !body || typeof body.access_token !== 'string' || body.access_token === '')
    return {
      kind: 'trouble',
      error: new AuthRefused(
        'bad-response',
        `${where} answered ${status} with something that is not a token.`,
        { server },
      ),
    }
  return {
    kind: 'tokens',
    tokens: readTokens(body, request.now()),
    ...(typeof body.id_token === 'string' && { idToken: body.id_token }),
    ...(typeof body.issued_token_type === 'string' && { issuedType: body.issued_token_type }),
  }
}

/** Lenient where it costs nothing: dropping a response would drop the refresh token in it. */
function readTokens(body: Readonly<Record<string, unknown>>, now: number): Tokens {
  const seconds = Number(body.expires_in)
  const type = typeof body.token_type === 'string' ? body.token_type.toLowerCase() : 'bearer'
  return {
    accessToken: String(body.access_token),
    ...(typeof body.refresh_token === 'string' && body.refresh_token && { refreshToken: body.refresh_token }),
    type: type === 'dpop' ? 'dpop' : 'bearer',
    ...(typeof body.scope === 'string' && { scope: body.scope }),
    obtainedAt: now,
    ...(Number.isFinite(seconds) && seconds > 0 && { expiresAt: now + seconds * 1000 }),
  }
}

/** How this client authenticates here: as registered, else by what the server supports. */
export async function clientAuthentication(
  as: AuthorizationServer,
  client: ClientIdentity,
): Promise<ClientAuth> {
  const oauth = await import('oauth4webapi')
  if (!client.clientSecret) return oauth.None()
  const supported = as.token_endpoint_auth_methods_supported
  const fits = (method: string) => !supported || supported.includes(method)
  const method =
    client.authMethod && fits(client.authMethod)
      ? client.authMethod
      : fits('client_secret_basic')
        ? 'client_secret_basic'
        : 'client_secret_post'
  if (method === 'none') return oauth.None()
  return method === 'client_secret_post'
    ? oauth.ClientSecretPost(client.clientSecret)
    : basic(client.clientSecret)
}

/** Form encoding and no more: many servers compare without decoding, where only plain names survive. */
function basic(secret: string): ClientAuth {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return (_as, client, _body, headers) => {
    const pair = `${encode(client.client_id)}:${encode(secret)}`
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  }
}

async function dpopHandle(key: JWK, clientId: string): Promise<DPoPHandle> {
  const oauth = await import('oauth4webapi')
  const { publicKey, privateKey } = await importDpopKey(key)
  return oauth.DPoP({ client_id: clientId } as Parameters<typeof oauth.DPoP>[0], { publicKey, privateKey })
}

async function importDpopKey(key: JWK): Promise<webcrypto.CryptoKeyPair> {
  const { subtle } = globalThis.crypto
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { d: _private, ...pub } = key
  return {
    privateKey: await subtle.importKey('jwk', key as webcrypto.JsonWebKey, algorithm, false, ['sign']),
    // Every proof contains its public half, so it has to be exportable.
    publicKey: await subtle.importKey(
      'jwk',
      { ...pub, key_ops: ['verify'] } as webcrypto.JsonWebKey,
      algorithm,
      true,
      ['verify'],
    ),
  }
}
