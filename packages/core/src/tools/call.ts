// call.ts: one call of one tool, from its arguments to its result: validate, permission, hooks, send, result policy,
// hooks, audit. It knows no transport: the board provides how a server is reached, and the connection orders calls that
// may not overlap.
import type { Cancellation } from '../async/waits.ts'
import { Cancelled, InvalidInput, PlugboardError, ToolError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Hooks } from '../interaction/index.ts'
import type { AuditEvent, AuditLog, GateDecision } from '../permissions/index.ts'
import { argumentErrors } from './argument-limits.ts'
import { hooksAfter, hooksAfterFailure, hooksBefore } from './call-hooks.ts'
import { type PermitPorts, permit, Refused } from './permit.ts'
import { plainResult, presentResult, type ToolResult } from './result.ts'
import { resultFiles } from './result-files.ts'
import { type BoundTool, type CallContext, issueText, type Progress } from './tool.ts'
import { afterUrlElicitation, type UrlElicitationPorts } from './url-elicitation-retry.ts'

/** Arguments of a call. */
export type Args = Readonly<Record<string, unknown>>

/** How a call is sent. */
export interface SendOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly timeoutMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly detachable?: boolean | undefined
}

/** What the board provides. */
export interface CallPorts extends PermitPorts, UrlElicitationPorts {
  readonly host: Host
  /**
   * Sends `tools/call`, connecting the server first if needed, and returns the result as it came. Rejects with the
   * error of the family, or with JSON-RPC's code.
   */
  send(tool: BoundTool, args: Args, options: SendOptions): Promise<unknown>
  readonly hooks?: Hooks | undefined
  readonly audit?: AuditLog | undefined
  /** Where long and binary parts of results are saved. */
  readonly resultsFolder: string
}

/** What a name of a tool led to. */
export type ToolLookup =
  | { readonly kind: 'found'; readonly tool: BoundTool }
  | { readonly kind: 'none' }
  | { readonly kind: 'ambiguous'; readonly names: readonly string[] }

/**
 * A step that has its answer at once is not awaited: an ordinary call (allowed by a known decision, without hooks,
 * with a text as its result) waits for its server and for nothing else.
 */
export async function callTool(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext = {},
): Promise<ToolResult> {
  const call = new SupervisedCall(ports, tool, args, context)
  try {
    if (context.signal?.aborted) throw new Cancelled()
    validate(tool, args)
    const admitted = call.admit()
    if (admitted) await admitted
    let answer: unknown
    try {
      const sent = ports.send(tool, call.args, context)
      call.sent()
      answer = await sent
    } catch (error) {
      const again = () => ports.send(tool, call.args, context)
      answer = await afterUrlElicitation(ports, tool, context.signal, error, again)
    }
    const raw = call.hasHooksAfter ? await call.hooksAfter(answer) : answer
    const result =
      plainResult(raw, context.maxResultChars ?? tool.maxResultSizeChars, context.keepAnswer) ??
      (await present(ports, tool, raw, context))
    const written = call.succeeded(result.isError)
    if (written) await written
    return result
  } catch (error) {
    throw await call.failed(error)
  }
}

/** The result of a call that was permitted and sent earlier, by another caller perhaps: hooks see it as any other. */
export async function lateResult(
  ports: CallPorts,
  tool: BoundTool,
  context: CallContext,
  get: () => Promise<unknown>,
): Promise<ToolResult> {
  const call = new SupervisedCall(ports, tool, {}, context)
  try {
    const answer = await get()
    const raw = call.hasHooksAfter ? await call.hooksAfter(answer) : answer
    return await present(ports, tool, raw, context)
  } catch (error) {
    throw asOurs(error, tool, context.signal)
  }
}

/**
 * A call on behalf of a client that reads the result itself: permission, hooks and audit apply as to any other, but
 * the result is passed on whole. The server itself validates the arguments.
 */
export async function passTool(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext,
  send: (args: Args) => Promise<Readonly<Record<string, unknown>>>,
  /** Where there is one, the signal of the context is that one's. */
  cancellation?: Cancellation,
): Promise<Readonly<Record<string, unknown>>> {
  const call = new SupervisedCall(ports, tool, args, context)
  try {
    if (cancellation ? cancellation.cancelled : context.signal?.aborted) throw new Cancelled()
    const admitted = call.admit()
    if (admitted) await admitted
    const sent = send(call.args)
    call.sent()
    const answer = await sent
    // An object went in, so an object comes out.
    const raw = call.hasHooksAfter ? ((await call.hooksAfter(answer)) as typeof answer) : answer
    const written = call.succeeded(raw.isError === true)
    if (written) await written
    return raw
  } catch (error) {
    throw await call.failed(error)
  }
}

/** The steps of every call, whatever reads the result: permission, hooks, one family of errors, the audit log. */
class SupervisedCall {
  /** As a hook may have changed them. */
  args: Args
  readonly #ports: CallPorts
  readonly #tool: BoundTool
  readonly #context: CallContext
  readonly #started: number
  #verdict: GateDecision | undefined
  #shownArguments: string | undefined
  #isSent = false

