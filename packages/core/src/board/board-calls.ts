// board-calls.ts: connects the call pipeline of tools/ to one board: permissions, prompts, accepted definitions and the
// audit log. The steps of a call themselves are in tools/call.ts.
import { join } from 'node:path'
import type { AuditSettings } from '../config/settings.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Connection } from '../connection/connection.ts'
import { isObject, type Json } from '../connection/server-info.ts'
import { PermissionDenied } from '../errors.ts'
import type { Events } from '../events.ts'
import type { Host } from '../host.ts'
import type { ElicitationPorts, Hooks } from '../interaction/index.ts'
import { INTERACTION_LIMITS, RESULT_LIMITS } from '../limits.ts'
import {
  type AuditKeys,
  type AuditListener,
  AuditLog,
  auditKeys,
  type Caller,
  type Decision,
  decide,
  explainDecision,
  isOfUser,
  type PermissionAnswer,
  PermissionGate,
  type PermissionQuestion,
  type Rule,
  type ServerPermissions,
  type ToolRequest,
} from '../permissions/index.ts'
import { callTool, lateResult, passTool } from '../tools/call.ts'
import type { Args, BoundTool, CallContext, CallPorts, ToolActions, ToolResult } from '../tools/index.ts'
import { taskResult } from '../tools/legacy-tasks.ts'
import { permissionHint, permissionRequest } from '../tools/permit.ts'
import { pruneResults } from '../tools/result-files.ts'
import { callSender, type PassOptions, passedCallSender } from '../tools/send-call.ts'
import { AcceptedDefinitions } from './accepted-definitions.ts'
import { isExpected } from './servers.ts'
import { UrlElicitations } from './url-elicitations.ts'

export interface CallOptions {
  readonly host: Host
  readonly stateDir: string
  readonly events: Events
  readonly caller: Caller
  readonly ask?: ((question: PermissionQuestion) => Promise<PermissionAnswer>) | undefined
  readonly saveRule?: ((rule: string, signature?: string) => Promise<string>) | undefined
  readonly ruleFile?: string | undefined
  readonly askForClients?: boolean | undefined
  /** How much of the audit log is kept. */
  readonly audit?: AuditSettings | undefined
  readonly onAudit?: AuditListener | undefined
  readonly hooks: Hooks
  readonly elicitation?: ElicitationPorts | undefined
  readonly builtinAsks?: CallPorts['builtinAsks']
  readonly builtinPreview?: CallPorts['builtinPreview']
  server(name: string): ConfiguredServer | undefined
  /** The tool as its server lists it now, which is connected for that. */
  listed(tool: BoundTool, signal: AbortSignal | undefined): Promise<BoundTool>
  connection(name: string): Connection
}

export class Calls implements ToolActions {
  readonly #options: CallOptions
  readonly #ports: CallPorts
  readonly #gate: PermissionGate
  readonly #audit: AuditLog
  readonly #serverPermissions = new Map<string, ServerPermissions>()
  readonly #urls: UrlElicitations
  readonly accepted: AcceptedDefinitions
  /** Of a call whose caller says nothing about it. */
  readonly #usual: CallContext
  #rules: readonly Rule[] = []
  #pruning: Promise<unknown> | undefined

