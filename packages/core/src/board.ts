// board.ts: owns the connections of one program, their slots, memory and events. Everything hangs off a board, so two
// boards in one process never meet. How a single server is kept alive is the connection room's business.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createBuiltins } from './builtin/index.ts'
import { isLocal, type TransportType } from './config/entry.ts'
import type { Configuration, LoadOptions } from './config/load.ts'
import { plugboardHome } from './config/sources.ts'
import type { ConfiguredServer, Scope } from './config/types.ts'
import type { RequestHandlers } from './connection/asks.ts'
import { Connection, type ConnectionOptions } from './connection/connection.ts'
import { EraMemory } from './connection/eras.ts'
import type { CachedList, ToolDefinition } from './connection/lists.ts'
import { Order } from './connection/order.ts'
import type { Json, ServerInfo, Transport } from './connection/protocol.ts'
import { Recent } from './connection/recent.ts'
import type { RequestOptions } from './connection/requests.ts'
import { Slots } from './connection/slots.ts'
import type { ServerState } from './connection/states.ts'
import { abortable, atMost } from './connection/waits.ts'
import { Cancelled, IoError, type PlugboardError, ServerNotFound, type Stage } from './errors.ts'
import { type BoardEvent, type BoardEvents, Events, type EventType } from './events.ts'
import { type Host, systemHost } from './host.ts'
import { CALL_LIMITS, CONNECT_LIMITS, LIST_LIMITS } from './limits.ts'
import { linkedPair } from './transports/linked.ts'

/** A server in this very process: it is given one end of a linked pair, anew for every connect. */
export type InProcessServer = (end: Transport) => unknown

export interface BoardOptions {
  readonly cwd?: string
  readonly host?: Host
  /** The servers, when the program knows them itself; then no file is read unless `load` says so. */
  readonly servers?: readonly ConfiguredServer[]
  /** Where the other servers come from: called once, after `servers`, whose names win. The files, when left out. */
  readonly load?: () => Promise<readonly ConfiguredServer[]>
  /** More servers as they would be written in a file, and what else `plugboard` takes on its command line. */
  readonly config?: Pick<
    LoadOptions,
    'mcpConfig' | 'strict' | 'servers' | 'approveProject' | 'withoutBuiltins'
  >
  /** The configuration, when it has been read already. */
  readonly configuration?: Configuration
  /** Follow the files and logins: servers that are added, changed or removed start, restart and stop. */
  readonly watch?: boolean
  readonly inProcess?: Readonly<Record<string, InProcessServer>>
  /** Transports of `sdk` entries, by name. */
  readonly handOver?: (name: string) => Promise<Transport> | Transport | undefined
  readonly auth?: (server: ConfiguredServer) => ConnectionOptions['auth']
  /** What servers may ask of this program; what is missing is not advertised. */
  readonly requestHandlers?: RequestHandlers | ((server: ConfiguredServer) => RequestHandlers)
  readonly clientInfo?: { readonly name: string; readonly version: string }
  /** Folders an editor's server must have open. */
  readonly workspace?: readonly string[]
  readonly stateDir?: string
  /** How long a connect may take; `MCP_TIMEOUT` otherwise. */
  readonly timeoutMs?: number
}

export interface ServerSnapshot {
  readonly name: string
  readonly scope: Scope
  readonly source: string
  readonly type: TransportType
  readonly state: ServerState['kind']
  readonly attempt?: number
  readonly of?: number
  readonly stage?: Stage
  readonly error?: PlugboardError
  readonly reason?: string
  readonly tools: number
  readonly resources: number
  readonly prompts: number
  readonly protocolVersion?: string
  readonly connectMs?: number
  readonly serverInfo?: ServerInfo
  readonly instructions?: string
}

export interface BoardTool {
  readonly server: string
  readonly tool: ToolDefinition
  /** False while the server is away: the definition is the last one known. */
  readonly available: boolean
}

/**
 * Opens a board. Nothing connects until it is needed.
 *
 * @example
 * await using board = await openBoard({ cwd: process.cwd() })
 * await board.ready()
 * for (const { server, tool } of board.tools()) console.log(server, tool.name)
 */
export async function openBoard(options: BoardOptions = {}): Promise<Board> {
  if (options.servers || options.load) return boardOf(options)
  const host = options.host ?? systemHost()
  const loading: LoadOptions = { ...options.config, host, cwd: options.cwd ?? process.cwd() }
  const configuration =
    options.configuration ?? (await (await import('./config/load.ts')).loadConfiguration(loading))
  const { place, servers } = configuration
  const stateDir = options.stateDir ?? stateFolder(host)
  const builtins = createBuiltins({ root: place.root, host, cacheDir: join(plugboardHome(place), 'cache') })
  // Logins are loaded only where there is something to log in to.
  const remote = options.auth === undefined && (options.watch || servers.some(({ entry }) => 'url' in entry))
  const logins = remote ? (await import('./auth/index.ts')).loginsFor({ host, stateDir }) : undefined
  const board = await boardOf({
    workspace: [place.root],
    ...(logins && { auth: logins.auth }),
    ...options,
    host,
    stateDir,
    servers,
    // Served where the configuration lists them, and only there: it may leave them out, or forbid them.
    handOver: (name) => options.handOver?.(name) ?? linkedTo(builtins.servers, name),
  })
  board.beforeClose(() => builtins.close())
  if (options.watch) {
    const { watchConfiguration } = await import('./config/watch.ts')
    board.beforeClose(watchConfiguration(configuration, loading, (next) => board.apply(next.servers)))
    if (logins) board.beforeClose(await logins.watch((server) => board.reconnectSame(server)))
  }
  return board
}