  constructor(ports: CallPorts, tool: BoundTool, args: Args, context: CallContext) {
    this.#ports = ports
    this.#tool = tool
    this.args = args
    this.#context = context
    this.#started = ports.host.now()
  }

  get hasHooksAfter(): boolean {
    const { hooks } = this.#ports
    return hooks !== undefined && (hooks.has('PostToolUse') || hooks.has('PostToolUseFailure'))
  }

  /** Throws or rejects when the call may not be made; undefined when nothing has to be awaited. */
  admit(): Promise<void> | undefined {
    const verdict = permit(this.#ports, this.#tool, this.args, this.#context)
    if (verdict instanceof Promise || this.#ports.hooks?.has('PreToolUse')) return this.#admit(verdict)
    this.#verdict = verdict
    return undefined
  }

  async #admit(verdict: GateDecision | Promise<GateDecision>): Promise<void> {
    this.#verdict = await verdict
    const before = await hooksBefore(this.#hooked())
    // Arguments that a hook changed are validated as well.
    if (before.changed) validate(this.#tool, before.arguments)
    this.args = before.arguments
  }

  /** While the server works, what the audit log will show is made. */
  sent(): void {
    const { audit } = this.#ports
    this.#isSent = true
    audit?.expect()
    this.#shownArguments = audit?.shown(this.#tool.server, this.args)
  }

  hooksAfter(answer: unknown): Promise<unknown> {
    return hooksAfter(this.#hooked(), answer)
  }

  /** What to wait for, when the audit log has more lines to write than it keeps. */
  succeeded(isError: boolean): Promise<void> | undefined {
    // Without a verdict no call is sent.
    return this.#verdict && this.#record(this.#verdict, isError ? 'tool-error' : 'ok')
  }

  /** The error for the caller. */
  async failed(raw: unknown): Promise<PlugboardError> {
    const known = asOurs(raw, this.#tool, this.#context.signal)
    const error = await hooksAfterFailure(this.#hooked(), known)
    await this.#record(this.#verdict ?? refusalOf(error), outcomeOf(error), error.code)
    return error
  }

  #hooked() {
    const { hooks } = this.#ports
    return { hooks, tool: this.#tool, args: this.args, signal: this.#context.signal }
  }

  #record(
    decision: AuditEvent['decision'],
    outcome: AuditEvent['outcome'],
    error?: string,
  ): Promise<void> | undefined {
    const at = this.#ports.host.now()
    return this.#ports.audit?.record({
      server: this.#tool.server,
      tool: this.#tool.definition.name,
      caller: this.#context.caller ?? 'agent',
      user: this.#context.user,
      decision,
      outcome,
      durationMs: at - this.#started,
      at,
      arguments: this.args,
      shownArguments: this.#shownArguments,
      error,
      expected: this.#isSent,
    })
  }
}

function validate(tool: BoundTool, args: unknown): void {
  const unfit = argumentErrors(args)
  if (unfit !== undefined) throw badArguments(tool, unfit)
  const verdict = tool.checkArguments(args)
  if (verdict.kind === 'invalid') throw badArguments(tool, issueText(verdict))
}

function badArguments(tool: BoundTool, problem: string): InvalidInput {
  return new InvalidInput(
    `The arguments for ${tool.server}.${tool.definition.name} do not fit: ${problem}.`,
    {
      server: tool.server,
      stage: 'call',
      hint: `Run \`plugboard tools ${tool.server}.${tool.definition.name}\` to see what it takes.`,
    },
  )
}

async function present(
  ports: CallPorts,
  tool: BoundTool,
  raw: unknown,
  context: CallContext,
): Promise<ToolResult> {
  const files = resultFiles({
    folder: ports.resultsFolder,
    host: ports.host,
    server: tool.server,
    tool: tool.definition.name,
  })
  const result = await presentResult(raw, {
    maxChars: context.maxResultChars ?? tool.maxResultSizeChars,
    files,
    textStandsAlone: tool.builtinAllows !== undefined,
    ...(context.keepAnswer && { keepAnswer: true }),
  })
  if (result.structuredContent === undefined || tool.outputJsonSchema === undefined) return result
  const verdict = tool.checkOutput(result.structuredContent)
  if (verdict.kind !== 'invalid') return result
  const warning = `The structured content does not fit the tool's own output schema: ${issueText(verdict)}.`
  return { ...result, warnings: [...result.warnings, warning] }
}

function asOurs(error: unknown, tool: BoundTool, signal: AbortSignal | undefined): PlugboardError {
  if (error instanceof PlugboardError) return error
  if (signal?.aborted) return new Cancelled(undefined, { server: tool.server, stage: 'call', cause: error })
  const message = error instanceof Error ? error.message : String(error)
  return new ToolError(tool.definition.name, message, { server: tool.server, cause: error })
}

function refusalOf(error: PlugboardError): Pick<AuditEvent['decision'], 'outcome' | 'reason'> {
  if (error instanceof Refused) return error.verdict
  return { outcome: 'deny', reason: { kind: 'default', text: 'the call was not made' } }
}

function outcomeOf(error: PlugboardError): AuditEvent['outcome'] {
  if (error instanceof Refused || error.code === 'INVALID_INPUT') return 'refused'
  return error.code === 'CANCELLED' ? 'cancelled' : 'failed'
}
