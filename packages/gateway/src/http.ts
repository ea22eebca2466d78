// http.ts: the gateway on a port: Streamable HTTP of both eras on /mcp, /health and /metrics. It reads and bounds
// requests and hands them to the era they belong to.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { InvalidInput, RpcFault } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { Answering, accepts, json } from './answering.ts'
import type { Gateway } from './gateway.ts'
import { type Grant, Guard, isLoopback, type Visitor } from './guard.ts'
import { eraOf, paramFault } from './headers.ts'
import { ModernDesk } from './modern.ts'
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
} from './protocol.ts'
import { readMessage } from './reading.ts'
import { type HttpSession, Sessions } from './sessions.ts'
import { within } from './stdio.ts'

export interface HttpOptions {
  /** 0, or left out, picks a free port. */
  readonly port?: number
  /** Loopback unless told otherwise. */
  readonly host?: string
  /** Who may come in. Empty lets everybody in, on loopback only. */
  readonly grants: readonly Grant[]
  readonly allowedOrigins?: readonly string[]
  /** Host names to answer to besides loopback's and `host`. */
  readonly allowedHosts?: readonly string[]
}

export interface HttpHandle {
  readonly url: string
  readonly port: number
  /** Takes no more requests, lets running ones finish within the bound, and ends. The gateway itself stays open. */
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
      // What nobody foresaw: the caller learns that it failed, the others are served on.
      if (!res.headersSent) json(res, 500, errorReply(null, RPC.internal, 'Internal error.'))
      else res.destroy()
    })
  }
  const server = createServer({ connectionsCheckingInterval: 2000 }, answer)
  server.on('checkContinue', (req, res) => {
    // Who is refused may send the body or not: what comes next on this connection could be either.
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
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeIdleConnections()
      await endpoint.drain()
      server.closeIdleConnections()
      const force = setTimeout(() => server.closeAllConnections(), 500)
      await closed
      clearTimeout(force)
    },
  }
}

class Endpoint {
  readonly #gateway: Gateway
  readonly #guard: Guard
  readonly #desk: ModernDesk
  readonly #sessions: Sessions
  readonly #running = new Set<Promise<unknown>>()
  #draining = false

  constructor(gateway: Gateway, options: HttpOptions, host: string) {
    this.#gateway = gateway
    this.#guard = new Guard({ ...options, host, open: gateway.expose })
    this.#desk = new ModernDesk(gateway)
    this.#sessions = new Sessions(gateway)
  }

  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const refusal = this.#guard.place(req, res)
    if (refusal) return this.#refuse(res, refusal.status, refusal.message)
    const path = (req.url ?? '/').split('?', 1)[0]
    if (req.method === 'OPTIONS') return void res.writeHead(204).end()
    const looks = req.method === 'GET' || req.method === 'HEAD'
    if (path === '/health' && looks) return this.#health(res)
    const visitor = this.#guard.visitor(req)
    if (!visitor) {
      res.setHeader('WWW-Authenticate', 'Bearer realm="plugboard"')
      return this.#refuse(res, 401, 'A bearer token is needed.')
    }
    if (path === '/metrics' && looks) return this.#metrics(res)
    if (path !== '/mcp') return this.#refuse(res, 404, 'There is /mcp, /health and /metrics.')
    if (this.#draining) return this.#refuse(res, 503, 'Shutting down.')
    switch (req.method) {
      case 'POST':
        return await this.#post(req, res, visitor)
      case 'GET':
        return this.#stream(req, res, visitor)
      case 'DELETE': {
        const session = this.#sessionOf(req, res, visitor)
        if (!session) return
        this.#sessions.drop(session)
        return void res.writeHead(204).end()
      }
      default:
        res.setHeader('Allow', 'GET, POST, DELETE, OPTIONS')
        return this.#refuse(res, 405, 'POST a JSON-RPC message.')
    }
  }

