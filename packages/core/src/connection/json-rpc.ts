// json-rpc.ts: JSON-RPC over one transport: ids, responses, timers, cancellation, progress, and the peer's own
// requests. Of MCP it knows only the two notifications that belong to a request (progress and cancelled).

import { OpenRequests, type RequestId } from '../async/open-requests.ts'
import { RequestAborted, RequestTimedOut } from '../async/wait-errors.ts'
import { AnswerTooLarge } from '../errors.ts'
import type { Host } from '../host.ts'
import { CALL_LIMITS } from '../limits.ts'
import { SharedTimer } from './deadlines.ts'
import { type OutgoingRequest, Pending, type ResponseSink } from './pending-request.ts'
import { withProgressToken } from './progress-token.ts'
import { ChannelClosed, JsonRpcError } from './request-errors.ts'
import { isObject, type Json, RPC, type Transport } from './server-info.ts'

export interface JsonRpcHooks {
  /** Handles a request of the peer; what it throws becomes the error response. */
  request(method: string, params: Json, signal: AbortSignal): Promise<Json> | Json
  notification(method: string, params: Json): void
  /** The channel is closed, requested or not. Called once. */
  closed(): void
  /** A failure that belongs to none of our requests. */
  trouble(error: unknown): void
  /** Something odd without consequences: a response to an unknown id, an invalid message. */
  odd(text: string): void
  /** Every message, as it is sent and as it arrived. */
  record?: ((direction: 'sent' | 'received', message: unknown) => void) | undefined
  /** A request, ours or the peer's, that is over without an answer. */
  unanswered?: ((direction: 'sent' | 'received', id: RequestId, why: Unanswered) => void) | undefined
}

/** Why a request got no answer. */
export type Unanswered = 'cancelled' | 'timed out' | 'connection closed'

/** Requests that are open at a time, of one connection: more only cost more. */
const SLOTS = 256

export class JsonRpcPeer {
  readonly transport: Transport
  /** True when closing the stream of a request is how it is cancelled (2026-07-28 over HTTP). */
  cancelByStream = false
  /** False in the era without server requests: there they are dropped, never answered. */
  serves = true
  readonly #host: Host
  readonly #hooks: JsonRpcHooks
  readonly #pending = new OpenRequests<Pending>(SLOTS)
  readonly #inbound = new Map<RequestId, AbortController>()
  /** The peer's requests that we are handling, oldest first, each with its arrival time. */
  readonly #questions = new Set<{ readonly since: number }>()
  /** The time that we spent on them has been added to the open requests' timeouts up to here. */
  #extendedUntil = 0
  /** The clock's last reading, and by how much it was set back so far. */
  #clock = 0
  #setBack = 0
  /** Requests that a caller awaits hold the process; the others do not. */
  readonly #awaited: SharedTimer
  readonly #background: SharedTimer
  #awaitedCount = 0
  #backgroundCount = 0
  #nextId = 0
  #closed = false
  #closing: Promise<void> | undefined
  #lastHeard = 0
  #heardCount = 0
  #lastTrouble: unknown

  constructor(transport: Transport, host: Host, hooks: JsonRpcHooks) {
    this.transport = transport
    this.#host = host
    this.#hooks = hooks
    const now = () => this.#steadyNow()
    this.#awaited = new SharedTimer(host.awaitedTimer, now, () => this.#endOverdue(false))
    this.#background = new SharedTimer(host.backgroundTimer, now, () => this.#endOverdue(true))
    transport.onmessage = (message) => this.#receive(message)
    transport.onclose = () => this.#lost()
    transport.onerror = (error) => {
      this.#lastTrouble = error
      hooks.trouble(error)
    }
  }

  async start(): Promise<void> {
    await this.transport.start()
  }

  get closed(): boolean {
    return this.#closed
  }

  /** The transport's last error; after a close, usually the reason for it. */
  get lastTrouble(): unknown {
    return this.#lastTrouble
  }

  get inFlight(): number {
    return this.#pending.size
  }

  /** When the peer last sent anything. */
  get lastHeard(): number {
    return this.#lastHeard
  }

  /** How many messages of the peer have arrived. */
  get heardCount(): number {
    return this.#heardCount
  }

