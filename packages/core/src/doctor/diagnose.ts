// diagnose.ts: checks one server step by step and says where it stopped and what to do. It reads what the
// configuration decided, checks the path to the server, and then connects it like any other caller.
import type { BuiltinCheck } from '../builtin/index.ts'
import type { RemoteEntry, ServerEntry } from '../config/entry.ts'
import { maskUrl } from '../config/mask.ts'
import type { Resolution } from '../config/resolve.ts'
import {
  isEditorEntry,
  isInProcess,
  isLocal,
  isRemoteEntry,
  startsCommand,
  traitsOf,
  urlOf,
} from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Connection } from '../connection/connection.ts'
import { BadResponse, ChannelClosed, JsonRpcError } from '../connection/request-errors.ts'
import type { Connected, ServerState } from '../connection/states.ts'
import type { ErrorCode, PlugboardError } from '../errors.ts'
import type { Host } from '../host.ts'
import { cleanText, cutText } from '../text/sanitize.ts'
import { httpStatus } from '../transports/transport-errors.ts'
import { type Finding, toolFindings } from './findings.ts'
import { askOnce, findCommand, reachHost } from './reachability.ts'
import { failed, passed, type Step, type StepName } from './steps.ts'

export interface Diagnosis {
  readonly name: string
  readonly ok: boolean
  readonly rungs: readonly Step[]
  readonly findings: readonly Finding[]
  readonly stoppedAt?: StepName
  /** Disabled on purpose: nothing was tried, and nothing is wrong. */
  readonly disabled?: string
  /** The kind of failure, when connecting failed. */
  readonly code?: ErrorCode
}

export interface Subject {
  readonly resolution: Resolution
  readonly host: Host
  /** Connects the server; called only when nothing before it failed. */
  connection(): Connection
  /** What a built-in server needs besides itself, checked before it is connected. */
  readonly needs?: () => Promise<readonly BuiltinCheck[]>
  readonly signal?: AbortSignal | undefined
}

export async function diagnose(subject: Subject): Promise<Diagnosis> {
  const { resolution } = subject
  const { name, server } = resolution
  const settled = decided(resolution)
  const done = (rungs: readonly Step[], more: Partial<Diagnosis> = {}): Diagnosis => {
    const failed = rungs.find(({ ok }) => !ok)
    return {
      name,
      ok: !failed,
      rungs: rungs.map(shown),
      findings: [],
      ...(failed && { stoppedAt: failed.rung }),
      ...more,
    }
  }
  const off = resolution.contenders.find(({ verdict }) => verdict.kind === 'off')
  if (!server && off?.verdict.kind === 'off')
    return done([passed('config', off.verdict.why)], { disabled: off.verdict.why })
  if (!server || settled.some(({ ok }) => !ok)) return done(settled)
  if (server.disabled) return done(settled, { disabled: server.disabled.text })

  const way = await reachSteps(server, subject)
  if (way.some(({ ok }) => !ok)) return done([...settled, ...way])
  const connection = subject.connection()
  const state = await connection.settled(subject.signal)
  if (state.kind === 'connected')
    return done([...settled, ...way, ...connectedSteps(server.entry, state, connection)], {
      findings: [...toolFindings(name, connection.catalog.tools.items), ...listFindings(connection)],
    })
  const failure = await failureSteps(server, state, subject.host)
  return done([...settled, ...way, ...failure], 'error' in state ? { code: state.error.code } : {})
}

