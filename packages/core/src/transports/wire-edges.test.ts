// The small parts of the transports where they turn: waits that a server names, redirects, statuses behind errors, proxies,
// commands that are ended, and headers that two sides set.
import type { ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import { isRunning } from '../files/running.ts'
import { type Host, systemHost } from '../host.ts'
import { HTTP_LIMITS, STDIO_LIMITS } from '../limits.ts'
import { type Asked, event, events, json, scripted } from './fixtures/http-script.ts'
import { testContext, until } from './fixtures/support.ts'
import { openNetwork } from './http-agents.ts'
import { type HttpResponse, RequestAbort } from './http-dispatch.ts'
import { openHttpClient } from './http-retries.ts'
import { PushStream } from './notification-stream.ts'
import { plainFetch } from './plain-fetch.ts'
import { ProcessGroup } from './process-group.ts'
import { redirectLocation, redirectTarget } from './redirects.ts'
import { retryAfterMs } from './retry-after.ts'
import { runCommand } from './run-command.ts'
import { requestAuth } from './transport-auth.ts'
import { errorCode, httpStatus, tlsCode } from './transport-errors.ts'
import { isExcepted, tunnelFor } from './websocket-proxy.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
const answer = (status: number, headers: Record<string, string> = {}) => ({
  status,
  header: (name: string) => headers[name],
})

it.each([
  [429, '2', 2000],
  [503, ' 2 ', 2000],
  [429, '0', 0],
  [200, '2', undefined],
  [500, '2', undefined],
  [429, undefined, undefined],
  [429, '', undefined],
  [429, 'soon', undefined],
  [429, '1234567890', undefined],
  [429, 'Thu, 01 Jan 1970 00:00:10 GMT', 5000],
  [503, 'Thu, 01 Jan 1970 00:00:01 GMT', 0],
])('status %i with retry-after %s waits %s', (status, value, wanted) => {
  const found = retryAfterMs(answer(status, value === undefined ? {} : { 'retry-after': value }), 5000)
  // A large number of seconds is no date either.
  expect(found).toBe(value === '1234567890' ? found : wanted)
})

describe('a redirect', () => {
  it.each([
    ['http://a/x', 'POST', 307, '/y', 'http://a/y'],
    ['http://a/x', 'POST', 308, 'http://a/y', 'http://a/y'],
    ['http://a/x', 'POST', 301, '/y', undefined],
    ['http://a/x', 'POST', 302, '/y', undefined],
    ['http://a/x', 'GET', 301, '/y', 'http://a/y'],
    ['http://a/x', 'GET', 303, '/y', 'http://a/y'],
    ['http://a/x', 'GET', 304, '/y', undefined],
    ['http://a/x', 'GET', 200, '/y', undefined],
    ['http://a/x', 'GET', 400, '/y', undefined],
    ['http://a/x', 'GET', 301, undefined, undefined],
    ['http://a/x', 'GET', 301, '', undefined],
    ['http://a/x', 'GET', 301, 'http://[', undefined],
    ['http://a/x', 'GET', 301, 'http://b/y', undefined],
    ['http://a/x', 'GET', 301, 'http://a:81/y', undefined],
    ['http://a/x', 'GET', 301, 'https://a/y', 'https://a/y'],
    ['https://a/x', 'GET', 301, 'http://a/y', undefined],
    ['http://a:81/x', 'GET', 301, 'https://a/y', undefined],
    ['http://a/x', 'GET', 301, 'https://a:444/y', undefined],
    ['http://a/x', 'GET', 301, 'https://b/y', undefined],
    ['http://a/x', 'GET', 301, 'http://u:p@a/y', undefined],
    ['http://u:p@a/x', 'GET', 301, 'http://u:p@a/y', 'http://u:p@a/y'],
    ['http://u:p@a/x', 'GET', 301, 'http://u:q@a/y', undefined],
    ['http://u:p@a/x', 'GET', 301, 'http://v:p@a/y', undefined],
    ['http://u:p@a/x', 'GET', 301, 'http://u@a/y', undefined],
    ['http://u:p@a/x', 'GET', 301, 'http://a/y', 'http://a/y'],
  ])('from %s by %s %i to %s leads to %s', (from, method, status, location, wanted) => {
    const response = answer(status, location === undefined ? {} : { location })
    expect(redirectTarget(new URL(from), method, response)?.href).toBe(wanted)
  })
  it('that is not followed still tells where it points', () => {
    const from = new URL('http://a/x')
    expect(redirectLocation(from, answer(301, { location: 'http://b/y' }))?.href).toBe('http://b/y')
    expect(redirectLocation(from, answer(200, { location: 'http://b/y' }))).toBeUndefined()
    expect(redirectLocation(from, answer(301))).toBeUndefined()
  })
})

describe('an error', () => {
  const branded = (...brands: string[]) =>
    Object.assign(new Error('x'), { [Symbol.for('mcp.sdk.errorBrands')]: new Set(brands) })
  it.each([
    [{ status: 404 }, 404],
    [{ status: 99 }, undefined],
    [{ status: 100 }, 100],
    [{ status: 599 }, 599],
    [{ status: 600 }, undefined],
    [{ status: 404.5 }, undefined],
    [{ status: '404' }, undefined],
    [{ data: { status: 401 } }, 401],
    [{ data: null }, undefined],
    [{ data: 'status' }, undefined],
    [{ code: 403 }, 403],
    [{ code: -32000 }, undefined],
  ])('with %j has the status %s', (more, wanted) => {
    expect(httpStatus(Object.assign(new Error('x'), more))).toBe(wanted)
    expect(httpStatus(new Error('outer', { cause: Object.assign(new Error('x'), more) }))).toBe(wanted)
  })
  it('of the SDK tells its status by its brand', () => {
    expect(httpStatus(branded('mcp.UnauthorizedError'))).toBe(401)
    expect(httpStatus(branded('mcp.InsufficientScopeError'))).toBe(403)
    expect(httpStatus(branded('mcp.Other'))).toBeUndefined()
  })
  it('has so many causes, and no more', () => {
    const nested = (depth: number): Error =>
      depth === 0
        ? Object.assign(new Error('x'), { code: 'EPIPE' })
        : new Error('x', { cause: nested(depth - 1) })
    expect([errorCode(nested(15)), errorCode(nested(16))]).toEqual(['EPIPE', undefined])
    expect(errorCode({ errors: [{}, { code: 'EPIPE' }] })).toBe('EPIPE')
  })
  it('has the code of the first cause that has one, and of TLS only its own', () => {
    const inner = Object.assign(new Error('x'), { code: 'ECONNRESET' })
    expect(errorCode(new Error('a', { cause: new Error('b', { cause: inner }) }))).toBe('ECONNRESET')
    expect([errorCode(undefined), errorCode('x'), errorCode(new Error('x'))]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(tlsCode(inner)).toBeUndefined()
    expect(tlsCode(Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }))).toBe('CERT_HAS_EXPIRED')
  })
})

