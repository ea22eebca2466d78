// endpoint.ts: what happens to one HTTP request: access checks, the path, the body, the era, and the response. server.ts owns
// the port; the eras own what a message means.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import {
  type AccessChanges,
  AccessControl,
  type AccessGrant,
  type AccessOptions,
  type AccessRefusal,
  type AuthorizedClient,
  METADATA_PATH,
} from '../access/access.ts'
import { FairQueue } from '../access/fair-queue.ts'
import { ConcurrencyLimit } from '../access/fair-slots.ts'
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
import { withTraceHeaders } from '../server-span.ts'
import type { LoginPages } from '../user-logins/login-pages.ts'
import { loginPages } from '../user-logins/login-steps.ts'
import { checkHeaders, eraOf, isEnvelopeFault } from './era-headers.ts'
import { OpenResponses } from './open-responses.ts'
import { metricsText, sendHealth, sendMetrics, sendReady, sendResourceMetadata } from './probes.ts'
import {
  answeredBy,
  isPassedOn,
  replicaForEvent,
  replicaForMessage,
  replicaForSseSession,
} from './replica-routing.ts'
import { isTooLongToStart, readBody } from './request-body.ts'
import { bearerOf, headerVersion, isJson, lastEventId } from './request-headers.ts'
import { accepts, guarded, handled, json, McpHttpResponse } from './response.ts'
import { clientName } from './session-ids.ts'
import { type HttpSession, type SessionInfo, Sessions } from './sessions.ts'
import { MESSAGES_PATH, SSE_PATH, SseSessions } from './sse-sessions.ts'

const RETRY_SECONDS = '5'
const DRAINING = 'The gateway is shutting down: try again in a moment.'
const NO_TOKEN: AccessRefusal = { status: 401, message: 'A bearer token is needed.' }
const TOO_MANY_SESSIONS = 'Too many sessions are open: end one, or try again in a moment.'
const TOO_MANY_STREAMS = 'Too many streams are open: close one, or try again in a moment.'
const TOO_SLOW = 'The stream of this session is not read fast enough: read it, then try again.'

type ReadableMessage = Exclude<Incoming, { readonly kind: 'bad' }>

export class Endpoint {
  readonly #gateway: Gateway
  readonly #access: AccessControl
  readonly #modern: ModernEndpoint
  readonly #sessions: Sessions
  readonly #sse: SseSessions
  readonly #queue = new FairQueue()
  readonly #open = new OpenResponses()
  readonly #loginPages: LoginPages | undefined
  #draining = false

