// reachability.ts: how far a connection gets without MCP: the command on the child's own PATH, or the host by name, port,
// certificate and HTTP. Every step has a time limit and leaves nothing open.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { isAbsolute, join, resolve } from 'node:path'
import type { RemoteEntry, StdioEntry } from '../config/entry.ts'
import { isInside } from '../config/project.ts'
import { neutralFolder } from '../config/start-folder.ts'
import { postsMessages } from '../config/transport-traits.ts'
import type { Host } from '../host.ts'
import { DOCTOR_LIMITS } from '../limits.ts'
import { EntryHeaders } from '../transports/entry-headers.ts'
import { childEnvironment } from '../transports/environment.ts'
import { openNetwork, proxySettings, trustedCertificates } from '../transports/http-agents.ts'
import { plainFetch } from '../transports/plain-fetch.ts'
import { tlsCode } from '../transports/transport-errors.ts'
import { isExcepted } from '../transports/websocket-proxy.ts'
import { resolveWindowsCommand } from '../transports/windows-command.ts'
import { failed, passed, type Step } from './steps.ts'

/** Whether the child can find the command; its PATH may differ from ours. */
export function findCommand(entry: StdioEntry, host: Host): Step {
  const { command, cwd } = entry
  // The neutral folder is created when the first program starts in it.
  if (cwd !== undefined && !isFolder(cwd) && !isInside(cwd, neutralFolder(host)))
    return failed('command', `The folder "${cwd}" does not exist.`, 'Correct `cwd` of this server.')
  const env = childEnvironment(entry, host)
  if (host.platform === 'win32') {
    const { file, verbatim } = resolveWindowsCommand(command, entry.args, env, existsSync)
    return verbatim || existsSync(file) ? passed('command', file) : notOnPath(command)
  }
  const base = cwd ?? process.cwd()
  const named = command.includes('/')
  // As the transport looks it up: a program in the start folder is not on PATH.
  const folders = named ? [''] : (env['PATH'] ?? '/usr/bin:/bin').split(':').filter(isAbsolute)
  let forbidden: string | undefined
  for (const folder of folders) {
    const path = named ? resolve(base, command) : join(folder, command)
    if (!isFile(path)) continue
    if (isExecutable(path)) return passed('command', path)
    forbidden ??= path
  }
  if (forbidden !== undefined)
    return failed(
      'command',
      `"${forbidden}" may not be executed.`,
      'Make the file executable, or name the program that runs it as `command`.',
    )
  return named
    ? failed('command', `"${resolve(base, command)}" does not exist.`, 'Correct `command` of this server.')
    : notOnPath(command)
}

function notOnPath(command: string): Step {
  return failed(
    'command',
    `"${command}" was not found on the PATH that the server gets.`,
    'Install the program, give its full path as `command`, or set PATH in `env` of this server.',
  )
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // The check only needs a yes or no.
    return false
  }
}

/** By name, port and certificate; the last step of the list is the one that failed, if one did. */
export async function reachHost(url: URL, host: Host, signal?: AbortSignal): Promise<readonly Step[]> {
  const secure = url.protocol === 'https:' || url.protocol === 'wss:'
  const proxy = proxyFor(url, secure, host)
  const target = proxy ?? url
  const by = proxy ? `the proxy ${proxy.host}: ` : ''
  const name = target.hostname.replace(/^\[|\]$/g, '')
  const port = Number(target.port) || (target.protocol === 'https:' || target.protocol === 'wss:' ? 443 : 80)

  const found = await lookUp(name, host)
  if ('fault' in found)
    return [
      failed(
        'dns',
        `${by}the name "${name}" cannot be resolved (${found.fault}).`,
        proxy ? 'Check HTTPS_PROXY and HTTP_PROXY.' : 'Check the spelling of the host, and your network.',
      ),
    ]
  const steps = [
    passed('dns', `${by}${name === found.addresses[0] ? name : `${name} is ${found.addresses.join(', ')}`}`),
  ]
  const opened = await openSocket(name, port, host, signal)
  if ('fault' in opened) {
    const what =
      opened.fault === 'ECONNREFUSED' ? 'refused the connection' : `was not reached (${opened.fault})`
    const hint =
      opened.fault === 'ECONNREFUSED'
        ? 'Nothing listens there: start the server, or correct the port.'
        : 'Check the port, a firewall in between, and whether the server is running.'
    return [...steps, failed('tcp', `${by}${name} port ${port} ${what}.`, proxy ? 'Check the proxy.' : hint)]
  }
  steps.push(passed('tcp', `${by}port ${port} answers`))
  // Behind a proxy the certificate is checked inside the tunnel; the HTTP step reports it.
  if (!secure || proxy) {
    opened.socket.destroy()
    return steps
  }
  return [...steps, await tlsHandshake(opened.socket, name, host)]
}

function proxyFor(url: URL, secure: boolean, host: Host): URL | undefined {
  const settings = proxySettings(host.env)
  const proxy = secure ? settings.https : settings.http
  if (proxy === undefined || isExcepted(url, settings.except)) return undefined
  try {
    return new URL(proxy)
  } catch {
    // An invalid URL is no proxy; connecting reports it with its own message.
    return undefined
  }
}

