// app-sandbox.ts: MCP Apps as documents of an origin of their own: another port, another host name, an opaque origin by the
// `sandbox` directive, and a policy that allows no address but those of the resource that the user agreed to.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { WEB_LIMITS } from './web-limits.ts'

export interface AppDocument {
  readonly html: string
  readonly csp: AppCsp
}

/** `_meta.ui.csp` of the resource: origins by what they are for. */
export interface AppCsp {
  readonly connectDomains?: readonly string[]
  readonly resourceDomains?: readonly string[]
  readonly frameDomains?: readonly string[]
}

export class AppSandbox {
  readonly #documents = new Map<string, AppDocument>()
  /** The page that may show the apps. */
  #page = ''

  shownBy(page: string): void {
    this.#page = page
  }

  /** Keeps a document and returns its path; the oldest one goes when there are too many. */
  add(document: AppDocument): string {
    const [oldest] = this.#documents.keys()
    if (this.#documents.size >= WEB_LIMITS.apps && oldest !== undefined) this.#documents.delete(oldest)
    const id = randomBytes(24).toString('hex')
    this.#documents.set(id, document)
    return `/${id}`
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const document = request.method === 'GET' ? this.#documents.get((request.url ?? '').slice(1)) : undefined
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Referrer-Policy', 'no-referrer')
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
    if (!document) {
      response.setHeader('Content-Security-Policy', "default-src 'none'; sandbox")
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('There is no such app.\n')
      return
    }
    response.setHeader('Content-Security-Policy', appPolicy(document.csp, this.#page))
    response.setHeader(
      'Permissions-Policy',
      'camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-read=()',
    )
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(document.html)
  }
}

/** No form may leave, no frame may be added, and only the page of the board may show the app. */
export function appPolicy(csp: AppCsp, page: string): string {
  const connect = origins(csp.connectDomains)
  const resources = origins(csp.resourceDomains)
  const frames = origins(csp.frameDomains)
  const or = (list: readonly string[]) => (list.length > 0 ? list.join(' ') : "'none'")
  return [
    "default-src 'none'",
    `script-src 'unsafe-inline' 'unsafe-eval' blob: data: ${resources.join(' ')}`.trim(),
    `style-src 'unsafe-inline' ${resources.join(' ')}`.trim(),
    `img-src data: blob: ${resources.join(' ')}`.trim(),
    `media-src data: blob: ${resources.join(' ')}`.trim(),
    `font-src data: ${resources.join(' ')}`.trim(),
    `worker-src blob:`,
    `connect-src ${or(connect)}`,
    `frame-src ${or(frames)}`,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${page}`,
    'sandbox allow-scripts allow-forms',
  ].join('; ')
}

/** Only origins of the web: what could end the directive, or mean more than one origin, is left out. */
export function origins(domains: readonly string[] | undefined): readonly string[] {
  return (domains ?? [])
    .filter(
      (one) => typeof one === 'string' && /^(https|wss):\/\/(\*\.)?[a-z0-9.-]{1,253}(:\d{1,5})?$/i.test(one),
    )
    .slice(0, WEB_LIMITS.appDomains)
}
