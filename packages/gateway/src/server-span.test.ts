// One trace leads from the client through the gateway to the server, with the OpenTelemetry SDK as users install it today.
import { context, propagation, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, it } from 'vitest'
import { bare, connect, firstText, makeGateway, serve } from './fixtures/kit.ts'
import { withTraceHeaders } from './server-span.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`
const OTHER = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`

function register(whole: boolean): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  expect(trace.setGlobalTracerProvider(provider)).toBe(true)
  if (whole) {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  }
  return exporter
}

afterEach(() => {
  trace.disable()
  propagation.disable()
  context.disable()
})

/** What the server got, and the spans of one call of 2025-11-25 and of 2026-07-28. */
async function call(
  era: 'legacy' | 'modern',
  meta: Record<string, unknown>,
  headers: Record<string, string> = {},
) {
  const gateway = await makeGateway([bare('one')])
  await gateway.wake(15_000)
  const { url } = await serve(gateway)
  const client = await connect(url, { era, headers })
  const name = 'mcp__one__given'
  const result = await client.callTool({ name, arguments: {}, _meta: meta })
  const sent = JSON.parse(firstText(result)) as { _meta: Record<string, string> }
  return sent._meta
}

const named = (spans: readonly ReadableSpan[], kind: SpanKind) =>
  spans.find((span) => span.kind === kind && span.name.startsWith('tools/call'))

describe.each(['legacy', 'modern'] as const)('a call of a %s client', (era) => {
  it.each([true, false])('is one trace (propagator and context manager: %s)', async (whole) => {
    const exporter = register(whole)
    const meta = await call(era, { traceparent: PARENT })
    const spans = exporter.getFinishedSpans()
    const server = named(spans, SpanKind.SERVER)
    const client = named(spans, SpanKind.CLIENT)
    expect(server).toMatchObject({
      name: 'tools/call mcp__one__given',
      parentSpanContext: { traceId: TRACE, spanId: 'b7ad6b7169203331' },
      attributes: { 'mcp.method.name': 'tools/call' },
    })
    expect(client?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId)
    expect(client?.spanContext().traceId).toBe(TRACE)
    expect(meta['traceparent']).toBe(`00-${TRACE}-${client?.spanContext().spanId}-01`)
  })

  it('takes the context of the headers, unless the call itself names one', async () => {
    const exporter = register(true)
    await call(era, {}, { traceparent: PARENT })
    expect(named(exporter.getFinishedSpans(), SpanKind.SERVER)?.spanContext().traceId).toBe(TRACE)
    exporter.reset()
    await call(era, { traceparent: PARENT }, { traceparent: OTHER })
    expect(named(exporter.getFinishedSpans(), SpanKind.SERVER)?.spanContext().traceId).toBe(TRACE)
  })

  it('passes the context on unchanged when tracing is off', async () => {
    expect(await call(era, { traceparent: PARENT, tracestate: 'a=b' })).toMatchObject({
      traceparent: PARENT,
      tracestate: 'a=b',
    })
    expect(await call(era, {}, { traceparent: PARENT, baggage: 'user=ada' })).toMatchObject({
      traceparent: PARENT,
      baggage: 'user=ada',
    })
    expect(await call(era, {})).not.toHaveProperty('traceparent')
  })
})

it('takes nothing from headers that name no trace', () => {
  const params = { name: 'x' }
  expect(withTraceHeaders(params, { tracestate: 'a=b' })).toBe(params)
  expect(withTraceHeaders({ _meta: { traceparent: PARENT } }, { traceparent: OTHER })).toEqual({
    _meta: { traceparent: PARENT },
  })
})
