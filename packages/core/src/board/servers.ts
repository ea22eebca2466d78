// servers.ts: the servers of one board and their connections: which there are, what they share (slots, caches,
// counters), and how one set replaces another. It knows nothing about the requests to a server.
import { isDeepStrictEqual } from 'node:util'
import { Lru } from '../async/lru.ts'
import { Semaphore } from '../async/semaphore.ts'
import { atMost } from '../async/waits.ts'
import { isBuiltin } from '../builtin/index.ts'
import { connectTimeoutOf } from '../config/connect-timeout.ts'
import { noSuchServer } from '../config/resolve.ts'
import { isInProcess, isLocal, isRemoteEntry } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Catalog } from '../connection/catalog.ts'
import { CatalogStore, isCurrent } from '../connection/catalog-store.ts'
import { type Connection, ServerConnection } from '../connection/connection.ts'
import { EraMemory } from '../connection/era-memory.ts'
import type { CachedList } from '../connection/lists.ts'
import type { ConnectionOptions } from '../connection/options.ts'
import type { RequestHandlers } from '../connection/server-requests.ts'
import type { ServerState } from '../connection/states.ts'
import type { TrafficSink } from '../connection/traffic.ts'
import type { Events } from '../events.ts'
import type { Host } from '../host.ts'
import { CALL_LIMITS, CONNECT_LIMITS, LIST_LIMITS } from '../limits.ts'
import { VERSION } from '../version.ts'
import { linkedTo } from './in-process.ts'
import type { BoardBehaviour, BoardDefinition, ProtocolMessage } from './options.ts'
import { type RequestHandlerOptions, requestHandlersFor, rootsFor } from './request-handlers.ts'
import { type ServerSnapshot, snapshot } from './snapshot.ts'
import type { ToolSource } from './tool-registry.ts'

export interface BoardServersOptions {
  readonly board: BoardBehaviour
  readonly host: Host
  readonly stateDir: string
  readonly events: Events
  readonly asks: RequestHandlerOptions
}

/** The result of a new set of servers; `left` resolves when the old ones are gone. */
export interface Replacement {
  readonly arrived: readonly Connection[]
  readonly removed: readonly string[]
  readonly left: Promise<unknown>
}

/** What an instance has in place of the board's own login. */
export interface InstanceLogin {
  /** Of a remote server, besides those of its entry. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Instead of the board's logins. */
  readonly auth?: BoardBehaviour['auth']
}

/** The client info, unless the program sets it. */
export const CLIENT_INFO = { name: 'plugboard', version: VERSION } as const

export class BoardServers {
  readonly #options: BoardServersOptions
  readonly #eras: EraMemory
  readonly #store: CatalogStore | undefined
  readonly #slots: { readonly local: Semaphore; readonly remote: Semaphore }
  readonly #recent = new Lru<CachedList<unknown>>(LIST_LIMITS.cached, (list) => list.forget())
  readonly #connections = new Map<string, Connection>()
  readonly #servers = new Map<string, ConfiguredServer>()
  #callCount = 0
  #linkCount = 0

