// trace.ts: one OpenTelemetry span per request, by the conventions for MCP, and the trace context handed on to the server.
// It speaks to the API alone: without a registered SDK nothing is recorded and nothing is added to a request.
import {
  type Attributes,
  context,
  type Histogram,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { PlugboardError } from '../errors.ts'
import { RpcFault } from './faults.ts'
import { isObject, type Json } from './protocol.ts'

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
  readonly #started: number

  private constructor(span: Span, params: Json | undefined, attributes: Attributes | undefined) {
    this.#span = span
    this.params = params
    this.#attributes = attributes
    this.#started = attributes ? performance.now() : 0
  }

  static start(facts: TraceFacts, params: Json | undefined): RequestTrace {
    const title = facts.method === 'tools/call' && facts.name ? `${facts.method} ${facts.name}` : facts.method
    const span = trace.getTracer(SCOPE).startSpan(title, { kind: SpanKind.CLIENT })
    if (!trace.isSpanContextValid(span.spanContext())) return new RequestTrace(span, params, undefined)
    const attributes = attributesOf(facts)
    span.setAttributes(attributes)
    const carrier: Record<string, string> = {}
    propagation.inject(trace.setSpan(context.active(), span), carrier)
    const meta = params && isObject(params._meta) ? params._meta : undefined
    return new RequestTrace(span, { ...params, _meta: { ...carrier, ...meta } }, attributes)
  }

  ended(outcome: { readonly toolError?: boolean; readonly error?: PlugboardError }): void {
    if (!this.#attributes) return
    const { toolError, error } = outcome
    const type = error ? error.code : toolError ? 'tool_error' : undefined
    const fault = error?.cause
    const more: Attributes = {
      ...(type && { 'error.type': type }),
      ...(fault instanceof RpcFault && { 'rpc.response.status_code': String(fault.code) }),
    }
    this.#span.setAttributes(more)
    if (type) this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(error && { message: error.code }) })
    this.#span.end()
    durations().record((performance.now() - this.#started) / 1000, { ...this.#attributes, ...more })
  }
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
