// What every place that keeps an index must do, whatever it is made of. A new store adds one line to STORES.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Scratch, scratch } from '../test-support.ts'
import { FolderStore } from './folder-store.ts'
import { indexFiles } from './indexing.ts'
import { MemoryStore } from './memory-store.ts'
import { literalQuery } from './query.ts'
import { FLAG } from './segment.ts'
import type { IndexStore, TextBatch } from './storage.ts'
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

  it('gives back what it was told of each file', async () => {
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

  it('lets the later segment speak for a file, and one that is gone be gone', async () => {
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

  it('has one writer at a time, and is there again when it lasts', async () => {
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

it('refuses to fill the memory', async () => {
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
