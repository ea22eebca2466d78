// resident.ts: the process itself: its clients, their boards on one pool of connections, and when it leaves: idle for long
// enough, told to, or replaced by a newer version.
import { rmSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import {
  type BoardBehaviour,
  ConnectionPool,
  type Host,
  type LocalBoard,
  openBoard,
  systemHost,
} from '@plugboard/core'
import { atMost } from '@plugboard/core/async/waits'
import { type Configuration, loadConfiguration } from '@plugboard/core/config/load'
import { IoError } from '@plugboard/core/errors'
import { RESIDENT_LIMITS } from '@plugboard/core/limits'
import { takeFirstLine } from './first-line.ts'
import { listen } from './listen.ts'
import { type Log, openLog } from './log.ts'
import type { ResidentPlace } from './place.ts'
import { NODE_VARIABLES, type OpenParams, type StatusResult } from './protocol.ts'
import { serveMcp } from './serve-mcp.ts'
import { Session } from './session.ts'

export interface ResidentOptions {
  readonly place: ResidentPlace
  readonly version: string
  /** Without a client for this long, it leaves; 0 stays. */
  readonly idleMs?: number
}

export interface Resident {
  /** Resolves when the process may end, with the reason. */
  readonly left: Promise<string>
  leave(why: string): void
}

/** Undefined when another process listens already. */
export async function startResident(options: ResidentOptions): Promise<Resident | undefined> {
  const clients = new Set<Socket>()
  let accept: (socket: Socket) => void = (socket) => socket.destroy()
  const listening = await listen(options.place, (socket) => {
    clients.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => clients.delete(socket))
    if (clients.size > RESIDENT_LIMITS.clients) socket.destroy()
    else accept(socket)
  })
  if (listening.kind === 'taken') return undefined
  const running = new RunningResident(options, listening.server, listening.token)
  accept = (socket) => running.accept(socket)
  return running
}

class RunningResident implements Resident {
  readonly left: Promise<string>
  readonly #options: ResidentOptions
  readonly #server: Server
  readonly #token: string
  readonly #log: Log
  readonly #startedAt = Date.now()
  readonly #sessions = new Set<Session>()
  readonly #pool: ConnectionPool
  /** One guard for the children of all boards. */
  readonly #owner = {}
  #mcpClients = 0
  #stopIdle: (() => void) | undefined
  #leaving: string | undefined
  #gone: (why: string) => void = () => undefined

  constructor(options: ResidentOptions, server: Server, token: string) {
    this.#options = options
    this.#server = server
    this.#token = token
    this.#log = openLog(options.place.log)
    this.#pool = new ConnectionPool({ idleMs: options.idleMs ?? RESIDENT_LIMITS.idleMs })
    this.left = new Promise((done) => {
      this.#gone = done
    })
    server.on('error', (error) => this.leave(`the socket failed: ${error.message}`))
    this.#log(`started, version ${options.version}, process ${process.pid}`)
    this.#restIfAlone()
  }

  accept(socket: Socket): void {
    if (this.#leaving !== undefined) return void socket.destroy()
    this.#stopIdle?.()
    void takeFirstLine(socket, RESIDENT_LIMITS.helloMs).then((first) => {
      if (!first) return this.#restIfAlone()
      if (first.method === 'board/mcp') return void this.#mcp(socket, first.params)
      this.#sessions.add(new Session(this.#sessionHost(), socket))
      socket.resume()
    })
  }

  leave(why: string): void {
    if (this.#leaving !== undefined) return
    this.#leaving = why
    this.#log(`leaving: ${why}`)
    void this.#end(why)
  }

  #sessionHost(): ConstructorParameters<typeof Session>[0] {
    const { version } = this.#options
    return {
      token: this.#token,
      version,
      startedAt: this.#startedAt,
      open: (params, behaviour) => this.#open(params, behaviour),
      refusal: async (params) => this.#refusal(params, await this.#configuration(params)),
      status: async () => this.#status(),
      leave: (why) => this.leave(why),
      ended: (session) => {
        this.#sessions.delete(session)
        this.#restIfAlone()
      },
    }
  }

  async #open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string> {
    const configuration = await this.#configuration(params)
    const why = this.#refusal(params, configuration)
    if (why !== undefined) return why
    return await openBoard({ host: this.#hostOf(params), configuration, pool: this.#pool, ...behaviour })
  }

  #refusal(params: OpenParams, { resident }: Configuration): string | undefined {
    if (this.#leaving !== undefined) return `the process is leaving: ${this.#leaving}`
    const other = NODE_VARIABLES.find((name) => (params.env[name] ?? '') !== (process.env[name] ?? ''))
    if (other !== undefined) return `${other} differs from that of the running process`
    return resident.enabled === false ? 'the settings say "resident": false' : undefined
  }

  #hostOf({ env }: OpenParams): Host {
    return systemHost({ env, owner: this.#owner })
  }

  /** Read for every client, with its environment: what it trusts and approves is decided now. */
  async #configuration(params: OpenParams): Promise<Configuration> {
    const { cwd, mcpConfig, strict, approveProject, servers } = params
    return await loadConfiguration({
      host: this.#hostOf(params),
      cwd,
      ...(mcpConfig && { mcpConfig }),
      ...(servers && { servers }),
      ...(strict !== undefined && { strict }),
      ...(approveProject !== undefined && { approveProject }),
    })
  }

  async #mcp(socket: Socket, params: unknown): Promise<void> {
    this.#mcpClients++
    try {
      await serveMcp(socket, params, {
        token: this.#token,
        open: async (open, wiring) => {
          const board = await this.#open(open, { ...wiring, watch: true })
          if (typeof board === 'string') throw new IoError(`No board for this client: ${board}.`)
          return board
        },
      })
    } catch (error) {
      this.#log(`a client of connect failed: ${error instanceof Error ? error.message : String(error)}`)
      socket.destroy()
    } finally {
      this.#mcpClients--
      this.#restIfAlone()
    }
  }

  #status(): StatusResult {
    return {
      pid: process.pid,
      version: this.#options.version,
      startedAt: this.#startedAt,
      clients: [...this.#sessions].filter(({ hasBoard }) => hasBoard).length + this.#mcpClients,
      memoryBytes: process.memoryUsage.rss(),
      servers: this.#pool.status(),
    }
  }

  #restIfAlone(): void {
    const idleMs = this.#options.idleMs ?? RESIDENT_LIMITS.idleMs
    this.#stopIdle?.()
    if (this.#sessions.size + this.#mcpClients > 0 || idleMs === 0) return
    const timer = setTimeout(() => this.leave('idle'), idleMs)
    this.#stopIdle = () => clearTimeout(timer)
  }

  async #end(why: string): Promise<void> {
    const host = systemHost()
    this.#stopIdle?.()
    // No new client finds it; what runs may finish.
    this.#server.close()
    for (const path of [this.#options.place.socket, this.#options.place.token])
      if (process.platform !== 'win32' || path === this.#options.place.token) rmSync(path, { force: true })
    const until = Date.now() + RESIDENT_LIMITS.drainMs
    while (this.#sessions.size + this.#mcpClients > 0 && Date.now() < until && isPatient(why))
      await new Promise((done) => setTimeout(done, 50))
    for (const session of this.#sessions) session.close()
    await atMost(host, RESIDENT_LIMITS.drainMs, this.#pool.close())
    this.#log(`left: ${why}`)
    this.#gone(why)
  }
}

/** A newer version waits for the calls of others; a user who said `down` does not. */
function isPatient(why: string): boolean {
  return why.startsWith('version')
}
