// gateway.ts: `plugboard serve --http` in a process of its own, on a port that stays the same over restarts, and clients
// that send exactly what they are told to.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { COMMAND, makePlace, type Place } from './cli.ts'
import { freePort } from './free-port.mjs'

export const SERVER = fileURLToPath(new URL('./gateway-server.mjs', import.meta.url))

export interface GatewayOptions {
  readonly servers?: Readonly<Record<string, object>>
  /** The lines of the token file; without it no token is required. */
  readonly tokens?: readonly string[]
  /** gateway.json, for `--gateway`; the port is known only now. */
  readonly gateway?: (port: number) => object
  readonly settings?: object
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** A free one unless it has to be known before. */
  readonly port?: number
}

export interface ServedGateway {
  readonly place: Place
  readonly url: string
  readonly port: number
  child: ChildProcess
  stderr(): string
  /** Starts it, and resolves when it answers. */
  start(): Promise<void>
  /** Sends the signal and waits for the end; the exit code, or the signal's name. */
  stop(signal?: NodeJS.Signals): Promise<number | string>
  remove(): Promise<void>
}

export async function serveGateway(options: GatewayOptions): Promise<ServedGateway> {
  const place = makePlace()
  const port = options.port ?? (await freePort())
  place.write('~/.plugboard/settings.json', { mcpServers: options.servers ?? {}, ...options.settings })
  const tokens = options.tokens && place.write('tokens', `${options.tokens.join('\n')}\n`)
  const file = options.gateway && place.write('gateway.json', options.gateway(port))
  const auth = file ? ['--gateway', file] : tokens ? ['--token-file', tokens] : ['--no-auth']
  const words = [COMMAND, 'serve', '--http', '--port', String(port), ...auth, ...(options.args ?? [])]
  let stderr = ''
  const spawned = () => {
    const child = spawn(process.execPath, words, {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.stdout?.resume()
    return child
  }
  const served: ServedGateway = {
    place,
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    child: spawned(),
    stderr: () => stderr,
    start: async () => {
      if (served.child.exitCode !== null || served.child.signalCode !== null) served.child = spawned()
      await until(
        async () => (await probe(port, '/ready')).status === 200,
        60_000,
        () => stderr,
      )
    },
    stop: async (signal = 'SIGTERM') => {
      const { child } = served
      if (child.exitCode !== null || child.signalCode !== null)
        return child.exitCode ?? child.signalCode ?? ''
      const ended = once(child, 'exit')
      child.kill(signal)
      const [code, by] = (await ended) as [number | null, string | null]
      return code ?? by ?? ''
    },
    remove: async () => {
      await served.stop('SIGKILL')
      place.remove()
    },
  }
  await served.start()
  return served
}

export async function probe(port: number, path: string): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, body: await response.text() }
  } catch {
    // Nothing listens there.
    return { status: 0, body: '' }
  }
}

export async function until(
  what: () => boolean | Promise<boolean>,
  ms = 30_000,
  why: () => string = () => '',
): Promise<void> {
  const end = Date.now() + ms
  while (!(await what())) {
    if (Date.now() > end) throw new Error(`It did not happen in time. ${why()}`)
    await new Promise((done) => setTimeout(done, 25))
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The last message of the response, or what else arrived. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  readonly message: any
  readonly text: string
}

const BOTH = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

async function post(url: string, headers: Record<string, string>, body: object): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...BOTH, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  })
  const text = await response.text()
  const data = text.startsWith('event:') || text.startsWith('id:') || text.startsWith(':')
  const last = data
    ? text
        .match(/^data: (.+)$/gm)
        ?.at(-1)
        ?.slice('data: '.length)
    : text
  return { status: response.status, headers: response.headers, text, message: last ? tried(last) : undefined }
}

function tried(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** A client of 2025-11-25 after its handshake, sending whatever it is told to. */
export interface RawSession {
  readonly id: string
  readonly headers: Record<string, string>
  request(method: string, params?: object, id?: number): Promise<Answer>
  send(body: object): Promise<Answer>
  call(name: string, args?: object): Promise<Answer>
}

export async function legacySession(
  url: string,
  token?: string,
  capabilities: object = {},
): Promise<RawSession> {
  const clientInfo = { name: 'raw', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
  const initialized = await post(url, bearer(token), { id: 1, method: 'initialize', params })
  const id = initialized.headers.get('mcp-session-id')
  if (initialized.status !== 200 || id === null)
    throw new Error(`initialize: ${initialized.status} ${initialized.text}`)
  return rawSession(url, id, token)
}

export function rawSession(url: string, id: string, token?: string): RawSession {
  const headers = { ...bearer(token), 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
  let ids = 100
  const session: RawSession = {
    id,
    headers,
    send: (body) => post(url, headers, body),
    request: (method, params = {}, own = ++ids) => session.send({ id: own, method, params }),
    call: (name, args = {}) => session.request('tools/call', { name, arguments: args }),
  }
  return session
}

/** One request of 2026-07-28. */
export function modern(
  url: string,
  token: string | undefined,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  capabilities: object = { elicitation: { form: {} } },
): Promise<Answer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  }
  const name = params['name'] ?? params['uri'] ?? params['taskId']
  const headers = {
    ...bearer(token),
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
  return post(url, headers, { id: 1, method, params: { ...params, _meta } })
}
