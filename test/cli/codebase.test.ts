// `plugboard codebase` as a user starts it: wrong flags or an unusable model are reported at the start.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('greet.ts', 'export const hello = 1\n')
  place.write('short-token', 'abc\n')
  place.write('narrow-token', '0123456789abcdef01 codebase.read_file\n')
  mkdirSync(join(place.project, 'empty-model'))
})
afterAll(() => place.remove())

it.for([
  [['--status', '--drop'], '--status and --drop cannot be used together'],
  [['--reindex', '--http'], '--reindex and --http cannot be used together'],
  [['--threads', '0'], '--threads 0'],
  [['--threads', '5000'], '--threads 5000'],
  [['--model', ''], '--model is empty'],
  [['--host', '0.0.0.0'], '--host is for HTTP'],
  [['--http', '--no-auth', '--host', '0.0.0.0'], '--no-auth with --host 0.0.0.0'],
  [['--http', '--no-auth', '--token-file', 'x'], 'cannot be used together'],
  [['--http', '--token-file', 'nowhere'], 'cannot be read'],
  [['--http', '--token-file', 'short-token'], 'too short'],
  [['--http', '--token-file', 'narrow-token'], 'a line with more than one word'],
] as const)('%j is refused', async ([flags, told]) => {
  const ran = await place.run('codebase', ...flags)
  expect(ran).toMatchObject({ code: 2, stdout: '' })
  expect(ran.stderr).toContain(told)
})

it('says which process keeps the index when a rebuild is asked for beside a server', async () => {
  const server = spawn(process.execPath, [COMMAND, 'codebase', '--model', 'none'], {
    cwd: place.project,
    env: { PATH: process.env['PATH'], HOME: place.home },
  })
  try {
    expect(await askOnce(server)).toContain('greet.ts')
    // The server takes the lock in the background, after its first scan of the tree.
    const until = Date.now() + 20_000
    for (;;) {
      const ran = await place.run('codebase', '--reindex', '--json', '--model', 'none')
      if (ran.code === 0 && Date.now() < until) continue
      expect(ran).toMatchObject({
        code: 4,
        json: {
          error: { code: 'IO_ERROR', message: expect.stringContaining('Another process keeps the index') },
        },
      })
      break
    }
  } finally {
    server.kill()
  }
}, 40_000)

describe('plain JSON-RPC over HTTP', () => {
  const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  const curl = (url: string, body: string) =>
    JSON.parse(
      execFileSync(
        'curl',
        ['-s', '-X', 'POST', `${url}/`, '-H', 'Content-Type: application/json', '-d', body],
        { encoding: 'utf8', timeout: 20_000 },
      ),
    )

  it('answers curl ten times in a row from two callers, with other clients in between', async () => {
    const server = spawn(
      process.execPath,
      [COMMAND, 'codebase', '--http', '--port', '0', '--model', 'none'],
      { cwd: place.project, env: { PATH: process.env['PATH'], HOME: place.home } },
    )
    try {
      const first = await new Promise<string>((done) =>
        createInterface({ input: server.stdout }).once('line', done),
      )
      const url = /plain JSON-RPC on (http:\/\/\S+)\/$/.exec(first)?.[1] ?? ''
      const asModern = async (path: string) => {
        const client = new Client({ name: 'modern', version: '1' }, { versionNegotiation: { mode: 'auto' } })
        await client.connect(new StreamableHTTPClientTransport(new URL(`${url}${path}`)))
        expect((await client.listTools()).tools).toHaveLength(6)
        await client.close()
      }
      const hello = {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      }
      for (let n = 0; n < 10; n++) {
        const answers = [curl(url, LIST), curl(url, LIST)]
        for (const { id, result } of answers)
          expect([id, result?.tools?.length], JSON.stringify(answers).slice(0, 300)).toEqual([1, 6])
        if (n % 3 === 0) await asModern('/mcp')
        if (n % 3 === 1) await asModern('/')
        if (n % 3 === 2) expect(curl(url, JSON.stringify(hello))).toMatchObject({ result: {} })
      }
      const search = { name: 'search_code', arguments: { query: 'hello' } }
      const { result } = curl(
        url,
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: search }),
      )
      expect(JSON.parse(result.content[0].text)).toEqual([
        { file_path: 'greet.ts', line_number: 1, line: 'export const hello = 1' },
      ])
    } finally {
      server.kill()
    }
  }, 90_000)
})

/** Until it prints on stderr, or the test's time is over. */
const firstNote = (child: ChildProcessWithoutNullStreams) =>
  new Promise<string>((done) => createInterface({ input: child.stderr }).once('line', done))

async function askOnce(child: ChildProcessWithoutNullStreams): Promise<string> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { _meta: meta, name: 'search_by_embedding', arguments: { query: 'hello', mode: 'vector' } }
  const answer = new Promise<string>((done) => createInterface({ input: child.stdout }).once('line', done))
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
  return answer
}

describe('a model that cannot be used', () => {
  const start = (flags: readonly string[], env: Record<string, string> = {}) =>
    spawn(process.execPath, [COMMAND, 'codebase', ...flags], {
      cwd: place.project,
      env: { PATH: process.env['PATH'], HOME: place.home, ...env },
    })
  const told = async (child: ChildProcessWithoutNullStreams, why: RegExp) => {
    try {
      expect(await firstNote(child)).toMatch(why)
      const answer = await askOnce(child)
      expect(answer).toMatch(why)
      expect(JSON.parse(answer)).toMatchObject({
        result: { structuredContent: { mode: 'text', results: [{ file_path: 'greet.ts' }] } },
      })
    } finally {
      child.kill()
    }
  }

  it.for([
    ['no-such-model', /no-such-model is not a folder/],
    ['greet.ts', /greet\.ts is not a folder/],
    ['empty-model', /has none of model\.onnx/],
  ] as const)('because of its folder %s is named at the start and in the answer', async ([model, why]) => {
    await told(start(['--model', model]), why)
  })

  it('because its endpoint is down is named at the start and in the result', async () => {
    const gone = createServer()
    const port = await new Promise<number>((done) =>
      gone.listen(0, '127.0.0.1', () => done((gone.address() as { port: number }).port)),
    )
    await new Promise((done) => gone.close(done))
    const env = {
      PLUGBOARD_EMBEDDINGS_URL: `http://127.0.0.1:${port}/v1`,
      PLUGBOARD_EMBEDDINGS_MODEL: 'tiny',
      PLUGBOARD_EMBEDDINGS_DIMENSIONS: '2',
    }
    await told(start([], env), new RegExp(`127\\.0\\.0\\.1:${port}`))
  }, 40_000)
})
