// What every index store must do, whatever it is made of. A new store adds one line to STORES.
import { appendFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Scratch, scratch } from '../fixtures/test-folders.ts'
import { batchOf, hashOf } from '../semantic/chunk-batch.ts'
import { termKey, termsOf } from '../semantic/terms.ts'
import { nearness, packVector } from '../semantic/vectors.ts'
import { FolderStore } from './folder-store.ts'
import { indexFiles } from './indexing.ts'
import { MemoryStore } from './memory-store.ts'
import { literalQuery } from './query.ts'
import { FLAG } from './segment.ts'
import { type ChunkSegment, type IndexStore, type TextBatch, vectorBytes } from './storage.ts'
import { TrigramCollector } from './trigrams.ts'

interface Place {
  readonly open: () => IndexStore
  /** What was committed is there for the next one that opens it. */
  readonly lasts: boolean
}

const STORES: Record<string, (space: Scratch) => Place> = {
  folder: (space) => ({ open: () => new FolderStore(join(space.folder, 'cache'), '/root'), lasts: true }),
  memory: () => {
    const store = new MemoryStore()
    return { open: () => store, lasts: false }
  },
}

const MODEL = { id: 'tiny 2', dimensions: 2 }

/** One chunk a text. */
const cut = (files: Record<string, readonly string[]>) =>
  batchOf(
    Object.entries(files).map(([path, texts], n) => ({
      path,
      size: n,
      mtimeMs: n + 0.5,
      cut: texts.map((text, at) => ({
        start: 0,
        end: text.length,
        startLine: at + 1,
        endLine: at + 1,
        kind: 'function' as const,
        name: `n${at}`,
        within: at === 0 ? [] : ['Ü'],
        language: 'python',
        text,
      })),
    })),
  )

const vectors = (...all: (readonly [number, number])[]) =>
  Buffer.concat(all.map((one) => packVector(Float32Array.from(one))))

function nearTo(segment: ChunkSegment | undefined, query: readonly [number, number]) {
  const found: number[] = []
  if (segment)
    nearness(
      segment,
      Float32Array.from(query),
      (chunk, score) => (found[chunk] = Math.round(score * 10) / 10),
    )
  return found
}

const withWord = (segment: ChunkSegment | undefined, word: string) =>
  segment?.hits(termKey(termsOf(word)[0] ?? ''))

const collector = new TrigramCollector(1_000_000)

