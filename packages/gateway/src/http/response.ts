// response.ts: one HTTP response: plain JSON when there is only the answer, a stream of events as soon as a message
// comes before it, or when it takes long. A long answer is written as fast as its client reads.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { ResponseConnection } from '../client-request.ts'
import { errorReply, type Id, isObject, type Reply, RPC, RPC_RATE_LIMITED, written } from '../json-rpc.ts'
import type { Replay } from './replay.ts'

export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const

/** When a client should come back after a stream broke: soon, because its call ends when it does not. */
const RETRY_MS = 500

/** How a broken stream can be resumed. */
export interface Resumable {
  readonly replay: Replay
  /** The request that is answered. */
  readonly request: Id
  /** The client accepts events without a message; older ones fail to parse them. */
  readonly marks: boolean
}

export class McpHttpResponse implements ResponseConnection {
  onGone: (() => void) | undefined
  readonly #streams: boolean
  readonly #resumable: Resumable | undefined
  #res!: ServerResponse
  #gone = false
  /** The number of the stream, as soon as it has an event. */
  #stream: number | undefined
  #finished = false
  /** Headers that say what is left of a budget, as names and values. */
  #budget: readonly string[] = []
  /** When the client last got a sign that its request is alive. */
  #lastSign = Date.now()
  #away: NodeJS.Timeout | undefined

  constructor(req: IncomingMessage, res: ServerResponse, resumable?: Resumable) {
    this.#streams = accepts(req, 'text/event-stream')
    this.#resumable = resumable
    this.#take(res)
  }

  /** The client disconnected before it had its response, and did not come back for it where it could. */
  get gone(): boolean {
    return this.#gone
  }

  /** The client's connection broke, and it may still come back. */
  get away(): boolean {
    return this.#away !== undefined
  }

