// admin-server.ts: administration of a running gateway over HTTP, on a port of its own with a token of its own. What an action does is in
// admin-actions.ts; here is who may ask for it.
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AdminActions, AdminFault } from './admin-actions.ts'

export interface AdminOptions {
  readonly port: number
  /** Loopback when left out. */
  readonly host?: string | undefined
  readonly token: string
  readonly actions: AdminActions
  /** A page on the same port: it answers what is its own, and says whether it did. */
  readonly page?: (url: string) => (req: IncomingMessage, res: ServerResponse) => Promise<boolean>
}

/** A running administration endpoint. */
export interface AdminHandle {
  readonly url: string
  close(): Promise<void>
}

const HEADERS_MS = 5000

/** Serves the administration of a gateway over HTTP, on loopback unless `host` says otherwise. */
export async function serveAdmin({
  port,
  host = '127.0.0.1',
  token,
  actions,
  page,
}: AdminOptions): Promise<AdminHandle> {
  const digest = digestOf(token)
  let ofPage: ReturnType<NonNullable<AdminOptions['page']>> | undefined
  const server = createServer((req, res) => {
    const work = async () => {
      if (ofPage && (await ofPage(req, res))) return
      req.resume()
      await answer(req, res, digest, actions)
    }
    void work().catch(() => send(res, 500, { error: 'Internal error.' }))
  })
  server.headersTimeout = HEADERS_MS
  server.requestTimeout = HEADERS_MS
  await new Promise<void>((done, fail) => {
    server.once('error', fail)
    server.listen(port, host, () => done())
  })
  const { port: real } = server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${real}`
  ofPage = page?.(url)
  return {
    url,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  digest: Buffer,
  actions: AdminActions,
): Promise<void> {
  // A page in a browser sends its origin; none may administer.
  if (req.headers.origin !== undefined) return send(res, 403, { error: 'Web pages may not administer.' })
  const given = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1]
  if (given === undefined || !timingSafeEqual(digestOf(given), digest)) {
    res.setHeader('WWW-Authenticate', 'Bearer realm="plugboard administration"')
    return send(res, 401, { error: 'The token of the administration is needed.' })
  }
  const path = new URL(req.url ?? '/', 'http://admin').pathname.split('/').filter(Boolean)
  const words = path.map((word) => decoded(word))
  if (req.method === 'GET' && words[0] === 'metrics') {
    res.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(actions.metrics())
    return
  }
  try {
    send(res, 200, await actions.run(req.method ?? 'GET', words))
  } catch (error) {
    if (!(error instanceof AdminFault)) throw error
    send(res, error.status, { error: error.message })
  }
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

function send(res: ServerResponse, status: number, value: object): void {
  if (res.headersSent) return
  res.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  res.end(JSON.stringify(value))
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