  /** Lets what runs finish, within the bound. */
  async drain(): Promise<void> {
    this.#draining = true
    this.#desk.close()
    await within(GATEWAY_LIMITS.drainMs, Promise.allSettled([...this.#running]))
    await this.#sessions.close()
  }

  async #post(req: IncomingMessage, res: ServerResponse, visitor: Visitor): Promise<void> {
    // A web page can send other types without asking first; JSON it cannot.
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
    const incoming = readMessage(body)
    switch (incoming.kind) {
      case 'bad':
        return json(res, 400, incoming.reply)
      case 'request':
        return await this.#request(incoming.message, req, res, visitor)
      case 'notification': {
        // The newer era has no notifications from clients: closing the stream is how a request is withdrawn.
        if (headerVersion(req) === MODERN_VERSION) return void res.writeHead(202).end()
        const session = this.#sessionOf(req, res, visitor)
        session?.session.notified(incoming.message)
        return session && void res.writeHead(202).end()
      }
      case 'reply': {
        const session = this.#sessionOf(req, res, visitor)
        session?.session.replied(incoming.message)
        return session && void res.writeHead(202).end()
      }
    }
  }

  async #request(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    visitor: Visitor,
  ): Promise<void> {
    const era = eraOf(message, req.headers)
    if ('refused' in era) return json(res, 400, era.refused)
    if (era.era === 'legacy') return await this.#legacy(message, req, res, visitor)
    const answering = new Answering(req, res)
    const work = this.#desk.request(message, {
      signal: answering.gone,
      ...visitor,
      vet: (params) => this.#vet(params, req.headers, visitor),
      notify: (method, params) => answering.send({ jsonrpc: '2.0', method, params }),
    })
    const reply = await this.#track(work)
    if (reply?.error?.code === RPC.methodNotFound && !res.headersSent) return json(res, 404, reply)
    if (isEnvelopeFault(message, reply) && !res.headersSent) return json(res, 400, reply)
    answering.finish(reply)
  }

  #vet({ name, arguments: args }: Json, headers: IncomingHttpHeaders, { exposure }: Visitor): void {
    const tool = this.#gateway.viewOf(exposure).tool(String(name))
    const fault = tool && paramFault(tool.headers(), args, headers)
    if (fault) throw new RpcFault(RPC.headerMismatch, fault)
  }

  async #legacy(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    visitor: Visitor,
  ): Promise<void> {
    const opens = message.method === 'initialize' && req.headers['mcp-session-id'] === undefined
    const session = opens ? this.#sessions.make(visitor) : this.#sessionOf(req, res, visitor, message.id)
    if (!session) {
      if (!res.writableEnded) this.#refuse(res, 503, 'Too many sessions are open.')
      return
    }
    const answering = new Answering(req, res, session.resumable)
    if (opens) res.setHeader('Mcp-Session-Id', session.id)
    const taken = session.answers.has(message.id)
    if (!taken) session.answers.set(message.id, answering)
    try {
      const reply = await this.#track(session.session.request(message, answering.gone))
      if (opens) {
        if (reply?.result) this.#sessions.keep(session)
        else {
          // Nobody knows its id: whoever left during the greeting must not be listened for.
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

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  #stream(req: IncomingMessage, res: ServerResponse, visitor: Visitor): void {
    // Who keeps no session (2026-07-28) has no stream of this kind.
    if (req.headers['mcp-session-id'] === undefined && headerVersion(req) >= '2026') {
      res.setHeader('Allow', 'POST')
      this.#refuse(res, 405, 'There is no such stream in this protocol version.')
    } else if (!accepts(req, 'text/event-stream')) this.#refuse(res, 406, 'The answer is text/event-stream.')
    else this.#sessionOf(req, res, visitor)?.open(res, lastEventId(req))
  }

  /** The session that a message of the older era belongs to, or a refusal; `about` is the request that it is. */
  #sessionOf(
    req: IncomingMessage,
    res: ServerResponse,
    visitor: Visitor,
    about: Id | null = null,
  ): HttpSession | undefined {
    const refuse = (status: number, code: number, text: string) => {
      json(res, status, errorReply(about, code, text))
      return undefined
    }
    const id = req.headers['mcp-session-id']
    if (typeof id !== 'string')
      return refuse(400, RPC.order, 'The header Mcp-Session-Id is missing: send initialize first.')
    const session = this.#sessions.find(id, visitor)
    if (!session) return refuse(404, RPC.sessionNotFound, 'There is no such session.')
    const version = headerVersion(req)
    if (version !== '' && !isLegacyVersion(version))
      return refuse(400, RPC.order, `The protocol version "${version}" is not served.`)
    return session
  }

  #health(res: ServerResponse): void {
    const status = this.#draining ? 'draining' : 'ok'
    json(res, this.#draining ? 503 : 200, { status, service: SERVER_INFO.name, version: SERVER_INFO.version })
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

  #refuse(res: ServerResponse, status: number, message: string): void {
    this.#gateway.metrics.refused()
    json(res, status, errorReply(null, RPC.order, message))
  }
}

/** A request whose envelope is wrong never reached anybody. */
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

/** Who asks before it sends can be told in time. */
function isTooLongToStart({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && Number(headers['content-length'] ?? 0) > GATEWAY_LIMITS.bodyBytes
}

/** Nothing when it is too long. Then the rest is read on for a while, unkept: who is still sending hears no answer. */
function readBody(req: IncomingMessage, res: ServerResponse): Promise<string | undefined> {
  if (req.headers.expect !== undefined) res.writeContinue()
  // An iterator would be shorter here, and costs more than the rest of the reading.
  return new Promise((done, fail) => {
    if (Number(req.headers['content-length'] ?? 0) > GATEWAY_LIMITS.discardedBytes) return done(undefined)
    const pieces: Buffer[] = []
    let size = 0
    req.on('data', (piece: Buffer) => {
      size += piece.length
      if (size <= GATEWAY_LIMITS.bodyBytes) pieces.push(piece)
      else pieces.length = 0
      if (size <= GATEWAY_LIMITS.discardedBytes) return
      req.pause()
      done(undefined)
    })
    req.on('end', () => {
      if (size > GATEWAY_LIMITS.bodyBytes) return done(undefined)
      const [only] = pieces
      done((pieces.length === 1 && only ? only : Buffer.concat(pieces)).toString('utf8'))
    })
    req.on('error', fail)
    req.on('close', () => fail(new Error('The client left before its request was complete.')))
  })
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
