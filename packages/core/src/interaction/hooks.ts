// hooks.ts: the user's own code around calls and elicitations: functions, or commands that get JSON on standard input
// and respond with JSON. A hook may refuse, change input or output, and respond to elicitations; it never grants.

import { coversServer, coversTool } from '../config/rule-matcher.ts'
import { type ParsedRule, parseRule, type RuleUse, ruleSpelling } from '../config/rule-syntax.ts'
import type { Host } from '../host.ts'
import { isObject, own } from '../json.ts'
import { HOOK_LIMITS } from '../limits.ts'
import type { Elicitation, ElicitationAnswer, RawAnswer } from './elicitation.ts'
import { runCommandHook } from './hook-command.ts'
import { type HookRun, refuses, runOf, specific } from './hook-decision.ts'
import { compilePattern } from './pattern.ts'

export const HOOK_EVENTS = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'Elicitation',
  'ElicitationResult',
] as const
export type HookEvent = (typeof HOOK_EVENTS)[number]

/** The input of a hook; the names are those that hook authors know. */
export interface HookInput {
  readonly hook_event_name: HookEvent
  readonly [field: string]: unknown
}

export type HookFunction = (input: HookInput, signal?: AbortSignal) => unknown

/** A program or function that is run around calls of tools. */
export interface Hook {
  readonly event: HookEvent
  /**
   * A regular expression over the whole tool name (or server name, for elicitations), or a rule such as
   * `files.get_*`. Every spelling of the tool is tried. `*` or an empty matcher means all.
   */
  readonly matcher?: string
  readonly run:
    | {
        readonly kind: 'command'
        readonly command: string
        readonly timeoutMs?: number
        /** The folder it starts in; the board's, when left out. */
        readonly cwd?: string
      }
    | { readonly kind: 'function'; readonly call: HookFunction }
  /** The file it comes from, for messages. */
  readonly source?: string
}

export interface HooksOptions {
  readonly host: Host
  readonly cwd?: string
  readonly warn?: (message: string) => void
  /** Told of every hook that ran. */
  readonly onRun?: ((run: HookRun) => void) | undefined
}

/** One tool call as hooks see it. */
export interface HookedCall {
  readonly name: string
  readonly server: string
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
}

export type BeforeCall =
  | { readonly kind: 'go'; readonly arguments: Readonly<Record<string, unknown>>; readonly changed: boolean }
  | { readonly kind: 'refuse'; readonly reason: string; readonly source: string }

export interface AfterCall {
  /** Replaces the server's whole result. */
  readonly output?: unknown
  /** Added for the model. */
  readonly context: readonly string[]
}

/** The outcome of one hook. */
export type HookResult =
  | { readonly kind: 'output'; readonly output: Readonly<Record<string, unknown>> }
  | { readonly kind: 'decline'; readonly reason: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly problem: string }

interface Ready {
  readonly hook: Hook
  matches(target: HookTarget): boolean
}

/** What a matcher is compared with: a tool, or a server that sends an elicitation. */
interface HookTarget {
  readonly server: string
  readonly tool?: string
  /** The registry's name of the tool. */
  readonly name?: string
}

export class Hooks {
  #ready: ReadonlyMap<HookEvent, readonly Ready[]> = new Map()
  readonly #options: HooksOptions

  constructor(hooks: readonly Hook[], options: HooksOptions) {
    this.#options = options
    this.replace(hooks)
  }

