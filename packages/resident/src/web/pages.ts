// pages.ts: the pages of the resident process: the web server when somebody wants it, the boards that pages show, and the
// sessions of those pages.
import { createHash } from 'node:crypto'
import type { ResidentPlace } from '../socket-paths.ts'
import type { BoardPlace, PageHost } from './page-host.ts'
import { PageSession } from './page-session.ts'
import { WebServer } from './web-server.ts'
import { freshWebState, readWebState, removeWebState, type WebState, writeWebState } from './web-state.ts'

export interface PagesOptions extends Omit<PageHost, 'apps' | 'appOrigin' | 'place'> {
  readonly resident: ResidentPlace
  /** The folder of the built page. */
  readonly files: string
  log(text: string): void
  /** A page came or went. */
  changed(): void
}

export class Pages {
  readonly #options: PagesOptions
  readonly #sessions = new Set<PageSession>()
  readonly #boards = new Map<string, BoardPlace>()
  #server: Promise<WebServer> | undefined
  #state: WebState

  constructor(options: PagesOptions) {
    this.#options = options
    const before = readWebState(options.resident)
    this.#state = before ?? freshWebState()
    const env = ownEnvironment()
    for (const [id, cwd] of Object.entries(this.#state.boards))
      this.#boards.set(id, { cwd, env, isRestored: true })
    // The process before this one was killed: its pages look for the next one at the same address.
    if (before) this.#start(true).catch((error: unknown) => options.log(`the page: ${String(error)}`))
  }

  get size(): number {
    return this.#sessions.size
  }

  /** An address for a browser that shows the board of this terminal. */
  async address(place: {
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
  }): Promise<string> {
    const server = await this.#start()
    const id = createHash('sha256').update(place.cwd).digest('hex').slice(0, 16)
    this.#boards.delete(id)
    this.#boards.set(id, { ...place, isRestored: false })
    await this.#save(server.port)
    return server.address(id)
  }

  /** Ends all pages; they find the next process only if it is to take them over. */
  async close({ forNext }: { readonly forNext: boolean }): Promise<void> {
    for (const session of this.#sessions) session.close()
    if (!forNext) removeWebState(this.#options.resident)
    const server = await this.#server?.catch(() => undefined)
    server?.close()
  }

  async #save(port: number): Promise<void> {
    const boards = Object.fromEntries([...this.#boards].map(([id, { cwd }]) => [id, cwd]))
    this.#state = { ...this.#state, port, boards }
    await writeWebState(this.#options.resident, this.#state)
  }

  #start(samePort = false): Promise<WebServer> {
    this.#server ??= WebServer.start({
      files: this.#options.files,
      key: this.#state.key,
      port: this.#state.port,
      waitsForPort: samePort,
      onPage: (stream, board) => {
        const session = new PageSession(this.#host(), stream, board, () => {
          this.#sessions.delete(session)
          this.#options.changed()
        })
        this.#sessions.add(session)
        this.#options.changed()
      },
    }).then(
      (server) => {
        this.#running = server
        return server
      },
      (error: unknown) => {
        // The next `plugboard ui` tries again.
        this.#server = undefined
        throw error
      },
    )
    return this.#server
  }

  #running: WebServer | undefined

  #host(): PageHost {
    const { version, startedAt, traffic, questions, open, configuration, hostOf, status, stop } =
      this.#options
    const server = this.#running
    if (!server) throw new Error('A page arrived before its server started.')
    return {
      version,
      startedAt,
      traffic,
      questions,
      open,
      configuration,
      hostOf,
      status,
      stop,
      apps: server.apps,
      appOrigin: () => server.appOrigin,
      place: (board) => this.#boards.get(board) ?? [...this.#boards.values()].at(-1),
    }
  }
}

function ownEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
