// sse-sessions.ts: clients of the HTTP+SSE transport (2024-11-05): a stream that carries every message to the client, and an
// address of its own where the client posts its messages. The stream is the session: it ends with it.
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { AuthorizedClient } from '../access/access.ts'
import type { ConcurrencyLimit, ConcurrencySlot } from '../access/fair-slots.ts'
import { type Handshake, LegacySession, readHandshake } from '../eras/legacy.ts'
import type { Gateway } from '../gateway.ts'
import type { Incoming, Reply, Request } from '../json-rpc.ts'
import { withTraceHeaders } from '../server-span.ts'
import type { OpenResponses } from './open-responses.ts'
import { frame, STREAM_HEADERS } from './response.ts'
import { clientName, openSessionId, sealSessionId } from './session-ids.ts'

export const SSE_PATH = '/sse'
export const MESSAGES_PATH = '/messages'

const SLICE_BYTES = 64 * 1024

export class SseSession {
  /** Where there are several replicas it says which one has the stream. */
  readonly id: string
  readonly owner: string
  readonly session: LegacySession
  readonly #gateway: Gateway
  readonly #authorized: AuthorizedClient
  readonly #stream: EventStream
  readonly #open: OpenResponses
  readonly #unopened: NodeJS.Timeout

  constructor(
    gateway: Gateway,
    authorized: AuthorizedClient,
    stream: EventStream,
    open: OpenResponses,
    restored: Handshake | undefined,
  ) {
    const home = gateway.replicas ? `${gateway.replicas.id}.` : ''
    this.id = home + randomBytes(24).toString('base64url')
    this.#gateway = gateway
    this.#authorized = authorized
    this.owner = authorized.owner
    this.#stream = stream
    this.#open = open
    this.session = new LegacySession(
      gateway,
      { send: (message) => stream.send(frame(message)) },
      authorized.exposure,
    )
    this.session.owner = authorized.owner
    this.session.user = authorized.user
    // A client that opens a stream and says nothing must not hold it.
    this.#unopened = setTimeout(() => {
      if (this.session.protocolVersion === undefined) stream.end()
    }, GATEWAY_LIMITS.receiveMs)
    this.#unopened.unref()
    stream.send(`event: endpoint\ndata: ${MESSAGES_PATH}?sessionId=${this.id}\n\n`)
    if (restored) this.session.restore(restored)
  }

  /** The client reads too slowly: what it asks for now could not be sent. */
  get isCongested(): boolean {
    return this.#stream.unread > GATEWAY_LIMITS.unreadBytes
  }

  /** Takes a message of the client; the reply of a request goes to the stream. */
  async receive(
    incoming: Exclude<Incoming, { readonly kind: 'bad' }>,
    headers: IncomingHttpHeaders,
  ): Promise<void> {
    switch (incoming.kind) {
      case 'notification':
        return this.session.notified(incoming.message)
      case 'reply':
        return this.session.replied(incoming.message)
      case 'request':
        return await this.#answer({
          ...incoming.message,
          params: withTraceHeaders(incoming.message.params, headers),
        })
    }
  }

  async #answer(message: Request): Promise<void> {
    const response = new SseResponse(this.#stream)
    const open = this.#open.add(response, message.id, this.owner)
    try {
      const reply = await this.session.request(message, response)
      const opened = message.method === 'initialize' && reply?.result !== undefined
      response.finish(reply, opened ? this.#eventId(message) : undefined)
    } finally {
      this.#open.delete(open)
    }
  }

  /** The client repeats it when its stream breaks and it opens another one: the session goes on there. */
  #eventId({ params }: Request): string {
    const { id } = sealSessionId(
      this.#gateway,
      'sse-session',
      this.#authorized,
      readHandshake(params),
      clientName(params),
    )
    return id
  }

  end(): void {
    this.#stream.end()
  }

  async close(): Promise<void> {
    clearTimeout(this.#unopened)
    this.#stream.end()
    await this.session.close()
  }
}

/** The reply of one request, on the stream of its session. */
class SseResponse {
  gone = false
  onGone: (() => void) | undefined
  readonly #stream: EventStream
  #finished = false

  constructor(stream: EventStream) {
    this.#stream = stream
  }

