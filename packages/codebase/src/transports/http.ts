// transports/http.ts: the server on a port: Streamable HTTP on /mcp in both eras, plain JSON-RPC on /, and /health.
// http-guard.ts checks Host and Origin, authentication.ts who calls.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { McpServerFactory } from '@modelcontextprotocol/server'
import { HTTP_LIMITS } from '../limits.ts'
import { SERVICE, VERSION } from '../version.ts'
import { Access, type AccessOptions, REFUSED } from './authentication.ts'
import { RPC, type RpcError, rpcError } from './handshake-gate.ts'
import { HttpGuard, type HttpGuardOptions } from './http-guard.ts'
import { PlainEndpoint } from './plain-json-rpc.ts'

/**
 * The user who started the server may call from this machine without a token where the system tells who calls (Linux, over
 * loopback). Every other caller needs one of `tokens`, unless `auth` is false.
 *
 * @example
 * const options: HttpOptions = { port: 0 }
 * const server = createCodebaseServer({ root: process.cwd(), index: false })
 * const { url, close } = await server.serveHttp(options)
 * console.log(url.startsWith('http://127.0.0.1:')) // true
 * await close()
 * await server.close()
 */
export interface HttpOptions extends AccessOptions, HttpGuardOptions {
  /** 0 picks a free port. */
  readonly port?: number
  /** Loopback unless told otherwise. */
  readonly host?: string
}

/** A server that listens on HTTP: its address, and how to end it. */
export interface HttpHandle {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

export async function serveHttp(factory: McpServerFactory, options: HttpOptions = {}): Promise<HttpHandle> {
  const [{ StreamableEndpoint }, { toNodeHandler }] = await Promise.all([
    import('./streamable.ts'),
    import('@modelcontextprotocol/node'),
  ])
  const host = options.host ?? '127.0.0.1'
  const mcp = new StreamableEndpoint(factory)
  const toMcp = toNodeHandler(mcp)
  const plain = new PlainEndpoint(factory)
  const access = new Access(options)
  const guard = new HttpGuard(host, options)

  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const refused = guard.check(req, res)
    if (refused !== undefined) return refuse(res, 403, refused)
    const path = (req.url ?? '/').split('?', 1)[0]
    if (req.method === 'OPTIONS') return void res.writeHead(204).end()
    if (path === '/health' && (req.method === 'GET' || req.method === 'HEAD'))
      return json(res, 200, { status: 'ok', service: SERVICE, version: VERSION, mode: 'http' })
    if (!(await access.allows(req))) {
      res.setHeader('WWW-Authenticate', 'Bearer')
      return refuse(res, 401, REFUSED)
    }
    if (path !== '/mcp' && path !== '/') return refuse(res, 404, 'There is /mcp, / and /health.')
    if (req.method === 'POST') {
      const body = await jsonOf(req)
      if ('error' in body) return json(res, body.status, body.error)
      if (path === '/') return answerPlain(plain, body.value, req, res)
      return toMcp(req as Arrived, res, body.value)
    }
    if (!allowsMethod(path, req, res)) return refuse(res, 405, 'POST a JSON-RPC message.')
    return toMcp(req as Arrived, atOnce(res))
  }
  const server = createServer((req, res) => {
    answer(req, res).catch(() => {
      // An unexpected failure: this caller is told, the server goes on.
      if (!res.headersSent) json(res, 500, rpcError(null, RPC.internal, 'Internal error.'))
      else res.destroy()
    })
  })
  server.headersTimeout = HTTP_LIMITS.headersMs
  await listen(server, options.port ?? HTTP_LIMITS.port, host)
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      await mcp.close()
      await plain.close()
      const force = setTimeout(() => server.closeAllConnections(), HTTP_LIMITS.closeMs)
      await closed
      clearTimeout(force)
    },
  }
}

function allowsMethod(path: string, { method = '' }: IncomingMessage, res: ServerResponse): boolean {
  const allowed = path === '/mcp' ? ['GET', 'DELETE'] : []
  if (allowed.includes(method)) return true
  res.setHeader('Allow', ['POST', ...allowed, 'OPTIONS'].join(', '))
  return false
}

/** Node types an absent method as undefined; a request that arrived has one. */
type Arrived = IncomingMessage & { method: string; url: string }

/** Node holds the head of a response back until there is a body; a stream without events has none yet. */
const atOnce = (res: ServerResponse) => ({
  writeHead(status: number, headers?: Record<string, string>) {
    res.writeHead(status, headers)
    res.flushHeaders()
  },
  write: (piece: string | Uint8Array) => res.write(piece),
  end: (piece?: string | Uint8Array) => res.end(piece),
  on: (event: string, listener: (...args: unknown[]) => void) => res.on(event, listener),
  get destroyed() {
    return res.destroyed
  },
})

async function answerPlain(
  plain: PlainEndpoint,
  value: unknown,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  const version = req.headers['mcp-protocol-version']
  const { status, body } = await plain.post(value, {
    version: typeof version === 'string' ? version : undefined,
    signal: gone.signal,
  })
  if (body === undefined) res.writeHead(status).end()
  else json(res, status, body)
}

async function jsonOf(
  req: IncomingMessage,
): Promise<{ readonly value: unknown } | { readonly status: number; readonly error: RpcError }> {
  // A web page can send other types without a preflight; JSON it cannot.
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(req.headers['content-type'] ?? ''))
    return {
      status: 415,
      error: rpcError(null, RPC.invalidRequest, 'The Content-Type is application/json.'),
    }
  const text = await readBody(req)
  if (text === undefined)
    return {
      status: 413,
      error: rpcError(null, RPC.invalidRequest, `A body may have ${HTTP_LIMITS.bodyBytes} bytes.`),
    }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { status: 400, error: rpcError(null, RPC.parse, 'The body is not JSON.') }
  }
}

async function readBody(req: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of req as AsyncIterable<Buffer>) {
    size += piece.length
    if (size <= HTTP_LIMITS.bodyBytes) pieces.push(piece)
  }
  return size > HTTP_LIMITS.bodyBytes ? undefined : Buffer.concat(pieces).toString('utf8')
}

function refuse(res: ServerResponse, status: number, message: string): void {
  json(res, status, rpcError(null, RPC.invalidRequest, message))
}

function json(res: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value)
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    .end(text)
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      done()
    })
  })
}
