// response.ts: one HTTP response: plain JSON when there is only the answer, a stream of events as soon as a message
// comes before it, or when it takes long.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Id, type Reply, RPC, written } from '../json-rpc.ts'
import type { Replay } from './replay.ts'

export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const

/** How a broken stream can be resumed. */
export interface Resumable {
  readonly replay: Replay
  /** The request that is answered. */
  readonly request: Id
  /** The client accepts events without a message; older ones fail to parse them. */
  readonly marks: boolean
}

export class McpHttpResponse {
  readonly #streams: boolean
  readonly #gone = new AbortController()
  readonly #resumable: Resumable | undefined
  #res!: ServerResponse
  /** The number of the stream, as soon as it has an event. */
  #stream: number | undefined
  #finished = false
  #alive: NodeJS.Timeout | undefined
  #away: NodeJS.Timeout | undefined

  constructor(req: IncomingMessage, res: ServerResponse, resumable?: Resumable) {
    this.#streams = accepts(req, 'text/event-stream')
    this.#resumable = resumable
    this.#take(res)
  }

  /** Aborted when the client disconnects before it has its response, and does not come back for it where it could. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** The client's connection broke, and it may still come back. */
  get away(): boolean {
    return this.#away !== undefined
  }

  /** No client waits for the response any more. */
  leave(): void {
    this.#gone.abort()
  }

  get stream(): number | undefined {
    return this.#stream
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
    clearInterval(this.#alive)
    clearTimeout(this.#away)
    if (this.#stream !== undefined || this.#res.headersSent) {
      if (reply) this.#write(this.#event(reply))
      this.#res.end()
    } else if (this.#res.destroyed) return
    // A legacy request that was accepted has status 200, whatever the response; only legacy sessions can be resumed.
    else if (reply) json(this.#res, this.#resumable ? 200 : statusOf(reply), reply)
    else this.#res.writeHead(202).end()
    dropSlowReader(this.#res)
  }

  /** The client is back for the rest of the stream. */
  resume(res: ServerResponse): void {
    clearTimeout(this.#away)
    this.#away = undefined
    clearInterval(this.#alive)
    const before = this.#res
    this.#take(res)
    before.destroy()
  }

  #take(res: ServerResponse): void {
    this.#res = res
    res.on('close', () => {
      if (this.#res === res) this.#left()
    })
    if (this.#streams) this.#alive = setInterval(() => this.#sayAlive(), GATEWAY_LIMITS.keepAliveMs)
  }

  #left(): void {
    clearInterval(this.#alive)
    if (this.#finished) return
    if (this.#stream === undefined) this.#gone.abort()
    else this.#away = setTimeout(() => this.#gone.abort(), GATEWAY_LIMITS.resumeMs)
  }

  #sayAlive(): void {
    this.#open()
    if (this.#resumable?.marks && this.#stream === undefined) {
      this.#stream = this.#resumable.replay.open(this.#resumable.request)
      this.#write(this.#resumable.replay.mark(this.#stream))
    }
    this.#write(': still here\n\n')
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
    if (!this.#res.headersSent && !this.#res.destroyed) this.#res.writeHead(200, STREAM_HEADERS)
  }
}

/** A client that does not read its response must not occupy this process for ever. */
function dropSlowReader(res: ServerResponse): void {
  if ((res.socket?.writableLength ?? 0) > 0) res.setTimeout(GATEWAY_LIMITS.unreadMs, () => void res.destroy())
}

export function frame(message: object): string {
  return `event: message\ndata: ${written(message)}\n\n`
}

export function json(res: ServerResponse, status: number, value: object): void {
  const text = written(value)
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    .end(text)
}

export function accepts(req: IncomingMessage, type: string): boolean {
  const header = (req.headers.accept ?? '').toLowerCase()
  return header.includes(type) || header.includes('*/*') || header.includes(`${type.split('/')[0]}/*`)
}

/** Only errors that the protocol ties to a status have one of their own; a response with an error is still a response. */
function statusOf({ error }: Reply): number {
  switch (error?.code) {
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
