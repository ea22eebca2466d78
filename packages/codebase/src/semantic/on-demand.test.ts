// Vectors for a search: the best first, within the budget, kept for the next one; and the order of the background work.
import { expect, it } from 'vitest'
import { eventually } from '../fixtures/test-folders.ts'
import type { ChunkSegment } from '../index/storage.ts'
import { likelyFirst } from './embedding-priority.ts'
import { EmbeddingQueue } from './embedding-queue.ts'
import { VectorsOnDemand } from './on-demand.ts'

const wanted = (...names: string[]) => names.map((name, id) => ({ id, path: `${name[0]}.ts`, hash: name }))
const record = (hash: string) => Uint8Array.from(Buffer.from(hash))

it('makes each vector once, file by file, and answers from memory afterwards', async () => {
  const made: string[] = []
  const vectors = new VectorsOnDemand(1, async (_, [first]) => {
    made.push(first?.hash ?? '')
    return [record(first?.hash ?? '')]
  })
  const found = await vectors.vectors(wanted('a1', 'b1', 'a2'))
  expect(made).toEqual(['a1', 'a2', 'b1'])
  expect([...found]).toEqual([
    [0, record('a1')],
    [1, record('b1')],
    [2, record('a2')],
  ])
  await vectors.vectors(wanted('b1', 'c1'))
  expect(made).toEqual(['a1', 'a2', 'b1', 'c1'])
  expect(vectors.known('c1')).toEqual(record('c1'))
})

it('takes as many at once as the model makes, on every lane', async () => {
  const asked: number[] = []
  const vectors = new VectorsOnDemand(2, async (_, chunks) => {
    asked.push(chunks.length)
    return chunks.slice(0, 2).map(({ hash }) => record(hash))
  })
  expect((await vectors.vectors(wanted('a1', 'a2', 'a3', 'a4', 'a5'))).size).toBe(5)
  expect(asked.length).toBeLessThanOrEqual(5)
})

it('stops at the budget, and keeps what comes too late', async () => {
  let release: () => void = () => undefined
  const gate = new Promise<void>((done) => {
    release = done
  })
  const asked: string[] = []
  const vectors = new VectorsOnDemand(1, async (_, [first]) => {
    asked.push(first?.hash ?? '')
    if (first?.hash === 'b1') await gate
    return [record(first?.hash ?? '')]
  })
  expect([...(await vectors.vectors(wanted('a1', 'b1', 'c1'), 100)).keys()]).toEqual([0])
  release()
  await eventually(() => vectors.known('b1') !== undefined, 'the late vector')
  expect(asked).toEqual(['a1', 'b1'])
})

it('returns none when the model fails', async () => {
  const vectors = new VectorsOnDemand(2, () => Promise.reject(new Error('away')))
  expect((await vectors.vectors(wanted('a1', 'b1'))).size).toBe(0)
})

it('embeds next what searches hit, else in the given order, each segment by one thread', () => {
  const segment = (name: string, chunks: number) => ({ name, chunks, vectors: 0 }) as unknown as ChunkSegment
  const demand = new Map<string, number>()
  const queue = new EmbeddingQueue(
    [segment('a', 2), segment('b', 1), segment('c', 1)],
    (name) => demand.get(name) ?? 0,
  )
  const first = queue.take()
  expect(first?.segment.name).toBe('a')
  demand.set('c', 3)
  const second = queue.take()
  expect(second?.segment.name).toBe('c')
  if (!first || !second) throw new Error('nothing to do')
  second.at = 1
  queue.putBack(second)
  first.at = 1
  queue.putBack(first)
  expect(queue.take()?.segment.name).toBe('a')
  expect(queue.take()?.segment.name).toBe('b')
  expect(queue.take()).toBeUndefined()
})

it('orders files by likely use, and not by their names', () => {
  const now = 1_000_000_000_000
  const hour = 3_600_000
  const file = (path: string, hours = 0, size = 8000) => ({ path, size, mtimeMs: now - hours * hour })
  const order = likelyFirst([
    file('a/test/a.test.ts'),
    file('aa.txt'),
    file('src/old.ts', 1000),
    file('zz/core.ts'),
    file('src/deep/down/below/x.ts'),
    file('src/edited.ts', -2),
  ])
  expect(order).toEqual([
    'src/edited.ts',
    'zz/core.ts',
    'src/deep/down/below/x.ts',
    'a/test/a.test.ts',
    'src/old.ts',
    'aa.txt',
  ])
  // Of one checkout: milliseconds apart, in the order of their names.
  const names = Array.from({ length: 26 }, (_, n) => `${String.fromCharCode(97 + n)}.ts`)
  const spread = likelyFirst(names.map((path, n) => ({ path, size: 8000, mtimeMs: now + n })))
  expect(spread).not.toEqual(names)
  expect(spread).not.toEqual([...names].reverse())
  expect([...spread].sort()).toEqual(names)
})
