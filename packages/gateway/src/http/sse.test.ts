// Clients of HTTP+SSE (2024-11-05): the SDK's transport of both generations, and bad input of every kind.
import { connect as dial } from 'node:net'
import { Client, SSEClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import {
  connect,
  firstText,
  folder,
  makeGateway,
  onEnd,
  seenIn,
  serve,
  until,
  upstream,
} from '../fixtures/kit.ts'
import { readExposure } from '../index.ts'

const ADA = 'the-token-of-ada'
const BOB = 'the-token-of-bob'

async function sse(url: string, token?: string, capabilities: Record<string, object> = {}): Promise<Client> {
  const client = new Client({ name: 'old', version: '1.0.0' }, { capabilities })
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  await client.connect(new SSEClientTransport(new URL('/sse', url), { requestInit: { headers } }))
  onEnd(() => client.close())
  return client
}

interface RawStream {
  readonly status: number
  readonly endpoint: URL
  /** What arrived so far. */
  text(): string
  ended(): boolean
  end(): void
}

/** A stream that the test reads itself. */
async function stream(url: string, headers: Record<string, string> = {}): Promise<RawStream> {
  const stop = new AbortController()
  const response = await fetch(new URL('/sse', url), {
    headers: { accept: 'text/event-stream', ...headers },
    signal: stop.signal,
  })
  onEnd(() => stop.abort())
  let text = ''
  let ended = false
  if (response.status === 200)
    void (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true })
    })()
      .catch(() => undefined)
      .finally(() => {
        ended = true
      })
  if (response.status === 200) await until(() => text.includes('\n\n'))
  const [, path = ''] = /event: endpoint\ndata: (\S+)\n\n/.exec(text) ?? []
  return {
    status: response.status,
    endpoint: new URL(path, url),
    text: () => text,
    ended: () => ended,
    end: () => stop.abort(),
  }
}

function post(to: URL, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(to, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const initialize = (id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('a client of HTTP+SSE', () => {
  it('lists, calls, gets long answers whole, and is asked what a server wants to know', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy'), upstream('two', 'modern')])
    const { url } = await serve(gateway)
    const client = await sse(url, undefined, { elicitation: {} })
    client.setRequestHandler('elicitation/create', async () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }))
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toContain('mcp__one__echo')
    expect(names).toContain('mcp__two__echo')
    const said = await client.callTool({ name: 'mcp__one__echo', arguments: { text: 'hi' } })
    expect(firstText(said)).toBe('hi')
    const long = await client.callTool({ name: 'mcp__two__big', arguments: { chars: 3_000_000 } })
    expect(firstText(long)).toHaveLength(3_000_000)
    const asked = await client.callTool({ name: 'mcp__two__ask', arguments: {} })
    expect(firstText(asked)).toBe('accept Ada')
  })

  it('of the first SDK works as well', async () => {
    const { Client: FirstClient } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { SSEClientTransport: FirstTransport } = await import('@modelcontextprotocol/sdk/client/sse.js')
    const gateway = await makeGateway([upstream('one', 'legacy')])
    const { url } = await serve(gateway)
    const client = new FirstClient({ name: 'older', version: '1.0.0' })
    await client.connect(new FirstTransport(new URL('/sse', url)))
    onEnd(() => client.close())
    const said = await client.callTool({ name: 'mcp__one__echo', arguments: { text: 'hello' } })
    expect(JSON.stringify(said)).toContain('hello')
  })

  it('that leaves has its running calls cancelled at the server', async () => {
    const seen = folder()
    const gateway = await makeGateway([upstream('one', 'modern', seen)])
    const { url } = await serve(gateway)
    const client = await sse(url)
    const call = client.callTool({ name: 'mcp__one__work', arguments: { ms: 60_000 } }).catch(() => undefined)
    await until(() => seenIn(seen).includes('working'))
    await client.close()
    await call
    await until(() => seenIn(seen).includes('cancelled'))
    await until(() => gateway.metrics.inFlight === 0)
  })

  it('whose stream broke goes on in its session when it opens the next one, without initialize', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy')])
    const { url } = await serve(gateway)
    const first = await stream(url)
    await post(first.endpoint, initialize())
    await until(() => first.text().includes('"id":1'))
    const [, eventId = ''] = /\nid: (\S+)\n/.exec(first.text()) ?? []
    expect(eventId).not.toBe('')
    first.end()
    const next = await stream(url, { 'last-event-id': eventId })
    expect(next.endpoint.href).not.toBe(first.endpoint.href)
    await post(next.endpoint, { jsonrpc: '2.0', id: 2, method: 'tools/list' })
    await until(() => next.text().includes('mcp__one__echo'))
    // The id of such a session opens nothing at /mcp.
    const atMcp = await post(
      new URL(url),
      { jsonrpc: '2.0', id: 3, method: 'ping' },
      { 'mcp-session-id': eventId },
    )
    expect(atMcp.status).toBe(404)
  })
})

