// call: one tool, once. Its arguments are typed by the tool's own schema; progress and questions are shown on a
// terminal, and Ctrl-C reaches the server before the command ends. A call that became a task is left running by it.
import type { Board, CallContext, Tool } from '@plugboard/core'
import { isPlugboardError } from '@plugboard/core/errors'
import { TOOL_LIMITS } from '@plugboard/core/limits'
import { nearest } from '@plugboard/core/text/nearest'
import type { Invocation } from '../context.ts'
import { EXIT } from '../output.ts'
import { readArguments, unknownArguments } from '../shared/arguments.ts'
import { type CallTarget, callTarget, isAdHoc, onlyToolNamed } from '../shared/call-target.ts'
import { DetachableCall } from '../shared/detachable-call.ts'
import { noteAbsent } from '../shared/missing-servers.ts'
import { oneLine } from '../shared/one-line.ts'
import { argumentFiles, readStdin } from '../shared/stdin.ts'
import { connectTimeout, timeoutOption } from '../shared/timeouts.ts'
import { isTerminal } from '../streams.ts'
import { ProgressLine } from '../terminal/progress.ts'
import { userPromptOptions } from '../terminal/terminal-prompts.ts'
import { GLOBAL_OPTIONS } from '../verb-spec.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'
import { addAdHocServer } from './ad-hoc-server.ts'
import { hasApp, offerApp } from './offer-app.ts'
import { printCall } from './print-result.ts'

export async function run(invocation: Invocation): Promise<number> {
  const words = [...invocation.positionals, ...invocation.rest]
  const [first = ''] = words
  const isOther = isAdHoc(first)
  const adHoc = isOther ? await addAdHocServer(invocation, needTool(words)) : undefined
  // Only a user at a terminal can be asked for an approval; without one the files are left to the board.
  if (!isOther && isTerminal(0) && isTerminal(2)) await offerApprovalFor(invocation, words)
  const given = invocation.option('args')
  const usesStdin = given === '-' || words.some((word) => word.endsWith('=@-'))
  const text = given === '-' ? await readStdin(TOOL_LIMITS.argumentBytes) : given
  const line = new ProgressLine(invocation.output)
  const prompts = usesStdin ? {} : userPromptOptions(invocation, line)
  return withBoard(
    invocation,
    async (opened) => {
      const { board, signal } = opened
      const target = callTarget(
        words,
        board.servers().map(({ name }) => name),
      )
      let tool: Tool | undefined
      let call: DetachableCall | undefined
      try {
        tool = await findTarget(invocation, opened, target, adHoc)
        const args = await readArguments({
          words: target.typed,
          given: text,
          schema: tool.inputJsonSchema,
          readFile: argumentFiles(invocation.cwd, TOOL_LIMITS.argumentBytes),
          options: ownOptions(invocation),
        })
        noteStrangers(invocation, args, tool)
        await noteChange(invocation, board, tool)
        line.start(`${tool.mcpInfo.serverName}.${tool.mcpInfo.toolName}`)
        announce(invocation, tool)
        call = new DetachableCall(invocation, board, tool)
        const started = performance.now()
        const result = await board.call(tool.name, args, callContext(invocation, signal, line, call))
        line.end()
        await call.ended()
        await printCall(invocation, tool, result, performance.now() - started)
        if (hasApp(tool)) await offerApp(invocation, tool, args)
        return result.isError ? EXIT.toolError : EXIT.done
      } catch (error) {
        line.end()
        const goesOn = await call?.ended(error)
        if (isPlugboardError(error) && error.code === 'CANCELLED') {
          if (goesOn) return EXIT.interrupted
          await flushCancellation(board, tool)
        }
        noteHiddenTools(invocation, board, target, error, prompts.elicit !== undefined)
        throw error
      }
    },
    prompts,
  )
}

/** To a command whose verb runs in the resident process: whether it may be sent again if that ends. */
function announce({ runsIn }: Invocation, tool: Tool): void {
  const { serverName: server, toolName } = tool.mcpInfo
  runsIn?.calling({ server, tool: toolName, repeatable: tool.isReadOnly() || tool.isIdempotent() })
}

/** The server of `call SERVER TOOL …`; a tool has to follow it. */
function needTool(words: readonly string[]): string {
  const target = callTarget(words, [])
  return target.kind === 'ad-hoc' ? target.server : ''
}

/** A server of the project that the words name, and that waits for the user's approval. */
async function offerApprovalFor(invocation: Invocation, words: readonly string[]): Promise<void> {
  const { servers } = await invocation.configuration()
  const target = callTarget(
    words,
    servers.map(({ name }) => name),
  )
  if (target.kind !== 'named') return
  const waiting = servers.find(({ name, disabled }) => disabled?.kind === 'trust' && names(target.name, name))
  if (waiting) await (await import('../config-verbs/approve.ts')).offerApproval(invocation, waiting.name)
}

