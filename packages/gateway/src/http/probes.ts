// probes.ts: /health, /ready, /metrics and OAuth metadata: whether the process runs, whether calls should be sent to it, its counts,
// and where users log in.
import type { ServerResponse } from 'node:http'
import type { Gateway } from '../gateway.ts'
import { SERVER_INFO } from '../json-rpc.ts'
import { escapedLabel } from '../operation/call-metrics.ts'
import { ProcessMetrics } from '../operation/process-metrics.ts'
import { json } from './response.ts'

const processMetrics = new ProcessMetrics()

function storeMetrics({ replicas }: Gateway): string[] {
  if (!replicas) return []
  return [
    '# HELP plugboard_store_up 1 while the store of the replicas can be reached.',
    '# TYPE plugboard_store_up gauge',
    `plugboard_store_up ${replicas.store.isUp ? 1 : 0}`,
    '# HELP plugboard_peers Other replicas that are alive.',
    '# TYPE plugboard_peers gauge',
    `plugboard_peers ${replicas.peerCount}`,
  ]
}

export function sendHealth(res: ServerResponse, draining: boolean): void {
  const status = draining ? 'draining' : 'ok'
  json(res, 200, { status, service: SERVER_INFO.name, version: SERVER_INFO.version })
}

/** Whether calls should be sent here. Servers that are down are counted, not named: the others can still be used. */
export function sendReady(
  res: ServerResponse,
  { isAwake, board, replicas }: Gateway,
  draining: boolean,
): void {
  const status = draining ? 'draining' : isAwake ? 'ready' : 'starting'
  const states = board.servers().map(({ state }) => state)
  const up = states.filter((state) => state === 'connected').length
  const away = states.filter((state) => state === 'failed' || state === 'needs-auth').length
  // Without its store a replica still answers; what it cannot do meanwhile is in docs/replicas.md.
  const told = status === 'ready' && replicas?.store.isUp === false ? 'degraded' : status
  json(res, status === 'ready' ? 200 : 503, {
    status: told,
    servers: { up, away },
    ...(replicas && { replica: replicas.id, peers: replicas.peerCount }),
  })
}

/** Public, also for web pages: it says only where users log in. */
export function sendResourceMetadata(res: ServerResponse, metadata: Readonly<Record<string, unknown>>): void {
  res.setHeader('Access-Control-Allow-Origin', '*')
  res.setHeader('Cache-Control', 'max-age=60')
  json(res, 200, metadata)
}

const CIRCUIT_STATES = ['closed', 'half-open', 'open'] as const

function serverMetrics({ board, circuits, drains }: Gateway): string[] {
  const names = board.servers().map(({ name }) => ({ name, label: `{server="${escapedLabel(name)}"}` }))
  return [
    '# HELP plugboard_circuit_state The circuit breaker of each server: 0 closed, 1 half open, 2 open.',
    '# TYPE plugboard_circuit_state gauge',
    ...names.map(
      ({ name, label }) =>
        `plugboard_circuit_state${label} ${CIRCUIT_STATES.indexOf(circuits.info(name).state)}`,
    ),
    '# HELP plugboard_server_calls Calls that run on each server.',
    '# TYPE plugboard_server_calls gauge',
    ...names.map(({ name, label }) => `plugboard_server_calls${label} ${drains.running(name)}`),
  ]
}

/** The counts for Prometheus. */
export function metricsText(gateway: Gateway, sessions: number): string {
  const states: Record<string, number> = {}
  for (const { state } of gateway.board.servers()) states[state] = (states[state] ?? 0) + 1
  const gauges = { sessions, listeners: gateway.notifications.listeners }
  const more = [
    ...gateway.callMetrics.print(),
    ...processMetrics.print(),
    ...serverMetrics(gateway),
    ...storeMetrics(gateway),
  ]
  return gateway.metrics.print(gauges, states, more)
}

export function sendMetrics(res: ServerResponse, text: string): void {
  res.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
}