describe('the access checks of /sse and /messages', () => {
  it('are those of /mcp: token, origin, host, method, type and size', async () => {
    const gateway = await makeGateway([])
    const { url, port } = await serve(gateway, [{ token: ADA, exposure: gateway.expose }])
    expect((await stream(url)).status).toBe(401)
    expect((await stream(url, bearer('wrong'))).status).toBe(401)
    expect((await stream(url, { ...bearer(ADA), origin: 'https://evil.example' })).status).toBe(403)
    expect((await stream(url, { ...bearer(ADA), accept: 'text/html' })).status).toBe(406)
    expect((await post(new URL('/sse', url), initialize(), bearer(ADA))).status).toBe(405)
    const forged = `GET /sse HTTP/1.1\r\nHost: evil.example\r\nAccept: text/event-stream\r\n\r\n`
    expect(await raw(port, forged)).toContain('403 Forbidden')
    const { endpoint, text } = await stream(url, bearer(ADA))
    expect((await post(endpoint, initialize())).status).toBe(401)
    expect((await fetch(endpoint, { headers: bearer(ADA) })).status).toBe(405)
    expect((await post(endpoint, '{}', { ...bearer(ADA), 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post(endpoint, 'no json', bearer(ADA))).status).toBe(400)
    expect((await post(endpoint, 'x'.repeat(20_000_000), bearer(ADA))).status).toBe(413)
    expect((await post(endpoint, initialize(), bearer(ADA))).status).toBe(202)
    await until(() => text().includes('"id":1'))
  })

  it('a session belongs to the token that opened it, and to no other', async () => {
    const gateway = await makeGateway([])
    const { url } = await serve(gateway, [
      { token: ADA, exposure: gateway.expose },
      { token: BOB, exposure: gateway.expose },
    ])
    const { endpoint, text } = await stream(url, bearer(ADA))
    expect((await post(endpoint, initialize(), bearer(BOB))).status).toBe(404)
    expect((await post(new URL('/messages?sessionId=made-up', url), initialize(), bearer(ADA))).status).toBe(
      404,
    )
    expect((await post(new URL('/messages', url), initialize(), bearer(ADA))).status).toBe(404)
    await post(endpoint, initialize(), bearer(ADA))
    await until(() => text().includes('"id":1'))
    const [, eventId = ''] = /\nid: (\S+)\n/.exec(text()) ?? []
    // The event id of Ada's session restores nothing for Bob.
    const stolen = await stream(url, { ...bearer(BOB), 'last-event-id': eventId })
    await post(stolen.endpoint, { jsonrpc: '2.0', id: 9, method: 'tools/list' }, bearer(BOB))
    await until(() => stolen.text().includes('Not initialized'))
  })

  it('a token sees its own part, and loses its streams when it is withdrawn', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy'), upstream('two', 'legacy')])
    const handle = await serve(gateway, [
      { token: ADA, exposure: gateway.expose },
      { token: BOB, exposure: readExposure(['two']) },
    ])
    const bob = await sse(handle.url, BOB)
    const names = (await bob.listTools()).tools.map(({ name }) => name)
    expect(names.every((name) => name.startsWith('mcp__two__'))).toBe(true)
    const open = await stream(handle.url, bearer(BOB))
    handle.setGrants([{ token: ADA, exposure: gateway.expose }])
    await until(() => open.ended())
    expect((await post(open.endpoint, initialize(), bearer(BOB))).status).toBe(401)
  })

  it('many streams of one owner leave room for the others, and the total is shared with /mcp', async () => {
    const gateway = await makeGateway([], { limits: { streams: 6, streamsPerOwner: 4 } })
    const { url } = await serve(gateway, [
      { token: ADA, exposure: gateway.expose },
      { token: BOB, exposure: gateway.expose },
    ])
    const streams = []
    for (let n = 0; n < 6; n++) streams.push(await stream(url, bearer(ADA)))
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 503, 503])
    const bob = await sse(url, BOB)
    expect((await bob.listTools()).tools).toEqual([])
    streams[0]?.end()
    let again: RawStream | undefined
    await until(async () => {
      again = await stream(url, bearer(ADA))
      return again.status === 200
    })
  })
})

describe('the end of a stream', () => {
  it('comes after the answers, when the gateway shuts down', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy')], { limits: { drainMs: 300 } })
    const { url, close } = await serve(gateway)
    const { endpoint, text, ended } = await stream(url)
    await post(endpoint, initialize())
    await until(() => text().includes('"id":1'))
    const params = { name: 'mcp__one__work', arguments: { ms: 60_000 } }
    await post(endpoint, { jsonrpc: '2.0', id: 7, method: 'tools/call', params })
    await until(() => gateway.metrics.inFlight > 0)
    await close()
    await until(ended)
    expect(text()).toContain('"id":7')
    expect(text()).toContain('OUTCOME_UNKNOWN')
  })

  it('a client that does not read is refused more work, and the others are served', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy')])
    const { url, port } = await serve(gateway)
    const socket = dial(port, '127.0.0.1', () =>
      socket.write(`GET /sse HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`),
    )
    onEnd(() => socket.destroy())
    socket.on('error', () => undefined)
    let path = ''
    socket.on('data', (chunk) => {
      path += String(chunk)
      if (/sessionId=\S+/.test(path)) socket.pause()
    })
    await until(() => /data: \S+/.test(path))
    const endpoint = new URL(/data: (\S+)/.exec(path)?.[1] ?? '', url)
    await post(endpoint, initialize())
    const params = { name: 'mcp__one__big', arguments: { chars: 9_000_000 } }
    let status = 202
    for (let id = 2; id < 40 && status === 202; id++) {
      ;({ status } = await post(endpoint, { jsonrpc: '2.0', id, method: 'tools/call', params }))
      await until(() => gateway.metrics.inFlight === 0, 30_000)
    }
    expect(status).toBe(503)
    const other = await connect(url)
    expect(firstText(await other.callTool({ name: 'mcp__one__echo', arguments: { text: 'x' } }))).toBe('x')
  })
})

function raw(port: number, text: string): Promise<string> {
  return new Promise((done, fail) => {
    const socket = dial(port, '127.0.0.1', () => socket.write(text))
    let got = ''
    socket.on('data', (chunk) => {
      got += String(chunk)
      if (got.includes('\r\n\r\n')) socket.destroy()
    })
    socket.on('close', () => done(got))
    socket.on('error', fail)
  })
}