describe('a proxy', () => {
  it.each([
    ['ws://a.example', undefined, false],
    ['ws://a.example', '', false],
    ['ws://a.example', '*', true],
    ['ws://a.example', 'a.example', true],
    ['ws://A.example', 'a.EXAMPLE', true],
    ['ws://a.example', 'example', true],
    ['ws://a.example', '.example', true],
    ['ws://a.example', '*.example', true],
    ['ws://badexample', 'example', false],
    ['ws://a.example', 'b.example a.example', true],
    ['ws://a.example', 'b.example,c.example', false],
    ['ws://a.example', 'a.example:80', true],
    ['ws://a.example', 'a.example:81', false],
    ['wss://a.example', 'a.example:443', true],
    ['wss://a.example', 'a.example:80', false],
    ['ws://a.example:81', 'a.example:81', true],
    ['ws://[::1]:81', '::1', true],
    ['ws://[::1]:81', '[::1]', true],
    ['ws://[::1]:81', '[::1]:81', true],
    ['ws://[::1]:81', '[::1]:82', false],
  ])('is not used for %s with %s: %s', (url, list, wanted) => {
    expect(isExcepted(new URL(url), list)).toBe(wanted)
  })

  it('is used for the scheme that it is named for', () => {
    const env = { HTTP_PROXY: 'http://p:1' }
    expect(tunnelFor('ws://a', env)).toBeDefined()
    expect(tunnelFor('wss://a', env)).toBeUndefined()
    expect(tunnelFor('wss://a', { HTTPS_PROXY: 'http://p:1' })).toBeDefined()
    expect(tunnelFor('ws://a', { ...env, NO_PROXY: 'a' })).toBeUndefined()
    expect(tunnelFor('ws://a', {})).toBeUndefined()
  })

  /** The proxy gives `reply`; what a tunnel through it becomes. */
  async function tunnelled(reply: string, userinfo = '') {
    let asked = ''
    const sockets: { destroyed: boolean }[] = []
    const server = createTcpServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.once('data', (chunk) => {
        asked = chunk.toString()
        if (reply === '') socket.destroy()
        else socket.write(reply)
      })
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    ends.push(() => server.close())
    const { port } = server.address() as { port: number }
    const connect = tunnelFor('ws://target.example', { HTTP_PROXY: `http://${userinfo}127.0.0.1:${port}` })
    type Connect = (
      options: unknown,
      done: (error: Error | null, socket?: { destroy(): void }) => void,
    ) => void
    const outcome = await new Promise<string>((done) => {
      // The published type knows only the form without a callback.
      ;(connect as unknown as Connect)({}, (error, socket) => {
        socket?.destroy()
        done(error ? error.message : 'open')
      })
    })
    return { asked, outcome, sockets }
  }

  it('opens a tunnel, with its own login, or says why it does not', async () => {
    const good = await tunnelled('HTTP/1.1 200 OK\r\n\r\n', 'u:p%40@')
    expect(good.outcome).toBe('open')
    expect(good.asked).toMatch(/^CONNECT target\.example:80 HTTP\/1\.1\r\n/)
    expect(good.asked).toContain(`proxy-authorization: Basic ${Buffer.from('u:p@').toString('base64')}`)
    const refused = await tunnelled('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n')
    expect(refused.outcome).toContain('refused with status 407')
    expect(refused.asked).not.toContain('proxy-authorization')
    await until(() => refused.sockets.every(({ destroyed }) => destroyed), 'the refused connection is closed')
    expect((await tunnelled('')).outcome).toContain('could not be reached')
  })
})

