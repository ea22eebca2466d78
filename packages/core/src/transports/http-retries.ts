// http-retries.ts: the HTTP requests of one transport, with everything that repeats a request below MCP: a redirect, a
// renewed login, renewed headers, a server that names a time to wait, a stale connection. Each in one place, and each
// at most once for a request, except redirects. It reads no body and knows no message.
import { setImmediate as nextPoll } from 'node:timers/promises'
import type { LoginHeaders, RequestAuth } from '../auth/request-auth.ts'
import type { RemoteEntry } from '../config/entry.ts'
import { Cancelled, IoError } from '../errors.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { EntryHeaders, type HeaderMap } from './entry-headers.ts'
import { type Network, openNetwork } from './http-agents.ts'
import { type HttpResponse, httpExchange, type RequestAbort, type RequestParts } from './http-dispatch.ts'
import type { FlatHeaders } from './mcp-headers.ts'
import type { TransportContext } from './open.ts'
import { plainFetch } from './plain-fetch.ts'
import { redirectTarget } from './redirects.ts'
import { retryAfterMs } from './retry-after.ts'
import { requestAuth } from './transport-auth.ts'
import { errorCode, tlsCode } from './transport-errors.ts'
import type { WireExchange } from './wire-exchange.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  readonly headers: FlatHeaders
  readonly body?: string
  /** The response must have begun by then. */
  readonly headersTimeoutMs?: number
  /** A tool may have side effects: such a request is not repeated when the server may have read it. */
  readonly isToolCall?: boolean
  /** The JSON-RPC id of the message that it carries, or whose answer it asks for. */
  readonly messageId?: string | number | undefined
}

type HttpTarget = Pick<RemoteEntry, 'url' | 'headers' | 'headersHelper' | 'helperCwd'>

export async function openHttpClient(entry: HttpTarget, context: TransportContext): Promise<HttpClient> {
  return new HttpClient(entry, context, await openNetwork(context.host))
}

export class HttpClient {
  readonly url: URL
  readonly #context: TransportContext
  readonly #network: Network
  readonly #headers: EntryHeaders
  readonly #auth: RequestAuth | undefined
  #lastTraffic = 0
  /** The address of the latest request: nearly all go to the same one, and taking a URL apart has its price. */
  #address: Address | undefined

