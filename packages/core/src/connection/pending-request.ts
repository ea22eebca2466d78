// pending-request.ts: a request on a connection from when it is sent until its outcome is known: what was asked for, and who
// hears of the outcome. json-rpc.ts sends it and ends it.
import type { RequestId } from '../async/open-requests.ts'
import type { Cancellation } from '../async/waits.ts'
import type { Progress } from '../events.ts'
import type { Json } from './server-info.ts'

export interface OutgoingRequest {
  readonly signal?: AbortSignal | undefined
  /** Instead of a signal. */
  readonly cancellation?: Cancellation | undefined
  /** Without activity for this long the request fails; 0 waits for ever. */
  readonly timeoutMs: number
  /** Even with activity: not longer than this. */
  readonly totalMs?: number | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** An id chosen by the caller, when the peer refers back to it. */
  readonly id?: string
  /** Abandoned without telling the peer, which may not know the request at all. */
  readonly quiet?: boolean
  /** No caller awaits it, or one that holds the process itself: its timer does not. */
  readonly background?: boolean
}

/** Where the outcome of a request goes: one of the two, once. */
export interface ResponseSink {
  settle(result: Json): void
  fail(error: unknown): void
  /** With it a progress token is sent. */
  progress?: ((progress: Progress) => void) | undefined
}

/** A request that waits for its response. */
export class Pending {
  readonly id: RequestId
  readonly method: string
  readonly options: OutgoingRequest
  readonly sink: ResponseSink
  readonly stream: AbortController | undefined
  readonly started: number
  readonly #end: (pending: Pending, error: unknown) => void
  onAbort: (() => void) | undefined
  lastSign: number
  graceEnds = 0

  constructor(
    id: RequestId,
    method: string,
    options: OutgoingRequest,
    sink: ResponseSink,
    stream: AbortController | undefined,
    now: number,
    end: (pending: Pending, error: unknown) => void,
  ) {
    this.id = id
    this.method = method
    this.options = options
    this.sink = sink
    this.stream = stream
    this.started = now
    this.lastSign = now
    this.#end = end
  }

  /** The transport could not send it. */
  failed(error: unknown): void {
    this.#end(this, error)
  }
}
