// call.ts: one call of one tool, from the name to the result: resolve, validate, permission, hooks, connect if
// needed, request with progress and cancel, result policy, hooks, audit. It knows no transport: the board provides
// how a server is reached, and the connection orders calls that may not overlap.
import { Cancelled, InvalidInput, NotFound, PlugboardError, ToolError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Hooks } from '../interaction/index.ts'
import type { AuditEvent, AuditLog, GateDecision } from '../permissions/index.ts'
import { argumentErrors } from './argument-errors.ts'
import { hooksAfter, hooksAfterFailure, hooksBefore } from './call-hooks.ts'
import { type PermitPorts, permit, Refused } from './permit.ts'
import { presentResult, type ToolResult } from './result.ts'
import { resultFiles } from './result-files.ts'
import { type BoundTool, type CallContext, issueText, type Progress } from './tool.ts'
import { retryAfterUrlElicitation, type UrlElicitationPorts } from './url-elicitation-retry.ts'

export type Args = Readonly<Record<string, unknown>>

/** A connected server, as far as a call needs it. */
export interface ToolSession {
  /** Sends `tools/call` and returns the result as it came. Rejects with the error of the family, or with JSON-RPC's code. */
  callTool(tool: string, args: Args, options: RequestOptions): Promise<unknown>
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly timeoutMs?: number | undefined
  readonly totalMs?: number | undefined
}

/** What the board provides. */
export interface CallPorts extends PermitPorts, UrlElicitationPorts {
  readonly host: Host
  /** The session of a connected server, or a promise of it after connecting. */
  connect(server: string, signal?: AbortSignal): ToolSession | Promise<ToolSession>
  readonly hooks?: Hooks | undefined
  readonly audit?: AuditLog | undefined
  /** Where long and binary parts of results are saved. */
  readonly resultsFolder: string
}

export type Resolution =
  | { readonly kind: 'found'; readonly tool: BoundTool }
  | { readonly kind: 'none' }
  | { readonly kind: 'ambiguous'; readonly names: readonly string[] }

/** For callers that know a name instead of a tool. */
export interface NamedCallPorts extends CallPorts {
  resolve(name: string): Resolution
}

export function callByName(
  ports: NamedCallPorts,
  name: string,
  args: Args,
  context: CallContext = {},
): Promise<ToolResult> {
  const found = ports.resolve(name)
  if (found.kind === 'found') return callTool(ports, found.tool, args, context)
  const hint =
    found.kind === 'ambiguous'
      ? `It could be any of ${found.names.join(', ')}.`
      : 'Run `plugboard tools` to see the names.'
  return Promise.reject(new NotFound('tool', name, { stage: 'call', hint }))
}

export async function callTool(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext = {},
): Promise<ToolResult> {
  const { signal } = context
  return await supervised(ports, tool, args, context, {
    check: () => validate(tool, args),
    send: async (sent) => {
      const session = await ports.connect(tool.server, signal)
      const answer = await retryAfterUrlElicitation(ports, tool, signal, () =>
        session.callTool(tool.definition.name, sent, context),
      )
      const raw = await hooksAfter({ hooks: ports.hooks, tool, args: sent, signal }, answer)
      return await present(ports, tool, raw, context)
    },
  })
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
): Promise<Readonly<Record<string, unknown>>> {
  return await supervised(ports, tool, args, context, {
    check: () => undefined,
    send: async (sent) => {
      const answer = await send(sent)
      const raw = await hooksAfter({ hooks: ports.hooks, tool, args: sent, signal: context.signal }, answer)
      return raw as Readonly<Record<string, unknown>> // an object went in, so an object comes out
    },
  })
}

/** The steps of every call, whatever reads the result: permission, hooks, one family of errors, the audit log. */
async function supervised<R extends { readonly isError?: unknown }>(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext,
  call: { readonly check: () => void; readonly send: (args: Args) => Promise<R> },
): Promise<R> {
  const { signal } = context
  const { hooks } = ports
  const started = ports.host.now()
  let verdict: GateDecision | undefined
  let sent = args
  try {
    if (signal?.aborted) throw new Cancelled()
    call.check()
    verdict = await permit(ports, tool, args, context)
    const before = await hooksBefore({ hooks, tool, args, signal })
    // Arguments that a hook changed are validated as well.
    if (before.changed) validate(tool, before.arguments)
    sent = before.arguments
    const result = await call.send(sent)
    audit(ports, tool, sent, context, verdict, result.isError === true ? 'tool-error' : 'ok', started)
    return result
  } catch (raw) {
    const error = await hooksAfterFailure({ hooks, tool, args: sent, signal }, asOurs(raw, tool, signal))
    audit(ports, tool, sent, context, verdict ?? refusalOf(error), outcomeOf(error), started, error.code)
    throw error
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

function audit(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext,
  decision: AuditEvent['decision'],
  outcome: AuditEvent['outcome'],
  started: number,
  error?: string,
): void {
  ports.audit?.record({
    server: tool.server,
    tool: tool.definition.name,
    caller: context.caller ?? 'agent',
    decision,
    outcome,
    durationMs: ports.host.now() - started,
    arguments: args,
    ...(error !== undefined && { error }),
  })
}
