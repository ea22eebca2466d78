// call.ts: one call of one tool, from the name to the result: resolve, validate, permission, hooks, connect if needed,
// request with progress and cancel, URL elicitation and retry, result policy, hooks, audit. It knows no transport: the
// board plugs in how a server is reached, and the connection keeps calls that may not overlap in order.
import { Cancelled, InvalidInput, NotFound, PermissionDenied, PlugboardError, ToolError } from '../errors.ts'
import type { Host } from '../host.ts'
import { type ElicitationPorts, elicit, type Hooks } from '../interaction/index.ts'
import { TOOL_LIMITS } from '../limits.ts'
import {
  type AuditEvent,
  type AuditLog,
  explainDecision,
  type PermissionGate,
  type Standing,
  type ToolRequest,
  type Verdict,
} from '../permissions/index.ts'
import { unfitArguments } from './arguments.ts'
import { isRecord } from './json.ts'
import { presentResult, type ToolResult } from './result.ts'
import { resultFiles } from './result-files.ts'
import { type BoundTool, type CallContext, issueText, type Progress } from './tool.ts'

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
}

/** What the board plugs in. */
export interface CallPorts {
  readonly host: Host
  /** The session of a connected server, or a promise of it after connecting. */
  connect(server: string, signal?: AbortSignal): ToolSession | Promise<ToolSession>
  standing(server: string): Standing
  readonly gate: PermissionGate
  /** The tool definitions that were accepted before. */
  readonly accepted?: AcceptedTools | undefined
  readonly hooks?: Hooks | undefined
  readonly elicitation?: ElicitationPorts | undefined
  /** Resolves when the server has said that what happened behind the URL is done. Without it the call is retried at once. */
  readonly urlDone?:
    | ((server: string, elicitationId: string, signal?: AbortSignal) => Promise<void>)
    | undefined
  readonly audit?: AuditLog | undefined
  /** Where long and binary parts of results are saved. */
  readonly resultsFolder: string
}

/** Knows which definitions somebody has agreed to use; a tool that changed since is asked about again. */
export interface AcceptedTools {
  /** What differs from the accepted definition, line by line; nothing when it is the same, or new. */
  changes(tool: BoundTool): readonly string[] | undefined | Promise<readonly string[] | undefined>
  accept(tool: BoundTool): void
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
  const started = ports.host.now()
  let verdict: Verdict | undefined
  let sent = args
  try {
    if (context.signal?.aborted) throw new Cancelled()
    validate(tool, args)
    verdict = await permit(ports, tool, args, context)
    sent = await hooksBefore(ports, tool, args, context)
    const session = await ports.connect(tool.server, context.signal)
    const raw = await requestWithRetry(ports, session, tool, sent, context)
    const result = await present(ports, tool, raw, context)
    const seen = await hooksAfter(ports, tool, sent, result, context)
    audit(ports, tool, sent, context, verdict, seen.isError ? 'tool-error' : 'ok', started)
    return seen
  } catch (raw) {
    const error = asOurs(raw, tool, context.signal)
    await hooksAfterFailure(ports, tool, sent, error, context)
    audit(ports, tool, sent, context, verdict ?? refusalOf(error), outcomeOf(error), started, error.code)
    throw error
  }
}

/**
 * A call on behalf of a client that reads the answer itself: permitted, hooked and written down like any other, but the
 * answer is passed on whole. Whether the arguments fit is the server's to say, in its own words.
 */
export async function passTool(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext,
  send: (args: Args) => Promise<Readonly<Record<string, unknown>>>,
): Promise<Readonly<Record<string, unknown>>> {
  const started = ports.host.now()
  let verdict: Verdict | undefined
  let sent = args
  try {
    if (context.signal?.aborted) throw new Cancelled()
    verdict = await permit(ports, tool, args, context)
    sent = await hooksBefore(ports, tool, args, context)
    const result = await send(sent)
    const seen = await hooksAfterPassing(ports, tool, sent, result, context)
    audit(ports, tool, sent, context, verdict, seen.isError === true ? 'tool-error' : 'ok', started)
    return seen
  } catch (raw) {
    const error = asOurs(raw, tool, context.signal)
    await hooksAfterFailure(ports, tool, sent, error, context)
    audit(ports, tool, sent, context, verdict ?? refusalOf(error), outcomeOf(error), started, error.code)
    throw error
  }
}

