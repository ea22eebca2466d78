import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { HttpEntry, ProxyEntry } from '../config/entry.ts'
import { Cancelled, IoError } from '../errors.ts'
import { retimed } from '../fixtures/timers.ts'
import { type Host, systemHost } from '../host.ts'
import {
  type Asked,
  event,
  events,
  json,
  result,
  type ScriptedServer,
  scripted,
} from './fixtures/http-script.ts'
import { type TestContext, testContext, until, wire, within } from './fixtures/support.ts'
import { openTransport, type TransportContext } from './open.ts'
import { httpStatus, isTerminalError } from './transport-errors.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** The real host, with every wait shortened to a moment. */
const hasty = (): Host => {
  return retimed(systemHost(), (ms) => Math.min(ms, 20))
}

async function connected(
  answer: (asked: Asked) => void,
  more: Partial<Omit<HttpEntry, 'type'>> & { type?: (HttpEntry | ProxyEntry)['type'] } = {},
  overrides: Partial<TransportContext> = {},
) {
  const server: ScriptedServer = await scripted((asked) => {
    if (asked.method === 'DELETE') json(asked, {})
    else answer(asked)
  })
  ends.push(() => server.close())
  const context: TestContext = testContext(overrides)
  const transport = await openTransport({ type: 'http', url: server.url, headers: {}, ...more }, context)
  const line = wire(transport)
  ends.push(() => transport.close())
  await transport.start()
  const call = (method = 'ping', id: number | string = 1) =>
    within(transport.send({ jsonrpc: '2.0', id, method, params: {} }), 'settled')
  return { ...line, server, context, call }
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('an answer over HTTP', () => {
  it('may be one JSON document', async () => {
    const { request } = await connected((asked) => json(asked, result(asked.message.id, { a: 1 })))
    expect(await request('ping')).toEqual({ a: 1 })
  })

  it('may be a stream, with notifications before the result', async () => {
    const { request, received } = await connected((asked) => {
      const write = events(asked)
      write(': a comment\n\n')
      write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }))
      write(event(result(asked.message.id, { text: 'žluť' })))
      asked.response.end()
    })
    expect(await request('ping')).toEqual({ text: 'žluť' })
    expect(received).toHaveLength(2)
  })

  it('is waited for while notifications come', async () => {
    const { request, received } = await connected((asked) => {
      const write = events(asked)
      write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }))
      void until(() => received.length === 1, 'the notification').then(() =>
        setImmediate(() => {
          write(event(result(asked.message.id, { late: true })))
          asked.response.end()
        }),
      )
    })
    expect(await request('ping')).toEqual({ late: true })
  })

  it('counts when the stream stays open after it, and the connection is released', async () => {
    const { call, server } = await connected(
      (asked) => events(asked)(event(result(asked.message.id))),
      {},
      { host: hasty() },
    )
    await call()
    await until(() => server.asked[0]?.socket.destroyed === true, 'the connection released')
  })

  it('that is a web page is refused with its media type, and one that is not JSON as unusable', async () => {
    const page = await connected(({ response }) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<html>')
    })
    expect(await failure(page.call())).toMatchObject({
      name: 'UnreadableAnswer',
      message: expect.stringContaining('text/html'),
    })
    const empty = await connected(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('')
    })
    expect(await failure(empty.call())).toMatchObject({ name: 'UnreadableAnswer', code: 'IO_ERROR' })
  })

  it('goes to the caller that asked, whatever the order', async () => {
    const held: Asked[] = []
    const { request } = await connected((asked) => {
      held.push(asked)
      if (held.length === 20)
        for (const each of held.reverse())
          json(each, result(each.message.id, { n: each.message.params?.['n'] }))
    })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => request('ping', { n })))
    expect(answers.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })
})

