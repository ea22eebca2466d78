// Building the index as a caller sees it: counts that grow, and an abort.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from './codebase.ts'
import { type Scratch, scratch, textQuery } from './fixtures/test-folders.ts'
import { createCodebaseServer, type IndexProgress } from './index.ts'

const FILES = 4500
let tree: Scratch
let cache: Scratch
beforeAll(() => {
  tree = scratch()
  cache = scratch()
  for (let n = 0; n < FILES; n++) tree.write(`d${n % 90}/f${n}.txt`, `number ${n}\n${'filler '.repeat(40)}\n`)
}, 60_000)
afterAll(() => {
  tree.remove()
  cache.remove()
})

describe('progress', () => {
  it.each([
    ['the newest era', 'auto'],
    ['the era before', 'legacy'],
  ] as const)(
    'reaches a call that asked for it, in %s',
    async (_, mode) => {
      const server = createCodebaseServer({
        root: tree.folder,
        cacheDir: `${cache.folder}/${mode}`,
        embeddings: { kind: 'none' },
      })
      const http = await server.serveHttp({ port: 0 })
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      await client.connect(new StreamableHTTPClientTransport(new URL(`${http.url}/mcp`)))
      const seen: { progress: number; total?: number | undefined; message?: string | undefined }[] = []
      try {
        for (let round = 0; round < 200 && seen.length === 0; round++) {
          if (round % 20 === 0) void server.reindex().catch(() => undefined)
          await client.callTool(
            { name: 'search_code', arguments: { query: `number ${round}`, max_results: 3 } },
            { onprogress: (progress) => seen.push(progress) },
          )
        }
        expect(seen[0]).toMatchObject({
          total: FILES,
          message: expect.stringMatching(/^Indexing: \d+ of 4500/),
        })
        const counts = seen.map(({ progress }) => progress)
        expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b))
      } finally {
        await client.close()
        await server.close()
      }
    },
    60_000,
  )
})

describe('reindex', () => {
  it('reports its progress, and counts every file', async () => {
    const code = new Codebase({
      root: tree.folder,
      cacheDir: `${cache.folder}/told`,
      embeddings: { kind: 'none' },
    })
    const seen: IndexProgress[] = []
    const stop = new AbortController()
    const text = new Promise<void>((done) => {
      // The semantic index follows, and is not tested here.
      void code
        .reindex(stop.signal, (progress) => {
          seen.push(progress)
          if (progress.part === 'text' && progress.done === progress.of) done()
        })
        .catch(() => undefined)
    })
    await text
    stop.abort()
    expect(seen[0]).toEqual({ part: 'text', done: 0, of: FILES })
    expect(seen.some(({ done }) => done > 0 && done < FILES)).toBe(true)
    await code.close()
  }, 60_000)

  it('stops when it is aborted, and keeps the index that was there', async () => {
    const code = new Codebase({
      root: tree.folder,
      cacheDir: `${cache.folder}/kept`,
      embeddings: { kind: 'none' },
    })
    const first = new AbortController()
    const built = new Promise<void>((done) => {
      void code.reindex(first.signal, ({ part }) => part === 'meaning' && done()).catch(() => undefined)
    })
    await built
    first.abort(new Error('enough'))
    const before = (await code.status()).text
    expect(before.files).toBe(FILES)
    const stop = new AbortController()
    const rejected = expect(
      code.reindex(stop.signal, ({ done }) => {
        if (done > 0) stop.abort(new Error('changed my mind'))
      }),
    ).rejects.toThrow('changed my mind')
    await rejected
    const after = (await code.status()).text
    expect(after).toEqual(before)
    expect((await code.searchCode(textQuery('number 77'))).matches.length).toBeGreaterThan(0)
    await expect(code.reindex(AbortSignal.abort(new Error('never mind')))).rejects.toThrow('never mind')
    await code.close()
  }, 60_000)

  it('reports that the very first build was stopped, and builds when called again', async () => {
    const code = new Codebase({
      root: tree.folder,
      cacheDir: `${cache.folder}/stopped`,
      embeddings: { kind: 'none' },
    })
    const stop = new AbortController()
    const asked = code.reindex(stop.signal, ({ done }) => {
      if (done > 0) stop.abort(new Error('not now'))
    })
    await expect(asked).rejects.toThrow('not now')
    expect((await code.status()).text).toMatchObject({
      state: 'off',
      reason: expect.stringContaining('stopped'),
    })
    expect((await code.searchCode(textQuery('number 77'))).matches.length).toBeGreaterThan(0)
    const again = new AbortController()
    await new Promise<void>((done) => {
      void code.reindex(again.signal, ({ part }) => part === 'meaning' && done()).catch(() => undefined)
    })
    again.abort()
    expect((await code.status()).text.files).toBe(FILES)
    await code.close()
  }, 60_000)
})
