// task-polling.ts: a task of a modern server (the tasks extension) until it ends: polled at its interval, its questions
// answered, cancelled when the caller gives up. That a call becomes a task is the server's choice; tasks of 2025-11-25 are in
// tools/legacy-tasks.ts.
import { RequestAborted } from '../async/wait-errors.ts'
import { sleep } from '../async/waits.ts'
import { OutcomeUnknown, Timeout } from '../errors.ts'
import type { Progress, TaskState } from '../events.ts'
import type { Host } from '../host.ts'
import { CALL_LIMITS, TASK_LIMITS } from '../limits.ts'
import { JsonRpcError } from './request-errors.ts'
import { isObject, type Json, RPC } from './server-info.ts'
import { inputRequestsOf, isTerminal, pollDelay, readTask } from './task-state.ts'

/** How the server of a task is reached. */
export interface TaskPort {
  readonly host: Host
  readonly server: string
  request(method: string, params: Json, options: PollOptions): Promise<Json>
  /** Answers the questions of a task; the answers by their keys. */
  answerInputs(inputRequests: Json, signal: AbortSignal | undefined): Promise<Json>
}

interface PollOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
}

export interface TaskFollowing {
  /** The tool that was called. */
  readonly name: string
  readonly signal?: AbortSignal | undefined
  /** For all of it, in milliseconds. */
  readonly wholeMs: number
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly onTask?: ((task: TaskState) => void) | undefined
  /** The task goes on when the caller gives up; with `always`, after a time limit too. */
  readonly detachable?: boolean | 'always' | undefined
}

/** The result of the task, as the call itself would have returned it; rejects as the call would have. */
export async function followTask(port: TaskPort, created: Json, following: TaskFollowing): Promise<Json> {
  const task = readTask(created)
  if (!task) throw new JsonRpcError(RPC.internal, 'The server started a task without a usable id')
  const polling = new Polling(port, task, following)
  try {
    return await polling.run()
  } catch (error) {
    const gaveUp = following.signal?.aborted === true
    if (gaveUp ? following.detachable : !(error instanceof TaskTimedOut)) throw error
    const isLeft = following.detachable === 'always'
    const after = isLeft ? 'its task goes on' : afterCancelling(await cancelTask(port, task.taskId))
    if (!(error instanceof TaskTimedOut)) throw error
    throw taskTimeout({
      server: port.server,
      name: following.name,
      tookMs: error.afterMs,
      after,
      cause: error,
    })
  }
}

/** Whether the server took note. It decides itself whether the work stops. */
export async function cancelTask(port: Pick<TaskPort, 'request'>, taskId: string): Promise<boolean> {
  return await port.request('tasks/cancel', { taskId }, { timeoutMs: TASK_LIMITS.cancelMs }).then(
    () => true,
    () => false,
  )
}

class TaskTimedOut extends Error {
  readonly afterMs: number
  constructor(afterMs: number) {
    super('The task did not end in time.')
    this.afterMs = afterMs
  }
}

class Polling {
  readonly #port: TaskPort
  readonly #following: TaskFollowing
  readonly #began: number
  readonly #answered = new Set<string>()
  #task: TaskState
  #told = ''
  #progress = 0

  constructor(port: TaskPort, task: TaskState, following: TaskFollowing) {
    this.#port = port
    this.#task = task
    this.#following = following
    this.#began = performance.now()
  }

