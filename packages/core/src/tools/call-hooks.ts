// call-hooks.ts: what hooks make of a call: they may refuse it, change its arguments, and replace or add to its answer.
import { Cancelled, type PlugboardError } from '../errors.ts'
import type { Hooks } from '../interaction/index.ts'
import { isRecord } from './json.ts'
import { Refused } from './permit.ts'
import type { ToolResult } from './result.ts'
import type { BoundTool } from './tool.ts'

/** One call as the hooks see it. */
export interface HookedCall {
  readonly hooks: Hooks | undefined
  readonly tool: BoundTool
  readonly args: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal | undefined
}

/** The arguments to send; rejects when a hook refuses the call. */
export async function hooksBefore(
  call: HookedCall,
): Promise<{ readonly arguments: HookedCall['args']; readonly changed: boolean }> {
  const { hooks, tool, args, signal } = call
  if (!hooks?.has('PreToolUse')) return { arguments: args, changed: false }
  const before = await hooks.before(hooked(call), signal)
  if (signal?.aborted) throw new Cancelled()
  if (before.kind !== 'refuse') return before
  const reason = { kind: 'hook', text: before.reason, source: before.source } as const
  throw new Refused(
    `${tool.server}.${tool.definition.name} was refused by a hook: ${before.reason} (${before.source}).`,
    tool.server,
    { outcome: 'deny', reason },
  )
}

export async function hooksAfter(call: HookedCall, result: ToolResult): Promise<ToolResult> {
  const { hooks, signal } = call
  if (!hooks?.has(result.isError ? 'PostToolUseFailure' : 'PostToolUse')) return result
  const { content, structuredContent } = result
  const after = result.isError
    ? await hooks.afterFailure(hooked(call), { code: 'TOOL_ERROR', message: firstText(result) }, signal)
    : await hooks.after(hooked(call), { content, structuredContent }, signal)
  const replaced = after.output === undefined ? content : blocksOf(after.output)
  const added = after.context.map((text) => ({ type: 'text', text }) as const)
  if (added.length === 0 && replaced === content) return result
  const shown = [...replaced, ...added]
  if (replaced === content) {
    const { answer } = result
    const sent = answer && { answer: { ...answer, content: [...listed(answer.content), ...added] } }
    return { ...result, content: shown, ...sent }
  }
  // What a hook replaced is not handed on in another form.
  const { structuredContent: _structured, savedFiles: _saved, answer, meta: _meta, ...rest } = result
  return { ...rest, content: shown, savedFiles: [], ...(answer && { answer: { content: shown } }) }
}

/** The same for an answer that is passed on as it came. */
export async function hooksAfterPassing(
  call: HookedCall,
  result: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { content, structuredContent } = result
  if (result.isError === true || !call.hooks?.has('PostToolUse')) return result
  const after = await call.hooks.after(hooked(call), { content, structuredContent }, call.signal)
  if (after.output === undefined && after.context.length === 0) return result
  const added = after.context.map((text) => ({ type: 'text', text }))
  if (after.output === undefined) return { ...result, content: [...listed(content), ...added] }
  // What a hook replaced is not handed on in another form.
  const { structuredContent: _structured, _meta, ...rest } = result
  return { ...rest, content: [...blocksOf(after.output), ...added] }
}

function listed(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : []
}

export async function hooksAfterFailure(call: HookedCall, error: PlugboardError): Promise<void> {
  if (!call.hooks?.has('PostToolUseFailure') || error instanceof Refused) return
  await call.hooks.afterFailure(hooked(call), { code: error.code, message: error.message }, call.signal)
}

function hooked({ tool, args }: HookedCall) {
  return { name: tool.name, server: tool.server, tool: tool.definition.name, arguments: args }
}

/** A hook may answer with text or with blocks of text; anything else is shown as JSON. */
function blocksOf(output: unknown): ToolResult['content'] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  const list: unknown[] | undefined = Array.isArray(output)
    ? output
    : isRecord(output) && Array.isArray(output.content)
      ? output.content
      : undefined
  const texts = list?.flatMap((block) =>
    isRecord(block) && typeof block.text === 'string' ? [{ type: 'text', text: block.text } as const] : [],
  )
  return texts && texts.length > 0 ? texts : [{ type: 'text', text: JSON.stringify(output) ?? '' }]
}

function firstText(result: ToolResult): string {
  const block = result.content.find((one) => one.type === 'text')
  return block?.type === 'text' ? block.text.slice(0, 2000) : ''
}
