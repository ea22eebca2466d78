// web-server.ts: the page of the board on the loopback interface: its files, the exchange of a token for a session, and the
// WebSocket. Every request is judged by Host and Origin before anything else. What the page may do is in page-session.ts.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { AppSandbox } from './app-sandbox.ts'
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
    for (const [name, value] of Object.entries(this.#headers())) response.setHeader(name, value)
    if (!isOurHost(request, this.#host)) return refuse(response, 421)
    const path = new URL(request.url ?? '/', this.origin).pathname
    if (path === '/session') return await this.#session(request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405)
    const file = this.#files.get(path === '/' ? '/index.html' : path)
    if (!file) return refuse(response, 404)
    response.writeHead(200, {
      'Content-Type': file.type,
      'Content-Length': file.body.length,
      'Cache-Control': file.immutable ? 'private, max-age=31536000, immutable' : 'no-store',
    })
    response.end(request.method === 'HEAD' ? undefined : file.body)
  }

  /** The token for the two halves of a session. */
  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isJson = request.headers['content-type'] === 'application/json'
    if (request.method !== 'POST' || !isJson) return refuse(response, 405)
    if (!isOurOrigin(request, this.origin)) return refuse(response, 403)
    const body = await bodyOf(request)
    if (body === undefined) return refuse(response, 413)
    const halves = this.#access.exchange(body)
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

  #headers(): Readonly<Record<string, string>> {
    return {
      'Content-Security-Policy': [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        'media-src data: blob:',
        `connect-src 'self' ws://${this.#host}`,
        `frame-src ${this.appOrigin}`,
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join('; '),
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
    }
  }
}

function refuse(response: ServerResponse, status: number): void {
  const text: Readonly<Record<number, string>> = {
    401: 'This address was used before, or it is too old. Run `plugboard ui` again.',
    403: 'Only the page of the board may ask this.',
    404: 'There is no such file.',
    405: 'This is not how the page asks.',
    413: 'This is too large.',
    421: 'This server has another name.',
  }
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${text[status] ?? ''}\n`)
}

/** The token in a JSON body; undefined when the body is too large. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > WEB_LIMITS.tokenBytes) return undefined
    chunks.push(chunk as Buffer)
  }
  try {
    return (JSON.parse(Buffer.concat(chunks).toString('utf8')) as { token?: unknown } | null)?.token ?? ''
  } catch {
    // No token: the exchange refuses it.
    return ''
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
