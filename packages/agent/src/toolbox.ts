// toolbox.ts: the tools of a run: which of them a request offers, and how the calls of one turn are made.
// The loop knows only the interface, so that a recording can stand in for a board.
import { cancellable } from '@plugboard/core/async/waits'
import { isPlugboardError } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import type { OfferedTool, Progress } from '@plugboard/core/tools'
import type { Emit, ToolFigures } from './events.ts'
import { AGENT_LIMITS } from './limits.ts'
import { type CallResult, type ContentBlock, type ToolCall, textResult } from './messages.ts'

/** The tools of one request to a model. */
export interface OfferedTools {
  readonly tools: readonly OfferedTool[]
  readonly figures: ToolFigures
  /** What the model should know about the servers now; goes with the system prompt. */
  readonly notes: string
}

/** The outcome of the calls of one turn. */
export interface Batch {
  readonly results: readonly CallResult[]
  /** The run was stopped; an unfinished call says so. */
  readonly aborted: boolean
}

/** What the loop needs of tools: offer them, run calls. */
export interface Toolbox {
  offer(contextTokens: number, signal: AbortSignal): Promise<OfferedTools>
  /** Makes the calls of one turn; the results are in the order of the calls. */
  run(calls: readonly ToolCall[], emit: Emit, signal: AbortSignal): Promise<Batch>
}

/** What one call gave. */
export interface CallOutcome {
  readonly isError: boolean
  readonly content: readonly ContentBlock[]
}

/** What a tool is called with besides its arguments. */
export interface ToolCallContext {
  readonly id: string
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
  readonly emit: Emit
}

/** A tool that this program brings itself, beside those of the board. */
export interface AgentTool extends OfferedTool {
  readonly title?: string
  /** May run beside other calls of the same turn. */
  readonly concurrencySafe: boolean
  call(args: Readonly<Record<string, unknown>>, context: ToolCallContext): Promise<CallOutcome>
}

const PROGRESS_MS = 50

/** Makes the calls of a turn: neighbours that may overlap side by side, the others one after another. */
export async function runCalls(
  calls: readonly ToolCall[],
  find: (name: string) => AgentTool | undefined,
  { host, emit, signal }: { readonly host: Host; readonly emit: Emit; readonly signal: AbortSignal },
): Promise<Batch> {
  const results = new Map<ToolCall, CallResult>()
  const one = async (call: ToolCall) => {
    results.set(call, await runOne(call, find(call.name), { host, emit, signal }))
  }
  const taken = calls.slice(0, AGENT_LIMITS.callsPerTurn)
  for (const group of groups(taken, (call) => find(call.name)?.concurrencySafe === true)) {
    const queue = [...group]
    const worker = async () => {
      for (let call = queue.shift(); call; call = queue.shift()) await one(call)
    }
    await Promise.all(Array.from({ length: Math.min(group.length, AGENT_LIMITS.parallelCalls) }, worker))
  }
  const tooMany = `Not called: one turn allows at most ${AGENT_LIMITS.callsPerTurn} calls. Call it again if you still need it.`
  return {
    results: calls.map((call) => results.get(call) ?? textResult(call, tooMany, true)),
    aborted: signal.aborted,
  }
}

/** Runs of calls that may overlap; every other call is a group of its own. */
export function groups<T>(calls: readonly T[], overlaps: (call: T) => boolean): T[][] {
  const made: { readonly calls: T[]; readonly open: boolean }[] = []
  for (const call of calls) {
    const open = overlaps(call)
    const last = made.at(-1)
    if (open && last?.open) last.calls.push(call)
    else made.push({ calls: [call], open })
  }
  return made.map((group) => group.calls)
}

async function runOne(
  call: ToolCall,
  tool: AgentTool | undefined,
  { host, emit, signal }: { readonly host: Host; readonly emit: Emit; readonly signal: AbortSignal },
): Promise<CallResult> {
  const { id, name } = call
  if (signal.aborted) return interrupted(call)
  const began = host.now()
  emit({ type: 'tool-start', id, name, title: tool?.title ?? name, arguments: call.arguments })
  let last = 0
  let open = true
  const onProgress = ({ progress, total, message }: Progress) => {
    const now = host.now()
    // A server may report progress as often as it likes; the user cannot read that fast.
    if (!open || (now - last < PROGRESS_MS && progress !== total)) return
    last = now
    emit({
      type: 'tool-progress',
      id,
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    })
  }
  const result = await outcome(call, tool, { id, signal, onProgress, emit })
  open = false
  const durationMs = Math.max(0, Math.round(host.now() - began))
  emit({ type: 'tool-end', id, name, isError: result.isError, durationMs, content: result.content })
  return result
}

/** A call never throws: every failure becomes a result that the model can read. */
async function outcome(
  call: ToolCall,
  tool: AgentTool | undefined,
  context: ToolCallContext,
): Promise<CallResult> {
  if (call.problem !== undefined) return textResult(call, call.problem, true)
  if (!tool) return textResult(call, `There is no tool named "${call.name}".`, true)
  try {
    const { isError, content } = await cancellable(tool.call(call.arguments, context), context.signal)
    return { id: call.id, name: call.name, isError, content }
  } catch (error) {
    if (context.signal.aborted) return interrupted(call)
    return textResult(call, errorText(error), true)
  }
}

function interrupted(call: ToolCall): CallResult {
  return textResult(call, 'The user stopped this call.', true)
}

export function errorText(error: unknown): string {
  if (isPlugboardError(error)) return error.shellHint ? `${error.message} ${error.shellHint}` : error.message
  return error instanceof Error ? error.message : String(error)
}
