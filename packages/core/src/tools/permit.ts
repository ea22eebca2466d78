// permit.ts: may this tool be called now? Builds the request for the permissions layer, with what changed since the
// tool was accepted, and turns a refusal into a helpful error. The permissions layer prompts the user.
import { PermissionDenied } from '../errors.ts'
import {
  type Decision,
  explainDecision,
  type GateDecision,
  type PermissionGate,
  type Standing,
  type ToolRequest,
} from '../permissions/index.ts'
import type { BoundTool, CallContext } from './tool.ts'

/** Knows which definitions were accepted; a tool that changed since needs permission again. */
export interface AcceptedTools {
  /** What differs from the accepted definition, line by line; undefined when it is the same, or new. */
  changes(tool: BoundTool): readonly string[] | undefined | Promise<readonly string[] | undefined>
  accept(tool: BoundTool): void
}

export interface PermitPorts {
  standing(server: string): Standing
  readonly gate: PermissionGate
  /** The tool definitions accepted before. */
  readonly accepted?: AcceptedTools | undefined
  /** Why a built-in server requires a prompt for these arguments, if so. */
  readonly builtinAsks?:
    | ((server: string, tool: string, args: Readonly<Record<string, unknown>>) => Promise<string | undefined>)
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

export async function permit(
  ports: PermitPorts,
  tool: BoundTool,
  args: Readonly<Record<string, unknown>>,
  context: CallContext,
): Promise<GateDecision> {
  const known = ports.accepted?.changes(tool)
  const changes = known instanceof Promise ? await known : known
  const asked = permissionRequest(tool, args)
  const asks = asked.builtin && (await ports.builtinAsks?.(tool.server, tool.definition.name, args))
  const request: ToolRequest = {
    ...asked,
    ...(changes && { changes }),
    ...(asked.builtin && asks !== undefined && { builtin: { ...asked.builtin, asks } }),
  }
  const standing = ports.standing(tool.server)
  const caller = context.caller ?? 'agent'
  const who = { caller, client: context.client }
  const verdict =
    ports.gate.quick(request, standing, who) ??
    (await ports.gate.check(request, standing, who, args, context.signal))
  if (verdict.outcome === 'allow') {
    // A client of a served board consents for itself, not for the user of this board.
    if (caller !== 'client') ports.accepted?.accept(tool)
    return verdict
  }
  throw new Refused(explainDecision(request, verdict), tool.server, verdict)
}

/** Carries the decision to the audit log. */
export class Refused extends PermissionDenied {
  readonly verdict: GateDecision
  constructor(message: string, server: string, verdict: GateDecision) {
    super(message, {
      server,
      stage: 'call',
      hint: wayOut(verdict),
      ...(verdict.reason.kind === 'no-user' && { programHint: NO_USER }),
    })
    this.verdict = verdict
  }
}

const NO_USER =
  "Open the board with an `ask` function, with a rule in `rules.allow`, or with `caller: 'user'` when the user asked for the call."

/** What would allow the call, where there is something. */
export function wayOut({ reason }: Decision): string | undefined {
  if (reason.kind === 'rule' || reason.kind === 'channel') return 'To allow it, change that rule or entry.'
  if (reason.kind === 'no-user')
    return 'Allow it in advance with a rule under `permissions.allow` in your own settings.'
  return undefined
}
