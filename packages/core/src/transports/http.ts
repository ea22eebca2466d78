// http.ts: Streamable HTTP. The SDK's transport writes the requests (headers, session, authorization); the responses
// are read here, so that a cut stream is an error at once, a message has a size limit, and no web stream is in
// between. It does not re-initialise an expired session and does not reconnect; the connection does.
import { setImmediate as nextPoll } from 'node:timers/promises'
import type {
  FetchLike,
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client'
import type { HttpEntry, ProxyEntry } from '../config/entry.ts'
import { AnswerTooLarge, Cancelled, IoError } from '../errors.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { outsideCalls, withinCall } from './call-origin.ts'
import { EntryHeaders, type HeaderMap } from './entry-headers.ts'
import { HttpCall } from './http-call.ts'
import { type HttpResponse, httpExchange, type RequestParts } from './http-exchange.ts'
import { type Network, openNetwork } from './network.ts'
import type { TransportContext } from './open.ts'
import { PushStream } from './push-stream.ts'
import { fullResponse, plainFetch, shortResponse } from './response.ts'
import { retryAfterMs } from './retry-after.ts'
import { errorCode, tlsCode, UnreadableAnswer } from './transport-errors.ts'

/** Carries the number of a call from our send() through the SDK to our fetch(); it never leaves the process. */
const MARK = 'x-plugboard-call'

export async function openHttp(entry: HttpEntry | ProxyEntry, context: TransportContext): Promise<Transport> {
  const [sdk, network] = await Promise.all([
    import('@modelcontextprotocol/client'),
    openNetwork(context.host),
  ])
  const options = (fetch: FetchLike) => ({
    fetch: context.auth?.fetch?.(fetch) ?? fetch,
    ...(context.auth !== undefined && { authProvider: context.auth }),
    onInsufficientScope: 'throw' as const,
  })
  return new HttpTransport(
    entry,
    context,
    network,
    (fetch) => new sdk.StreamableHTTPClientTransport(new URL(entry.url), options(fetch)),
  )
}

class HttpTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  readonly hasPerRequestStream = true
  readonly #context: TransportContext
  readonly #network: Network
  readonly #inner: StreamableHTTPClientTransport
  readonly #headers: EntryHeaders
  readonly #calls = new Map<string, HttpCall>()
  /** Calls that resume their stream, by the last event they received. */
  readonly #resuming = new Map<string, HttpCall>()
  readonly #push: PushStream
  readonly #reported = new WeakSet<Error>()
  #count = 0
  #lastTraffic = 0
  #closing: Promise<void> | undefined

  constructor(
    entry: HttpEntry | ProxyEntry,
    context: TransportContext,
    network: Network,
    createInner: (fetch: FetchLike) => StreamableHTTPClientTransport,
  ) {
    this.#context = context
    this.#network = network
    this.#headers = new EntryHeaders(entry, context)
    this.#inner = createInner((url, init) => this.#fetch(url, init))
    this.#inner.onmessage = (message) => this.#deliver(message)
    this.#inner.onerror = (error) => this.#report(error)
    this.#push = new PushStream({
      host: context.host,
      deliver: outsideCalls((message) => this.#deliver(message)),
      note: (text) => this.#note(text),
      onLoss: (error) => this.#report(this.#networkError(error)),
      reopen: (lastEventId) => this.#inner.resumeStream(lastEventId ?? ''),
    })
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  get protocolVersion(): string | undefined {
    return this.#inner.protocolVersion
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version)
  }

  async start(): Promise<void> {
    if (this.#context.signal?.aborted === true) throw new Cancelled()
    await this.#headers.current()
    await this.#inner.start()
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#closing) throw this.#closedError()
    const call = new HttpCall(message, options)
    const mark = String(++this.#count)
    const signal = options?.requestSignal
    const onAbort = () => call.abort(new Cancelled())
    this.#calls.set(mark, call)
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted === true) onAbort()
    try {
      if (call.replayed) await this.#reopen(call)
      else await this.#inner.send(message, { headers: { ...options?.headers, [MARK]: mark } })
      if (call.answer) await this.#finish(call, call.answer)
    } catch (error) {
      if (call.aborted) throw call.aborted
      options?.onRequestStreamEnd?.()
      if (error instanceof Error) this.#report(error)
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#calls.delete(mark)
    }
    this.#releaseCancelled(message)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#push.close()
    for (const call of this.#calls.values()) call.abort(this.#closedError())
    let cancel = () => {}
    const enough = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HTTP_LIMITS.goodbyeMs)
      cancel = () => clearTimeout(timer)
    })
    // DELETE is best effort: a server that rejects it will drop the session by itself.
    const goodbye = this.#inner.terminateSession().catch(() => {})
    await Promise.race([goodbye, enough])
    cancel()
    await this.#inner.close()
    await this.#network.dispatcher.destroy()
    this.onclose?.()
  }

  /** Reads the server's response, resuming a cut stream where the server gave event ids. */
  async #finish(call: HttpCall, first: HttpResponse): Promise<void> {
    const sink = {
      server: this.#context.server,
      deliver: (message: JSONRPCMessage) => this.#deliver(message),
      note: (text: string) => this.#note(text),
    }
    // A body of no declared type is taken for what most answers are.
    if (first.mediaType !== 'text/event-stream') return call.readJson(first, sink)
    const stream = { ...sink, deliver: withinCall(sink.deliver) }
    let answer = first
    for (let attempt = 0; ; attempt++) {
      let cut: unknown
      const seen = call.lastEventId
      try {
        await call.readEvents(answer, stream, this.#context.host.backgroundTimer)
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
        throw call.lost(sink, cut instanceof Error ? this.#networkError(cut) : cut)
      this.#note('The answer was cut; asking for the rest.')
      answer = await this.#resume(call, attempt)
    }
    call.options?.onRequestStreamEnd?.()
  }

  async #resume(call: HttpCall, attempt: number): Promise<HttpResponse> {
    const grown = HTTP_LIMITS.resumeDelayMs * 2 ** attempt
    await this.#pause(Math.min(call.retryMs ?? grown, HTTP_LIMITS.resumeMaxDelayMs), call)
    return this.#reopen(call)
  }

  async #reopen(call: HttpCall): Promise<HttpResponse> {
    const { lastEventId = '' } = call
    call.answer = undefined
    this.#resuming.set(lastEventId, call)
    try {
      await this.#inner.resumeStream(lastEventId)
    } finally {
      this.#resuming.delete(lastEventId)
    }
    // fetch() put it there, unless the server does not offer streams.
    const answer: HttpResponse | undefined = call.answer
    if (answer === undefined)
      throw new IoError(`"${this.#context.server}" does not resume streams.`, this.#details())
    return answer
  }

  /** The legacy era cancels by a notification: after it no caller waits for that response. */
  #releaseCancelled(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return
    const id = message.params?.['requestId']
    for (const call of this.#calls.values()) if (call.id === id) call.abort(new Cancelled())
  }

  async #fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const method = init.method ?? 'GET'
    const headers = new Headers(init.headers)
    const mark = headers.get(MARK)
    headers.delete(MARK)
    const call = mark === null ? undefined : this.#calls.get(mark)
    const isStream = method === 'GET' && headers.get('accept')?.includes('text/event-stream') === true
    // The SDK's other requests (OAuth documents) go the ordinary way, without the entry's headers.
    if (call === undefined && !isStream && method !== 'DELETE')
      return plainFetch(this.#network.dispatcher, url, { ...init, headers })
    const target = new URL(url)
    const body = typeof init.body === 'string' ? init.body : undefined
    const ask = (extra: HeaderMap): RequestParts => ({
      origin: target.origin,
      path: `${target.pathname}${target.search}`,
      method,
      headers: flatten(headers, extra),
      body,
      ...(call?.id === undefined && !isStream && { headersTimeoutMs: HTTP_LIMITS.notifyMs }),
    })
    const lastEventId = headers.get('last-event-id') ?? undefined
    const owner = call ?? (lastEventId === undefined ? undefined : this.#resuming.get(lastEventId))
    const answer = await this.#ask(ask, owner)
    if (isStream) return this.#takeStream(answer, owner)
    return call === undefined ? fullResponse(answer, this.#context.host) : this.#takeAnswer(answer, call)
  }

  /** One request with the retries that are safe: rejected headers of a helper, and a server that sends Retry-After. */
  async #ask(parts: (extra: HeaderMap) => RequestParts, call: HttpCall | undefined): Promise<HttpResponse> {
    let answer = await this.#roundTrip(parts(await this.#headers.current()), call)
    if ((answer.status === 401 || answer.status === 403) && this.#headers.hasHelper) {
      answer.discard()
      answer = await this.#roundTrip(parts(await this.#headers.renew()), call)
    }
    const wait = retryAfterMs(answer, this.#context.host.now())
    if (wait !== undefined && wait > HTTP_LIMITS.retryAfterMs)
      this.#note(`The server asked to wait ${Math.ceil(wait / 1000)} s, which is too long to hold a request.`)
    if (wait !== undefined && wait <= HTTP_LIMITS.retryAfterMs) {
      answer.discard()
      this.#note(`The server asked to wait ${wait} ms.`)
      await this.#pause(wait, call)
      answer = await this.#roundTrip(parts(await this.#headers.current()), call)
    }
    return answer
  }

  async #roundTrip(parts: RequestParts, call: HttpCall | undefined): Promise<HttpResponse> {
    const now = this.#context.host.now()
    // Yield once: if the peer closed an idle connection, the kernel knows by now and we see it before writing.
    if (now - this.#lastTraffic > HTTP_LIMITS.idleMs) await nextPoll()
    this.#lastTraffic = now
    const send = () => httpExchange(this.#network.dispatcher, parts, (stop) => call?.stoppable(stop))
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof Error) || !this.#mayRepeat(error, call)) throw this.#networkError(error)
      this.#note('A kept connection had gone stale; the request is sent once more.')
      return await send().catch((again: unknown) => {
        throw this.#networkError(again)
      })
    }
  }

  /**
   * A reset means that the peer closed before it read the request. An orderly end may also be a server that crashed
   * on it: a tool call is then not repeated here, because only the connection knows whether that is safe.
   */
  #mayRepeat(error: Error, call: HttpCall | undefined): boolean {
    if (call?.aborted || !this.#network.isStale(error)) return false
    const code = errorCode(error)
    return code === 'ECONNRESET' || code === 'EPIPE' || call?.method !== 'tools/call'
  }

  /** A response that we read ourselves looks to the SDK like an accepted notification: nothing is left for it to do. */
  #takeAnswer(answer: HttpResponse, call: HttpCall): Response | Promise<Response> {
    if (!answer.ok) return fullResponse(answer, this.#context.host)
    if (call.id === undefined || answer.status === 202) {
      answer.discard()
      return shortResponse(answer, answer.status)
    }
    const { mediaType } = answer
    if (mediaType !== '' && mediaType !== 'application/json' && mediaType !== 'text/event-stream') {
      answer.discard()
      throw new UnreadableAnswer(this.#context.server, `${mediaType.slice(0, 80)}, which is not MCP`)
    }
    call.answer = answer
    return shortResponse(answer, 202)
  }

  /** To the SDK a stream that we read ourselves is one that the server does not offer. */
  #takeStream(answer: HttpResponse, call: HttpCall | undefined): Response | Promise<Response> {
    if (answer.ok && answer.mediaType === 'text/event-stream') {
      if (call) call.answer = answer
      else this.#push.attach(answer)
      return shortResponse(answer, 405)
    }
    const isRefusal = answer.status === 401 || answer.status === 403
    if (isRefusal || (call !== undefined && !answer.ok)) return fullResponse(answer, this.#context.host)
    if (answer.status !== 405) this.#note(`No push stream: the server answered ${answer.status}.`)
    answer.discard()
    return shortResponse(answer, 405)
  }

  #pause(ms: number, call: HttpCall | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#context.host.awaitedTimer(ms, resolve)
      call?.stoppable((reason) => {
        cancel()
        reject(reason)
      })
    })
  }

  #deliver(message: JSONRPCMessage): void {
    if (this.#closing) return
    try {
      this.onmessage?.(message)
    } catch (error) {
      if (error instanceof Error) this.#report(error)
    }
  }

  /** The SDK reports some errors twice; they must not be counted twice. */
  #report(error: Error): void {
    if (this.#closing || error instanceof Cancelled || this.#reported.has(error)) return
    this.#reported.add(error)
    this.onerror?.(error)
  }

  #note(text: string): void {
    this.#context.log({ stream: 'transport', text })
  }

  #details() {
    return { server: this.#context.server, stage: 'call' as const }
  }

  #closedError(): IoError {
    return new IoError(`The connection to "${this.#context.server}" is closed.`, this.#details())
  }

  #networkError(cause: unknown): Error {
    if (cause instanceof IoError || cause instanceof Cancelled) return cause
    const code = errorCode(cause) ?? tlsCode(cause)
    const hint =
      tlsCode(cause) === undefined
        ? 'Check the URL, and whether the server is running.'
        : 'Its certificate is not trusted here; name the authority in NODE_EXTRA_CA_CERTS.'
    return new IoError(
      `"${this.#context.server}" ${code === undefined ? 'could not be reached' : `could not be reached (${code})`}.`,
      { ...this.#details(), hint, cause },
    )
  }
}

function flatten(headers: Headers, extra: HeaderMap): string[] {
  const flat: string[] = []
  for (const [name, value] of headers) flat.push(name, value)
  // A header that the SDK set (a fresh token) wins over the configuration.
  for (const [name, value] of Object.entries(extra)) if (!headers.has(name)) flat.push(name, value)
  return flat
}