  request(method: string, params: Json | undefined, options: OutgoingRequest): Promise<Json> {
    return new Promise((settle, fail) =>
      this.exchange(method, params, options, { settle, fail, progress: options.onProgress }),
    )
  }

  /** The same without a promise: the sink gets the outcome as soon as it arrives. */
  exchange(method: string, params: Json | undefined, options: OutgoingRequest, sink: ResponseSink): void {
    const { signal, cancellation, timeoutMs } = options
    if (signal?.aborted || cancellation?.cancelled || this.#closed) {
      const isAborted = signal?.aborted || cancellation?.cancelled
      const aborted = isAborted && new RequestAborted(signal?.reason ?? cancellation?.reason)
      sink.fail(aborted || new ChannelClosed(false, this.#lastTrouble))
      return
    }
    const { transport } = this
    const id: RequestId = options.id ?? ++this.#nextId
    const stream = transport.hasPerRequestStream ? new AbortController() : undefined
    const pending = new Pending(id, method, options, sink, stream, this.#steadyNow(), this.#end)
    this.#pending.add(pending)
    if (signal) {
      pending.onAbort = () => this.#abandon(pending, new RequestAborted(signal.reason))
      signal.addEventListener('abort', pending.onAbort, { once: true })
    }
    if (cancellation)
      cancellation.onCancel = () => this.#abandon(pending, new RequestAborted(cancellation.reason))
    if (timeoutMs > 0) this.#expect(pending)
    const body = sink.progress ? withProgressToken(params, id) : params
    const message = body
      ? ({ jsonrpc: '2.0', id, method, params: body } as const)
      : ({ jsonrpc: '2.0', id, method } as const)
    this.#hooks.record?.('sent', message)
    if (transport.post) transport.post(message, pending, this.#pending.size === 1)
    else
      transport
        .send(
          message,
          stream && {
            requestSignal: stream.signal,
            ...(options.headers && { headers: options.headers }),
          },
        )
        .catch((error: unknown) => this.#fail(pending, error))
  }

  #expect({ options, started }: Pending): void {
    const { timeoutMs, totalMs = timeoutMs, background } = options
    const firstMs = Math.min(timeoutMs, totalMs)
    if (background) {
      this.#backgroundCount++
      this.#background.within(firstMs, started)
    } else {
      this.#awaitedCount++
      this.#awaited.within(firstMs, started)
    }
  }

  /** False when it has ended already. */
  #finish(pending: Pending): boolean {
    if (!this.#pending.remove(pending)) return false
    const { signal, cancellation, timeoutMs, background } = pending.options
    if (timeoutMs > 0) {
      if (background) {
        if (--this.#backgroundCount === 0) this.#background.rest(this.#clock + this.#setBack)
      } else if (--this.#awaitedCount === 0) this.#awaited.rest(this.#clock + this.#setBack)
    }
    if (pending.onAbort) signal?.removeEventListener('abort', pending.onAbort)
    if (cancellation) cancellation.onCancel = undefined
    return true
  }

  #settle(pending: Pending, result: Json): void {
    if (this.#finish(pending)) pending.sink.settle(result)
  }

  readonly #end = (pending: Pending, error: unknown): void => this.#fail(pending, error)

  #fail(pending: Pending, error: unknown): void {
    if (this.#finish(pending)) pending.sink.fail(error)
  }

  #abandon(pending: Pending, error: RequestAborted | RequestTimedOut): void {
    if (!this.#finish(pending)) return
    const { id, method, stream, options } = pending
    this.#hooks.unanswered?.('sent', id, error instanceof RequestTimedOut ? 'timed out' : 'cancelled')
    if (options.quiet) stream?.abort()
    else this.#cancel(id, method, error, stream)
    pending.sink.fail(error)
  }

  /** Abandons the requests whose time is up, and returns when the next one's may be. */
  #endOverdue(background: boolean): number | undefined {
    const now = this.#steadyNow()
    const overdue: Pending[] = []
    let next: number | undefined
    for (const pending of this.#pending.list()) {
      const { options } = pending
      if (options.timeoutMs === 0 || (options.background === true) !== background) continue
      const deadline = this.#deadlineOf(pending, now)
      if (deadline <= now) overdue.push(pending)
      else next = Math.min(next ?? deadline, deadline)
    }
    for (const pending of overdue) this.#abandon(pending, new RequestTimedOut(now - pending.started))
    return next
  }

  #deadlineOf(pending: Pending, now: number): number {
    const { timeoutMs, totalMs = Math.max(CALL_LIMITS.totalMs, timeoutMs) } = pending.options
    const latest = pending.started + totalMs
    const usual = Math.min(pending.lastSign + timeoutMs, latest)
    if (usual > now) return usual
    const delay = this.#handlingDelay(now)
    // What we spent on the peer's requests has been added to its last sign.
    const extended = pending.lastSign + timeoutMs
    if (delay === 'long') return Math.max(extended, pending.graceEnds)
    // A request has just arrived: soon it is known whether it takes us long. This extension is given once.
    if (delay === 'briefly' && pending.graceEnds === 0) pending.graceEnds = now + CALL_LIMITS.thinkingMs
    return Math.max(Math.min(extended, latest), pending.graceEnds)
  }

  async notify(method: string, params?: Json): Promise<void> {
    if (this.#closed) throw new ChannelClosed(false)
    const message = { jsonrpc: '2.0', method, ...(params && { params }) } as const
    this.#hooks.record?.('sent', message)
    await this.transport.send(message)
  }

  /** Idempotent; the transport bounds its time. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      try {
        await this.transport.close()
      } finally {
        this.#lost()
      }
    })()
    return this.#closing
  }

  #cancel(id: RequestId, method: string, why: Error, stream: AbortController | undefined): void {
    if (this.#closed) return
    if ((stream && this.cancelByStream) || method === 'initialize') {
      stream?.abort()
      return
    }
    this.notify('notifications/cancelled', { requestId: id, reason: why.message })
      .catch((error) => this.#hooks.trouble(error))
      .finally(() => stream?.abort())
  }

  #lost(): void {
    if (this.#closed) return
    this.#closed = true
    const why = this.#lastTrouble
    // Retried, such a request would end the next connection in the same way.
    for (const pending of this.#pending.list()) {
      this.#hooks.unanswered?.('sent', pending.id, 'connection closed')
      this.#fail(pending, why instanceof AnswerTooLarge ? why : new ChannelClosed(true, why))
    }
    for (const [id, controller] of this.#inbound) {
      if (!controller.signal.aborted) this.#hooks.unanswered?.('received', id, 'connection closed')
      controller.abort()
    }
    this.#inbound.clear()
    this.#awaited.end()
    this.#background.end()
    this.#hooks.closed()
  }

  #receive(message: unknown): void {
    if (this.#closed || !isObject(message)) return
    this.#lastHeard = this.#host.now()
    this.#heardCount++
    this.#hooks.record?.('received', message)
    const { id, method } = message
    if (typeof method === 'string') {
      const params = isObject(message.params) ? message.params : {}
      if (id === undefined || id === null) this.#notified(method, params)
      else if (typeof id === 'number' || typeof id === 'string') void this.#serve(id, method, params)
      else this.#hooks.odd(`a request "${method}" with an id that is neither number nor string`)
    } else this.#answered(message)
  }

  #answered(message: Json): void {
    const id = message.id
    // Some servers return a numeric id as a string.
    const pending = this.#pending.get(id) ?? this.#pending.get(Number(id))
    const tooLarge = isObject(message.error) ? message.error.data : undefined
    if (tooLarge instanceof AnswerTooLarge) {
      this.#tooLarge(tooLarge, id === undefined ? 'any' : pending)
      return
    }
    if (!pending) {
      this.#hooks.odd(`an answer to a request that is not open (id ${JSON.stringify(id)?.slice(0, 80)})`)
      return
    }
    const { result, error } = message
    if (isObject(error)) {
      const code = typeof error.code === 'number' ? error.code : RPC.internal
      this.#fail(pending, new JsonRpcError(code, String(error.message ?? 'Unknown error'), error.data))
    } else if (isObject(result)) this.#settle(pending, result)
    else this.#fail(pending, new JsonRpcError(RPC.internal, 'The answer has neither a result nor an error'))
  }

  /** The transport skipped a response. Where it could not tell which, no open request can rely on getting its own. */
  #tooLarge(error: AnswerTooLarge, whose: Pending | 'any' | undefined): void {
    // A response is expected soon; that of a subscription comes at its end.
    const timed = ({ options }: Pending) => options.timeoutMs > 0
    const failed = whose === 'any' ? this.#pending.list().filter(timed) : [whose]
    for (const pending of failed) if (pending) this.#fail(pending, error)
  }

  #notified(method: string, params: Json): void {
    if (method === 'notifications/progress') {
      const token = params.progressToken
      const pending = this.#pending.get(token) ?? this.#pending.get(Number(token))
      if (!pending || typeof params.progress !== 'number') return
      pending.lastSign = this.#steadyNow()
      const { progress, total, message } = params
      pending.sink.progress?.({
        progress,
        ...(typeof total === 'number' && { total }),
        ...(typeof message === 'string' && { message }),
      })
      return
    }
    if (method === 'notifications/cancelled') {
      const id = params.requestId as RequestId
      const controller = this.#inbound.get(id)
      if (controller) {
        if (!controller.signal.aborted) this.#hooks.unanswered?.('received', id, 'cancelled')
        controller.abort()
        return
      }
    }
    this.#hooks.notification(method, params)
  }

  async #serve(id: RequestId, method: string, params: Json): Promise<void> {
    if (!this.serves)
      return this.#hooks.odd(`the request "${method}", which this protocol version does not have`)
    if (this.#inbound.size >= CALL_LIMITS.inbound || this.#inbound.has(id)) {
      this.#hooks.odd(`the request "${method}" was refused: too many are open`)
      return this.#answer({ jsonrpc: '2.0', id, error: { code: RPC.internal, message: 'Too many requests' } })
    }
    const controller = new AbortController()
    this.#inbound.set(id, controller)
    try {
      const result = await this.#consider(method, params, controller.signal)
      if (!controller.signal.aborted) await this.#answer({ jsonrpc: '2.0', id, result })
    } catch (error) {
      if (controller.signal.aborted) return
      const code = error instanceof JsonRpcError ? error.code : RPC.internal
      const message = error instanceof Error ? error.message : 'Internal error'
      await this.#answer({ jsonrpc: '2.0', id, error: { code, message } })
    } finally {
      if (this.#inbound.get(id) === controller) this.#inbound.delete(id)
    }
  }

  /** A monotonic time for measuring durations: when the clock is set back, it continues from where it was. */
  #steadyNow(): number {
    const clock = this.#host.now()
    if (clock < this.#clock) this.#setBack += this.#clock - clock
    this.#clock = clock
    return clock + this.#setBack
  }

  async #consider(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    const question = { since: this.#steadyNow() }
    this.#questions.add(question)
    try {
      return await this.#hooks.request(method, params, signal)
    } finally {
      this.#questions.delete(question)
      this.#extendTimeouts(question.since, this.#steadyNow())
    }
  }

  /** While the server waits for our response, its silence is our doing. */
  #handlingDelay(now: number): 'long' | 'briefly' | undefined {
    const [oldest] = this.#questions
    if (!oldest) return undefined
    return this.#extendTimeouts(oldest.since, now) ? 'long' : 'briefly'
  }

  /**
   * Extends the open requests' timeouts by the time that we spent on a request of the peer. What we respond to at
   * once adds none: a peer that only sends requests is not working on ours.
   */
  #extendTimeouts(since: number, now: number): boolean {
    if (now - since < CALL_LIMITS.thinkingMs) return false
    const taken = now - Math.max(since, this.#extendedUntil)
    this.#extendedUntil = now
    for (const pending of this.#pending.list())
      pending.lastSign = Math.min(now, pending.lastSign + Math.max(0, taken))
    return true
  }

  async #answer(message: Parameters<Transport['send']>[0]): Promise<void> {
    try {
      if (this.#closed) return
      this.#hooks.record?.('sent', message)
      await this.transport.send(message)
    } catch (error) {
      this.#hooks.trouble(error)
    }
  }
}
