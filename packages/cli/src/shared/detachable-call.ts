// detachable-call.ts: a call that may become a task: its state while it runs, a record of it, and what the user is told after
// Ctrl-C. The record is there as soon as the task is, so that it also survives a command that was killed.
import type { Board, TaskState, Tool } from '@plugboard/core'
import { isPlugboardError } from '@plugboard/core/errors'
import type { Progress } from '@plugboard/core/tools'
import type { Invocation } from '../context.ts'
import { isTerminal } from '../streams.ts'
import { oneLine } from './one-line.ts'
import { entryHash, type TaskRecord, TaskRecords } from './task-records.ts'

export class DetachableCall {
  readonly #invocation: Invocation
  readonly #tool: Tool
  readonly #records: TaskRecords
  readonly #serverLives: boolean
  #record: Promise<TaskRecord | undefined> | undefined
  readonly #isAwaited: boolean
  #said = ''

  constructor(invocation: Invocation, board: Board, tool: Tool, known?: TaskRecord) {
    this.#invocation = invocation
    this.#tool = tool
    this.#records = new TaskRecords(invocation.host)
    const type = board.servers().find(({ name }) => name === tool.mcpInfo.serverName)?.type
    // A process that this command started ends with it, and its tasks do too.
    const isOurs = 'link' in board && invocation.runsIn === undefined
    this.#serverLives = !isOurs || (type !== undefined && REMOTE.has(type))
    this.#isAwaited = known !== undefined
    if (known) this.#record = Promise.resolve(known)
  }

  /** Only a user at a terminal can come back for it. */
  get detachable(): boolean {
    return this.#serverLives && isTerminal(0) && isTerminal(2)
  }

  /** The state of the task, as lines where no line can be redrawn. */
  progress({ task }: Progress): void {
    if (!task) return
    this.#record ??= this.#added(task).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      this.#invocation.output.note(oneLine(`The task cannot be recorded: ${why}`, 300))
      return undefined
    })
    const line = `Task of ${this.#tool.mcpInfo.serverName}: ${stateText(task)}`
    if (line === this.#said || isTerminal(2)) return
    this.#said = line
    this.#invocation.output.note(oneLine(line, 300))
  }

  /** The call ended: true when its task goes on. */
  async ended(error?: unknown): Promise<boolean> {
    const record = await this.#record
    if (!record) return false
    const code = isPlugboardError(error) ? error.code : undefined
    // The time limit of a call cancels its task; that of a command that only waits does not.
    const isLeft = code === 'CANCELLED' || (code === 'TIMEOUT' && this.#isAwaited)
    // A connection that was lost says nothing about the task.
    const isOpen = code === 'IO_ERROR' || code === 'INIT_ERROR'
    const goesOn = isOpen || (isLeft && (this.detachable || this.#isAwaited))
    if (!goesOn) await this.#records.remove(record.id)
    else
      this.#invocation.output.note(
        `Detached: ${record.server}.${record.tool} goes on. \`plugboard tasks ${record.id}\` waits for its result, \`plugboard tasks ${record.id} --cancel\` ends it.`,
      )
    return goesOn
  }

  async #added({ taskId, ttlMs }: TaskState): Promise<TaskRecord | undefined> {
    const { host, cwd } = this.#invocation
    const { serverName, toolName } = this.#tool.mcpInfo
    const { servers } = await this.#invocation.configuration()
    const server = servers.find(({ name }) => name === serverName)
    // A server that is in no file cannot be named later.
    if (!server || !this.#serverLives) return undefined
    return await this.#records.add({
      server: serverName,
      tool: toolName,
      taskId,
      entry: entryHash(server),
      cwd,
      ...(ttlMs !== undefined && { expiresAt: host.now() + ttlMs }),
    })
  }
}

const REMOTE: ReadonlySet<string> = new Set(['http', 'sse', 'ws'])

export function stateText({ status, statusMessage }: TaskState): string {
  const said = statusMessage === undefined ? '' : `: ${statusMessage}`
  return `${status.replace('_', ' ')}${said}`
}
