// server.ts: the gateway on a port: Streamable HTTP of both eras on /mcp, with /health, /ready and /metrics. It reads and
// bounds requests and hands them to the endpoint of their era.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { InvalidInput, JsonRpcError } from '@plugboard/core'
import { atMost } from '@plugboard/core/async/waits'
import { systemHost } from '@plugboard/core/host'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { AccessControl, type AccessGrant, type AuthorizedClient, isLoopback } from '../access/access.ts'
import { Quota } from '../access/quota.ts'
import { type Handshake, readHandshake } from '../eras/legacy.ts'
import { ModernEndpoint } from '../eras/modern.ts'
import { outcomeUnknown, wireError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  errorReply,
  type Id,
  isLegacyVersion,
  type Json,
  MODERN_VERSION,
  type Reply,
  type Request,
  RPC,
  SERVER_INFO,
} from '../json-rpc.ts'
import { parseMessage } from '../parse-message.ts'
import { withTraceHeaders } from '../telemetry.ts'
import { eraOf, paramFault } from './era-headers.ts'
import { isTooLongToStart, readBody } from './request-body.ts'
import { accepts, json, McpHttpResponse } from './response.ts'
import { clientName, type HttpSession, Sessions } from './sessions.ts'

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
  const endpoint = new Endpoint(gateway, options, host)
  const answer = (req: IncomingMessage, res: ServerResponse) => {
    endpoint.answer(req, res).catch(() => {
      // An unexpected failure: this caller is told, the others are still served.
      if (!res.headersSent) json(res, 500, errorReply(null, RPC.internal, 'Internal error.'))
      else res.destroy()
    })
  }
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

/** A request that is being answered. */
interface OpenRequest {
  readonly id: Id
  readonly owner: string
  /** Answers it before its work is done, and ends the work. */
  end(reply: Reply): void
}

const RETRY_SECONDS = '5'

class Endpoint {
  readonly #gateway: Gateway
  readonly #guard: AccessControl
  readonly #modern: ModernEndpoint
  readonly #sessions: Sessions
  readonly #running = new Set<Promise<unknown>>()
  readonly #open = new Set<OpenRequest>()
  #draining = false

  constructor(gateway: Gateway, options: HttpOptions, host: string) {
    this.#gateway = gateway
    this.#guard = new AccessControl({ ...options, host, open: gateway.expose })
    this.#modern = new ModernEndpoint(gateway)
    const { streams, streamsPerOwner } = gateway.limits
    this.#sessions = new Sessions(gateway, new Quota(streams, streamsPerOwner))
  }

  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = (req.url ?? '/').split('?', 1)[0]
    const looks = req.method === 'GET' || req.method === 'HEAD'
    if (this.#draining) res.setHeader('Connection', 'close')
    // Probes come to an address, not to a name, and without a token. The reply holds no secret.
    if (path === '/health' && looks) return this.#health(res)
    if (path === '/ready' && looks) return this.#ready(res)
    const refusal = this.#guard.place(req, res)
    if (refusal) return this.#refuse(res, refusal.status, refusal.message)
    if (req.method === 'OPTIONS') return void res.writeHead(204).end()
    const visitor = this.#guard.visitor(req)
    if (!visitor) {
      res.setHeader('WWW-Authenticate', 'Bearer realm="plugboard"')
      return this.#refuse(res, 401, 'A bearer token is needed.')
    }
    if (path === '/metrics' && looks)
      return visitor.narrow
        ? this.#refuse(res, 403, 'This token is shown a part of what is served, and no metrics.')
        : this.#metrics(res)
    if (path !== '/mcp') return this.#refuse(res, 404, 'There is /mcp, /health, /ready and /metrics.')
    switch (req.method) {
      case 'POST':
        return await this.#post(req, res, visitor)
      case 'GET':
        return await this.#stream(req, res, visitor)
      case 'DELETE': {
        const session = await this.#sessionOf(req, res, visitor)
        if (!session) return
        await this.#sessions.end(session)
        return void res.writeHead(204).end()
      }
      default:
        res.setHeader('Allow', 'GET, POST, DELETE, OPTIONS')
        return this.#refuse(res, 405, 'POST a JSON-RPC message.')
    }
  }

