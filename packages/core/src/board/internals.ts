// internals.ts: the parts of one board, put together: its servers, the registry of their tools, calls with
// permissions and audit, resources and prompts, skills. `LocalBoard` and `BoardLink` are two faces of the same parts.
import { SerialQueue } from '../async/serial-queue.ts'
import type { PermissionRule } from '../config/resolve.ts'
import { stateFolder } from '../config/sources.ts'
import type { ConfiguredServer, Diagnostic } from '../config/types.ts'
import type { Connection } from '../connection/connection.ts'
import { Events } from '../events.ts'
import { type Host, systemHost } from '../host.ts'
import { Hooks, Sampling } from '../interaction/index.ts'
import type { BoundTool } from '../tools/index.ts'
import { Calls } from './board-calls.ts'
import { findTool } from './find-tool.ts'
import type { BoardParts } from './options.ts'
import type { RequestHandlerOptions } from './request-handlers.ts'
import { ResourcesAndPrompts } from './resources-and-prompts.ts'
import { BoardServers } from './servers.ts'
import { Skills } from './skills.ts'
import { ToolRegistry } from './tool-registry.ts'

/** What changes during a board's life. */
interface BoardState {
  rules: readonly PermissionRule[]
  /** The folders announced to servers; undefined when none are. */
  roots: readonly string[] | undefined
  faults: readonly Diagnostic[]
  /** The program waited for all servers: those that are added start at once. */
  awake: boolean
  closed: Promise<void> | undefined
  /** Servers that the program added or replaced, and the names of those it removed. */
  readonly added: Map<string, ConfiguredServer>
  readonly removed: Set<string>
  reload: (() => Promise<void>) | undefined
}

export interface BoardInternals {
  readonly options: BoardParts
  readonly host: Host
  readonly stateDir: string
  readonly events: Events
  readonly hooks: Hooks
  readonly servers: BoardServers
  readonly tools: ToolRegistry
  readonly calls: Calls
  readonly offers: ResourcesAndPrompts
  readonly skills: Skills
  /** New sets of servers are applied one after the other. */
  readonly applying: SerialQueue
  /** Ended together with the board. */
  readonly closers: (() => unknown)[]
  readonly state: BoardState
  connection(name: string): Connection
  /** Reports a problem that did not stop the work; also to listeners that subscribe a moment later. */
  warn(text: string, server?: string): void
}

function hooksOf(options: BoardParts, host: Host, cwd: string, warn: (text: string) => void): Hooks {
  const onRun = options.pool?.onHookRun
  return new Hooks(options.hooks ?? [], { host: hookHost(host, cwd), cwd, warn, onRun })
}

export function assembleBoard(options: BoardParts, configured: readonly ConfiguredServer[]): BoardInternals {
  const host = options.host ?? systemHost()
  const stateDir = options.stateDir ?? stateFolder(host)
  const cwd = options.cwd ?? process.cwd()
  const events = new Events()
  const state = initialState(options)
  const warn = warner(events)
  const hooks = hooksOf(options, host, cwd, warn)
  const elicitation = { ask: options.elicit, hooks, warn }
  const sampling = options.sample && new Sampling({ host, ...options.sample })
  const asks: RequestHandlerOptions = { elicitation, hooks, sampling, cwd, roots: () => state.roots }
  const servers = new BoardServers({ board: options, host, stateDir, events, asks })
  const connection = (name: string) => servers.connection(name)
  const calls = new Calls({
    ...options,
    host,
    stateDir,
    events,
    caller: options.caller ?? 'agent',
    hooks,
    elicitation: options.elicit || hooks.has('Elicitation') ? elicitation : undefined,
    server: (name) => servers.servers.get(name),
    listed: (tool, signal) => listed(internals, tool, signal),
    connection,
  })
  const tools = new ToolRegistry({
    env: host.env,
    actions: calls,
    sources: () => servers.toolSources(),
    isCurrent: (sources) => servers.areToolSources(sources),
    warn: (server, text) => servers.connections.get(server)?.log.add('plugboard', text),
  })
  const offers = new ResourcesAndPrompts(host, {
    connection,
    connections: () => [...servers.connections],
    permit: (server, method, name, context) => calls.permit(server, method, name, context),
    isReadable: (server) => calls.isReadable(server),
    requireReadable: (server) => calls.requireReadable(server),
  })
  const internals: BoardInternals = {
    options,
    host,
    stateDir,
    events,
    hooks,
    servers,
    tools,
    calls,
    offers,
    skills: new Skills(offers, connection),
    applying: new SerialQueue(),
    closers: [],
    state,
    connection,
    warn,
  }
  setRules(internals, options.rules ?? [])
  for (const server of configured) servers.add(server)
  return internals
}

/** A tool as its server lists it now. */
function listed({ tools, servers, connection }: BoardInternals, { name }: BoundTool, signal?: AbortSignal) {
  return findTool({ pool: tools, servers: servers.names, connection }, name, signal)
}

export function setRules({ state, calls }: BoardInternals, rules: readonly PermissionRule[]): void {
  state.rules = rules
  calls.setRules(
    rules.map(({ action, rule, file, reach, signatures }) => ({
      effect: action,
      text: rule,
      source: file,
      reach,
      signatures,
    })),
  )
}

/** A moment later: what is wrong at the start is told to those who listen once they have the board. */
function warner(events: Events): BoardInternals['warn'] {
  return (text, server) => {
    setImmediate(() => events.emit('warning', { text, ...(server !== undefined && { server }) }))
  }
}

function initialState({ roots, workspace, cwd }: BoardParts): BoardState {
  return {
    rules: [],
    roots: (roots ?? workspace ?? (cwd === undefined ? false : [cwd])) || undefined,
    faults: [],
    awake: false,
    closed: undefined,
    added: new Map(),
    removed: new Set(),
    reload: undefined,
  }
}

/** Hooks written for a project find its folder where they expect it. */
function hookHost(host: Host, cwd: string): Host {
  return { ...host, env: { CLAUDE_PROJECT_DIR: cwd, PLUGBOARD_PROJECT_DIR: cwd, ...host.env } }
}
