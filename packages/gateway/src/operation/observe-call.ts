// observe-call.ts: what happens around every call of a tool: the limits of its user before, the metrics and the access log after.
// Arguments and results are not looked at.
import { isPlugboardError } from '@plugboard/core'
import type { Admission, CallLimits } from '../call-limits/call-limits.ts'
import type { ClientRequest } from '../client-request.ts'
import { RateLimited, serverFault } from '../errors.ts'
import { type Json, metaOf } from '../json-rpc.ts'
import type { CallMetrics, CallOutcome } from './call-metrics.ts'
import type { CircuitBreakers } from './circuit-breaker.ts'
import type { ServerDrains } from './server-drains.ts'

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
  readonly drains: ServerDrains
  readonly circuits: CircuitBreakers
  readonly accessLog: ((entry: AccessEntry) => void) | undefined
  readonly replicas?: { readonly id: string } | undefined
}

export interface ObservedCall {
  readonly method: string
  readonly server: string
  /** Or the prompt, or the resource. */
  readonly tool: string | undefined
  /** The instance of the server, where users have one each. */
  readonly instance: string | undefined
  readonly params: Json
  readonly request: Pick<ClientRequest, 'client' | 'signal' | 'tellBudget'>
}

export function observed<T extends Readonly<Json>>(
  on: CallObservation,
  call: ObservedCall,
  work: () => Promise<T>,
): Promise<T> {
  const started = performance.now()
  const { server, instance = server } = call
  try {
    on.drains.enter(server)
  } catch (error) {
    return refused(on, call, started, error)
  }
  try {
    on.circuits.enter(server, instance)
  } catch (error) {
    on.drains.leave(server)
    return refused(on, call, started, error)
  }
  const admitted: Admitted = { admission: undefined }
  const result = on.callLimits ? withinLimits(on.callLimits, call, work, admitted) : work()
  return result.then(
    (answer) => {
      admitted.admission?.leave()
      on.drains.leave(server)
      on.circuits.succeeded(instance)
      ended(on, call, started, answer['isError'] === true ? 'tool_error' : 'ok')
      return answer
    },
    (error: unknown) => {
      admitted.admission?.leave()
      on.drains.leave(server)
      on.circuits.failed(instance, error)
      if (error instanceof RateLimited) tell(call, error.headers)
      const outcome = call.request.signal.aborted ? 'cancelled' : outcomeOf(error)
      ended(on, call, started, outcome, codeOf(error))
      throw error
    },
  )
}

/** A call that was not tried. */
function refused(on: CallObservation, call: ObservedCall, started: number, error: unknown): Promise<never> {
  ended(on, call, started, 'gateway_error', codeOf(error))
  return Promise.reject(error)
}

interface Admitted {
  admission: Admission | undefined
}

/** Most calls are let in without a wait: their count was taken from the store before. `admitted` gets what counts their end. */
function withinLimits<T>(
  limits: CallLimits,
  call: ObservedCall,
  work: () => Promise<T>,
  admitted: Admitted,
): Promise<T> {
  const { request } = call
  let entered: Admission | Promise<Admission>
  try {
    entered = limits.enter(request.client, call.server, call.tool)
  } catch (error) {
    return Promise.reject(error)
  }
  const go = (admission: Admission) => {
    admitted.admission = admission
    tell(call, admission.headers)
    return work()
  }
  return entered instanceof Promise ? entered.then(go) : go(entered)
}

function tell({ request }: ObservedCall, headers: readonly string[]): void {
  if (headers.length > 0) request.tellBudget?.(headers)
}

function ended(
  on: CallObservation,
  call: ObservedCall,
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
  { method, server, tool, request, params }: ObservedCall,
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
  if (error instanceof RateLimited) return 'limited'
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
