// server.ts: the gateway on a port, from the first connection to the last response. endpoint.ts answers the requests.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InvalidInput } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type AccessGrant, isLoopback } from '../access/access.ts'
import type { Gateway } from '../gateway.ts'
import { Endpoint } from './endpoint.ts'

export interface HttpOptions {
  /** 0, or left out, picks a free port. */
  readonly port?: number
  /** Loopback unless told otherwise. */
  readonly host?: string
  /** Which clients may connect. Empty lets every client in, on loopback only. */
  readonly grants: readonly AccessGrant[]
  readonly allowedOrigins?: readonly string[]
  /** Host names to answer to besides loopback's and `host`. */
  readonly allowedHosts?: readonly string[]
}

export interface HttpHandle {
  readonly url: string
  readonly port: number
  /** Replaces the grants; clients whose token is gone lose their sessions, streams and calls at once. */
  setGrants(grants: readonly AccessGrant[]): void
  /**
   * Takes no more calls, lets running ones finish within the bound, answers the rest with `OUTCOME_UNKNOWN`, and ends. The
   * port stays open until then, for `/health` and for answers to questions. The gateway itself stays open.
   */
  close(): Promise<void>
}

export async function serveHttp(gateway: Gateway, options: HttpOptions): Promise<HttpHandle> {
  const host = options.host ?? '127.0.0.1'
  if (options.grants.length === 0 && !isLoopback(host))
    throw new InvalidInput(`Without a token only this machine may be served, not ${host}.`, {
      hint: 'Leave `--no-auth` out, or serve on 127.0.0.1.',
    })
  const endpoint = new Endpoint(gateway, { ...options, host, open: gateway.expose })
  const answer = (req: IncomingMessage, res: ServerResponse) => endpoint.answer(req, res)
  const server = createServer({ connectionsCheckingInterval: 2000 }, answer)
  server.on('checkContinue', (req, res) => {
    // A refused client may send the body or not: what comes next on this connection could be either.
    res.setHeader('Connection', 'close')
    answer(req, res)
  })
  server.headersTimeout = GATEWAY_LIMITS.headersMs
  server.requestTimeout = GATEWAY_LIMITS.receiveMs
  server.keepAliveTimeout = GATEWAY_LIMITS.idleConnectionMs
  await listen(server, options.port ?? 0, host)
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`,
    setGrants: (grants) => endpoint.setGrants(grants),
    close: async () => {
      await endpoint.drain()
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      const force = setTimeout(() => server.closeAllConnections(), 500)
      await closed
      clearTimeout(force)
    },
  }
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