/** What the configuration decided, before anything is started. */
function decided({ name, contenders, server, expansions, policy, trust }: Resolution): Step[] {
  if (!server) {
    const hidden = contenders.find(({ verdict }) => verdict.kind === 'hidden')
    if (hidden?.verdict.kind === 'hidden')
      return [
        passed('config', hidden.definition.source.file),
        failed(
          'policy',
          `${hidden.verdict.by} allows its own servers only.`,
          'Ask the administrator of this machine.',
        ),
      ]
    const fault = contenders
      .flatMap(({ definition }) => definition.faults)
      .find(({ severity }) => severity === 'error')
    return [
      failed(
        'config',
        fault?.message ?? 'No definition of it is valid.',
        `Run \`plugboard explain ${name}\`.`,
      ),
    ]
  }
  const { disabled } = server
  const missing = [
    ...new Set(expansions.filter(({ from }) => from === 'missing').map(({ variable }) => variable)),
  ]
  const config: Step = {
    ...passed(
      'config',
      missing.length > 0 ? `${server.source}; not set: ${missing.join(', ')}` : server.source,
    ),
    ...(missing.length > 0 && { hint: `Set ${missing.join(', ')}, or give a default as \${NAME:-default}.` }),
  }
  if (disabled && disabled.kind !== 'trust' && disabled.kind !== 'policy')
    return [
      {
        ...config,
        detail: `switched off: ${disabled.text}`,
        hint: `Run \`plugboard enable ${name}\` to use it.`,
      },
    ]
  if (disabled?.kind === 'trust')
    return [
      config,
      failed(
        'trust',
        `Pending approval: ${trust?.because ?? 'there is no record that you approved it'}.`,
        `Run \`plugboard approve ${name}\`: it shows the whole entry and asks.`,
      ),
    ]
  const trusted = passed('trust', trust?.because)
  if (disabled?.kind === 'policy')
    return [
      config,
      trusted,
      failed('policy', `${disabled.text}.`, 'Change the policy in that file, or ask its administrator.'),
    ]
  return [config, trusted, passed('policy', policy?.admitted ? policy.by : undefined)]
}

async function reachSteps(
  { entry }: ConfiguredServer,
  { host, signal, needs }: Subject,
): Promise<readonly Step[]> {
  if (startsCommand(entry)) return [findCommand(entry, host)]
  if (isInProcess(entry))
    return ((await needs?.()) ?? []).map(({ ok, detail, hint }) =>
      ok ? passed('command', detail) : failed('command', detail, hint),
    )
  const url = urlOf(entry)
  if (url === undefined) return []
  if (!URL.canParse(url))
    return [failed('dns', `"${maskUrl(url)}" is not a URL.`, 'Correct `url` of this server.')]
  return reachHost(new URL(url), host, signal)
}

/** The steps of a server that came up. */
function connectedSteps(entry: ServerEntry, { session }: Connected, { catalog }: Connection): Step[] {
  const { era, protocolVersion, serverInfo, capabilities } = session
  const who = serverInfo ? `${serverInfo.name} ${serverInfo.version ?? ''}`.trimEnd() : 'It'
  const { tools, resources, prompts } = catalog
  return [
    ...firstStep(entry, 'answers'),
    passed(
      'era',
      `${who} speaks ${protocolVersion} (${era === 'modern' ? 'server/discover' : 'initialize'})`,
    ),
    ...(isLocal(entry) ? [] : [passed('auth', 'accepted')]),
    passed('capabilities', Object.keys(capabilities).slice(0, 20).join(', ') || 'none'),
    passed(
      'lists',
      [many(tools.count, 'tool'), many(resources.count, 'resource'), many(prompts.count, 'prompt')].join(
        ', ',
      ),
    ),
  ]
}

/** The first step that needs a connection. */
function firstStep(entry: ServerEntry, detail: string): Step[] {
  return [passed(firstStepName(entry), detail)]
}

function firstStepName(entry: ServerEntry): StepName {
  return isRemoteEntry(entry) ? 'http' : 'start'
}

/** A failed list other than the tools affects only itself, so it is reported and not counted. */
function listFindings({ catalog }: Connection): Finding[] {
  const faults = catalog.tools.faults.map((message) => ({ kind: 'list' as const, message: cut(message) }))
  const failed = (['resources', 'prompts'] as const).flatMap((kind) => {
    const { error } = catalog[kind]
    if (error === undefined) return []
    const why = error instanceof Error ? error.message : String(error)
    return [{ kind: 'list' as const, message: cut(`its ${kind} could not be listed: ${why}`) }]
  })
  return [...faults, ...failed]
}

