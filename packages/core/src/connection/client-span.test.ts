import { type Context, propagation, type Span, type SpanOptions, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, it } from 'vitest'
import { board, fixture } from './fixtures/kit.ts'

interface Recorded {
  name: string
  kind: number | undefined
  attributes: Record<string, unknown>
  failed: boolean
  ended: boolean
}

/** A minimal tracer: the library must not need more than the API. */
function register(): Recorded[] {
  const spans: Recorded[] = []
  const startSpan = (name: string, options?: SpanOptions) => {
    const span: Recorded = { name, kind: options?.kind, attributes: {}, failed: false, ended: false }
    spans.push(span)
    return {
      spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }),
      setAttributes: (more: object) => Object.assign(span.attributes, more),
      setStatus: () => {
        span.failed = true
      },
      end: () => {
        span.ended = true
      },
      isRecording: () => true,
    } as unknown as Span
  }
  trace.setGlobalTracerProvider({
    getTracer: () => ({ startSpan, startActiveSpan: () => undefined as never }),
  })
  propagation.setGlobalPropagator({
    inject: (_context: Context, carrier, setter) => setter.set(carrier, 'traceparent', '00-aa-bb-01'),
    extract: (context) => context,
    fields: () => ['traceparent'],
  })
  return spans
}

afterEach(() => {
  trace.disable()
  propagation.disable()
})

describe('traces', () => {
  it('have one client span per request, and hand the context on to the server', async () => {
    const spans = register()
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    await made.link.request('raw', 'tools/call', { name: 'echo', arguments: {} })
    await made.link.request('raw', 'nonsense').catch(() => undefined)
    expect(spans).toMatchObject([
      {
        name: 'tools/call echo',
        kind: 2,
        ended: true,
        failed: false,
        attributes: {
          'mcp.method.name': 'tools/call',
          'gen_ai.tool.name': 'echo',
          'gen_ai.operation.name': 'execute_tool',
          'network.transport': 'pipe',
          'mcp.protocol.version': '2025-11-25',
        },
      },
      {
        name: 'nonsense',
        ended: true,
        failed: true,
        attributes: { 'error.type': 'TOOL_ERROR', 'rpc.response.status_code': '-32601' },
      },
    ])
    const call = raw.seen().find(({ method }) => method === 'tools/call')
    expect(call?.params?._meta).toMatchObject({ traceparent: '00-aa-bb-01' })
  })

  it('go on with the context that the caller names, with the SDK as users install it today', async () => {
    const exporter = new InMemorySpanExporter()
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    )
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const _meta = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, own: 'kept' }
    await made.link.request('raw', 'tools/call', { name: 'echo', arguments: {}, _meta })
    const span = exporter.getFinishedSpans().find(({ name }) => name === 'tools/call echo')
    expect(span?.parentSpanContext).toMatchObject({ traceId, spanId: 'b7ad6b7169203331' })
    const call = raw.seen().find(({ method }) => method === 'tools/call')
    expect(call?.params?._meta).toMatchObject({
      own: 'kept',
      traceparent: `00-${traceId}-${span?.spanContext().spanId}-01`,
    })
  })

  it('start anew where the caller names nothing that is a context', async () => {
    const exporter = new InMemorySpanExporter()
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    )
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    for (const traceparent of ['nonsense', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, 7]) {
      exporter.reset()
      await made.link.request('raw', 'tools/call', { name: 'echo', arguments: {}, _meta: { traceparent } })
      const [span] = exporter.getFinishedSpans()
      expect(span?.parentSpanContext).toBeUndefined()
    }
  })

  it('add nothing to a request without a tracer', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.link.request('raw', 'prompts/get', { name: 'greet' }).catch(() => undefined)
    expect(raw.seen().find(({ method }) => method === 'prompts/get')?.params).toEqual({ name: 'greet' })
  })
})
