// access.ts: which clients may use the gateway over HTTP: the right host name, an allowed web origin, and a token. It reads
// headers only, before any byte of the body.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { EVERYTHING, type Exposure } from './exposure.ts'

/** A client that may connect, and what it sees. */
export interface AccessGrant {
  readonly token: string
  readonly exposure: Exposure
  /** The patterns the exposure was made of; a grant with the same ones is unchanged after its file was read again. */
  readonly patterns?: readonly string[]
}

export interface AccessOptions {
  readonly host: string
  /** Empty: no token is required. */
  readonly grants: readonly AccessGrant[]
  readonly open: Exposure
  /** Knows clients by their tokens, besides the grants. With it a token is always required. */
  readonly authority?: TokenAuthority | undefined
  readonly allowedHosts?: readonly string[]
  readonly allowedOrigins?: readonly string[]
}

/** A user that the gateway knows by name. */
export interface User {
  /** Tells users apart: limits are counted by it. */
  readonly key: string
  /** As logs show it. */
  readonly name: string
  readonly roles: readonly string[]
  /** Where an identity provider knows the user: the provider, and who the user is there. */
  readonly issuer?: string
  readonly subject?: string
  /** As the provider says, unless it says that the address was not verified. */
  readonly email?: string
  /** Of the token, where tokens of this provider are exchanged for others: they say what the exchange may give. */
  readonly scopes?: readonly string[]
}

export interface AuthorizedClient {
  /** The same client has the same one: a digest of its token, or of its user. */
  readonly owner: string
  readonly user?: User
  /** When its token ends, in milliseconds since the epoch. */
  readonly expires?: number
  readonly exposure: Exposure
  /** It sees only a part of what is served, and learns nothing about the rest. */
  readonly narrow: boolean
}
export interface AccessRefusal {
  readonly status: number
  readonly message: string
  /** The header `WWW-Authenticate`, where there is more to say than that a token is needed. */
  readonly challenge?: string
}

/** The owners that lost access, and those that see other things now. */
export interface AccessChanges {
  readonly removed: readonly string[]
  readonly changed: readonly AuthorizedClient[]
}

type TokenDecision = AuthorizedClient | AccessRefusal | undefined

/** Decides about bearer tokens. `undefined` is a token that it does not know. */
export interface TokenAuthority {
  /** Another object after every change: what was decided before no longer counts. */
  readonly version: object
  authorize(token: string): TokenDecision | Promise<TokenDecision>
  /** The header `WWW-Authenticate` for a request without a token, or with an unknown one. */
  challenge(hasToken: boolean): string
  /** The metadata of the protected resource (RFC 9728), where users log in by OAuth. */
  readonly resource?: { readonly metadata: Readonly<Record<string, unknown>> } | undefined
}

interface Known {
  readonly digest: Buffer
  readonly client: AuthorizedClient
  readonly patterns: string | undefined
}

interface SeenToken {
  readonly authorization: string
  readonly grants: readonly Known[]
  readonly version: object | undefined
  readonly at: number
  readonly client: AuthorizedClient
}

/** After this the authority sees the token of a kept connection again, so that it knows when it was last used. */
const SEEN_MS = 60_000

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']
const CORS_HEADERS =
  'Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID, traceparent, tracestate, baggage'

/**
 * True for an address that only this machine can reach.
 *
 * @example
 * console.log(isLoopback('127.0.0.1'), isLoopback('example.com')) // true false
 */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Whether a request names a host that is served: loopback's names, `host` and the allowed ones. A page that was made to reach this address by DNS names another. */
export function servedHosts(
  host: string,
  allowed: readonly string[] = [],
): (req: IncomingMessage) => boolean {
  const own = host.includes(':') ? `[${host}]` : host
  const names = new Set([...LOOPBACK_NAMES, own, ...allowed].map((name) => name.toLowerCase()))
  return (req) => names.has(hostName(req.headers.host))
}

/** Where clients look for OAuth metadata (RFC 9728), also with the path of the endpoint behind it. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The owner of requests without a token: they cannot be told apart. */
export const UNRESTRICTED = 'anybody'

export class AccessControl {
  readonly #isServed: (req: IncomingMessage) => boolean
  readonly #origins: ReadonlySet<string>
  #grants: readonly Known[] = []
  readonly #open: AuthorizedClient | undefined
  readonly #whole: Exposure
  readonly #authority: TokenAuthority | undefined
  /** By connection, the last token that was accepted on it. */
  readonly #seen = new WeakMap<object, SeenToken>()

