// http-agents.ts: outgoing connections: pools, proxies and certificates as the environment describes them.
// One dispatcher belongs to one transport and ends with it.
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { Agent, buildConnector, Dispatcher } from 'undici'
import { InitError } from '../errors.ts'
import type { Host } from '../host.ts'
import { HTTP_LIMITS } from '../limits.ts'

export interface Network {
  readonly dispatcher: Dispatcher
  /**
   * Whether the error came from a kept-alive connection that had served before and returned nothing this time: the
   * peer may just have closed an idle connection. (Unknown behind a proxy, where it is always false.)
   */
  isStale(error: Error): boolean
}

export interface ProxySettings {
  readonly http?: string
  readonly https?: string
  readonly except?: string
}

/** The proxy variables in both spellings; the lower-case one is the older and wins, as in curl. */
export function proxySettings(env: Host['env']): ProxySettings {
  const value = (...names: string[]) => names.map((name) => env[name]).find((found) => found)
  const http = value('http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY')
  const https = value('https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY')
  const except = value('no_proxy', 'NO_PROXY')
  return { ...(http && { http }), ...(https && { https }), ...(except && { except }) }
}

/** Certificates to trust besides the built-in ones, or undefined when the environment names none. */
export function trustedCertificates(env: Host['env']): string[] | undefined {
  const files = [env['NODE_EXTRA_CA_CERTS'], env['SSL_CERT_FILE']].filter((file) => file)
  if (files.length === 0) return undefined
  return [...tls.rootCertificates, ...files.map((file) => readCertificates(String(file)))]
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new InitError(`The certificate file "${file}" cannot be read.`, {
      stage: 'transport',
      hint: 'Correct NODE_EXTRA_CA_CERTS or SSL_CERT_FILE.',
      cause,
    })
  }
}

export async function openNetwork(host: Host): Promise<Network> {
  const undici = await import('./undici.ts')
  const stale = new WeakSet<Error>()
  const ca = trustedCertificates(host.env)
  const tlsOptions = ca === undefined ? {} : { ca }
  const common = {
    keepAliveTimeout: HTTP_LIMITS.keepAliveMs,
    keepAliveMaxTimeout: HTTP_LIMITS.keepAliveMaxMs,
    // A response may take as long as a tool runs; each request has its own timer further up.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: -1,
  } satisfies Agent.Options
  const connector = undici.buildConnector({ timeout: HTTP_LIMITS.connectMs, ...tlsOptions })
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...answer) => {
      const socket = answer[1]
      // The type says null; a connection that failed gives undefined.
      if (socket) watchSocket(socket, stale)
      callback(...answer)
    })
  const proxy = proxySettings(host.env)
  const dispatcher =
    proxy.http === undefined && proxy.https === undefined
      ? new undici.Agent({ ...common, connect })
      : new undici.EnvHttpProxyAgent({
          ...common,
          // Empty and not absent: an absent one would be read from the process, past our host.
          httpProxy: proxy.http ?? '',
          httpsProxy: proxy.https ?? '',
          noProxy: proxy.except ?? '',
          connect: { timeout: HTTP_LIMITS.connectMs, ...tlsOptions },
          requestTls: { timeout: HTTP_LIMITS.connectMs, ...tlsOptions },
          proxyTls: { timeout: HTTP_LIMITS.connectMs, ...tlsOptions },
        })
  return { dispatcher, isStale: (error) => stale.has(error) }
}

/** Marks an error as stale when the connection had served before, and no byte came back since the last write. */
function watchSocket(socket: Socket, stale: WeakSet<Error>): void {
  let readAtWrite: number | undefined
  let served = false
  const write = socket.write
  socket.write = function (this: Socket, ...args: unknown[]) {
    if (readAtWrite !== undefined && socket.bytesRead > readAtWrite) served = true
    readAtWrite = socket.bytesRead
    // Passed on as they came: the overloads of write() do not matter here.
    return Reflect.apply(write, this, args)
  } as Socket['write']
  socket.on('error', (error) => {
    if (served && socket.bytesRead === readAtWrite) stale.add(error)
  })
}
