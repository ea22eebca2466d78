import {
  type Context,
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PlugboardError } from '../errors.ts'
import { extractTrace, injectTrace, isRecorded, RequestTrace, type TraceFacts } from './client-span.ts'
import { JsonRpcError } from './request-errors.ts'

const TRACE = 'a'.repeat(32)
const OTHER = '0af7651916cd43dd8448eb211c80319c'
const own: SpanContext = { traceId: TRACE, spanId: 'b'.repeat(16), traceFlags: 1 }

/** What tracers and meters were told. */
interface Told {
  readonly started: string[]
  readonly calls: [string, unknown?][]
  readonly durations: [number, unknown][]
}
let told: Told
let isValid = true

beforeEach(() => {
  told = { started: [], calls: [], durations: [] }
  isValid = true
  const span = {
    spanContext: () => (isValid ? own : { traceId: '', spanId: '', traceFlags: 0 }),
    setAttributes: (more: unknown) => told.calls.push(['attributes', more]),
    setStatus: (status: unknown) => told.calls.push(['status', status]),
    end: () => told.calls.push(['end']),
    // Only what the library uses.
  } as unknown as Span
  const startSpan = (name: string) => {
    told.started.push(name)
    return span
  }
  trace.setGlobalTracerProvider({
    getTracer: () => ({ startSpan, startActiveSpan: () => undefined as never }),
  })
  const record = (seconds: number, attributes: unknown) => told.durations.push([seconds, attributes])
  // Only what the library uses.
  const meter = { createHistogram: () => ({ record }) } as unknown as ReturnType<typeof metrics.getMeter>
  metrics.setGlobalMeterProvider({ getMeter: () => meter })
})
afterEach(() => {
  trace.disable()
  metrics.disable()
  propagation.disable()
  context.disable()
})

const facts = (method: string, name?: string, more: Partial<TraceFacts> = {}): TraceFacts => ({
  server: 's',
  method,
  name,
  protocolVersion: undefined,
  transport: undefined,
  ...more,
})

describe('a span', () => {
  it.each([
    [
      facts('tools/call', 'add', { protocolVersion: '2025-11-25', transport: 'pipe' }),
      'tools/call add',
      {
        'mcp.protocol.version': '2025-11-25',
        'network.transport': 'pipe',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'add',
      },
    ],
    [facts('tools/call'), 'tools/call', { 'gen_ai.operation.name': 'execute_tool' }],
    [facts('prompts/get', 'greet'), 'prompts/get', { 'gen_ai.prompt.name': 'greet' }],
    [facts('prompts/get'), 'prompts/get', {}],
    [facts('resources/read', 'file:///a'), 'resources/read', { 'mcp.resource.uri': 'file:///a' }],
    [facts('resources/list'), 'resources/list', {}],
    [facts('ping', 'odd'), 'ping', {}],
  ])('says what %j is', (asked, title, attributes) => {
    RequestTrace.start(asked, undefined)
    expect(told.started).toEqual([title])
    const all = { 'mcp.method.name': asked.method, 'plugboard.server': 's', ...attributes }
    expect(told.calls).toEqual([['attributes', all]])
  })

  it.each([
    ['success', {}, undefined, undefined],
    ['an error of the tool', { toolError: true }, { 'error.type': 'tool_error' }, { code: 2 }],
    [
      'an error of the server',
      {
        error: new PlugboardError('TOOL_ERROR', 'x', { stage: 'call', cause: new JsonRpcError(-32601, 'x') }),
      },
      { 'error.type': 'TOOL_ERROR', 'rpc.response.status_code': '-32601' },
      { code: 2, message: 'TOOL_ERROR' },
    ],
    [
      'another error',
      { error: new PlugboardError('TIMEOUT', 'x', { stage: 'call' }), toolError: true },
      { 'error.type': 'TIMEOUT' },
      { code: 2, message: 'TIMEOUT' },
    ],
  ])('ends with %s, and its duration is measured', (_, outcome, more, status) => {
    const one = RequestTrace.start(facts('ping'), undefined)
    told.calls.length = 0
    one.ended(outcome)
    expect(told.calls).toEqual([['attributes', more ?? {}], ...(status ? [['status', status]] : []), ['end']])
    const attributes = { 'mcp.method.name': 'ping', 'plugboard.server': 's', ...more }
    expect(told.durations).toEqual([[expect.any(Number), attributes]])
    const [[seconds = -1] = []] = told.durations
    expect(seconds).toBeGreaterThanOrEqual(0)
    expect(seconds).toBeLessThan(3600)
  })

  it('that no tracer records changes and measures nothing', () => {
    isValid = false
    const params = { name: 'add' }
    const one = RequestTrace.start(facts('tools/call', 'add'), params)
    one.ended({})
    expect(one.params).toBe(params)
    expect([told.calls, told.durations]).toEqual([[], []])
  })

  it('is recorded when it is not only the context of its parent', () => {
    // Only what the library uses.
    const span = { spanContext: () => own } as unknown as Span
    const parent = (of: SpanContext) => trace.setSpanContext(ROOT_CONTEXT, of)
    expect(isRecorded(span, ROOT_CONTEXT)).toBe(true)
    expect(isRecorded(span, parent({ ...own, spanId: 'c'.repeat(16) }))).toBe(true)
    expect(isRecorded(span, parent(own))).toBe(false)
    isValid = false
    expect(isRecorded(trace.wrapSpanContext({ ...own, traceId: '' }), ROOT_CONTEXT)).toBe(false)
  })

  it('is only made where a tracer is registered', () => {
    expect(RequestTrace.isActive()).toBe(true)
    trace.disable()
    expect(RequestTrace.isActive()).toBe(false)
  })
})

