import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chunkText } from '../chunks/chunk.ts'
import { Parsers } from '../chunks/parsers.ts'
import { type Scratch, scratch } from '../fixtures/test-folders.ts'
import { MemoryStore } from '../index/memory-store.ts'
import { Root } from '../root.ts'
import { batchOf } from './chunk-batch.ts'
import { ChunkCollection } from './collection.ts'
import { Results } from './results.ts'

const FILES = {
  'a.py': 'def open_socket():\n    return 1\n',
  'b.py': 'def retry_request():\n    return 2\n',
  'c.py': 'def close_socket():\n    return 3\n',
}
const ASKED = new Map([
  ['retri', 1],
  ['request', 1],
])
const RANKED = [
  { id: 0, score: 2 },
  { id: 1, score: 1.5 },
  { id: 2, score: 1 },
]

/** Of an index of these files, as they are now. */
async function resultsOf(texts: Readonly<Record<string, string>>): Promise<Results> {
  const parsers = new Parsers()
  const files = await Promise.all(
    Object.entries(texts).map(async ([path, text]) => ({
      path,
      size: text.length,
      mtimeMs: 1,
      cut: await chunkText(path, text, parsers),
    })),
  )
  const chunks = new MemoryStore().chunks({ id: null, dimensions: 0 })
  await chunks.commit([await chunks.add(batchOf(files))])
  const opens = chunks
    .segments()
    .map((segment) => ({ segment, base: 0, stale: new Uint8Array(files.length), fileOf: undefined }))
  return new Results(new Root(tree.folder), new ChunkCollection(opens), parsers)
}

const allOf = ({ collection }: Results) =>
  Array.from({ length: collection.size }, (_, id) => ({ id, score: 1 }))

let tree: Scratch
let results: Results
beforeEach(async () => {
  tree = scratch(FILES)
  results = await resultsOf(FILES)
})
afterEach(() => tree.remove())

it('moves the chunk that defines what was asked for to the top, and gives the others no less than they had', async () => {
  const looked = await results.rerank(RANKED, ASKED)
  expect(looked.map(({ id }) => id)).toEqual([1, 0, 2])
  expect(looked.map(({ score }) => score)).toEqual([expect.any(Number), 2, 1])
})

it('leaves out a chunk whose text is no longer there', async () => {
  tree.write('b.py', 'def other():\n    return 2\n')
  const looked = await results.rerank(RANKED, ASKED)
  expect(looked.map(({ id }) => id)).toEqual([0, 2])
  expect((await results.present(RANKED, 10)).map(({ file_path }) => file_path)).toEqual(['a.py', 'c.py'])
})

it('keeps what is past the reranked ones, in its order, at the end', async () => {
  const many = [...Array.from({ length: 20 }, () => ({ id: 0, score: 2 })), { id: 1, score: 1 }]
  expect((await results.rerank(many, ASKED)).at(-1)).toEqual({ id: 1, score: 1 })
})

describe('a line longer than a chunk', () => {
  const oneLine = (n: number) => JSON.stringify(Array.from({ length: 1200 }, (_, k) => `w${n}x${k}`))
  const LONG = {
    'data.json': oneLine(0),
    'app.min.js': `var a=[${'"filler",'.repeat(900)}0]\nfunction reconnect() {\n  return a\n}\n`,
  }
  const write = (texts: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(texts)) tree.write(path, text)
  }

  it('is shown in the parts it was cut into, and its file still counts', async () => {
    write(LONG)
    const long = await resultsOf(LONG)
    const hits = await long.present(allOf(long), 100)
    for (const [path, text] of Object.entries(LONG)) {
      const own = hits.filter(({ file_path }) => file_path === path)
      expect(own.map((hit) => hit.text).join('')).toBe(text)
    }
    expect(long.collection.counts().files).toBe(2)
  })

  it('no longer counts when it changed', async () => {
    write({ ...LONG, 'data.json': LONG['data.json'].replaceAll('w0', 'other') })
    const long = await resultsOf(LONG)
    const hits = await long.present(allOf(long), 100)
    expect(new Set(hits.map(({ file_path }) => file_path))).toEqual(new Set(['app.min.js']))
    expect(long.collection.counts().files).toBe(1)
  })

  it('is left out past the number of files that one search cuts again, and those files still count', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`d${n}.json`, oneLine(n)]))
    write(many)
    const long = await resultsOf(many)
    const hits = await long.present(allOf(long), 1000)
    expect(new Set(hits.map(({ file_path }) => file_path)).size).toBe(10)
    expect(long.collection.counts().files).toBe(30)
  })
})
