// Wrong arguments on every transport: -32602 with a message that names the argument, and a misspelled one is never ignored.
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Scratch, scratch } from '../fixtures/test-folders.ts'
import { type CodebaseServer, createCodebaseServer, type HttpHandle } from '../index.ts'

const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
type Answer = {
  readonly error?: { readonly code: number; readonly message: string }
  readonly result?: object
}
type Call = (params: { readonly name: string; readonly arguments?: unknown }) => Promise<Answer>

let tree: Scratch
let server: CodebaseServer
let http: HttpHandle
const wires: Record<string, Call> = {}
beforeAll(async () => {
  tree = scratch({ 'a.ts': 'export const hello = 1\n' })
  server = createCodebaseServer({ root: tree.folder, index: false })
  http = await server.serveHttp({ port: 0 })
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${http.url}${path}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    const data = text.split('\n').findLast((line) => line.startsWith('data: {'))
    return { session: response.headers.get('mcp-session-id') ?? '', json: JSON.parse(data?.slice(6) ?? text) }
  }
  const call = (params: object) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO }
  const { session } = await post('/mcp', hello)
  wires['POST /'] = async (params) => (await post('/', call(params))).json
  wires['POST /mcp in a session'] = async (params) =>
    (await post('/mcp', call(params), { 'Mcp-Session-Id': session })).json
  wires['POST /mcp of 2026-07-28'] = async (params) =>
    (
      await post('/mcp', call({ _meta: META, ...params }), {
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/call',
        'Mcp-Name': params.name,
      })
    ).json
  const input = new PassThrough()
  const output = new PassThrough()
  const answers: ((answer: Answer) => void)[] = []
  let rest = ''
  output.on('data', (piece: Buffer) => {
    const lines = (rest + piece.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) answers.shift()?.(JSON.parse(line))
  })
  await server.serveStdio({ input, output })
  const sendLine = (message: object) =>
    new Promise<Answer>((done) => {
      answers.push(done)
      input.write(`${JSON.stringify(message)}\n`)
    })
  await sendLine(hello)
  wires['stdio'] = (params) => sendLine(call(params))
})
afterAll(async () => {
  await server.close()
  tree.remove()
})

describe.each(['stdio', 'POST /', 'POST /mcp in a session', 'POST /mcp of 2026-07-28'])('over %s', (wire) => {
  const call: Call = (params) => (wires[wire] as Call)(params)

  it.each([
    ['search_code', {}, /query/],
    ['search_code', undefined, /query/],
    ['search_code', { query: 7 }, /query/],
    ['search_code', { query: 'x', max_results: -1 }, /max_results/],
    ['search_code', { query: 'x', regex: 'yes' }, /regex/],
    ['search_code', { query: 'x', maxResults: 3 }, /no argument "maxResults"\. Did you mean max_results\?/],
    ['search_code', { querry: 'x' }, /Did you mean query\?/],
    ['search_code', { query: 'x', include_ignored: true }, /no argument "include_ignored"/],
    ['read_file', { path: 'a.ts' }, /no argument "path"\. Did you mean file_path\?/],
    ['list_directory', { paths: '.' }, /Did you mean path\?/],
    ['chunk_files', { file_paths: [] }, /file_paths/],
    ['chunk_files', { file_paths: 'a.ts' }, /file_paths/],
    ['search_by_embedding', { query: 'x', mode: 'magic' }, /mode/],
  ])('%s %j is -32602 and says why', async (name, args, told) => {
    const answer = await call({ name, ...(args && { arguments: args }) })
    expect(answer.error).toMatchObject({ code: -32602, message: expect.stringMatching(told) })
  })

  it('serves right arguments', async () => {
    expect(await call({ name: 'search_code', arguments: { query: 'hello' } })).toMatchObject({
      result: { content: [{ text: expect.stringContaining('hello') }] },
    })
  })
})
