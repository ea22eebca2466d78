// Traces by the OTEL_* variables: which of them count, what is sampled, what a collector gets, and that one that is away costs no call.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { context, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../fixtures/kit.ts'
import { otlpSettings, startOtlpExport } from './otlp-export.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  trace.disable()
  for (const end of ends.splice(0)) await end()
})

/** What a collector was sent; `status` is what it answers. */
async function collector(status = { code: 200 }) {
  // biome-ignore lint/suspicious/noExplicitAny: the test looks into what was sent
  const seen: { path: string; headers: Record<string, unknown>; body: any }[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk) => {
      text += chunk
    })
    req.on('end', () => {
      if (status.code === 200)
        seen.push({ path: req.url ?? '', headers: req.headers, body: JSON.parse(text) })
      res.writeHead(status.code).end('{}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  ends.push(() => server.close())
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const urlOf = (env: Record<string, string>) => {
  const told: string[] = []
  return { url: otlpSettings(env, (text) => told.push(text))?.url, told: told.join() }
}

describe('the sampler', () => {
  const sampler = (env: Record<string, string>) =>
    otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', ...env }, () => undefined)?.sampler
  const [low, high] = ['00000000', 'ffffffff'].map((end) => `${'a'.repeat(24)}${end}`)
  const parent = (traceFlags: number) => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags })
  it.each([
    ['always_on', '', [true, true]],
    ['always_off', '', [false, false]],
    ['traceidratio', '0', [false, false]],
    ['traceidratio', '0.5', [true, false]],
    ['traceidratio', '1', [true, true]],
    ['traceidratio', '1.5', [true, true]],
    ['traceidratio', '-1', [true, true]],
    ['traceidratio', 'half', [true, true]],
    ['parentbased_traceidratio', '0', [false, false]],
  ])('%s of %j takes the first and the last trace: %j', (name, arg, takes) => {
    const sample = sampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: arg })
    expect([low, high].map((id) => sample?.(id ?? '', undefined))).toEqual(takes)
    const follows = name.startsWith('parentbased_')
    expect(sample?.(low ?? '', parent(1))).toBe(follows || takes[0])
    expect(sample?.(low ?? '', parent(0))).toBe(follows ? false : takes[0])
  })

  it('takes attributes with a name', () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_RESOURCE_ATTRIBUTES: '=x,a=1,b,c=%zz,d%20=e',
    }
    const resource = Object.fromEntries(otlpSettings(env, () => undefined)?.resource ?? [])
    expect(resource).toMatchObject({ a: '1', c: '%zz', 'd ': 'e' })
    expect(Object.keys(resource)).not.toContain('')
    expect(Object.keys(resource)).not.toContain('b')
  })
})

describe('the variables', () => {
  it.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' }, 'http://c:4318/base/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/own' }, 'http://c/own'],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'http://localhost:4318/v1/traces'],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, undefined],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
  ] as [Record<string, string>, string | undefined][])('%j: %s', (env, url) => {
    expect(urlOf(env).url).toBe(url)
  })

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'gRPC'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' }, 'not an http or https address'],
  ])('%j is told', (env, why) => {
    expect(urlOf(env)).toEqual({ url: undefined, told: expect.stringContaining(why) })
  })

  it.each([
    [{}, undefined, true],
    [{}, TraceFlags.NONE, false],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, TraceFlags.NONE, true],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, TraceFlags.SAMPLED, false],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, undefined, false],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, TraceFlags.SAMPLED, true],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, undefined, false],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'x' }, undefined, true],
  ] as [Record<string, string>, TraceFlags | undefined, boolean][])(
    '%j, parent %s: sampled %s',
    (env, flags, sampled) => {
      const settings = otlpSettings({ ...env, OTEL_TRACES_EXPORTER: 'otlp' }, () => undefined)
      const traceId = 'f'.repeat(32)
      const parent = flags === undefined ? undefined : { traceId, spanId: '1'.repeat(16), traceFlags: flags }
      expect(settings?.sampler(traceId, parent)).toBe(sampled)
    },
  )
})

describe('a collector', () => {
  it('gets spans with their parents, attributes and status, and the resource', async () => {
    const { seen, url } = await collector()
    const exporter = startOtlpExport(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b,broken',
        OTEL_SERVICE_NAME: 'mine',
        OTEL_RESOURCE_ATTRIBUTES: 'team=core,service.name=other',
      },
      () => undefined,
    )
    const tracer = trace.getTracer('scope')
    const outer = tracer.startSpan('outer', { kind: SpanKind.SERVER, attributes: { a: 'x'.repeat(5000) } })
    const inner = tracer.startSpan('inner', { kind: SpanKind.CLIENT }, trace.setSpan(context.active(), outer))
    inner
      .setAttributes({ n: 1, d: 1.5, yes: true, list: ['a', 'b'] })
      .setStatus({ code: SpanStatusCode.ERROR })
    inner.end()
    inner.end()
    outer.end()
    await exporter?.close()
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'x-key': 'a b', 'content-type': 'application/json' },
    })
    const [{ resource, scopeSpans }] = seen[0]?.body.resourceSpans ?? []
    expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'mine' } })
    expect(resource.attributes).toContainEqual({ key: 'team', value: { stringValue: 'core' } })
    const [first, second] = scopeSpans[0].spans
    expect(first).toMatchObject({ name: 'inner', kind: 3, parentSpanId: second.spanId, status: { code: 2 } })
    expect(first.attributes).toEqual([
      { key: 'n', value: { intValue: '1' } },
      { key: 'd', value: { doubleValue: 1.5 } },
      { key: 'yes', value: { boolValue: true } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } } },
    ])
    expect(second).toMatchObject({ name: 'outer', kind: 2, traceId: first.traceId })
    expect(second.attributes[0].value.stringValue).toHaveLength(1024)
    expect(BigInt(first.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(first.startTimeUnixNano))
  })

  it('that is away is told once, and gets what waits when it is back; what it refuses is not sent again', async () => {
    const status = { code: 503 }
    const { seen, url } = await collector(status)
    const told: string[] = []
    const exporter = startOtlpExport({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, (text) => told.push(text))
    const tracer = trace.getTracer('scope')
    for (let n = 0; n < 600; n++) tracer.startSpan(`s${n}`).end()
    await until(() => told.length === 1)
    for (let n = 0; n < 6000; n++) tracer.startSpan(`t${n}`).end()
    status.code = 200
    await until(() => seen.length > 0)
    await exporter?.close()
    const count = seen.reduce((sum, { body }) => sum + body.resourceSpans[0].scopeSpans[0].spans.length, 0)
    expect(count).toBeGreaterThan(2000)
    expect(count).toBeLessThanOrEqual(4096 + 512)
    expect(told).toHaveLength(1)
  }, 20_000)
})