describe('a trace context', () => {
  const traceparent = `00-${OTHER}-b7ad6b7169203331-01`
  const named = { traceId: OTHER, spanId: 'b7ad6b7169203331', traceFlags: 1, isRemote: true }
  const activate = (active: Context) =>
    context.setGlobalContextManager({
      active: () => active,
      with: (_, run, self, ...args) => run.call(self, ...args),
      bind: (_, target) => target,
      enable: () => context as never,
      disable: () => context as never,
    })

  it.each([
    ['a context', { traceparent }, named],
    [
      'a context of a later version',
      { traceparent: `cc-${OTHER}-b7ad6b7169203331-00-more` },
      { ...named, traceFlags: 0 },
    ],
    ['nothing', {}, own],
    ['a tracestate alone', { tracestate: 'a=b' }, own],
    ['nonsense', { traceparent: 'nonsense' }, own],
    ['zeros', { traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01` }, own],
    ['a number', { traceparent: 7 }, own],
  ])('is read from parameters with %s, without a propagator', (_, carrier, expected) => {
    activate(trace.setSpanContext(ROOT_CONTEXT, own))
    expect(trace.getSpanContext(extractTrace(carrier))).toEqual(expected)
  })

  it('is read by the propagator where there is one, with its state', () => {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    const found = trace.getSpanContext(extractTrace({ traceparent, tracestate: 'vendor=1' }))
    expect(found).toMatchObject(named)
    expect(found?.traceState?.serialize()).toBe('vendor=1')
  })

  it('is written as W3C says, and by the propagator where there is one', () => {
    const of = trace.setSpanContext(ROOT_CONTEXT, own)
    expect(injectTrace(of)).toEqual({ traceparent: `00-${TRACE}-${own.spanId}-01` })
    expect(injectTrace(ROOT_CONTEXT)).toEqual({})
    propagation.setGlobalPropagator({
      inject: (_, carrier, setter) => setter.set(carrier, 'b3', '1'),
      extract: (active) => active,
      fields: () => ['b3'],
    })
    expect(injectTrace(of)).toEqual({ b3: '1' })
  })

  it('goes out beside what the caller has in _meta', () => {
    const { params } = RequestTrace.start(facts('ping'), { a: 1, _meta: { own: 'kept' } })
    const sent = `00-${TRACE}-${own.spanId}-01`
    expect(params).toEqual({ a: 1, _meta: { own: 'kept', traceparent: sent } })
    expect(RequestTrace.start(facts('ping'), undefined).params).toEqual({ _meta: { traceparent: sent } })
    expect(RequestTrace.start(facts('ping'), { _meta: 'odd' }).params).toEqual({
      _meta: { traceparent: sent },
    })
  })
})
