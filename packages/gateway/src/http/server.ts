// server.ts: the gateway on a port, from the first connection to the last response. endpoint.ts answers the requests.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { InvalidInput } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import {
  type AccessChanges,
  type AccessGrant,
  isLoopback,
  servedHosts,
  type TokenAuthority,
} from '../access/access.ts'
import type { Gateway } from '../gateway.ts'
import { type ReplicaStatus, statusOfProcess } from '../replicas/replica-status.ts'
import { Endpoint } from './endpoint.ts'
import { metricsText } from './probes.ts'
import type { SessionInfo } from './sessions.ts'

/**
 * Where a gateway listens, and for whom.
 *
 * @example
 * const options: HttpOptions = { port: 0, grants: [], allowedHosts: ['board.internal'] }
 * const gateway = await openGateway((wiring) => openBoard({ servers: {}, ...wiring }))
 * const { close } = await serveHttp(gateway, options)
 * await close()
 * await gateway.close()
 */
export interface HttpOptions {
  /** 0, or left out, picks a free port. */
  readonly port?: number
  /** Loopback unless told otherwise. */
  readonly host?: string
  /** Which clients may connect. Empty lets every client in, on loopback only. */
  readonly grants: readonly AccessGrant[]
  /** Knows clients by their tokens, besides the grants. With it a token is always required. */
  readonly authority?: TokenAuthority
  readonly allowedOrigins?: readonly string[]
  /** Host names to answer to besides loopback's and `host`. */
  readonly allowedHosts?: readonly string[]
  /** Answers requests of another part of the program on the same port, under the same host names; false for those of the endpoint. */
  readonly beside?: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined
  /** Serves https in place of http. */
  readonly certificate?: Certificate | undefined
  /** Where other replicas reach this one; its own address when left out. */
  readonly replicaUrl?: string
}

/** A certificate with its chain, and its key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** A running HTTP endpoint. */
export interface HttpHandle {
  readonly url: string
  /** The sessions of this process. */
  sessions(): readonly SessionInfo[]
  /** Ends a session for good; false when this process does not have it. */
  endSession(sid: string): Promise<boolean>
  /** How this process does, as other replicas are told. */
  status(): ReplicaStatus
  /** The counts for Prometheus. */
  metrics(): string
  readonly port: number
  /** Replaces the grants; clients whose token is gone lose their sessions, streams and calls at once. */
  setGrants(grants: readonly AccessGrant[]): void
  /** Another certificate for connections from now on. Throws when it cannot be used. */
  setCertificate(certificate: Certificate): void
  /** What changed for clients of the authority: those that lost access lose their sessions, streams and calls at once. */
  applyAccess(changes: AccessChanges): void
  /**
   * Takes no more calls, lets running ones finish within the bound, answers the rest with `OUTCOME_UNKNOWN`, and ends. The
   * port stays open until then, for `/health` and for answers to questions. The gateway itself stays open.
   */
  close(): Promise<void>
}

/**
 * Serves a gateway over Streamable HTTP, on loopback unless `host` says otherwise.
 *
 * @example
 * const gateway = await openGateway((wiring) => openBoard({ ...wiring }))
 * const { url, close } = await serveHttp(gateway, { grants: [] }) // port: 7337 for a port of your own
 * console.log(url.startsWith('http://127.0.0.1:')) // true
 * await close()
 * await gateway.close()
 */
export async function serveHttp(gateway: Gateway, options: HttpOptions): Promise<HttpHandle> {
  const host = options.host ?? '127.0.0.1'
  if (options.grants.length === 0 && !options.authority && !isLoopback(host))
    throw new InvalidInput(`Without a token only this machine may be served, not ${host}.`, {
      hint: 'Leave `--no-auth` out, or serve on 127.0.0.1.',
    })
  const endpoint = new Endpoint(gateway, { ...options, host, open: gateway.expose })
  const { beside } = options
  const isServed = servedHosts(host, options.allowedHosts)
  const answer = (req: IncomingMessage, res: ServerResponse) => {
    // A host name that is not served goes to the endpoint, which refuses it.
    if (!beside || !isServed(req) || !beside(req, res)) endpoint.answer(req, res)
  }
  const settings = { connectionsCheckingInterval: 2000 }
  const tls = options.certificate && createTlsServer({ ...settings, ...options.certificate }, answer)
  const server = tls ?? createServer(settings, answer)
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
  const scheme = tls ? 'https' : 'http'
  let isDraining = false
  const status = () => statusOfProcess(gateway.metrics, endpoint.sessionCount, isDraining)
  const replicaUrl = options.replicaUrl ?? ownAddress(scheme, host, port)
  await gateway.replicas?.announce(replicaUrl, status)
  return {
    port,
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`,
    sessions: () => endpoint.sessions(),
    endSession: (sid) => endpoint.endSession(sid),
    metrics: () => metricsText(gateway, endpoint.sessionCount),
    status,
    setCertificate: (certificate) => tls?.setSecureContext(certificate),
    setGrants: (grants) => endpoint.setGrants(grants),
    applyAccess: (changes) => endpoint.applyAccess(changes),
    close: async () => {
      isDraining = true
      await endpoint.drain()
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      const force = setTimeout(() => server.closeAllConnections(), 500)
      await closed
      clearTimeout(force)
    },
  }
}

/** The address on the network, where all are listened on. */
function ownAddress(scheme: string, host: string, port: number): string {
  const isAny = host === '0.0.0.0' || host === '::'
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const outer = interfaces.find(({ internal, family }) => !internal && family === 'IPv4')
  const name = isAny ? (outer?.address ?? '127.0.0.1') : host
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
}

function listen(server: Server | TlsServer, port: number, host: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      done()
    })
  })
}
