// replica-status.ts: what a replica tells about itself with every beat, for administrators. Nothing is decided by it.
import { VERSION } from '@plugboard/core/version'
import { isObject } from '../json-rpc.ts'
import type { Metrics } from '../metrics.ts'

/** How one replica of a gateway does, as it tells the others with every beat. */
export interface ReplicaStatus {
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly sessions: number
  /** Requests that are being answered. */
  readonly running: number
  /** Calls of tools since the start. */
  readonly calls: number
  /** Resident bytes of the process. */
  readonly memory: number
  /** It takes no more calls, and ends when the running ones have. */
  readonly draining: boolean
}

export function statusOfProcess(
  { inFlight: running, calls }: Pick<Metrics, 'inFlight' | 'calls'>,
  sessions: number,
  draining: boolean,
): ReplicaStatus {
  const startedAt = Math.round(performance.timeOrigin)
  const memory = process.memoryUsage.rss()
  return { version: VERSION, startedAt, memory, sessions, running, calls, draining }
}

const VERSION_CHARS = 40

/** Of a replica that may run another version: undefined when it tells something else. */
export function readStatus(value: unknown): ReplicaStatus | undefined {
  if (!isObject(value)) return undefined
  const { version, startedAt, sessions, running, calls, memory, draining } = value
  if (typeof version !== 'string' || version.length > VERSION_CHARS) return undefined
  const isNumber = (one: unknown): one is number => typeof one === 'number' && Number.isFinite(one)
  if (!isNumber(startedAt) || !isNumber(sessions) || !isNumber(running)) return undefined
  if (!isNumber(calls) || !isNumber(memory)) return undefined
  return { version, startedAt, sessions, running, calls, memory, draining: draining === true }
}
