// tasks: the tasks that calls left behind: lists them, waits for the result of one, shows its state or cancels it. The server is
// asked again, by the same entry.
import type { CallContext, ToolResult } from '@plugboard/core'
import { InvalidInput, isPlugboardError } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'
import { EXIT, table } from '../output.ts'
import { DetachableCall, stateText } from '../shared/detachable-call.ts'
import { oneLine } from '../shared/one-line.ts'
import { entryHash, type TaskRecord, TaskRecords } from '../shared/task-records.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { isTerminal } from '../streams.ts'
import { ProgressLine } from '../terminal/progress.ts'
import { userPromptOptions } from '../terminal/terminal-prompts.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'
import { printCall } from './print-result.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [id, ...more] = [...invocation.positionals, ...invocation.rest]
  if (more.length > 0)
    throw new InvalidInput(`One task at a time: ${id}.`, { hint: `Usage: ${invocation.usage}` })
  const records = new TaskRecords(invocation.host)
  if (id === undefined) return await list(invocation, records)
  const record = await records.find(id)
  if (!record)
    throw new InvalidInput(`There is no task "${id}".`, {
      hint: '`plugboard tasks` lists those that calls left behind. A task that its server has dropped is not among them.',
    })
  await mustBeSameServer(invocation, record)
  const line = new ProgressLine(invocation.output)
  return await withBoard(
    invocation,
    async (opened) => {
      if (invocation.flag('cancel')) return await cancel(invocation, opened, record, records)
      if (invocation.flag('status')) return await status(invocation, opened, record)
      return await wait(invocation, opened, record, line)
    },
    userPromptOptions(invocation, line),
  )
}

async function list({ output, host }: Invocation, records: TaskRecords): Promise<number> {
  const tasks = await records.list()
  const rows = () =>
    tasks.map(({ id, server, tool, startedAt, expiresAt }) => [
      output.color.bold(id),
      oneLine(`${server}.${tool}`, 60),
      `${minutes(host.now() - startedAt)} ago`,
      output.color.dim(expiresAt === undefined ? '' : `kept for ${minutes(expiresAt - host.now())} more`),
    ])
  output.result({ tasks: tasks.map(({ entry: _, ...task }) => task) }, () => table(rows()))
  if (tasks.length === 0) output.note('No call left a task behind.')
  return EXIT.done
}

function minutes(ms: number): string {
  if (ms < 60_000) return `${Math.max(0, Math.round(ms / 1000))} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

/** Another server of the same name is not asked about the task. */
async function mustBeSameServer(
  invocation: Invocation,
  { server, entry, cwd, id }: TaskRecord,
): Promise<void> {
  const { servers } = await invocation.configuration()
  const found = servers.find(({ name }) => name === server)
  if (found && entryHash(found) === entry) return
  throw new InvalidInput(
    found
      ? `The entry of "${server}" is another one than that of task ${id}.`
      : `Task ${id} belongs to "${server}", which is not configured here.`,
    { hint: `The call was made in ${cwd}: use \`--cwd\`, and the same configuration.` },
  )
}

async function cancel(
  { output }: Invocation,
  { board, signal }: OpenedBoard,
  { id, server, tool, taskId }: TaskRecord,
  records: TaskRecords,
): Promise<number> {
  await board.cancelTask(server, taskId, { signal })
  await records.remove(id)
  output.result({ id, server, tool, cancelled: true }, () => `${server} was told to cancel ${tool}.`)
  return EXIT.done
}

async function status(
  { output }: Invocation,
  { board, signal }: OpenedBoard,
  { id, server, tool, taskId }: TaskRecord,
): Promise<number> {
  const state = await board.taskState(server, taskId, { signal })
  output.result({ id, server, tool, ...state }, () => oneLine(`${server}.${tool} ${stateText(state)}`, 400))
  return EXIT.done
}

async function wait(
  invocation: Invocation,
  { board, signal }: OpenedBoard,
  record: TaskRecord,
  line: ProgressLine,
): Promise<number> {
  const tool = await board.tool(`${record.server}.${record.tool}`, { signal })
  const call = new DetachableCall(invocation, board, tool, record)
  const timeoutMs = timeoutOption(invocation)
  const context: CallContext = {
    caller: 'user',
    signal,
    detachable: true,
    onProgress: (progress) => {
      line.progress(progress)
      call.progress(progress)
    },
    ...(timeoutMs !== undefined && { timeoutMs, totalMs: timeoutMs }),
    ...((invocation.flag('full') || invocation.output.json || !isTerminal(1)) && {
      maxResultChars: Number.POSITIVE_INFINITY,
      keepAnswer: true,
    }),
  }
  line.start(`${record.server}.${record.tool}`)
  const started = performance.now()
  let result: ToolResult
  try {
    result = await board.awaitTask(tool.name, record.taskId, context)
  } catch (error) {
    line.end()
    const goesOn = await call.ended(error)
    if (goesOn && isPlugboardError(error) && error.code === 'CANCELLED') return EXIT.interrupted
    throw error
  }
  line.end()
  await call.ended()
  await printCall(invocation, tool, result, performance.now() - started)
  return result.isError ? EXIT.toolError : EXIT.done
}