describe.each(Object.keys(STORES))('the %s store', (kind) => {
  const spaces: Scratch[] = []
  afterEach(() => {
    for (const space of spaces.splice(0)) space.remove()
  })

  function setUp() {
    const space = scratch()
    spaces.push(space)
    mkdirSync(join(space.folder, 'tree'))
    const place = (STORES[kind] as (space: Scratch) => Place)(space)
    const batch = (files: Record<string, string>): TextBatch => {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(space.folder, 'tree', name), text)
      const batches: TextBatch[] = []
      const job = { root: join(space.folder, 'tree'), files: Object.keys(files), filesPerSegment: 100 }
      indexFiles(job, collector, (one) => batches.push(one))
      return batches[0] as TextBatch
    }
    return { ...place, store: place.open(), batch }
  }
  const found = (store: IndexStore, text: string) =>
    store
      .text()
      ?.candidates(literalQuery(text, true), false)
      ?.map(({ path }) => path)

  it('has nothing at first', () => {
    const { store } = setUp()
    expect(store.unavailable).toBeUndefined()
    expect(store.text()).toBeUndefined()
  })

  it('shows a batch from its commit on, not before', async () => {
    const { store, batch } = setUp()
    expect(store.tryLock()).toBe(true)
    const segment = await store.addText(batch({ 'a.txt': 'zebra', 'b.txt': 'yak cow' }))
    expect(store.text()).toBeUndefined()
    await store.commitText([segment])
    expect(found(store, 'zebra')).toEqual(['a.txt'])
    expect(found(store, 'yak')).toEqual(['b.txt'])
    expect(found(store, 'quagga')).toEqual([])
    expect(store.text()).toMatchObject({ fileCount: 2, textBytes: 12, indexBytes: segment.bytes })
    expect(segment).toMatchObject({ files: 2, textBytes: 12 })
    store.close()
  })

  it('returns what was stored of each file', async () => {
    const { store, batch } = setUp()
    store.tryLock()
    const one = batch({ 'päth ü.txt': 'zebra', 'z.bin': 'a\0b' })
    const expected = { size: one.numbers[0], mtimeMs: one.numbers[2], hash: one.hashes[0], flags: 0 }
    await store.commitText([await store.addText(one)])
    const text = store.text()
    expect(text?.state('päth ü.txt')).toMatchObject(expected)
    expect(text?.state('z.bin')?.flags).toBe(FLAG.binary)
    expect(text?.has('absent')).toBe(false)
    expect([...(text?.paths() ?? [])].sort()).toEqual(['päth ü.txt', 'z.bin'])
    expect(text?.state('z.bin')?.place).toBeLessThan(text?.places ?? 0)
    store.close()
  })

  it('takes a file from the latest segment, and leaves out one that is gone', async () => {
    const { store, batch } = setUp()
    store.tryLock()
    const first = await store.addText(batch({ 'a.txt': 'zebra', 'b.txt': 'zebra', 'c.txt': 'zebra' }))
    await store.commitText([first])
    const changed = batch({ 'a.txt': 'yak now', 'b.txt': 'x' })
    changed.flags[1] = FLAG.gone
    const second = await store.addText(changed)
    await store.commitText([first, second])
    expect(found(store, 'zebra')).toEqual(['c.txt'])
    expect(found(store, 'yak')).toEqual(['a.txt'])
    const text = store.text()
    expect(text?.fileCount).toBe(2)
    expect(text?.staleShare).toBeGreaterThan(0)
    expect(text?.livePaths(first.name)).toEqual(['c.txt'])
    expect(text?.livePaths(second.name)).toEqual(['a.txt'])
    expect(text?.segments.map(({ name }) => name)).toEqual([first.name, second.name])
    store.close()
  })

  it('sweeps what no commit names, and nothing else', async () => {
    const { store, batch } = setUp()
    store.tryLock()
    const [kept, replaced] = [
      await store.addText(batch({ 'a.txt': 'zebra' })),
      await store.addText(batch({ 'b.txt': 'zebra' })),
    ]
    await store.commitText([kept, replaced])
    const before = store.bytes()
    await store.commitText([kept])
    store.text()
    await store.sweepText()
    expect(store.bytes()).toBeLessThan(before)
    expect(found(store, 'zebra')).toEqual(['a.txt'])
    store.close()
  })

  it('is empty after drop', async () => {
    const { store, batch } = setUp()
    store.tryLock()
    await store.commitText([await store.addText(batch({ 'a.txt': 'zebra' }))])
    store.drop()
    expect(store.text()).toBeUndefined()
    expect(store.bytes()).toBe(0)
  })

  it('shows chunks from their commit on, and returns what was stored of them', async () => {
    const { store } = setUp()
    store.tryLock()
    const chunks = store.chunks(MODEL)
    expect(chunks.segments()).toEqual([])
    const name = await chunks.add(cut({ 'a.py': ['zebra zebra yak', 'cow'], 'ü.py': [], 'c.py': ['zebra'] }))
    expect(chunks.segments()).toEqual([])
    await chunks.commit([name])
    const [segment] = chunks.segments()
    expect(chunks.segments()).toBe(chunks.segments())
    expect(segment).toMatchObject({ name, chunks: 3, vectors: 0 })
    expect(segment?.files).toEqual([
      { path: 'a.py', size: 0, mtimeMs: 0.5 },
      { path: 'ü.py', size: 1, mtimeMs: 1.5 },
      { path: 'c.py', size: 2, mtimeMs: 2.5 },
    ])
    expect(segment?.meta(1)).toEqual({
      file: 0,
      startLine: 2,
      endLine: 2,
      kind: 'function',
      name: 'n1',
      within: ['Ü'],
      language: 'python',
      hash: hashOf('cow'),
    })
    expect(segment?.metas()).toEqual([0, 1, 2].map((n) => segment?.meta(n)))
    expect([...(segment?.lengths ?? [])]).toHaveLength(3)
    expect(withWord(segment, 'zebra')).toEqual([
      { chunk: 0, count: 2 },
      { chunk: 2, count: 1 },
    ])
    expect(withWord(segment, 'quagga')).toEqual([])
    chunks.close()
  })

  it('takes vectors piece by piece, and counts them at once', async () => {
    const { store } = setUp()
    store.tryLock()
    const chunks = store.chunks(MODEL)
    const reader = store.chunks(MODEL)
    const name = await chunks.add(cut({ 'a.py': ['one', 'two', 'three'] }))
    await chunks.commit([name])
    const [segment] = reader.segments()
    expect(nearTo(segment, [1, 0])).toEqual([])
    await chunks.addVectors(name, vectors([1, 0]))
    expect(segment?.vectors).toBe(1)
    expect(nearTo(segment, [1, 0])).toEqual([1])
    await chunks.addVectors(name, vectors([0, 1], [-1, 0]))
    expect(segment?.vectors).toBe(3)
    expect(nearTo(segment, [1, 0])).toEqual([1, 0, -1])
    const torn = new Uint8Array(vectorBytes(MODEL) - 1)
    await expect(chunks.addVectors(name, torn)).rejects.toMatchObject({ code: 'IO' })
    expect(segment?.vectors).toBe(3)
    chunks.close()
    reader.close()
  })

  it('shows a model nothing of another one, and sweeps what that left', async () => {
    const { store } = setUp()
    store.tryLock()
    const first = store.chunks(MODEL)
    await first.commit([await first.add(cut({ 'a.py': ['zebra '.repeat(100)] }))])
    const other = store.chunks({ id: 'other', dimensions: 2 })
    expect(other.segments()).toEqual([])
    const before = store.bytes()
    await other.commit([await other.add(cut({ 'a.py': ['x'] }))])
    await other.sweep()
    expect(store.bytes()).toBeLessThan(before)
    expect(other.segments()).toHaveLength(1)
    expect(first.segments()).toEqual([])
    first.close()
    other.close()
  })

  it('sweeps chunks that no commit names with their vectors, and leaves text and what is being read', async () => {
    const { store, batch } = setUp()
    store.tryLock()
    await store.commitText([await store.addText(batch({ 'a.txt': 'zebra' }))])
    const chunks = store.chunks(MODEL)
    const [kept, replaced] = [
      await chunks.add(cut({ 'a.py': ['one'] })),
      await chunks.add(cut({ 'b.py': ['two'] })),
    ]
    await chunks.commit([kept, replaced])
    await chunks.addVectors(replaced, vectors([1, 0]))
    await chunks.addVectors(kept, vectors([0, 1]))
    const [, old] = chunks.segments()
    const before = store.bytes()
    await chunks.commit([kept])
    expect(chunks.segments().map(({ name }) => name)).toEqual([kept])
    await chunks.sweep()
    await store.sweepText()
    expect(store.bytes()).toBeLessThan(before)
    expect(old?.meta(0).hash).toBe(hashOf('two'))
    expect(nearTo(chunks.segments()[0], [0, 1])).toEqual([1])
    expect(found(store, 'zebra')).toEqual(['a.txt'])
    chunks.close()
    store.drop()
    expect(store.chunks(MODEL).segments()).toEqual([])
    expect(store.bytes()).toBe(0)
  })

  it('forgets chunks and vectors when told to, and no text', async () => {
    const { store, batch } = setUp()
    store.tryLock()
    await store.commitText([await store.addText(batch({ 'a.txt': 'zebra' }))])
    const before = store.bytes()
    const chunks = store.chunks(MODEL)
    const name = await chunks.add(cut({ 'a.py': ['one'] }))
    await chunks.commit([name])
    await chunks.addVectors(name, vectors([1, 0]))
    expect(chunks.segments()).toHaveLength(1)
    await chunks.clear()
    expect(chunks.segments()).toEqual([])
    expect(store.bytes()).toBe(before)
    expect(found(store, 'zebra')).toEqual(['a.txt'])
    chunks.close()
    store.close()
  })

  it('shows another process the chunks that were committed, and keeps them if it is on disk', async () => {
    const { store, open, lasts } = setUp()
    if (!lasts) return
    store.tryLock()
    const chunks = store.chunks(MODEL)
    const other = open().chunks(MODEL)
    const name = await chunks.add(cut({ 'a.py': ['one', 'two'] }))
    await chunks.commit([name])
    await chunks.addVectors(name, vectors([1, 0]))
    expect(other.segments()[0]).toMatchObject({ name, vectors: 1 })
    chunks.close()
    store.close()
    const later = open().chunks(MODEL)
    expect(nearTo(later.segments()[0], [1, 0])).toEqual([1])
    other.close()
    later.close()
  })

  it('has one writer at a time, and is there again after a restart if it is on disk', async () => {
    const { store, open, lasts, batch } = setUp()
    if (!lasts) return
    const other = open()
    expect(store.tryLock()).toBe(true)
    expect(store.tryLock()).toBe(true)
    expect(other.tryLock()).toBe(false)
    await store.commitText([await store.addText(batch({ 'a.txt': 'zebra' }))])
    expect(found(other, 'zebra')).toEqual(['a.txt'])
    store.close()
    expect(other.tryLock()).toBe(true)
    other.close()
    expect(found(open(), 'zebra')).toEqual(['a.txt'])
  })
})

