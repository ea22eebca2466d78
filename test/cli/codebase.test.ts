// `plugboard codebase` as a person starts it: what is wrong with its flags or its model is said at the start.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('greet.ts', 'export const hello = 1\n')
  mkdirSync(join(place.project, 'empty-model'))
})
afterAll(() => place.remove())

it.for([
  [['--status', '--drop'], '--status and --drop do not go together'],
  [['--reindex', '--http'], '--reindex and --http do not go together'],
  [['--threads', '0'], '--threads 0'],
  [['--threads', '5000'], '--threads 5000'],
  [['--model', ''], '--model is empty'],
] as const)('%j is refused', async ([flags, told]) => {
  const ran = await place.run('codebase', ...flags)
  expect(ran).toMatchObject({ code: 2, stdout: '' })
  expect(ran.stderr).toContain(told)
})

it('is told who keeps the index when it is to be built anew beside a server', async () => {
  const server = spawn(process.execPath, [COMMAND, 'codebase', '--model', 'none'], {
    cwd: place.project,
    env: { PATH: process.env['PATH'], HOME: place.home },
  })
  try {
    expect(await askOnce(server)).toContain('greet.ts')
    // The server takes the lock in the background, after its first look at the tree.
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

/** Until it speaks on stderr, or the test's time is over. */
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

  it('because nobody serves it is named at the start and in the answer', async () => {
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
