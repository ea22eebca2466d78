// transport-errors.ts: classifies an error by codes and types along its cause chain. It decides nothing; the
// connection counts and acts.

import { IoError } from '../errors.ts'

/** A server answered, and what it sent cannot be read as MCP: whether it did what was asked is not known. */
export class UnreadableAnswer extends IoError {
  constructor(server: string, what: string) {
    super(`"${server}" answered with ${what}.`, {
      server,
      stage: 'call',
      hint: 'Check that the URL is an MCP endpoint, and that no proxy or login page answers instead of it.',
    })
    this.name = 'UnreadableAnswer'
  }
}

/** A server answered a request with an HTTP status that is a failure. */
export class HttpStatusError extends Error {
  readonly status: number
  /** Private, so that no dump of the error shows it: a server may repeat a secret in it. */
  readonly #body: string
  constructor(status: number, body: string, what: string) {
    const said = what.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS)
    super(`HTTP ${status}${said && `: ${said}`}`)
    this.name = 'HttpStatusError'
    this.status = status
    this.#body = body
  }

  /** What the response said, up to a limit; at times a JSON-RPC error. */
  get body(): string {
    return this.#body
  }
}

const SHOWN_CHARS = 200

/** The peer, or the route to it, is gone: retrying on the same socket is pointless. */
const TERMINAL_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
])

/** A cause chain longer than this is a loop or an attack. */
const CHAIN_BOUND = 16

/**
 * A program may hand over a transport of the SDK, which marks its errors with names that survive bundling; its classes
 * cannot be imported here without their cost.
 */
const SDK_BRANDS = Symbol.for('mcp.sdk.errorBrands')

function* chain(error: unknown): Generator<Record<PropertyKey, unknown>> {
  const queue: unknown[] = [error]
  for (let seen = 0; queue.length > 0 && seen < CHAIN_BOUND; seen++) {
    const current = queue.shift()
    if (typeof current !== 'object' || current === null) continue
    // Any object may be thrown; its members are read as unknown.
    const link = current as Record<PropertyKey, unknown>
    yield link
    if (link['cause'] !== undefined) queue.push(link['cause'])
    if (Array.isArray(link['errors'])) queue.push(...link['errors'].slice(0, CHAIN_BOUND))
  }
}

/** Whether the error says that the peer is gone (ECONNRESET, ETIMEDOUT, EPIPE …). */
export function isTerminalError(error: unknown): boolean {
  return errorCode(error) !== undefined
}

/** The first code along the cause chain that says that the peer is gone. */
export function errorCode(error: unknown): string | undefined {
  for (const link of chain(error)) {
    const code = link['code']
    if (typeof code === 'string' && TERMINAL_CODES.has(code)) return code
  }
  return undefined
}

const TLS_CODE = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH$)/

/** The code of a failed certificate check or TLS handshake, anywhere along the cause chain. */
export function tlsCode(error: unknown): string | undefined {
  for (const link of chain(error)) {
    const { code } = link
    if (typeof code === 'string' && TLS_CODE.test(code)) return code
  }
  return undefined
}

/** The HTTP status behind the error, when a server responded with one. */
export function httpStatus(error: unknown): number | undefined {
  for (const link of chain(error)) {
    const status = statusOf(link)
    if (status !== undefined) return status
  }
  return undefined
}

function statusOf(link: Record<PropertyKey, unknown>): number | undefined {
  const data = link['data']
  const inData = typeof data === 'object' && data !== null && 'status' in data ? data.status : undefined
  // The SDK's SSE transport puts the status into `code`; JSON-RPC codes are negative and do not collide with it.
  for (const value of [link['status'], inData, link['code']])
    if (typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599) return value
  const brands = link[SDK_BRANDS]
  if (brands instanceof Set) {
    if (brands.has('mcp.UnauthorizedError')) return 401
    if (brands.has('mcp.InsufficientScopeError')) return 403
  }
  return undefined
}
