// transports/http-guard.ts: Host, Origin and CORS: the server answers only to its own host names and to listed origins, so that
// no web page can reach it through the browser. The gateway has a guard of its own; test/http-guard.test.ts holds both to one table.
import type { IncomingMessage, ServerResponse } from 'node:http'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]', '::1']
const CORS_HEADERS =
  'Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID'

export interface HttpGuardOptions {
  /** Origins of web pages that may call, e.g. `https://app.example`. */
  readonly allowedOrigins?: readonly string[]
  /** Host names to answer to besides loopback's and `host`. */
  readonly allowedHosts?: readonly string[]
}

export class HttpGuard {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>

  constructor(host: string, { allowedOrigins = [], allowedHosts = [] }: HttpGuardOptions) {
    const own = host.includes(':') ? `[${host}]` : host
    this.#hosts = new Set([...LOOPBACK, own, ...allowedHosts].map((name) => name.toLowerCase()))
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))
  }

  /** Why the request is refused; undefined when it may pass. A page that may call gets its CORS headers. */
  check(req: IncomingMessage, res: ServerResponse): string | undefined {
    if (!this.#hosts.has(hostName(req.headers.host))) return 'This host name is not served here.'
    return allowOrigin(req, res, this.#origins) ? undefined : 'This origin may not call.'
  }
}

/** No Origin: no browser. Otherwise the page must be listed, or have come from this very server. */
function allowOrigin(req: IncomingMessage, res: ServerResponse, listed: ReadonlySet<string>): boolean {
  const origin = req.headers.origin
  if (origin === undefined) return true
  res.setHeader('Vary', 'Origin')
  const isOwn = origin.toLowerCase() === `http://${(req.headers.host ?? '').toLowerCase()}`
  if (!isOwn && !listed.has(origin.toLowerCase())) return false
  res.setHeader('Access-Control-Allow-Origin', origin)
  res.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE, OPTIONS')
  res.setHeader('Access-Control-Allow-Headers', CORS_HEADERS)
  res.setHeader('Access-Control-Expose-Headers', 'Mcp-Session-Id, MCP-Protocol-Version')
  res.setHeader('Access-Control-Max-Age', '600')
  return true
}

function hostName(header: string | undefined): string {
  const host = (header ?? '').toLowerCase()
  return host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : (host.split(':', 1)[0] ?? '')
}
