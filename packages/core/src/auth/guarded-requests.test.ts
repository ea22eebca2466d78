// One guarded request: what is sent, which answers are passed on, and what is left afterwards.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { stop } from './fixtures/authorization-server.ts'
import { type GuardOptions, guardedFetch, isSecureUrl, proxyFor } from './guarded-fetch.ts'

let http: Server
let base: string
let seen: IncomingMessage[]
let handle: (request: IncomingMessage, response: ServerResponse) => void
beforeEach(async () => {
  seen = []
  http = createServer((request, response) => {
    seen.push(request)
    handle(request, response)
  })
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
})
afterEach(() => stop(http))

const guard = (over: Partial<GuardOptions> = {}) =>
  guardedFetch({
    host: systemHost({ env: {} }),
    server: new URL('http://localhost:9/'),
    serverName: 'it',
    ...over,
  })

describe('an answer', () => {
  it.each<[number, string | undefined, number]>([
    [200, undefined, 200],
    [204, undefined, 204],
    [299, '/end', 299],
    [300, '/end', 200],
    [302, '/end', 200],
    [302, undefined, 302],
    [304, undefined, 304],
    [399, '/end', 200],
    [400, '/end', 400],
    [500, '/end', 500],
  ])('%i with the location %s is passed on as %i', async (status, location, passed) => {
    handle = (request, response) => {
      if (request.url === '/end') response.end('{}')
      else response.writeHead(status, location === undefined ? {} : { location }).end()
    }
    expect((await guard()(`${base}/`)).status).toBe(passed)
  })

  it('follows as many redirects as the limit', async () => {
    handle = (request, response) => {
      const hop = Number(request.url?.slice(1))
      if (hop > 0) response.writeHead(302, { location: `/${hop - 1}` }).end()
      else response.end('{}')
    }
    expect((await guard()(`${base}/${AUTH_LIMITS.redirects}`)).status).toBe(200)
    await expect(guard()(`${base}/${AUTH_LIMITS.redirects + 1}`)).rejects.toMatchObject({
      refusal: 'too-many-redirects',
    })
  })

  it('may be as long as the limit, told or not', async () => {
    for (const told of [true, false])
      for (const more of [0, 1]) {
        handle = (_request, response) => {
          const body = Buffer.alloc(AUTH_LIMITS.responseBytes + more, 'x')
          if (told) response.setHeader('content-length', body.length)
          else response.write(body.subarray(0, 10))
          response.end(told ? body : body.subarray(10))
        }
        const answer = guard()(`${base}/`).then(
          async (response) => (await response.text()).length,
          (error) => error.refusal,
        )
        expect(await answer).toBe(more === 0 ? AUTH_LIMITS.responseBytes : 'response-too-large')
      }
  })

  it('has all headers, and no body where only they are wanted', async () => {
    handle = (_request, response) => {
      response.writeHead(401, [
        ['www-authenticate', 'Basic x'],
        ['www-authenticate', 'Bearer y'],
        ['content-length', String(AUTH_LIMITS.responseBytes + 1)],
      ] as never)
      response.write('x')
    }
    const answer = await guard()(`${base}/`, { headersOnly: true })
    expect(answer.headers.get('www-authenticate')).toBe('Basic x, Bearer y')
    expect(await answer.text()).toBe('')
  })
})

