// streamable-http.ts: Streamable HTTP: one POST for each message with one response or a stream of them, a GET stream for what the
// server sends unrequested, a DELETE at the end. It does not re-initialise an expired session and does not reconnect;
// the connection does.
import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client'
import { LinkedSet } from '../async/linked-set.ts'
import type { HttpEntry, ProxyEntry } from '../config/entry.ts'
import { AnswerTooLarge, Cancelled, IoError } from '../errors.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { outsideCalls, withinCall } from './call-stream-context.ts'
import { type HttpResponse, RequestAbort, statusError } from './http-dispatch.ts'
import { type CallSink, HttpCall } from './http-response.ts'
import { type HttpClient, openHttpClient } from './http-retries.ts'
import { isMessage } from './json-rpc-messages.ts'
import { EVENT_STREAM, JSON_TYPE, postHeaders, sessionHeaders, streamHeaders } from './mcp-headers.ts'
import { PushStream } from './notification-stream.ts'
import type { TransportContext } from './open.ts'
import { type HttpStatusError, UnreadableAnswer } from './transport-errors.ts'

export async function openHttp(entry: HttpEntry | ProxyEntry, context: TransportContext): Promise<Transport> {
  return new HttpTransport(await openHttpClient(entry, context), context)
}

class HttpTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  readonly hasPerRequestStream = true
  sessionId: string | undefined
  protocolVersion: string | undefined
  readonly #context: TransportContext
  readonly #http: HttpClient
  readonly #calls = new LinkedSet<HttpCall>()
  readonly #push: PushStream
  readonly #sink: CallSink
  #closing: Promise<void> | undefined

  constructor(http: HttpClient, context: TransportContext) {
    this.#context = context
    this.#http = http
    this.#sink = {
      server: context.server,
      deliver: (message) => this.#deliver(message),
      note: (text) => this.#note(text),
    }
    this.#push = new PushStream({
      host: context.host,
      deliver: outsideCalls((message) => this.#deliver(message)),
      note: this.#sink.note,
      onLoss: (error) => this.#report(http.networkError(error)),
      request: (lastEventId, abort) => this.#requestPush(lastEventId, abort),
    })
  }

  setProtocolVersion(version: string): void {
    this.protocolVersion = version
  }

  start(): Promise<void> {
    return this.#http.start()
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#closing) throw this.#closedError()
    const call = new HttpCall(message, options)
    const signal = options?.requestSignal
    const onAbort = () => call.abort(new Cancelled())
    this.#calls.add(call)
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted === true) onAbort()
    try {
      if (call.replayed) await this.#finish(call, await this.#resume(call))
      else await this.#accept(call, await this.#post(call, message))
    } catch (error) {
      if (call.aborted) throw call.aborted
      options?.onRequestStreamEnd?.()
      if (error instanceof Error) this.#report(error)
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#calls.delete(call)
    }
    this.#releaseCancelled(message)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#push.close()
    for (const call of this.#calls.list()) call.abort(this.#closedError())
    await this.#endSession()
    await this.#http.close()
    this.onclose?.()
  }

  /** The DELETE is best effort, for a bounded time: a server that rejects it will drop the session by itself. */
  async #endSession(): Promise<void> {
    if (this.sessionId === undefined) return
    const abort = new RequestAbort()
    const cancel = this.#context.host.awaitedTimer(HTTP_LIMITS.goodbyeMs, () => abort.abort(new Cancelled()))
    try {
      const { url } = this.#http
      const response = await this.#http.request(
        { method: 'DELETE', url, headers: sessionHeaders(this) },
        abort,
      )
      response.discard()
      // 405: the server ends its sessions by itself.
      if (response.ok || response.status === 405) this.sessionId = undefined
    } catch {
      // Nothing follows that could depend on it.
    } finally {
      cancel()
    }
  }

  #post(call: HttpCall, message: JSONRPCMessage): Promise<HttpResponse> {
    return this.#http.request(
      {
        method: 'POST',
        url: this.#http.url,
        headers: postHeaders(message, this, call.options?.headers),
        body: JSON.stringify(message),
        isToolCall: call.method === 'tools/call',
        messageId: call.id,
        ...(call.id === undefined && { headersTimeoutMs: HTTP_LIMITS.notifyMs }),
      },
      call,
    )
  }

  /** What the server made of a message: an error, an acknowledgement, or the response to read. */
  async #accept(call: HttpCall, response: HttpResponse): Promise<void> {
    if (!response.ok) return this.#refused(call, await this.#statusError(response))
    // Only the response to `initialize` names a session; one without a name ends what was before it.
    if (call.method === 'initialize') this.sessionId = response.header('mcp-session-id') || undefined
    if (call.id !== undefined && response.status !== 202) return this.#finish(call, response)
    response.discard()
    if (call.method === 'notifications/initialized' && response.status === 202) void this.#push.open()
  }

  #refused(call: HttpCall, error: HttpStatusError): void {
    const message = error.status === 400 ? jsonOf(error.body) : undefined
    if (!isMessage(message) || !call.isRefusedWith(message)) throw error
    this.#deliver(message)
  }

  /** Reads the server's response, resuming a cut stream where the server gave event ids. */
  async #finish(call: HttpCall, first: HttpResponse): Promise<void> {
    const { mediaType } = first
    if (mediaType !== EVENT_STREAM) {
      // A body of no declared type is taken for what most answers are.
      if (mediaType === JSON_TYPE || mediaType === '') return call.readJson(first, this.#sink)
      first.discard()
      throw new UnreadableAnswer(this.#context.server, `${mediaType.slice(0, 80)}, which is not MCP`)
    }
    const stream = { ...this.#sink, deliver: withinCall(this.#sink.deliver) }
    let response = first
    for (let attempt = 0; ; attempt++) {
      let cut: unknown
      const seen = call.lastEventId
      try {
        await call.readEvents(response, stream, this.#context.host.backgroundTimer)
      } catch (error) {
        cut = error
      }
      if (call.answered) break
      // The rest of it would be as long.
      if (cut instanceof AnswerTooLarge) throw cut
      if (call.lastEventId !== seen) attempt = 0
      const resumable =
        call.lastEventId !== undefined && !call.isModern && attempt < HTTP_LIMITS.resumeAttempts
      if (call.aborted || !resumable)
        throw call.lost(this.#sink, cut instanceof Error ? this.#http.networkError(cut) : cut)
      this.#note('The answer was cut; asking for the rest.')
      const grown = HTTP_LIMITS.resumeDelayMs * 2 ** attempt
      await this.#http.pause(Math.min(call.retryMs ?? grown, HTTP_LIMITS.resumeMaxDelayMs), call)
      response = await this.#resume(call)
    }
    call.options?.onRequestStreamEnd?.()
  }

  /** Asks for the rest of a stream, from the last event that arrived. */
  async #resume(call: HttpCall): Promise<HttpResponse> {
    const response = await this.#getStream(call.lastEventId, call, call.id)
    if (response.ok && response.mediaType === EVENT_STREAM) return response
    if (!response.ok && response.status !== 405) throw await this.#statusError(response)
    response.discard()
    throw new IoError(`"${this.#context.server}" does not resume streams.`, this.#details())
  }

  async #requestPush(
    lastEventId: string | undefined,
    abort: RequestAbort,
  ): Promise<HttpResponse | undefined> {
    try {
      const response = await this.#getStream(lastEventId, abort)
      if (response.ok && response.mediaType === EVENT_STREAM) return response
      if (response.status === 401 || response.status === 403) throw await this.#statusError(response)
      if (response.status !== 405) this.#note(`No push stream: the server answered ${response.status}.`)
      response.discard()
      return undefined
    } catch (error) {
      if (error instanceof Error) this.#report(error)
      throw error
    }
  }

  #getStream(
    lastEventId: string | undefined,
    abort: RequestAbort,
    messageId?: HttpCall['id'],
  ): Promise<HttpResponse> {
    const headers = streamHeaders(this, lastEventId)
    return this.#http.request({ method: 'GET', url: this.#http.url, headers, messageId }, abort)
  }

  /** The legacy era cancels by a notification: after it no caller waits for that response. */
  #releaseCancelled(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return
    const id = message.params?.['requestId']
    for (const call of this.#calls.list()) if (call.id === id) call.abort(new Cancelled())
  }

  #deliver(message: JSONRPCMessage): void {
    if (this.#closing) return
    try {
      this.onmessage?.(message)
    } catch (error) {
      if (error instanceof Error) this.#report(error)
    }
  }

  #report(error: Error): void {
    if (!this.#closing && !(error instanceof Cancelled)) this.onerror?.(error)
  }

  #note(text: string): void {
    this.#context.log({ stream: 'transport', text })
  }

  #statusError(response: HttpResponse): Promise<HttpStatusError> {
    return statusError(response, this.#http.url, this.#context.host)
  }

  #details() {
    return { server: this.#context.server, stage: 'call' as const }
  }

  #closedError(): IoError {
    return new IoError(`The connection to "${this.#context.server}" is closed.`, this.#details())
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON, so it is not a JSON-RPC error either.
    return undefined
  }
}