  constructor(options: CallOptions) {
    const { host, stateDir, events, hooks, elicitation } = options
    this.#options = options
    this.#usual = { caller: options.caller }
    const reportFailure = (what: string) => (error: unknown) =>
      events.emit('warning', { text: `${what}: ${error instanceof Error ? error.message : String(error)}` })
    this.accepted = new AcceptedDefinitions(
      join(stateDir, 'tools.lock.json'),
      reportFailure('Accepted tools could not be saved'),
    )
    this.#audit = new AuditLog({
      path: auditPath(stateDir),
      host,
      ...(options.audit?.maxBytes !== undefined && { fileBytes: options.audit.maxBytes }),
      ...(options.audit?.files !== undefined && { files: options.audit.files }),
      keys: auditKeysOf(host, stateDir),
      hideFor: (server) => hideOf(options, server),
      onLine: options.onAudit,
      onProblem: reportFailure('The audit log could not be written'),
    })
    this.#gate = new PermissionGate({
      ask: options.ask,
      save: options.saveRule,
      savesTo: () => options.ruleFile,
      askForClients: options.askForClients,
    })
    this.#urls = new UrlElicitations(host, events)
    this.#ports = {
      host,
      send: callSender(host, options.connection),
      standing: (server) => this.#permissionsOf(server),
      gate: this.#gate,
      accepted: this.accepted,
      builtinAsks: options.builtinAsks,
      builtinPreview: options.builtinPreview,
      hooks,
      ...(elicitation && { elicitation }),
      urlDone: (server, id, signal) => this.#urls.wait(server, id, INTERACTION_LIMITS.urlDoneMs, signal),
      audit: this.#audit,
      resultsFolder: join(stateDir, 'results'),
    }
  }

  setRules(rules: readonly Rule[]): void {
    this.#rules = rules
    this.#serverPermissions.clear()
  }

  /** The servers changed: their permissions are computed again. */
  forget(): void {
    this.#serverPermissions.clear()
  }

  call(tool: BoundTool, args: Args, context?: CallContext): Promise<ToolResult> {
    const given = this.#withCaller(context)
    const answer = tool.remembered
      ? this.#options
          .listed(tool, given.signal)
          .then((current) => callTool(this.#ports, current, args, given))
      : callTool(this.#ports, tool, args, given)
    // Once the call is on its way.
    this.#pruning ??= pruneResults(this.#ports.resultsFolder, this.#options.host, RESULT_LIMITS.keepMs).catch(
      // A failure to remove old files is not worth a message to the user.
      () => undefined,
    )
    return answer
  }

  /** The result of a task that an earlier call became. */
  async awaitTask(tool: BoundTool, taskId: string, context: CallContext = {}): Promise<ToolResult> {
    const { host, connection } = this.#options
    const task = { taskId, status: 'working' } as const
    return await lateResult(this.#ports, tool, context, () =>
      taskResult(connection(tool.server), host, task, tool.definition.name, {
        ...context,
        detachable: context.detachable && 'always',
      }),
    )
  }

  /** A call whose result is passed on as it came. */
  pass(
    tool: BoundTool,
    params: Json,
    context: CallContext,
    options: PassOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (tool.remembered)
      return this.#options
        .listed(tool, context.signal)
        .then((current) => this.pass(current, params, context, options))
    const { host, connection } = this.#options
    const args = isObject(params.arguments) ? params.arguments : {}
    const send = passedCallSender(host, connection, { tool, params, context, options })
    return passTool(this.#ports, tool, args, this.#withCaller(context), send, options.cancellation)
  }

  #withCaller(context: CallContext | undefined): CallContext {
    if (context === undefined) return this.#usual
    return context.caller ? context : { ...context, caller: this.#options.caller }
  }

  decide(tool: BoundTool, args?: Args): Decision {
    return decide(permissionRequest(tool, args), this.#permissionsOf(tool.server))
  }

  isAvailable(tool: BoundTool): boolean {
    const { state, catalog } = this.#options.connection(tool.server)
    return state.kind === 'connected' || isExpected(catalog, state)
  }

  /** May anything be read from the server: resources, prompts? Never prompts the user. */
  decideRead(server: string): Decision {
    return decide(offerRequest(server, 'prompt', ''), this.#permissionsOf(server))
  }

  isReadable(server: string): boolean {
    return this.decideRead(server).outcome !== 'deny'
  }

  /** Rejects when nothing may be read from the server. */
  requireReadable(server: string): void {
    const decision = this.decideRead(server)
    if (decision.outcome === 'deny') throw refusedRead(offerRequest(server, 'resource', ''), decision)
  }

  /** May this resource be read or subscribed to, or this prompt be got? Decided and logged like a call. */
  async permit(server: string, method: OfferMethod, name: string, context: CallContext): Promise<void> {
    const isPrompt = method === 'prompts/get'
    const request = offerRequest(server, isPrompt ? 'prompt' : 'resource', name)
    const args = isPrompt ? { name } : { uri: name }
    const caller = context.caller ?? this.#options.caller
    const who = { caller, client: context.client }
    const standing = this.#permissionsOf(server)
    const verdict =
      this.#gate.quick(request, standing, who) ??
      (await this.#gate.check(request, standing, who, args, context.signal))
    await this.#audit.record({
      server,
      tool: method,
      caller,
      user: context.user,
      decision: verdict,
      outcome: verdict.outcome === 'allow' ? 'ok' : 'refused',
      arguments: args,
    })
    if (verdict.outcome === 'deny') throw refusedRead(request, verdict)
  }

  /** When the servers are closed: waits for the calls that this ended, and for everything that is not on disk yet. */
  async close(): Promise<void> {
    this.#urls.close()
    await Promise.all([this.#audit.close(), this.accepted.flush()])
  }

  #permissionsOf(server: string): ServerPermissions {
    const known = this.#serverPermissions.get(server)
    if (known) return known
    const configured = this.#options.server(server)
    const standing: ServerPermissions = {
      channel: configured?.entry.permissions,
      channelSource: configured?.source,
      channelGrants: configured !== undefined && isOfUser(configured),
      author: configured?.author,
      // Costs a hash, and few calls need it.
      get signature() {
        return configured?.signature
      },
      rules: this.#rules,
    }
    this.#serverPermissions.set(server, standing)
    return standing
  }
}

/** The parameters of `tools/call` with the server's own name of the tool, and the arguments as hooks left them. */
export type OfferMethod = 'resources/read' | 'resources/subscribe' | 'prompts/get'

/** A resource or prompt as a permission request. */
function offerRequest(server: string, kind: 'resource' | 'prompt', name: string): ToolRequest {
  return {
    server,
    tool: name,
    name: `${server}:${name}`,
    traits: { readOnly: true, destructive: false },
    [kind]: true,
  }
}

function refusedRead(request: ToolRequest, decision: Decision): PermissionDenied {
  return new PermissionDenied(explainDecision(request, decision), {
    server: request.server,
    stage: 'call',
    hint: permissionHint(decision),
  })
}

/** The call's server may be gone by now: then nothing is known about it. */
function hideOf({ server, connection }: CallOptions, name: string): ((text: string) => string) | undefined {
  if (!server(name)) return undefined
  const { secrets } = connection(name)
  return secrets.isEmpty ? undefined : secrets.hide
}

/**
 * The key that seals the audit log.
 *
 * @example
 * const keys = auditKeysOf(systemHost(), '/tmp/no-such-state')
 * console.log(await keys.load()) // undefined
 */
export function auditKeysOf(host: Host, stateDir: string): AuditKeys {
  return auditKeys({
    path: auditPath(stateDir),
    // Loaded when the first line is written: most programs start before they call anything.
    vault: async () => await (await import('../auth/open-vault.ts')).vaultInUse({ host, stateDir }),
  })
}

/**
 * Where the audit log of a state folder is.
 *
 * @example
 * console.log(auditPath('/home/ada/.plugboard/state')) // /home/ada/.plugboard/state/audit.jsonl
 */
export function auditPath(stateDir: string): string {
  return join(stateDir, 'audit.jsonl')
}