function names(tool: string, server: string): boolean {
  return tool.startsWith(`${server}.`) || tool.startsWith(`mcp__${server}__`)
}

/** The tool that the words name; of a bare name, the one server that has it. */
async function findTarget(
  invocation: Invocation,
  opened: OpenedBoard,
  target: CallTarget,
  adHoc: string | undefined,
): Promise<Tool> {
  const { board, signal } = opened
  if (target.kind === 'named') return await board.tool(target.name, { signal })
  if (target.kind === 'ad-hoc') return await board.tool(`${adHoc}.${target.tool}`, { signal })
  await board.ready({ signal, timeoutMs: await connectTimeout(invocation), start: 'unlisted' })
  try {
    // As its server lists it now.
    return await board.tool(onlyToolNamed(board, target.tool).name, { signal })
  } catch (error) {
    noteAbsent(invocation, board)
    throw error
  }
}

function callContext(
  invocation: Invocation,
  signal: AbortSignal,
  line: ProgressLine,
  call: DetachableCall,
): CallContext {
  const timeoutMs = timeoutOption(invocation)
  return {
    caller: 'user',
    signal,
    ...(call.detachable && { detachable: true }),
    onProgress: (progress) => {
      line.progress(progress)
      call.progress(progress)
    },
    // What the user typed is the limit: progress does not extend it.
    ...(timeoutMs !== undefined && { timeoutMs, totalMs: timeoutMs }),
    // Only a user at a terminal gets shortened output.
    ...((invocation.flag('full') || invocation.output.json || !isTerminal(1)) && {
      maxResultChars: Number.POSITIVE_INFINITY,
      keepAnswer: true,
    }),
  }
}

function ownOptions({ verbs }: Invocation): readonly string[] {
  const verb = verbs.find(({ name }) => name === 'call')
  return Object.keys({ ...GLOBAL_OPTIONS, ...verb?.options })
}

function noteHiddenTools(
  invocation: Invocation,
  board: Board,
  target: CallTarget,
  error: unknown,
  canAsk: boolean,
): void {
  if (!isPlugboardError(error) || error.code !== 'TOOL_NOT_FOUND' || !error.server || canAsk) return
  if (isSlip(target.kind === 'named' ? target.name : target.tool, board)) return
  invocation.output.note(
    'Some servers hide tools when there is no terminal on which the user can answer their questions.',
  )
}

/** Whether the name is nearly that of a known tool. */
function isSlip(name: string, board: Board): boolean {
  const names = board
    .tools()
    .flatMap(({ name, mcpInfo }) => [name, mcpInfo.toolName, `${mcpInfo.serverName}.${mcpInfo.toolName}`])
  return nearest(name, names) !== undefined
}

/** Most schemas accept any argument, and most servers drop unknown ones: a typo would go unseen. */
function noteStrangers(invocation: Invocation, args: Readonly<Record<string, unknown>>, tool: Tool): void {
  const { yellow } = invocation.output.errorColor
  const { serverName, toolName } = tool.mcpInfo
  const { unknown, known } = unknownArguments(args, tool.inputJsonSchema)
  if (unknown.length > 0)
    invocation.output.note(
      yellow(
        oneLine(
          `${serverName}.${toolName} has no argument ${unknown.join(', ')}; it takes ${known.join(', ')}.`,
          400,
        ),
      ),
    )
}

/** The user's own call is consent, but a tool that has changed is worth a warning. */
async function noteChange(invocation: Invocation, board: Board, tool: Tool): Promise<void> {
  const { serverName, toolName } = tool.mcpInfo
  const changes = await board.changedTools(serverName)
  const mine = changes.find((change) => change.kind === 'changed' && change.tool === toolName)
  if (mine?.kind !== 'changed') return
  const { yellow, dim } = invocation.output.errorColor
  invocation.output.note(yellow(`${serverName}.${toolName} has changed since you last used it:`))
  for (const line of mine.lines.slice(0, 20)) invocation.output.note(dim(`  ${oneLine(line, 200)}`))
}

const SEEN_MS = 300

/** A server that answers has read everything sent before the ping, the cancellation included. */
async function flushCancellation(board: Board, tool: Tool | undefined): Promise<void> {
  if (!tool?.available) return
  // Whatever it answers, it has read; a server that does not answer is not waited for.
  await board.ping(tool.mcpInfo.serverName, { timeoutMs: SEEN_MS }).catch(() => undefined)
}
