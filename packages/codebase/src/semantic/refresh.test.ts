// What a refresh takes in, and where it stops.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Scratch, scratch } from '../fixtures/test-folders.ts'
import { CpuTurns } from '../index/cpu-turns.ts'
import { MemoryStore } from '../index/memory-store.ts'
import type { VectorModel } from '../index/storage.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import { Root } from '../root.ts'
import { SemanticIndex } from './semantic-index.ts'

const FILES = SEMANTIC_LIMITS.filesPerSegment + 20
const text = (n: number) => `def number_${n}():\n    return ${n}\n`

let tree: Scratch
let listed: string[]
let onList: () => void
let onCommit: () => void
let meaning: SemanticIndex

class TellingStore extends MemoryStore {
  override chunks(model: VectorModel) {
    const chunks = super.chunks(model)
    const commit = chunks.commit.bind(chunks)
    return Object.assign(chunks, {
      commit: async (names: readonly string[]) => {
        await commit(names)
        onCommit()
      },
    })
  }
}

beforeEach(() => {
  tree = scratch()
  listed = Array.from({ length: FILES }, (_, n) => `f${n}.py`)
  listed.forEach((path, n) => {
    tree.write(path, text(n))
  })
  onList = () => undefined
  onCommit = () => undefined
  meaning = new SemanticIndex({
    root: new Root(tree.folder),
    realRoot: tree.folder,
    store: new TellingStore(),
    choice: { kind: 'none' },
    model: undefined,
    threads: 1,
    turns: new CpuTurns(),
    list: async () => {
      onList()
      return listed
    },
  })
})
afterEach(async () => {
  await meaning.close()
  tree.remove()
})

describe('an abort of a rebuild', () => {
  it('before anything was removed rejects and leaves all as it was', async () => {
    await meaning.refresh()
    await expect(meaning.rebuild(AbortSignal.abort(new Error('never mind')))).rejects.toThrow('never mind')
    expect(meaning.coverage().files_indexed).toBe(FILES)
  })

  it('while the files are listed keeps them from being read', async () => {
    const stop = new AbortController()
    onList = () => stop.abort()
    await meaning.rebuild(stop.signal)
    expect(meaning.coverage().files_indexed).toBe(0)
  })

  it('between two segments stops it there, is no failure, and a later refresh goes on', async () => {
    const stop = new AbortController()
    onCommit = () => stop.abort()
    await meaning.rebuild(stop.signal)
    expect(meaning.coverage().files_indexed).toBe(SEMANTIC_LIMITS.filesPerSegment)
    expect(meaning.failure).toBeUndefined()
    await meaning.refresh()
    expect(meaning.coverage().files_indexed).toBe(FILES)
  })
})

describe('a file that is gone', () => {
  it('does not count again when another changes', async () => {
    await meaning.refresh()
    listed = listed.slice(1)
    await meaning.refresh()
    expect(meaning.coverage()).toMatchObject({ files: FILES - 1, files_indexed: FILES - 1 })
    tree.write('f5.py', `${text(5)}\n${text(500)}`)
    await meaning.refresh()
    expect(meaning.coverage()).toMatchObject({ files: FILES - 1, files_indexed: FILES - 1 })
  })

  it('counts once more when it is back', async () => {
    const all = listed
    await meaning.refresh()
    listed = all.slice(1)
    await meaning.refresh()
    listed = all
    await meaning.refresh()
    expect(meaning.coverage()).toMatchObject({ files: FILES, files_indexed: FILES })
  })
})
