// The server as clients see it: line by line over stdio, both eras over HTTP, plain JSON-RPC, and inside the process.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Scratch, scratch } from './fixtures/test-folders.ts'
import { type CodebaseServer, createCodebaseServer, type HttpHandle } from './index.ts'

const built = new URL('../dist/index.js', import.meta.url).href
const TOOLS = [
  'search_code',
  'search_by_embedding',
  'list_directory',
  'read_file',
  'chunk_file',
  'chunk_files',
]

let tree: Scratch
let cache: Scratch
beforeAll(() => {
  tree = scratch({
    'src/greet.ts':
      '/** Greets a person. */\nexport function greet(name: string) {\n  return "hello " + name\n}\n',
    'README.md': '# Greeter\n\nSays hello.\n',
  })
  cache = scratch()
})
afterAll(() => {
  tree.remove()
  cache.remove()
})

// One process, from its first message to its last.
describe('over stdio', { shuffle: false }, () => {
  let child: ChildProcessWithoutNullStreams
  let lines: string[]
  let wake: () => void
  beforeAll(() => {
    const script = `import { createCodebaseServer } from ${JSON.stringify(built)}
      const server = createCodebaseServer(${JSON.stringify({ root: tree.folder, cacheDir: cache.folder })})
      await (await server.serveStdio()).closed
      await server.close()`
    child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    })
    lines = []
    wake = () => undefined
    let rest = ''
    child.stdout.on('data', (piece: Buffer) => {
      const parts = (rest + piece.toString('utf8')).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
      wake()
    })
  })
  afterAll(() => child.kill('SIGKILL'))

  const sendLine = async (text: string): Promise<Record<string, unknown>> => {
    child.stdin.write(`${text}\n`)
    const end = Date.now() + 15_000
    while (lines.length === 0) {
      if (Date.now() > end) throw new Error(`no answer to ${text}`)
      await new Promise<void>((done) => {
        wake = done
        setTimeout(done, 200)
      })
    }
    return JSON.parse(lines.shift() ?? '') as Record<string, unknown>
  }

  it('speaks the handshake of 2024-11-05 line by line, with an error for every wrong message', async () => {
    expect(await sendLine('not json')).toMatchObject({ id: null, error: { code: -32700 } })
    expect(await sendLine('[]')).toMatchObject({ error: { code: -32600 } })
    expect(await sendLine('{"jsonrpc":"1.0","id":1,"method":"x"}')).toMatchObject({ error: { code: -32600 } })
    expect(await sendLine('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')).toMatchObject({
      id: 1,
      error: { code: -32000 },
    })
    expect(await sendLine('{"jsonrpc":"2.0","id":1.5,"method":"ping"}')).toMatchObject({
      id: null,
      error: { code: -32600 },
    })
    // An incomplete initialize is refused and does not count as the only one allowed.
    expect(await sendLine('{"jsonrpc":"2.0","id":1,"method":"initialize"}')).toMatchObject({
      id: 1,
      error: { code: -32602, message: expect.stringContaining('params.protocolVersion') },
    })
    const hello = await sendLine(
      '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}',
    )
    expect(hello).toMatchObject({
      id: 2,
      result: { protocolVersion: '2024-11-05', serverInfo: { name: 'plugboard-codebase' } },
    })
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    expect(await sendLine('{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}')).toMatchObject({
      id: 3,
      error: { code: -32000 },
    })
    const { result } = (await sendLine('{"jsonrpc":"2.0","id":"four","method":"tools/list"}')) as {
      result: { tools: { name: string }[] }
    }
    expect(result.tools.map(({ name }) => name)).toEqual(TOOLS)
    for (const wrong of [
      '"resources/read","params":{}',
      '"logging/setLevel","params":{"level":"loud"}',
      '"tools/list","params":{"cursor":7}',
      '"tools/call"',
      '"resources/read","params":{"uri":"codebase://file/no-such-file"}',
      '"resources/read","params":{"uri":"codebase://file/%2e%2e%2fother"}',
    ])
      expect(await sendLine(`{"jsonrpc":"2.0","id":8,"method":${wrong}}`), wrong).toMatchObject({
        id: 8,
        error: { code: -32602 },
      })
    expect(await sendLine('{"jsonrpc":"2.0","id":5,"method":"no/such"}')).toMatchObject({
      error: { code: -32601 },
    })
    expect(
      await sendLine('{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"nope"}}'),
    ).toMatchObject({ error: { code: -32602 } })
    expect(
      await sendLine(
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_code","arguments":{"query":"hello"}}}',
      ),
    ).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        content: [
          {
            type: 'text',
            text: JSON.stringify([
              { file_path: 'README.md', line_number: 3, line: 'Says hello.' },
              { file_path: 'src/greet.ts', line_number: 3, line: '  return "hello " + name' },
            ]),
          },
        ],
      },
    })
  })

  it('answers what was piped in before its input ended, and then ends', () => {
    const script = `import { createCodebaseServer } from ${JSON.stringify(built)}
      const server = createCodebaseServer(${JSON.stringify({ root: tree.folder, index: false })})
      await (await server.serveStdio()).closed
      await server.close()`
    const hello = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'old', version: '1' },
    }
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'search_code', arguments: { query: 'hello' } },
      },
    ]
    const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      input: messages.map((message) => JSON.stringify(message)).join('\n'),
      encoding: 'utf8',
      timeout: 30_000,
    })
    expect(ran.status).toBe(0)
    const answers = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(answers.map(({ id }) => id)).toEqual([1, 2])
    expect(answers[1].result.content[0].text).toContain('src/greet.ts')
  })

  it('ends when its input ends', async () => {
    const ended = new Promise<number | null>((done) => child.once('exit', done))
    child.stdin.end()
    expect(await ended).toBe(0)
  })
})

