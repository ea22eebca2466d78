// pool.ts: connections that several boards of one process share, and the key that says which may. Without a pool every
// board has its own. One shared server and the boards that use it are in shared-server.ts.
import { delimiter } from 'node:path'
import { Lru } from '../async/lru.ts'
import { Semaphore } from '../async/semaphore.ts'
import { atMost } from '../async/waits.ts'
import { hashOf } from '../config/fingerprints.ts'
import { type Sharing, sharingOf } from '../config/sharing.ts'
import { isLocal, startsCommand } from '../config/transport-traits.ts'
import { type Host, systemHost } from '../host.ts'
import { CONNECT_LIMITS, POOL_LIMITS } from '../limits.ts'
import { childEnvironment } from '../transports/environment.ts'
import { CatalogStore } from './catalog-store.ts'
import { type Connection, ServerConnection } from './connection.ts'
import { EraMemory } from './era-memory.ts'
import type { CachedList } from './lists.ts'
import type { ConnectionOptions } from './options.ts'
import { capabilitiesOf } from './server-requests.ts'
import { SharedConnection } from './shared-connection.ts'
import { SharedServer } from './shared-server.ts'
import type { TrafficRecorder } from './traffic.ts'
import type { TrafficHookRun } from './traffic-notes.ts'

/**
 * How a pool of connections behaves.
 *
 * @example
 * const options: ConnectionPoolOptions = { idleMs: 60_000, traffic: new TrafficRecorder() }
 * await new ConnectionPool(options).close()
 */
export interface ConnectionPoolOptions {
  readonly host?: Host
  /** A server that is not used is stopped after this many milliseconds, until it is needed; 0 keeps it. */
  readonly idleMs?: number
  /** Where the messages of all its connections are recorded. */
  readonly traffic?: TrafficRecorder
}

/** What a board adds to the options of a connection, so that the pool can tell who may share it. */
export interface PoolPlace {
  /** The project folder of the board. */
  readonly root: string
  /** Whatever else must be equal, such as the logins that the settings define. */
  readonly identity?: string | undefined
}

/** One shared server, as `plugboard status` shows it. */
export interface PooledServer {
  readonly name: string
  readonly state: string
  readonly share: Sharing['share']
  /** Boards that use it now. */
  readonly users: number
  readonly calls: number
  /** Milliseconds since the last request. */
  readonly idleMs: number
  readonly root: string
  readonly pid?: number
}

interface Kept {
  readonly value: { close(): Promise<void> }
}

/**
 * Connections that several boards of one process share.
 *
 * @example
 * const pool = new ConnectionPool({ idleMs: 60_000 })
 * const first = await openBoard({ servers: {}, pool })
 * const second = await openBoard({ servers: {}, pool })
 * console.log(pool.status().length) // 0
 * await Promise.all([first.close(), second.close()])
 * await pool.close()
 */