describe('a plain fetch', () => {
  it('sends what it is given, and no more', async () => {
    const got: string[] = []
    const server = await scripted(() => undefined)
    await server.close()
    const plain = await import('node:http').then(({ createServer }) =>
      createServer(async (req, res) => {
        let body = ''
        for await (const piece of req) body += piece
        got.push(`${req.method} ${req.headers['x-a']} ${body}`)
        if (req.url === '/moved') res.writeHead(302, { location: '/' }).end()
        else res.end('ok')
      }),
    )
    await new Promise<void>((done) => plain.listen(0, '127.0.0.1', done))
    ends.push(() => {
      plain.closeAllConnections()
      plain.close()
    })
    const { port } = plain.address() as { port: number }
    const { dispatcher } = await openNetwork(systemHost())
    ends.push(() => dispatcher.destroy())
    const url = `http://127.0.0.1:${port}/`
    const headers = new Headers({ 'x-a': '1' })
    expect(await (await plainFetch(dispatcher, url, { headers })).text()).toBe('ok')
    await plainFetch(dispatcher, url, { headers, method: 'POST', body: 'text' })
    await plainFetch(dispatcher, url, { headers, method: 'PUT', body: new URLSearchParams({ a: 'b' }) })
    await plainFetch(dispatcher, url, { headers, method: 'POST', body: new Blob(['x']) })
    expect(got).toEqual(['GET 1 ', 'POST 1 text', 'PUT 1 a=b', 'POST 1 '])
    expect((await plainFetch(dispatcher, `${url}moved`, { headers, redirect: 'manual' })).status).toBe(302)
    expect((await plainFetch(dispatcher, `${url}moved`, { headers })).status).toBe(200)
    const signal = AbortSignal.abort()
    await expect(plainFetch(dispatcher, url, { headers, signal })).rejects.toThrow()
  })
})

describe('the headers of an entry', () => {
  it('yield to those of the protocol and of the login', async () => {
    let seen: Asked['headers'] = {}
    const server = await scripted((asked) => {
      seen = asked.headers
      json(asked, {})
    })
    ends.push(() => server.close())
    const auth = { token: async () => 'login' }
    const http = await openHttpClient(
      {
        url: server.url,
        headers: { authorization: 'entry', accept: 'text/entry', 'x-entry': 'e', 'x-b': 'entry' },
      },
      testContext({ auth }),
    )
    ends.push(() => http.close())
    const headers = ['x-a', 'protocol', 'accept', 'application/json', 'x-b', 'protocol']
    await http.request({ method: 'POST', url: http.url, headers, body: '{}' }, new RequestAbort())
    expect(seen).toMatchObject({
      authorization: 'Bearer login',
      accept: 'application/json',
      'x-entry': 'e',
      'x-a': 'protocol',
      'x-b': 'protocol',
    })
  })

  it.each([
    [undefined, 0, ['none']],
    [{ token: async () => undefined }, 200, ['']],
    [{ token: async () => 't' }, 401, ['Bearer t']],
    [{ token: async () => 't', onUnauthorized: async () => undefined }, 200, ['Bearer t']],
    [{ token: async () => 't', onUnauthorized: async () => undefined }, 401, ['Bearer t', 'Bearer t']],
  ])('of a plain login provider %j, after status %i', async (auth, status, wanted) => {
    const made = requestAuth(auth, new URL('http://a'), fetch)
    if (!made) return expect(wanted).toEqual(['none'])
    const sent: string[] = []
    let discarded = 0
    await made.send({ method: 'GET', url: new URL('http://a') }, async (login) => {
      sent.push(login['authorization'] ?? '')
      return { status, header: () => 'Bearer', discard: () => void discarded++ } as unknown as HttpResponse
    })
    expect([sent, discarded]).toEqual([wanted, wanted.length - 1])
  })
})

