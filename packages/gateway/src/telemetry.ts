// telemetry.ts: one SERVER span for a client's request. Its parent is the context that the client sent: in `_meta`, or else
// in the headers of HTTP. What goes on to a server names this span, so that one trace leads from the client to the server.
import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { extractTrace, injectTrace, isRecorded, TRACE_FIELDS } from '@plugboard/core/trace'
import { type Json, metaOf } from './json-rpc.ts'

export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Parameters that carry the client's trace context in `_meta`; what `_meta` says already wins over the headers. */
export function withTraceHeaders(params: Json, headers: TraceHeaders): Json {
  const meta = metaOf(params)
  if (typeof headers['traceparent'] !== 'string' || meta['traceparent'] !== undefined) return params
  const carried: Json = {}
  for (const field of TRACE_FIELDS) if (typeof headers[field] === 'string') carried[field] = headers[field]
  return { ...params, _meta: { ...carried, ...meta } }
}

/** Runs the work of one request under a span of its own; without a registered SDK it only runs it. */
export async function traced(
  method: string,
  params: Json,
  work: (params: Json) => Promise<Json>,
): Promise<Json> {
  const parent = extractTrace(metaOf(params))
  const name = typeof params.name === 'string' ? params.name : undefined
  const title = method === 'tools/call' && name !== undefined ? `${method} ${name}` : method
  const span = trace.getTracer('@plugboard/gateway').startSpan(title, { kind: SpanKind.SERVER }, parent)
  if (!isRecorded(span, parent)) return await work(params)
  span.setAttributes({
    'mcp.method.name': method,
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(method === 'tools/call' && name !== undefined && { 'gen_ai.tool.name': name }),
  })
  const here = trace.setSpan(parent, span)
  try {
    const told = { ...params, _meta: { ...metaOf(params), ...injectTrace(here) } }
    const result = await context.with(here, () => work(told))
    if (result.isError === true) failed(span, 'tool_error')
    return result
  } catch (error) {
    failed(span, codeOf(error))
    throw error
  } finally {
    span.end()
  }
}

function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' || typeof code === 'number' ? String(code) : '_OTHER'
}
