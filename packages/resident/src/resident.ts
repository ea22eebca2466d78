// resident.ts: the process itself: its clients, their boards on one pool of connections, and when it leaves: idle for long
// enough, told to, or replaced by a newer version.
import { lstatSync, rmSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import type { BoardBehaviour, Host, LocalBoard } from '@plugboard/core'
import { atMost } from '@plugboard/core/async/waits'
import { TrafficRecorder } from '@plugboard/core/connection/traffic'
import { InvalidInput } from '@plugboard/core/errors'
import { systemHost } from '@plugboard/core/host'
import type { Boards } from './boards.ts'
import { type RunCommand, serveCommand } from './command-session.ts'
import { Session } from './control-session.ts'
import { takeFirstLine } from './detect-protocol.ts'
import { RESIDENT_LIMITS } from './limits.ts'
import { listen } from './listen.ts'
import { type Log, openLog } from './log.ts'
import type { OpenParams, StatusResult } from './protocol.ts'
import { OpenQuestions } from './questions.ts'
import type { ResidentPlace } from './socket-paths.ts'
import type { Pages } from './web/pages.ts'
import { readWebState } from './web/web-state.ts'

export interface ResidentOptions {
  readonly place: ResidentPlace
  readonly version: string
  /** Without a client for this long, it leaves; 0 stays. */
  readonly idleMs?: number
  /** The folder of the built page; without it there is no page. */
  readonly pageFiles?: string
  /** Runs the verbs of commands here; without it, each command runs its own. */
  readonly runCommand?: RunCommand
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
  readonly #traffic = new TrafficRecorder()
  readonly #questions = new OpenQuestions()
  /** One guard for the children of all boards. */
  readonly #owner = {}
  #boards: Promise<Boards> | undefined
  #opened: Boards | undefined
  #loadingPages: Promise<Pages> | undefined
  #pages: Pages | undefined
  #mcpClients = 0
  #commands = 0
  readonly #socketId: number | undefined
  readonly #watch: NodeJS.Timeout
  #stopIdle: (() => void) | undefined
  #leaving: string | undefined
  #gone: (why: string) => void = () => undefined

  constructor(options: ResidentOptions, server: Server, token: string) {
    this.#options = options
    this.#server = server
    this.#token = token
    this.#log = openLog(options.place.log)
    // Pages of the process before this one look for it.
    if (options.pageFiles !== undefined && readWebState(options.place))
      this.#loadPages().catch((error: unknown) => this.#log(`the page: ${String(error)}`))
    this.left = new Promise((done) => {
      this.#gone = done
    })
    server.on('error', (error) => this.leave(`the socket failed: ${error.message}`))
    this.#log(`started, version ${options.version}, process ${process.pid}`)
    this.#socketId = socketId(options.place)
    // A state folder that was removed, or taken over, cannot be found again: the process would stay for nobody.
    this.#watch = setInterval(() => {
      if (socketId(options.place) !== this.#socketId) this.leave('its socket is gone')
    }, RESIDENT_LIMITS.socketCheckMs)
    this.#restIfAlone()
  }

  accept(socket: Socket): void {
    if (this.#leaving !== undefined) return void socket.destroy()
    this.#stopIdle?.()
    void takeFirstLine(socket, RESIDENT_LIMITS.helloMs).then((first) => {
      if (!first) return this.#restIfAlone()
      if (first.method === 'board/mcp') return void this.#mcp(socket, first.params)
      if (first.method === 'board/run') return void this.#command(socket, first.params)
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
      status: async () => this.#status(),
      flushLogs: async () => await this.#opened?.flushLogs(),
      questions: this.#questions,
      traffic: this.#traffic,
      page: async (place) => ({ url: await (await this.#loadPages()).address(place) }),
      leave: (why) => this.leave(why),
      ended: (session) => {
        this.#sessions.delete(session)
        this.#restIfAlone()
      },
    }
  }

  /** Loaded when a page is wanted. */
  #loadPages(): Promise<Pages> {
    const files = this.#options.pageFiles
    if (files === undefined)
      throw new InvalidInput('This resident board was started without the files of the page.', {
        hint: 'Run `plugboard down` and `plugboard ui` again.',
      })
    this.#loadingPages ??= import('./web/pages.ts').then(({ Pages }) => {
      this.#pages = new Pages({
        files,
        resident: this.#options.place,
        version: this.#options.version,
        startedAt: this.#startedAt,
        traffic: this.#traffic,
        questions: this.#questions,
        open: (params, behaviour) => this.#open(params, behaviour),
        configuration: async (params) => await (await this.#loadBoards()).configuration(params),
        hostOf: (params) => this.#hostOf(params),
        status: () => this.#status(),
        stop: async (server) => (await this.#opened?.stop(server)) ?? false,
        log: (text) => this.#log(text),
        changed: () => this.#restIfAlone(),
      })
      return this.#pages
    })
    return this.#loadingPages
  }

  #hostOf({ env }: OpenParams): Host {
    return systemHost({ env, owner: this.#owner })
  }

  async #open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string> {
    if (this.#leaving !== undefined) return `the process is leaving: ${this.#leaving}`
    try {
      return await (await this.#loadBoards()).open(params, behaviour)
    } catch (error) {
      // The program was installed anew while this process ran: the next one has all of its files.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
      const why = 'its program was replaced'
      this.leave(why)
      return why
    }
  }

  /** The code of boards is loaded for the first client: a process that only waits stays small, and listens sooner. */
  #loadBoards(): Promise<Boards> {
    this.#boards ??= import('./boards.ts').then(({ Boards }) => {
      this.#opened = new Boards({
        idleMs: this.#options.idleMs ?? RESIDENT_LIMITS.idleMs,
        traffic: this.#traffic,
        hostOf: (params) => this.#hostOf(params),
      })
      return this.#opened
    })
    return this.#boards
  }

  async #mcp(socket: Socket, params: unknown): Promise<void> {
    this.#mcpClients++
    try {
      const { serveMcp } = await import('./mcp-session.ts')
      await serveMcp(socket, params, {
        token: this.#token,
        version: this.#options.version,
        questions: this.#questions,
        open: (open, wiring) => this.#open(open, { ...wiring, watch: true }),
      })
    } catch (error) {
      this.#log(`a client of connect failed: ${error instanceof Error ? error.message : String(error)}`)
      socket.destroy()
    } finally {
      this.#mcpClients--
      this.#restIfAlone()
    }
  }

  async #command(socket: Socket, params: unknown): Promise<void> {
    this.#commands++
    try {
      const { version, runCommand: run = async () => ({ refused: 'it runs no commands' }) } = this.#options
      await serveCommand(socket, params, {
        token: this.#token,
        version,
        run,
        boards: () => this.#loadBoards(),
        hostOf: ({ env }) => systemHost({ env, owner: this.#owner }),
      })
    } catch (error) {
      this.#log(`a command failed: ${error instanceof Error ? error.message : String(error)}`)
      socket.destroy()
      if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
        this.leave('its program was replaced')
    } finally {
      this.#commands--
      this.#restIfAlone()
    }
  }

  #status(): StatusResult {
    return {
      pid: process.pid,
      version: this.#options.version,
      startedAt: this.#startedAt,
      clients:
        [...this.#sessions].filter(({ hasBoard }) => hasBoard).length +
        this.#mcpClients +
        this.#commands +
        (this.#pages?.size ?? 0),
      memoryBytes: process.memoryUsage.rss(),
      servers: this.#opened?.status() ?? [],
    }
  }

  get #clients(): number {
    return this.#sessions.size + this.#mcpClients + this.#commands + (this.#pages?.size ?? 0)
  }

  #restIfAlone(): void {
    const idleMs = this.#options.idleMs ?? RESIDENT_LIMITS.idleMs
    this.#stopIdle?.()
    if (this.#leaving !== undefined || this.#clients > 0 || idleMs === 0) return
    const timer = setTimeout(() => this.leave('idle'), idleMs)
    this.#stopIdle = () => clearTimeout(timer)
  }

  async #end(why: string): Promise<void> {
    const host = systemHost()
    this.#stopIdle?.()
    clearInterval(this.#watch)
    // No new client finds it; what runs may finish. The files of a process that took its place stay.
    const isOwn = socketId(this.#options.place) === this.#socketId
    if (isOwn) this.#server.close()
    // Closing would remove the other's socket.
    else this.#server.unref()
    if (isOwn) rmSync(this.#options.place.token, { force: true })
    if (isOwn && process.platform !== 'win32') rmSync(this.#options.place.socket, { force: true })
    const until = Date.now() + RESIDENT_LIMITS.drainMs
    while (this.#clients > 0 && Date.now() < until && isPatient(why))
      await new Promise((done) => setTimeout(done, 50))
    for (const session of this.#sessions) session.close()
    // A newer version takes the pages over.
    await this.#pages?.close({ forNext: isPatient(why) })
    if (this.#opened) await atMost(host, RESIDENT_LIMITS.drainMs, this.#opened.close())
    this.#log(`left: ${why}`)
    this.#gone(why)
  }
}

/** Which file the socket is; undefined when there is none, and on Windows, where it is no file. */
function socketId({ socket }: ResidentPlace): number | undefined {
  try {
    return process.platform === 'win32' ? undefined : lstatSync(socket, { throwIfNoEntry: false })?.ino
  } catch {
    // Its folder is no folder any more.
    return undefined
  }
}

/** A newer version waits for the calls of others; a user who said `down` does not. */
function isPatient(why: string): boolean {
  return why.startsWith('version')
}
