// http.ts: one streaming request to a provider: sent, refused by status, read as server-sent events, ended by a signal
// or a timeout. It does not know what the events mean, and never retries; the loop does.
import { Cancelled } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { MODEL_LIMITS } from '../limits.ts'
import { type FailureKind, ModelFailure } from './model.ts'

export interface HttpRequest {
  readonly host: Host
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal?: AbortSignal | undefined
  /** What to set when the key is refused. */
  readonly keyHint: string
}

/** The `data` of every event. Ends when the body does. */
export async function* eventData(request: HttpRequest): AsyncGenerator<string> {
  const clock = new Silence(request.host, request.signal, request.url)
  try {
    const response = await send(request, clock)
    const type = response.headers.get('content-type') ?? ''
    if (!response.ok) throw await refusal(request, response)
    if (!response.body || !type.includes('text/event-stream')) {
      await response.body?.cancel().catch(() => undefined)
      throw new ModelFailure(
        'request',
        `${addressOf(request.url)} answered with ${type || 'no content type'}, not with a stream.`,
        { hint: 'Check the base URL: this may be a web page, or a server of another format (--api).' },
      )
    }
    clock.expect(MODEL_LIMITS.silenceMs)
    yield* readEvents(response.body, clock)
  } catch (error) {
    throw clock.explain(error)
  } finally {
    clock.end()
  }
}

async function send(request: HttpRequest, clock: Silence): Promise<Response> {
  clock.expect(MODEL_LIMITS.answerMs)
  const response = await request.host.fetch(request.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...request.headers },
    body: JSON.stringify(request.body),
    signal: clock.signal,
    // A key goes where the user sent it, and nowhere else.
    redirect: 'manual',
  })
  if (response.status >= 300 && response.status < 400)
    throw new ModelFailure('request', `The model's URL redirects to another address (${response.status}).`, {
      status: response.status,
      hint: 'If you trust that address, set the base URL to it.',
    })
  return response
}

async function* readEvents(body: ReadableStream<Uint8Array>, clock: Silence): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let rest = ''
  let data: string[] = []
  let total = 0
  let size = 0
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      clock.heard()
      total += value.length
      if (total > MODEL_LIMITS.streamBytes) throw tooLong()
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      if (rest.length > MODEL_LIMITS.eventBytes) throw tooLong()
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield data.join('\n')
          data = []
          size = 0
        } else if (line.startsWith('data:')) {
          const text = line.slice(line[5] === ' ' ? 6 : 5)
          size += text.length
          if (size > MODEL_LIMITS.eventBytes) throw tooLong()
          data.push(text)
        }
      }
    }
  } finally {
    // A reader that stops closes the connection; one that is already broken cannot be closed.
    await reader.cancel().catch(() => undefined)
  }
}

function tooLong(): ModelFailure {
  return new ModelFailure('garbage', "The model's answer is larger than the limit.")
}

async function refusal(request: HttpRequest, response: Response): Promise<ModelFailure> {
  const { status } = response
  const kind = kindOf(status)
  const text = await errorText(response)
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const said = text === '' ? '' : `: ${text.replace(/[.!?]?$/, (end) => end || '.')}`
  const message = `${addressOf(request.url)} answered ${status}${said === '' ? '.' : said}`
  return new ModelFailure(kind, message, {
    status,
    ...(Number.isFinite(retryAfter) && retryAfter >= 0 && { retryAfterMs: retryAfter * 1000 }),
    ...(kind === 'auth' && { hint: request.keyHint }),
    ...(status === 404 && { hint: 'Check the model name, the base URL and the wire format (--api).' }),
  })
}

/** Without what may be secret in an address: the user, the password and the query. */
function addressOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `The model at ${origin}${pathname}`
}

function kindOf(status: number): FailureKind {
  if (status === 429) return 'busy'
  if (status === 529 || status === 503) return 'overloaded'
  if (status === 408) return 'timeout'
  if (status >= 500) return 'server'
  return status === 401 || status === 403 ? 'auth' : 'request'
}

/** The provider's own message, out of a body that may be anything. */
async function errorText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder()
  let text = ''
  while (text.length < MODEL_LIMITS.errorBytes) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader.cancel().catch(() => undefined)
  return (messageIn(text) ?? withoutPage(text))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MODEL_LIMITS.messageChars)
}

