// server-stats.ts: calls, errors and latencies by server and by tool, from the recorded messages.
import type { TrafficEntry } from './types.ts'

export interface CallStats {
  readonly calls: number
  readonly errors: number
  /** The latest ones, oldest first, in milliseconds. */
  readonly latencies: readonly number[]
  readonly resultChars: number
  readonly argumentChars: number
}

const KEPT = 40

interface Growing {
  calls: number
  errors: number
  latencies: number[]
  resultChars: number
  argumentChars: number
}

/** Answers to our requests that do work: a handshake, a list or a ping says nothing about use. */
export function isWork({ method, answers, direction, kind, isLate, unanswered }: TrafficEntry): boolean {
  if (answers === undefined || isLate || !WORK.has(method ?? '')) return false
  // The user's own decision to stop says nothing about the server.
  return kind === 'end' ? direction === 'sent' && unanswered !== 'cancelled' : direction === 'received'
}

export function isFailure({ kind, toolError }: TrafficEntry): boolean {
  return kind === 'error' || kind === 'end' || toolError === true
}

const WORK = new Set(['tools/call', 'resources/read', 'prompts/get'])

export function statsBy(
  traffic: readonly TrafficEntry[],
  key: (entry: TrafficEntry) => string,
): ReadonlyMap<string, CallStats> {
  const all = new Map<string, Growing>()
  for (const entry of traffic) {
    const isSent = entry.kind === 'request' && entry.direction === 'sent' && WORK.has(entry.method ?? '')
    if (!isSent && !isWork(entry)) continue
    const id = key(entry)
    const stats = all.get(id) ?? { calls: 0, errors: 0, latencies: [], resultChars: 0, argumentChars: 0 }
    all.set(id, stats)
    if (isSent) {
      stats.argumentChars += entry.size
      continue
    }
    stats.calls++
    stats.resultChars += entry.size
    if (isFailure(entry)) stats.errors++
    stats.latencies.push(entry.durationMs ?? 0)
    if (stats.latencies.length > KEPT) stats.latencies.shift()
  }
  return all
}

export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
