// admin-page.ts: the page of a gateway's administrators, on the port of the administration: its files, sign-in by an address that
// works once or by the token of the administration, and the actions that the HTTP interface has. What they do is the gateway's.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AdminFault } from '@plugboard/gateway/parts'
import { pageHeaders, refuse, sendFile, tokenOf } from './page-responses.ts'
import { readStaticFiles, type StaticFile } from './static-files.ts'
import { cookieOf, isOurHost, isOurOrigin, isSame, WebAccess } from './web-access.ts'
import { WEB_LIMITS } from './web-limits.ts'

export interface AdminPageOptions {
  /** The folder of the built page. */
  readonly files: string
  /** Where the administration listens: a loopback address. */
  readonly url: string
  /** The token of the administration. */
  readonly token: string
  /** `GET users`, `POST users/ada/revoke` … */
  run(method: string, words: readonly string[]): Promise<object>
}

/** What the page's requests carry beside the cookie: no page of another origin can read or send it. */
const PROOF_HEADER = 'x-plugboard-proof'
const ACTIONS = '/page/'

export class AdminPage {
  readonly #options: AdminPageOptions
  readonly #files: ReadonlyMap<string, StaticFile>
  readonly #access = new WebAccess(randomBytes(32).toString('hex'))
  readonly #origin: string
  readonly #host: string

  constructor(options: AdminPageOptions) {
    this.#options = options
    this.#files = readStaticFiles(options.files)
    const { origin, host } = new URL(options.url)
    this.#origin = origin
    this.#host = host
  }

  /** The address for a browser: the token is behind the #, so it is in no request, no log and no referrer. */
  address(): string {
    return `${this.#origin}/#token=${this.#access.oneTimeToken()}`
  }

  /** Answers requests of the page; false leaves the others to the HTTP interface. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const path = new URL(request.url ?? '/', this.#origin).pathname
    const file = this.#files.get(path === '/' ? '/admin.html' : path)
    const isOurs = file !== undefined || path === '/session' || path.startsWith(ACTIONS)
    if (!isOurs) return false
    for (const [name, value] of Object.entries(pageHeaders())) response.setHeader(name, value)
    if (!isOurHost(request, this.#host)) refuse(response, 421)
    else if (path === '/session') await this.#session(request, response)
    else if (path.startsWith(ACTIONS)) await this.#act(request, response, path.slice(ACTIONS.length))
    else if (file && (request.method === 'GET' || request.method === 'HEAD'))
      sendFile(request, response, file)
    else refuse(response, 405)
    return true
  }

  get #cookie(): string {
    return `plugboard_admin_${new URL(this.#origin).port}`
  }

  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isJson = request.headers['content-type'] === 'application/json'
    if (request.method !== 'POST' || !isJson) return refuse(response, 405)
    if (!isOurOrigin(request, this.#origin)) return refuse(response, 403)
    const token = await tokenOf(request)
    if (token === undefined) return refuse(response, 413)
    const isAdmin = typeof token === 'string' && isSame(token, this.#options.token)
    const halves = isAdmin ? this.#access.open() : this.#access.exchange(token)
    if (!halves) return refuse(response, 401, 'This is not the token of the administration.')
    response.setHeader(
      'Set-Cookie',
      `${this.#cookie}=${halves.cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${WEB_LIMITS.cookieSeconds}`,
    )
    json(response, 200, { proof: halves.proof })
  }

  async #act(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    request.resume()
    const { method = 'GET', headers } = request
    const site = headers['sec-fetch-site'] ?? 'same-origin'
    const isOurs = method === 'GET' ? site === 'same-origin' : isOurOrigin(request, this.#origin)
    if (!isOurs) return refuse(response, 403)
    const proof = headers[PROOF_HEADER]
    if (!this.#access.admits(cookieOf(request, this.#cookie), typeof proof === 'string' ? proof : undefined))
      return refuse(response, 401, 'Sign in again.')
    try {
      json(response, 200, await this.#options.run(method, path.split('/').map(decoded)))
    } catch (error) {
      if (!(error instanceof AdminFault)) throw error
      json(response, error.status, { error: error.message })
    }
  }
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    // Not encoded as it should be: it names nothing.
    return word
  }
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(value))
}