describe('a request', () => {
  it('asks for JSON, plain, and sends a form as one', async () => {
    handle = (_request, response) => response.end('{}')
    await guard()(`${base}/`, { method: 'post', body: new URLSearchParams({ a: '1' }) })
    await guard()(`${base}/`, {
      method: 'POST',
      headers: { accept: 'text/html', 'content-type': 'text/plain' },
      body: new URLSearchParams({ a: '1' }),
    })
    await guard()(`${base}/`)
    expect(
      seen.map(({ method, headers }) => [
        method,
        headers.accept,
        headers['content-type'],
        headers['accept-encoding'],
      ]),
    ).toEqual([
      ['POST', 'application/json', 'application/x-www-form-urlencoded', 'identity'],
      ['POST', 'text/html', 'text/plain', 'identity'],
      ['GET', 'application/json', undefined, 'identity'],
    ])
  })

  it('leaves no timer and no listener, however it ends', async () => {
    const timers = new Set<object>()
    const plain = systemHost({ env: {} })
    const host: Host = {
      ...plain,
      awaitedTimer: (ms, run) => {
        const cancel = plain.awaitedTimer(ms, run)
        timers.add(cancel)
        return () => {
          timers.delete(cancel)
          cancel()
        }
      },
    }
    const signal = new AbortController().signal
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    handle = (request, response) =>
      request.url === '/cut' ? response.destroy() : (response.end('{}') as unknown as undefined)
    await guard({ host })(`${base}/`, { signal })
    await guard({ host })(`${base}/cut`, { signal }).catch(() => undefined)
    expect([timers.size, listeners]).toEqual([0, 0])
  })

  it('that is cancelled before is not sent', async () => {
    handle = (_request, response) => response.end('{}')
    await expect(guard()(`${base}/`, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
      message: 'The authorization request was cancelled.',
    })
    expect(seen).toEqual([])
  })

  it('says why a server cannot be reached', async () => {
    await expect(guard()('http://127.0.0.1:1/')).rejects.toMatchObject({
      code: 'IO_ERROR',
      message: 'http://127.0.0.1:1/ could not be reached (ECONNREFUSED).',
    })
    const nowhere = guard({ server: new URL('https://mcp.test/'), resolve: async () => [] })
    await expect(nowhere('https://as.test/')).rejects.toThrow('could not be reached (ENOTFOUND)')
    const failing = guard({
      server: new URL('https://mcp.test/'),
      resolve: () => Promise.reject(Object.assign(new Error('x'), { code: 'EAI_AGAIN' })),
    })
    await expect(failing('https://as.test/')).rejects.toThrow('could not be reached (EAI_AGAIN)')
    await expect(guard()('not a url')).rejects.toMatchObject({ refusal: 'insecure-url' })
  })

  it('with secrets says that it is not redirected', async () => {
    handle = (_request, response) => response.writeHead(307, { location: '/x' }).end()
    await expect(guard()(`${base}/`, { method: 'POST', body: 'x' })).rejects.toThrow(
      'redirects a request that carries secrets',
    )
    handle = (_request, response) => response.writeHead(307, { location: 'https://evil.test/' }).end()
    await expect(guard()(`${base}/`)).rejects.toThrow('redirects to another origin (https://evil.test/)')
  })

  it('connects to a name at the address that it has', async () => {
    handle = (_request, response) => response.end('{}')
    const { port } = new URL(base)
    const asked: string[] = []
    const named = guard({
      resolve: async (name) => {
        asked.push(name)
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    expect((await named(`http://localhost:${port}/`)).status).toBe(200)
    expect(asked).toContain('localhost')
    expect((await guard()(`http://localhost:${port}/`)).status).toBe(200)
  })

  it('to this machine is allowed for a server whose address is one of it, without a look at names', async () => {
    handle = (_request, response) => response.end('{}')
    const resolve = () => Promise.reject(new Error('no names here'))
    const mapped = guard({ server: new URL('https://[::ffff:127.0.0.1]/'), resolve })
    expect((await mapped(`${base}/`)).status).toBe(200)
    const named = guard({ server: new URL('https://mcp.test/'), resolve })
    await expect(named(`${base}/`)).rejects.toMatchObject({ refusal: 'private-address' })
  })
})

describe('an address', () => {
  it.each<[string, boolean]>([
    ['https://a.test/', true],
    ['http://localhost/', true],
    ['http://127.0.0.1:8/', true],
    ['http://a.test/', false],
    ['ftp://localhost/', false],
    ['wss://a.test/', false],
  ])('%s is secure: %s', (url, secure) => expect(isSecureUrl(new URL(url))).toBe(secure))

  const proxy = 'http://p:1'
  it.each<[string, Record<string, string>, string | undefined]>([
    ['https://a.test/', {}, undefined],
    ['https://a.test/', { https_proxy: proxy }, proxy],
    ['https://a.test/', { HTTPS_PROXY: proxy }, proxy],
    ['https://a.test/', { https_proxy: '', HTTPS_PROXY: proxy }, proxy],
    ['https://a.test/', { http_proxy: proxy }, undefined],
    ['https://a.test/', { all_proxy: proxy }, proxy],
    ['https://a.test/', { all_proxy: 'http://q:1', https_proxy: proxy }, proxy],
    ['http://a.test/', { http_proxy: proxy, https_proxy: 'http://q:1' }, proxy],
    ['https://a.test/', { https_proxy: 'not a url' }, undefined],
    ['https://a.test/', { https_proxy: proxy, no_proxy: '*' }, undefined],
    ['https://a.test/', { https_proxy: proxy, no_proxy: 'x, A.test' }, undefined],
    ['https://b.a.test/', { https_proxy: proxy, no_proxy: '*.a.test' }, undefined],
    ['https://xa.test/', { https_proxy: proxy, no_proxy: 'a.test' }, proxy],
    ['https://a.test/', { https_proxy: proxy, no_proxy: 'a.test:443' }, undefined],
    ['https://a.test/', { https_proxy: proxy, no_proxy: 'a.test:80' }, proxy],
    ['http://a.test/', { http_proxy: proxy, no_proxy: 'a.test:80' }, undefined],
    ['http://a.test/', { http_proxy: proxy, no_proxy: 'a.test:443' }, proxy],
    ['https://a.test:8/', { https_proxy: proxy, no_proxy: 'a.test:8' }, undefined],
    ['https://a.test:8/', { https_proxy: proxy, no_proxy: 'a.test:443' }, proxy],
    ['https://127.0.0.1/', { https_proxy: proxy }, undefined],
  ])('%s with %j goes through %s', (url, env, through) => expect(proxyFor(new URL(url), env)).toBe(through))
})
