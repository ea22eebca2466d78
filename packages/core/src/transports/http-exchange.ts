// http-exchange.ts: one HTTP request and its response, on undici's dispatcher, with nothing between the socket and
// the reader. It neither retries nor interprets; http.ts does.
import type { Dispatcher } from 'undici'

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

/** A response whose headers have arrived. The body waits until it is read. */
export class HttpResponse {
  readonly status: number
  readonly statusText: string
  readonly #headers: Readonly<Record<string, string | string[] | undefined>>
  readonly #abort: (reason: Error) => void
  #reader: BodyReader | undefined
  #waiting: Buffer[] = []
  #outcome: { error?: Error } | undefined

  constructor(
    status: number,
    statusText: string,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    abort: (reason: Error) => void,
  ) {
    this.status = status
    this.statusText = statusText
    this.#headers = headers
    this.#abort = abort
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }

  header(name: string): string | undefined {
    const value = this.#headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  /** All of them, for a real `Response`. */
  headerPairs(): [string, string][] {
    return Object.entries(this.#headers).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value ?? '']).map((each): [string, string] => [name, each]),
    )
  }

  /** The media type without its parameters. */
  get mediaType(): string {
    return (this.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  }

  read(reader: BodyReader): void {
    this.#reader = reader
    const waiting = this.#waiting
    this.#waiting = []
    for (const chunk of waiting) reader.data(chunk)
    if (this.#outcome === undefined) return
    if (this.#outcome.error) reader.fail(this.#outcome.error)
    else reader.end()
  }

  /** Ends the exchange from our side and notifies the reader. */
  abort(reason: Error): void {
    if (this.#outcome === undefined) this.#abort(reason)
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
    this.text(DISCARD_BYTES).catch(() => {
      // The body was not needed, so how it ended does not matter.
    })
  }

  /** @internal */
  push(chunk: Buffer): void {
    if (this.#reader) this.#reader.data(chunk)
    else this.#waiting.push(chunk)
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

export class BodyTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`The answer is larger than ${maxBytes} bytes.`)
  }
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
        // The SDK and this layer use four methods; undici's list is closed.
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
        onResponseStart(_controller, status, headers, statusText) {
          // 1xx only announces the response.
          if (status < 200) return
          answer = new HttpResponse(status, statusText ?? '', headers, abort)
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
