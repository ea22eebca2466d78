// websocket-proxy.ts: a WebSocket through an HTTP proxy: CONNECT, then use the socket as if it were direct. (Plain HTTP
// requests go through undici, which supports proxies itself.)
import http from 'node:http'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { ClientOptions } from 'ws'
import { IoError } from '../errors.ts'
import type { Host } from '../host.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { proxySettings, trustedCertificates } from './http-agents.ts'

type CreateConnection = NonNullable<ClientOptions['createConnection']>

/** How to reach `url` through the proxy that the environment names; undefined for a direct connection. */
export function tunnelFor(url: string, env: Host['env']): CreateConnection | undefined {
  const target = new URL(url)
  const secure = target.protocol === 'wss:'
  const settings = proxySettings(env)
  const proxy = secure ? settings.https : settings.http
  if (proxy === undefined || isExcepted(target, settings.except)) return undefined
  const ca = trustedCertificates(env)
  const connect = (_options: unknown, done: (error: Error | null, socket?: Socket) => void) => {
    const port = target.port || (secure ? '443' : '80')
    openTunnel(new URL(proxy), `${target.hostname}:${port}`).then(
      (socket) =>
        done(
          null,
          secure
            ? tls.connect({ socket, servername: target.hostname, ...(ca !== undefined && { ca }) })
            : socket,
        ),
      (error: Error) => done(error),
    )
    return undefined
  }
  // node:http calls it with a callback and accepts no socket in return; the published type knows only the other form.
  return connect as unknown as CreateConnection
}

/** NO_PROXY as curl reads it: names with their subdomains, `*` for all, an optional port. */
export function isExcepted(target: URL, list: string | undefined): boolean {
  const host = target.hostname.toLowerCase().replace(/^\[|\]$/g, '')
  const port = target.port || (/^(?:https|wss):$/.test(target.protocol) ? '443' : '80')
  return (list ?? '').split(/[\s,]+/).some((item) => {
    if (item === '') return false
    if (item === '*') return true
    // A bare IPv6 address contains colons; with a port it is in brackets.
    const pattern = /:.*:/.test(item) && !item.includes(']') ? /^(.*)$/ : /^(.*?)(?::(\d+))?$/
    const [, name = '', itemPort] = pattern.exec(item.toLowerCase()) ?? []
    if (itemPort !== undefined && itemPort !== port) return false
    const bare = name.replace(/^\*?\./, '').replace(/^\[|\]$/g, '')
    return host === bare || host.endsWith(`.${bare}`)
  })
}

function openTunnel(proxy: URL, target: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
    const request = http.request({
      host: proxy.hostname,
      port: proxy.port || 80,
      method: 'CONNECT',
      path: target,
      headers: {
        host: target,
        ...(proxy.username !== '' && {
          'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
        }),
      },
      timeout: HTTP_LIMITS.connectMs,
    })
    const fail = (what: string, cause?: unknown) => {
      request.destroy()
      reject(
        new IoError(`The proxy ${proxy.host} ${what}.`, {
          stage: 'connect',
          hint: 'Check HTTPS_PROXY and NO_PROXY.',
          cause,
        }),
      )
    }
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) resolve(socket)
      else {
        socket.destroy()
        fail(`refused with status ${response.statusCode}`)
      }
    })
    request.once('response', (response) => fail(`refused with status ${response.statusCode}`))
    request.once('timeout', () => fail('did not answer'))
    request.once('error', (error) => fail('could not be reached', error))
    request.end()
  })
}
