// boards.ts: the boards of the clients of one resident process. Each is opened with its client's folder and environment; the
// connections behind them are shared.
import {
  type BoardBehaviour,
  ConnectionPool,
  type Host,
  type LocalBoard,
  openBoard,
  type TrafficRecorder,
} from '@plugboard/core'
import type { Configuration, LoadOptions } from '@plugboard/core/config/load'
import { ConfigurationCache } from './configuration-cache.ts'
import { NODE_VARIABLES, type OpenParams, type ServerStatus } from './protocol.ts'

export interface BoardsOptions {
  /** Servers that are not used stop after it. */
  readonly idleMs: number
  readonly traffic: TrafficRecorder
  hostOf(params: OpenParams): Host
}

export class Boards {
  readonly #options: BoardsOptions
  readonly #pool: ConnectionPool
  readonly #configurations = new ConfigurationCache()
  readonly #closing = new Set<Promise<void>>()

  constructor(options: BoardsOptions) {
    this.#options = options
    this.#pool = new ConnectionPool({ idleMs: options.idleMs, traffic: options.traffic })
  }

  /** A text says why the client has to open its own. */
  async open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string> {
    const other = this.differingVariable(params.env)
    if (other !== undefined) return `${other} differs from that of the running process`
    const configuration = await this.configuration(params)
    if (configuration.resident.enabled === false) return 'the settings say "resident": false'
    return await this.openWith(configuration, behaviour)
  }

  async openWith(configuration: Configuration, behaviour: BoardBehaviour): Promise<LocalBoard> {
    const { host } = configuration.loadedWith
    return await openBoard({ host, configuration, pool: this.#pool, catalog: true, ...behaviour })
  }

  /** The first variable that this process cannot take on. */
  differingVariable(env: OpenParams['env']): string | undefined {
    return NODE_VARIABLES.find((name) => (env[name] ?? '') !== (process.env[name] ?? ''))
  }

  status(): readonly ServerStatus[] {
    return this.#pool.status()
  }

  flushLogs(): Promise<void> {
    return this.#pool.flushLogs()
  }

  /** Stops the shared instances of a server; false when there is none. */
  stop(server: string): Promise<boolean> {
    return this.#pool.stop(server)
  }

  release(board: Pick<LocalBoard, 'close'>): void {
    // The command gets its answer first. A board that does not close is not worth more than its own time limit.
    const closing = new Promise<void>((done) => setImmediate(done))
      .then(() => board.close())
      .catch(() => undefined)
    this.#closing.add(closing)
    void closing.then(() => this.#closing.delete(closing))
  }

  async close(): Promise<void> {
    await Promise.all(this.#closing)
    await this.#pool.close()
  }

  /** What changed since the last command is seen: files that may have are read again. */
  load(options: LoadOptions): Promise<Configuration> {
    return this.#configurations.load(options)
  }

  /** Read for every client, with its environment: what it trusts and approves is decided now. */
  async configuration(params: OpenParams): Promise<Configuration> {
    const { cwd, mcpConfig, strict, approveProject, builtins, servers } = params
    return await this.load({
      host: this.#options.hostOf(params),
      cwd,
      ...(mcpConfig && { mcpConfig }),
      ...(servers && { servers }),
      ...(strict !== undefined && { strict }),
      ...(approveProject !== undefined && { approveProject }),
      ...(builtins && { builtins }),
    })
  }
}
