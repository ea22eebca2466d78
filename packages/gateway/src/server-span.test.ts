// One trace leads from the client through the gateway to the server, with the OpenTelemetry SDK as users install it today.
import {
  context,
  ProxyTracerProvider,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
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
import type { Json } from './json-rpc.ts'
import { startServerSpan, withTraceHeaders } from './server-span.ts'

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

it('takes nothing from headers that name no trace, or when the call names its own', () => {
  const params = { name: 'x' }
  expect(withTraceHeaders(params, { tracestate: 'a=b' })).toBe(params)
  expect(withTraceHeaders(params, { traceparent: [PARENT, OTHER] })).toBe(params)
  const own = { _meta: { traceparent: PARENT } }
  expect(withTraceHeaders(own, { traceparent: OTHER, tracestate: 'a=b' })).toEqual(own)
})

it('takes from the headers only the fields of a trace that are one text, and keeps what the call says itself', () => {
  const headers = { traceparent: PARENT, tracestate: ['a=b', 'c=d'], baggage: 'user=eve', authorization: 'x' }
  expect(withTraceHeaders({ name: 'x', _meta: { baggage: 'user=ada' } }, headers)).toEqual({
    name: 'x',
    _meta: { traceparent: PARENT, baggage: 'user=ada' },
  })
})

describe('the span of a request', () => {
  /** The one span of a request that ends as `work` does. */
  async function spanOf(method: string, params: Json, work: () => Promise<Json> = async () => ({})) {
    const exporter = register(true)
    await startServerSpan(method, params)
      ?.run(params, work)
      .catch(() => undefined)
    const spans = exporter.getFinishedSpans()
    expect(spans).toHaveLength(1)
    return spans[0] as ReadableSpan
  }

  it.each([
    [
      'tools/call',
      { name: 'say' },
      'tools/call say',
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'say' },
    ],
    ['tools/call', {}, 'tools/call', { 'gen_ai.operation.name': 'execute_tool' }],
    ['tools/call', { name: 5 }, 'tools/call', { 'gen_ai.operation.name': 'execute_tool' }],
    ['tools/list', {}, 'tools/list', {}],
    ['prompts/get', { name: 'hi' }, 'prompts/get', {}],
  ])('%s of %j is named %s and says of a tool: %j', async (method, params, name, ofTool) => {
    const span = await spanOf(method, params)
    expect([span.name, span.kind]).toEqual([name, SpanKind.SERVER])
    expect(span.attributes).toEqual({ 'mcp.method.name': method, ...ofTool })
  })

  const failing = (error: unknown) => () => Promise.reject(error)
  it.each([
    ['a result', async () => ({ content: [] }), undefined],
    ['a result that says it is no error', async () => ({ isError: false }), undefined],
    ['an error of the tool', async () => ({ isError: true }), 'tool_error'],
    ['an error with a number', failing(Object.assign(new Error('no'), { code: -32602 })), '-32602'],
    ['an error with a word', failing(Object.assign(new Error('no'), { code: 'ETIMEDOUT' })), 'ETIMEDOUT'],
    ['an error with another code', failing(Object.assign(new Error('no'), { code: {} })), '_OTHER'],
    ['an error without a code', failing(new Error('no')), '_OTHER'],
    ['what is no error', failing({ code: 5 }), '_OTHER'],
  ])('that ends with %s', async (_, work, type) => {
    const span = await spanOf('tools/call', { name: 'say' }, work)
    expect(span.attributes['error.type']).toBe(type)
    expect(span.status.code).toBe(type === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR)
  })

  it('passes the result and the error on', async () => {
    register(true)
    const run = (work: () => Promise<Json>) => startServerSpan('tools/call', {})?.run({}, work)
    const [result, error] = [{ content: [] }, new Error('no')]
    expect(await run(async () => result)).toBe(result)
    await expect(run(failing(error))).rejects.toBe(error)
  })

  it('is not there when no SDK records it', () => {
    expect(startServerSpan('tools/call', { name: 'say' })).toBeUndefined()
    // An SDK that was switched off registers a provider whose spans are empty.
    trace.setGlobalTracerProvider(new ProxyTracerProvider())
    expect(startServerSpan('tools/call', { name: 'say' })).toBeUndefined()
  })
})
