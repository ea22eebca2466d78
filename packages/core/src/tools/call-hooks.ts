// call-hooks.ts: the effect of hooks on a call: they may refuse it, change its arguments, and replace or extend its
// result. They see the server's result before any of it is shown, saved or passed on.
import { Cancelled, type PlugboardError, ToolError } from '../errors.ts'
import type { AfterCall, Hooks } from '../interaction/index.ts'
import { isObject } from '../json.ts'
import { Refused } from './permit.ts'
import type { BoundTool } from './tool.ts'

/** One call as the hooks see it. */
export interface HookedCall {
  readonly hooks: Hooks | undefined
  readonly tool: BoundTool
  readonly args: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal | undefined
}

type Answer = Readonly<Record<string, unknown>>

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

/** The server's result after the hooks. */
export async function hooksAfter(call: HookedCall, raw: unknown): Promise<unknown> {
  const { hooks, signal } = call
  const answer: Answer = isObject(raw) ? raw : {}
  const failed = answer.isError === true
  if (!hooks?.has(failed ? 'PostToolUseFailure' : 'PostToolUse')) return raw
  const { content, structuredContent } = answer
  const after = failed
    ? await hooks.afterFailure(hooked(call), { code: 'TOOL_ERROR', message: firstText(content) }, signal)
    : await hooks.after(hooked(call), isObject(raw) ? { content, structuredContent } : raw, signal)
  if (after.output === undefined && after.context.length === 0) return raw
  const added = after.context.map((text) => ({ type: 'text', text }))
  if (after.output !== undefined) return replaced(answer, after.output, added)
  return { ...answer, content: [...(Array.isArray(content) ? (content as unknown[]) : []), ...added] }
}

/**
 * A result of the hook alone. Nothing of the server's stays: a text that a hook removes from `content` would
 * otherwise remain in `structuredContent`, in `_meta` or in a field of a later protocol version.
 */
function replaced(answer: Answer, output: unknown, added: readonly object[]): Answer {
  const structured =
    isObject(output) && isObject(output.structuredContent) ? output.structuredContent : undefined
  return {
    content: [...blocksOf(output), ...added],
    ...(structured && { structuredContent: structured }),
    ...(answer.isError === true && { isError: true }),
    // Says only that the call is complete, which it still is.
    ...(answer.resultType === 'complete' && { resultType: 'complete' }),
  }
}

/** The error to throw: the original, or what a hook made of it. */
export async function hooksAfterFailure(call: HookedCall, error: PlugboardError): Promise<PlugboardError> {
  const { hooks, tool, signal } = call
  if (!hooks?.has('PostToolUseFailure') || error instanceof Refused) return error
  const { code, message } = error
  const after: AfterCall = await hooks.afterFailure(hooked(call), { code, message }, signal)
  if (after.output === undefined || !(error instanceof ToolError)) return error
  // Without its cause, which still contains the text that the hook removed.
  const text = blocksOf(after.output)
    .map((block) => block.text)
    .join('\n')
  return new ToolError(tool.definition.name, text, { server: tool.server })
}

function hooked({ tool, args }: HookedCall) {
  return { name: tool.name, server: tool.server, tool: tool.definition.name, arguments: args }
}

/** A hook may respond with text or with blocks of text; anything else is shown as JSON. */
function blocksOf(output: unknown): { readonly type: 'text'; readonly text: string }[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  const list: unknown[] | undefined = Array.isArray(output)
    ? output
    : isObject(output) && Array.isArray(output.content)
      ? output.content
      : undefined
  const texts = list?.flatMap((block) =>
    isObject(block) && typeof block.text === 'string' ? [{ type: 'text', text: block.text } as const] : [],
  )
  return texts && texts.length > 0 ? texts : [{ type: 'text', text: JSON.stringify(output) ?? '' }]
}

function firstText(content: unknown): string {
  const blocks = Array.isArray(content) ? (content as unknown[]) : []
  const block = blocks.find((one) => isObject(one) && one.type === 'text' && typeof one.text === 'string')
  return isObject(block) ? String(block.text).slice(0, 2000) : ''
}