describe('an answer that is cut', () => {
  const cuts: Record<string, (asked: Asked) => void> = {
    'before the headers, by an end': ({ socket }) => socket.end(),
    'before the headers, by a reset': ({ socket }) => socket.resetAndDestroy(),
    'in the headers': ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-ty'),
    'in the headers, by a reset': ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-ty')
      setTimeout(() => socket.resetAndDestroy(), 20)
    },
    'in a body of known length': ({ socket }) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"json'),
    'in a chunk': ({ socket }) =>
      socket.end(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{"json',
      ),
    'in a body, by a reset': ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"json')
      setTimeout(() => socket.resetAndDestroy(), 20)
    },
    'in an event': (asked) => {
      events(asked)('data: {"jsonrpc":"2.0","id":1,"res')
      setTimeout(() => asked.socket.resetAndDestroy(), 20)
    },
    'after an orderly end of a stream without the result': (asked) => {
      events(asked)(event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }))
      asked.response.end()
    },
  }

  for (const [where, cut] of Object.entries(cuts))
    it(`${where} is an error at once`, async () => {
      const { call, server, errors } = await connected(cut)
      const error = await failure(call('tools/call'))
      expect(error).toBeInstanceOf(IoError)
      expect(isTerminalError(error)).toBe(true)
      expect(server.asked).toHaveLength(1)
      expect(errors).toEqual([error])
    })

  it('in the middle of an event is resumed where the server gave ids, and the result arrives', async () => {
    const { request, server, received } = await connected(
      (asked) => {
        const write = events(asked)
        if (asked.method === 'POST') {
          write('retry: 10\n')
          write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: { n: 1 } }, 'e1'))
          write('id: e2\ndata: {"jsonrpc":"2.0","id":1,"resu')
          setTimeout(() => asked.socket.destroy(), 20)
        } else {
          write(event(result(1, { whole: true }), 'e2'))
          asked.response.end()
        }
      },
      {},
      { host: hasty() },
    )
    expect(await request('tools/call')).toEqual({ whole: true })
    expect(server.asked.map(({ method, headers }) => [method, headers['last-event-id']])).toEqual([
      ['POST', undefined],
      ['GET', 'e1'],
    ])
    expect(received).toHaveLength(2)
  })

  it('and cannot be resumed is an error, after a bounded number of tries', async () => {
    const { call, server } = await connected(
      (asked) => {
        if (asked.method === 'POST') {
          events(asked)('id: e1\ndata:\n\n')
          asked.response.end()
        } else {
          events(asked)(': nothing\n\n')
          asked.response.end()
        }
      },
      {},
      { host: hasty() },
    )
    expect(await failure(call())).toBeInstanceOf(IoError)
    expect(server.asked.filter(({ method }) => method === 'GET').length).toBeLessThanOrEqual(3)
    const refusing = await connected(
      (asked) => {
        if (asked.method === 'GET') return json(asked, {}, 405)
        events(asked)('id: e1\ndata:\n\n')
        asked.response.end()
      },
      {},
      { host: hasty() },
    )
    expect(await failure(refusing.call())).toBeInstanceOf(IoError)
    const gone = await connected(
      (asked) => {
        if (asked.method === 'GET') return json(asked, {}, 404)
        events(asked)('id: e1\ndata:\n\n')
        asked.response.end()
      },
      {},
      { host: hasty() },
    )
    expect(httpStatus(await failure(gone.call()))).toBe(404)
  })
})

describe('a refusal', () => {
  it('carries its status', async () => {
    for (const status of [400, 404, 500, 502]) {
      const { call } = await connected((asked) => json(asked, { error: 'no' }, status))
      expect(httpStatus(await failure(call()))).toBe(status)
    }
  })

  it('with 429 and Retry-After is waited for once', async () => {
    let busy = 1
    const { request, server } = await connected(
      (asked) =>
        busy-- > 0
          ? json(asked, {}, 429, { 'retry-after': '1' })
          : json(asked, result(asked.message.id, { ok: true })),
      {},
      { host: hasty() },
    )
    expect(await request('tools/call')).toEqual({ ok: true })
    expect(server.asked).toHaveLength(2)
    const stubborn = await connected(
      (asked) => json(asked, {}, 429, { 'retry-after': '1' }),
      {},
      { host: hasty() },
    )
    expect(httpStatus(await failure(stubborn.call()))).toBe(429)
    expect(stubborn.server.asked).toHaveLength(2)
    const long = await connected((asked) => json(asked, {}, 429, { 'retry-after': '3600' }))
    expect(httpStatus(await failure(long.call()))).toBe(429)
    expect(long.server.asked).toHaveLength(1)
  })

  it('with 401 goes to the auth provider once, and the request is repeated with the new token', async () => {
    for (const type of ['http', 'claudeai-proxy'] as const) {
      let token = 'old'
      const auth = {
        token: async () => token,
        onUnauthorized: async () => {
          token = 'new'
        },
      }
      const { request, server } = await connected(
        (asked) =>
          asked.headers.authorization === 'Bearer new'
            ? json(asked, result(asked.message.id, { in: true }))
            : json(asked, {}, 401),
        { type, headers: { Authorization: 'Bearer static' } },
        { auth },
      )
      expect(await request('ping')).toEqual({ in: true })
      expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new'])
    }
    const without = await connected((asked) => json(asked, {}, 401))
    expect(httpStatus(await failure(without.call()))).toBe(401)
  })
})

