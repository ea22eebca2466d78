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
import { type Configuration, loadConfiguration } from '@plugboard/core/config/load'
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

  constructor(options: BoardsOptions) {
    this.#options = options
    this.#pool = new ConnectionPool({ idleMs: options.idleMs, traffic: options.traffic })
  }

  /** A text says why the client has to open its own. */
  async open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string> {
    const other = NODE_VARIABLES.find((name) => (params.env[name] ?? '') !== (process.env[name] ?? ''))
    if (other !== undefined) return `${other} differs from that of the running process`
    const configuration = await this.configuration(params)
    if (configuration.resident.enabled === false) return 'the settings say "resident": false'
    return await openBoard({
      host: this.#options.hostOf(params),
      configuration,
      pool: this.#pool,
      catalog: true,
      ...behaviour,
    })
  }

  status(): readonly ServerStatus[] {
    return this.#pool.status()
  }

  /** Stops the shared instances of a server; false when there is none. */
  stop(server: string): Promise<boolean> {
    return this.#pool.stop(server)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  /** Read for every client, with its environment: what it trusts and approves is decided now. */
  async configuration(params: OpenParams): Promise<Configuration> {
    const { cwd, mcpConfig, strict, approveProject, builtins, servers } = params
    return await loadConfiguration({
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