  async run(): Promise<Json> {
    this.#tell()
    // Bounded by the time limit, which every poll looks at.
    for (let polls = 0; ; polls++) {
      if (!isTerminal(this.#task) || polls > 0) await this.#wait(polls)
      const found = await this.#poll()
      const read = readTask(found)
      if (!read || read.taskId !== this.#task.taskId)
        throw new JsonRpcError(
          RPC.internal,
          'The server answered tasks/get with something that is not the task',
        )
      // A limit that is not repeated still holds.
      this.#task = { ...limitsOf(this.#task), ...read }
      this.#tell()
      if (isTerminal(this.#task)) return this.#outcome(found)
      if (read.status === 'input_required') await this.#answer(inputRequestsOf(found))
    }
  }

  get #passedMs(): number {
    return performance.now() - this.#began
  }

  /** Until the next poll, but not beyond a limit. */
  async #wait(polls: number): Promise<void> {
    const { signal, wholeMs } = this.#following
    const { ttlMs } = this.#task
    const passed = this.#passedMs
    if (passed >= wholeMs) throw new TaskTimedOut(Math.round(passed))
    if (ttlMs !== undefined && passed >= ttlMs + TASK_LIMITS.expiryGraceMs) throw this.#lost('it has expired')
    await sleep(this.#port.host, Math.min(pollDelay(this.#task, polls), wholeMs - passed), signal)
    if (signal?.aborted) throw new RequestAborted(signal.reason)
  }

  /** One failure, such as a server that restarts, does not lose a task. */
  async #poll(): Promise<Json> {
    const { signal, wholeMs } = this.#following
    const { taskId } = this.#task
    for (let failures = 1; ; failures++) {
      const timeoutMs = Math.max(1, Math.min(TASK_LIMITS.statusMs, wholeMs - this.#passedMs))
      try {
        return await this.#port.request('tasks/get', { taskId }, { signal, timeoutMs })
      } catch (error) {
        if (signal?.aborted) throw error
        if (this.#passedMs >= wholeMs) throw new TaskTimedOut(Math.round(this.#passedMs))
        const code = rpcCode(error)
        if (code === RPC.invalidParams) throw this.#lost('it does not know it any more', error)
        if (code !== undefined || failures >= TASK_LIMITS.failedPolls) throw error
        await this.#wait(failures)
      }
    }
  }

  /** Each question is asked once, however often the server repeats it. */
  async #answer(inputRequests: Json): Promise<void> {
    const { signal } = this.#following
    const open = Object.entries(inputRequests).filter(([key]) => !this.#answered.has(key))
    if (open.length === 0) return
    const most = CALL_LIMITS.inputRounds * CALL_LIMITS.inputsPerRound
    if (this.#answered.size + open.length > most)
      throw new JsonRpcError(RPC.internal, `The task asked for input more than ${most} times`)
    for (const [key] of open) this.#answered.add(key)
    const inputResponses = await this.#port.answerInputs(Object.fromEntries(open), signal)
    const { taskId } = this.#task
    const timeoutMs = TASK_LIMITS.statusMs
    await this.#port.request('tasks/update', { taskId, inputResponses }, { signal, timeoutMs })
  }

  #outcome(found: Json): Json {
    const { status, statusMessage } = this.#task
    if (status === 'completed') {
      if (isObject(found.result)) return found.result
      throw new JsonRpcError(RPC.internal, 'The task is completed, and the server sent no result')
    }
    if (status === 'cancelled')
      throw new JsonRpcError(
        RPC.internal,
        `The server cancelled the task${statusMessage === undefined ? '.' : `: ${statusMessage}`}`,
      )
    const { code, message, data } = isObject(found.error) ? found.error : {}
    throw new JsonRpcError(
      typeof code === 'number' ? code : RPC.internal,
      typeof message === 'string'
        ? message
        : (statusMessage ?? 'The task failed, and the server did not say why'),
      data,
    )
  }

  #tell(): void {
    const { status, statusMessage } = this.#task
    const news = JSON.stringify([status, statusMessage])
    if (news === this.#told) return
    this.#told = news
    this.#following.onTask?.(this.#task)
    this.#following.onProgress?.({
      progress: this.#progress++,
      ...(statusMessage !== undefined && { message: statusMessage }),
      task: this.#task,
    })
  }

  #lost(why: string, cause?: unknown): OutcomeUnknown {
    const { server } = this.#port
    return new OutcomeUnknown(
      `"${server}" has lost the task of ${this.#following.name}: ${why}. Whether it was done is unknown.`,
      { server, stage: 'call', hint: 'Check what happened before you call it again.', cause },
    )
  }
}

function limitsOf({ ttlMs, pollIntervalMs }: TaskState): Partial<TaskState> {
  return { ...(ttlMs !== undefined && { ttlMs }), ...(pollIntervalMs !== undefined && { pollIntervalMs }) }
}

/** Of an error that the server sent, as it came or as the cause of ours. */
function rpcCode(error: unknown): number | undefined {
  if (error instanceof JsonRpcError) return error.code
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof JsonRpcError ? cause.code : undefined
}

export function afterCancelling(isCancelled: boolean): string {
  return isCancelled ? 'its task was cancelled' : 'its task could not be cancelled and may still run'
}

/** Names the tool that was called instead of the request that waited for its task. */
export function taskTimeout(call: {
  readonly server: string
  readonly name: string
  readonly tookMs: number
  readonly after: string
  readonly cause: Error
}): Timeout {
  const { server, name, tookMs, after, cause } = call
  return new Timeout(`"${server}" did not finish ${name} within ${tookMs} ms; ${after}.`, {
    server,
    stage: 'call',
    hint: 'Raise `--timeout`, or `timeoutMs` and `totalMs` of the call, if it needs longer.',
    cause,
  })
}