describe('an error response', () => {
  const modern = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }
  const fault = (id: unknown) => ({ jsonrpc: '2.0', id, error: { code: -32020, message: 'header mismatch' } })

  it('in a 400 to a modern request is its response; of a legacy server, or for another id, it is the status', async () => {
    const { transport, received, errors, call } = await connected((asked) =>
      json(asked, fault(asked.message.params?.['other'] ?? asked.message.id), 400),
    )
    const sent = (params: Record<string, unknown>) =>
      failure(within(transport.send({ jsonrpc: '2.0', id: 5, method: 'ping', params }), 'settled'))
    expect(await sent(modern)).toBeUndefined()
    expect(received).toEqual([fault(5)])
    expect(errors).toEqual([])
    expect(httpStatus(await sent({ ...modern, other: 6 }))).toBe(400)
    expect(httpStatus(await failure(call()))).toBe(400)
    expect(received).toHaveLength(1)
  })

  it('names where a redirect points that was not followed, without its query', async () => {
    const { call } = await connected(({ response }) =>
      response.writeHead(307, { location: 'https://two.example/mcp?token=secret' }).end(),
    )
    const error = await failure(call())
    expect(error).toMatchObject({ status: 307, message: 'HTTP 307: redirect to https://two.example/mcp' })
  })
})

describe('a session', () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }

  it('is the one that initialize was answered with, on every later request, until the next initialize', async () => {
    let count = 0
    const { transport, server } = await connected((asked) => {
      if (asked.method === 'GET') return json(asked, {}, 405)
      if (asked.message.id === undefined) return void asked.response.writeHead(202).end()
      const session = asked.message.method === 'initialize' ? `s${++count}` : 'not this one'
      json(asked, result(asked.message.id), 200, { 'mcp-session-id': session })
    })
    const initialize = () => transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    await initialize()
    transport.setProtocolVersion?.('2025-11-25')
    await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await transport.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    await until(() => server.asked.length === 4)
    await initialize()
    await transport.send({ jsonrpc: '2.0', id: 3, method: 'ping' })
    const sent = server.asked.map(({ method, message, headers }) => [
      message.method ?? method,
      headers['mcp-session-id'],
      headers['mcp-protocol-version'],
    ])
    expect(new Set(sent.map(String))).toEqual(
      new Set([
        'initialize,,',
        'notifications/initialized,s1,2025-11-25',
        'GET,s1,2025-11-25',
        'ping,s1,2025-11-25',
        'initialize,,2025-11-25',
        'ping,s2,2025-11-25',
      ]),
    )
  })
})

describe('a redirect', () => {
  it('within the origin is followed, and one elsewhere is not', async () => {
    const elsewhere = await scripted((asked) => json(asked, result(asked.message.id)))
    ends.push(() => elsewhere.close())
    const to = (location: string) => (asked: Asked) => {
      if (asked.url === '/moved') return json(asked, result(asked.message.id, { moved: true }))
      asked.response.writeHead(307, { location })
      asked.response.end()
    }
    const near = await connected(to('/moved'), { headers: { 'x-key': 'secret' } })
    expect(await near.request('ping')).toEqual({ moved: true })
    const far = await connected(to(elsewhere.url), { headers: { 'x-key': 'secret' } })
    expect(httpStatus(await failure(far.call()))).toBe(307)
    expect(elsewhere.asked).toEqual([])
  })
})

describe('a kept connection that went stale', () => {
  /** The pool takes a connection back a moment after the response. */
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20))

  /** Responds to the first request of each connection and does `then` to the second. */
  const once = (then: (asked: Asked) => void) => {
    const served = new WeakSet<object>()
    return (asked: Asked) => {
      if (served.has(asked.socket)) return then(asked)
      served.add(asked.socket)
      json(asked, result(asked.message.id))
    }
  }

  it('is replaced, and the request that met it is sent exactly once more', async () => {
    const { call, server, context } = await connected(once(({ socket }) => socket.resetAndDestroy()))
    await call('ping', 1)
    await pause()
    await call('tools/list', 2)
    expect(server.asked.map(({ message }) => message.id)).toEqual([1, 2, 2])
    expect(context.lines.some(({ text }) => text.includes('stale'))).toBe(true)
  })

  it.each<[string, (socket: Asked['socket']) => void]>([
    ['an orderly end', (socket) => socket.end()],
    ['a reset', (socket) => socket.resetAndDestroy()],
  ])('by %s is not met with a second tool call: the server may have run the first', async (_how, end) => {
    const { call, server } = await connected(once(({ socket }) => end(socket)))
    await call('ping', 1)
    await pause()
    expect(await failure(call('tools/call', 2))).toBeInstanceOf(IoError)
    await call('ping', 3)
    await pause()
    await call('ping', 4)
    expect(server.asked.map(({ message }) => message.id)).toEqual([1, 2, 3, 4, 4])
  })

  it('while nobody spoke is noticed before the next request is written', async () => {
    const { call, server } = await connected((asked) => json(asked, result(asked.message.id)))
    await call('tools/call', 1)
    server.server.closeIdleConnections()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await call('tools/call', 2)
    expect(server.asked).toHaveLength(2)
  })

  it('is not a reason to repeat what failed on a fresh one', async () => {
    const { call, server } = await connected(({ socket }) => socket.resetAndDestroy())
    expect(await failure(call())).toBeInstanceOf(IoError)
    expect(server.asked).toHaveLength(1)
  })
})

