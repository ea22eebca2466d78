// jwt.ts: access tokens of one identity provider (RFC 9068): signature by the issuer's published keys, issuer, audience, times and
// scopes. Keys come only from the issuer's own JWKS: nothing in a token says where a key is.
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { isSafe } from '../config/check-config.ts'
import type { IssuerConfig } from '../config/schema.ts'
import { isObject } from '../json-rpc.ts'

/** Signatures with a private key. Without HMAC: its key would be the public one. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const TYPES: ReadonlySet<string | undefined> = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt'])
const FETCH_MS = 5000
/** After a failed look for the keys, how long requests are refused without another one. */
const RETRY_MS = 2000
/** A token with an unknown key id makes us fetch the keys again, but not more often than this. */
const COOLDOWN_MS = 10_000
const KEYS_MAX_AGE_MS = 5 * 60_000
const METADATA_BYTES = 1024 * 1024

/** What a good token says. */
export interface VerifiedUser {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly groups: readonly string[]
  readonly email?: string
  readonly scopes: readonly string[]
  /** Milliseconds since the epoch, with the clocks' difference added. */
  readonly expires: number
}

export type TokenFault =
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'scope'; readonly scopes: readonly string[] }
  | { readonly kind: 'unavailable'; readonly message: string }

type KeySet = ReturnType<typeof createRemoteJWKSet>

export class JwtVerifier {
  readonly config: IssuerConfig
  readonly audience: string
  readonly #fetch: typeof fetch
  #keys: Promise<KeySet> | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(config: IssuerConfig, resource: string, fetcher: typeof fetch = fetch) {
    this.config = config
    this.audience = config.audience ?? resource
    this.#fetch = fetcher
  }

  async verify(token: string, now: number): Promise<VerifiedUser | TokenFault> {
    let keys: KeySet
    try {
      keys = await this.#keySet(now)
    } catch {
      return unavailable(this.config.issuer)
    }
    const clockTolerance = this.config.clockSkewSeconds ?? 30
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer: this.config.issuer,
        audience: this.audience,
        algorithms: ALGORITHMS,
        clockTolerance,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'sub'],
      })
      if (!TYPES.has(protectedHeader.typ?.toLowerCase())) return invalid('it is not an access token')
      return this.#user(payload, clockTolerance, now)
    } catch (error) {
      return isKeyFailure(error) ? unavailable(this.config.issuer) : invalid(reasonOf(error))
    }
  }

  #user(payload: JWTPayload, skew: number, now: number): VerifiedUser | TokenFault {
    const { sub = '', exp = 0, iat, cnf } = payload
    // The proof that belongs to such a token (DPoP, mTLS) is not checked here; as a plain bearer token it is worth nothing.
    if (cnf !== undefined) return invalid('it is bound to a key, and is no bearer token')
    if (iat !== undefined && iat > now / 1000 + skew) return invalid('it was issued in the future')
    const { scopes = [], groupsClaim = 'groups', userClaim = 'sub', issuer } = this.config
    const granted = scopesOf(payload)
    if (scopes.some((scope) => !granted.includes(scope))) return { kind: 'scope', scopes }
    const name = claimAt(payload, userClaim)
    if (sub === '' || typeof name !== 'string' || name === '') return invalid(`it has no "${userClaim}"`)
    return {
      issuer,
      subject: sub,
      name: name.slice(0, 256),
      groups: strings(claimAt(payload, groupsClaim)),
      ...emailOf(payload),
      scopes: granted,
      expires: (exp + skew) * 1000,
    }
  }

  #keySet(now: number): Promise<KeySet> {
    if (this.#keys) return this.#keys
    if (now >= this.#failedAt && now - this.#failedAt < RETRY_MS)
      return Promise.reject(new Error('tried a moment ago'))
    const made = this.#discover()
    this.#keys = made
    made.catch(() => {
      this.#keys = undefined
      this.#failedAt = now
    })
    return made
  }

  async #discover(): Promise<KeySet> {
    const uri = this.config.jwksUri ?? (await this.#jwksUri())
    return createRemoteJWKSet(new URL(uri), {
      timeoutDuration: FETCH_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: KEYS_MAX_AGE_MS,
    })
  }

  /** From the issuer's metadata, which must be about this issuer. */
  async #jwksUri(): Promise<string> {
    for (const address of metadataAddresses(this.config.issuer)) {
      const response = await this.#fetch(address, {
        redirect: 'error',
        headers: { accept: 'application/json' },
        signal: AbortSignal.timeout(FETCH_MS),
      })
      if (!response.ok) {
        await response.body?.cancel()
        continue
      }
      const text = await response.text()
      const metadata: unknown = text.length > METADATA_BYTES ? undefined : JSON.parse(text)
      if (!isObject(metadata) || metadata['issuer'] !== this.config.issuer) continue
      const { jwks_uri: uri } = metadata
      if (typeof uri === 'string' && URL.canParse(uri) && isSafe(uri)) return uri
    }
    throw new Error(`The metadata of ${this.config.issuer} name no keys.`)
  }
}

/** RFC 8414 puts the well-known part before the issuer's path, OpenID Connect behind it. */
function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]
}

/** The issuer that a token names, before anything about it is known to be true. */
export function claimedIssuer(token: string): string | undefined {
  const [, body, , ...more] = token.split('.')
  if (body === undefined || more.length > 0) return undefined
  try {
    const payload: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
    return isObject(payload) && typeof payload['iss'] === 'string' ? payload['iss'] : undefined
  } catch {
    // Not a JWT.
    return undefined
  }
}

function invalid(message: string): TokenFault {
  return { kind: 'invalid', message }
}

function unavailable(issuer: string): TokenFault {
  return { kind: 'unavailable', message: `The keys of ${issuer} cannot be read at the moment.` }
}

function isKeyFailure(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return (
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  )
}

/** A fixed sentence for each reason: nothing of the token is repeated. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed)
    return CLAIMS[error.claim] ?? 'a claim is missing or wrong'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'its key is not one of the issuer'
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return 'its algorithm is not accepted'
  return 'it cannot be read'
}

const CLAIMS: Readonly<Record<string, string>> = {
  aud: 'it was issued for another resource',
  iss: 'it was issued by another issuer',
  nbf: 'it is not valid yet',
  exp: 'it has no end',
  sub: 'it names no user',
}

/** `scope` is a text with spaces; some providers send `scp`, as a text or a list. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] {
  return [scope, scp].flatMap((one) => (typeof one === 'string' ? one.split(' ') : strings(one)))
}

/** An address that the provider itself calls unverified is none: any user can claim it. */
function emailOf({ email, email_verified: isVerified }: JWTPayload): { readonly email?: string } {
  return typeof email === 'string' && isVerified !== false && isVerified !== 'false' ? { email } : {}
}

/** A claim by its name; a name with dots is first looked up whole, because claims may be URLs. */
function claimAt(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name]
  let at: unknown = payload
  for (const step of name.split('.')) at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined
  return at
}

function strings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(0, 1000) : []
}
