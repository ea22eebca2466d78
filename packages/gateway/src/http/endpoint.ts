// endpoint.ts: what happens to one HTTP request: access checks, the path, the body, the era, and the response. server.ts owns
// the port; the eras own what a message means.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { JsonRpcError } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import {
  AccessControl,
  type AccessGrant,
  type AccessOptions,
  type AuthorizedClient,
} from '../access/access.ts'
import { Quota } from '../access/concurrency-limits.ts'
import { FairQueue } from '../access/fair-queue.ts'
import { type Handshake, readHandshake } from '../eras/legacy.ts'
import { ModernEndpoint } from '../eras/modern.ts'
import { wireError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  errorReply,
  type Id,
  type Incoming,
  isLegacyVersion,
  MODERN_VERSION,
  type Reply,
  type Request,
  RPC,
} from '../json-rpc.ts'
import { parseMessage } from '../parse-message.ts'
import { withTraceHeaders } from '../telemetry.ts'
import type { ToolRef } from '../views/views.ts'
import { eraOf, paramFault } from './era-headers.ts'
import { OpenResponses } from './open-responses.ts'
import { sendHealth, sendMetrics, sendReady } from './probes.ts'
import { isTooLongToStart, readBody } from './request-body.ts'
import { accepts, json, McpHttpResponse } from './response.ts'
import { clientName, type HttpSession, Sessions } from './sessions.ts'

const RETRY_SECONDS = '5'
const DRAINING = 'The gateway is shutting down: try again in a moment.'
const TOO_MANY_SESSIONS = 'Too many sessions are open: end one, or try again in a moment.'

export class Endpoint {
  readonly #gateway: Gateway
  readonly #access: AccessControl
  readonly #modern: ModernEndpoint
  readonly #sessions: Sessions
  readonly #queue = new FairQueue()
  readonly #open = new OpenResponses()
  #draining = false

  constructor(gateway: Gateway, access: AccessOptions) {
    this.#gateway = gateway
    this.#access = new AccessControl(access)
    this.#modern = new ModernEndpoint(gateway)
    const { streams, streamsPerOwner } = gateway.limits
    this.#sessions = new Sessions(gateway, new Quota(streams, streamsPerOwner))
  }

