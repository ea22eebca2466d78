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
  readonly allowedHosts?: readonly string[]
  readonly allowedOrigins?: readonly string[]
}

export interface AuthorizedClient {
  /** A digest of the token: the same client shows the same one. */
  readonly owner: string
  readonly exposure: Exposure
  /** It sees only a part of what is served, and learns nothing about the rest. */
  readonly narrow: boolean
}
export interface AccessRefusal {
  readonly status: number
  readonly message: string
}

interface Known {
  readonly digest: Buffer
  readonly client: AuthorizedClient
  readonly patterns: string
}

interface SeenToken {
  readonly authorization: string
  readonly grants: readonly Known[]
  readonly client: AuthorizedClient
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']
const CORS_HEADERS =
  'Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID, traceparent, tracestate, baggage'

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** The owner of requests without a token: they cannot be told apart. */
export const UNRESTRICTED = 'anybody'

export class AccessControl {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  #grants: readonly Known[] = []
  readonly #open: AuthorizedClient | undefined
  readonly #whole: Exposure
  /** By connection, the last token that was accepted on it. */
  readonly #seen = new WeakMap<object, SeenToken>()

  constructor({ host, grants, open, allowedHosts = [], allowedOrigins = [] }: AccessOptions) {
    const own = host.includes(':') ? `[${host}]` : host
    this.#hosts = new Set([...LOOPBACK_NAMES, own, ...allowedHosts].map((name) => name.toLowerCase()))
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))
    this.#whole = open
    this.#grants = this.#known(grants)
    this.#open = grants.length === 0 ? { owner: UNRESTRICTED, exposure: open, narrow: false } : undefined
  }

  /** Replaces the grants; returns the owners that lost access, and those that now see other things. */
  replace(grants: readonly AccessGrant[]): {
    readonly removed: readonly string[]
    readonly changed: readonly AuthorizedClient[]
  } {
    const before = this.#grants
    this.#grants = this.#known(grants)
    const now = new Map(this.#grants.map((one) => [one.client.owner, one]))
    const kept = before.flatMap((old) => {
      const next = now.get(old.client.owner)
      return next ? [{ old, next }] : []
    })
    return {
      removed: before.map(({ client }) => client.owner).filter((owner) => !now.has(owner)),
      changed: kept.filter(({ old, next }) => old.patterns !== next.patterns).map(({ next }) => next.client),
    }
  }

  #known(grants: readonly AccessGrant[]): readonly Known[] {
    return grants.map(({ token, exposure, patterns }) => {
      const digest = digestOf(token)
      const narrow = exposure !== this.#whole && exposure !== EVERYTHING
      const client = { owner: digest.toString('hex'), exposure, narrow }
      return { digest, client, patterns: JSON.stringify(patterns ?? []) }
    })
  }

  /** Checks Host and Origin; a web page that may call gets its CORS headers. */
  checkOrigin(req: IncomingMessage, res: ServerResponse): AccessRefusal | undefined {
    if (!this.#hosts.has(hostName(req.headers.host)))
      return { status: 403, message: 'This host name is not served here.' }
    const { origin } = req.headers
    if (origin === undefined) return undefined
    res.setHeader('Vary', 'Origin')
    const isOwn = origin.toLowerCase() === `http://${(req.headers.host ?? '').toLowerCase()}`
    if (!isOwn && !this.#origins.has(origin.toLowerCase()))
      return { status: 403, message: 'This origin may not call.' }
    res.setHeader('Access-Control-Allow-Origin', origin)
    res.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE, OPTIONS')
    res.setHeader('Access-Control-Allow-Headers', [CORS_HEADERS, ...paramHeaders(req)].join(', '))
    res.setHeader('Access-Control-Expose-Headers', 'Mcp-Session-Id, MCP-Protocol-Version')
    return undefined
  }

  /** The client that a request comes from; undefined when its token is missing or unknown. */
  authorize(req: IncomingMessage): AuthorizedClient | undefined {
    if (this.#open) return this.#open
    const { authorization } = req.headers
    if (authorization === undefined) return undefined
    // A client repeats its token on a connection that it keeps: only a different header is hashed and compared again.
    const before = this.#seen.get(req.socket)
    if (before?.authorization === authorization && before.grants === this.#grants) return before.client
    const client = this.#clientOf(authorization)
    if (client) this.#seen.set(req.socket, { authorization, grants: this.#grants, client })
    return client
  }

  #clientOf(authorization: string): AuthorizedClient | undefined {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
    if (token === undefined) return undefined
    const digest = digestOf(token)
    // Every token is compared, so the time does not tell which one was nearly right.
    let found: AuthorizedClient | undefined
    for (const grant of this.#grants) if (timingSafeEqual(grant.digest, digest)) found = grant.client
    return found
  }
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
