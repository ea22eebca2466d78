// probes.ts: /health, /ready and /metrics: whether the process runs, whether calls should be sent to it, and its counts.
import type { ServerResponse } from 'node:http'
import type { Gateway } from '../gateway.ts'
import { SERVER_INFO } from '../json-rpc.ts'
import { json } from './response.ts'

export function sendHealth(res: ServerResponse, draining: boolean): void {
  const status = draining ? 'draining' : 'ok'
  json(res, 200, { status, service: SERVER_INFO.name, version: SERVER_INFO.version })
}

/** Whether calls should be sent here. Servers that are down are counted, not named: the others can still be used. */
export function sendReady(res: ServerResponse, { isAwake, board }: Gateway, draining: boolean): void {
  const status = draining ? 'draining' : isAwake ? 'ready' : 'starting'
  const states = board.servers().map(({ state }) => state)
  const up = states.filter((state) => state === 'connected').length
  const away = states.filter((state) => state === 'failed' || state === 'needs-auth').length
  json(res, status === 'ready' ? 200 : 503, { status, servers: { up, away } })
}

/** The counts for Prometheus. */
export function sendMetrics(res: ServerResponse, gateway: Gateway, sessions: number): void {
  const states: Record<string, number> = {}
  for (const { state } of gateway.board.servers()) states[state] = (states[state] ?? 0) + 1
  const text = gateway.metrics.print({ sessions, listeners: gateway.notifications.listeners }, states)
  res.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
}
