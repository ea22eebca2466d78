// page-responses.ts: what every page of ours is sent with: its policy, its files, and refusals as sentences.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StaticFile } from './static-files.ts'
import { WEB_LIMITS } from './web-limits.ts'

export interface PagePolicy {
  /** Beside the page's own origin: where its scripts may connect to, and what it may show in frames. */
  readonly connect?: string
  readonly frames?: string
}

/** No script, style or connection but the page's own, no frame around it, and no text that becomes HTML. */
export function pageHeaders({
  connect = '',
  frames = "'none'",
}: PagePolicy = {}): Readonly<Record<string, string>> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      'media-src data: blob:',
      `connect-src 'self' ${connect}`.trimEnd(),
      `frame-src ${frames}`,
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

export function sendFile(request: IncomingMessage, response: ServerResponse, file: StaticFile): void {
  response.writeHead(200, {
    'Content-Type': file.type,
    'Content-Length': file.body.length,
    'Cache-Control': file.immutable ? 'private, max-age=31536000, immutable' : 'no-store',
  })
  response.end(request.method === 'HEAD' ? undefined : file.body)
}

const REFUSALS: Readonly<Record<number, string>> = {
  401: 'This address was used before, or it is too old. Run `plugboard ui` again.',
  403: 'Only the page of the board may ask this.',
  404: 'There is no such file.',
  405: 'This is not how the page asks.',
  413: 'This is too large.',
  421: 'This server has another name.',
}

export function refuse(response: ServerResponse, status: number, text = REFUSALS[status] ?? ''): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}

/** The token in a JSON body; undefined when the body is too large. */
export async function tokenOf(request: IncomingMessage): Promise<unknown> {
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