  setGrants(grants: readonly AccessGrant[]): void {
    const { removed, changed } = this.#guard.replace(grants)
    for (const owner of removed) {
      for (const one of [...this.#open])
        if (one.owner === owner) one.end(errorReply(one.id, RPC.order, 'The token was withdrawn.'))
      this.#modern.dropOwner(owner)
      this.#sessions.dropOwner(owner)
    }
    for (const visitor of changed) {
      this.#sessions.restrict(visitor)
      this.#modern.endListens(visitor.owner)
    }
  }

  /** Lets running requests finish, within the bound; the rest is answered all the same. */
  async drain(): Promise<void> {
    this.#draining = true
    this.#modern.close()
    await atMost(systemHost(), this.#gateway.limits.drainMs, Promise.allSettled([...this.#running]))
    for (const one of [...this.#open]) one.end(outcomeUnknown(one.id, 'the gateway is shutting down'))
    await Promise.allSettled([...this.#running])
    // The responses are written in the turn after.
    await new Promise((done) => setImmediate(done))
    await this.#sessions.close()
  }

  async #post(req: IncomingMessage, res: ServerResponse, visitor: AuthorizedClient): Promise<void> {
    // A web page can send other types without a preflight; JSON it cannot.
    if (!/^application\/json\s*(?:;|$)/i.test(req.headers['content-type'] ?? ''))
      return this.#refuse(res, 415, 'The Content-Type is application/json.')
    if (
      req.headers.accept !== undefined &&
      !accepts(req, 'application/json') &&
      !accepts(req, 'text/event-stream')
    )
      return this.#refuse(res, 406, 'The answer is application/json or text/event-stream.')
    if ((req.headers['content-encoding'] ?? 'identity') !== 'identity') {
      res.setHeader('Accept-Encoding', 'identity')
      return this.#refuse(res, 415, 'A body comes as it is, not compressed.')
    }
    const body = isTooLongToStart(req) ? undefined : await readBody(req, res)
    if (body === undefined) {
      res.setHeader('Connection', 'close')
      return this.#refuse(res, 413, `A body may have ${GATEWAY_LIMITS.bodyBytes} bytes.`)
    }
    const incoming = parseMessage(body)
    switch (incoming.kind) {
      case 'bad':
        return json(res, 400, incoming.reply)
      case 'request':
        return await this.#request(incoming.message, req, res, visitor)
      case 'notification': {
        // The modern era has no notifications from clients: closing the stream cancels a request.
        if (headerVersion(req) === MODERN_VERSION) return void res.writeHead(202).end()
        const session = await this.#sessionOf(req, res, visitor)
        session?.session.notified(incoming.message)
        return session && void res.writeHead(202).end()
      }
      case 'reply': {
        const session = await this.#sessionOf(req, res, visitor)
        session?.session.replied(incoming.message)
        return session && void res.writeHead(202).end()
      }
    }
  }

  async #request(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    visitor: AuthorizedClient,
  ): Promise<void> {
    if (this.#draining)
      return this.#refuse(res, 503, 'The gateway is shutting down: try again in a moment.', message.id)
    const era = eraOf(message, req.headers)
    if ('refused' in era) return json(res, 400, era.refused)
    const params = withTraceHeaders(message.params, req.headers)
    const traced = params === message.params ? message : { ...message, params }
    if (era.era === 'legacy') return await this.#legacy(traced, req, res, visitor)
    const answering = new McpHttpResponse(req, res)
    const work = this.#modern.request(traced, {
      signal: answering.gone,
      ...visitor,
      vet: (params) => this.#vet(params, req.headers, visitor),
      notify: (method, params) => answering.send({ jsonrpc: '2.0', method, params }),
    })
    const reply = await this.#track(message.id, visitor, answering, work)
    if (reply?.error?.code === RPC.methodNotFound && !res.headersSent) return json(res, 404, reply)
    if (isEnvelopeFault(message, reply) && !res.headersSent) return json(res, 400, reply)
    answering.finish(reply)
  }

  #vet({ name, arguments: args }: Json, headers: IncomingHttpHeaders, { exposure }: AuthorizedClient): void {
    const tool = this.#gateway.viewOf(exposure).tool(String(name))
    const fault = tool && paramFault(tool.headers(), args, headers)
    if (fault) throw new JsonRpcError(RPC.headerMismatch, fault)
  }

  async #legacy(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    visitor: AuthorizedClient,
  ): Promise<void> {
    const opens = message.method === 'initialize' && req.headers['mcp-session-id'] === undefined
    const session = opens
      ? this.#begin(message, res, visitor)
      : await this.#sessionOf(req, res, visitor, message.id)
    if (!session) return
    const answering = new McpHttpResponse(req, res, session.resumable(message.id))
    if (opens) res.setHeader('Mcp-Session-Id', session.id)
    const taken = session.answers.has(message.id)
    if (!taken) session.answers.set(message.id, answering)
    try {
      const work = session.session.request(message, answering.gone)
      const reply = await this.#track(message.id, visitor, answering, work)
      if (opens) {
        if (reply?.result) this.#sessions.keep(session)
        else {
          // The client left during the handshake and never learned the id: the session must not stay.
          void session.close()
          if (!res.headersSent) res.removeHeader('Mcp-Session-Id')
        }
      }
      answering.finish(reply)
    } finally {
      if (!taken) session.answers.delete(message.id)
      session.lastUsed = Date.now()
    }
  }

  /** A session for a client that sent `initialize`, or a refusal. */
  #begin({ id, params }: Request, res: ServerResponse, visitor: AuthorizedClient): HttpSession | undefined {
    let handshake: Handshake
    try {
      handshake = readHandshake(params)
    } catch (error) {
      const { code, message, data } = wireError(error, 'legacy')
      json(res, 200, errorReply(id, code, message, data))
      return undefined
    }
    const session = this.#sessions.make(visitor, handshake, clientName(params))
    if (!session) this.#refuse(res, 503, 'Too many sessions are open: end one, or try again in a moment.', id)
    return session
  }

  /** The response of the work, or the one that ends it early. */
  async #track(
    id: Id,
    { owner }: AuthorizedClient,
    answering: McpHttpResponse,
    work: Promise<Reply | undefined>,
  ): Promise<Reply | undefined> {
    let one: OpenRequest | undefined
    const ended = new Promise<Reply>((settle) => {
      one = {
        id,
        owner,
        end: (reply) => {
          settle(reply)
          // After the response is out, or the work would answer first that it was cancelled.
          setImmediate(() => answering.leave())
        },
      }
    })
    const running = Promise.race([work, ended])
    if (one) this.#open.add(one)
    this.#running.add(running)
    try {
      return await running
    } finally {
      if (one) this.#open.delete(one)
      this.#running.delete(running)
    }
  }