async function hooksAfterPassing(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  result: Readonly<Record<string, unknown>>,
  context: CallContext,
): Promise<Readonly<Record<string, unknown>>> {
  const { content, structuredContent } = result
  if (result.isError === true || !ports.hooks?.has('PostToolUse')) return result
  const after = await ports.hooks.after(hooked(tool, args), { content, structuredContent }, context.signal)
  if (after.output === undefined && after.context.length === 0) return result
  const kept = after.output === undefined && Array.isArray(content) ? content : []
  const replaced = after.output === undefined ? [] : blocksOf(after.output)
  const added = after.context.map((text) => ({ type: 'text', text }))
  return { ...result, content: [...kept, ...replaced, ...added] }
}

function validate(tool: BoundTool, args: unknown): void {
  const unfit = unfitArguments(args)
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
      hint: `Run \`plugboard tools ${tool.server}\` to see what it takes.`,
    },
  )
}

/** The tool as a question about permission. */
export function permissionRequest(tool: BoundTool): ToolRequest {
  return {
    server: tool.server,
    tool: tool.definition.name,
    name: tool.name,
    traits: tool.traits,
    trusted: tool.trusted,
    ...(tool.builtinAllows && { builtin: { allowedTools: tool.builtinAllows } }),
  }
}

async function permit(ports: CallPorts, tool: BoundTool, args: Args, context: CallContext): Promise<Verdict> {
  const known = ports.accepted?.changes(tool)
  const changes = known instanceof Promise ? await known : known
  const request = changes ? { ...permissionRequest(tool), changes } : permissionRequest(tool)
  const standing = ports.standing(tool.server)
  const caller = context.caller ?? 'agent'
  const verdict =
    ports.gate.quick(request, standing, caller) ??
    (await ports.gate.check(request, standing, caller, args, context.signal))
  if (verdict.outcome === 'allow') {
    // A client in front of a served board answers for itself, not for the user of this one.
    if (caller !== 'client') ports.accepted?.accept(tool)
    return verdict
  }
  throw new Refused(explainDecision(request, verdict), tool.server, verdict)
}

/** Carries the decision to the audit log. */
class Refused extends PermissionDenied {
  readonly verdict: Verdict
  constructor(message: string, server: string, verdict: Verdict) {
    super(message, { server, stage: 'call', hint: wayOut(verdict) })
    this.verdict = verdict
  }
}

/** What would let the call through, where there is something. */
function wayOut({ reason }: Verdict): string | undefined {
  if (reason.kind === 'rule' || reason.kind === 'channel') return 'What is written there has to change first.'
  if (reason.kind === 'nobody')
    return 'Allow it beforehand: a rule under `permissions.allow` in your own settings.'
  return undefined
}

async function hooksBefore(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  context: CallContext,
): Promise<Args> {
  if (!ports.hooks?.has('PreToolUse')) return args
  const before = await ports.hooks.before(hooked(tool, args), context.signal)
  if (context.signal?.aborted) throw new Cancelled()
  if (before.kind === 'refuse') {
    const reason = { kind: 'hook', text: before.reason, source: before.source } as const
    throw new Refused(
      `${tool.server}.${tool.definition.name} was refused by a hook: ${before.reason} (${before.source}).`,
      tool.server,
      { outcome: 'deny', reason },
    )
  }
  // What a hook made of the arguments has to fit as well.
  if (before.changed) validate(tool, before.arguments)
  return before.arguments
}