describe('over HTTP', () => {
  let server: CodebaseServer
  let http: HttpHandle
  beforeAll(async () => {
    server = createCodebaseServer({ root: tree.folder, cacheDir: cache.folder, embeddings: { kind: 'none' } })
    http = await server.serveHttp({ port: 0, allowedOrigins: ['https://app.example'] })
  })
  afterAll(() => server.close())

  const post = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(http.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    })
    const text = await response.text()
    return {
      status: response.status,
      body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>),
    }
  }
  const call = (method: string, params: unknown = {}, id = 1) =>
    post(JSON.stringify({ jsonrpc: '2.0', id, method, params }))

  it('reports its health', async () => {
    const response = await fetch(`${http.url}/health`)
    expect(await response.json()).toEqual({
      status: 'ok',
      service: 'plugboard-codebase',
      version: '0.1.0',
      mode: 'http',
    })
    expect(http.url).toContain('127.0.0.1')
  })

  it('reports a file error as a tool result', async () => {
    expect(
      (await call('tools/call', { name: 'read_file', arguments: { file_path: '../x' } })).body,
    ).toMatchObject({ result: { isError: true } })
    const answers = await Promise.all(
      [1, 1, 2].map((id) =>
        call('tools/call', { name: 'search_code', arguments: { query: 'hello', max_results: 1e9 } }, id),
      ),
    )
    expect(answers.map(({ body }) => body?.['id'])).toEqual([1, 1, 2])
    for (const { body } of answers) expect(JSON.stringify(body)).toContain('greet.ts')
  })

  it('refuses unknown hosts, origins and content types, and accepts listed origins', async () => {
    const withHost = (host: string) =>
      new Promise<number>((done, fail) => {
        httpRequest(
          { port: http.port, host: '127.0.0.1', path: '/health', headers: { Host: host } },
          (res) => {
            res.resume()
            done(res.statusCode ?? 0)
          },
        )
          .on('error', fail)
          .end()
      })
    expect(await withHost('evil.example')).toBe(403)
    expect(await withHost(`localhost:${http.port}`)).toBe(200)
    expect((await post('{}', { Origin: 'https://evil.example' })).status).toBe(403)
    expect((await post('{}', { Origin: 'null' })).status).toBe(403)
    expect((await post('{}', { 'Content-Type': 'text/plain' })).status).toBe(415)
    const preflight = await fetch(`${http.url}/mcp`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.example' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example')
    const mcp = await fetch(`${http.url}/mcp`, {
      method: 'POST',
      headers: { Origin: 'https://evil.example', 'Content-Type': 'application/json' },
      body: '{}',
    })
    expect(mcp.status).toBe(403)
    expect((await post('x'.repeat(5 << 20))).status).toBe(413)
  })

  it.each(['legacy', 'auto'] as const)('serves /mcp to a client in %s mode', async (mode) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${http.url}/mcp`)))
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(TOOLS)
    expect(
      tools.every(({ outputSchema, annotations }) => outputSchema !== undefined && annotations?.readOnlyHint),
    ).toBe(true)
    const result = await client.callTool({ name: 'search_code', arguments: { query: 'greet' } })
    expect(result.structuredContent).toMatchObject({ matches: [{ file_path: 'src/greet.ts', line: 2 }] })
    await client.close()
  })
})

describe('inside the process', () => {
  let server: CodebaseServer
  let client: Client
  beforeAll(async () => {
    server = createCodebaseServer({ root: tree.folder, cacheDir: cache.folder, embeddings: { kind: 'none' } })
    client = new Client({ name: 'test', version: '1' })
    await client.connect(server.inProcess())
  })
  afterAll(async () => {
    await client.close()
    await server.close()
  })

  it('gives every tool a structured answer that fits its schema', async () => {
    const call = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args })
      expect(result.isError, JSON.stringify(result.content)).not.toBe(true)
      return result.structuredContent
    }
    expect(await call('list_directory', { path: '.' })).toMatchObject({
      entries: [
        { path: 'README.md', kind: 'file' },
        { path: 'src', kind: 'directory' },
      ],
    })
    expect(await call('list_directory', { path: '.', depth: 3, glob: '*.ts' })).toMatchObject({
      entries: [{ path: 'src/greet.ts' }],
    })
    expect(await call('read_file', { file_path: 'README.md', start_line: 3 })).toMatchObject({
      text: 'Says hello.\n',
      total_lines: 3,
    })
    expect(await call('chunk_file', { file_path: 'src/greet.ts' })).toMatchObject({
      chunks: [{ kind: 'function', name: 'greet', start_line: 1, end_line: 4 }],
    })
    expect(await call('chunk_files', { file_paths: ['src/greet.ts', 'nope.ts'] })).toMatchObject({
      files: [{}],
      errors: [{ code: 'NOT_FOUND' }],
    })
    expect(await call('search_by_embedding', { query: 'greeting a person' })).toMatchObject({
      results: [{ file_path: 'src/greet.ts' }, {}],
      mode: 'text',
    })
    expect(await call('search_code', { query: 'hello', context_lines: 1, glob: '*.md' })).toMatchObject({
      matches: [{ before: [''], after: [] }],
    })
  })

  it.each([
    ['search_code', { query: '' }],
    ['search_code', { query: 'x'.repeat(1 << 20) }],
    ['search_code', { query: 'x', max_results: 0 }],
    ['search_code', { query: 'x', max_results: -1 }],
    ['search_code', { query: 'x', max_results: 1.5 }],
    ['search_code', { query: 'x', max_results: 1e300 }],
    ['search_by_embedding', { query: '' }],
    ['read_file', {}],
    ['read_file', { file_path: 'src' }],
    ['chunk_files', { file_paths: [] }],
  ])('answers a wrong call of %s with an error result that says what to do', async (name, args) => {
    const result = await client.callTool({ name, arguments: args })
    expect(result.isError).toBe(true)
    expect(JSON.stringify(result.content)).toMatch(/\w{3}/)
  })

  it('has the two resources and the file template', async () => {
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
      'codebase://search',
      'codebase://files',
    ])
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'codebase://file/{+path}' },
    ])
    expect(await client.readResource({ uri: 'codebase://files' })).toMatchObject({
      contents: [{ mimeType: 'application/json', text: '[\n "README.md",\n "src/greet.ts"\n]' }],
    })
    expect(await client.readResource({ uri: 'codebase://file/src/greet.ts' })).toMatchObject({
      contents: [{ text: expect.stringContaining('hello') }],
    })
    const { contents } = await client.readResource({ uri: 'codebase://search' })
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ root: tree.folder })
    await expect(client.readResource({ uri: 'codebase://file/../../etc/passwd' })).rejects.toThrow()
  })
})

describe('the package', () => {
  it('imports nothing at first but its own files and Node: no protocol, parser or model', () => {
    const seen = new Set<string>()
    const foreign = new Set<string>()
    const visit = (file: string) => {
      if (seen.has(file)) return
      seen.add(file)
      for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(
        /^(?:import|export)\b[^'"\n]*?from ['"]([^'"]+)['"]/gm,
      )) {
        if (name.startsWith('.')) visit(join(dirname(file), name))
        else if (!name.startsWith('node:')) foreign.add(name)
      }
    }
    visit(fileURLToPath(built))
    expect([...foreign]).toEqual([])
    expect([...seen].map((file) => file.slice(file.lastIndexOf('dist/'))).sort()).toEqual([
      'dist/errors.js',
      'dist/index.js',
      'dist/semantic/model-settings.js',
      'dist/transports/linked.js',
    ])
  })
})
