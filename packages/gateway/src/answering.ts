// answering.ts: one HTTP answer: plain JSON when there is only the answer, a stream of events as soon as there is
// something to say before it, or when it takes long.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Reply, RPC } from './protocol.ts'

export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const

export class Answering {
  readonly #res: ServerResponse
  readonly #streams: boolean
  readonly #gone = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#res = res
    this.#streams = accepts(req, 'text/event-stream')
    res.on('close', () => {
      clearInterval(this.#timer)
      if (!res.writableFinished) this.#gone.abort()
    })
    if (this.#streams) this.#timer = setInterval(() => this.#alive(), GATEWAY_LIMITS.keepAliveMs)
  }

  /** Aborted when the client hangs up before it has its answer. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** True when a message could be sent ahead of the answer. */
  send(message: object): boolean {
    if (!this.#streams || this.#res.writableEnded || this.#res.destroyed) return false
    if (this.#res.writableLength > GATEWAY_LIMITS.unreadBytes) {
      this.#res.destroy()
      return false
    }
    this.#open()
    this.#res.write(frame(message))
    return true
  }

  finish(reply: Reply | undefined): void {
    clearInterval(this.#timer)
    if (this.#res.writableEnded || this.#res.destroyed) return
    if (this.#res.headersSent) return void this.#res.end(reply ? frame(reply) : undefined)
    if (!reply) return void this.#res.writeHead(202).end()
    json(this.#res, statusOf(reply), reply)
  }

  #alive(): void {
    if (this.#res.writableEnded || this.#res.destroyed) return
    this.#open()
    this.#res.write(': still here\n\n')
  }

  #open(): void {
    if (!this.#res.headersSent) this.#res.writeHead(200, STREAM_HEADERS)
  }
}

export function frame(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}

export function json(res: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value)
  res
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    .end(text)
}

export function accepts(req: IncomingMessage, type: string): boolean {
  const header = (req.headers.accept ?? '').toLowerCase()
  return header.includes(type) || header.includes('*/*') || header.includes(`${type.split('/')[0]}/*`)
}

/** Only what the protocol ties to a status has one of its own; an answer that says "error" is still an answer. */
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