  constructor({ host, grants, open, authority, allowedHosts, allowedOrigins = [] }: AccessOptions) {
    this.#isServed = servedHosts(host, allowedHosts)
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))
    this.#whole = open
    this.#authority = authority
    this.#grants = this.#known(grants)
    this.#open =
      grants.length === 0 && !authority ? { owner: UNRESTRICTED, exposure: open, narrow: false } : undefined
  }

  /** Replaces the grants; returns the owners that lost access, and those that now see other things. */
  replace(grants: readonly AccessGrant[]): AccessChanges {
    const before = this.#grants
    this.#grants = this.#known(grants)
    const now = new Map(this.#grants.map((one) => [one.client.owner, one]))
    const kept = before.flatMap((old) => {
      const next = now.get(old.client.owner)
      return next ? [{ old, next }] : []
    })
    return {
      removed: before.map(({ client }) => client.owner).filter((owner) => !now.has(owner)),
      changed: kept.filter(({ old, next }) => !isSame(old, next)).map(({ next }) => next.client),
    }
  }

  #known(grants: readonly AccessGrant[]): readonly Known[] {
    return grants.map(({ token, exposure, patterns }) => {
      const digest = digestOf(token)
      const narrow = exposure !== this.#whole && exposure !== EVERYTHING
      const client = { owner: digest.toString('hex'), exposure, narrow }
      return { digest, client, patterns: patterns && JSON.stringify(patterns) }
    })
  }

  /** Checks Host and Origin; a web page that may call gets its CORS headers. */
  checkOrigin(req: IncomingMessage, res: ServerResponse): AccessRefusal | undefined {
    if (!this.#isServed(req)) return { status: 403, message: 'This host name is not served here.' }
    const { origin } = req.headers
    if (origin === undefined) return undefined
    res.setHeader('Vary', 'Origin')
    const scheme = 'encrypted' in req.socket ? 'https' : 'http'
    const isOwn = origin.toLowerCase() === `${scheme}://${(req.headers.host ?? '').toLowerCase()}`
    if (!isOwn && !this.#origins.has(origin.toLowerCase()))
      return { status: 403, message: 'This origin may not call.' }
    res.setHeader('Access-Control-Allow-Origin', origin)
    res.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE, OPTIONS')
    res.setHeader('Access-Control-Allow-Headers', [CORS_HEADERS, ...paramHeaders(req)].join(', '))
    res.setHeader('Access-Control-Expose-Headers', 'Mcp-Session-Id, MCP-Protocol-Version')
    return undefined
  }

  /** The client that a request comes from; undefined when its token is missing or unknown. */
  authorize(req: IncomingMessage): TokenDecision | Promise<TokenDecision> {
    if (this.#open) return this.#open
    const { authorization } = req.headers
    if (authorization === undefined) return undefined
    // A client repeats its token on a connection that it keeps: only a different header is hashed and compared again.
    const before = this.#seen.get(req.socket)
    if (before?.authorization === authorization && this.#isFresh(before)) return before.client
    const token = bearerToken(authorization)
    if (token === undefined) return undefined
    const version = this.#authority?.version
    const remembered = (found: TokenDecision): TokenDecision => {
      if (found && 'owner' in found)
        this.#seen.set(req.socket, {
          authorization,
          grants: this.#grants,
          version,
          at: Date.now(),
          client: found,
        })
      return found
    }
    const found = this.#clientOf(token) ?? this.#authority?.authorize(token)
    return found instanceof Promise ? found.then(remembered) : remembered(found)
  }

  /** The header `WWW-Authenticate` for a request that was not let in. */
  challenge(req: IncomingMessage): string {
    return this.#authority?.challenge(req.headers.authorization !== undefined) ?? 'Bearer realm="plugboard"'
  }

  /** The OAuth metadata of this endpoint; undefined where users do not log in by OAuth. */
  get resourceMetadata(): Readonly<Record<string, unknown>> | undefined {
    return this.#authority?.resource?.metadata
  }

  #isFresh({ grants, version, at, client: { user, expires } }: SeenToken): boolean {
    if (grants !== this.#grants || version !== this.#authority?.version) return false
    if (user === undefined) return true
    const now = Date.now()
    return now - at < SEEN_MS && now >= at && (expires === undefined || expires > now)
  }

  #clientOf(token: string): AuthorizedClient | undefined {
    if (this.#grants.length === 0) return undefined
    const digest = digestOf(token)
    // Every token is compared, so the time does not tell which one was nearly right.
    let found: AuthorizedClient | undefined
    for (const grant of this.#grants) if (timingSafeEqual(grant.digest, digest)) found = grant.client
    return found
  }
}

/** Without patterns only the exposure itself tells. */
function isSame(old: Known, next: Known): boolean {
  if (old.patterns === undefined || next.patterns === undefined)
    return old.client.exposure === next.client.exposure
  return old.patterns === next.patterns
}

function bearerToken(authorization: string): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1]
}

/** The tools decide which arguments travel in headers, so a page may send any header of that kind. */
function paramHeaders({ headers }: IncomingMessage): string[] {
  const asked = headers['access-control-request-headers'] ?? ''
  return asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => /^mcp-param-[\w.~-]+$/i.test(name))
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function hostName(header: string | undefined): string {
  const host = (header ?? '').toLowerCase()
  return host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : (host.split(':', 1)[0] ?? '')
}