/** A page of a proxy is not a message: only its title says something. */
function withoutPage(text: string): string {
  if (!/^\s*(?:<!--.*?-->\s*)?<(?:!doctype|html|head|body|h1|center)/is.test(text)) return text
  const title = /<title[^>]*>([^<]{1,200})<\/title>/i.exec(text) ?? /<h1[^>]*>([^<]{1,200})<\/h1>/i.exec(text)
  return title ? `a web page, "${title[1]?.trim()}"` : 'a web page'
}

function messageIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string }
    if (typeof error === 'string') return error
    return typeof error?.message === 'string' ? error.message : undefined
  } catch {
    // Not JSON: then the text itself is the message.
    return undefined
  }
}

/** Codes of a connection that a second attempt would not get either. */
const HOPELESS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused: no program listens there',
  ENOTFOUND: 'there is no host of that name',
  EACCES: 'the connection is not allowed',
  ERR_INVALID_URL: 'the address is not valid',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
}
/** fetch gives these no code. */
const BY_MESSAGE: Readonly<Record<string, string>> = {
  'bad port': 'that port belongs to another protocol, so no request is sent to it',
  'unknown scheme': 'the address is not a web address',
}
const BROKEN: Readonly<Record<string, string>> = {
  EAI_AGAIN: 'its name cannot be resolved now',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
}

/** Whatever fetch and its streams throw means a connection that failed or was lost. */
function connectionFailure(url: string, error: unknown, hasAnswered: boolean): ModelFailure {
  const code = codeOf(error)
  const hopeless = code === undefined ? BY_MESSAGE[lastMessage(error)] : HOPELESS[code]
  const why = hopeless ?? (code === undefined ? undefined : BROKEN[code]) ?? lastMessage(error)
  const what = hasAnswered ? 'broke off in its answer' : 'cannot be reached'
  return new ModelFailure(
    hopeless === undefined ? 'network' : 'unreachable',
    `${addressOf(url)} ${what}: ${why}${code === undefined ? '' : ` (${code})`}.`,
    { cause: error, hint: 'Check the base URL and the network.' },
  )
}

const MOST_CAUSES = 5

/** The causes of an error, the first one first; of several attempts, those of the first. */
function causes(error: unknown): readonly Error[] {
  const found: Error[] = []
  let next = error
  while (next instanceof Error && found.length < MOST_CAUSES) {
    found.push(next)
    next = next instanceof AggregateError ? next.errors[0] : next.cause
  }
  return found
}

function codeOf(error: unknown): string | undefined {
  return causes(error)
    .map((one) => ('code' in one ? one.code : undefined))
    .findLast((code): code is string => typeof code === 'string' && /^[A-Z_]{3,40}$/.test(code))
}

function lastMessage(error: unknown): string {
  const message = causes(error).at(-1)?.message ?? ''
  return message === ''
    ? 'the connection broke'
    : message.slice(0, MODEL_LIMITS.messageChars).replace(/\.$/, '')
}

/** Ends a request that its caller cancelled or that has gone silent, and knows which it was. */
class Silence {
  readonly #host: Host
  readonly #outer: AbortSignal | undefined
  readonly #url: string
  readonly #controller = new AbortController()
  readonly #onAbort = () => this.#controller.abort(new Cancelled())
  #stop: (() => void) | undefined
  #ms = 0
  #since = 0
  #expired = false
  #hasAnswered = false

  constructor(host: Host, outer: AbortSignal | undefined, url: string) {
    this.#host = host
    this.#url = url
    this.#outer = outer
    if (outer?.aborted) this.#onAbort()
    outer?.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  expect(ms: number): void {
    this.#ms = ms
    this.#since = this.#host.now()
    this.#stop?.()
    this.#stop = this.#host.awaitedTimer(ms, () => this.#check())
  }

  /** Cheap, because it runs for every piece: the running timer checks again later. */
  heard(): void {
    this.#hasAnswered = true
    this.#since = this.#host.now()
  }

  explain(error: unknown): unknown {
    if (this.#outer?.aborted) return new Cancelled(undefined, { cause: error })
    if (this.#expired)
      return new ModelFailure(
        'timeout',
        `${addressOf(this.#url)} sent nothing for ${Math.round(this.#ms / 1000)} s.`,
      )
    if (error instanceof ModelFailure) return error
    return connectionFailure(this.#url, error, this.#hasAnswered)
  }

  end(): void {
    this.#stop?.()
    this.#outer?.removeEventListener('abort', this.#onAbort)
    this.#controller.abort()
  }

  #check(): void {
    const left = this.#since + this.#ms - this.#host.now()
    if (left > 0) {
      this.#stop = this.#host.awaitedTimer(left, () => this.#check())
      return
    }
    this.#expired = true
    this.#controller.abort()
  }
}