export class ConnectionPool {
  readonly #host: Host
  readonly #idleMs: number
  readonly #traffic: TrafficRecorder | undefined
  readonly #servers = new Map<string, SharedServer[]>()
  readonly #kept = new Map<string, Kept>()
  readonly #eras = new Map<string, EraMemory>()
  readonly #stores = new Map<string, CatalogStore>()
  readonly #recent = new Lru<CachedList<unknown>>(POOL_LIMITS.lists, (list) => list.forget())
  readonly #slots = {
    local: new Semaphore(CONNECT_LIMITS.localSlots),
    remote: new Semaphore(CONNECT_LIMITS.remoteSlots),
  }
  /** Connections of one board alone, for the status. */
  readonly #own = new Map<ServerConnection, PoolPlace>()
  #closed: Promise<void> | undefined

  constructor(options: ConnectionPoolOptions = {}) {
    this.#host = options.host ?? systemHost()
    this.#idleMs = options.idleMs ?? POOL_LIMITS.idleMs
    this.#traffic = options.traffic
  }

  /** Where its boards tell of the hooks that ran around calls; undefined when nothing is recorded. */
  get onHookRun(): ((run: TrafficHookRun) => void) | undefined {
    const traffic = this.#traffic
    return traffic && ((run) => traffic.hookRan(run))
  }

  /** A connection for one board: its part in a shared one where the entry allows that, else its own. */
  take(given: ConnectionOptions, place: PoolPlace): Connection {
    const options = this.#traffic ? { ...given, traffic: this.#traffic } : given
    const { share } = sharingOf(options.server, place.root)
    if (options.server.disabled || share === 'session') return this.#private(options, place)
    const key = keyOf(options, place, share)
    return new SharedConnection(options, place.root, {
      find: (lease) => this.#serverFor(key, lease, options, place),
      starting: (own) =>
        this.#servers.get(key)?.find((server) => server !== own && server.starting)?.starting,
    })
  }

  /** Something that outlives a board, by key: made once, closed with the pool. */
  keep<T extends { close(): Promise<void> }>(key: string, make: () => T): T {
    const known = this.#kept.get(key)
    // A key begins with what made it, so the value is of that type.
    if (known) return known.value as T
    const value = make()
    this.#kept.set(key, { value })
    return value
  }

  /** Every server that is or was connected and has not been stopped. */
  status(): readonly PooledServer[] {
    const shared = [...this.#servers.values()]
      .flat()
      .filter(({ isStarted }) => isStarted)
      .map((server) => server.status())
    const own = [...this.#own].map(([{ server, state }, { root }]) => {
      const pid = state.kind === 'connected' ? state.session.pid : undefined
      return {
        name: server.name,
        state: state.kind,
        share: 'session' as const,
        users: 1,
        calls: 0,
        idleMs: 0,
        root,
        ...(pid !== undefined && { pid }),
      }
    })
    return [...shared, ...own]
  }

  /** Writes to the log files what servers have said so far, for a reader in another process. */
  async flushLogs(): Promise<void> {
    const shared = [...this.#servers.values()].flat().map(({ connection }) => connection)
    await Promise.all([...shared, ...this.#own.keys()].map(({ log }) => log.flush()))
  }

  /** Stops every shared instance of a server; the next request starts another. False when there was none. */
  async stop(server: string): Promise<boolean> {
    const running = [...this.#servers.values()]
      .flat()
      .filter((one) => one.isStarted && one.connection.server.name === server)
    await Promise.all(running.map((one) => one.close()))
    return running.length > 0
  }

  /** Ends every shared connection; idempotent and bounded in time. */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      const servers = [...this.#servers.values()].flat()
      this.#servers.clear()
      await Promise.all(servers.map((server) => server.close()))
      const kept = [...this.#kept.values()].map(({ value }) => value.close())
      await atMost(this.#host, CONNECT_LIMITS.closeMs, Promise.allSettled(kept))
      const flushes = [...this.#eras.values(), ...this.#stores.values()].map((one) => one.flush())
      await atMost(this.#host, CONNECT_LIMITS.closeMs, Promise.allSettled(flushes))
    })()
    return this.#closed
  }

  #private(options: ConnectionOptions, place: PoolPlace): Connection {
    const connection = new ServerConnection(options)
    if (options.server.disabled) return connection
    this.#own.set(connection, place)
    const close = connection.close.bind(connection)
    connection.close = () => {
      this.#own.delete(connection)
      return close()
    }
    return connection
  }

  /** The server for a board of this project: the project's own, or one of another project that has no roots yet. */
  #serverFor(
    key: string,
    lease: SharedConnection,
    options: ConnectionOptions,
    place: PoolPlace,
  ): SharedServer {
    const known = this.#servers.get(key) ?? []
    const own = known.find((server) => server.root === place.root)
    const fit = own?.isStarted ? own : (known.find((server) => server.fitsAll()) ?? own)
    const server = fit ?? this.#start(key, options, place)
    server.join(lease)
    return server
  }

  #start(key: string, options: ConnectionOptions, { root }: PoolPlace): SharedServer {
    const { share } = sharingOf(options.server, root)
    const server: SharedServer = new SharedServer({
      root,
      share,
      host: this.#host,
      idleMs: this.#idleMs,
      first: options,
      connection: {
        eras: this.#erasOf(options),
        store: options.store && this.#storeOf(options),
        recent: this.#recent,
        slots: isLocal(options.server.entry) ? this.#slots.local : this.#slots.remote,
      },
      ended: () => {
        const others = (this.#servers.get(key) ?? []).filter((one) => one !== server)
        if (others.length > 0) this.#servers.set(key, others)
        else this.#servers.delete(key)
      },
    })
    this.#servers.set(key, [...(this.#servers.get(key) ?? []), server])
    return server
  }

  #storeOf({ stateDir }: ConnectionOptions): CatalogStore {
    const known = this.#stores.get(stateDir)
    if (known) return known
    const store = new CatalogStore(stateDir, this.#host)
    this.#stores.set(stateDir, store)
    return store
  }

  #erasOf({ stateDir }: ConnectionOptions): EraMemory {
    const known = this.#eras.get(stateDir)
    if (known) return known
    const eras = new EraMemory(stateDir, this.#host, () => undefined)
    this.#eras.set(stateDir, eras)
    return eras
  }
}

/** A pipe has no terminal: these say nothing about a server, and differ between the windows of one user. */
const WITHOUT_EFFECT = ['TERM', 'COLORTERM', 'LC_TERMINAL', 'LC_TERMINAL_VERSION'] as const

type KeyOptions = Pick<ConnectionOptions, 'server' | 'host' | 'handlers' | 'clientInfo' | 'stateDir'>

/**
 * Two boards share a server only if all of this is equal: its name, the expanded entry, who wrote it, the environment it
 * gets, what the client can do, and for `project` the folder.
 */
export function keyOf(options: KeyOptions, place: PoolPlace, share: Sharing['share']): string {
  const { server, host, handlers, clientInfo, stateDir } = options
  const { permissions: _, alwaysLoad: __, description: ___, share: ____, ...entry } = server.entry
  const env = childEnvironment(startsCommand(server.entry) ? { ...server.entry, env: {} } : { env: {} }, host)
  for (const name of WITHOUT_EFFECT) delete env[name]
  // A shell inside a shell often has the same folders twice; the first counts.
  if (env['PATH'] !== undefined) env['PATH'] = [...new Set(env['PATH'].split(delimiter))].join(delimiter)
  return hashOf([
    server.name,
    entry,
    server.author ?? 'user',
    env,
    capabilitiesOf(handlers),
    clientInfo,
    stateDir,
    place.identity ?? '',
    share === 'project' ? place.root : '',
  ])
}