  /** No client waits for the response any more. */
  leave(): void {
    if (this.#gone) return
    this.#gone = true
    this.onGone?.()
  }

  get stream(): number | undefined {
    return this.#stream
  }

  get finished(): boolean {
    return this.#finished
  }

  /** A stream that has begun cannot have these headers any more. */
  tellBudget(headers: readonly string[]): void {
    this.#budget = headers
  }

  /** True when a message could be sent before the response. */
  send(message: object): boolean {
    if (!this.#streams || this.#finished) return false
    if (this.#res.writableLength > GATEWAY_LIMITS.unreadBytes) this.#res.destroy()
    // A client that may resume finds it kept; one that cannot is gone.
    if (this.#res.destroyed && this.#stream === undefined) return false
    this.#open()
    this.#write(this.#event(message))
    return true
  }

  finish(reply: Reply | undefined): void {
    if (this.#finished) return
    this.#finished = true
    clearTimeout(this.#away)
    const res = this.#res
    if (this.#stream !== undefined || res.headersSent) endWith(res, reply ? this.#event(reply) : '')
    else if (res.destroyed) return
    // A legacy request that was accepted has status 200, whatever the response; only legacy sessions can be resumed.
    else if (reply)
      json(res, isLimited(res, reply) || !this.#resumable ? statusOf(reply) : 200, reply, this.#budget)
    else res.writeHead(202).end()
    dropSlowReader(res)
  }

  /** The client is back for the rest of the stream. */
  resume(res: ServerResponse): void {
    clearTimeout(this.#away)
    this.#away = undefined
    const before = this.#res
    this.#take(res)
    before.destroy()
  }

  /** A client that has waited for long gets a stream, and signs that its request is alive. */
  keepAlive(now: number): void {
    if (!this.#streams || this.#finished || this.#res.destroyed) return
    if (now - this.#lastSign < GATEWAY_LIMITS.keepAliveMs) return
    this.#lastSign = now
    this.#open()
    this.#write(': still here\n\n')
  }

  #take(res: ServerResponse): void {
    this.#res = res
    this.#lastSign = Date.now()
    res.on('close', () => {
      if (this.#res === res) this.#left()
    })
  }

  #left(): void {
    if (this.#finished) return
    if (this.#stream === undefined) this.leave()
    else this.#away = setTimeout(() => this.leave(), GATEWAY_LIMITS.resumeMs)
  }

  #event(message: object): string {
    if (!this.#resumable) return frame(message)
    this.#stream ??= this.#resumable.replay.open(this.#resumable.request)
    return this.#resumable.replay.event(this.#stream, message)
  }

  #write(text: string): void {
    if (!this.#res.writableEnded && !this.#res.destroyed) this.#res.write(text)
  }

  #open(): void {
    if (!this.#res.headersSent && !this.#res.destroyed)
      this.#res.writeHead(200, [...Object.entries(STREAM_HEADERS).flat(), ...this.#budget])
    if (!this.#resumable?.marks || this.#stream !== undefined) return
    // The first event has no message: a stream that breaks before one can be resumed too.
    this.#stream = this.#resumable.replay.open(this.#resumable.request)
    this.#write(`retry: ${RETRY_MS}\n${this.#resumable.replay.mark(this.#stream)}`)
  }
}

/** A client that does not read its response must not occupy this process for ever. */
function dropSlowReader(res: ServerResponse): void {
  if ((res.socket?.writableLength ?? 0) > 0) res.setTimeout(GATEWAY_LIMITS.unreadMs, () => void res.destroy())
}

export function frame(message: object): string {
  return `event: message\ndata: ${written(message)}\n\n`
}

export function json(res: ServerResponse, status: number, value: object, more: readonly string[] = []): void {
  const text = written(value)
  const long = text.length > SLICE_BYTES ? Buffer.from(text) : undefined
  const bytes = long?.length ?? Buffer.byteLength(text)
  res.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', String(bytes), ...more])
  if (long) endInSlices(res, long)
  else res.end(text)
}

const SLICE_BYTES = 64 * 1024

function endWith(res: ServerResponse, text: string): void {
  if (res.writableEnded || res.destroyed) return
  if (text.length > SLICE_BYTES) endInSlices(res, Buffer.from(text))
  else res.end(text)
}

/** The next slice is written when the client has read the last one: the socket keeps no second copy of a long answer. */
function endInSlices(res: ServerResponse, bytes: Buffer): void {
  let at = 0
  const next = () => {
    while (at < bytes.length) {
      const slice = bytes.subarray(at, at + SLICE_BYTES)
      at += slice.length
      if (at >= bytes.length) res.end(slice)
      else if (!res.write(slice)) return void res.once('drain', next)
    }
  }
  next()
}

/** Starts the work of a request; undefined when it was done at once. */
export function handled(
  res: ServerResponse,
  work: () => Promise<unknown> | undefined,
): Promise<unknown> | undefined {
  try {
    const running = work()
    return running && guarded(res, running)
  } catch (error) {
    return guarded(res, Promise.reject(error))
  }
}

/** An unexpected failure: this client is told, the others are still served. */
export function guarded(res: ServerResponse, work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => {
    if (!res.headersSent) json(res, 500, errorReply(null, RPC.internal, 'Internal error.'))
    else res.destroy()
  })
}

export function accepts(req: IncomingMessage, type: string): boolean {
  const { accept } = req.headers
  if (accept === undefined) return false
  if (accept.includes(type)) return true
  const header = accept.toLowerCase()
  return header.includes(type) || header.includes('*/*') || header.includes(`${type.split('/')[0]}/*`)
}

/** A user with too many calls gets 429 in every protocol version, and is told when to come back. */
function isLimited(res: ServerResponse, { error }: Reply): boolean {
  if (error?.code !== RPC_RATE_LIMITED) return false
  const seconds = isObject(error.data) ? Number(error.data.retryAfterSeconds) : 1
  // A server may use the same code, and put anything there.
  res.setHeader('Retry-After', String(Number.isInteger(seconds) && seconds > 0 ? seconds : 1))
  return true
}

/** Only errors that the protocol ties to a status have one of their own; a response with an error is still a response. */
function statusOf({ error }: Reply): number {
  switch (error?.code) {
    case RPC_RATE_LIMITED:
      return 429
    case RPC.parse:
    case RPC.invalidRequest:
    case RPC.headerMismatch:
    case RPC.missingCapability:
    case RPC.unsupportedVersion:
      return 400
    default:
      return 200
  }
}
