import { afterEach, beforeEach, expect, it } from 'vitest'
import { chunkText } from '../chunks/chunk.ts'
import { Parsers } from '../chunks/parsers.ts'
import { MemoryStore } from '../index/memory-store.ts'
import { Root } from '../root.ts'
import { type Scratch, scratch } from '../test-support.ts'
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

let tree: Scratch
let results: Results
beforeEach(async () => {
  tree = scratch(FILES)
  const parsers = new Parsers()
  const files = await Promise.all(
    Object.entries(FILES).map(async ([path, text]) => ({
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
    .map((segment) => ({ segment, base: 0, stale: new Uint8Array(3), fileOf: undefined }))
  results = new Results(new Root(tree.folder), new ChunkCollection(opens))
})
afterEach(() => tree.remove())

it('moves the chunk that defines what was asked for to the top, and gives the others no less than they had', async () => {
  const looked = await results.lookCloser(RANKED, ASKED)
  expect(looked.map(({ id }) => id)).toEqual([1, 0, 2])
  expect(looked.map(({ score }) => score)).toEqual([expect.any(Number), 2, 1])
})

it('leaves out a chunk whose text is no longer there', async () => {
  tree.write('b.py', 'def other():\n    return 2\n')
  const looked = await results.lookCloser(RANKED, ASKED)
  expect(looked.map(({ id }) => id)).toEqual([0, 2])
  expect((await results.present(RANKED, 10)).map(({ file_path }) => file_path)).toEqual(['a.py', 'c.py'])
})

it('keeps what is past the closer look, in its order, at the end', async () => {
  const many = [...Array.from({ length: 20 }, () => ({ id: 0, score: 2 })), { id: 1, score: 1 }]
  expect((await results.lookCloser(many, ASKED)).at(-1)).toEqual({ id: 1, score: 1 })
})