  async #stream(req: IncomingMessage, res: ServerResponse, visitor: AuthorizedClient): Promise<void> {
    // A client without a session (2026-07-28) has no stream of this kind.
    if (req.headers['mcp-session-id'] === undefined && headerVersion(req) >= '2026') {
      res.setHeader('Allow', 'POST')
      this.#refuse(res, 405, 'There is no such stream in this protocol version.')
      return
    }
    if (!accepts(req, 'text/event-stream')) return this.#refuse(res, 406, 'The answer is text/event-stream.')
    if (this.#draining) return this.#refuse(res, 503, 'The gateway is shutting down: try again in a moment.')
    const session = await this.#sessionOf(req, res, visitor)
    if (!session || res.destroyed) return
    const place = this.#sessions.streamPlace(session)
    if (place) session.open(res, lastEventId(req), place)
    else this.#refuse(res, 503, 'Too many streams are open: close one, or try again in a moment.')
  }

  /** The session that a legacy message belongs to, or a refusal; `about` is the id if it is a request. */
  async #sessionOf(
    req: IncomingMessage,
    res: ServerResponse,
    visitor: AuthorizedClient,
    about: Id | null = null,
  ): Promise<HttpSession | undefined> {
    const refuse = (status: number, code: number, text: string) => {
      json(res, status, errorReply(about, code, text))
      return undefined
    }
    const id = req.headers['mcp-session-id']
    if (typeof id !== 'string')
      return refuse(400, RPC.order, 'The header Mcp-Session-Id is missing: send initialize first.')
    const session = await this.#sessions.find(id, visitor)
    if (session === 'full') {
      this.#refuse(res, 503, 'Too many sessions are open: end one, or try again in a moment.', about)
      return undefined
    }
    if (!session) return refuse(404, RPC.sessionNotFound, 'There is no such session.')
    const version = headerVersion(req)
    if (version !== '' && !isLegacyVersion(version))
      return refuse(400, RPC.order, `The protocol version "${version}" is not served.`)
    return session
  }

  #health(res: ServerResponse): void {
    const status = this.#draining ? 'draining' : 'ok'
    json(res, 200, { status, service: SERVER_INFO.name, version: SERVER_INFO.version })
  }

  /** Whether calls should be sent here. Servers that are down are counted, not named: the others can still be used. */
  #ready(res: ServerResponse): void {
    const { isAwake, board } = this.#gateway
    const status = this.#draining ? 'draining' : isAwake ? 'ready' : 'starting'
    const states = board.servers().map(({ state }) => state)
    const up = states.filter((state) => state === 'connected').length
    const away = states.filter((state) => state === 'failed' || state === 'needs-auth').length
    json(res, status === 'ready' ? 200 : 503, { status, servers: { up, away } })
  }

  #metrics(res: ServerResponse): void {
    const states: Record<string, number> = {}
    for (const { state } of this.#gateway.board.servers()) states[state] = (states[state] ?? 0) + 1
    const text = this.#gateway.metrics.print(
      { sessions: this.#sessions.count, listeners: this.#gateway.feed.listeners },
      states,
    )
    res.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
  }

  #refuse(res: ServerResponse, status: number, message: string, about: Id | null = null): void {
    this.#gateway.metrics.refused()
    if (status === 503) res.setHeader('Retry-After', RETRY_SECONDS)
    json(res, status, errorReply(about, RPC.order, message))
  }
}

/** A request with a wrong envelope was never dispatched. */
function isEnvelopeFault({ method }: Request, reply: Reply | undefined): reply is Reply {
  return (
    reply?.error?.code === RPC.unsupportedVersion ||
    (method === 'server/discover' && reply?.error !== undefined)
  )
}

function headerVersion(req: IncomingMessage): string {
  const value = req.headers['mcp-protocol-version']
  return typeof value === 'string' ? value.trim() : ''
}

function lastEventId(req: IncomingMessage): string | undefined {
  const value = req.headers['last-event-id']
  return typeof value === 'string' ? value : undefined
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