  finish(reply: Reply | undefined, eventId?: string): void {
    if (this.#finished) return
    this.#finished = true
    if (reply) this.#stream.send(`${eventId === undefined ? '' : `id: ${eventId}\n`}${frame(reply)}`, true)
  }

  leave(): void {
    this.gone = true
    this.onGone?.()
  }

  /** The stream is kept alive as a whole. */
  keepAlive(): void {}
}

/** One stream of events, written as fast as its client reads. */
export class EventStream {
  readonly #res: ServerResponse
  readonly #waiting: Buffer[] = []
  readonly #alive: NodeJS.Timeout
  #unread = 0
  #lastProgress = Date.now()
  #ended = false

  constructor(res: ServerResponse, onClose: () => void) {
    this.#res = res
    res.writeHead(200, STREAM_HEADERS)
    res.flushHeaders()
    this.#alive = setInterval(() => this.#tick(), GATEWAY_LIMITS.keepAliveMs)
    this.#alive.unref()
    res.on('drain', () => {
      this.#lastProgress = Date.now()
      this.#pump()
    })
    res.on('close', () => {
      clearInterval(this.#alive)
      this.#ended = true
      this.#waiting.length = 0
      onClose()
    })
  }

  /** Bytes that wait until the client has read what came before. */
  get unread(): number {
    return this.#unread
  }

  /** A reply is always kept for a client that reads slowly; other messages only up to the bound. */
  send(text: string, isReply = false): void {
    if (this.#ended) return
    if (!isReply && this.#unread > GATEWAY_LIMITS.unreadBytes) return void this.#res.destroy()
    const bytes = Buffer.from(text)
    if (this.#waiting.length === 0) this.#lastProgress = Date.now()
    this.#waiting.push(bytes)
    this.#unread += bytes.length
    this.#pump()
  }

  /** Ends after what was sent. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#alive)
    for (const bytes of this.#waiting.splice(0)) this.#res.write(bytes)
    this.#res.end()
    this.#res.setTimeout(GATEWAY_LIMITS.unreadMs, () => void this.#res.destroy())
  }

  #pump(): void {
    while (!this.#res.writableNeedDrain) {
      const first = this.#waiting[0]
      if (!first) return
      const slice = first.subarray(0, SLICE_BYTES)
      if (slice.length === first.length) this.#waiting.shift()
      else this.#waiting[0] = first.subarray(SLICE_BYTES)
      this.#unread -= slice.length
      this.#res.write(slice)
    }
  }

  #tick(): void {
    const stalled = this.#waiting.length > 0 || this.#res.writableNeedDrain
    if (!stalled) return void this.#res.write(': still here\n\n')
    if (Date.now() - this.#lastProgress > GATEWAY_LIMITS.unreadMs) this.#res.destroy()
  }
}

export class SseSessions {
  readonly #gateway: Gateway
  readonly #slots: ConcurrencyLimit
  readonly #responses: OpenResponses
  readonly #open = new Map<string, SseSession>()

  /** The streams count as those of sessions of Streamable HTTP do, within the same limits. */
  constructor(gateway: Gateway, slots: ConcurrencyLimit, responses: OpenResponses) {
    this.#gateway = gateway
    this.#slots = slots
    this.#responses = responses
  }

  get count(): number {
    return this.#open.size
  }

  /** Opens the stream of a new session; false when this owner can have none. `lastEventId` continues an earlier one. */
  open(res: ServerResponse, authorized: AuthorizedClient, lastEventId: string | undefined): boolean {
    let session: SseSession | undefined
    const slot: ConcurrencySlot | undefined = this.#slots.tryAcquire(authorized.owner, () => session?.end())
    if (!slot) return false
    const stream = new EventStream(res, () => {
      slot.release()
      if (session) this.#drop(session)
    })
    const earlier =
      lastEventId === undefined
        ? undefined
        : openSessionId(this.#gateway, 'sse-session', authorized, lastEventId)
    session = new SseSession(this.#gateway, authorized, stream, this.#responses, earlier?.handshake)
    this.#open.set(session.id, session)
    return true
  }

  /** Another owner's session is as unknown as none. */
  find(id: string, { owner }: AuthorizedClient): SseSession | undefined {
    const session = this.#open.get(id)
    return session?.owner === owner ? session : undefined
  }

  dropOwner(owner: string): void {
    for (const session of [...this.#open.values()]) if (session.owner === owner) this.#drop(session)
  }

  /** The exposure of the owner changed. */
  restrict({ owner, exposure }: AuthorizedClient): void {
    for (const one of this.#open.values()) if (one.owner === owner) one.session.exposure = exposure
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(all.map((session) => session.close()))
  }

  #drop(session: SseSession): void {
    this.#open.delete(session.id)
    void session.close()
  }
}
