// Remote servers and their faults, on real sockets.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { afterEach, describe, expect, it } from 'vitest'
import { authFor, memoryVault } from '../auth/index.ts'
import type { HttpEntry } from '../config/entry.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { systemHost } from '../host.ts'
import { httpFixture } from './fixtures/http.ts'
import { board, configured, folder, hastyHost, recorded, textOf, until } from './fixtures/kit.ts'
import { build } from './fixtures/tools.mjs'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const remote = (url: string, more: Partial<HttpEntry> = {}) =>
  configured('remote', {
    type: 'http',
    url,
    headers: {},
    reconnect: { maxAttempts: 3, delayMs: 20 },
    ...more,
  })
/** A real auth without any login. */
const emptyVault = () => {
  const context = { host: systemHost(), stateDir: folder(), vault: memoryVault() }
  return (server: ConfiguredServer) => authFor(server, context)
}
const call = (name: string) => ['remote', 'tools/call', { name, arguments: {} }] as const
const count = (seen: readonly { method?: string }[], method: string) =>
  seen.filter((message) => message.method === method).length

describe('a remote server of the older era', () => {
  it('is met with initialize after it refused the question of 2026-07-28', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25', tools: 2 })
    expect(textOf(await made.link.request(...call('read')))).toBe('called read')
  })

  it.each([
    ['HTTP 500', 500, ''],
    ['HTTP 502', 502, '<html>'],
    ['an empty 200', 200, ''],
    ['a page of HTML', 200, '<html>'],
  ])('is met the same way when it answers the question with %s', async (_what, status, body) => {
    const http = await httpFixture()
    http.intercept = (message, _request, response) => {
      if (message.method !== 'server/discover') return false
      response.writeHead(status, { 'content-type': body ? 'text/html' : 'application/json' }).end(body)
      return true
    }
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
  })

  it('is asked about its era once, not on every connect', async () => {
    const http = await httpFixture()
    const stateDir = folder()
    for (let run = 0; run < 2; run++) {
      const made = await board({ servers: [remote(http.url)], stateDir })
      await made.ready()
      await made.close()
    }
    expect(count(http.seen, 'server/discover')).toBe(1)
    expect(count(http.seen, 'initialize')).toBe(2)
  })
})

describe('a session that expired', () => {
  it('is opened anew once for all calls that notice, and each of them is made again', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    http.sessions.clear()
    const results = await Promise.all([...'12345'].map(() => made.link.request(...call('read'))))
    expect(results.map(textOf)).toEqual(Array(5).fill('called read'))
    expect(count(http.seen, 'initialize')).toBe(2)
    // A 404 says that nothing was done, so a write is safe to repeat as well.
    http.sessions.clear()
    expect(textOf(await made.link.request(...call('write')))).toBe('called write')
    expect(made.servers()[0]?.state).toBe('connected')
  })

  it('is recognised by JSON-RPC -32001 too', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    let refused = 0
    http.intercept = (message, _request, response) => {
      if (message.method !== 'tools/call' || refused++ > 0) return false
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32001, message: 'who?' } }),
      )
      return true
    }
    expect(textOf(await made.link.request(...call('read')))).toBe('called read')
    expect(count(http.seen, 'initialize')).toBe(2)
  })

  it('is tried once more and not for ever', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    http.intercept = (message, _request, response) => {
      if (message.method !== 'tools/call') return false
      response.writeHead(404).end()
      return true
    }
    await expect(made.link.request(...call('read'))).rejects.toMatchObject({ code: 'IO_ERROR' })
    expect(count(http.seen, 'tools/call')).toBe(2)
  })
})

describe('a remote server that wants a login', () => {
  it('is shown as such, at connect', async () => {
    const http = await httpFixture()
    http.intercept = (_message, _request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      return true
    }
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'needs-auth', error: { code: 'AUTH_REQUIRED' } })
    await expect(made.link.request(...call('read'))).rejects.toMatchObject({ code: 'AUTH_REQUIRED' })
    expect(http.seen).toHaveLength(1)
    http.intercept = () => false
    expect(await made.reconnect('remote')).toMatchObject({ state: 'connected' })
  })

  it('is asked nothing more when the auth has said so already', async () => {
    const http = await httpFixture()
    http.intercept = (_message, _request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      return true
    }
    const made = await board({ servers: [remote(http.url)], auth: emptyVault() })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'needs-auth', error: { code: 'AUTH_REQUIRED' } })
    expect(http.seen.map(({ method }) => method)).toEqual(['server/discover'])
  })

  it('is shown as such when the auth finds out in the middle', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)], auth: emptyVault() })
    await made.ready()
    http.intercept = (_message, _request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      return true
    }
    await expect(made.link.request(...call('read'))).rejects.toMatchObject({ code: 'AUTH_REQUIRED' })
    expect(made.servers()[0]?.state).toBe('needs-auth')
  })

  it('stays connected when only one tool wants a wider login', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)], auth: emptyVault() })
    await made.ready()
    http.intercept = ({ method }, _request, response) => {
      if (method !== 'tools/call') return false
      const wanted = 'Bearer error="insufficient_scope", scope="files:write"'
      response.writeHead(403, { 'www-authenticate': wanted }).end()
      return true
    }
    await expect(made.link.request(...call('read'))).rejects.toMatchObject({ code: 'AUTH_REQUIRED' })
    expect(made.servers()[0]?.state).toBe('connected')
    expect(await made.link.request('remote', 'tools/list')).toMatchObject({ tools: expect.any(Array) })
  })

  it('is shown as such when the token ends in the middle', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    http.intercept = (_message, _request, response) => {
      response.writeHead(401).end()
      return true
    }
    await expect(made.link.request(...call('read'))).rejects.toMatchObject({ code: 'AUTH_REQUIRED' })
    expect(made.servers()[0]?.state).toBe('needs-auth')
  })

  it('is not confused with one that forbids', async () => {
    const http = await httpFixture()
    http.intercept = (_message, _request, response) => {
      response.writeHead(403).end()
      return true
    }
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'failed', error: { code: 'PERMISSION_DENIED' } })
  })
})

