// notification-stream.ts: the GET stream on which a legacy server sends unsolicited messages, kept open while it is useful.
// Losing it loses notifications and never a call: it gives up silently.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { Cancelled } from '../errors.ts'
import type { Host } from '../host.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { EventStream } from './event-stream.ts'
import { BodyTooLarge, type HttpResponse, RequestAbort } from './http-dispatch.ts'
import { messagesIn } from './json-rpc-messages.ts'
import { isSendableId } from './mcp-headers.ts'

export interface PushStreamOptions {
  readonly host: Host
  readonly deliver: (message: JSONRPCMessage) => void
  readonly note: (text: string) => void
  readonly onLoss: (error: Error) => void
  /** Requests the stream; undefined when the server does not offer one. */
  readonly request: (
    lastEventId: string | undefined,
    abort: RequestAbort,
  ) => Promise<HttpResponse | undefined>
}

export class PushStream {
  readonly #options: PushStreamOptions
  /** Ends the request that opens the stream. */
  readonly #abort = new RequestAbort()
  #answer: HttpResponse | undefined
  #lastEventId: string | undefined
  #retryMs: number | undefined
  #failures = 0
  #openedAt = 0
  #cancelTimer: (() => void) | undefined
  #closed = false

  constructor(options: PushStreamOptions) {
    this.#options = options
  }

  /** Never rejects: the owner reports what fails, and this file decides about the next attempt. */
  async open(): Promise<void> {
    if (this.#closed) return
    try {
      const answer = await this.#options.request(this.#lastEventId, this.#abort)
      if (answer) this.#attach(answer)
    } catch {
      this.#schedule()
    }
  }

  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    this.#abort.abort(new Cancelled())
    this.#answer?.abort(new Cancelled())
  }

  #attach(answer: HttpResponse): void {
    if (this.#closed) {
      answer.abort(new Cancelled())
      return
    }
    this.#answer = answer
    this.#openedAt = this.#options.host.now()
    const events = new EventStream({
      maxBytes: HTTP_LIMITS.messageBytes,
      onRetry: (ms) => {
        this.#retryMs = Math.min(ms, HTTP_LIMITS.serverRetryMs)
      },
      onOverflow: () => answer.abort(new BodyTooLarge(HTTP_LIMITS.messageBytes)),
      onEvent: (event) => {
        if (event.id && isSendableId(event.id)) this.#lastEventId = event.id
        if (event.data !== '' && (event.event === undefined || event.event === 'message'))
          this.#receive(event.data)
      },
    })
    answer.read({
      data: (chunk) => events.push(chunk),
      end: () => this.#ended(answer),
      fail: (error) => this.#ended(answer, error),
    })
  }

  #receive(data: string): void {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      // Reported below, together with JSON that is not a message.
      value = undefined
    }
    const messages = messagesIn(value)
    if (messages === undefined) this.#options.note('An event was not a JSON-RPC message.')
    else for (const message of messages) this.#options.deliver(message)
  }

  #ended(answer: HttpResponse, error?: Error): void {
    if (this.#closed || this.#answer !== answer) return
    this.#answer = undefined
    // A stream that was accepted and closed at once counts as refused.
    if (this.#options.host.now() - this.#openedAt >= HTTP_LIMITS.steadyMs) this.#failures = 0
    if (error) this.#options.onLoss(error)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#closed) return
    if (this.#failures >= HTTP_LIMITS.resumeAttempts) {
      this.#options.note('The server does not keep its push stream open; its notifications are not received.')
      return
    }
    const grown = HTTP_LIMITS.resumeDelayMs * 2 ** this.#failures
    const delay = Math.max(this.#retryMs ?? 0, this.#retryMs === undefined ? grown : 0)
    this.#failures++
    this.#cancelTimer = this.#options.host.backgroundTimer(
      Math.min(delay, HTTP_LIMITS.resumeMaxDelayMs),
      () => void this.open(),
    )
  }
}
