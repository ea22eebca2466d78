// hook-decision.ts: what the output of a hook means, and a hook that ran as a recording shows it. hooks.ts runs them and acts on it.
import { isObject, own } from '../json.ts'
import type { Hook, HookEvent, HookInput, HookResult } from './hooks.ts'

type Output = Readonly<Record<string, unknown>>

/** A hook that ran: which one, for what, what it decided and how long it took. */
export interface HookRun {
  readonly event: HookEvent
  readonly server: string
  /** Of a call; not of an elicitation. */
  readonly tool?: string
  /** The shell line; a function has none. */
  readonly command?: string
  /** The file it comes from. */
  readonly source?: string
  readonly decision: HookDecision
  /** Of a refusal or a failure. */
  readonly reason?: string
  readonly durationMs: number
  /** The arguments of the call as objects: before the hook, and as it left them. They say to which call it belongs. */
  readonly arguments?: object
  readonly changedArguments?: object
}

/** `passed`: it had nothing to say. */
export type HookDecision = 'passed' | 'refused' | 'changed' | 'added' | 'answered' | 'failed'

/** The output of a hook; `hookSpecificOutput` wins over the fields beside it. */
export function specific(output: Output): Output {
  const inner = own(output, 'hookSpecificOutput')
  return isObject(inner) ? { ...output, ...inner } : output
}

/** Whether the output of a PreToolUse hook refuses the call. */
export function refuses({ permissionDecision, decision, continue: goesOn }: Output): boolean {
  const verdict = permissionDecision ?? decision
  return verdict === 'deny' || verdict === 'block' || goesOn === false
}

export function runOf(
  { event, run, source }: Hook,
  input: HookInput,
  result: HookResult,
  durationMs: number,
): HookRun {
  const output = result.kind === 'output' ? specific(result.output) : {}
  const reason = reasonOf(result, output)
  const { mcp_server_name: server, mcp_tool_name: tool, tool_input: args } = input
  return {
    event,
    server: String(server),
    decision: decisionOf(event, result.kind, output),
    durationMs: Math.max(0, durationMs),
    ...(run.kind === 'command' && { command: run.command }),
    ...(source !== undefined && { source }),
    ...(reason !== undefined && { reason }),
    ...(typeof tool === 'string' && { tool }),
    ...(isObject(args) && { arguments: args }),
    ...(event === 'PreToolUse' && isObject(output.updatedInput) && { changedArguments: output.updatedInput }),
  }
}

function reasonOf(result: HookResult, output: Output): string | undefined {
  if (result.kind === 'failed') return result.problem
  const said = result.kind === 'decline' ? result.reason : (output.permissionDecisionReason ?? output.reason)
  return typeof said === 'string' && said.trim() !== '' ? said.trim() : undefined
}

function decisionOf(event: HookEvent, kind: HookResult['kind'], output: Output): HookDecision {
  if (kind === 'failed') return 'failed'
  if (kind === 'nothing') return 'passed'
  switch (event) {
    case 'Elicitation':
    case 'ElicitationResult':
      return kind === 'decline' || typeof output.action === 'string' ? 'answered' : 'passed'
    case 'PreToolUse':
      if (kind === 'decline' || refuses(output)) return 'refused'
      return isObject(output.updatedInput) ? 'changed' : 'passed'
    case 'PostToolUse':
    case 'PostToolUseFailure':
      if (output.updatedToolOutput !== undefined) return 'changed'
      return addsText(event, kind, output) ? 'added' : 'passed'
  }
}

function addsText(event: HookEvent, kind: HookResult['kind'], output: Output): boolean {
  const isAfter = event === 'PostToolUse'
  if (kind === 'decline') return isAfter
  const { additionalContext, decision, reason } = output
  return [additionalContext, isAfter && decision === 'block' ? reason : undefined].some(
    (text) => typeof text === 'string' && text !== '',
  )
}