  constructor(gateway: Gateway, access: AccessOptions) {
    this.#gateway = gateway
    this.#access = new AccessControl(access)
    this.#loginPages = loginPages(gateway.userServers?.logins)
    this.#modern = new ModernEndpoint(gateway)
    const { streams, streamsPerOwner } = gateway.limits
    const slots = new ConcurrencyLimit(streams, streamsPerOwner)
    this.#sessions = new Sessions(gateway, slots)
    this.#sse = new SseSessions(gateway, slots, this.#open)
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
    if (path.startsWith(METADATA_PATH) && looks && this.#access.resourceMetadata)
      return sendResourceMetadata(res, this.#access.resourceMetadata)
    // The replica that passed a request on has checked where it comes from.
    const refusal = isPassedOn(this.#gateway, req) ? undefined : this.#access.checkOrigin(req, res)
    if (refusal) return this.#refuse(res, refusal.status, refusal.message)
    if (req.method === 'OPTIONS') return void res.writeHead(204).end()
    // Browsers come without a token; a sealed link says whom they come for.
    if (this.#loginPages?.owns(path)) return void guarded(res, this.#loginPages.answer(req, res, path))
    const found = this.#access.authorize(req)
    if (!(found instanceof Promise)) return this.#answerAs(found, path, req, res)
    const answered = found.then((client) => this.#answerAs(client, path, req, res))
    void guarded(res, answered)
  }

  #answerAs(
    client: AuthorizedClient | AccessRefusal | undefined,
    path: string,
    req: IncomingMessage,
    res: ServerResponse,
  ) {
    if (!client || 'status' in client) {
      const { status, message, challenge } = client ?? NO_TOKEN
      if (challenge ?? status === 401)
        res.setHeader('WWW-Authenticate', challenge ?? this.#access.challenge(req))
      return this.#refuse(res, status, message)
    }
    if (client.user) this.#gateway.userServers?.logins.present(client.user, () => bearerOf(req))
    if (path === '/metrics' && (req.method === 'GET' || req.method === 'HEAD'))
      return client.narrow
        ? this.#refuse(res, 403, 'This token is shown a part of what is served, and no metrics.')
        : sendMetrics(res, metricsText(this.#gateway, this.sessionCount))
    if (path === SSE_PATH) return this.#openSse(req, res, client)
    if (path === MESSAGES_PATH) {
      const query = (req.url ?? '').slice(path.length + 1)
      return this.#postToSse(req, res, client, query)
    }
    if (path !== '/mcp')
      return this.#refuse(res, 404, 'There is /mcp, /sse, /messages, /health, /ready and /metrics.')
    if (req.method === 'POST') return this.#post(req, res, client)
    this.#streamOrEnd(req, res, client)
  }

  #streamOrEnd(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient) {
    switch (req.method) {
      case 'GET':
        return void guarded(res, this.#stream(req, res, client))
      case 'DELETE':
        return void guarded(res, this.#delete(req, res, client))
      default:
        res.setHeader('Allow', 'GET, POST, DELETE, OPTIONS')
        return this.#refuse(res, 405, 'POST a JSON-RPC message.')
    }
  }

  sessions(): readonly SessionInfo[] {
    return this.#sessions.infos()
  }

  async endSession(sid: string): Promise<boolean> {
    const session = this.#sessions.bySid(sid)
    if (session) await this.#sessions.end(session)
    return session !== undefined
  }

  get sessionCount(): number {
    return this.#sessions.count + this.#sse.count
  }

  setGrants(grants: readonly AccessGrant[]): void {
    this.applyAccess(this.#access.replace(grants))
  }

  /** Ends what owners that lost access have open; those that see other things go on with that. */
  applyAccess({ removed, changed }: AccessChanges): void {
    for (const owner of removed) {
      this.#open.endOf(owner)
      this.#modern.dropOwner(owner)
      this.#sessions.dropOwner(owner)
      this.#sse.dropOwner(owner)
      this.#gateway.tasks.dropOwner(owner)
      this.#gateway.instances?.dropOwner(owner)
    }
    for (const client of changed) {
      this.#sessions.restrict(client)
      this.#sse.restrict(client)
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
    await Promise.all([this.#sessions.close(), this.#sse.close()])
  }

  #post(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient) {
    if (
      req.headers.accept !== undefined &&
      !accepts(req, 'application/json') &&
      !accepts(req, 'text/event-stream')
    )
      return this.#refuse(res, 406, 'The answer is application/json or text/event-stream.')
    this.#receive(req, res, client, (incoming) =>
      incoming.kind === 'request'
        ? this.#request(incoming.message, req, res, client)
        : this.#note(incoming, req, res, client),
    )
  }

  /** Reads one message from a body, within the bounds, and handles it in its owner's turn. */
  #receive(
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
    handle: (incoming: ReadableMessage, body: string) => Promise<void> | undefined,
  ) {
    // A web page can send other types without a preflight; JSON it cannot.
    if (!isJson(req.headers['content-type']))
      return this.#refuse(res, 415, 'The Content-Type is application/json.')
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
      const run = () => this.#queue.run(client.owner, () => handled(res, () => handle(incoming, body)))
      const home = this.#gateway.replicas && replicaForMessage(this.#gateway, incoming, client)
      if (home === undefined) return run()
      const passed = Promise.resolve(home).then((id) => answeredBy(this.#gateway, id, req, res, body))
      void guarded(
        res,
        passed.then((done) => done || run()),
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

  /** Undefined when it has been answered at once. */
  #request(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> | undefined {
    if (this.#draining) return void this.#refuse(res, 503, DRAINING, message.id)
    const era = eraOf(message, req.headers)
    if ('refused' in era) return void json(res, 400, era.refused)
    const params = withTraceHeaders(message.params, req.headers)
    const traced = params === message.params ? message : { ...message, params }
    return era.era === 'legacy'
      ? this.#legacy(traced, req, res, client)
      : this.#modernRequest(traced, req, res, client)
  }

  async #modernRequest(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> {
    const response = new McpHttpResponse(req, res)
    const open = this.#open.add(response, message.id, client.owner)
    const reply = await this.#modern.request(message, {
      connection: response,
      owner: client.owner,
      user: client.user,
      exposure: client.exposure,
      narrow: client.narrow,
      checkHeaders: (tool, args) => checkHeaders(tool, args, req.headers),
      notify: (method, what) => response.send({ jsonrpc: '2.0', method, params: what }),
    })
    this.#open.delete(open)
    if (reply?.error?.code === RPC.methodNotFound && !res.headersSent) return json(res, 404, reply)
    if (isEnvelopeFault(message, reply) && !res.headersSent) return json(res, 400, reply)
    response.finish(reply)
  }

  #legacy(
    message: Request,
    req: IncomingMessage,
    res: ServerResponse,
    client: AuthorizedClient,
  ): Promise<void> | undefined {
    const opens = message.method === 'initialize' && req.headers['mcp-session-id'] === undefined
    if (opens) return this.#initialize(message, req, res, client)
    const go = (session: HttpSession | undefined) => session && this.#inSession(session, message, req, res)
    const found = this.#sessionOf(req, res, client, message.id)
    return found instanceof Promise ? found.then(go) : go(found)
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
    const open = this.#open.add(response, id, session.owner)
    const taken = session.answers.get(id) !== undefined
    if (!taken) session.answers.add(open)
    try {
      const reply = await session.session.request(message, response)
      beforeFinish?.(reply)
      response.finish(reply)
    } finally {
      this.#open.delete(open)
      if (!taken) session.answers.remove(open)
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
    const answering = replicaForEvent(lastEventId(req))
    if (answering !== undefined && (await answeredBy(this.#gateway, answering, req, res))) return
    const session = await this.#sessionOf(req, res, client)
    const moved = answering === undefined && session !== undefined && (await session.takeStream())
    if (!session || res.destroyed) return
    const slot = this.#sessions.streamSlot(session)
    if (!slot) return this.#refuse(res, 503, TOO_MANY_STREAMS)
    session.open(res, lastEventId(req), slot)
    if (moved) session.session.mayHaveChanged()
  }

  /** A client of HTTP+SSE (2024-11-05) opens its stream, and learns on it where to post. */
  #openSse(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient) {
    if (req.method !== 'GET') {
      res.setHeader('Allow', 'GET, OPTIONS')
      return this.#refuse(res, 405, 'GET this stream. Streamable HTTP is served at /mcp.')
    }
    if (!accepts(req, 'text/event-stream')) return this.#refuse(res, 406, 'The answer is text/event-stream.')
    if (this.#draining) return this.#refuse(res, 503, DRAINING)
    if (!this.#sse.open(res, client, lastEventId(req))) this.#refuse(res, 503, TOO_MANY_STREAMS)
  }

  #postToSse(req: IncomingMessage, res: ServerResponse, client: AuthorizedClient, query: string) {
    if (req.method !== 'POST') {
      res.setHeader('Allow', 'POST, OPTIONS')
      return this.#refuse(res, 405, 'POST a JSON-RPC message.')
    }
    const id = new URLSearchParams(query).get('sessionId') ?? ''
    const unknown = 'There is no such session: GET /sse opens one, and says where to post.'
    const home = this.#gateway.replicas && replicaForSseSession(id)
    if (!this.#sse.find(id, client) && (home === undefined || home === this.#gateway.replicas?.id))
      return this.#refuse(res, 404, unknown)
    this.#receive(req, res, client, async (incoming, body) => {
      const session = this.#sse.find(id, client)
      if (!session && (await answeredBy(this.#gateway, home, req, res, body))) return
      if (!session) return this.#refuse(res, 404, unknown)
      const isRequest = incoming.kind === 'request'
      if (isRequest && this.#draining) return this.#refuse(res, 503, DRAINING, incoming.message.id)
      if (isRequest && session.isCongested) return this.#refuse(res, 503, TOO_SLOW, incoming.message.id)
      res.writeHead(202, { 'Content-Type': 'text/plain' }).end('Accepted')
      await session.receive(incoming, req.headers)
    })
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
