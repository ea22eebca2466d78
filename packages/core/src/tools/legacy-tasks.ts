// legacy-tasks.ts: calls that run as tasks of 2025-11-25: started by the call, polled for their status, ended by their result. To the
// caller it is a call like any other. Tasks of the extension are the server's choice: connection/task-polling.ts.
import type { Connection } from '../connection/connection.ts'
import { isObject, type Json } from '../connection/server-info.ts'
import { afterCancelling, cancelTask, followTask, taskTimeout } from '../connection/task-polling.ts'
import { isTerminal, pollDelay, readTask } from '../connection/task-state.ts'
import { Timeout, ToolError } from '../errors.ts'
import type { TaskState } from '../events.ts'
import type { Host } from '../host.ts'
import { TASK_LIMITS } from '../limits.ts'
import type { SendOptions } from './call.ts'

export interface TaskOptions {
  /** What the server says of the task that a call became, at first and whenever that changes. */
  readonly onTask?: ((task: TaskState) => void) | undefined
  /**
   * The task goes on when the caller gives up, and a tool that can run as a task does; with `always`, it goes on after a
   * time limit too.
   */
  readonly detachable?: boolean | 'always' | undefined
  /** A tool that can run as a task does. */
  readonly prefersTask?: boolean | undefined
}

/** Whether a call of this tool is sent as a task: where the server takes no other, or where it may and the caller likes it. */
export function runsAsTask(
  connection: Connection,
  tool: string,
  { detachable, prefersTask }: TaskOptions,
): boolean {
  const execution = connection.catalog.tool(tool)?.execution
  if (!isObject(execution)) return false
  if (execution.taskSupport === 'required') return true
  return execution.taskSupport === 'optional' && Boolean(detachable || prefersTask)
}

/** `totalMs` is for the whole call: for starting the task and for its result together. */
export async function callAsTask(
  connection: Connection,
  host: Host,
  params: Json & { readonly name: string },
  options: SendOptions & TaskOptions,
): Promise<Json> {
  const { signal, timeoutMs, totalMs, onProgress } = options
  const began = performance.now()
  const started = await connection.request(
    'tools/call',
    {
      ...params,
      arguments: isObject(params.arguments) ? params.arguments : {},
      task: { ttl: TASK_LIMITS.ttlMs },
    },
    { signal, timeoutMs, totalMs, onProgress },
  )
  // A server may still return the result at once.
  if (!isObject(started.task)) return started
  const task = readTask(started.task)
  if (!task)
    throw new ToolError(params.name, 'The server started a task without an id.', {
      server: connection.server.name,
    })
  return await legacyResult(connection, host, task, params.name, options, began)
}

type TaskWait = Omit<SendOptions, 'detachable'> & TaskOptions

/** The result of a task that an earlier call became. */
export async function taskResult(
  connection: Connection,
  host: Host,
  task: TaskState,
  name: string,
  options: TaskWait,
): Promise<Json> {
  const state = await connection.needed(options.signal)
  if (state.kind !== 'connected' || state.session.era === 'legacy')
    return await legacyResult(connection, host, task, name, options, performance.now())
  const { signal, onProgress, onTask, detachable, totalMs, timeoutMs } = options
  const wholeMs = totalMs ?? timeoutMs ?? TASK_LIMITS.resultMs
  const port = {
    host,
    server: connection.server.name,
    request: (method: string, params: Json, how: object) => connection.request(method, params, how),
    answerInputs: state.session.answerInputs.bind(state.session),
  }
  return await followTask(port, { ...task }, { name, signal, wholeMs, onProgress, onTask, detachable })
}

async function legacyResult(
  connection: Connection,
  host: Host,
  task: TaskState,
  name: string,
  options: TaskWait,
  began: number,
): Promise<Json> {
  const { signal, timeoutMs, totalMs } = options
  const { taskId } = task
  const server = connection.server.name
  const follow = followStatus(connection, host, task, options)
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
    const gaveUp = signal?.aborted === true
    if (gaveUp ? options.detachable : !(error instanceof Timeout)) throw error
    // The task would continue without a caller waiting for it.
    const isLeft = options.detachable === 'always'
    const after = isLeft ? 'its task goes on' : afterCancelling(await cancelTask(connection, taskId))
    throw error instanceof Timeout ? taskTimeout({ server, name, tookMs, after, cause: error }) : error
  } finally {
    follow.stop()
  }
}

/** Reports the task's status. A failure here does not matter: the result decides. */
function followStatus(
  connection: Connection,
  host: Host,
  created: TaskState,
  { onProgress, onTask }: TaskWait,
): { stop(): void } {
  let task = created
  let told: string | undefined
  let stopped = false
  let stopTimer: (() => void) | undefined
  let asked = 0
  const tell = () => {
    const { status, statusMessage } = task
    const news = JSON.stringify([status, statusMessage])
    if (news === told) return
    told = news
    onTask?.(task)
    onProgress?.({
      progress: asked,
      ...(statusMessage !== undefined && { message: statusMessage }),
      task,
    })
  }
  const look = async () => {
    const found = await connection
      .request('tasks/get', { taskId: created.taskId }, { timeoutMs: TASK_LIMITS.statusMs })
      .catch(() => undefined)
    if (stopped) return
    asked++
    task = { ...task, ...readTask({ taskId: created.taskId, ...found }) }
    tell()
    if (!isTerminal(task)) next()
  }
  const next = () => {
    stopTimer = host.backgroundTimer(pollDelay(task, asked), () => void look())
  }
  tell()
  if (onProgress || onTask) next()
  return {
    stop: () => {
      stopped = true
      stopTimer?.()
    },
  }
}
