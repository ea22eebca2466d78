// server-span.ts: one SERVER span for a client's request. Its parent is the context that the client sent: in `_meta`, or else
// in the headers of HTTP. What goes on to a server names this span, so that one trace leads from the client to the server.
import {
  type Context,
  context,
  ProxyTracerProvider,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { extractTrace, injectTrace, isRecorded, TRACE_FIELDS } from '@plugboard/core/trace'
import { type Json, metaOf } from './json-rpc.ts'

const SCOPE = '@plugboard/gateway'

export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Parameters that carry the client's trace context in `_meta`; what `_meta` says already wins over the headers. */
export function withTraceHeaders(params: Json, headers: TraceHeaders): Json {
  if (typeof headers['traceparent'] !== 'string') return params
  const meta = metaOf(params)
  if (meta['traceparent'] !== undefined) return params
  const carried: Json = {}
  for (const field of TRACE_FIELDS) if (typeof headers[field] === 'string') carried[field] = headers[field]
  return { ...params, _meta: { ...carried, ...meta } }
}

/** The span of one request; undefined when no registered SDK records it. */
export function startServerSpan(method: string, params: Json): ServerSpan | undefined {
  const provider = trace.getTracerProvider()
  if (provider instanceof ProxyTracerProvider && !provider.getDelegateTracer(SCOPE)) return undefined
  const parent = extractTrace(metaOf(params))
  const name = typeof params.name === 'string' ? params.name : undefined
  const title = method === 'tools/call' && name !== undefined ? `${method} ${name}` : method
  const span = trace.getTracer(SCOPE).startSpan(title, { kind: SpanKind.SERVER }, parent)
  if (!isRecorded(span, parent)) return undefined
  span.setAttributes({
    'mcp.method.name': method,
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(method === 'tools/call' && name !== undefined && { 'gen_ai.tool.name': name }),
  })
  return new ServerSpan(span, trace.setSpan(parent, span))
}

export class ServerSpan {
  readonly #span: Span
  readonly #context: Context

  constructor(span: Span, here: Context) {
    this.#span = span
    this.#context = here
  }

  /** Runs the work of the request under the span, with parameters that name it. */
  async run(params: Json, work: (params: Json) => Promise<Json>): Promise<Json> {
    try {
      const traced = { ...params, _meta: { ...metaOf(params), ...injectTrace(this.#context) } }
      const result = await context.with(this.#context, () => work(traced))
      if (result.isError === true) this.#failed('tool_error')
      return result
    } catch (error) {
      this.#failed(codeOf(error))
      throw error
    } finally {
      this.#span.end()
    }
  }

  #failed(type: string): void {
    this.#span.setAttribute('error.type', type)
    this.#span.setStatus({ code: SpanStatusCode.ERROR })
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' || typeof code === 'number' ? String(code) : '_OTHER'
}
