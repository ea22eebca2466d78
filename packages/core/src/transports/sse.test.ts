import { afterEach, describe, expect, it } from 'vitest'
import type { SseEntry } from '../config/entry.ts'
import { IoError } from '../errors.ts'
import { type Asked, event, events, json, result, scripted } from './fixtures/http-script.ts'
import { testContext, until, wire, within } from './fixtures/support.ts'
import { openTransport, type TransportContext } from './open.ts'
import { httpStatus } from './transport-errors.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** The stream names the POST address; responses to POSTs come on the stream. */
async function connected(
  more: Partial<SseEntry> = {},
  overrides: Partial<TransportContext> = {},
  onStream: (asked: Asked) => boolean = () => true,
) {
  let stream: Asked | undefined
  const server = await scripted((asked) => {
    if (asked.method === 'GET') {
      if (!onStream(asked)) return
      stream = asked
      events(asked)('event: endpoint\ndata: /post\n\n')
    } else {
      asked.response.writeHead(202).end()
      stream?.response.write(event(result(asked.message.id, asked.message.params)))
    }
  })
  ends.push(() => server.close())
  const transport = await openTransport(
    { type: 'sse', url: server.url, headers: {}, ...more },
    testContext(overrides),
  )
  const line = wire(transport)
  ends.push(() => transport.close())
  await transport.start()
  return { ...line, server, stream: () => stream }
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('an SSE server', () => {
  it('is listened to in one place and spoken to in another, with the headers of the entry in both', async () => {
    const { request, server } = await connected({ headers: { 'X-Key': 'k' } })
    expect(await request('echo', { n: 1 })).toEqual({ n: 1 })
    expect(server.asked.map(({ method, url, headers }) => [method, url, headers['x-key']])).toEqual([
      ['GET', '/mcp', 'k'],
      ['POST', '/post', 'k'],
    ])
  })

  it('whose stream ends or is cut is lost, and not quietly opened again as another session', async () => {
    for (const cut of [
      (asked?: Asked) => asked?.response.end(),
      (asked?: Asked) => asked?.socket.resetAndDestroy(),
    ]) {
      const { closed, errors, server, stream, transport, closes } = await connected()
      cut(stream())
      await within(closed, 'closed')
      expect(errors[0]).toBeInstanceOf(IoError)
      expect(closes()).toBe(1)
      expect(await failure(transport.send({ jsonrpc: '2.0', method: 'late' }))).toBeInstanceOf(IoError)
      expect(server.asked.filter(({ method }) => method === 'GET')).toHaveLength(1)
    }
  })

  it('that refuses carries its status, and one that ends before it said where to post is an error at once', async () => {
    const refused = connected({}, {}, (asked) => {
      json(asked, {}, 404)
      return false
    })
    expect(httpStatus(await failure(refused))).toBe(404)
    const mute = connected({}, {}, (asked) => {
      events(asked)
      asked.response.end()
      return false
    })
    expect(await failure(within(mute, 'settled'))).toBeInstanceOf(IoError)
  })

  it('that refuses the headers of a helper makes it run once more', async () => {
    let asks = 0
    const { request } = await connected({ headersHelper: 'echo "{}"' }, {}, (asked) => {
      if (++asks > 1) return true
      json(asked, {}, 401)
      return false
    })
    expect(await request('echo', { in: true })).toEqual({ in: true })
  })

  it('whose POST is refused carries its status, and the connection goes on', async () => {
    const server = await scripted((asked) => {
      if (asked.method === 'GET') events(asked)('event: endpoint\ndata: /post\n\n')
      else json(asked, { error: 'no' }, 502)
    })
    ends.push(() => server.close())
    const transport = await openTransport({ type: 'sse', url: server.url, headers: {} }, testContext())
    const { errors, closes } = wire(transport)
    ends.push(() => transport.close())
    await transport.start()
    const error = await failure(transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' }))
    expect(httpStatus(error)).toBe(502)
    expect(errors).toEqual([error])
    expect(closes()).toBe(0)
  })

  it('that names a POST address at another origin gets no message and is given up', async () => {
    for (const address of ['http://127.0.0.1:1/post', '//two.example/post', 'file:///etc', 'http://[']) {
      const server = await scripted((asked) => events(asked)(`event: endpoint\ndata: ${address}\n\n`))
      ends.push(() => server.close())
      const transport = await openTransport({ type: 'sse', url: server.url, headers: {} }, testContext())
      ends.push(() => transport.close())
      const error = await failure(within(transport.start(), 'settled'))
      expect(error).toMatchObject({
        code: 'IO_ERROR',
        stage: 'connect',
        message: expect.stringContaining('POST address'),
      })
      await until(() => server.sockets.size === 0, 'the stream ended')
    }
  })

  it('may name another address later, but not at another origin', async () => {
    const { request, server, stream, errors, closed } = await connected()
    stream()?.response.write('event: endpoint\ndata: /other?a=1\n\n')
    // Its answer comes after the new address.
    await request('echo')
    await request('echo')
    expect(server.asked.at(-1)?.url).toBe('/other?a=1')
    stream()?.response.write('event: endpoint\ndata: http://127.0.0.1:1/\n\n')
    await within(closed, 'closed')
    expect(errors).toMatchObject([{ code: 'IO_ERROR', stage: 'call' }])
  })

  it('may send other events and noise: only messages count, and what is none is noted', async () => {
    const lines: string[] = []
    const { request, stream, errors, transport } = await connected(
      {},
      { log: ({ text }) => void lines.push(text) },
    )
    const got: unknown[] = []
    const before = transport.onmessage
    transport.onmessage = (message) => {
      if ('method' in message) got.push(message.method)
      else before?.(message)
      if ('method' in message && message.method === 'bad') throw new Error('handler')
    }
    const notice = (method: string) => JSON.stringify({ jsonrpc: '2.0', method })
    for (const text of [
      `data: ${notice('plain')}\n\n`,
      `event: message\ndata: ${notice('named')}\n\n`,
      `event: other\ndata: ${notice('other')}\n\n`,
      'data:\n\n',
      'data: nonsense\n\n',
      'data: {"a":1}\n\n',
      `data: ${notice('bad')}\n\n`,
    ])
      stream()?.response.write(text)
    await request('echo')
    expect(got).toEqual(['plain', 'named', 'bad'])
    expect(lines).toEqual(Array(2).fill('An event was not a JSON-RPC message.'))
    expect(errors).toMatchObject([{ code: 'PARSE_ERROR', message: 'A message could not be handled.' }])
  })

  it('is sent nothing before it is opened and after it is closed', async () => {
    const server = await scripted((asked) => events(asked)('event: endpoint\ndata: /post\n\n'))
    ends.push(() => server.close())
    const transport = await openTransport({ type: 'sse', url: server.url, headers: {} }, testContext())
    const { errors } = wire(transport)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
    expect(await failure(transport.send(ping))).toMatchObject({ code: 'IO_ERROR', stage: 'connect' })
    await transport.start()
    await transport.close()
    expect(await failure(transport.send(ping))).toMatchObject({ code: 'IO_ERROR' })
    expect(server.asked.map(({ method }) => method)).toEqual(['GET'])
    expect(errors).toEqual([])
  })

  it('that answers with a page instead of a stream is told apart', async () => {
    const page = connected({}, {}, ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
      return false
    })
    expect(await failure(within(page, 'settled'))).toMatchObject({ name: 'UnreadableAnswer' })
  })

  it('sends the version that was agreed on, and asks the auth once for each request', async () => {
    let asks = 0
    const auth = {
      token: async () => {
        asks++
        return 'secret'
      },
    }
    const { request, server, transport } = await connected({}, { auth })
    transport.setProtocolVersion?.('2024-11-05')
    await request('echo')
    expect(
      server.asked.map(({ method, headers }) => [
        method,
        headers.authorization,
        headers['mcp-protocol-version'],
      ]),
    ).toEqual([
      ['GET', 'Bearer secret', undefined],
      ['POST', 'Bearer secret', '2024-11-05'],
    ])
    expect(asks).toBe(2)
  })

  it('that is closed while it is still opening ends the opening', async () => {
    const server = await scripted((asked) => void events(asked))
    ends.push(() => server.close())
    const transport = await openTransport({ type: 'sse', url: server.url, headers: {} }, testContext())
    const starting = failure(transport.start())
    await until(() => server.asked.length === 1)
    await transport.close()
    expect(await within(starting, 'settled')).toBeInstanceOf(IoError)
  })

  it('that is closed before it asks does not ask', async () => {
    const server = await scripted((asked) => void events(asked))
    ends.push(() => server.close())
    const entry = {
      type: 'sse',
      url: server.url,
      headers: {},
      headersHelper: `sleep 0.2; echo '{}'`,
    } as const
    const transport = await openTransport(entry, testContext())
    const starting = failure(transport.start())
    await transport.close()
    expect(await within(starting, 'settled')).toBeInstanceOf(IoError)
    expect(server.asked).toEqual([])
  })

  it('fails the messages that are being sent when it is closed', async () => {
    const server = await scripted((asked) => {
      if (asked.method === 'GET') events(asked)('event: endpoint\ndata: /post\n\n')
    })
    ends.push(() => server.close())
    const transport = await openTransport({ type: 'sse', url: server.url, headers: {} }, testContext())
    await transport.start()
    const sending = failure(transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' }))
    await until(() => server.asked.length === 2, 'sent')
    await transport.close()
    expect(await within(sending, 'settled')).toMatchObject({ message: 'The connection to "fixture" ended.' })
  })

  it('tells that it is closed after close() has returned, once', async () => {
    const { transport, closes, closed } = await connected()
    const closing = transport.close()
    expect(closes()).toBe(0)
    await expect(transport.send({ jsonrpc: '2.0', method: 'late' })).rejects.toBeInstanceOf(IoError)
    await within(closed, 'closed')
    await closing
    expect(closes()).toBe(1)
  })

  it('leaves no connection and no handle, fifty times', { timeout: 60_000 }, async () => {
    const server = await scripted((asked) => {
      if (asked.method === 'GET') events(asked)('event: endpoint\ndata: /post\n\n')
      else asked.response.writeHead(202).end()
    })
    ends.push(() => server.close())
    const cycle = async () => {
      const transport = await openTransport({ type: 'sse', url: server.url, headers: {} }, testContext())
      await transport.start()
      await transport.send({ jsonrpc: '2.0', method: 'ping' })
      await transport.close()
    }
    await cycle()
    await until(() => server.sockets.size === 0)
    const before = process.getActiveResourcesInfo().length
    for (let done = 0; done < (process.env['PLUGBOARD_LONG'] ? 1000 : 50); done += 10)
      await Promise.all(Array.from({ length: 10 }, cycle))
    await until(() => server.sockets.size === 0, 'no connection left')
    await until(() => process.getActiveResourcesInfo().length <= before, 'no handle left')
  })
})
