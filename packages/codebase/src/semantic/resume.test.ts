import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch } from '../fixtures/test-folders.ts'

const open: { close: () => unknown }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

/** One chunk a file, each of its own words. */
const files = Object.fromEntries(
  Array.from({ length: 80 }, (_, n) => [
    `f${n}.py`,
    `def number_${n}():\n    return "${`w${n} `.repeat(60)}"\n`,
  ]),
)

function kept(one: Scratch): Scratch {
  open.push({ close: () => one.remove() })
  return one
}

/** Answers `batches` requests and leaves every later one waiting. */
async function endpoint(asked: string[][], batches: () => number): Promise<string> {
  const server: Server = createServer((req, res) => {
    let body = ''
    req.on('data', (piece) => {
      body += piece
    })
    req.on('end', () => {
      const { input } = JSON.parse(body) as { input: string[] }
      asked.push(input)
      if (asked.length > batches()) return
      res.end(JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, index] })) }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  open.push({
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

it('goes on where a killed process stopped', async () => {
  const tree = kept(scratch(files))
  const cache = kept(scratch())
  const asked: string[][] = []
  let batches = 2
  const url = await endpoint(asked, () => batches)
  const options = {
    root: tree.folder,
    cacheDir: cache.folder,
    threads: 2,
    embeddings: { kind: 'endpoint', url, model: 'tiny', dimensions: 2 },
  } as const
  const built = new URL('../../dist/codebase.js', import.meta.url).href
  const script = `import { Codebase } from ${JSON.stringify(built)}
    new Codebase(${JSON.stringify(options)}).warmUp()
    setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
  const gone = new Promise((done) => child.once('exit', done))
  try {
    await eventually(() => asked.length === 3, 'the third batch')
  } finally {
    child.kill('SIGKILL')
    await gone
  }
  const before = new Set(asked.slice(0, 2).flat())
  asked.length = 0
  batches = Number.POSITIVE_INFINITY

  const code = new Codebase(options)
  open.unshift(code)
  const half = (await code.status()).meaning
  expect(half.chunks_with_vectors).toBe(before.size)
  code.warmUp()
  await eventually(async () => {
    const { meaning } = await code.status()
    return !meaning.working && meaning.chunks_with_vectors === 80
  }, 'the rest')
  const after = asked.flat()
  expect(after.filter((text) => before.has(text))).toEqual([])
  expect(after.length).toBe(80 - before.size)
})

it('starts again after a failure only when no thread is still adding vectors', async () => {
  const many = Array.from({ length: 150 }, (_, n) => [`f${n}.py`, `def number_${n}():\n    return ${n}\n`])
  const tree = kept(scratch(Object.fromEntries(many)))
  const cache = kept(scratch())
  const asked: string[][] = []
  const held: (() => void)[] = []
  const server = createServer(async (req, res) => {
    const { input } = JSON.parse(Buffer.concat(await req.toArray()).toString()) as { input: string[] }
    asked.push(input)
    const answer = () =>
      res.end(JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, index] })) }))
    if (asked.length === 1) held.push(answer)
    else if (asked.length === 2) res.writeHead(401).end()
    else answer()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  open.push({ close: () => server.close() })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/v1`
  const code = new Codebase({
    root: tree.folder,
    cacheDir: cache.folder,
    threads: 4,
    embeddings: { kind: 'endpoint', url, model: 'tiny', dimensions: 2 },
  })
  open.unshift(code)
  code.warmUp()
  await eventually(() => asked.length >= 2, 'two batches at once')
  for (let round = 0; round < 20; round++) {
    code.warmUp()
    await new Promise((done) => setTimeout(done, 25))
  }
  expect(asked).toHaveLength(2)
  held[0]?.()
  await eventually(async () => {
    code.warmUp()
    return (await code.status()).meaning.chunks_with_vectors === 150
  }, 'the rest')
  const refused = new Set(asked[1])
  const others = asked.flat().filter((text) => !refused.has(text))
  expect(others).toHaveLength(new Set(others).size)
})

it('never compares the vectors of one model with those of another', async () => {
  const tree = kept(scratch({ 'a.py': files['f0.py'] ?? '' }))
  const cache = kept(scratch())
  const asked: string[][] = []
  const url = await endpoint(asked, () => 100)
  for (const [model, dimensions] of [
    ['one', 2],
    ['other', 2],
  ] as const) {
    const code = new Codebase({
      root: tree.folder,
      cacheDir: cache.folder,
      embeddings: { kind: 'endpoint', url, model, dimensions },
    })
    open.unshift(code)
    expect((await code.status()).meaning.chunks_with_vectors).toBe(0)
    code.warmUp()
    await eventually(async () => (await code.status()).meaning.chunks_with_vectors === 1, 'the vectors')
    await code.close()
  }
  expect(asked).toHaveLength(2)
})