describe('a remote server that is lost', () => {
  it('is given up after three errors of the line in a row, and reconnected', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    const events = recorded(made)
    await made.ready()
    http.intercept = (message, request) => {
      if (message.method !== 'tools/call') return false
      request.socket.destroy()
      return true
    }
    for (let i = 0; i < 3; i++)
      await expect(made.link.request(...call('write'))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    http.intercept = () => false
    expect(textOf(await made.link.request(...call('write')))).toBe('called write')
    const states = events.flatMap((event) => (event.type === 'state' ? [event.state.kind] : []))
    expect(states.filter((kind) => kind === 'connected')).toHaveLength(2)
  })

  it('repeats a reading call whose line broke', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)] })
    await made.ready()
    let broken = 0
    http.intercept = (message, request) => {
      if (message.method !== 'tools/call' || broken++ > 0) return false
      request.socket.destroy()
      return true
    }
    expect(textOf(await made.link.request(...call('read')))).toBe('called read')
  })

  it('is noticed by pings without an answer', async () => {
    const http = await httpFixture()
    const made = await board({ servers: [remote(http.url)], host: hastyHost(60), timeoutMs: 200_000 })
    const events = recorded(made)
    await made.link.connection('remote').settled()
    http.intercept = (message) => message.method === 'ping'
    await until('three pings were missed', () =>
      events.some((event) => event.type === 'log' && event.line.text === 'The connection was lost.'),
    )
    expect(count(http.seen, 'ping')).toBeGreaterThanOrEqual(3)
  })
})

describe('a url without a type', () => {
  it('becomes the older transport when Streamable HTTP is refused, and is remembered as such', async () => {
    const sse = await sseFixture()
    const stateDir = folder()
    for (let run = 0; run < 2; run++) {
      const made = await board({ servers: [remote(sse.url, { fallbackToSse: true })], stateDir })
      await made.ready()
      expect(made.servers()[0]).toMatchObject({ state: 'connected', type: 'sse', tools: 1 })
      await made.close()
    }
    expect(sse.refused()).toBe(2)
  })
})

describe('a remote server of 2026-07-28', () => {
  it('is called with its envelope, asks for input and is cancelled by closing the stream', async () => {
    const handler = toNodeHandler(createMcpHandler(build))
    const methods: unknown[] = []
    const server = createServer((request, response) => {
      methods.push(request.headers['mcp-method'])
      // The handler needs less than Node gives; only its optional properties are typed differently.
      void handler(request as Parameters<typeof handler>[0], response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const made = await board({
      servers: [remote(`http://127.0.0.1:${port}/mcp`)],
      requestHandlers: { elicitForm: () => ({ action: 'accept', content: { name: 'Ada' } }) },
    })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2026-07-28', tools: 4 })
    expect(textOf(await made.link.request('remote', 'tools/call', { name: 'ask-name', arguments: {} }))).toBe(
      'Hello Ada',
    )
    const stop = new AbortController()
    const slow = { name: 'slow', arguments: { ms: 20_000 } }
    const cancelled = made.link.request('remote', 'tools/call', slow, { signal: stop.signal })
    setTimeout(() => stop.abort(), 100)
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(methods).toContain('tools/call')
    expect(methods).not.toContain('initialize')
  })
})

/** The legacy two-endpoint transport, minimal. */
async function sseFixture() {
  let refused = 0
  let stream: import('node:http').ServerResponse | undefined
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      stream = response
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: endpoint\ndata: /messages\n\n')
      return
    }
    if (request.url !== '/messages') {
      refused++
      response.writeHead(405).end()
      return
    }
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      response.writeHead(202).end()
      const message = JSON.parse(body)
      if (message.id === undefined) return
      const result =
        message.method === 'initialize'
          ? {
              protocolVersion: '2024-11-05',
              capabilities: { tools: {} },
              serverInfo: { name: 'sse', version: '1' },
            }
          : { tools: [{ name: 'old', inputSchema: {} }] }
      stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`, refused: () => refused }
}