async function requestWithRetry(
  ports: CallPorts,
  session: ToolSession,
  tool: BoundTool,
  args: Args,
  context: CallContext,
): Promise<unknown> {
  for (let round = 1; ; round++) {
    try {
      return await session.callTool(tool.definition.name, args, context)
    } catch (error) {
      const urls = urlElicitations(error)
      if (urls.length === 0 || !ports.elicitation || round > TOOL_LIMITS.urlElicitationRounds) throw error
      for (const url of urls) await sendToUrl(ports, ports.elicitation, tool, url, context)
    }
  }
}

interface RequiredUrl {
  readonly url: string
  readonly message: string
  readonly elicitationId?: string
}

const URL_ELICITATION_REQUIRED = -32042

/** JSON-RPC's own code says that the server wants the user at a URL first; it may be wrapped once or twice. */
function urlElicitations(error: unknown): readonly RequiredUrl[] {
  let at: unknown = error
  for (let depth = 0; depth < 4 && typeof at === 'object' && at !== null; depth++) {
    const { code, data, cause } = at as { code?: unknown; data?: unknown; cause?: unknown }
    if (code === URL_ELICITATION_REQUIRED && isRecord(data) && Array.isArray(data.elicitations))
      return data.elicitations.slice(0, 10).flatMap((item: unknown) =>
        isRecord(item) && typeof item.url === 'string'
          ? [
              {
                url: item.url,
                message: typeof item.message === 'string' ? item.message : '',
                ...(typeof item.elicitationId === 'string' && { elicitationId: item.elicitationId }),
              },
            ]
          : [],
      )
    at = cause
  }
  return []
}

async function sendToUrl(
  ports: CallPorts,
  elicitation: ElicitationPorts,
  tool: BoundTool,
  required: RequiredUrl,
  context: CallContext,
): Promise<void> {
  const answer = await elicit(
    { mode: 'url', server: tool.server, ...required, retry: true },
    elicitation,
    context.signal,
  )
  if (answer.action !== 'accept')
    throw new PermissionDenied(
      `${tool.server}.${tool.definition.name} needs you to open ${hostOf(required.url)}, and that was not done.`,
      {
        server: tool.server,
        stage: 'call',
      },
    )
  if (required.elicitationId !== undefined && !answer.done)
    await ports.urlDone?.(tool.server, required.elicitationId, context.signal)
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'a URL'
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
  })
  if (result.structuredContent === undefined || tool.outputJsonSchema === undefined) return result
  const verdict = tool.checkOutput(result.structuredContent)
  if (verdict.kind !== 'invalid') return result
  const warning = `The structured content does not fit the tool's own output schema: ${issueText(verdict)}.`
  return { ...result, warnings: [...result.warnings, warning] }
}

async function hooksAfter(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  result: ToolResult,
  context: CallContext,
): Promise<ToolResult> {
  const event = result.isError ? 'PostToolUseFailure' : 'PostToolUse'
  if (!ports.hooks?.has(event)) return result
  const { content, structuredContent } = result
  const after = result.isError
    ? await ports.hooks.afterFailure(
        hooked(tool, args),
        { code: 'TOOL_ERROR', message: firstText(result) },
        context.signal,
      )
    : await ports.hooks.after(hooked(tool, args), { content, structuredContent }, context.signal)
  const replaced = after.output === undefined ? content : blocksOf(after.output)
  const added = after.context.map((text) => ({ type: 'text', text }) as const)
  return added.length === 0 && replaced === content ? result : { ...result, content: [...replaced, ...added] }
}

async function hooksAfterFailure(
  ports: CallPorts,
  tool: BoundTool,
  args: Args,
  error: PlugboardError,
  context: CallContext,
): Promise<void> {
  if (!ports.hooks?.has('PostToolUseFailure') || error instanceof Refused) return
  await ports.hooks.afterFailure(
    hooked(tool, args),
    { code: error.code, message: error.message },
    context.signal,
  )
}

function hooked(tool: BoundTool, args: Args) {
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