  answer(req: IncomingMessage, res: ServerResponse) {
    const url = req.url ?? '/'
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const looks = req.method === 'GET' || req.method === 'HEAD'
    if (this.#draining) res.setHeader('Connection', 'close')
    // Probes come to an address, not to a name, and without a token. The reply holds no secret.
    if (path === '/health' && looks) return sendHealth(res, this.#draining)
    if (path === '/ready' && looks) return sendReady(res, this.#gateway, this.#draining)
    const refusal = this.#access.checkOrigin(req, res)
    if (refusal) return this.#refuse(res, refusal.status, refusal.message)
    if (req.method === 'OPTIONS') return void res.writeHead(204).end()
    const client = this.#access.authorize(req)
    if (!client) {
      res.setHeader('WWW-Authenticate', 'Bearer realm="plugboard"')
      return this.#refuse(res, 401, 'A bearer token is needed.')
    }
    if (path === '/metrics' && looks)
      return client.narrow
        ? this.#refuse(res, 403, 'This token is shown a part of what is served, and no metrics.')
        : sendMetrics(res, this.#gateway, this.#sessions.count)
    if (path !== '/mcp') return this.#refuse(res, 404, 'There is /mcp, /health, /ready and /metrics.')
    if (req.method === 'POST') return this.#post(req, res, client)
    this.#streamOrEnd(req, res, client)
  }

  #streamOrEnd(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient) {
    switch (req.method) {
      case 'GET':
        return void this.#guarded(res, this.#stream(req, res, client))
      case 'DELETE':
        return void this.#guarded(res, this.#delete(req, res, client))
      default:
        res.setHeader('Allow', 'GET, POST, DELETE, OPTIONS')
        return this.#refuse(res, 405, 'POST a JSON-RPC message.')
    }
  }

  /** An unexpected failure: this client is told, the others are still served. */
  #guarded(res: ServerResponse, work: Promise<void>): Promise<void> {
    return work.catch(() => {
      if (!res.headersSent) json(res, 500, errorReply(null, RPC.internal, 'Internal error.'))
      else res.destroy()
    })
  }

  setGrants(grants: readonly AccessGrant[]): void {
    const { removed, changed } = this.#access.replace(grants)
    for (const owner of removed) {
      this.#open.endOf(owner)
      this.#modern.dropOwner(owner)
      this.#sessions.dropOwner(owner)
    }
    for (const client of changed) {
      this.#sessions.restrict(client)
      this.#modern.endSubscriptions(client.owner)
    }
  }

  /** Lets running requests finish, within the bound; the rest is answered all the same. */
  async drain(): Promise<void> {
    this.#draining = true
    this.#modern.close()
    await this.#open.drain(this.#gateway.limits.drainMs)
    // The responses are written in the turn after.
    await new Promise((done) => setImmediate(done))
    await this.#sessions.close()
  }

  #post(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient) {
    // A web page can send other types without a preflight; JSON it cannot.
    if (!isJson(req.headers['content-type']))
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
    const received = (body: string | undefined) => {
      if (body === undefined) {
        res.setHeader('Connection', 'close')
        return this.#refuse(res, 413, `A body may have ${GATEWAY_LIMITS.bodyBytes} bytes.`)
      }
      const incoming = parseMessage(body)
      if (incoming.kind === 'bad') return json(res, 400, incoming.reply)
      this.#queue.run(client.owner, () =>
        this.#guarded(
          res,
          incoming.kind === 'request'
            ? this.#request(incoming.message, req, res, client)
            : this.#note(incoming, req, res, client),
        ),
      )
    }
    if (isTooLongToStart(req)) received(undefined)
    else readBody(req, res, received)
  }

  /** A notification, or a client's reply to a request of a server. */
  async #note(
    incoming: Extract<Incoming, { readonly kind: 'notification' | 'reply' }>,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> {
    // The modern era has no notifications from clients: closing the stream cancels a request.
    if (incoming.kind === 'notification' && headerVersion(req) === MODERN_VERSION)
      return void res.writeHead(202).end()
    const session = await this.#sessionOf(req, res, client)
    if (!session) return
    if (incoming.kind === 'notification') session.session.notified(incoming.message)
    else session.session.replied(incoming.message)
    res.writeHead(202).end()
  }

  async #request(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> {
    if (this.#draining) return this.#refuse(res, 503, DRAINING, message.id)
    const era = eraOf(message, req.headers)
    if ('refused' in era) return json(res, 400, era.refused)
    const params = withTraceHeaders(message.params, req.headers)
    const traced = params === message.params ? message : { ...message, params }
    if (era.era === 'legacy') return await this.#legacy(traced, req, res, client)
    const response = new McpHttpResponse(req, res)
    this.#open.add(response, message.id, client.owner)
    const reply = await this.#modern.request(traced, {
      connection: response,
      owner: client.owner,
      exposure: client.exposure,
      narrow: client.narrow,
      checkHeaders: (tool, args) => checkHeaders(tool, args, req.headers),
      notify: (method, what) => response.send({ jsonrpc: '2.0', method, params: what }),
    })
    this.#open.delete(response)
    if (reply?.error?.code === RPC.methodNotFound && !res.headersSent) return json(res, 404, reply)
    if (isEnvelopeFault(message, reply) && !res.headersSent) return json(res, 400, reply)
    response.finish(reply)
  }

  async #legacy(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> {
    const opens = message.method === 'initialize' && req.headers['mcp-session-id'] === undefined
    if (opens) return await this.#initialize(message, req, res, client)
    const found = this.#sessionOf(req, res, client, message.id)
    const session = found instanceof Promise ? await found : found
    if (session) await this.#inSession(session, message, req, res)
  }

  /** A session for a client that sent `initialize`, or a refusal. */
  async #initialize(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> {
    const { id, params } = message
    let handshake: Handshake
    try {
      handshake = readHandshake(params)
    } catch (error) {
      const { code, message: text, data } = wireError(error, 'legacy')
      return json(res, 200, errorReply(id, code, text, data))
    }
    const session = this.#sessions.make(client, handshake, clientName(params))
    if (!session) return this.#refuse(res, 503, TOO_MANY_SESSIONS, id)
    res.setHeader('Mcp-Session-Id', session.id)
    await this.#inSession(session, message, req, res, (reply) => {
      if (reply?.result) return this.#sessions.keep(session)
      // The client left during the handshake and never learned the id: the session must not stay.
      void session.close()
      if (!res.headersSent) res.removeHeader('Mcp-Session-Id')
    })
  }

  async #inSession(
    session: HttpSession,
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    beforeFinish?: (reply: Reply | undefined) => void,
  ): Promise<void> {
    const { id } = message
    const response = new McpHttpResponse(req, res, session.resumable(id))
    const taken = session.answers.has(id)
    if (!taken) session.answers.set(id, response)
    this.#open.add(response, id, session.owner)
    try {
      const reply = await session.session.request(message, response)
      beforeFinish?.(reply)
      response.finish(reply)
    } finally {
      this.#open.delete(response)
      if (!taken) session.answers.delete(id)
      session.lastUsed = Date.now()
    }
  }

  async #stream(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient): Promise<void> {
    // A client without a session (2026-07-28) has no stream of this kind.
    if (req.headers['mcp-session-id'] === undefined && headerVersion(req) >= '2026') {
      res.setHeader('Allow', 'POST')
      return this.#refuse(res, 405, 'There is no such stream in this protocol version.')
    }
    if (!accepts(req, 'text/event-stream')) return this.#refuse(res, 406, 'The answer is text/event-stream.')
    if (this.#draining) return this.#refuse(res, 503, DRAINING)
    const session = await this.#sessionOf(req, res, client)
    if (!session || res.destroyed) return
    const slot = this.#sessions.streamSlot(session)
    if (slot) session.open(res, lastEventId(req), slot)
    else this.#refuse(res, 503, 'Too many streams are open: close one, or try again in a moment.')
  }

  async #delete(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient): Promise<void> {
    const session = await this.#sessionOf(req, res, client)
    if (!session) return
    await this.#sessions.end(session)
    res.writeHead(204).end()
  }

  /** The session that a legacy message belongs to, or a refusal; `about` is the id if it is a request. */
  #sessionOf(
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
    about: Id | null = null,
  ): HttpSession | undefined | Promise<HttpSession | undefined> {
    const id = req.headers['mcp-session-id']
    const accept = (session: HttpSession | 'full' | undefined) => {
      if (session === 'full') return void this.#refuse(res, 503, TOO_MANY_SESSIONS, about)
      const refuse = (status: number, code: number, text: string) => {
        this.#gateway.metrics.refused()
        json(res, status, errorReply(about, code, text))
      }
      if (!session) return void refuse(404, RPC.sessionNotFound, 'There is no such session.')
      const version = headerVersion(req)
      if (version === '' || isLegacyVersion(version)) return session
      return void refuse(400, RPC.order, `The protocol version "${version}" is not served.`)
    }
    if (typeof id !== 'string') {
      this.#gateway.metrics.refused()
      const text = 'The header Mcp-Session-Id is missing: send initialize first.'
      return void json(res, 400, errorReply(about, RPC.order, text))
    }
    const known = this.#sessions.inMemory(id, client)
    return known ? accept(known) : this.#sessions.find(id, client).then(accept)
  }

  #refuse(res: ServerResponse, status: number, message: string, about: Id | null = null): void {
    this.#gateway.metrics.refused()
    if (status === 503) res.setHeader('Retry-After', RETRY_SECONDS)
    json(res, status, errorReply(about, RPC.order, message))
  }
}

function isJson(type: string | undefined): boolean {
  return type === 'application/json' || /^application\/json\s*(?:;|$)/i.test(type ?? '')
}

/** Throws when the headers that repeat arguments of a call contradict it. */
function checkHeaders(tool: ToolRef, args: unknown, headers: IncomingHttpHeaders): void {
  const fault = paramFault(tool.headers(), args, headers)
  if (fault) throw new JsonRpcError(RPC.headerMismatch, fault)
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