describe('a command', () => {
  const limits = { env: { PATH: process.env['PATH'] ?? '' }, timeoutMs: 20_000, maxBytes: 10 }
  it('ends with its output, or is ended when it writes or takes too much', async () => {
    const host = systemHost()
    expect(await runCommand(host, 'printf 1234567890', limits)).toMatchObject({
      kind: 'exited',
      code: 0,
      stdout: '1234567890',
    })
    expect(await runCommand(host, 'printf 12345678901; sleep 60', limits)).toEqual({ kind: 'too-large' })
    expect(await runCommand(host, 'sleep 60', { ...limits, timeoutMs: 50 })).toEqual({ kind: 'timeout' })
    expect(await runCommand(host, 'exit 3', limits)).toMatchObject({ kind: 'exited', code: 3 })
    expect(await runCommand(host, 'pwd', { ...limits, maxBytes: 100, cwd: '/' })).toMatchObject({
      stdout: '/\n',
    })
    expect(await runCommand(host, 'x', { ...limits, cwd: '/does/not/exist' })).toMatchObject({
      kind: 'not-started',
    })
  })

  it('is killed when it is given up, and what it started stays when it ended by itself', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'plugboard-command-'))
    const pid = join(dir, 'pid')
    const started = () => Number(readFileSync(pid, 'utf8'))
    try {
      const given = { ...limits, timeoutMs: 20_000 }
      await runCommand(systemHost(), `echo $$ > ${pid}; printf 12345678901; exec sleep 60`, given)
      await until(() => !isRunning(started()), 'it is gone')
      const starting = `sleep 60 > /dev/null & echo $! > ${pid}`
      expect(await runCommand(systemHost(), starting, given)).toMatchObject({ kind: 'exited', code: 0 })
      await new Promise((done) => setTimeout(done, 20))
      expect(isRunning(started())).toBe(true)
      process.kill(started(), 'SIGKILL')
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })

  it('on Windows is run by its own shell', async () => {
    const spawned: unknown[][] = []
    const fake = (env: Record<string, string>) =>
      ({
        ...systemHost(),
        platform: 'win32',
        env,
        spawn: (...args: Parameters<typeof spawn>) => {
          spawned.push(args.slice(0, 2))
          throw new Error('not here')
        },
      }) as unknown as Host
    expect(await runCommand(fake({}), 'x', limits)).toMatchObject({ kind: 'not-started' })
    await runCommand(fake({ COMSPEC: 'own.exe' }), 'x', limits)
    expect(spawned).toEqual([
      ['C:\\Windows\\System32\\cmd.exe', ['/d', '/s', '/c', '"x"']],
      ['own.exe', ['/d', '/s', '/c', '"x"']],
    ])
  })

  it(
    'on Windows is ended with its tree: asked first, then forced',
    async () => {
      const spawned: string[] = []
      const child = Object.assign(new EventEmitter(), {
        exitCode: null as number | null,
        signalCode: null,
        kill: (signal: string) => spawned.push(`kill ${signal}`),
      })
      const host = {
        ...systemHost(),
        platform: 'win32',
        spawn: (command: string, args: readonly string[]) => {
          spawned.push([command, ...args].join(' '))
          const killer = Object.assign(new EventEmitter(), { unref: () => undefined })
          if (args.includes('/F'))
            setImmediate(() => {
              killer.emit('error', new Error('no taskkill'))
              child.exitCode = 1
            })
          return killer
        },
      } as unknown as Host
      // The group is never there: nothing is guarded, and nothing is signalled.
      const group = new ProcessGroup(child as unknown as ChildProcess, 2 ** 22 + 1, host)
      await group.end()
      expect(spawned).toEqual([
        `taskkill /PID ${2 ** 22 + 1} /T`,
        `taskkill /PID ${2 ** 22 + 1} /T /F`,
        'kill SIGKILL',
      ])
      await group.end()
      expect(spawned).toHaveLength(3)
    },
    4 * (STDIO_LIMITS.interruptAfterMs + STDIO_LIMITS.terminateAfterMs + STDIO_LIMITS.killAfterMs) + 20_000,
  )
})

