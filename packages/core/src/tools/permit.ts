// permit.ts: may this tool be called now? Builds the request for the permissions layer, with what changed since the
// tool was accepted, and turns a refusal into a helpful error. The permissions layer prompts the user.
import { PermissionDenied } from '../errors.ts'
import {
  type Decision,
  explainDecision,
  type GateDecision,
  type PermissionGate,
  type Requester,
  type ServerPermissions,
  type ToolRequest,
} from '../permissions/index.ts'
import type { CallPreview } from '../text/question-text.ts'
import type { BoundTool, CallContext } from './tool.ts'

/** Knows which definitions were accepted; a tool that changed since needs permission again. */
export interface AcceptedTools {
  /** What differs from the accepted definition, line by line; undefined when it is the same, or new. */
  changes(tool: BoundTool): readonly string[] | undefined | Promise<readonly string[] | undefined>
  accept(tool: BoundTool): void
}

export interface PermitPorts {
  standing(server: string): ServerPermissions
  readonly gate: PermissionGate
  /** The tool definitions accepted before. */
  readonly accepted?: AcceptedTools | undefined
  /** Why a built-in server requires a prompt for these arguments, if so. */
  readonly builtinAsks?:
    | ((server: string, tool: string, args: Readonly<Record<string, unknown>>) => Promise<string | undefined>)
    | undefined
  /** What a call of a built-in server would do, for the prompt. */
  readonly builtinPreview?:
    | ((
        server: string,
        tool: string,
        args: Readonly<Record<string, unknown>>,
      ) => Promise<CallPreview | undefined>)
    | undefined
}

/** The tool as a permission request. */
export function permissionRequest(tool: BoundTool, args?: Readonly<Record<string, unknown>>): ToolRequest {
  const { title = tool.definition.annotations?.title, annotations } = tool.definition
  return {
    server: tool.server,
    tool: tool.definition.name,
    name: tool.name,
    traits: tool.traits,
    ...(args && { arguments: args }),
    ...(title !== undefined && { title }),
    ...(annotations?.destructiveHint === true && { saysDestructive: true }),
    ...(tool.builtinAllows && { builtin: { allowedTools: tool.builtinAllows } }),
  }
}

/** At once where the decision is known; otherwise the definitions, a built-in server or the user are asked first. */
export function permit(
  ports: PermitPorts,
  tool: BoundTool,
  args: Readonly<Record<string, unknown>>,
  context: CallContext,
): GateDecision | Promise<GateDecision> {
  const changes = ports.accepted?.changes(tool)
  if (changes instanceof Promise || changes || tool.builtinAllows)
    return permitSlowly(ports, tool, args, context, changes)
  const standing = ports.standing(tool.server)
  const who = requester(context)
  const known = ports.gate.recall(tool, standing, who)
  if (known) return known
  const request = permissionRequest(tool, args)
  const verdict = ports.gate.quick(request, standing, who)
  if (!verdict) return permitSlowly(ports, tool, args, context, undefined)
  const allowed = allowedOnly(request, verdict)
  accepted(ports, tool, who)
  ports.gate.remember(tool, standing, who, allowed)
  return allowed
}

async function permitSlowly(
  ports: PermitPorts,
  tool: BoundTool,
  args: Readonly<Record<string, unknown>>,
  context: CallContext,
  known: ReturnType<AcceptedTools['changes']>,
): Promise<GateDecision> {
  const changes = await known
  const asked = permissionRequest(tool, args)
  const asks = asked.builtin && (await ports.builtinAsks?.(tool.server, tool.definition.name, args))
  const request: ToolRequest = {
    ...asked,
    ...(changes && { changes }),
    ...(asked.builtin && asks !== undefined && { builtin: { ...asked.builtin, asks } }),
  }
  const standing = ports.standing(tool.server)
  const who = requester(context)
  const verdict =
    ports.gate.quick(request, standing, who) ??
    (await promptedVerdict(ports, request, standing, who, context))
  const allowed = allowedOnly(request, verdict)
  accepted(ports, tool, who)
  return allowed
}

/** With what the call would do; one that cannot be done is not asked about. */
async function promptedVerdict(
  ports: PermitPorts,
  request: ToolRequest,
  standing: ServerPermissions,
  who: Requester,
  { signal }: CallContext,
): Promise<GateDecision> {
  const args = request.arguments ?? {}
  const preview = request.builtin && (await ports.builtinPreview?.(request.server, request.tool, args))
  if (preview?.fails !== undefined)
    return { outcome: 'allow', reason: { kind: 'builtin', text: 'it cannot be done, and only says why' } }
  return await ports.gate.check({ ...request, ...(preview && { preview }) }, standing, who, args, signal)
}

function requester({ caller = 'agent', client }: CallContext): Requester {
  return { caller, client }
}

function allowedOnly(request: ToolRequest, verdict: GateDecision): GateDecision {
  if (verdict.outcome === 'allow') return verdict
  throw new Refused(explainDecision(request, verdict), request.server, verdict)
}

function accepted(ports: PermitPorts, tool: BoundTool, { caller }: Requester): void {
  // A client of a served board consents for itself, not for the user of this board.
  if (caller !== 'client') ports.accepted?.accept(tool)
}

/** Carries the decision to the audit log. */
export class Refused extends PermissionDenied {
  readonly verdict: GateDecision
  constructor(message: string, server: string, verdict: GateDecision) {
    super(message, {
      server,
      stage: 'call',
      hint: permissionHint(verdict),
      ...(verdict.reason.kind === 'no-user' && { programHint: NO_USER }),
    })
    this.verdict = verdict
  }
}

const NO_USER =
  "Open the board with an `ask` function, with a rule in `rules.allow`, or with `caller: 'user'` when the user asked for the call."

/** What would allow the call, where there is something. */
export function permissionHint({ reason }: Decision): string | undefined {
  if (reason.kind === 'rule' || reason.kind === 'channel') return 'To allow it, change that rule or entry.'
  if (reason.kind === 'no-user')
    return 'Allow it in advance with a rule under `permissions.allow` in your own settings.'
  return undefined
}
