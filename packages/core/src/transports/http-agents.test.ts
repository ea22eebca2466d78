import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import type { ServerEntry } from '../config/entry.ts'
import { systemHost } from '../host.ts'
import { json, result, scripted } from './fixtures/http-script.ts'
import { testContext, wire } from './fixtures/support.ts'
import { proxySettings } from './http-agents.ts'
import { openTransport } from './open.ts'
import { isExcepted } from './websocket-proxy.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A proxy that supports only CONNECT, and records the targets. */
async function proxy() {
  const tunnels: string[] = []
  const server = createHttp()
  server.on('connect', (request, client, head) => {
    tunnels.push(request.url ?? '')
    const [host, port] = (request.url ?? '').split(':')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
    client.on('close', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels }
}

async function asks(entry: ServerEntry, env: Record<string, string>): Promise<Record<string, unknown>> {
  const host = systemHost({ env: { PATH: process.env['PATH'], ...env } })
  const transport = await openTransport(entry, testContext({ host }))
  ends.push(() => transport.close())
  const { request } = wire(transport)
  await transport.start()
  return request('ping', {}, 5000)
}

describe('a proxy of the environment', () => {
  it('is used for HTTP, and not for what NO_PROXY names', async () => {
    const server = await scripted((asked) => json(asked, result(asked.message.id, { ok: true })))
    ends.push(() => server.close())
    const { url, tunnels } = await proxy()
    const entry: ServerEntry = { type: 'http', url: server.url, headers: {} }
    expect(await asks(entry, { HTTP_PROXY: url })).toEqual({ ok: true })
    expect(tunnels).toEqual([new URL(server.url).host])
    expect(await asks(entry, { HTTP_PROXY: url, NO_PROXY: '127.0.0.1' })).toEqual({ ok: true })
    expect(tunnels).toHaveLength(1)
  })

  it('is used for a WebSocket', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    server.on('connection', (socket) =>
      socket.on('message', (data) => {
        const { id } = JSON.parse(String(data))
        socket.send(JSON.stringify(result(id, { ok: true })))
      }),
    )
    await new Promise((resolve) => server.once('listening', resolve))
    ends.push(() => {
      for (const client of server.clients) client.terminate()
      return new Promise((resolve) => server.close(resolve))
    })
    const { url, tunnels } = await proxy()
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await asks({ type: 'ws', url: `ws://${host}`, headers: {} }, { HTTP_PROXY: url })).toEqual({
      ok: true,
    })
    expect(tunnels).toEqual([host])
  })

  it('is read in both spellings, the lower-case one first', () => {
    expect(proxySettings({ HTTP_PROXY: 'http://a', http_proxy: 'http://b', NO_PROXY: 'x' })).toEqual({
      http: 'http://b',
      except: 'x',
    })
    expect(proxySettings({ ALL_PROXY: 'http://a', https_proxy: '' })).toEqual({
      http: 'http://a',
      https: 'http://a',
    })
  })

  it('is passed over for names, their subdomains and ports', () => {
    const excepted = (url: string, list: string) => isExcepted(new URL(url), list)
    expect(excepted('ws://a.example.com', 'example.com')).toBe(true)
    expect(excepted('ws://badexample.com', 'example.com')).toBe(false)
    expect(excepted('wss://example.com', '.example.com:443, other')).toBe(true)
    expect(excepted('ws://example.com', 'example.com:443')).toBe(false)
    expect(excepted('ws://anything', '*')).toBe(true)
    expect(excepted('ws://[::1]', '::1')).toBe(true)
    expect(excepted('ws://[::1]:8080', '[::1]:80')).toBe(false)
    expect(excepted('ws://anything', '')).toBe(false)
  })
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

describe.skipIf(!hasOpenssl)('a certificate that only the environment vouches for', () => {
  it('is trusted when it is named there, and not otherwise', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plugboard-ca-'))
    ends.push(() => rmSync(folder, { recursive: true }))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', ['req', '-x509', ...kind, ...name, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    const server = createHttps({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const { id } = JSON.parse(Buffer.concat(chunks).toString() || '{}')
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(result(id, { ok: true })))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ends.push(() => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
    const entry: ServerEntry = { type: 'http', url, headers: {} }
    await expect(asks(entry, {})).rejects.toMatchObject({
      code: 'IO_ERROR',
      cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    })
    expect(await asks(entry, { NODE_EXTRA_CA_CERTS: cert })).toEqual({ ok: true })
    expect(await asks(entry, { SSL_CERT_FILE: cert })).toEqual({ ok: true })
    const tunnel = await proxy()
    expect(await asks(entry, { NODE_EXTRA_CA_CERTS: cert, HTTPS_PROXY: tunnel.url })).toEqual({ ok: true })
    expect(tunnel.tunnels).toHaveLength(1)
    await expect(asks(entry, { SSL_CERT_FILE: join(folder, 'missing') })).rejects.toMatchObject({
      code: 'INIT_ERROR',
    })
  })
})