  constructor(entry: HttpTarget, context: TransportContext, network: Network) {
    this.url = new URL(entry.url)
    this.#context = context
    this.#network = network
    this.#headers = new EntryHeaders(entry, context)
    this.#auth = requestAuth(context.auth, this.url, (url, init) =>
      plainFetch(network.dispatcher, url, { ...init, headers: new Headers(init?.headers) }),
    )
  }

  /** Fails early when the entry's headers cannot be had. */
  async start(): Promise<void> {
    if (this.#context.signal?.aborted === true) throw new Cancelled()
    await this.#headers.current()
  }

  /** Resolves with any response that arrives, whatever its status. */
  async request(request: HttpRequest, abort: RequestAbort): Promise<HttpResponse> {
    let target = request.url
    for (let followed = 0; ; followed++) {
      const response = await this.#authorized(request, target, abort)
      const next = redirectTarget(target, request.method, response)
      if (next === undefined || followed === HTTP_LIMITS.redirects) return response
      response.discard()
      target = next
    }
  }

  async close(): Promise<void> {
    await this.#network.dispatcher.destroy()
  }

  networkError(cause: unknown): Error {
    if (cause instanceof IoError || cause instanceof Cancelled) return cause
    const { server } = this.#context
    const code = errorCode(cause) ?? tlsCode(cause)
    const hint =
      tlsCode(cause) === undefined
        ? 'Check the URL, and whether the server is running.'
        : 'Its certificate is not trusted here; name the authority in NODE_EXTRA_CA_CERTS.'
    return new IoError(`"${server}" could not be reached${code === undefined ? '' : ` (${code})`}.`, {
      server,
      stage: 'call',
      hint,
      cause,
    })
  }

  /** Waits, unless the request is aborted meanwhile. */
  pause(ms: number, abort: RequestAbort): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#context.host.awaitedTimer(ms, resolve)
      abort.stoppable((reason) => {
        cancel()
        reject(reason)
      })
    })
  }

  #authorized(request: HttpRequest, url: URL, abort: RequestAbort): Promise<HttpResponse> {
    if (this.#auth === undefined) return this.#patient(request, url, NO_LOGIN, abort)
    const { method } = request
    return this.#auth.send({ method, url }, (login) => this.#patient(request, url, login, abort))
  }

  /** Headers of a helper that the server rejects are renewed, and a time to wait that it names is waited for. */
  async #patient(
    request: HttpRequest,
    url: URL,
    login: LoginHeaders,
    abort: RequestAbort,
  ): Promise<HttpResponse> {
    const address = this.#addressOf(url)
    const send = (entryHeaders: HeaderMap) =>
      this.#roundTrip(partsOf(request, address, login, entryHeaders), request, abort)
    let response = await send(await this.#headers.current())
    const { status } = response
    if (status < 400) return response
    if ((status === 401 || status === 403) && this.#headers.hasHelper) {
      response.discard()
      response = await send(await this.#headers.renew())
    }
    const wait = retryAfterMs(response, this.#context.host.now())
    if (wait === undefined) return response
    if (wait > HTTP_LIMITS.retryAfterMs) {
      this.#note(`The server asked to wait ${Math.ceil(wait / 1000)} s, which is too long to hold a request.`)
      return response
    }
    response.discard()
    this.#note(`The server asked to wait ${wait} ms.`)
    await this.pause(wait, abort)
    return send(await this.#headers.current())
  }

  async #roundTrip(parts: RequestParts, request: HttpRequest, abort: RequestAbort): Promise<HttpResponse> {
    const now = this.#context.host.now()
    // Yield once: if the peer closed an idle connection, the kernel knows by now and we see it before writing.
    if (now - this.#lastTraffic > HTTP_LIMITS.idleMs) await nextPoll()
    this.#lastTraffic = now
    const send = () => this.#exchange(parts, request, abort)
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof Error) || !this.#mayRepeat(error, request, abort)) throw this.networkError(error)
      this.#note('A kept connection had gone stale; the request is sent once more.')
      return await send().catch((again: unknown) => {
        throw this.networkError(again)
      })
    }
  }

  /** Once over the wire, and told to the recording. */
  #exchange(parts: RequestParts, { messageId }: HttpRequest, abort: RequestAbort): Promise<HttpResponse> {
    const sent = httpExchange(this.#network.dispatcher, parts, (stop) => abort.stoppable(stop))
    const { onExchange, host } = this.#context
    if (!onExchange) return sent
    const started = host.now()
    const attempt = ++abort.attempts
    const tell = (outcome: WireExchange['outcome']) => {
      const { method, origin, path, headers } = parts
      const durationMs = Math.max(0, host.now() - started)
      onExchange({ messageId, method, url: `${origin}${path}`, attempt, sent: headers, outcome, durationMs })
    }
    return sent.then(
      (response) => {
        const { status, headers: received } = response
        tell({ status, received, retryAfterMs: retryAfterMs(response, host.now()) })
        return response
      },
      (error: unknown) => {
        tell({ failure: abort.aborted ? 'cancelled' : (errorCode(error) ?? tlsCode(error) ?? 'failed') })
        throw error
      },
    )
  }

  /**
   * Only a write that the system refused (EPIPE) shows that the server got no whole request. A reset or an orderly end may
   * also be a server that died over the request, and a reset can swallow a response that was on its way: a tool call is then
   * not repeated here, because only the connection knows whether that is safe.
   */
  #mayRepeat(error: Error, request: HttpRequest, abort: RequestAbort): boolean {
    if (abort.aborted || !this.#network.isStale(error)) return false
    return errorCode(error) === 'EPIPE' || request.isToolCall !== true
  }

  #addressOf(url: URL): Address {
    if (this.#address?.url !== url)
      this.#address = { url, origin: url.origin, path: `${url.pathname}${url.search}` }
    return this.#address
  }

  #note(text: string): void {
    this.#context.log({ stream: 'transport', text })
  }
}

interface Address {
  readonly url: URL
  readonly origin: string
  readonly path: string
}

const NO_LOGIN: LoginHeaders = Object.freeze({})

/** The protocol's own headers, then the login's, then those of the entry that neither of them sets. */
function partsOf(
  request: HttpRequest,
  { origin, path }: Address,
  login: LoginHeaders,
  entryHeaders: HeaderMap,
): RequestParts {
  const headers = [...request.headers]
  for (const name of Object.keys(login)) headers.push(name, login[name] ?? '')
  for (const name of Object.keys(entryHeaders))
    if (!(name in login) && !hasHeader(request.headers, name)) headers.push(name, entryHeaders[name] ?? '')
  return {
    origin,
    path,
    method: request.method,
    headers,
    body: request.body,
    headersTimeoutMs: request.headersTimeoutMs,
  }
}

function hasHeader(headers: FlatHeaders, name: string): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return true
  return false
}
