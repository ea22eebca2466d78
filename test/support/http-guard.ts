// The guard of an HTTP server on this machine, as a table: which Host, Origin, type and size of a body it takes. The gateway and the
// code-search server each have their own code for it, and both are held to these rows (test/http-guard.test.ts).
import { request } from 'node:http'

export const LISTED = { origin: 'https://app.example', host: 'box.example' } as const

export interface GuardedServer {
  readonly port: number
  readonly bodyBytes: number
}

export interface GuardRow {
  readonly name: string
  readonly method?: string
  /** `PORT` in a value is the port of the server. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: (server: GuardedServer) => string
  readonly status: number
  /** The origin that a web page is told it may read the answer from. */
  readonly allowsOrigin?: string
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})
const INITIALIZE_HEADERS = {
  host: '127.0.0.1:PORT',
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

const host = (value: string, status: number): GuardRow => ({
  name: `Host ${value}`,
  headers: { host: value },
  status,
})
const origin = (value: string, status: number): GuardRow => ({
  name: `Origin ${value}`,
  headers: { origin: value },
  status,
  ...(status === 200 && { allowsOrigin: value }),
})
const type = (value: string, status: number): GuardRow => ({
  name: `Content-Type ${value}`,
  headers: { 'content-type': value },
  status,
})

export const GUARD_ROWS: readonly GuardRow[] = [
  host('127.0.0.1:PORT', 200),
  host('localhost:PORT', 200),
  host('LocalHost', 200),
  host('[::1]:PORT', 200),
  host(`${LISTED.host}:PORT`, 200),
  host('evil.example', 403),
  host('evil.example:PORT', 403),
  host('localhost.evil.example', 403),
  host('127.0.0.1.evil.example:PORT', 403),
  host(`sub.${LISTED.host}`, 403),
  origin('http://127.0.0.1:PORT', 200),
  origin(LISTED.origin, 200),
  origin('HTTPS://APP.example', 200),
  origin('null', 403),
  origin('https://evil.example', 403),
  origin(`${LISTED.origin}.evil.example`, 403),
  origin('http://app.example', 403),
  origin('https://127.0.0.1:PORT', 403),
  origin('http://127.0.0.1:1', 403),
  // A page whose name points to this machine: its own origin does not help where the host is not served.
  {
    name: 'a page that had its own name point here',
    headers: { host: 'evil.example:PORT', origin: 'http://evil.example:PORT' },
    status: 403,
  },
  {
    name: 'the preflight of a listed page',
    method: 'OPTIONS',
    headers: { origin: LISTED.origin, 'access-control-request-method': 'POST' },
    status: 204,
    allowsOrigin: LISTED.origin,
  },
  {
    name: 'the preflight of another page',
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    status: 403,
  },
  type('application/json; charset=utf-8', 200),
  type('text/plain', 415),
  type('text/plain; application/json', 415),
  type('application/jsonp', 415),
  type('application/x-www-form-urlencoded', 415),
  { name: 'a body that is not JSON', body: () => '{"jsonrpc":', status: 400 },
  {
    name: 'a body of one byte too many',
    body: ({ bodyBytes }) => INITIALIZE.padEnd(bodyBytes + 1, ' '),
    status: 413,
  },
  {
    name: 'a body of just the bound',
    body: ({ bodyBytes }) => INITIALIZE.padEnd(bodyBytes, ' '),
    status: 200,
  },
  { name: 'a method that is not served', method: 'PUT', status: 405 },
]

export interface GuardAnswer {
  readonly status: number
  readonly allowsOrigin: string | undefined
  readonly vary: string | undefined
}

/** One row, sent as it is: `fetch` would write the Host header itself. */
export function sendRow(server: GuardedServer, row: GuardRow): Promise<GuardAnswer> {
  const method = row.method ?? 'POST'
  const headers = Object.fromEntries(
    Object.entries({ ...INITIALIZE_HEADERS, ...row.headers }).map(([key, value]) => [
      key,
      value.replace('PORT', String(server.port)),
    ]),
  )
  return new Promise((done, fail) => {
    const sent = request(
      { host: '127.0.0.1', port: server.port, path: '/mcp', method, headers },
      (answer) => {
        const { 'access-control-allow-origin': allowsOrigin, vary } = answer.headers
        answer.resume().once('end', () => done({ status: answer.statusCode ?? 0, allowsOrigin, vary }))
        // An answer may be a stream that stays open.
        if (answer.headers['content-type']?.startsWith('text/event-stream')) answer.destroy()
        answer.once('close', () => done({ status: answer.statusCode ?? 0, allowsOrigin, vary }))
      },
    )
    sent.once('error', fail)
    sent.setTimeout(30_000, () => sent.destroy(new Error('No answer within 30 s.')))
    sent.end(method === 'OPTIONS' ? undefined : (row.body?.(server) ?? INITIALIZE))
  })
}
