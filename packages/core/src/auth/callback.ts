// callback.ts: the loopback web server that receives one OAuth redirect. It accepts only the response with the right
// state; login.ts interprets it.
import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Timeout } from '../errors.ts'
import type { Host } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { AuthRefused } from './auth-refused.ts'

export interface Callback {
  readonly redirectUri: string
  /** The response's parameters; rejects after five minutes. */
  readonly answer: Promise<URLSearchParams>
  close(): Promise<void>
}

export interface CallbackOptions {
  readonly host: Host
  readonly server: string
  readonly state: string
  /** A port that is required, e.g. because it is registered. */
  readonly port?: number | undefined
  /** A preferred port: the one of the last login. */
  readonly preferredPort?: number | undefined
}

const PATH = '/callback'

export async function listenForCallback(options: CallbackOptions): Promise<Callback> {
  let settle: (params: URLSearchParams) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  const answer = new Promise<URLSearchParams>((done, no) => {
    settle = done
    fail = no
  })
  // When a pasted response came first, this rejection has no handler and must not crash the process.
  answer.catch(() => undefined)
  let taken = false
  const handle: Handler = (request, response) => {
    const verdict = judge(request, port, options.state)
    if (verdict.kind === 'rejected') return reply(response, verdict.status, verdict.page)
    if (taken) return reply(response, 410, 'This login is already finished.')
    taken = true
    const failed = verdict.params.has('error')
    reply(
      response,
      200,
      failed
        ? 'The login did not go through. Go back to where you started it to see why.'
        : 'You can close this page and go back to where you started the login.',
    )
    settle(verdict.params)
  }
  const { servers, port } = await listen(options, guarded(handle))
  const cancelTimer = options.host.awaitedTimer(AUTH_LIMITS.callbackMs, () =>
    fail(
      new Timeout(
        `The login of "${options.server}" was not finished within ${AUTH_LIMITS.callbackMs / 60_000} minutes.`,
        {
          server: options.server,
          stage: 'auth',
          hint: `Run \`plugboard login ${options.server}\` again.`,
        },
      ),
    ),
  )
  return {
    redirectUri: `http://localhost:${port}${PATH}`,
    answer,
    async close() {
      cancelTimer()
      await Promise.all(servers.map(closeServer))
    },
  }
}

type CallbackVerdict =
  | { readonly kind: 'answer'; readonly params: URLSearchParams }
  | { readonly kind: 'rejected'; readonly status: number; readonly page: string }

function judge(request: IncomingMessage, port: number, state: string): CallbackVerdict {
  const rejected = (status: number, page: string): CallbackVerdict => ({ kind: 'rejected', status, page })
  const hosts = [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]
  // A web page whose DNS name points here would send that name as Host.
  if (!hosts.includes(request.headers.host ?? '')) return rejected(403, 'Not for this address.')
  if (request.method !== 'GET') return rejected(405, 'Only GET.')
  // Browsers request a path. Anything else ("//", "http://…", "*") is not a login response.
  const target = request.url ?? ''
  if (!/^\/(?!\/)/.test(target) || !URL.canParse(target, 'http://localhost'))
    return rejected(400, 'Not a path.')
  const url = new URL(target, 'http://localhost')
  if (url.pathname !== PATH) return rejected(404, 'Nothing here.')
  if (!sameSecret(url.searchParams.get('state') ?? '', state))
    return rejected(400, 'This is not the answer to the login that is under way.')
  return { kind: 'answer', params: url.searchParams }
}

export function sameSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Plugboard</title><body style="font:18px system-ui;margin:15vh auto;max-width:30em;text-align:center"><h1>Plugboard</h1><p>${text}</p>`,
  )
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** Any account of the machine can send a request here: none of them may end the login. */
function guarded(handle: Handler): Handler {
  return (request, response) => {
    response.on('error', () => undefined)
    try {
      handle(request, response)
    } catch {
      // An invalid request is not the response; the login keeps waiting.
      if (response.headersSent) response.destroy()
      else reply(response, 400, 'Not for this address.')
    }
  }
}

/** Some browsers resolve `localhost` to 127.0.0.1, others to ::1: listen on the same port on both, where both exist. */
async function listen(
  options: CallbackOptions,
  handler: Handler,
): Promise<{ servers: Server[]; port: number }> {
  const candidates = options.port !== undefined ? [options.port] : [options.preferredPort ?? 0, 0, 0, 0]
  for (const candidate of candidates) {
    const v4 = await listenOn('127.0.0.1', candidate, handler)
    if (!v4.server) {
      if (v4.code === 'EADDRINUSE' || v4.code === 'EACCES') continue
      throw portError(options, candidate, v4.code)
    }
    const port = (v4.server.address() as AddressInfo).port
    const v6 = await listenOn('::1', port, handler)
    if (v6.server) return { servers: [v4.server, v6.server], port }
    if (v6.code !== 'EADDRINUSE') return { servers: [v4.server], port }
    await closeServer(v4.server)
  }
  throw portError(options, candidates[0] ?? 0, 'EADDRINUSE')
}

function portError(options: CallbackOptions, port: number, code: string): AuthRefused {
  return new AuthRefused(
    'callback-port-busy',
    `The login of "${options.server}" needs port ${port} on this machine, which cannot be opened (${code}).`,
    {
      server: options.server,
      hint: 'Stop the program that uses it (perhaps another login), or set another `oauth.callbackPort`; `--no-browser` needs no port.',
    },
  )
}

function listenOn(
  address: string,
  port: number,
  handler: Handler,
): Promise<{ server?: Server; code: string }> {
  return new Promise((done) => {
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, handler)
    server.maxConnections = 16
    server.on('clientError', (_, socket) => socket.destroy())
    // Without listeners Node closes CONNECT and upgrades by itself; explicit here so that it stays so.
    server.on('connect', (_, socket) => socket.destroy())
    server.on('upgrade', (_, socket) => socket.destroy())
    server.once('error', (error) => done({ code: (error as NodeJS.ErrnoException).code ?? 'unknown' }))
    server.listen({ port, host: address, exclusive: true }, () => done({ server, code: '' }))
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    // Lets the current page finish sending, and closes all other connections.
    server.closeIdleConnections()
    setTimeout(() => server.closeAllConnections(), 200).unref()
  })
}
