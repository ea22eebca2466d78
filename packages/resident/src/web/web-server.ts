// web-server.ts: the page of the board on the loopback interface: its files, the exchange of a token for a session, and the
// WebSocket. Every request is judged by Host and Origin before anything else. What the page may do is in page-session.ts.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { AppSandbox } from './app-sandbox.ts'
import { pageHeaders, refuse, sendFile, tokenOf } from './page-responses.ts'
import { PageStream } from './page-stream.ts'
import { readStaticFiles, type StaticFile } from './static-files.ts'
import { cookieOf, isOurHost, isOurOrigin, WebAccess } from './web-access.ts'
import { WEB_LIMITS } from './web-limits.ts'

export interface WebServerOptions {
  /** The folder of the built page. */
  readonly files: string
  /** Signs sessions; kept by the caller so that pages find the next process. */
  readonly key: string
  /** 0 lets the system choose. */
  readonly port: number
  /** The process before this one may still have the port for a moment. */
  readonly waitsForPort: boolean
  /** A page connected: serve it on this stream until it closes. `board` is what the page asks for. */
  onPage(stream: PageStream, board: string): void
}

const LOOPBACK = '127.0.0.1'

export class WebServer {
  readonly apps = new AppSandbox()
  readonly #options: WebServerOptions
  readonly #files: ReadonlyMap<string, StaticFile>
  readonly #access: WebAccess
  readonly #server: Server
  readonly #appServer: Server
  readonly #sockets: WebSocketServer
  readonly #pages = new Map<string, PageStream>()

  private constructor(options: WebServerOptions) {
    this.#options = options
    this.#files = readStaticFiles(options.files)
    this.#access = new WebAccess(options.key)
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: WEB_LIMITS.messageBytes,
      perMessageDeflate: false,
    })
    this.#server = createServer({ maxHeaderSize: 16 * 1024 }, (request, response) => {
      void this.#handle(request, response).catch(() => response.destroy())
    })
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.#appServer = createServer((request, response) =>
      isOurHost(request, this.#appHost) ? this.apps.serve(request, response) : refuse(response, 421),
    )
  }

  static async start(options: WebServerOptions): Promise<WebServer> {
    const server = new WebServer(options)
    await listening(server.#appServer, 0)
    await server.#listen(options.waitsForPort ? WEB_LIMITS.portTries : 1)
    server.apps.shownBy(server.origin)
    return server
  }

  /** Another program may have the port by now: then the system chooses one. */
  async #listen(tries: number): Promise<void> {
    for (let left = tries; ; left--)
      try {
        await listening(this.#server, left > 0 ? this.#options.port : 0)
        return
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || left === 0) throw error
        if (left > 1) await new Promise((done) => setTimeout(done, WEB_LIMITS.portMs))
      }
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get origin(): string {
    return `http://${this.#host}`
  }

  /** Another site than the page's, as browsers see it: it shares neither storage nor a process. */
  get appOrigin(): string {
    return `http://${this.#appHost}`
  }

  /** The address for a browser: the token is behind the #, so it is in no request, no log and no referrer. */
  address(board: string): string {
    return `${this.origin}/#token=${this.#access.oneTimeToken()}&board=${encodeURIComponent(board)}`
  }

  close(): void {
    for (const page of this.#pages.values()) page.destroy()
    this.#server.close()
    this.#appServer.close()
    this.#server.closeAllConnections()
    this.#appServer.closeAllConnections()
  }

  get #host(): string {
    return `${LOOPBACK}:${this.port}`
  }

  get #appHost(): string {
    return `localhost:${(this.#appServer.address() as AddressInfo).port}`
  }

  get #cookie(): string {
    return `plugboard_${this.port}`
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = pageHeaders({ connect: `ws://${this.#host}`, frames: this.appOrigin })
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    if (!isOurHost(request, this.#host)) return refuse(response, 421)
    const path = new URL(request.url ?? '/', this.origin).pathname
    if (path === '/session') return await this.#session(request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405)
    const file = this.#files.get(path === '/' ? '/index.html' : path)
    if (!file) return refuse(response, 404)
    sendFile(request, response, file)
  }

  /** The token for the two halves of a session. */
  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isJson = request.headers['content-type'] === 'application/json'
    if (request.method !== 'POST' || !isJson) return refuse(response, 405)
    if (!isOurOrigin(request, this.origin)) return refuse(response, 403)
    const token = await tokenOf(request)
    if (token === undefined) return refuse(response, 413)
    const halves = this.#access.exchange(token)
    if (!halves) return refuse(response, 401)
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'Set-Cookie': `${this.#cookie}=${halves.cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${WEB_LIMITS.cookieSeconds}`,
    })
    response.end(JSON.stringify({ proof: halves.proof }))
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const url = new URL(request.url ?? '/', this.origin)
    const ours = isOurHost(request, this.#host) && request.headers.origin === this.origin
    // The proof travels as a subprotocol: browsers offer no other header, and an address would be logged.
    const [, proof] = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim())
    const admitted = ours && this.#access.admits(cookieOf(request, this.#cookie), proof)
    if (!admitted || url.pathname !== '/board' || this.#pages.size > WEB_LIMITS.pages) {
      socket.end(
        `HTTP/1.1 ${admitted ? '503 Service Unavailable' : '403 Forbidden'}\r\nConnection: close\r\n\r\n`,
      )
      return
    }
    this.#sockets.handleUpgrade(request, socket, head, (websocket) => {
      const known = this.#pages.get(url.searchParams.get('session') ?? '')
      const seen = Number(url.searchParams.get('seen') ?? 0)
      const page = known ?? new PageStream(crypto.randomUUID())
      page.attach(websocket, known && Number.isSafeInteger(seen) ? seen : 0, known === undefined)
      if (known) return
      this.#pages.set(page.id, page)
      page.on('close', () => this.#pages.delete(page.id))
      this.#options.onPage(page, url.searchParams.get('board') ?? '')
    })
  }
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(port, LOOPBACK, () => {
      server.off('error', fail)
      done()
    })
  })
}
