// http-response.ts: one message over HTTP, from sending until its response or failure. It reads responses; streamable-http.ts sends,
// retries and resumes.
import type { JSONRPCMessage, TransportSendOptions } from '@modelcontextprotocol/client'
import type { Linked } from '../async/linked-set.ts'
import { AnswerTooLarge, IoError, PlugboardError } from '../errors.ts'
import type { Host } from '../host.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { EventStream } from './event-stream.ts'
import { BodyTooLarge, type HttpResponse, RequestAbort } from './http-dispatch.ts'
import { answeredId, messagesIn, requestId } from './json-rpc-messages.ts'
import { isSendableId, modernVersion } from './mcp-headers.ts'
import { UnreadableAnswer } from './transport-errors.ts'

export interface CallSink {
  readonly server: string
  deliver(message: JSONRPCMessage): void
  note(text: string): void
}

export class HttpCall extends RequestAbort implements Linked<HttpCall> {
  before: HttpCall | undefined
  after: HttpCall | undefined
  isLinked = false
  /** The id to respond to; a notification or a response of ours has none. */
  readonly id: string | number | undefined
  readonly method: string | undefined
  readonly options: TransportSendOptions | undefined
  /** In the modern era the request is its stream: when that ends, nothing can be resumed. */
  readonly isModern: boolean
  readonly replayed: boolean
  answered = false
  lastEventId: string | undefined
  retryMs: number | undefined

  constructor(message: JSONRPCMessage, options: TransportSendOptions | undefined) {
    super()
    this.id = requestId(message)
    this.method = 'method' in message ? message.method : undefined
    this.options = options
    this.isModern = modernVersion(message) !== undefined
    this.lastEventId = options?.resumptionToken
    this.replayed = options?.resumptionToken !== undefined
  }

  /** A call that has its response is over. */
  override abort(reason: Error): void {
    if (!this.answered) super.abort(reason)
  }

  /** One JSON document, whole. */
  async readJson(answer: HttpResponse, sink: CallSink): Promise<void> {
    const text = await answer.text(HTTP_LIMITS.messageBytes).catch((cause: unknown) => {
      throw this.aborted ?? this.#cut(sink, cause)
    })
    // A parser's message would quote the body; ours does not.
    const messages = messagesIn(tryJson(text))
    if (messages === undefined)
      throw new UnreadableAnswer(
        sink.server,
        text.trim() === '' ? 'an empty body' : 'a body that is not JSON-RPC',
      )
    for (const message of messages) this.#deliver(message, sink)
    if (!this.answered) throw this.#cut(sink)
  }

  /**
   * A failed status whose body is the JSON-RPC error response to this very request is its response. Only the modern
   * era says so; of a legacy server it is an HTTP error.
   */
  isRefusedWith(message: JSONRPCMessage): boolean {
    return this.isModern && 'error' in message && message.id === this.id
  }

  /** Reads events until the call has its response or the stream ends; rejects when the stream is cut. */
  readEvents(
    answer: HttpResponse,
    sink: CallSink,
    /** Cleanup after the response: no caller awaits it. */
    backgroundTimer: Host['backgroundTimer'],
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancelGrace = () => {}
      const events = new EventStream({
        maxBytes: HTTP_LIMITS.messageBytes,
        onRetry: (ms) => {
          this.retryMs = ms
        },
        onOverflow: () => answer.abort(new BodyTooLarge(HTTP_LIMITS.messageBytes)),
        onEvent: (event) => {
          if (event.id && isSendableId(event.id)) {
            this.lastEventId = event.id
            this.options?.onresumptiontoken?.(event.id)
          }
          if (event.data === '' || (event.event !== undefined && event.event !== 'message')) return
          const messages = messagesIn(tryJson(event.data))
          if (messages === undefined) return sink.note('An event was not a JSON-RPC message.')
          const before = this.answered
          for (const message of messages) this.#deliver(message, sink)
          if (before || !this.answered) return
          resolve()
          // The stream should end now. One that stays open would hold a connection for every call.
          cancelGrace = backgroundTimer(HTTP_LIMITS.goodbyeMs, () =>
            answer.abort(new IoError('The call is answered.')),
          )
        },
      })
      answer.read({
        data: (chunk) => events.push(chunk),
        end: () => {
          cancelGrace()
          resolve()
        },
        fail: (error) => {
          cancelGrace()
          reject(this.aborted ?? (error instanceof BodyTooLarge ? this.#cut(sink, error) : error))
        },
      })
    })
  }

  /** The stream has ended and the call has no response. */
  lost(sink: CallSink, cause?: unknown): Error {
    return this.aborted ?? (cause instanceof PlugboardError ? cause : this.#cut(sink, cause))
  }

  #deliver(message: JSONRPCMessage, sink: CallSink): void {
    const answers = answeredId(message)
    if (answers === undefined) {
      sink.deliver(message)
      return
    }
    // A resumed request may come back under the id that it had before the program was restarted.
    const own = this.replayed && this.id !== undefined ? { ...message, id: this.id } : message
    if (this.replayed || answers === this.id) this.answered = true
    sink.deliver(own)
  }

  #cut(sink: CallSink, cause?: unknown): PlugboardError {
    if (cause instanceof BodyTooLarge) return new AnswerTooLarge(sink.server, HTTP_LIMITS.messageBytes)
    return new IoError(`"${sink.server}" ended its answer before the result came.`, {
      server: sink.server,
      stage: 'call',
      hint: 'Whether the call took effect is not known.',
      // A stream that simply ends leaves no error behind; the code gives it a meaning.
      cause:
        cause ?? Object.assign(new Error('premature end of stream'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }),
    })
  }
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller tells messages from other JSON.
    return undefined
  }
}