  /** Replaces the hooks; a running call keeps those it started with. */
  replace(hooks: readonly Hook[]): void {
    const ready = new Map<HookEvent, Ready[]>()
    for (const hook of hooks) {
      const list = ready.get(hook.event) ?? []
      if (list.length >= HOOK_LIMITS.perEvent) continue
      list.push({ hook, matches: matcherOf(hook, this.#options.warn) })
      ready.set(hook.event, list)
    }
    this.#ready = ready
  }

  /** A cheap check before building the input of a hook. */
  has(event: HookEvent): boolean {
    return this.#ready.has(event)
  }

  /** In order; each sees what the one before changed, and the first refusal ends it. */
  async before(call: HookedCall, signal?: AbortSignal): Promise<BeforeCall> {
    let args = call.arguments
    let changed = false
    for (const { hook } of this.#for('PreToolUse', call)) {
      const result = await this.#run(hook, { ...hookInput(call, 'PreToolUse'), tool_input: args }, signal)
      if (result.kind === 'decline') return refusal(hook, result.reason)
      if (result.kind !== 'output') continue
      const decision = specific(result.output)
      if (refuses(decision)) return refusal(hook, decision.permissionDecisionReason ?? decision.reason)
      if (isObject(decision.updatedInput)) {
        args = decision.updatedInput
        changed = true
      }
    }
    return { kind: 'go', arguments: args, changed }
  }

  async after(call: HookedCall, response: unknown, signal?: AbortSignal): Promise<AfterCall> {
    let output: unknown
    const context: string[] = []
    for (const { hook } of this.#for('PostToolUse', call)) {
      const input = {
        ...hookInput(call, 'PostToolUse'),
        tool_response: output === undefined ? response : output,
      }
      const result = await this.#run(hook, input, signal)
      if (result.kind === 'decline') context.push(result.reason)
      if (result.kind !== 'output') continue
      const specificOutput = specific(result.output)
      if (specificOutput.updatedToolOutput !== undefined) output = specificOutput.updatedToolOutput
      for (const text of [
        specificOutput.additionalContext,
        specificOutput.decision === 'block' ? specificOutput.reason : undefined,
      ])
        if (typeof text === 'string' && text !== '') context.push(text)
    }
    return { context, ...(output !== undefined && { output }) }
  }

  async afterFailure(
    call: HookedCall,
    error: { code: string; message: string },
    signal?: AbortSignal,
  ): Promise<AfterCall> {
    const context: string[] = []
    let output: unknown
    for (const { hook } of this.#for('PostToolUseFailure', call)) {
      const message = typeof output === 'string' ? output : error.message
      const input = { ...hookInput(call, 'PostToolUseFailure'), error: message, error_code: error.code }
      const result = await this.#run(hook, input, signal)
      if (result.kind !== 'output') continue
      const specificOutput = specific(result.output)
      if (specificOutput.updatedToolOutput !== undefined) output = specificOutput.updatedToolOutput
      const text = specificOutput.additionalContext
      if (typeof text === 'string' && text !== '') context.push(text)
    }
    return { context, ...(output !== undefined && { output }) }
  }

  /** The first hook that responds decides. */
  async elicitation(request: Elicitation, signal?: AbortSignal): Promise<RawAnswer | undefined> {
    return this.#answer('Elicitation', request.server, asked(request), signal)
  }

  async elicitationResult(
    request: Elicitation,
    answer: ElicitationAnswer,
    signal?: AbortSignal,
  ): Promise<RawAnswer | undefined> {
    return this.#answer('ElicitationResult', request.server, { ...asked(request), ...answer }, signal)
  }

  async #answer(
    event: 'Elicitation' | 'ElicitationResult',
    server: string,
    fields: Record<string, unknown>,
    signal: AbortSignal | undefined,
  ): Promise<RawAnswer | undefined> {
    for (const { hook } of this.#for(event, { server })) {
      const result = await this.#run(hook, { hook_event_name: event, ...fields }, signal)
      if (result.kind === 'decline') return { action: 'decline' }
      if (result.kind !== 'output') continue
      const { action, content } = specific(result.output)
      if (action === 'accept' || action === 'decline' || action === 'cancel')
        return { action, ...(content !== undefined && { content }) }
    }
    return undefined
  }

  #for(event: HookEvent, target: HookTarget): readonly Ready[] {
    return (this.#ready.get(event) ?? []).filter((ready) => ready.matches(target))
  }

  /** Whether a hook of this event would run for the tool. */
  concerns(event: HookEvent, tool: Omit<HookedCall, 'arguments'>): boolean {
    return this.#for(event, tool).length > 0
  }

  async #run(hook: Hook, input: HookInput, signal: AbortSignal | undefined): Promise<HookResult> {
    const { onRun, host } = this.#options
    const started = onRun ? host.now() : 0
    const result = await this.#outcome(hook, input, signal)
    onRun?.(runOf(hook, input, result, host.now() - started))
    return result
  }

  async #outcome(hook: Hook, input: HookInput, signal: AbortSignal | undefined): Promise<HookResult> {
    const result =
      hook.run.kind === 'command'
        ? await runCommandHook(
            hook.run.command,
            { ...input, ...(this.#options.cwd !== undefined && { cwd: this.#options.cwd }) },
            {
              host: this.#options.host,
              timeoutMs: hook.run.timeoutMs ?? HOOK_LIMITS.timeoutMs,
              cwd: hook.run.cwd ?? this.#options.cwd,
              signal,
            },
          )
        : await runFunction(hook.run.call, input, signal)
    if (result.kind === 'failed')
      this.#options.warn?.(
        `The ${hook.event} hook${hook.source ? ` of ${hook.source}` : ''} ${result.problem}.`,
      )
    return result
  }
}

async function runFunction(call: HookFunction, input: HookInput, signal?: AbortSignal): Promise<HookResult> {
  try {
    const output = await call(input, signal)
    return isObject(output) ? { kind: 'output', output } : { kind: 'nothing' }
  } catch (error) {
    return { kind: 'failed', problem: `threw: ${error instanceof Error ? error.message : String(error)}` }
  }
}

function refusal(hook: Hook, reason: unknown): BeforeCall {
  const text = typeof reason === 'string' && reason.trim() !== '' ? reason.trim() : 'a hook refused the call'
  return { kind: 'refuse', reason: text.slice(0, 2000), source: hook.source ?? 'a PreToolUse hook' }
}

function hookInput(call: HookedCall, event: HookEvent): HookInput {
  return {
    hook_event_name: event,
    tool_name: call.name,
    tool_input: call.arguments,
    mcp_server_name: call.server,
    mcp_tool_name: call.tool,
  }
}

function asked(request: Elicitation): Record<string, unknown> {
  return {
    mcp_server_name: request.server,
    message: request.message,
    mode: request.mode,
    ...(request.mode === 'url'
      ? { url: request.url, elicitation_id: request.elicitationId }
      : { requested_schema: request.schema }),
  }
}

/** A hook around calls may be a guard: when its matcher is in doubt it runs. One for elicitations does not. */
function matcherOf(
  { event, matcher }: Hook,
  warn?: (message: string) => void,
): (target: HookTarget) => boolean {
  if (matcher === undefined || matcher === '' || matcher === '*') return () => true
  const guards = event !== 'Elicitation' && event !== 'ElicitationResult'
  const use = guards ? 'restrict' : 'expose'
  const parts = matcher.split('|')
  const rules = parts.map((part) => parseRule(part.trim(), use)).filter((rule) => rule.ok)
  const compiled = matcher.length > HOOK_LIMITS.matcherChars ? undefined : compilePattern(`^(?:${matcher})$`)
  if (!compiled?.ok && rules.length < parts.length) {
    const shown = JSON.stringify(matcher.slice(0, 80))
    const meanwhile = guards ? 'until it is repaired, its hook runs for every call' : 'its hook never runs'
    warn?.(`The hook matcher ${shown} is not a pattern; ${meanwhile}.`)
    return () => guards
  }
  return (target) =>
    rules.some((rule) => coversTarget(rule, target, use)) ||
    spellings(target).some((name) => {
      const match = compiled?.ok ? compiled.pattern.test(name) : 'no'
      return match === 'yes' || (match === 'too-slow' && guards)
    })
}

function coversTarget(rule: ParsedRule, { server, tool, name }: HookTarget, use: RuleUse): boolean {
  if (tool === undefined) return coversServer(rule, server, use)
  return coversTool(rule, { server, tool, name }, use)
}

/** The registry's name, the name before it was shortened or got a suffix, and the server's own name. */
function spellings({ server, tool, name }: HookTarget): string[] {
  const spelled = ruleSpelling(server)
  if (tool === undefined) return [server, `mcp__${spelled}`]
  return [
    ...(name === undefined ? [] : [name]),
    `mcp__${spelled}__${ruleSpelling(tool)}`,
    `mcp__${server}__${tool}`,
    `${server}.${tool}`,
  ]
}

/** Parses the `hooks` of a settings file: `{ PreToolUse: [{ matcher, hooks: [{ type, command, timeout }] }] }`. */
export function readHooks(
  raw: unknown,
  source: string,
  /** The folder its commands start in; the board's, when left out. */
  cwd?: string,
): { hooks: readonly Hook[]; warnings: readonly string[] } {
  const hooks: Hook[] = []
  const warnings: string[] = []
  if (raw === undefined) return { hooks, warnings }
  if (!isObject(raw)) return { hooks, warnings: [`"hooks" in ${source} is not an object.`] }
  for (const event of HOOK_EVENTS) {
    const groups = own(raw, event)
    if (groups === undefined) continue
    if (!Array.isArray(groups)) {
      warnings.push(`"hooks.${event}" in ${source} is not a list.`)
      continue
    }
    for (const group of groups as unknown[]) {
      const list = isObject(group) && Array.isArray(group.hooks) ? (group.hooks as unknown[]) : []
      if (list.length === 0) warnings.push(`An entry under "hooks.${event}" in ${source} has no hooks.`)
      for (const one of list) {
        if (!isObject(one) || one.type !== 'command' || typeof one.command !== 'string') {
          warnings.push(`A hook under "hooks.${event}" in ${source} is not a command.`)
          continue
        }
        const seconds = typeof one.timeout === 'number' && one.timeout > 0 ? one.timeout : undefined
        const matcher = isObject(group) && typeof group.matcher === 'string' ? group.matcher : undefined
        hooks.push({
          event,
          source,
          ...(matcher !== undefined && { matcher }),
          run: {
            kind: 'command',
            command: one.command,
            ...(cwd !== undefined && { cwd }),
            ...(seconds !== undefined && { timeoutMs: seconds * 1000 }),
          },
        })
      }
    }
  }
  return { hooks, warnings }
}
