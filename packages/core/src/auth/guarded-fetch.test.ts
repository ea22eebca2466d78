import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cancelled, IoError, Timeout } from '../errors.ts'
import { retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { stop } from './fixtures/authorization-server.ts'
import { guardedFetch, proxyFor } from './guarded-fetch.ts'

let http: Server
let port: number
let connections: number
let handle: (request: IncomingMessage, response: ServerResponse) => void

beforeEach(async () => {
  connections = 0
  http = createServer((request, response) => handle(request, response))
  http.on('connection', () => connections++)
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  port = (http.address() as AddressInfo).port
  handle = (_request, response) => response.end('{}')
})
afterEach(() => stop(http))

const host = systemHost({ env: {} })
const addresses: Record<string, string> = {
  'mcp.example.com': '93.184.216.34',
  'metadata.evil.test': '169.254.169.254',
  'rebound.evil.test': '127.0.0.1',
  'intranet.corp.test': '10.0.0.7',
  'mcp.corp.test': '10.0.0.5',
}
const resolve = async (name: string) => [{ address: addresses[name] ?? '192.0.2.1', family: 4 }]
const from = (server: string, trusted: string[] = []) =>
  guardedFetch({ host, server: new URL(server), serverName: 'it', resolve, trusted })

describe('the guard of auth requests', () => {
  it.each([
    ['an address of the cloud', 'https://169.254.169.254/latest/meta-data'],
    ['this machine', 'https://127.0.0.1:PORT/'],
    ['this machine, by a name', 'https://localhost:PORT/'],
    ['this machine, in other digits', 'https://0x7f.1:PORT/'],
    ['this machine, as IPv6', 'https://[::ffff:127.0.0.1]:PORT/'],
    ['this machine, as 0.0.0.0', 'https://0.0.0.0:PORT/'],
    ['a name that resolves to the cloud', 'https://metadata.evil.test/'],
    ['a name that resolves to this machine', 'https://rebound.evil.test:PORT/'],
    ['the inside of a network', 'https://intranet.corp.test/'],
  ])('keeps a server on the internet from %s', async (_what, url) => {
    const guarded = from('https://mcp.example.com/mcp')
    const error = await guarded(url.replace('PORT', String(port))).catch((caught) => caught)
    expect(error).toMatchObject({ refusal: 'private-address', server: 'it', hint: expect.any(String) })
    expect(connections).toBe(0)
  })

  it('judges the address that is connected to, not the one that was looked up before', async () => {
    const answers = ['93.184.216.34', '127.0.0.1']
    let asked = 0
    const guarded = guardedFetch({
      host,
      server: new URL('https://mcp.example.com/mcp'),
      serverName: 'it',
      resolve: async () => [{ address: answers[Math.min(asked++, 1)] ?? '', family: 4 }],
    })
    await expect(guarded(`https://rebinds.evil.test:${port}/`)).rejects.toMatchObject({
      refusal: 'private-address',
    })
    expect(connections).toBe(0)
  })

  it('refuses a name when any of its addresses is inside', async () => {
    const guarded = guardedFetch({
      host,
      server: new URL('https://mcp.example.com/mcp'),
      serverName: 'it',
      resolve: async (name) =>
        name === 'mcp.example.com'
          ? [{ address: '93.184.216.34', family: 4 }]
          : [
              { address: '93.184.216.34', family: 4 },
              { address: '127.0.0.1', family: 4 },
            ],
    })
    await expect(guarded(`https://both.evil.test:${port}/`)).rejects.toMatchObject({
      refusal: 'private-address',
    })
  })

  it('does not believe a server on this machine that only DNS puts here', async () => {
    await expect(from('https://rebound.evil.test/mcp')(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      refusal: 'private-address',
    })
  })

  it('lets a server on this machine have its authorization server here, but none in the cloud', async () => {
    const guarded = from('http://localhost:9/mcp')
    expect((await guarded(`http://127.0.0.1:${port}/`)).status).toBe(200)
    await expect(guarded('https://169.254.169.254/')).rejects.toMatchObject({ refusal: 'private-address' })
    await expect(guarded('https://intranet.corp.test/')).rejects.toMatchObject({ refusal: 'private-address' })
  })

  it('goes anywhere that the user wrote down', async () => {
    const guarded = from('https://mcp.example.com/mcp', [`http://127.0.0.1:${port}`])
    expect((await guarded(`http://127.0.0.1:${port}/`)).status).toBe(200)
  })

  it.each([
    'http://93.184.216.34/',
    'http://as.example.com/',
    'ftp://as.example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:pass@as.example.com/',
  ])('refuses %s for not being https', async (url) => {
    await expect(from('https://mcp.example.com/mcp')(url)).rejects.toMatchObject({ refusal: 'insecure-url' })
  })

  it('follows redirects within an origin, and none beyond it', async () => {
    const guarded = from('http://localhost:9/mcp')
    handle = (request, response) => {
      const to = new URL(request.url ?? '', 'http://x').searchParams.get('to')
      if (to) response.writeHead(302, { location: to })
      response.end('{}')
    }
    const base = `http://127.0.0.1:${port}`
    expect((await guarded(`${base}/?to=/there`)).status).toBe(200)
    for (const to of [
      'http://169.254.169.254/',
      `http://127.0.0.1:${port + 1}/`,
      'file:///etc/passwd',
      '//evil.test/',
    ])
      await expect(guarded(`${base}/?to=${encodeURIComponent(to)}`)).rejects.toMatchObject({
        refusal: 'cross-origin-redirect',
      })
    await expect(guarded(`${base}/?to=/`, { method: 'POST', body: 'secret' })).rejects.toMatchObject({
      refusal: 'cross-origin-redirect',
    })
  })

  it('gives up on redirects in circles', async () => {
    handle = (_request, response) => response.writeHead(302, { location: '/' }).end()
    await expect(from('http://localhost:9/mcp')(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      refusal: 'too-many-redirects',
    })
    expect(connections).toBeLessThan(6)
  })

  it('stops reading at one MiB, whether the length is told or not', async () => {
    const guarded = from('http://localhost:9/mcp')
    let sent = 0
    handle = (request, response) => {
      if (request.url === '/told') response.setHeader('content-length', 100 * 1024 * 1024)
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const pump = () => {
        while (sent < 100 * 1024 * 1024 && !response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) {
            response.once('drain', pump)
            return
          }
        }
        response.end()
      }
      pump()
    }
    for (const path of ['/told', '/untold']) {
      sent = 0
      await expect(guarded(`http://127.0.0.1:${port}${path}`)).rejects.toMatchObject({
        refusal: 'response-too-large',
      })
      expect(sent).toBeLessThan(20 * 1024 * 1024)
    }
  })

  it('has a time limit', async () => {
    handle = () => undefined
    const fast = retimed(systemHost({ env: {} }), () => 50)
    const guarded = guardedFetch({ host: fast, server: new URL('http://localhost:9/'), serverName: 'it' })
    await expect(guarded(`http://127.0.0.1:${port}/`)).rejects.toBeInstanceOf(Timeout)
  })

  it('can be cancelled', async () => {
    handle = () => undefined
    const abort = new AbortController()
    const pending = from('http://localhost:9/')(`http://127.0.0.1:${port}/`, { signal: abort.signal })
    setTimeout(() => abort.abort(), 20)
    await expect(pending).rejects.toBeInstanceOf(Cancelled)
  })

  it('tells a dead line from a refusal', async () => {
    await expect(from('http://localhost:9/')('http://127.0.0.1:1/')).rejects.toBeInstanceOf(IoError)
  })

  it('shows no query of an address in its errors', async () => {
    const error = await from('https://mcp.example.com/')('https://127.0.0.1/x?code=SECRET').catch(
      (caught) => caught,
    )
    expect(JSON.stringify([error, error.message, error.stack])).not.toContain('SECRET')
  })
})