  constructor(options: BoardServersOptions) {
    const { env } = options.host
    this.#options = options
    this.#eras = new EraMemory(options.stateDir, options.host, () => undefined)
    this.#store = options.board.catalog ? new CatalogStore(options.stateDir, options.host) : undefined
    this.#slots = {
      local: new Semaphore(positive(env.MCP_SERVER_CONNECTION_BATCH_SIZE) ?? CONNECT_LIMITS.localSlots),
      remote: new Semaphore(
        positive(env.MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE) ?? CONNECT_LIMITS.remoteSlots,
      ),
    }
  }

  get names(): readonly string[] {
    return [...this.#connections.keys()]
  }

  get connections(): ReadonlyMap<string, Connection> {
    return this.#connections
  }

  get servers(): ReadonlyMap<string, ConfiguredServer> {
    return this.#servers
  }

  connection(name: string): Connection {
    const connection = this.#connections.get(name)
    if (!connection) throw noSuchServer(name, this.names)
    return connection
  }

  /** Also for one that was removed meanwhile. */
  snapshot(connection: Connection): ServerSnapshot {
    const { server } = connection
    return snapshot(this.#servers.get(server.name) ?? server, connection)
  }

  add(server: ConfiguredServer): Connection {
    const { board, asks } = this.#options
    // A server that the program itself passes in is known to that program alone.
    const isPrograms = isInProcess(server.entry) && !isBuiltin(server)
    const options = this.#connectionOptions(server, isPrograms)
    const pool = isPrograms ? undefined : board.pool
    const place = { root: asks.cwd, identity: board.poolIdentity }
    const connection = pool?.take(options, place) ?? new ServerConnection(options)
    this.#connections.set(server.name, connection)
    this.#servers.set(server.name, server)
    return connection
  }

  /**
   * One more connection to a server of the board, with events and request handlers of its own; the caller closes it. The
   * handlers are made for `key`, by which their requests can be told from those of the board's own connection.
   */
  instance(name: string, key: string, events: Events, own: InstanceLogin = {}): Connection {
    const { server: shared } = this.connection(name)
    const server = own.headers ? withHeaders(shared, own.headers) : shared
    const handlers = this.#handlers({ ...server, name: key })
    const options = this.#connectionOptions(server, true)
    return new ServerConnection({ ...options, events, handlers, ...(own.auth && { auth: own.auth(server) }) })
  }

  #connectionOptions(server: ConfiguredServer, isUnlisted: boolean): ConnectionOptions {
    const { board, host, stateDir, events } = this.#options
    const { auth, handOver, inProcess, workspace, clientInfo, timeoutMs } = board
    return {
      server,
      host,
      stateDir,
      events,
      eras: this.#eras,
      recent: this.#recent,
      store: isUnlisted ? undefined : this.#store,
      slots: isLocal(server.entry) ? this.#slots.local : this.#slots.remote,
      handlers: this.#handlers(server),
      clientInfo: clientInfo ?? CLIENT_INFO,
      auth: auth?.(server),
      handOver: (name) => linkedTo(inProcess, name) ?? handOver?.(name),
      workspace,
      traffic: board.onMessage && messageSink(board.onMessage, () => ++this.#linkCount),
      timeoutMs: connectTimeoutOf(server.entry, timeoutMs, host.env),
      callTimeoutMs: positive(host.env.MCP_TOOL_TIMEOUT) ?? CALL_LIMITS.timeoutMs,
      nextCall: () => ++this.#callCount,
    }
  }

  #handlers(server: ConfiguredServer): RequestHandlers {
    const { board, host, asks } = this.#options
    const { requestHandlers: given } = board
    const { roots: rootsHandler, ...handlers } = {
      ...requestHandlersFor(asks),
      ...(typeof given === 'function' ? given(server) : given),
    }
    const roots = rootsFor(server, rootsHandler, { home: host.home, cwd: asks.cwd })
    return { ...handlers, ...(roots && { roots }) }
  }

  /** Applies added, changed and removed servers; the others are not touched. */
  replace(servers: readonly ConfiguredServer[]): Replacement {
    const wanted = new Map(servers.map((server) => [server.name, server]))
    const leaving: Promise<void>[] = []
    const removed: string[] = []
    for (const [name, connection] of [...this.#connections]) {
      const next = wanted.get(name)
      if (next && sameServer(connection.server, next)) continue
      this.#connections.delete(name)
      this.#servers.delete(name)
      removed.push(name)
      leaving.push(connection.close())
    }
    const arrived: Connection[] = []
    for (const server of wanted.values()) {
      if (this.#connections.has(server.name)) this.#servers.set(server.name, server)
      else arrived.push(this.add(server))
    }
    this.#order([...wanted.keys()])
    return { arrived, removed, left: Promise.all(leaving) }
  }

  /** Lists follow the configuration, not the moment when an entry was last changed: an unchanged list has the same bytes. */
  #order(names: readonly string[]): void {
    for (const map of [this.#connections, this.#servers] as Map<string, unknown>[])
      for (const name of names) {
        const value = map.get(name)
        map.delete(name)
        map.set(name, value)
      }
  }

  /** The current tools, as their servers define them; those of a server that is away are the last known ones. */
  definitions(): readonly BoardDefinition[] {
    return [...this.#connections].flatMap(([server, { catalog, state }]) => {
      if (state.kind === 'disabled') return []
      const available = state.kind === 'connected' || isExpected(catalog, state)
      return catalog.tools.items.map((tool) => ({ server, tool, available }))
    })
  }

  toolSources(): readonly ToolSource[] {
    const sources: ToolSource[] = []
    for (const [server, { catalog, state }] of this.#connections) {
      if (state.kind === 'disabled') continue
      const configured = this.#servers.get(server)
      sources.push({
        server,
        items: catalog.tools.items,
        remembered: catalog.listedBy === 'catalog',
        alwaysLoad: configured?.entry.alwaysLoad ?? false,
        concurrentTools: configured?.entry.concurrentTools,
        allows: configured && this.#options.board.builtinAllows?.(configured),
      })
    }
    return sources
  }

  /** Whether these are still the sources of the tools; asked before every call, so it makes nothing. */
  areToolSources(sources: readonly ToolSource[]): boolean {
    let at = 0
    for (const { catalog, state, server } of this.#connections.values()) {
      if (state.kind === 'disabled') continue
      const source = sources[at++]
      const entry = this.#servers.get(server.name)?.entry
      if (
        source?.server !== server.name ||
        source.items !== catalog.tools.items ||
        source.alwaysLoad !== (entry?.alwaysLoad ?? false) ||
        source.concurrentTools !== entry?.concurrentTools
      )
        return false
    }
    return at === sources.length
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()))
  }

  /** Resolves when the caches are on disk, or it took too long. */
  async flush(): Promise<void> {
    const flushes = Promise.all([this.#eras.flush(), this.#store?.flush()])
    await atMost(this.#options.host, CONNECT_LIMITS.closeMs, flushes)
  }
}

/** Its tools are known, and it starts when it is needed: known from an earlier process, or stopped because it was not used. */
export function isExpected({ listedBy }: Pick<Catalog, 'listedBy'>, state: ServerState): boolean {
  if (state.kind !== 'pending') return false
  return listedBy === 'catalog' || (listedBy === 'server' && state.attempt === 0)
}

/** The same, and what is known is recent enough to be shown. */
export function isAsleep({ server, state, catalog }: Connection, now: number): boolean {
  const { remembered, listedBy } = catalog
  if (!isExpected(catalog, state)) return false
  return remembered === undefined || listedBy === 'server' || isCurrent(server, remembered, now)
}

/** An entry without an address has no headers to add to. */
function withHeaders(server: ConfiguredServer, more: Readonly<Record<string, string>>): ConfiguredServer {
  const { entry } = server
  if (!isRemoteEntry(entry)) return server
  const replaced = new Set(Object.keys(more).map((name) => name.toLowerCase()))
  const kept = Object.entries(entry.headers).filter(([name]) => !replaced.has(name.toLowerCase()))
  return { ...server, entry: { ...entry, headers: { ...Object.fromEntries(kept), ...more } } }
}

/** The same server, for the connection's purposes: where it was defined does not matter. */
function sameServer(a: ConfiguredServer, b: ConfiguredServer): boolean {
  return a.signature === b.signature && isDeepStrictEqual([a.entry, a.disabled], [b.entry, b.disabled])
}

/** A listener of the program as a place where connections tell their messages. */
function messageSink(tell: (message: ProtocolMessage) => void, nextLink: () => number): TrafficSink {
  return {
    link: (server) => ({ id: nextLink(), server }),
    record: ({ id, server }, direction, message) =>
      tell({ server, connection: id, from: direction === 'sent' ? 'client' : 'server', message }),
  }
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return text && Number.isInteger(value) && value > 0 ? value : undefined
}
