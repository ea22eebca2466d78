// otlp-tracer.ts: the tracer behind @opentelemetry/api for a program without an SDK: spans that remember what they are told, and which of
// them are sampled. otlp-export.ts sends them.
import { randomBytes } from 'node:crypto'
import {
  type Attributes,
  type AttributeValue,
  type Context,
  context,
  type Exception,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

/** What one span may carry: texts come from clients and servers. */
const MOST_ATTRIBUTES = 64
const MOST_TEXT = 1024

/** A span that has ended. */
export interface EndedSpan {
  readonly scope: string
  readonly name: string
  readonly kind: SpanKind
  readonly context: SpanContext
  readonly parent: SpanContext | undefined
  readonly attributes: ReadonlyMap<string, AttributeValue>
  readonly status: SpanStatus
  readonly startMs: number
  readonly endMs: number
}

/** Whether a new trace, or a span of a trace that came from elsewhere, is recorded. */
export type Sampler = (traceId: string, parent: SpanContext | undefined) => boolean

export class OtlpTracerProvider implements TracerProvider {
  readonly #sampler: Sampler
  readonly #ended: (span: EndedSpan) => void

  constructor(sampler: Sampler, ended: (span: EndedSpan) => void) {
    this.#sampler = sampler
    this.#ended = ended
  }

  getTracer(scope: string): Tracer {
    const startSpan = (name: string, options: SpanOptions = {}, under: Context = context.active()) =>
      this.#start(scope, name, options, under)
    return {
      startSpan,
      startActiveSpan: (name: string, ...rest: unknown[]) => {
        // The last argument is the work; before it come the options and the context, where they are given.
        const work = rest.pop() as (span: Span) => never
        const under = (rest[1] as Context | undefined) ?? context.active()
        const span = startSpan(name, rest[0] as SpanOptions | undefined, under)
        return context.with(trace.setSpan(under, span), () => work(span))
      },
    }
  }

  #start(scope: string, name: string, options: SpanOptions, under: Context): Span {
    const above = options.root ? undefined : trace.getSpanContext(under)
    const parent = above && trace.isSpanContextValid(above) ? above : undefined
    const traceId = parent?.traceId ?? randomBytes(16).toString('hex')
    const isSampled = this.#sampler(traceId, parent)
    const own: SpanContext = {
      traceId,
      spanId: randomBytes(8).toString('hex'),
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      ...(parent?.traceState && { traceState: parent.traceState }),
    }
    if (!isSampled) return trace.wrapSpanContext(own)
    return new RecordedSpan({ scope, name, options, context: own, parent }, this.#ended)
  }
}

interface Start {
  readonly scope: string
  readonly name: string
  readonly options: SpanOptions
  readonly context: SpanContext
  readonly parent: SpanContext | undefined
}

class RecordedSpan implements Span {
  readonly #start: Start
  readonly #done: (span: EndedSpan) => void
  readonly #attributes = new Map<string, AttributeValue>()
  readonly #startMs = performance.timeOrigin + performance.now()
  #name: string
  #status: SpanStatus = { code: SpanStatusCode.UNSET }
  #isOver = false

  constructor(start: Start, done: (span: EndedSpan) => void) {
    this.#start = start
    this.#name = start.name
    this.#done = done
    this.setAttributes(start.options.attributes ?? {})
  }

  spanContext(): SpanContext {
    return this.#start.context
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (this.#attributes.size < MOST_ATTRIBUTES)
      this.#attributes.set(key, typeof value === 'string' ? value.slice(0, MOST_TEXT) : value)
    return this
  }

  setAttributes(attributes: Attributes): this {
    for (const [key, value] of Object.entries(attributes))
      if (value !== undefined) this.setAttribute(key, value)
    return this
  }

  setStatus(status: SpanStatus): this {
    this.#status = status
    return this
  }

  updateName(name: string): this {
    this.#name = name
    return this
  }

  isRecording(): boolean {
    return !this.#isOver
  }

  /** Events and links are not sent. */
  addEvent(): this {
    return this
  }

  addLink(): this {
    return this
  }

  addLinks(): this {
    return this
  }

  recordException(exception: Exception): void {
    const type = typeof exception === 'string' ? undefined : (exception.code ?? exception.name)
    if (type !== undefined) this.setAttribute('error.type', String(type))
  }

  end(_at?: TimeInput): void {
    if (this.#isOver) return
    this.#isOver = true
    const { scope, options, context: own, parent } = this.#start
    this.#done({
      scope,
      name: this.#name.slice(0, MOST_TEXT),
      kind: options.kind ?? SpanKind.INTERNAL,
      context: own,
      parent,
      attributes: this.#attributes,
      status: this.#status,
      startMs: this.#startMs,
      endMs: performance.timeOrigin + performance.now(),
    })
  }
}
