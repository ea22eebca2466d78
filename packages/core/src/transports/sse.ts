// sse.ts: the legacy transport with two endpoints: a stream for messages from the server and an address to POST to,
// which the stream names first. A stream that ends is a lost connection: a new one would be a new session.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { SseEntry } from '../config/entry.ts'
import { Cancelled, IoError, ParseError } from '../errors.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { EventStream, type StreamEvent } from './event-stream.ts'
import { type HttpResponse, RequestAbort, statusError } from './http-dispatch.ts'
import { type HttpClient, openHttpClient } from './http-retries.ts'
import { messagesIn, requestId } from './json-rpc-messages.ts'
import { EVENT_STREAM, JSON_TYPE } from './mcp-headers.ts'
import type { TransportContext } from './open.ts'
import { type Excerpt, tooLargeAnswer } from './oversized-response.ts'
import { errorCode, UnreadableAnswer } from './transport-errors.ts'

type SseTarget = Pick<SseEntry, 'url' | 'headers' | 'headersHelper'>

/** No cache on the way may keep a stream. */
const STREAM_HEADERS = ['accept', EVENT_STREAM, 'cache-control', 'no-store']

export async function openSse(entry: SseTarget, context: TransportContext): Promise<Transport> {
  return new SseTransport(await openHttpClient(entry, context), context)
}

class SseTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  readonly #context: TransportContext
  readonly #http: HttpClient
  readonly #aborts = new Set<RequestAbort>()
  #state: 'new' | 'opening' | 'open' | 'closed' = 'new'
  #stream: HttpResponse | undefined
  /** Where messages are posted to; the server names it on the stream. */
  #endpoint: URL | undefined
  #endpointNamed: (() => void) | undefined
  #abandon: ((error: Error) => void) | undefined
  #protocolVersion: string | undefined
  #closing: Promise<void> | undefined

  constructor(http: HttpClient, context: TransportContext) {
    this.#http = http
    this.#context = context
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version
  }

  async start(): Promise<void> {
    await this.#http.start()
    if (this.#state === 'closed') throw this.#lostError()
    this.#state = 'opening'
    const named = new Promise<void>((resolve, reject) => {
      this.#endpointNamed = resolve
      this.#abandon = reject
    })
    await Promise.all([named, this.#listen()])
    this.#state = 'open'
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const url = this.#endpoint
    if (this.#state !== 'open' || url === undefined) throw this.#lostError()
    try {
      const headers = ['content-type', JSON_TYPE]
      if (this.#protocolVersion !== undefined) headers.push('mcp-protocol-version', this.#protocolVersion)
      const response = await this.#abortable((abort) =>
        this.#http.request(
          {
            method: 'POST',
            url,
            headers,
            body: JSON.stringify(message),
            isToolCall: 'method' in message && message.method === 'tools/call',
            messageId: requestId(message),
            // A server may acknowledge a request only when it has done it.
            ...(requestId(message) === undefined && { headersTimeoutMs: HTTP_LIMITS.notifyMs }),
          },
          abort,
        ),
      )
      if (!response.ok) throw await statusError(response, url, this.#context.host)
      response.discard()
    } catch (error) {
      if (error instanceof Error) this.#report(error)
      throw error
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const lost = this.#lostError()
    this.#state = 'closed'
    this.#abandon?.(lost)
    for (const abort of this.#aborts) abort.abort(lost)
    this.#stream?.abort(new Cancelled())
    // The caller's own steps come first: it may be in the middle of replacing this connection.
    await Promise.resolve()
    // Before the sockets are gone: later requests must not use this connection.
    this.onclose?.()
    await this.#http.close()
  }

  /** Opens the stream; resolves when it is open, before anything came on it. */
  async #listen(): Promise<void> {
    const { url } = this.#http
    const response = await this.#abortable((abort) =>
      this.#http.request({ method: 'GET', url, headers: STREAM_HEADERS }, abort),
    )
    if (!response.ok) throw await statusError(response, url, this.#context.host)
    if (response.mediaType !== EVENT_STREAM) {
      response.discard()
      const what = response.mediaType === '' ? 'no media type' : response.mediaType.slice(0, 80)
      throw new UnreadableAnswer(this.#context.server, `${what}, which is not an event stream`)
    }
    this.#stream = response
    const events = new EventStream({
      maxBytes: HTTP_LIMITS.messageBytes,
      // A lost stream is a lost session here; the connection decides when to reconnect.
      onRetry: () => {},
      onSkipped: (excerpt) => this.#skipped(excerpt),
      onEvent: (event) => this.#event(event),
    })
    response.read({
      data: (chunk) => events.push(chunk),
      end: () => this.#lost(),
      fail: (error) => this.#lost(error),
    })
  }

  async #abortable<T>(work: (abort: RequestAbort) => Promise<T>): Promise<T> {
    const abort = new RequestAbort()
    this.#aborts.add(abort)
    try {
      return await work(abort)
    } finally {
      this.#aborts.delete(abort)
    }
  }

  #event({ event, data }: StreamEvent): void {
    if (this.#state === 'closed') return
    if (event === 'endpoint') this.#name(data)
    else if (event === undefined || event === 'message') this.#receive(data)
  }

  /** Another origin would get the entry's headers and every message. */
  #name(data: string): void {
    const { url } = this.#http
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined
    if (endpoint?.origin !== url.origin) {
      this.#lost(
        new IoError(`"${this.#context.server}" names a POST address that is not at ${url.origin}.`, {
          server: this.#context.server,
          stage: this.#state === 'open' ? 'call' : 'connect',
          hint: 'The server is misconfigured or hostile: messages go only to the origin of its URL.',
        }),
      )
      return
    }
    this.#endpoint = endpoint
    this.#endpointNamed?.()
  }

  #receive(data: string): void {
    if (data === '') return
    const messages = messagesIn(parsed(data))
    if (messages === undefined)
      this.#context.log({ stream: 'transport', text: 'An event was not a JSON-RPC message.' })
    for (const message of messages ?? []) this.#deliver(message)
  }

  /** A response that is too long fails its own call, not the connection. */
  #skipped(excerpt: Excerpt): void {
    const { server, log } = this.#context
    log({ stream: 'transport', text: `An event of more than ${HTTP_LIMITS.messageBytes} bytes was skipped.` })
    const answer = tooLargeAnswer(excerpt, server, HTTP_LIMITS.messageBytes)
    if (answer && this.#state !== 'closed') this.#deliver(answer)
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (cause) {
      this.#report(new ParseError('A message could not be handled.', { server: this.#context.server, cause }))
    }
  }

  #lost(cause?: unknown): void {
    if (this.#state === 'closed') return
    const error = this.#lostError(cause)
    if (this.#state === 'open') this.#report(error)
    this.#abandon?.(error)
    void this.close()
  }

  #report(error: Error): void {
    if (this.#state !== 'closed') this.onerror?.(error)
  }

  #lostError(cause?: unknown): IoError {
    if (cause instanceof IoError) return cause
    const code = errorCode(cause)
    return new IoError(
      `The connection to "${this.#context.server}" ${code === undefined ? 'ended' : `failed (${code})`}.`,
      {
        server: this.#context.server,
        stage: this.#state === 'open' ? 'call' : 'connect',
        hint: 'Check the URL, and whether the server is running.',
        ...(cause !== undefined && { cause }),
      },
    )
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What is not JSON is not a message.
    return undefined
  }
}
