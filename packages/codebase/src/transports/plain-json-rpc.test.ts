// Plain JSON-RPC: every request stands alone, whatever came before it, and an open call is answered when it has to end.
import { McpServer } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, type Scratch, scratch } from '../fixtures/test-folders.ts'
import { type CodebaseServer, createCodebaseServer, type HttpHandle } from '../index.ts'
import { PlainEndpoint } from './plain-json-rpc.ts'

const ask = (id: number | string, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
const MODERN = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}

function slowEndpoint() {
  let isCalled = false
  const endpoint = new PlainEndpoint(() => {
    const server = new McpServer({ name: 'slow', version: '1' })
    server.registerTool('wait', {}, () => {
      isCalled = true
      return new Promise(() => undefined)
    })
    return server
  })
  return { endpoint, isCalled: () => isCalled }
}

it.each([
  ['its server goes', (endpoint: PlainEndpoint) => endpoint.close()],
  ['its caller goes', (_: PlainEndpoint, caller: AbortController) => caller.abort()],
])('answers an open call when %s', async (_, finish) => {
  const { endpoint, isCalled } = slowEndpoint()
  const caller = new AbortController()
  const answer = endpoint.post(ask(2, 'tools/call', { name: 'wait', arguments: {} }), {
    signal: caller.signal,
  })
  await eventually(isCalled, 'the call')
  await finish(endpoint, caller)
  expect(await answer).toMatchObject({ status: 200, body: { id: 2, error: { code: -32603 } } })
  expect(await endpoint.post(ask(3, 'tools/list'), { signal: AbortSignal.abort() })).toMatchObject({
    body: { id: 3, error: { code: -32603 } },
  })
})

describe('over HTTP', () => {
  let tree: Scratch
  let server: CodebaseServer
  let http: HttpHandle
  beforeAll(async () => {
    tree = scratch({ 'a.ts': 'export const hello = 1\n', 'b.md': '# Hello\n\nhello again\n' })
    server = createCodebaseServer({ root: tree.folder, index: false })
    http = await server.serveHttp({ port: 0 })
  })
  afterAll(async () => {
    await server.close()
    tree.remove()
  })

  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(http.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as any) }
  }
  const search = (args: object = { query: 'hello' }) =>
    ask(9, 'tools/call', { name: 'search_code', arguments: args })

  it('answers in any order, whatever other callers did', async () => {
    const others = [
      ask(1, 'initialize', HELLO),
      ask(1, 'initialize', HELLO),
      ask(1, 'initialize', {}),
      ask(1, 'server/discover', MODERN),
      ask(1, 'tools/call', { ...MODERN, name: 'search_code', arguments: { query: 'hello' } }),
      ask(1, 'logging/setLevel', { level: 'debug' }),
      ask(1, 'no/such'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
    ]
    for (const other of others) {
      await post(other)
      const listed = await post(ask('x', 'tools/list'))
      expect(listed, JSON.stringify(other)).toMatchObject({ status: 200, body: { id: 'x' } })
      expect(listed.body.result.tools).toHaveLength(6)
    }
    expect((await post(ask(1, 'initialize', HELLO))).body.result.protocolVersion).toBe('2025-06-18')
    expect((await post(ask(1, 'ping'))).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    const together = await Promise.all(others.flatMap((other) => [post(other), post(ask(7, 'tools/list'))]))
    expect(together.filter(({ body }) => body?.result?.tools?.length === 6)).toHaveLength(others.length)
  })

  it('gives a plain caller JSON as text, and no schema or structure it did not ask for', async () => {
    const { body } = await post(search({ query: 'hello', context_lines: 1 }))
    expect(Object.keys(body.result)).toEqual(['content'])
    expect(JSON.parse(body.result.content[0].text)).toEqual([
      { file_path: 'a.ts', line_number: 1, line: 'export const hello = 1', before: [], after: [] },
      { file_path: 'b.md', line_number: 3, line: 'hello again', before: [''], after: [] },
    ])
    const { tools } = (await post(ask(1, 'tools/list'))).body.result
    for (const tool of tools) expect(Object.keys(tool)).not.toContain('outputSchema')
    const more = (await post(search({ query: 'hello', max_results: 1 }))).body.result.content
    expect(JSON.parse(more[0].text)).toHaveLength(1)
    expect(more[1].text).toContain('more matches')
    const calls: [string, object, unknown][] = [
      ['read_file', { file_path: 'a.ts' }, { file_path: 'a.ts', text: 'export const hello = 1\n' }],
      ['list_directory', {}, [{ path: 'a.ts', kind: 'file' }, { path: 'b.md' }]],
      ['chunk_file', { file_path: 'a.ts' }, [{ file_path: 'a.ts', line_number: 1 }]],
      ['chunk_files', { file_paths: ['a.ts', 'b.md'] }, [{ file_path: 'a.ts' }, { file_path: 'b.md' }]],
      ['search_by_embedding', { query: 'hello', max_results: 1 }, [{ line_number: 1 }]],
    ]
    for (const [name, args, expected] of calls) {
      const { content } = (await post(ask(1, 'tools/call', { name, arguments: args }))).body.result
      expect(JSON.parse(content[0].text), name).toMatchObject(expected as object)
    }
  })

  it('gives a caller that names a later version what that version knows', async () => {
    const modern = await post(
      ask(1, 'tools/call', { ...MODERN, name: 'search_code', arguments: { query: 'hello' } }),
    )
    const named = await post(search(), { 'MCP-Protocol-Version': '2025-06-18' })
    for (const { body } of [modern, named]) {
      expect(body.result.structuredContent.matches).toHaveLength(2)
      expect(body.result.content[0].text).toBe('a.ts:1:export const hello = 1\nb.md:3:hello again')
    }
  })

  it('answers a batch message by message, and bounds it', async () => {
    const { status, body } = await post([
      ask(1, 'tools/list'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      7,
      ask(2, 'initialize', HELLO),
      search({ query: 'again' }),
    ])
    expect(status).toBe(200)
    expect(body).toMatchObject([
      { id: 1, result: {} },
      { id: null, error: { code: -32600 } },
      { id: 2, result: {} },
      { id: 9, result: {} },
    ])
    expect((await post([{ jsonrpc: '2.0', method: 'notifications/initialized' }])).status).toBe(202)
    for (const wrong of [[], Array.from({ length: 51 }, (_, id) => ask(id, 'ping'))])
      expect(await post(wrong)).toMatchObject({ status: 400, body: { id: null, error: { code: -32600 } } })
  })

  it('has the codes of the protocol', async () => {
    expect(await post('{')).toMatchObject({ status: 400, body: { error: { code: -32700 } } })
    expect(await post({})).toMatchObject({ status: 400, body: { error: { code: -32600 } } })
    expect((await post(ask(1, 'no/such'))).body).toMatchObject({ id: 1, error: { code: -32601 } })
    expect((await fetch(http.url)).status).toBe(405)
    expect((await fetch(http.url, { method: 'DELETE' })).status).toBe(405)
  })
})
