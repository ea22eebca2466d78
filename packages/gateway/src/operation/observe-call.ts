// observe-call.ts: what happens around every call of a tool: the limits of its user before, the metrics and the access log after.
// Arguments and results are not looked at.
import { isPlugboardError, JsonRpcError } from '@plugboard/core'
import type { CallLimits } from '../call-limits/call-limits.ts'
import type { Client } from '../client-request.ts'
import { serverFault } from '../errors.ts'
import { type Json, metaOf, RPC_RATE_LIMITED } from '../json-rpc.ts'
import type { CallMetrics, CallOutcome } from './call-metrics.ts'

/** One line of the access log. */
export interface AccessEntry {
  readonly time: string
  readonly level: 'info' | 'warn' | 'error'
  readonly msg: 'call'
  readonly method: string
  /** As its token or its identity provider names it. */
  readonly user: string
  /** The program, as it names itself. */
  readonly client?: string
  readonly protocol: string
  readonly server: string
  readonly tool?: string
  readonly outcome: CallOutcome
  /** Of a failure that is not the tool's own. */
  readonly code?: string | number
  readonly ms: number
  readonly traceId?: string
  readonly replica?: string
}

export interface CallObservation {
  readonly callMetrics: CallMetrics
  readonly callLimits: CallLimits | undefined
  readonly accessLog: ((entry: AccessEntry) => void) | undefined
  readonly replicas?: { readonly id: string } | undefined
}

interface Call {
  readonly method: string
  readonly server: string
  /** Or the prompt, or the resource. */
  readonly tool: string | undefined
  readonly params: Json
  readonly request: { readonly client: Client; readonly signal: AbortSignal }
}

export function observed<T extends Readonly<Json>>(
  on: CallObservation,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  const started = performance.now()
  const result = on.callLimits ? withinLimits(on.callLimits, call, work) : work()
  return result.then(
    (answer) => {
      ended(on, call, started, answer['isError'] === true ? 'tool_error' : 'ok')
      return answer
    },
    (error: unknown) => {
      const outcome = call.request.signal.aborted ? 'cancelled' : outcomeOf(error)
      ended(on, call, started, outcome, codeOf(error))
      throw error
    },
  )
}

async function withinLimits<T>(limits: CallLimits, call: Call, work: () => Promise<T>): Promise<T> {
  const { owner, user } = call.request.client
  const leave = await limits.enter({ owner, user }, call.server, call.tool)
  try {
    return await work()
  } finally {
    leave()
  }
}

function ended(
  on: CallObservation,
  call: Call,
  started: number,
  outcome: CallOutcome,
  code?: string | number,
): void {
  const ms = performance.now() - started
  if (call.method === 'tools/call') on.callMetrics.ended(call.server, call.tool ?? '', outcome, ms / 1000)
  on.accessLog?.(entryOf(on, call, ms, outcome, code))
}

function entryOf(
  { replicas }: CallObservation,
  { method, server, tool, request, params }: Call,
  ms: number,
  outcome: CallOutcome,
  code: string | number | undefined,
): AccessEntry {
  const traceId = traceIdOf(params)
  const { client } = request
  const user = client.user?.name ?? client.owner.slice(0, 12)
  return {
    time: new Date().toISOString(),
    level: outcome === 'gateway_error' ? 'error' : outcome === 'ok' ? 'info' : 'warn',
    msg: 'call',
    method,
    user,
    ...(client.name !== undefined && { client: client.name }),
    protocol: client.era,
    server,
    ...(tool !== undefined && { tool }),
    outcome,
    ...(code !== undefined && { code }),
    ms: Math.round(ms * 10) / 10,
    ...(traceId !== undefined && { traceId }),
    ...(replicas && { replica: replicas.id }),
  }
}

function outcomeOf(error: unknown): CallOutcome {
  if (error instanceof JsonRpcError && error.code === RPC_RATE_LIMITED) return 'limited'
  // What the server itself answered.
  if (serverFault(error)) return 'tool_error'
  return isPlugboardError(error) && error.code === 'PERMISSION_DENIED' ? 'denied' : 'gateway_error'
}

function codeOf(error: unknown): string | number | undefined {
  return serverFault(error)?.code ?? (isPlugboardError(error) ? error.code : undefined)
}

function traceIdOf(params: Json): string | undefined {
  const { traceparent } = metaOf(params)
  return typeof traceparent === 'string' ? /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1] : undefined
}
