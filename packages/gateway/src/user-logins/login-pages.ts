// login-pages.ts: the pages of the gateway's public address on which a user logs in to a server: the page behind the sealed link,
// and the one that the authorization server sends the browser back to. What a login is, user-logins.ts knows.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export const LOGIN_PATH = '/logins'
const CALLBACK_PATH = `${LOGIN_PATH}/callback`
const BODY_BYTES = 16 * 1024
const BODY_MS = 10_000

export interface LoginPage {
  readonly status: number
  readonly title: string
  readonly lines: readonly string[]
  /** A button that goes on with this ticket. */
  readonly form?: { readonly ticket: string; readonly button: string }
}

/** The pages as the logins see them: a text or an address to go to. */
export interface LoginSteps {
  /** The page behind a link. */
  show(ticket: string): Promise<LoginPage>
  /** The user pressed the button. */
  start(ticket: string, cookie: string): Promise<LoginPage | URL>
  /** The browser is back. */
  back(answer: URLSearchParams, cookie: string | undefined): Promise<LoginPage | URL>
}

export interface LoginPagesOptions {
  readonly publicUrl: string
  readonly steps: LoginSteps
}

export function callbackUrl(publicUrl: string): string {
  return `${publicUrl.replace(/\/$/, '')}${CALLBACK_PATH}`
}

export function startUrl(publicUrl: string, ticket: string): string {
  return `${publicUrl.replace(/\/$/, '')}${LOGIN_PATH}?ticket=${ticket}`
}

export class LoginPages {
  readonly #steps: LoginSteps
  readonly #isSecure: boolean
  readonly #cookieName: string

  constructor({ publicUrl, steps }: LoginPagesOptions) {
    const { protocol } = new URL(publicUrl)
    this.#steps = steps
    this.#isSecure = protocol === 'https:'
    // With this prefix a browser takes the cookie from this host alone, over https: no other host of the domain can set it.
    this.#cookieName = this.#isSecure ? '__Host-plugboard-login' : 'plugboard-login'
  }

  /** Whether the path is one of these pages. */
  owns(path: string): boolean {
    return path === LOGIN_PATH || path === CALLBACK_PATH
  }

  async answer(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const query = new URLSearchParams((req.url ?? '').slice(path.length + 1))
    const cookie = this.#cookieOf(req)
    if (path === CALLBACK_PATH) {
      if (req.method !== 'GET') return send(res, METHOD)
      return go(res, await this.#steps.back(query, cookie))
    }
    const ticket = query.get('ticket') ?? ''
    if (req.method === 'GET' || req.method === 'HEAD') return await this.#show(res, ticket, cookie)
    if (req.method !== 'POST') return send(res, METHOD)
    const form = await readForm(req)
    // The value in the page can only be known by a page of ours, which this browser was shown.
    const isOurs = cookie !== undefined && form?.get('browser') === cookie && isSameOrigin(req)
    if (!form || !isOurs)
      return send(res, {
        status: 403,
        title: 'Not started',
        lines: ['This browser did not open the page first, or refuses its cookie. Open the address again.'],
      })
    go(res, await this.#steps.start(form.get('ticket') ?? '', cookie))
  }

  async #show(res: ServerResponse, ticket: string, known: string | undefined): Promise<void> {
    const page = await this.#steps.show(ticket)
    if (!page.form) return send(res, page)
    // Several logins of one browser at a time share the cookie.
    const cookie = known ?? randomBytes(32).toString('base64url')
    const secure = this.#isSecure ? '; Secure' : ''
    res.setHeader(
      'Set-Cookie',
      `${this.#cookieName}=${cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600${secure}`,
    )
    send(res, page, cookie)
  }

  #cookieOf(req: IncomingMessage): string | undefined {
    for (const part of (req.headers.cookie ?? '').split(';')) {
      const [name, value = ''] = part.trim().split('=', 2)
      if (name === this.#cookieName && /^[A-Za-z0-9_-]{43}$/.test(value)) return value
    }
    return undefined
  }
}

const METHOD: LoginPage = { status: 405, title: 'Not here', lines: ['This page is opened by a browser.'] }

/** Browsers say where a form comes from; where one does not, the cookie decides. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin'
}

function readForm(req: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? ''))
    return Promise.resolve(undefined)
  return new Promise((done) => {
    let text = ''
    const end = (form: URLSearchParams | undefined) => {
      clearTimeout(timer)
      done(form)
    }
    const timer = setTimeout(() => end(undefined), BODY_MS)
    req.setEncoding('utf8')
    req.on('data', (chunk: string) => {
      text += chunk
      if (text.length <= BODY_BYTES) return
      req.pause()
      end(undefined)
    })
    req.on('end', () => end(new URLSearchParams(text)))
    req.on('error', () => end(undefined))
    req.on('close', () => end(undefined))
  })
}

function go(res: ServerResponse, to: LoginPage | URL): void {
  if (to instanceof URL) res.writeHead(303, { Location: to.href, ...PAGE_HEADERS }).end()
  else send(res, to)
}

const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  // Not `no-referrer`: with that, browsers send the form with `Origin: null`, which is refused like any other origin.
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

function send(res: ServerResponse, { status, title, lines, form }: LoginPage, cookie = ''): void {
  const paragraphs = lines.map((line) => `<p>${escaped(line)}</p>`).join('')
  const button = form
    ? `<form method="post"><input type="hidden" name="ticket" value="${escaped(form.ticket)}"><input type="hidden" name="browser" value="${escaped(cookie)}"><button>${escaped(form.button)}</button></form>`
    : ''
  res.writeHead(status, {
    ...PAGE_HEADERS,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  })
  res.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><body style="font:18px/1.5 system-ui;margin:12vh auto;max-width:34em;padding:0 1em"><h1 style="font-size:1.3em">${escaped(title)}</h1>${paragraphs}${button}`,
  )
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