function stateFolder(host: Host): string {
  return host.env['PLUGBOARD_STATE_DIR'] ?? join(plugboardHome(host), 'state')
}

async function boardOf(options: BoardOptions): Promise<Board> {
  const given = [...(options.servers ?? []), ...inProcessEntries(options)]
  const names = new Set(given.map(({ name }) => name))
  const loaded = (await options.load?.()) ?? []
  return new Board(options, [...given, ...loaded.filter(({ name }) => !names.has(name))])
}

export class Board {
  readonly #options: BoardOptions
  readonly #host: Host
  readonly #events = new Events()
  readonly #eras: EraMemory
  readonly #stateDir: string
  readonly #slots: { readonly local: Slots; readonly remote: Slots }
  readonly #recent = new Recent<CachedList<unknown>>(LIST_LIMITS.cached, (list) => list.forget())
  readonly #applying = new Order()
  #connections = new Map<string, Connection>()
  #servers = new Map<string, ConfiguredServer>()
  #calls = 0
  #awake = false
  #closed: Promise<void> | undefined
  readonly #closers: (() => unknown)[] = []

  constructor(options: BoardOptions, servers: readonly ConfiguredServer[]) {
    const host = options.host ?? systemHost()
    const { env } = host
    this.#options = options
    this.#host = host
    this.#stateDir = options.stateDir ?? stateFolder(host)
    this.#eras = new EraMemory(this.#stateDir, host, () => undefined)
    this.#slots = {
      local: new Slots(positive(env.MCP_SERVER_CONNECTION_BATCH_SIZE) ?? CONNECT_LIMITS.localSlots),
      remote: new Slots(positive(env.MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE) ?? CONNECT_LIMITS.remoteSlots),
    }
    for (const server of servers) this.#add(server)
  }

  /** Where logs and memories of this board are kept. */
  get stateDir(): string {
    return this.#stateDir
  }

  servers(): readonly ServerSnapshot[] {
    return [...this.#connections].map(([name, connection]) =>
      snapshot(this.#servers.get(name) ?? connection.server, connection),
    )
  }

  /**
   * Connects every enabled server and resolves when each is settled, well or badly, or when the time is up.
   * It never rejects because of a server.
   */
  async ready(options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {}): Promise<void> {
    this.#awake = true
    const all = Promise.all([...this.#connections.values()].map((connection) => connection.settled()))
    const work = options.timeoutMs === undefined ? all : atMost(this.#host, options.timeoutMs, all)
    try {
      await abortable<unknown>(work, options.signal)
    } catch (error) {
      throw new Cancelled(undefined, { cause: error })
    }
  }

  connection(name: string): Connection {
    const connection = this.#connections.get(name)
    if (!connection) throw new ServerNotFound(name)
    return connection
  }

  /** Every tool of every server that is, or was, connected. */
  tools(): readonly BoardTool[] {
    return [...this.#connections].flatMap(([server, { catalog, state }]) => {
      if (state.kind === 'disabled') return []
      const available = state.kind === 'connected'
      return catalog.tools.items.map((tool) => ({ server, tool, available }))
    })
  }

  /** Sends one request to one server, connecting it first if need be. */
  async request(server: string, method: string, params?: Json, options?: RequestOptions): Promise<Json> {
    return await this.connection(server).request(method, params, options)
  }

  /** Tries a server again that failed, needs a login or should start afresh. */
  async reconnect(server: string): Promise<ServerSnapshot> {
    const connection = this.connection(server)
    await connection.reconnect()
    return snapshot(this.#servers.get(server) ?? connection.server, connection)
  }

  /** Tries those servers again that `same` says were meant, e.g. because somebody logged in to them. */
  reconnectSame(same: (server: ConfiguredServer) => boolean): void {
    for (const [name, server] of this.#servers) if (same(server)) void this.reconnect(name)
  }

  /** Takes a new set of servers over: added, changed and removed ones follow, the others are not touched. */
  async apply(servers: readonly ConfiguredServer[]): Promise<void> {
    await this.#applying.run(() => this.#apply([...servers, ...inProcessEntries(this.#options)]))
  }

  on<T extends EventType>(type: T, listener: (event: BoardEvents[T]) => void): () => void {
    return this.#events.on(type, listener)
  }

  /** Everything that happens from now on. */
  events(signal?: AbortSignal): AsyncIterableIterator<BoardEvent> {
    return this.#events.stream(signal)
  }

  /** Ends every connection; idempotent, and over within a bound. */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      await Promise.all([...this.#connections.values()].map((connection) => connection.close()))
      const owned = Promise.allSettled(this.#closers.map(async (closer) => closer()))
      await atMost(this.#host, CONNECT_LIMITS.closeMs, owned)
      await atMost(this.#host, CONNECT_LIMITS.closeMs, this.#eras.flush())
    })()
    return this.#closed
  }

  /** Ends something together with the board. */
  beforeClose(closer: () => unknown): void {
    this.#closers.push(closer)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #apply(servers: readonly ConfiguredServer[]): Promise<void> {
    if (this.#closed) throw new IoError('The board is closed.')
    const wanted = new Map(servers.map((server) => [server.name, server]))
    const leaving: Promise<void>[] = []
    for (const [name, connection] of [...this.#connections]) {
      const next = wanted.get(name)
      if (next && sameServer(connection.server, next)) continue
      this.#connections.delete(name)
      this.#servers.delete(name)
      leaving.push(connection.close())
    }
    const arriving: Connection[] = []
    for (const server of wanted.values()) {
      if (this.#connections.has(server.name)) this.#servers.set(server.name, server)
      else arriving.push(this.#add(server))
    }
    // A changed server is started when the old one is gone: they may fight over a port or a file.
    await Promise.all(leaving)
    if (this.#awake && !this.#closed) for (const connection of arriving) void connection.settled()
  }

  #add(server: ConfiguredServer): Connection {
    const { requestHandlers, auth, handOver, inProcess, workspace, clientInfo, timeoutMs } = this.#options
    const host = this.#host
    const connection = new Connection({
      server,
      host,
      stateDir: this.#stateDir,
      events: this.#events,
      eras: this.#eras,
      recent: this.#recent,
      slots: isLocal(server.entry) ? this.#slots.local : this.#slots.remote,
      handlers: (typeof requestHandlers === 'function' ? requestHandlers(server) : requestHandlers) ?? {},
      clientInfo: clientInfo ?? CLIENT_INFO,
      auth: auth?.(server),
      handOver: (name) => linkedTo(inProcess, name) ?? handOver?.(name),
      workspace,
      timeoutMs: timeoutMs ?? positive(host.env.MCP_TIMEOUT) ?? CONNECT_LIMITS.timeoutMs,
      callTimeoutMs: positive(host.env.MCP_TOOL_TIMEOUT) ?? CALL_LIMITS.timeoutMs,
      nextCall: () => ++this.#calls,
    })
    this.#connections.set(server.name, connection)
    this.#servers.set(server.name, server)
    return connection
  }
}

const CLIENT_INFO = { name: 'plugboard', version: '0.1.0' } as const

/** A transport to a server of this very process. */
function linkedTo(
  servers: Readonly<Record<string, InProcessServer>> | undefined,
  name: string,
): Promise<Transport> | undefined {
  const serve = servers && Object.hasOwn(servers, name) ? servers[name] : undefined
  if (!serve) return undefined
  return (async () => {
    const [ours, theirs] = linkedPair()
    await serve(theirs)
    return ours
  })()
}

function inProcessEntries(options: BoardOptions): ConfiguredServer[] {
  const named = new Set(options.servers?.map(({ name }) => name))
  return Object.keys(options.inProcess ?? {})
    .filter((name) => !named.has(name))
    .map((name) => ({
      name,
      scope: 'dynamic',
      source: 'in-process',
      entry: { type: 'sdk' },
      signature: `in-process:${name}`,
    }))
}

/** The same server, for the connection's purposes: where it was written down does not matter. */
function sameServer(a: ConfiguredServer, b: ConfiguredServer): boolean {
  return a.signature === b.signature && isDeepStrictEqual([a.entry, a.disabled], [b.entry, b.disabled])
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return text && Number.isInteger(value) && value > 0 ? value : undefined
}

function snapshot(server: ConfiguredServer, connection: Connection): ServerSnapshot {
  const { state, catalog } = connection
  return {
    name: server.name,
    scope: server.scope,
    source: server.source,
    type: connection.type,
    state: state.kind,
    tools: catalog.tools.count,
    resources: catalog.resources.count,
    prompts: catalog.prompts.count,
    ...stateFacts(state),
  }
}

function stateFacts(state: ServerState): Partial<ServerSnapshot> {
  switch (state.kind) {
    case 'pending':
      return { attempt: state.attempt, of: state.of, ...(state.attempt > 0 && { stage: state.stage }) }
    case 'connected': {
      const { protocolVersion, serverInfo, instructions } = state.session
      return {
        protocolVersion,
        connectMs: state.connectMs,
        ...(serverInfo && { serverInfo }),
        ...(instructions !== undefined && { instructions }),
      }
    }
    case 'failed':
      return { stage: state.stage, error: state.error }
    case 'needs-auth':
      return { stage: 'auth', error: state.error }
    case 'disabled':
      return { reason: state.reason.text }
  }
}
