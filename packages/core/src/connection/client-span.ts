// client-span.ts: one OpenTelemetry span per request, by the conventions for MCP, and the trace context passed on to
// the server. It uses the API alone: without a registered SDK nothing is recorded and nothing is added to a request.
import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  metrics,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { PlugboardError } from '../errors.ts'
import { JsonRpcError } from './request-errors.ts'
import { isObject, type Json } from './server-info.ts'

const SCOPE = '@plugboard/core'

export interface TraceFacts {
  readonly server: string
  readonly method: string
  readonly name: string | undefined
  readonly protocolVersion: string | undefined
  readonly transport: 'pipe' | 'tcp' | undefined
}

export class RequestTrace {
  /** What to send: the caller's parameters, with the trace context when there is one. */
  readonly params: Json | undefined
  readonly #span: Span
  readonly #attributes: Attributes | undefined
  readonly #started = performance.now()

  private constructor(span: Span, params: Json | undefined, attributes: Attributes | undefined) {
    this.#span = span
    this.params = params
    this.#attributes = attributes
  }

  /** False while no program has registered a tracer: then a trace would record and add nothing. */
  static isActive(): boolean {
    const provider = trace.getTracerProvider()
    return !(provider instanceof ProxyTracerProvider && provider.getDelegate() === NO_TRACER)
  }

  static start(facts: TraceFacts, params: Json | undefined): RequestTrace {
    const title = facts.method === 'tools/call' && facts.name ? `${facts.method} ${facts.name}` : facts.method
    const meta = params && isObject(params._meta) ? params._meta : {}
    // A trace context in the caller's parameters wins over the active one.
    const parent = extractTrace(meta)
    const span = trace.getTracer(SCOPE).startSpan(title, { kind: SpanKind.CLIENT }, parent)
    if (!isRecorded(span, parent)) return new RequestTrace(span, params, undefined)
    const attributes = attributesOf(facts)
    span.setAttributes(attributes)
    const carrier = injectTrace(trace.setSpan(parent, span))
    return new RequestTrace(span, { ...params, _meta: { ...meta, ...carrier } }, attributes)
  }

  ended(outcome: { readonly toolError?: boolean; readonly error?: PlugboardError }): void {
    if (!this.#attributes) return
    const { toolError, error } = outcome
    const type = error ? error.code : toolError ? 'tool_error' : undefined
    const fault = error?.cause
    const more: Attributes = {
      ...(type && { 'error.type': type }),
      ...(fault instanceof JsonRpcError && { 'rpc.response.status_code': String(fault.code) }),
    }
    this.#span.setAttributes(more)
    if (type) this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(error && { message: error.code }) })
    this.#span.end()
    durations().record((performance.now() - this.#started) / 1000, { ...this.#attributes, ...more })
  }
}

const NO_TRACER = new ProxyTracerProvider().getDelegate()

/** The keys of a trace context, in `_meta` and as headers. */
export const TRACE_FIELDS = ['traceparent', 'tracestate', 'baggage'] as const

/** The context in a carrier, on top of the active one; the active one when it has none. */
export function extractTrace(carrier: Readonly<Record<string, unknown>>): Context {
  const texts: Record<string, string> = {}
  for (const field of TRACE_FIELDS) {
    const value = carrier[field]
    if (typeof value === 'string') texts[field] = value
  }
  const active = context.active()
  if (texts['traceparent'] === undefined) return active
  const extracted = propagation.extract(active, texts)
  const found = trace.getSpanContext(extracted)
  if (found && found !== trace.getSpanContext(active)) return extracted
  // A program may register a tracer and no propagator; W3C is then the format.
  const [, traceId, spanId, flags] = TRACEPARENT.exec(texts['traceparent']) ?? []
  if (!traceId || !spanId || !flags) return extracted
  const named = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return trace.isSpanContextValid(named) ? trace.setSpanContext(extracted, named) : extracted
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** A context as it is written in parameters. */
export function injectTrace(of: Context): Record<string, string> {
  const carrier: Record<string, string> = {}
  propagation.inject(of, carrier)
  const span = trace.getSpanContext(of)
  if (span && Object.keys(carrier).length === 0)
    carrier['traceparent'] =
      `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`
  return carrier
}

/** Without an SDK a span is only its parent's context, or nothing at all. */
export function isRecorded(span: Span, parent: Context): boolean {
  const own = span.spanContext()
  return trace.isSpanContextValid(own) && own.spanId !== trace.getSpanContext(parent)?.spanId
}

function durations(): Histogram {
  return metrics.getMeter(SCOPE).createHistogram('mcp.client.operation.duration', { unit: 's' })
}

function attributesOf(facts: TraceFacts): Attributes {
  const { method, name } = facts
  return {
    'mcp.method.name': method,
    'plugboard.server': facts.server,
    ...(facts.protocolVersion && { 'mcp.protocol.version': facts.protocolVersion }),
    ...(facts.transport && { 'network.transport': facts.transport }),
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(method === 'tools/call' && name && { 'gen_ai.tool.name': name }),
    ...(method === 'prompts/get' && name && { 'gen_ai.prompt.name': name }),
    ...(method.startsWith('resources/') && name && { 'mcp.resource.uri': name }),
  }
}
