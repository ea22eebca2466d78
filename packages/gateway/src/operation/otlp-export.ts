// otlp-export.ts: traces to a collector by OTLP over HTTP, as JSON, by the usual OTEL_* variables. Without them nothing happens.
// Spans wait in memory for a moment; while the collector is away the oldest are dropped, and no call waits.
import { type AttributeValue, trace } from '@opentelemetry/api'
import { VERSION } from '@plugboard/core/version'
import { type EndedSpan, OtlpTracerProvider, type Sampler } from './otlp-tracer.ts'

const QUEUE = 4096
const BATCH = 512
const EVERY_MS = 2000
const TIMEOUT_MS = 10_000
const CLOSE_MS = 2000

type Env = Readonly<Record<string, string | undefined>>

/** Traces on their way to a collector. */
export interface OtlpExport {
  readonly url: string
  /** Sends what waits, within two seconds. */
  close(): Promise<void>
}

interface OtlpSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly resource: readonly (readonly [string, string])[]
  readonly sampler: Sampler
}

/** Undefined when the variables do not ask for it. `tell` gets why spans are lost, once until they are sent again. */
export function startOtlpExport(env: Env, tell: (text: string) => void): OtlpExport | undefined {
  const settings = otlpSettings(env, tell)
  if (!settings) return undefined
  const exporter = new Exporter(settings, tell)
  trace.setGlobalTracerProvider(new OtlpTracerProvider(settings.sampler, (span) => exporter.add(span)))
  return exporter
}

export function otlpSettings(env: Env, tell: (text: string) => void): OtlpSettings | undefined {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined
  const wanted = (env['OTEL_TRACES_EXPORTER'] ?? '').split(',').map((one) => one.trim())
  const given = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT']
  if (!wanted.includes('otlp') && (wanted.join('') !== '' || !given)) return undefined
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL']
  if (protocol === 'grpc') {
    tell(
      'Traces are not exported: OTLP is sent over HTTP here, not gRPC. Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json.',
    )
    return undefined
  }
  const url =
    env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ||
    `${(env['OTEL_EXPORTER_OTLP_ENDPOINT'] || 'http://localhost:4318').replace(/\/+$/, '')}/v1/traces`
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    tell(`Traces are not exported: ${url} is not an http or https address.`)
    return undefined
  }
  const timeout = Number(env['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] || env['OTEL_EXPORTER_OTLP_TIMEOUT'])
  return {
    url,
    headers: Object.fromEntries(
      pairs(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] || env['OTEL_EXPORTER_OTLP_HEADERS']),
    ),
    timeoutMs: timeout > 0 ? timeout : TIMEOUT_MS,
    resource: [
      ...new Map([
        ['service.name', 'plugboard-gateway'],
        ['service.version', VERSION],
        ...pairs(env['OTEL_RESOURCE_ATTRIBUTES']),
        ...(env['OTEL_SERVICE_NAME'] ? [['service.name', env['OTEL_SERVICE_NAME']] as const] : []),
      ]),
    ],
    sampler: samplerOf(env),
  }
}

/** `key=value,key=value`, with escapes as in a URL. */
function pairs(text: string | undefined): [string, string][] {
  return (text ?? '').split(',').flatMap((part): [string, string][] => {
    const at = part.indexOf('=')
    return at <= 0 ? [] : [[decoded(part.slice(0, at).trim()), decoded(part.slice(at + 1).trim())]]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A sign of percent that escapes nothing.
    return text
  }
}

function samplerOf(env: Env): Sampler {
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on'
  const given = Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1)
  const ratio = given >= 0 && given <= 1 ? given : 1
  const kind = name.replace(/^parentbased_/, '')
  const own = (traceId: string) => {
    if (kind === 'always_off') return false
    return kind !== 'traceidratio' || Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32
  }
  return (traceId, parent) =>
    parent && name.startsWith('parentbased_') ? (parent.traceFlags & 1) === 1 : own(traceId)
}

class Exporter implements OtlpExport {
  readonly url: string
  readonly #settings: OtlpSettings
  readonly #tell: (text: string) => void
  readonly #timer: NodeJS.Timeout
  #waiting: EndedSpan[] = []
  #sending: Promise<void> | undefined
  #isFailing = false

  constructor(settings: OtlpSettings, tell: (text: string) => void) {
    this.url = settings.url
    this.#settings = settings
    this.#tell = tell
    this.#timer = setInterval(() => void this.#flush(), EVERY_MS)
    this.#timer.unref()
  }

  add(span: EndedSpan): void {
    if (this.#waiting.length >= QUEUE) this.#waiting.splice(0, BATCH)
    this.#waiting.push(span)
    if (this.#waiting.length >= BATCH && !this.#isFailing) void this.#flush()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    trace.disable()
    const flushed = this.#flush().then(() => this.#flush())
    // A collector that hangs does not hold the end of the process.
    await Promise.race([flushed, new Promise<void>((done) => void setTimeout(done, CLOSE_MS).unref())])
  }

  #flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH)
      const fault = await this.#post(batch)
      if (fault === undefined) {
        this.#isFailing = false
        continue
      }
      if (!this.#isFailing) this.#tell(`Traces cannot be sent to ${new URL(this.url).origin}: ${fault}.`)
      this.#isFailing = true
      // What the collector did not take now it may take later; what it refused it will refuse again.
      if (fault !== REFUSED) this.#waiting = [...batch, ...this.#waiting].slice(-QUEUE)
      return
    }
  }

  /** Why it failed; undefined when it did not. */
  async #post(batch: readonly EndedSpan[]): Promise<string | undefined> {
    const { headers, timeoutMs, resource } = this.#settings
    try {
      const response = await fetch(this.url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(otlpBody(batch, resource)),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      })
      await response.body?.cancel()
      if (response.ok) return undefined
      return [429, 502, 503, 504].includes(response.status) ? `status ${response.status}` : REFUSED
    } catch {
      return 'it does not answer'
    }
  }
}

const REFUSED = 'it refuses them'

/** The message ExportTraceServiceRequest in the JSON of OTLP. */
export function otlpBody(
  spans: readonly EndedSpan[],
  resource: readonly (readonly [string, string])[],
): object {
  const byScope = new Map<string, EndedSpan[]>()
  for (const span of spans) byScope.set(span.scope, [...(byScope.get(span.scope) ?? []), span])
  return {
    resourceSpans: [
      {
        resource: { attributes: resource.map(([key, value]) => ({ key, value: otlpValue(value) })) },
        scopeSpans: [...byScope].map(([name, all]) => ({
          scope: { name, version: VERSION },
          spans: all.map(spanOf),
        })),
      },
    ],
  }
}

function spanOf({ name, kind, context, parent, attributes, status, startMs, endMs }: EndedSpan): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parent && { parentSpanId: parent.spanId }),
    ...(context.traceState && { traceState: context.traceState.serialize() }),
    name,
    // The API counts from 0, OTLP has 0 for "unspecified".
    kind: kind + 1,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: [...attributes].map(([key, value]) => ({ key, value: otlpValue(value) })),
    status: { code: status.code, ...(status.message !== undefined && { message: status.message }) },
  }
}

function nanos(ms: number): string {
  return `${BigInt(Math.round(ms * 1000)) * 1000n}`
}

function otlpValue(value: AttributeValue): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map((one) => otlpValue(one ?? '')) } }
  switch (typeof value) {
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    default:
      return { stringValue: String(value) }
  }
}