async function failureSteps(
  { name, entry }: ConfiguredServer,
  state: Exclude<ServerState, Connected>,
  host: Host,
): Promise<readonly Step[]> {
  if (!('error' in state))
    return [
      failed(firstStepName(entry), `It is ${state.kind}.`, `Try again, or run \`plugboard logs ${name}\`.`),
    ]
  const { error } = state
  const up = firstStep(entry, firstStepName(entry) === 'start' ? 'runs' : 'answers')
  if (state.kind === 'needs-auth' || error.code === 'PERMISSION_DENIED' || error.stage === 'auth')
    return [...up, failed('auth', error.message, authHint(entry, error))]
  if (error.stage === 'tools' || error.stage === 'resources' || error.stage === 'prompts')
    return [
      ...up,
      passed('era'),
      passed('auth'),
      passed('capabilities'),
      failed('lists', error.message, error.shellHint),
    ]
  if (answeredWrongly(error)) return [...up, failed('era', error.message, error.shellHint)]
  if (firstStepName(entry) === 'start') {
    // It runs and sends nothing; one that exited reports that.
    if (error.code === 'TIMEOUT') return [...up, failed('era', error.message, SILENT_HINT)]
    return [failed('start', error.message, error.shellHint)]
  }
  return [await httpStep(entry as RemoteEntry, name, error, host)]
}

const SILENT_HINT =
  'It runs but does not answer: check that its arguments make it an MCP server on stdio, or raise `connectTimeout` in its entry.'

function authHint(entry: ServerEntry, error: PlugboardError): string | undefined {
  const headers = isRemoteEntry(entry) || isEditorEntry(entry) ? Object.keys(entry.headers) : []
  const given = headers.some((name) => /^authorization$/i.test(name))
  if (error.code !== 'AUTH_REQUIRED' || !given) return error.shellHint
  return `${error.shellHint ?? ''} Or renew the token in its \`Authorization\` header, which was refused.`.trim()
}

/** It responded in JSON-RPC, with an error or with something that is not MCP. */
function answeredWrongly(error: PlugboardError): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (at instanceof JsonRpcError || at instanceof BadResponse) return true
    if (at instanceof ChannelClosed) return false
  }
  return false
}

async function httpStep(entry: RemoteEntry, name: string, error: PlugboardError, host: Host): Promise<Step> {
  if (error.code === 'TIMEOUT') return failed('http', error.message, STUCK_HINT)
  const errorStatus = httpStatus(error)
  const asked = await askOnce(entry, name, host)
  const status = errorStatus !== undefined && errorStatus >= 300 ? errorStatus : asked?.status
  const url = maskUrl(entry.url)
  if (asked?.isPage && (status === undefined || status < 300))
    return failed(
      'http',
      `${url} answers with a web page (${asked.mediaType || 'HTML'}), not with MCP.`,
      'Correct the path: many servers have theirs at /mcp or /sse.',
    )
  if (status !== undefined && status >= 300)
    return failed('http', `${url} answered HTTP ${status}.`, statusHint(entry, status))
  if (asked && status !== undefined)
    return failed(
      'http',
      `${url} answers (${asked.mediaType || 'no content type'}), but not as an MCP server.`,
      error.shellHint,
    )
  return failed('http', error.message, error.shellHint)
}

const STUCK_HINT =
  'The server accepts connections but does not answer: check whether it hangs, or raise `connectTimeout` in its entry.'

function statusHint(entry: RemoteEntry, status: number): string {
  if (status < 400) return 'The server redirects: put the address it redirects to into `url`.'
  if (status === 404) return 'Nothing is at this path: correct it (many servers have theirs at /mcp or /sse).'
  if (status === 405 || status === 406)
    return `This path does not take what a "${entry.type}" client sends: set \`type\` to ${traitsOf(entry).opensWith === 'event-stream' ? '"http"' : '"sse"'}, or correct the path.`
  if (status === 429) return 'The server gets too many requests: wait and try again.'
  if (status >= 500) return 'The server or the gateway in front of it failed: look at its log.'
  return 'Check the URL and the headers of this server.'
}

/** Untrusted text for a terminal: without control sequences. */
function shown({ rung, ok, detail, hint }: Step): Step {
  return { rung, ok, ...(detail && { detail: cut(detail) }), ...(hint && { hint: cut(hint) }) }
}

function cut(text: string): string {
  return cutText(cleanText(text), 2000, ' …')
}

function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