describe('giving up a call', () => {
  it('by its signal ends the request at the server, quietly and without a listener left behind', async () => {
    const { transport, server, errors } = await connected(() => {})
    const controller = new AbortController()
    const sent = transport.send(
      { jsonrpc: '2.0', id: 1, method: 'tools/call' },
      { requestSignal: controller.signal },
    )
    await until(() => server.asked.length === 1)
    controller.abort()
    expect(await failure(within(sent, 'settled'))).toBeInstanceOf(Cancelled)
    await until(() => server.asked[0]?.socket.destroyed === true, 'the connection ended')
    expect(errors).toEqual([])
  })

  it('by a cancellation releases a body that trickles for ever', async () => {
    const drips: NodeJS.Timeout[] = []
    ends.push(() => drips.forEach(clearInterval))
    const { transport, server } = await connected((asked) => {
      if (asked.message.method === 'notifications/cancelled') {
        asked.response.writeHead(202).end()
        return
      }
      asked.response.writeHead(200, { 'content-type': 'application/json' })
      drips.push(setInterval(() => asked.response.write(' '), 5))
    })
    const sent = transport.send({ jsonrpc: '2.0', id: 7, method: 'tools/call' })
    const outcome = failure(sent)
    await until(() => server.asked.length === 1)
    await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
    expect(await within(outcome, 'settled')).toBeInstanceOf(Cancelled)
    await until(() => server.asked[0]?.socket.destroyed === true, 'the trickling connection ended')
  })
})

describe('the push stream of an older server', () => {
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const

  it('brings notifications, and is asked for again from where it ended', async () => {
    let opened = 0
    const { transport, received, server } = await connected(
      (asked) => {
        if (asked.method === 'POST') return asked.response.writeHead(202).end() && undefined
        const write = events(asked)
        write(
          event({ jsonrpc: '2.0', method: 'notifications/message', params: { n: ++opened } }, `p${opened}`),
        )
        if (opened === 1) asked.response.end()
        return undefined
      },
      {},
      { host: hasty() },
    )
    await transport.send(initialized)
    await until(() => received.length === 2, 'both notifications')
    const gets = server.asked.filter(({ method }) => method === 'GET')
    expect(gets.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'p1'])
  })

  it('that the server drops every time is given up, and that is no error', async () => {
    const { transport, server, context, errors } = await connected(
      (asked) => {
        if (asked.method === 'POST') asked.response.writeHead(202).end()
        else {
          events(asked)
          asked.response.end()
        }
      },
      {},
      { host: hasty() },
    )
    await transport.send(initialized)
    await until(() => context.lines.some(({ text }) => text.includes('push stream')), 'given up')
    expect(server.asked.filter(({ method }) => method === 'GET')).toHaveLength(4)
    expect(errors).toEqual([])
  })

  it('that is refused for want of a login is an error', async () => {
    const { transport, errors } = await connected((asked) =>
      json(asked, {}, asked.method === 'GET' ? 403 : 202),
    )
    await transport.send(initialized)
    await until(() => errors.length === 1, 'reported')
    expect(httpStatus(errors[0])).toBe(403)
  })

  it('that the server does not have is no error', async () => {
    for (const status of [404, 405]) {
      const { transport, errors, server } = await connected((asked) =>
        json(asked, {}, asked.method === 'GET' ? status : 202),
      )
      await transport.send(initialized)
      await until(() => server.asked.some(({ method }) => method === 'GET'))
      expect(errors).toEqual([])
    }
  })
})

