// event-stream.ts: parses server-sent events from bytes, within a size limit. It knows the stream format, not the
// events' meaning.
import { LineSplitter } from '../text/line-splitter.ts'
import type { Excerpt } from './oversized-response.ts'

export interface StreamEvent {
  readonly event?: string
  readonly id?: string
  readonly data: string
}

export interface EventStreamOptions {
  readonly maxBytes: number
  readonly onEvent: (event: StreamEvent) => void
  /** The server's `retry` value: how long to wait before reconnecting. */
  readonly onRetry: (ms: number) => void
  /** An event exceeded `maxBytes`; none of it will be delivered. */
  readonly onOverflow?: () => void
  /** Such an event has ended; the beginning and the end of its data tell which request it belonged to. */
  readonly onSkipped?: (excerpt: Excerpt) => void
}

const EXCERPT_CHARS = 1024

export class EventStream {
  readonly #options: EventStreamOptions
  readonly #lines: LineSplitter
  #data: string[] = []
  #size = 0
  #skipped: Excerpt | undefined
  #id: string | undefined
  #event: string | undefined
  #fresh = true

  constructor(options: EventStreamOptions) {
    this.#options = options
    this.#lines = new LineSplitter({
      maxBytes: options.maxBytes,
      atReturns: true,
      onLine: (line) => this.#line(line),
      onOverflow: () => options.onOverflow?.(),
      onSkipped: (start, end) => {
        const data = /^data: ?/.exec(start)
        if (data) this.#skip({ start: start.slice(data[0].length), end })
      },
    })
  }

  /** An incomplete event at the end of the stream is dropped: there is no end() to call. */
  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  #line(raw: string): void {
    const line = this.#fresh && raw.startsWith('\uFEFF') ? raw.slice(1) : raw
    this.#fresh = false
    if (line === '') {
      this.#dispatch()
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const start = colon === -1 ? line.length : line[colon + 1] === ' ' ? colon + 2 : colon + 1
    this.#field(field, line.slice(start))
  }

  #field(field: string, value: string): void {
    if (field === 'data') this.#more(value)
    else if (field === 'id') {
      if (!value.includes('\0')) this.#id = value
    } else if (field === 'event') this.#event = value
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.#options.onRetry(Number(value))
  }

  #more(value: string): void {
    // The line end counts: a server could otherwise send empty lines without end.
    this.#size += value.length + 1
    const excerpt = { start: value.slice(0, EXCERPT_CHARS), end: value.slice(-EXCERPT_CHARS) }
    if (this.#skipped) this.#skip(excerpt)
    else if (this.#size <= this.#options.maxBytes) this.#data.push(value)
    else {
      this.#skip(excerpt)
      this.#options.onOverflow?.()
    }
  }

  /** Keeps only the beginning and the end of an event that is too long. */
  #skip({ start, end }: Excerpt): void {
    const before = this.#skipped?.start ?? this.#data[0]?.slice(0, EXCERPT_CHARS)
    this.#skipped = { start: before ?? start, end }
    this.#data = []
  }

  #dispatch(): void {
    const data = this.#data.length === 1 ? (this.#data[0] ?? '') : this.#data.join('\n')
    const id = this.#id
    const event = this.#event
    const skipped = this.#skipped
    this.#clear()
    if (skipped) this.#options.onSkipped?.(skipped)
    else if (data !== '' || id !== undefined)
      this.#options.onEvent({ data, ...(id !== undefined && { id }), ...(event !== undefined && { event }) })
  }

  #clear(): void {
    this.#data = []
    this.#size = 0
    this.#skipped = undefined
    this.#id = undefined
    this.#event = undefined
  }
}
