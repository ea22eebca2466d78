// Streamable HTTP as raw requests: every wrong request has the protocol's code in both eras, and sessions begin and end.
import { McpServer } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Scratch, scratch } from '../fixtures/test-folders.ts'
import { type CodebaseServer, createCodebaseServer, type HttpHandle } from '../index.ts'
import { HTTP_LIMITS } from '../limits.ts'
import { StreamableEndpoint } from './streamable.ts'

let tree: Scratch
let server: CodebaseServer
let http: HttpHandle
beforeAll(async () => {
  tree = scratch({ 'a.ts': 'export const hello = 1\n' })
  server = createCodebaseServer({ root: tree.folder, index: false })
  http = await server.serveHttp({ port: 0 })
})
afterAll(async () => {
  await server.close()
  tree.remove()
})

type Headers = Record<string, string>

async function post(body: unknown, headers: Headers = {}) {
  const response = await fetch(`${http.url}/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const last = text.split('\n').findLast((line) => line.startsWith('data: {'))
  const json = last?.slice(6) ?? text
  return {
    status: response.status,
    session: response.headers.get('mcp-session-id') ?? '',
    body: json === '' ? undefined : (JSON.parse(json) as Record<string, unknown>),
  }
}

const ask = (method: string, params?: unknown) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(params !== undefined && { params }),
})
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
const failure = (code: number) => ({ error: { code } })
const open = async () => ({ 'Mcp-Session-Id': (await post(ask('initialize', HELLO))).session })

/** What no request of either era may carry, with what the era needs besides. */
const MALFORMED: readonly (readonly [string, Record<string, unknown>])[] = [
  ['tools/call', {}],
  ['tools/call', { name: 'search_code', arguments: [] }],
  ['tools/call', { name: 'no_such_tool' }],
  ['resources/read', {}],
  ['resources/read', { uri: 7 }],
  ['resources/read', { uri: 'codebase://file/no-such-file' }],
  ['tools/list', { cursor: 7 }],
]

it('answers what is not a message with its code, before anything else', async () => {
  for (const body of ['{', '']) expect(await post(body)).toMatchObject({ status: 400, body: failure(-32700) })
  for (const body of [42, null, {}, [], [1], { id: 1, method: 'ping' }, { ...ask('ping'), id: 1.5 }])
    expect(await post(body), JSON.stringify(body)).toMatchObject({ status: 400, body: failure(-32600) })
  for (const params of [[], 'x', 7])
    expect(await post(ask('tools/list', params))).toMatchObject({ body: failure(-32602) })
  expect((await post('x'.repeat(HTTP_LIMITS.bodyBytes + 1))).status).toBe(413)
  expect((await fetch(`${http.url}/mcp`, { method: 'PUT', body: '{}' })).status).toBe(405)
})

describe('in the legacy era', () => {
  it('requires initialize first, complete, and once', async () => {
    for (const method of ['tools/list', 'tools/call', 'no/such'])
      expect(await post(ask(method, {}))).toMatchObject({ status: 400, body: { id: 1, ...failure(-32000) } })
    for (const hello of [{}, { ...HELLO, protocolVersion: 7 }, { ...HELLO, clientInfo: undefined }])
      expect(await post(ask('initialize', hello))).toMatchObject({ session: '', body: failure(-32602) })
    const opened = await post(ask('initialize', HELLO))
    expect(opened.body).toMatchObject({ result: { protocolVersion: '2025-06-18' } })
    const own = { 'Mcp-Session-Id': opened.session }
    expect(await post(ask('initialize', HELLO), own)).toMatchObject({ body: failure(-32000) })
    expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, own)).status).toBe(202)
    expect((await post(ask('tools/list'), own)).body).toMatchObject({ result: { tools: expect.any(Array) } })
  })

  it('reports wrong parameters as -32602', async () => {
    const own = await open()
    for (const [method, params] of [...MALFORMED, ['logging/setLevel', { level: 'loud' }] as const])
      expect(
        (await post(ask(method, params), own)).body,
        `${method} ${JSON.stringify(params)}`,
      ).toMatchObject(failure(-32602))
    expect((await post(ask('no/such'), own)).body).toMatchObject(failure(-32601))
  })

  it('keeps sessions apart, streams to each, and ends the one that is told to', async () => {
    const [one, two] = [await open(), await open()]
    const stream = await fetch(`${http.url}/mcp`, { headers: { ...one, Accept: 'text/event-stream' } })
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    expect((await fetch(`${http.url}/mcp`, { method: 'DELETE', headers: one })).status).toBe(200)
    expect(await stream.text()).not.toContain('data: {')
    expect((await post(ask('ping'), one)).status).toBe(404)
    expect((await post(ask('ping'), two)).body).toMatchObject({ result: {} })
    expect((await fetch(`${http.url}/mcp`, { method: 'DELETE' })).status).toBe(400)
  })
})

describe('in the modern era', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const alone = (method: string, params: Record<string, unknown> = {}) => {
    const name = params['name'] ?? params['uri']
    return post(ask(method, { _meta: meta, ...params }), {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(typeof name === 'string' && { 'Mcp-Name': name }),
    })
  }

  it('serves them without a session', async () => {
    const found = await alone('tools/call', { name: 'search_code', arguments: { query: 'hello' } })
    expect(found).toMatchObject({
      session: '',
      body: { result: { structuredContent: { matches: [{ line: 1 }] } } },
    })
  })

  it('reports wrong parameters as -32602', async () => {
    for (const [method, params] of MALFORMED)
      expect((await alone(method, params)).body, `${method} ${JSON.stringify(params)}`).toMatchObject(
        failure(-32602),
      )
    expect((await alone('no/such')).body).toMatchObject(failure(-32601))
  })
})

it('refuses an id that is still open, and ends the answer of a call that is cancelled', async () => {
  const endpoint = new StreamableEndpoint(() => {
    const slow = new McpServer({ name: 'slow', version: '1' })
    slow.registerTool('wait', {}, () => new Promise(() => undefined))
    return slow
  })
  const send = (body: unknown, session?: string) =>
    endpoint.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...(session !== undefined && { 'Mcp-Session-Id': session }),
        },
        body: JSON.stringify(body),
      }),
      { parsedBody: body },
    )
  const opened = await send(ask('initialize', HELLO))
  const session = opened.headers.get('mcp-session-id') ?? ''
  await opened.text()
  const waiting = await send(ask('tools/call', { name: 'wait', arguments: {} }), session)
  const second = await send(ask('ping'), session)
  expect(second.status).toBe(400)
  expect(await second.json()).toMatchObject({ id: 1, ...failure(-32600) })
  const twice = [2, 2].map((id) => ({ ...ask('ping'), id }))
  expect((await send(twice, session)).status).toBe(400)
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  expect((await send(cancel, session)).status).toBe(202)
  expect(await waiting.text()).toContain('The call was cancelled.')
  expect(await (await send(ask('ping'), session)).text()).toContain('"result":{}')
  await endpoint.close()
}, 10_000)