describe('the stream of notifications', () => {
  async function pushed(script: (asked: Asked, times: number) => void) {
    let times = 0
    const server = await scripted((asked) => script(asked, ++times))
    ends.push(() => server.close())
    const http = await openHttpClient({ url: server.url, headers: {} }, testContext())
    ends.push(() => http.close())
    const delivered: JSONRPCMessage[] = []
    const notes: string[] = []
    const waits: number[] = []
    const losses: Error[] = []
    const ids: (string | undefined)[] = []
    const host = {
      ...systemHost(),
      backgroundTimer: (ms: number, act: () => void) => {
        waits.push(ms)
        const timer = setImmediate(act)
        return () => clearImmediate(timer)
      },
    } as Host
    let opened: HttpResponse | undefined
    const stream = new PushStream({
      host,
      deliver: (message) => delivered.push(message),
      note: (text) => notes.push(text),
      onLoss: (error) => losses.push(error),
      request: async (lastEventId, abort) => {
        ids.push(lastEventId)
        opened = await http.request({ method: 'GET', url: http.url, headers: [] }, abort)
        return opened.ok ? opened : undefined
      },
    })
    ends.push(() => stream.close())
    return { stream, delivered, notes, waits, losses, ids, server }
  }
  const news = { jsonrpc: '2.0', method: 'notifications/x' }

  it('delivers messages, passes over other events, and notes what is none', async () => {
    const { stream, delivered, notes } = await pushed((asked) => {
      const write = events(asked)
      write(`event: ping\n${event(news)}`)
      write('event: message\ndata:\n\n')
      write('data: {"a":1}\n\ndata: {\n\n')
      write(`event: message\n${event({ ...news, method: 'notifications/y' })}`)
      write(event(news))
    })
    await stream.open()
    await until(() => delivered.length === 2)
    expect(delivered.map((message) => 'method' in message && message.method)).toEqual([
      'notifications/y',
      'notifications/x',
    ])
    expect(notes).toEqual(['An event was not a JSON-RPC message.', 'An event was not a JSON-RPC message.'])
  })

  it('comes back from its last event, after longer and longer waits, and gives up', async () => {
    const { stream, waits, notes, ids } = await pushed((asked, times) => {
      const write = events(asked)
      if (times === 1) write(`id: e1\ndata: ${JSON.stringify(news)}\n\nid: bad\u0001id\ndata:\n\n`)
      asked.response.end()
    })
    await stream.open()
    await until(() => notes.length > 0)
    const { resumeAttempts, resumeDelayMs, resumeMaxDelayMs } = HTTP_LIMITS
    expect(waits).toEqual(
      Array.from({ length: resumeAttempts }, (_, at) => Math.min(resumeDelayMs * 2 ** at, resumeMaxDelayMs)),
    )
    expect(ids).toEqual([undefined, ...Array.from({ length: resumeAttempts }, () => 'e1')])
    expect(notes).toEqual([expect.stringContaining('does not keep its push stream open')])
  })

  it('waits as long as the server says, within a limit', async () => {
    const { stream, waits, notes } = await pushed((asked) => {
      events(asked)('retry: 7\n\n')
      asked.response.end()
    })
    await stream.open()
    await until(() => notes.length > 0)
    expect(new Set(waits)).toEqual(new Set([7]))
  })

  it('that is closed stays closed, also when its answer comes later', async () => {
    let late: Asked | undefined
    const { stream, waits, delivered, server } = await pushed((asked) => {
      late = asked
    })
    const opening = stream.open()
    await until(() => late !== undefined)
    stream.close()
    await opening
    await stream.open()
    expect([waits, delivered, server.asked.length]).toEqual([[], [], 1])
    let aborted = 0
    const held = new PushStream({
      host: systemHost(),
      deliver: () => undefined,
      note: () => undefined,
      onLoss: () => undefined,
      request: async () => {
        held.close()
        return { abort: () => void aborted++, read: () => expect.unreachable() } as unknown as HttpResponse
      },
    })
    await held.open()
    expect(aborted).toBe(1)
  })

  it('that the server does not offer is not asked for again', async () => {
    const { stream, waits, server } = await pushed((asked) => void asked.response.writeHead(405).end())
    await stream.open()
    expect([waits, server.asked.length]).toEqual([[], 1])
  })
})