async function lookUp(name: string, host: Host): Promise<{ addresses: string[] } | { fault: string }> {
  const { lookup } = await import('node:dns/promises')
  return new Promise((done) => {
    const stop = host.awaitedTimer(DOCTOR_LIMITS.stepMs, () => done({ fault: 'ETIMEDOUT' }))
    lookup(name, { all: true }).then(
      (found) => {
        stop()
        done({ addresses: found.map(({ address }) => address).slice(0, 4) })
      },
      (error: NodeJS.ErrnoException) => {
        stop()
        done({ fault: error.code ?? 'unknown' })
      },
    )
  })
}

async function openSocket(
  name: string,
  port: number,
  host: Host,
  signal?: AbortSignal,
): Promise<{ socket: Socket } | { fault: string }> {
  const { connect } = await import('node:net')
  return new Promise((done) => {
    const socket = connect({ host: name, port })
    const end = (outcome: { socket: Socket } | { fault: string }) => {
      stop()
      signal?.removeEventListener('abort', onAbort)
      if ('fault' in outcome) socket.destroy()
      done(outcome)
    }
    const onAbort = () => end({ fault: 'interrupted' })
    const stop = host.awaitedTimer(DOCTOR_LIMITS.stepMs, () => end({ fault: 'ETIMEDOUT' }))
    signal?.addEventListener('abort', onAbort, { once: true })
    socket.once('connect', () => end({ socket }))
    // Stays: a destroyed socket may still emit an error, and nothing else listens for it.
    socket.on('error', (error: NodeJS.ErrnoException) => end({ fault: firstCode(error) }))
  })
}

/** Several failed addresses come as one error with many inside. */
function firstCode(error: NodeJS.ErrnoException): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error
  return error.code ?? inner?.code ?? 'unknown'
}

const TLS_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate has expired: the server must renew it.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another name: correct the host in the URL.',
  HOSTNAME_MISMATCH: 'The certificate is for another name: correct the host in the URL.',
}

async function tlsHandshake(socket: Socket, name: string, host: Host): Promise<Step> {
  const { connect } = await import('node:tls')
  const { isIP } = await import('node:net')
  const ca = trustedCertificates(host.env)
  return new Promise((done) => {
    const secured = connect({
      socket,
      ...(isIP(name) === 0 && { servername: name }),
      host: name,
      ...(ca !== undefined && { ca }),
    })
    const end = (step: Step) => {
      stop()
      secured.destroy()
      socket.destroy()
      done(step)
    }
    const stop = host.awaitedTimer(DOCTOR_LIMITS.stepMs, () =>
      end(
        failed(
          'tls',
          `${name} did not answer the handshake.`,
          'The port may not be https: try the URL with http:.',
        ),
      ),
    )
    secured.once('secureConnect', () => {
      const { issuer } = secured.getPeerCertificate()
      end(passed('tls', `${secured.getProtocol()}, issued by ${issuer?.O ?? issuer?.CN ?? 'unknown'}`))
    })
    secured.on('error', (error: NodeJS.ErrnoException) => {
      const code = tlsCode(error) ?? error.code ?? 'unknown'
      end(failed('tls', `The certificate or TLS handshake of ${name} failed (${code}).`, tlsHint(code)))
    })
  })
}

function tlsHint(code: string): string {
  if (Object.hasOwn(TLS_HINTS, code)) return TLS_HINTS[code] ?? ''
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO' || code === 'ECONNRESET')
    return 'The port may not be https: try the URL with http:.'
  return 'If you trust its authority, name the certificate file in NODE_EXTRA_CA_CERTS.'
}

export interface HttpAnswer {
  readonly status: number
  readonly mediaType: string
  /** A web page, not a response for programs. */
  readonly isPage: boolean
}

/** How the URL responds to a client's first request; undefined without a response. */
export async function askOnce(
  entry: RemoteEntry,
  server: string,
  host: Host,
): Promise<HttpAnswer | undefined> {
  const { dispatcher } = await openNetwork(host)
  const stop = new AbortController()
  const cancel = host.awaitedTimer(DOCTOR_LIMITS.stepMs, () => stop.abort())
  try {
    const extra = await new EntryHeaders(entry, { host, server, log: () => undefined }).current()
    const url = entry.url.replace(/^ws/, 'http')
    const answer = await plainFetch(dispatcher, url, {
      headers: new Headers({ ...extra, ...firstRequest(entry).headers }),
      ...firstRequest(entry).request,
      redirect: 'manual',
      signal: stop.signal,
    })
    const mediaType = (answer.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
    const start = await firstBytes(answer)
    return {
      status: answer.status,
      mediaType,
      isPage: mediaType === 'text/html' || /^\s*<(?:!doctype|html)/i.test(start),
    }
  } catch {
    // The connection's own error says what is wrong; this only adds detail.
    return undefined
  } finally {
    cancel()
    stop.abort()
    await dispatcher.destroy()
  }
}

function firstRequest(entry: RemoteEntry): {
  headers: Record<string, string>
  request: Pick<RequestInit, 'method' | 'body'>
} {
  if (!postsMessages(entry)) return { headers: { accept: 'text/event-stream' }, request: { method: 'GET' } }
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'plugboard-doctor', version: '1' },
  }
  return {
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    request: {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    },
  }
}

async function firstBytes(answer: Response): Promise<string> {
  const reader = answer.body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  return value ? Buffer.from(value).toString('utf8', 0, 512) : ''
}
