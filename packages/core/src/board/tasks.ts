// tasks.ts: calls to tools that only run as tasks (2025-11-25, experimental): started by the call, polled for their
// status, ended by their result. To the caller it is a call like any other.
import type { Connection } from '../connection/connection.ts'
import { isObject, type Json } from '../connection/server-info.ts'
import { ToolError } from '../errors.ts'
import type { Host } from '../host.ts'
import { TASK_LIMITS } from '../limits.ts'
import type { Args, SendOptions } from '../tools/index.ts'

export interface TaskOptions {
  /** Receives the server's id of the task that a call became; elicitations from it carry the id. */
  readonly onTask?: ((taskId: string) => void) | undefined
}

/** Whether the server accepts calls to this tool as tasks only. */
export function runsAsTask(connection: Connection, tool: string): boolean {
  const execution = connection.catalog.tool(tool)?.execution
  return isObject(execution) && execution.taskSupport === 'required'
}

export async function callAsTask(
  connection: Connection,
  host: Host,
  name: string,
  args: Args,
  options: SendOptions & TaskOptions,
): Promise<Json> {
  const { signal, timeoutMs, onProgress, onTask } = options
  const started = await connection.request(
    'tools/call',
    { name, arguments: args, task: { ttl: TASK_LIMITS.ttlMs } },
    { signal, timeoutMs, onProgress },
  )
  // A server may still return the result at once.
  if (!isObject(started.task)) return started
  const { taskId, pollInterval } = started.task
  const server = connection.server.name
  if (typeof taskId !== 'string')
    throw new ToolError(name, 'The server started a task without an id.', { server })
  onTask?.(taskId)
  const follow = followStatus(connection, host, taskId, pollInterval, onProgress)
  try {
    // The server responds to this when the task has ended; its own requests come in between.
    return await connection.request(
      'tasks/result',
      { taskId },
      { signal, timeoutMs: timeoutMs ?? TASK_LIMITS.resultMs, totalMs: TASK_LIMITS.resultMs },
    )
  } catch (error) {
    // The task would continue without a caller waiting for it.
    if (signal?.aborted)
      await connection
        .request('tasks/cancel', { taskId }, { timeoutMs: TASK_LIMITS.cancelMs })
        .catch(() => undefined)
    throw error
  } finally {
    follow.stop()
  }
}

/** Reports the task's status messages as progress. A failure here does not matter: the result decides. */
function followStatus(
  connection: Connection,
  host: Host,
  taskId: string,
  wanted: unknown,
  onProgress: SendOptions['onProgress'],
): { stop(): void } {
  let stopped = false
  let stopTimer: (() => void) | undefined
  if (!onProgress) return { stop: () => undefined }
  const everyMs = Math.min(
    Math.max(typeof wanted === 'number' ? wanted : TASK_LIMITS.pollMs, TASK_LIMITS.pollMs / 2),
    TASK_LIMITS.pollMaxMs,
  )
  let asked = 0
  const look = async () => {
    const status = await connection
      .request('tasks/get', { taskId }, { timeoutMs: TASK_LIMITS.statusMs })
      .catch(() => undefined)
    if (stopped) return
    asked++
    const message = status?.statusMessage
    if (typeof message === 'string') onProgress({ progress: asked, message })
    stopTimer = host.backgroundTimer(everyMs, () => void look())
  }
  stopTimer = host.backgroundTimer(everyMs, () => void look())
  return {
    stop: () => {
      stopped = true
      stopTimer?.()
    },
  }
}
