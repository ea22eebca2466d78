// task-state.ts: a task as a server describes it, read with caution: of 2026-07-28 (the tasks extension) and of 2025-11-25, whose
// fields have other names. It also says how long to wait before the next poll; task-polling.ts and tools/legacy-tasks.ts poll.
import type { TaskState, TaskStatus } from '../events.ts'
import { isObject, type Json } from '../json.ts'
import { TASK_LIMITS } from '../limits.ts'

const STATUSES: readonly TaskStatus[] = ['working', 'input_required', 'completed', 'failed', 'cancelled']

/** Undefined where the value is no task. An id is as long as a header may be. */
export function readTask(value: unknown): TaskState | undefined {
  if (!isObject(value)) return undefined
  const { taskId, status, statusMessage } = value
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > TASK_LIMITS.idChars) return undefined
  const ttlMs = milliseconds(value.ttlMs ?? value.ttl)
  const pollIntervalMs = milliseconds(value.pollIntervalMs ?? value.pollInterval)
  return {
    taskId,
    status: STATUSES.find((known) => known === status) ?? 'working',
    ...(typeof statusMessage === 'string' && {
      statusMessage: statusMessage.slice(0, TASK_LIMITS.messageChars),
    }),
    ...(ttlMs !== undefined && { ttlMs }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
  }
}

export function isTerminal({ status }: Pick<TaskState, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** The server's interval within bounds; without one, short at first and longer with every poll. */
export function pollDelay({ pollIntervalMs }: Pick<TaskState, 'pollIntervalMs'>, polls: number): number {
  const { pollMinMs, pollMs, pollMaxMs } = TASK_LIMITS
  if (pollIntervalMs !== undefined) return Math.min(Math.max(pollIntervalMs, pollMinMs), pollMaxMs)
  return Math.min(pollMinMs * 2 ** Math.min(polls, 20), pollMs)
}

/** The whole result of `tasks/get`: what the status needs beside it. */
export function inputRequestsOf(task: Json): Json {
  return isObject(task.inputRequests) ? task.inputRequests : {}
}

function milliseconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : undefined
}