describe('proxies', () => {
  const env = { HTTPS_PROXY: 'http://proxy.test:3128', NO_PROXY: 'internal.test,.corp.test,exact.test:8443' }
  it.each([
    ['https://as.example.com/', 'http://proxy.test:3128'],
    ['https://internal.test/', undefined],
    ['https://deep.internal.test/', undefined],
    ['https://a.corp.test/', undefined],
    ['https://exact.test:8443/', undefined],
    ['https://exact.test/', 'http://proxy.test:3128'],
    ['https://localhost/', undefined],
    ['http://as.example.com/', undefined],
  ])('for %s: %s', (url, proxy) => expect(proxyFor(new URL(url), env)).toBe(proxy))

  it('are used, and still see no private address', async () => {
    const asked: string[] = []
    const proxy = createTcpServer((socket) => {
      socket.once('data', (data) => {
        asked.push(data.toString().split('\r\n')[0] ?? '')
        socket.end('HTTP/1.1 502 no\r\n\r\n')
      })
      socket.on('error', () => undefined)
    })
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    try {
      const guarded = guardedFetch({
        host: systemHost({ env: { HTTPS_PROXY: address } }),
        server: new URL('https://mcp.example.com/mcp'),
        serverName: 'it',
        resolve: async (name) => [
          { address: name === 'as.example.com' ? '93.184.216.34' : (addresses[name] ?? ''), family: 4 },
        ],
      })
      await expect(guarded('https://as.example.com/token')).rejects.toBeInstanceOf(IoError)
      expect(asked).toEqual(['CONNECT as.example.com:443 HTTP/1.1'])
      await expect(guarded('https://metadata.evil.test/')).rejects.toMatchObject({
        refusal: 'private-address',
      })
      expect(asked).toHaveLength(1)
    } finally {
      await new Promise((done) => proxy.close(done))
    }
  })
})
