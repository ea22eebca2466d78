// calls.ts: connects the call pipeline of tools/ to one board: permissions, prompts, accepted definitions and the
// audit log. The steps of a call themselves are in tools/call.ts.
import { join } from 'node:path'
import type { AuditSettings } from '../config/settings.ts'
import type { ConfiguredServer, DisabledReason } from '../config/types.ts'
import type { Connection } from '../connection/connection.ts'
import type { RequestOptions } from '../connection/requests.ts'
import { isObject, type Json } from '../connection/server-info.ts'
import { Cancelled, Disabled, NotFound, PermissionDenied } from '../errors.ts'
import type { Events } from '../events.ts'
import type { Host } from '../host.ts'
import type { ElicitationPorts, Hooks } from '../interaction/index.ts'
import { INTERACTION_LIMITS, RESULT_LIMITS } from '../limits.ts'
import {
  type AuditKeys,
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
  type Standing,
  type ToolRequest,
} from '../permissions/index.ts'
import { nearest } from '../text/nearest.ts'
import {
  type Args,
  type BoundTool,
  type CallContext,
  type CallPorts,
  callTool,
  passTool,
  permissionRequest,
  pruneResults,
  type Resolution,
  type ToolActions,
  type ToolResult,
  type ToolSession,
  wayOut,
} from '../tools/index.ts'
import { AcceptedDefinitions } from './accepted-definitions.ts'
import { callAsTask, runsAsTask, type TaskOptions } from './tasks.ts'
import { candidateServers, type ToolRegistry } from './tool-registry.ts'
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
  readonly hooks: Hooks
  readonly elicitation?: ElicitationPorts | undefined
  readonly builtinAsks?: CallPorts['builtinAsks']
  server(name: string): ConfiguredServer | undefined
  connection(name: string): Connection
}

export class Calls implements ToolActions {
  readonly #options: CallOptions
  readonly #ports: CallPorts
  readonly #gate: PermissionGate
  readonly #audit: AuditLog
  readonly #standings = new Map<string, Standing>()
  readonly #sessions = new WeakMap<Connection, ToolSession>()
  readonly #urls: UrlElicitations
  readonly accepted: AcceptedDefinitions
  #rules: readonly Rule[] = []
  #pruning: Promise<unknown> | undefined

  constructor(options: CallOptions) {
    const { host, stateDir, events, hooks, elicitation } = options
    this.#options = options
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
      connect: (server) => this.#session(options.connection(server)),
      standing: (server) => this.#standing(server),
      gate: this.#gate,
      accepted: this.accepted,
      builtinAsks: options.builtinAsks,
      hooks,
      ...(elicitation && { elicitation }),
      urlDone: (server, id, signal) => this.#urls.wait(server, id, INTERACTION_LIMITS.urlDoneMs, signal),
      audit: this.#audit,
      resultsFolder: join(stateDir, 'results'),
    }
  }

  setRules(rules: readonly Rule[]): void {
    this.#rules = rules
    this.#standings.clear()
  }

  /** The servers changed: their permissions are computed again. */
  forget(): void {
    this.#standings.clear()
  }

  call(tool: BoundTool, args: Args, context: CallContext): Promise<ToolResult> {
    this.#pruning ??= pruneResults(this.#ports.resultsFolder, this.#options.host, RESULT_LIMITS.keepMs).catch(
      // A failure to remove old files is not worth a message to the user.
      () => undefined,
    )
    return callTool(
      this.#ports,
      tool,
      args,
      context.caller ? context : { ...context, caller: this.#options.caller },
    )
  }

  /** A call whose result is passed on as it came. */
  pass(
    tool: BoundTool,
    params: Json,
    context: CallContext,
    options: RequestOptions & TaskOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { signal, onProgress, timeoutMs, totalMs } = context
    const connection = this.#options.connection(tool.server)
    const { name } = tool.definition
    const args = isObject(params.arguments) ? params.arguments : {}
    return passTool(
      this.#ports,
      tool,
      args,
      context.caller ? context : { ...context, caller: this.#options.caller },
      (sent) =>
        runsAsTask(connection, name)
          ? callAsTask(connection, this.#options.host, name, sent, {
              signal,
              onProgress,
              timeoutMs,
              onTask: options.onTask,
            })
          : connection.request(
              'tools/call',
              { ...params, name, ...((sent !== args || 'arguments' in params) && { arguments: sent }) },
              { ...options, signal, onProgress, timeoutMs, ...(totalMs !== undefined && { totalMs }) },
            ),
    )
  }

  decide(tool: BoundTool, args?: Args): Decision {
    return decide(permissionRequest(tool, args), this.#standing(tool.server))
  }

  isAvailable(tool: BoundTool): boolean {
    return this.#options.connection(tool.server).state.kind === 'connected'
  }

  /** May anything be read from the server: resources, prompts? Never prompts the user. */
  decideRead(server: string): Decision {
    return decide(offerRequest(server, 'prompt', ''), this.#standing(server))
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
    const standing = this.#standing(server)
    const verdict =
      this.#gate.quick(request, standing, who) ??
      (await this.#gate.check(request, standing, who, args, context.signal))
    this.#audit.record({
      server,
      tool: method,
      caller,
      decision: verdict,
      outcome: verdict.outcome === 'allow' ? 'ok' : 'refused',
      arguments: args,
    })
    if (verdict.outcome === 'deny') throw refusedRead(request, verdict)
  }

  /** Waits for everything that is not on disk yet. */
  async flush(): Promise<void> {
    this.#urls.close()
    await Promise.all([this.#audit.flush(), this.accepted.flush()])
  }

  #session(connection: Connection): ToolSession {
    const known = this.#sessions.get(connection)
    if (known) return known
    const session: ToolSession = {
      callTool: (name, args, { signal, onProgress, timeoutMs, totalMs }) =>
        runsAsTask(connection, name)
          ? callAsTask(connection, this.#options.host, name, args, { signal, onProgress, timeoutMs })
          : connection.request(
              'tools/call',
              { name, arguments: args },
              { signal, onProgress, timeoutMs, totalMs },
            ),
    }
    this.#sessions.set(connection, session)
    return session
  }

  #standing(server: string): Standing {
    const known = this.#standings.get(server)
    if (known) return known
    const configured = this.#options.server(server)
    const standing: Standing = {
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
    this.#standings.set(server, standing)
    return standing
  }
}

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
    hint: wayOut(decision),
  })
}

