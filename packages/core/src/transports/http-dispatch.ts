// http-dispatch.ts: one HTTP request and its response, on undici's dispatcher, with nothing between the socket and
// the reader. It neither retries nor interprets; http-retries.ts does.
import type { Dispatcher } from 'undici'
import { Timeout } from '../errors.ts'
import type { Host } from '../host.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { redirectLocation } from './redirects.ts'
import { HttpStatusError } from './transport-errors.ts'

export interface RequestParts {
  readonly origin: string
  readonly path: string
  readonly method: string
  /** Name, value, name, value … */
  readonly headers: string[]
  readonly body?: string | undefined
  readonly headersTimeoutMs?: number | undefined
}

export interface BodyReader {
  data(chunk: Buffer): void
  end(): void
  fail(error: Error): void
}

/** The way to end a request from our side, whatever it is doing: connecting, waiting, receiving. */
export class RequestAbort {
  aborted: Error | undefined
  /** How often it was sent so far. */
  attempts = 0
  #stop: ((reason: Error) => void) | undefined

  /** What ends the current step; the one before it is over. */
  stoppable(stop: (reason: Error) => void): void {
    this.#stop = stop
    if (this.aborted) stop(this.aborted)
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = reason
    this.#stop?.(reason)
  }
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The exchange as its response sees it. */
interface ExchangeControl {
  abort(reason: Error): void
  pause(): void
  resume(): void
}

/** A response whose headers have arrived. The body waits until it is read; past a moment's worth the server waits too. */
export class HttpResponse {
  readonly status: number
  readonly statusText: string
  readonly headers: ResponseHeaders
  readonly #control: ExchangeControl
  #reader: BodyReader | undefined
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #outcome: { error?: Error } | undefined

  constructor(status: number, statusText: string, headers: ResponseHeaders, control: ExchangeControl) {
    this.status = status
    this.statusText = statusText
    this.headers = headers
    this.#control = control
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }

  header(name: string): string | undefined {
    const value = this.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  /** The media type without its parameters. */
  get mediaType(): string {
    const type = this.header('content-type')
    if (type === undefined || type === 'application/json') return type ?? ''
    return type.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  }

  read(reader: BodyReader): void {
    this.#reader = reader
    const waiting = this.#waiting
    this.#waiting = []
    for (const chunk of waiting) reader.data(chunk)
    if (this.#waitingBytes > WAITING_BYTES) this.#control.resume()
    if (this.#outcome === undefined) return
    if (this.#outcome.error) reader.fail(this.#outcome.error)
    else reader.end()
  }

  /** Ends the exchange from our side and notifies the reader. */
  abort(reason: Error): void {
    if (this.#outcome === undefined) this.#control.abort(reason)
  }

  /** The whole body as text; an error when it is longer than `maxBytes`. */
  text(maxBytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let bytes = 0
      this.read({
        data: (chunk) => {
          bytes += chunk.length
          if (bytes > maxBytes) this.abort(new BodyTooLarge(maxBytes))
          else chunks.push(chunk)
        },
        end: () => {
          const [only] = chunks
          resolve((chunks.length === 1 && only ? only : Buffer.concat(chunks, bytes)).toString('utf8'))
        },
        fail: reject,
      })
    })
  }

  /** Discards the body: a short one is read so that the connection can be reused, a long one is cut. */
  discard(): void {
    if (this.#reader !== undefined) return
    this.text(DISCARD_BYTES).catch(() => {
      // The body was not needed, so how it ended does not matter.
    })
  }

  /** @internal */
  push(chunk: Buffer): void {
    if (this.#reader) {
      this.#reader.data(chunk)
      return
    }
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#waitingBytes > WAITING_BYTES) this.#control.pause()
  }

  /** @internal */
  finish(error?: Error): void {
    if (this.#outcome !== undefined) return
    this.#outcome = error ? { error } : {}
    if (this.#reader === undefined) return
    if (error) this.#reader.fail(error)
    else this.#reader.end()
  }
}

const DISCARD_BYTES = 64 * 1024
/** What may arrive before a body is read, for instance while a login is renewed. */
const WAITING_BYTES = 256 * 1024

export class BodyTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`The answer is larger than ${maxBytes} bytes.`)
  }
}

/** The error for a response that reports a failure, with what its body says, within bounds of size and time. */
export async function statusError(response: HttpResponse, url: URL, host: Host): Promise<HttpStatusError> {
  const cancel = host.awaitedTimer(HTTP_LIMITS.notifyMs, () =>
    response.abort(new Timeout('The body of an error took too long.')),
  )
  // The status is enough; a body that is too long, too slow or cut only lacks its explanation.
  const body = await response.text(HTTP_LIMITS.errorBytes).catch(() => '')
  cancel()
  const location = redirectLocation(url, response)
  // Without its query, which may hold a secret.
  const what = location ? `redirect to ${location.origin}${location.pathname}` : body || response.statusText
  return new HttpStatusError(response.status, body, what)
}

/** Sends a request; resolves when the response headers arrive. `onAbortable` receives the way to stop it before that. */
export function httpExchange(
  dispatcher: Dispatcher,
  parts: RequestParts,
  onAbortable?: (abort: (reason: Error) => void) => void,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let aborted: Error | undefined
    let answer: HttpResponse | undefined
    const abort = (reason: Error) => {
      if (aborted) return
      aborted = reason
      controller?.abort(reason)
      // A request that still waits for a connection has no controller; it will find itself aborted on its turn.
      if (controller === undefined) reject(reason)
    }
    onAbortable?.(abort)
    dispatcher.dispatch(
      {
        origin: parts.origin,
        path: parts.path,
        // Three methods are used; undici's list is closed.
        method: parts.method as Dispatcher.HttpMethod,
        headers: parts.headers,
        body: parts.body ?? null,
        ...(parts.headersTimeoutMs !== undefined && { headersTimeout: parts.headersTimeoutMs }),
      },
      {
        onRequestStart(started) {
          controller = started
          if (aborted) started.abort(aborted)
        },
        onResponseStart(started, status, headers, statusText) {
          // 1xx only announces the response.
          if (status < 200) return
          answer = new HttpResponse(status, statusText ?? '', headers, {
            abort,
            pause: () => started.pause(),
            resume: () => started.resume(),
          })
          resolve(answer)
        },
        onResponseData(_controller, chunk) {
          answer?.push(chunk)
        },
        onResponseEnd() {
          answer?.finish()
        },
        onResponseError(_controller, error) {
          if (answer) answer.finish(aborted ?? error)
          else reject(aborted ?? error)
        },
      },
    )
  })
}
