// Spans without an SDK: whose child a span is, what it remembers, and that it ends once.
import {
  type Context,
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { type EndedSpan, OtlpTracerProvider, type Sampler } from './otlp-tracer.ts'

function made(sampler: Sampler = () => true) {
  const ended: EndedSpan[] = []
  return { ended, tracer: new OtlpTracerProvider(sampler, (span) => ended.push(span)).getTracer('scope') }
}
const PARENT = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED }
const under = (span = PARENT): Context => trace.setSpanContext(ROOT_CONTEXT, span)

describe('a span', () => {
  it('continues the trace of its parent, unless that is none or it is a root', () => {
    const { ended, tracer } = made()
    tracer.startSpan('child', {}, under()).end()
    tracer.startSpan('root', { root: true }, under()).end()
    tracer.startSpan('broken', {}, under({ ...PARENT, traceId: '0'.repeat(32) })).end()
    const [child, root, broken] = ended
    expect([child?.context.traceId, child?.parent?.spanId]).toEqual([PARENT.traceId, PARENT.spanId])
    for (const span of [root, broken]) {
      expect(span?.context.traceId).toMatch(/^(?!0{32}|a{32})[0-9a-f]{32}$/)
      expect(span?.parent).toBeUndefined()
    }
    expect(child).toMatchObject({
      scope: 'scope',
      kind: SpanKind.INTERNAL,
      status: { code: SpanStatusCode.UNSET },
    })
  })

  it('that is not sampled has an identity and tells nothing', () => {
    const asked: unknown[] = []
    const { ended, tracer } = made((traceId, parent) => {
      asked.push([traceId, parent?.spanId])
      return false
    })
    const span = tracer.startSpan('x', {}, under())
    span.setAttribute('a', 1).end()
    expect([span.isRecording(), span.spanContext().traceFlags, ended]).toEqual([false, TraceFlags.NONE, []])
    expect(asked).toEqual([[PARENT.traceId, PARENT.spanId]])
    expect(made().tracer.startSpan('y').spanContext().traceFlags).toBe(TraceFlags.SAMPLED)
  })

  it('is handed to the work that it is about, with what is given before it', () => {
    const { ended, tracer } = made()
    expect(tracer.startActiveSpan('plain', (span) => [span.isRecording(), span.end()])[0]).toBe(true)
    tracer.startActiveSpan('with options', { kind: SpanKind.CLIENT }, (span) => span.end())
    tracer.startActiveSpan('with a context', {}, under(), (span) => span.end())
    expect(ended.map(({ kind, parent }) => [kind, parent?.spanId])).toEqual([
      [SpanKind.INTERNAL, undefined],
      [SpanKind.CLIENT, undefined],
      [SpanKind.INTERNAL, PARENT.spanId],
    ])
    expect(context.active()).toBe(ROOT_CONTEXT)
  })

  it('remembers so many attributes, texts of a length, and the kind of an error', () => {
    const { ended, tracer } = made()
    const span = tracer.startSpan('x', { attributes: { first: 1, missing: undefined } })
    span.recordException('only words')
    span.recordException(Object.assign(new Error('m'), { code: 'E1' }))
    span.setAttributes({ text: 'x'.repeat(2000), number: 7 })
    for (let at = 0; at < 100; at++) span.setAttribute(`a${at}`, at)
    span.setStatus({ code: SpanStatusCode.ERROR }).updateName('n'.repeat(2000))
    span.end()
    span.end()
    const named = tracer.startSpan('y')
    named.recordException(new RangeError('m'))
    named.end()
    expect(ended).toHaveLength(2)
    const [first, second] = ended
    const attributes = Object.fromEntries(first?.attributes ?? [])
    expect(attributes).toMatchObject({ first: 1, 'error.type': 'E1', text: 'x'.repeat(1024), number: 7 })
    expect('missing' in attributes).toBe(false)
    expect(first?.attributes.size).toBe(64)
    expect([first?.name.length, first?.status.code]).toEqual([1024, SpanStatusCode.ERROR])
    expect(second?.attributes.get('error.type')).toBe('RangeError')
    expect([span.isRecording(), (first?.endMs ?? 0) >= (first?.startMs ?? 1)]).toEqual([false, true])
  })
})