/** The call's server may be gone by now: then nothing is known about it. */
function hideOf({ server, connection }: CallOptions, name: string): ((text: string) => string) | undefined {
  if (!server(name)) return undefined
  const { secrets } = connection(name)
  return secrets.isEmpty ? undefined : secrets.hide
}

/** The key that seals the audit log. */
export function auditKeysOf(host: Host, stateDir: string): AuditKeys {
  return auditKeys({
    path: auditPath(stateDir),
    // Loaded when the first line is written: most programs start before they call anything.
    vault: async () => await (await import('../auth/open-vault.ts')).vaultInUse({ host, stateDir }),
  })
}

export function auditPath(stateDir: string): string {
  return join(stateDir, 'audit.jsonl')
}

/** Finds a tool by either spelling, connecting only the servers that the name can mean. */
export async function findTool(
  on: { pool: ToolRegistry; servers: readonly string[]; connection(server: string): Connection },
  name: string,
  signal?: AbortSignal,
): Promise<BoundTool> {
  const { pool } = on
  const known = pool.resolve(name)
  if (known.kind === 'found') return known.tool
  const servers = candidateServers(name, on.servers)
  const settled = Promise.all(servers.map((server) => on.connection(server).needed(signal)))
  const states = await settled.catch((cause: unknown) => {
    throw signal?.aborted ? new Cancelled(undefined, { stage: 'call', cause }) : cause
  })
  const found = pool.resolve(name)
  if (found.kind === 'found') return found.tool
  for (const [at, state] of states.entries()) {
    if (state.kind === 'failed' || state.kind === 'needs-auth') throw state.error
    if (state.kind === 'disabled') throw disabledError(servers[at] ?? '', state.reason)
  }
  if (found.kind !== 'ambiguous' && servers.length === 0) throw toolWithoutServer(name, on.servers)
  throw unknownTool(name, found, servers, pool)
}

function unknownTool(
  name: string,
  found: Exclude<Resolution, { kind: 'found' }>,
  servers: readonly string[],
  pool: ToolRegistry,
): NotFound {
  const [server] = servers
  if (found.kind === 'ambiguous')
    return new NotFound('tool', name, {
      stage: 'call',
      hint: `It could be any of ${found.names.join(', ')}.`,
    })
  if (server === undefined) return toolWithoutServer(name, [])
  const word = name
    .replace(/^mcp__/, '')
    .slice(server.length)
    .replace(/^[._]+/, '')
  const theirs = pool.tools().filter(({ server: of }) => servers.includes(of))
  const suggestion = nearest(
    word,
    theirs.map(({ definition }) => definition.name),
  )
  const misspelled = theirs.filter(({ definition }) => definition.name === suggestion)
  const meant = pool.search(word, 20).filter(({ tool }) => servers.includes(tool.mcpInfo.serverName))
  const near = [
    ...new Set([
      ...misspelled.map((tool) => `${tool.server}.${tool.definition.name}`),
      ...meant.map(({ tool }) => `${tool.mcpInfo.serverName}.${tool.mcpInfo.toolName}`),
    ]),
  ].slice(0, 3)
  return new NotFound('tool', name, {
    server,
    stage: 'call',
    hint:
      near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : `Run \`plugboard tools ${server}\` to see what it has.`,
  })
}

/** No server has the name that the tool's name begins with. */
function toolWithoutServer(name: string, known: readonly string[]): NotFound {
  const prefix = name.startsWith('mcp__') ? 'mcp__' : ''
  const [typed = ''] = name.slice(prefix.length).split(/\.|__/)
  const rest = name.slice(prefix.length + typed.length)
  const meant = nearest(typed, known)
  return new NotFound('tool', name, {
    stage: 'call',
    hint:
      meant === undefined
        ? 'A tool is called `server.tool` or `mcp__server__tool`, and no server here matches that. Run `plugboard tools` to see them.'
        : meant === typed
          ? `That is a server. Run \`plugboard tools ${meant}\` to see its tools.`
          : `There is no server "${typed}". Did you mean ${prefix}${meant}${rest}?`,
  })
}

const APPROVE =
  'It came with this project: approve it with `approve()` of @plugboard/core/config/manage, or open the board with `config: { approveProject: true }`.'

export function disabledError(server: string, reason: DisabledReason): Disabled {
  const hints: Readonly<Partial<Record<DisabledReason['kind'], string>>> = {
    trust: `It came with this project: run \`plugboard approve ${server}\` to let it start.`,
    user: `Run \`plugboard enable ${server}\` to switch it on.`,
    config: `Give it what it lacks, or run \`plugboard enable ${server}\` if its entry switches it off.`,
  }
  return new Disabled(server, reason.text, {
    hint: hints[reason.kind],
    ...(reason.kind === 'trust' && { programHint: APPROVE }),
  })
}