it('refuses to use more memory than its bound', async () => {
  const store = new MemoryStore(100)
  const space = scratch({ 'a.txt': 'zebra '.repeat(100) })
  const batches: TextBatch[] = []
  indexFiles({ root: space.folder, files: ['a.txt'], filesPerSegment: 10 }, collector, (one) =>
    batches.push(one),
  )
  await expect(store.addText(batches[0] as TextBatch)).rejects.toMatchObject({
    code: 'IO',
    hint: /PLUGBOARD/,
  })
  expect(store.bytes()).toBe(0)
  space.remove()
})

it('counts no vector that a crash cut short, and writes the next in its place', async () => {
  const space = scratch()
  const store = new FolderStore(join(space.folder, 'cache'), '/root')
  store.tryLock()
  const chunks = store.chunks(MODEL)
  const name = await chunks.add(cut({ 'a.py': ['one', 'two'] }))
  await chunks.commit([name])
  await chunks.addVectors(name, vectors([1, 0]))
  appendFileSync(join(store.place, `${name}.vec`), 'cut')
  const [segment] = chunks.segments()
  expect(segment?.vectors).toBe(1)
  await chunks.addVectors(name, vectors([0, 1]))
  expect(nearTo(segment, [0, 1])).toEqual([0, 1])
  chunks.close()
  // One that is torn is left out, and the others stay.
  const whole = await chunks.add(cut({ 'b.py': ['three'] }))
  await chunks.commit([name, whole])
  truncateSync(join(store.place, name), 40)
  expect(chunks.segments().map((one) => one.name)).toEqual([whole])
  chunks.close()
  store.close()
  space.remove()
})

it('bounds each half of what is kept in memory on its own', async () => {
  const store = new MemoryStore(2000)
  const chunks = store.chunks(MODEL)
  await chunks.commit([await chunks.add(cut({ 'a.py': ['one'] }))])
  const large = cut({ 'b.py': Array.from({ length: 50 }, (_, n) => `text ${n}`) })
  await expect(chunks.add(large)).rejects.toMatchObject({ code: 'IO', hint: /PLUGBOARD/ })
  expect(chunks.segments()).toHaveLength(1)
})
