// sse.ts: the legacy transport with two endpoints: a stream for messages from the server and an address to POST to.
// The SDK's transport finds the POST address, on our connections; the messages are read here. A stream that ends is a
// lost connection: a new one would be a new session.
import type {
  JSONRPCMessage,
  SSEClientTransport,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client'
import type { SseEntry } from '../config/entry.ts'
import { Cancelled, IoError, ParseError } from '../errors.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { EntryHeaders, type HeaderMap } from './entry-headers.ts'
import { EventStream } from './event-stream.ts'
import { messagesIn } from './json-rpc-messages.ts'
import { type Network, openNetwork } from './network.ts'
import type { TransportAuth, TransportContext } from './open.ts'
import { plainFetch } from './response.ts'
import { retryAfterMs } from './retry-after.ts'
import { type Excerpt, tooLargeAnswer } from './too-large.ts'
import { errorCode } from './transport-errors.ts'

type SseTarget = Pick<SseEntry, 'url' | 'headers' | 'headersHelper'>

export async function openSse(entry: SseTarget, context: TransportContext): Promise<Transport> {
  const [sdk, network] = await Promise.all([
    import('@modelcontextprotocol/client'),
    openNetwork(context.host),
  ])
  return new SseTransport(entry, context, network, (fetch, remembering) => {
    const { auth } = context
    const authorized = auth?.fetch?.(fetch) ?? fetch
    return new sdk.SSEClientTransport(new URL(entry.url), {
      fetch: (url, init) => remembering(authorized(url, init)),
      // A provider with its own `fetch` is used there, once.
      ...(auth && !auth.fetch && { authProvider: provider(auth, remembering) }),
    })
  })
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>
type Remembering = <T>(work: Promise<T>) => Promise<T>

function provider(auth: TransportAuth, remembering: Remembering): TransportAuth {
  const { onUnauthorized } = auth
  return {
    token: () => remembering(auth.token()),
    ...(onUnauthorized && {
      onUnauthorized: (context: Parameters<typeof onUnauthorized>[0]) =>
        remembering(onUnauthorized.call(auth, context)),
    }),
  }
}

class SseTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  readonly #context: TransportContext
  readonly #network: Network
  readonly #headers: EntryHeaders
  readonly #inner: SSEClientTransport
  /** The SDK passes on only the message of what `fetch` threw; AuthRequired must stay AuthRequired. */
  #whyNotFetched: unknown
  #state: 'new' | 'opening' | 'open' | 'closed' = 'new'
  #abandon: ((error: Error) => void) | undefined
  #closing: Promise<void> | undefined

  constructor(
    entry: SseTarget,
    context: TransportContext,
    network: Network,
    createInner: (fetch: Fetch, remembering: Remembering) => SSEClientTransport,
  ) {
    this.#context = context
    this.#network = network
    this.#headers = new EntryHeaders(entry, context)
    this.#inner = createInner(
      (url, init) => this.#fetch(url, init),
      (work) => this.#remembering(work),
    )
    this.#inner.onerror = (error) => {
      if (this.#state !== 'closed') this.onerror?.(error)
    }
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version)
  }

  async start(): Promise<void> {
    if (this.#context.signal?.aborted === true) throw new Cancelled()
    await this.#headers.current()
    this.#state = 'opening'
    // The SDK's start() does not end when it is closed meanwhile, nor when the stream ends before it named the POST
    // address.
    const abandoned = new Promise<never>((_resolve, reject) => {
      this.#abandon = reject
    })
    abandoned.catch(() => {
      // Only the race below is reported.
    })
    await Promise.race([this.#inner.start(), abandoned]).catch((error: unknown) => {
      throw this.#whyNotFetched ?? error
    })
    this.#state = 'open'
  }

  send(message: JSONRPCMessage, _options?: TransportSendOptions): Promise<void> {
    if (this.#state !== 'open') return Promise.reject(this.#lostError())
    return this.#inner.send(message)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#state = 'closed'
    this.#abandon?.(this.#lostError())
    await this.#inner.close()
    // At once: later requests must not use this connection.
    this.onclose?.()
    await this.#network.dispatcher.destroy()
  }

  #lost(cause?: unknown): void {
    if (this.#state === 'closed') return
    const error = this.#lostError(cause)
    if (this.#state === 'open') this.onerror?.(error)
    this.#abandon?.(error)
    void this.close()
  }

  async #remembering<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      this.#whyNotFetched ??= error
      throw error
    }
  }

  async #fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    const isStream = headers.get('accept')?.includes('text/event-stream') === true
    const isMessage = init.method === 'POST' && headers.get('content-type') === 'application/json'
    if (!isStream && !isMessage) return plainFetch(this.#network.dispatcher, url, { ...init, headers })
    const send = (extra: HeaderMap) =>
      this.#roundTrip(url, { ...init, headers: withExtra(headers, extra) }, isMessage)
    let answer = await send(await this.#headers.current())
    if ((answer.status === 401 || answer.status === 403) && this.#headers.hasHelper) {
      await answer.body?.cancel()
      answer = await send(await this.#headers.renew())
    }
    const { status } = answer
    const header = (name: string) => answer.headers.get(name) ?? undefined
    const wait = retryAfterMs({ status, header }, this.#context.host.now())
    if (wait !== undefined && wait <= HTTP_LIMITS.retryAfterMs) {
      await answer.body?.cancel()
      await new Promise<void>((resolve) => this.#context.host.awaitedTimer(wait, resolve))
      answer = await send(await this.#headers.current())
    }
    return isStream && answer.ok && answer.body !== null ? this.#watched(answer, answer.body) : answer
  }

  async #roundTrip(
    url: string | URL,
    init: RequestInit & { headers: Headers },
    isMessage: boolean,
  ): Promise<Response> {
    const send = () => plainFetch(this.#network.dispatcher, url, init)
    try {
      return await send()
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      // The POST is only acknowledged here; a repeated tool call might run twice, so the caller decides.
      const isCall = isMessage && typeof init.body === 'string' && init.body.includes('"tools/call"')
      const isReset = errorCode(cause) === 'ECONNRESET' || errorCode(cause) === 'EPIPE'
      if (cause instanceof Error && this.#network.isStale(cause) && (isReset || !isCall)) return send()
      throw this.#lostError(error)
    }
  }

  /**
   * The stream for the SDK, which learns the POST address from it. The messages are taken out and read here, as on
   * every other transport: the SDK drops a response that is slightly wrong, and its caller would wait in vain.
   */
  #watched(answer: Response, body: ReadableStream<Uint8Array>): Response {
    const reader = body.getReader()
    const watched = new ReadableStream<Uint8Array>({
      start: (controller) => {
        void this.#pump(reader, controller)
      },
      cancel: (reason) => reader.cancel(reason),
    })
    return new Response(watched, { status: answer.status, headers: [...answer.headers] })
  }

  async #pump(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    controller: ReadableStreamDefaultController<Uint8Array>,
  ): Promise<void> {
    const events = new EventStream({
      maxBytes: HTTP_LIMITS.messageBytes,
      // A lost stream is a lost session here; the connection decides when to reconnect.
      onRetry: () => {},
      onSkipped: (excerpt) => this.#skipped(excerpt),
      onEvent: (event) => {
        if (event.event === undefined || event.event === 'message') this.#receive(event.data)
        else controller.enqueue(encoded(event.event, event.data))
      },
    })
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        events.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      }
      controller.close()
      this.#lost()
    } catch (error) {
      controller.error(error)
      this.#lost(error)
      reader.cancel(error).catch(() => {
        // It has ended either way.
      })
    }
  }

  #receive(data: string): void {
    if (data === '' || this.#state === 'closed') return
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
      this.onerror?.(
        new ParseError('A message could not be handled.', { server: this.#context.server, cause }),
      )
    }
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

function withExtra(headers: Headers, extra: HeaderMap): Headers {
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(extra)) if (!all.has(name)) all.set(name, value)
  return all
}

function encoded(event: string, data: string): Uint8Array {
  const lines = data.split('\n').map((line) => `data: ${line}\n`)
  return Buffer.from(`event: ${event}\n${lines.join('')}\n`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What is not JSON is not a message.
    return undefined
  }
}
