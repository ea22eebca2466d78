// tasks.ts: calls to tools that only run as tasks (2025-11-25, experimental): started by the call, polled for their
// status, ended by their result. To the caller it is a call like any other.
import type { Connection } from '../connection/connection.ts'
import { isObject, type Json } from '../connection/server-info.ts'
import { Timeout, ToolError } from '../errors.ts'
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

/** `totalMs` is for the whole call: for starting the task and for its result together. */
export async function callAsTask(
  connection: Connection,
  host: Host,
  name: string,
  args: Args,
  options: SendOptions & TaskOptions,
): Promise<Json> {
  const { signal, timeoutMs, totalMs, onProgress, onTask } = options
  const began = performance.now()
  const started = await connection.request(
    'tools/call',
    { name, arguments: args, task: { ttl: TASK_LIMITS.ttlMs } },
    { signal, timeoutMs, totalMs, onProgress },
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
    const wholeMs = totalMs ?? Math.max(TASK_LIMITS.resultMs, timeoutMs ?? 0)
    const leftMs = Math.max(1, Math.ceil(began + wholeMs - performance.now()))
    return await connection.request(
      'tasks/result',
      { taskId },
      { signal, timeoutMs: timeoutMs ?? leftMs, totalMs: leftMs },
    )
  } catch (error) {
    const tookMs = Math.round(performance.now() - began)
    if (!signal?.aborted && !(error instanceof Timeout)) throw error
    // The task would continue without a caller waiting for it.
    const isCancelled = await connection
      .request('tasks/cancel', { taskId }, { timeoutMs: TASK_LIMITS.cancelMs })
      .then(
        () => true,
        () => false,
      )
    throw error instanceof Timeout ? timedOut(error, { server, name, tookMs, isCancelled }) : error
  } finally {
    follow.stop()
  }
}

/** Names the tool that was called instead of the request that waited for its task. */
function timedOut(
  cause: Timeout,
  call: {
    readonly server: string
    readonly name: string
    readonly tookMs: number
    readonly isCancelled: boolean
  },
): Timeout {
  const { server, name, tookMs, isCancelled } = call
  const after = isCancelled ? 'its task was cancelled' : 'its task could not be cancelled and may still run'
  return new Timeout(`"${server}" did not finish ${name} within ${tookMs} ms; ${after}.`, {
    server,
    stage: 'call',
    hint: 'Raise `--timeout`, or `timeoutMs` and `totalMs` of the call, if it needs longer.',
    cause,
  })
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