describe('the headers of an entry', () => {
  it('are sent, except those that belong to the protocol', async () => {
    const { request, server } = await connected((asked) => json(asked, result(asked.message.id)), {
      headers: { 'X-Key': 'k', 'Mcp-Session-Id': 'forged', 'Content-Type': 'text/plain' },
    })
    await request('ping')
    expect(server.asked[0]?.headers).toMatchObject({ 'x-key': 'k', 'content-type': 'application/json' })
    expect(server.asked[0]?.headers).not.toHaveProperty('mcp-session-id')
  })

  it('may come from a helper, which is asked again once when the server refuses them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plugboard-helper-'))
    ends.push(() => rmSync(folder, { recursive: true }))
    const helper = join(folder, 'helper.mjs')
    writeFileSync(
      helper,
      `import { appendFileSync, readFileSync } from 'node:fs'
       appendFileSync(${JSON.stringify(join(folder, 'runs'))}, process.env.PLUGBOARD_MCP_SERVER_NAME + ' ' + process.env.CLAUDE_CODE_MCP_SERVER_URL + '\\n')
       const run = readFileSync(${JSON.stringify(join(folder, 'runs'))}, 'utf8').split('\\n').length - 1
       console.log(JSON.stringify({ 'X-Token': 'secret-' + run }))`,
    )
    const { request, server, context } = await connected(
      (asked) =>
        asked.headers['x-token'] === 'secret-2'
          ? json(asked, result(asked.message.id, { in: true }))
          : json(asked, {}, 403),
      { headersHelper: `"${process.execPath}" "${helper}"` },
    )
    expect(await Promise.all([request('ping'), request('ping')])).toEqual([{ in: true }, { in: true }])
    const runs = readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n')
    expect(runs).toEqual([`fixture ${server.url}`, `fixture ${server.url}`])
    expect(JSON.stringify(context.lines)).not.toContain('secret')
  })

  it('from a helper that fails, prints rubbish or smuggles a line stop the start, and are not quoted', async () => {
    const helpers = [
      'exit 3',
      'echo secret',
      'echo \'{"X-A": 1}\'',
      'echo \'{"X-A": "secret\\r\\nX-B: 1"}\'',
      'head -c 100000 /dev/zero',
    ]
    for (const headersHelper of helpers) {
      const error = await failure(connected(() => {}, { headersHelper }))
      expect(error).toMatchObject({ code: 'INIT_ERROR' })
      expect(JSON.stringify(error)).not.toContain('secret')
    }
  })
})

describe('closing', () => {
  it.each([
    [200, undefined],
    [405, undefined],
    [404, 's1'],
  ])('after a goodbye that is answered with %i has the session %s', async (status, left) => {
    const server = await scripted((asked) => {
      if (asked.method === 'DELETE') json(asked, {}, status)
      else json(asked, result(asked.message.id), 200, { 'mcp-session-id': 's1' })
    })
    ends.push(() => server.close())
    const transport = await openTransport({ type: 'http', url: server.url, headers: {} }, testContext())
    await transport.start()
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })
    await transport.close()
    expect(transport.sessionId).toBe(left)
  })

  it('says goodbye to the session, for a bounded time', async () => {
    const server = await scripted((asked) => {
      // The DELETE gets no response.
      if (asked.method === 'POST') json(asked, result(asked.message.id), 200, { 'mcp-session-id': 's1' })
    })
    ends.push(() => server.close())
    const transport = await openTransport({ type: 'http', url: server.url, headers: {} }, testContext())
    const { closes } = wire(transport)
    await transport.start()
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    expect(transport.sessionId).toBe('s1')
    await within(Promise.all([transport.close(), transport.close()]), 'closed')
    expect(server.asked.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 's1' } })
    expect(closes()).toBe(1)
  })

  it('settles what is under way and refuses what comes after', async () => {
    const { transport, call, server } = await connected(() => {})
    const sent = failure(call())
    await until(() => server.asked.length === 1)
    await transport.close()
    expect(await sent).toBeInstanceOf(IoError)
    expect(await failure(call())).toBeInstanceOf(IoError)
  })

  it('leaves no connection and no handle, two hundred times', { timeout: 120_000 }, async () => {
    const server = await scripted((asked) => json(asked, result(asked.message.id)))
    ends.push(() => server.close())
    const cycle = async () => {
      const transport = await openTransport({ type: 'http', url: server.url, headers: {} }, testContext())
      await transport.start()
      await transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
      await transport.close()
    }
    await cycle()
    await until(() => server.sockets.size === 0)
    const before = process.getActiveResourcesInfo().length
    for (let done = 0; done < (process.env['PLUGBOARD_LONG'] ? 1000 : 200); done += 10)
      await Promise.all(Array.from({ length: 10 }, cycle))
    await until(() => server.sockets.size === 0, 'no connection left')
    await until(() => process.getActiveResourcesInfo().length <= before, 'no handle left')
  })
})
