// meaning/collection.ts: the chunks of all open segments as one collection, ranked by words and by vectors. It never changes:
// when segments come or go, a new one is made, and a search goes on with the one it began with.
import { languageOf } from '../chunks/languages.ts'
import type { ChunkSegment, TermHit } from '../index/storage.ts'
import { bm25, type Scores } from './rank.ts'
import { termKey, termsOf } from './terms.ts'
import { nearness } from './vectors.ts'

export interface Open {
  readonly segment: ChunkSegment
  /** The number of this segment's first chunk among all. */
  readonly base: number
  /** 1 for files that a later segment, or nothing any more, speaks for. */
  readonly stale: Uint8Array
  fileOf: Uint32Array | undefined
}

/** Is there a file this segment still speaks for? */
export const speaks = ({ stale }: Open) => stale.some((flag) => flag === 0)

export class ChunkCollection {
  readonly opens: readonly Open[]

  constructor(opens: readonly Open[]) {
    this.opens = opens
  }

  get hasVectors(): boolean {
    return this.opens.some(({ segment }) => segment.vectors > 0)
  }

  /** What has been chunked and embedded of the files that are still spoken for. */
  counts(): { files: number; chunks: number; vectors: number } {
    let files = 0
    let chunks = 0
    let vectors = 0
    for (const { segment, stale } of this.opens.filter(speaks)) {
      files += stale.reduce((sum, flag) => sum + (1 - flag), 0)
      chunks += segment.chunks
      vectors += segment.vectors
    }
    return { files, chunks, vectors }
  }

  get size(): number {
    const last = this.opens.at(-1)
    return last ? last.base + last.segment.chunks : 0
  }

  /** 1 for each chunk of a file that is spoken for, in that folder and language. */
  accepted(language: string | undefined, path: string | undefined): Uint8Array {
    const folder = path === undefined || path === '.' || path === '' ? undefined : path
    const wanted = language?.toLowerCase()
    const accepted = new Uint8Array(this.size)
    for (const open of this.opens) {
      const verdict = open.segment.files.map((file, n) => {
        if (open.stale[n]) return 0
        if (folder !== undefined && file.path !== folder && !file.path.startsWith(`${folder}/`)) return 0
        return wanted === undefined || languageOf(file.path).name === wanted ? 1 : 0
      })
      open.fileOf ??= Uint32Array.from(open.segment.metas(), (meta) => meta.file)
      open.fileOf.forEach((file, chunk) => {
        accepted[open.base + chunk] = verdict[file] ?? 0
      })
    }
    return accepted
  }

  byWords(text: string, accepted: Uint8Array): Scores {
    const lengths = new Uint16Array(this.size)
    for (const { segment, base } of this.opens) lengths.set(segment.lengths, base)
    const words = lengths.reduce((sum, length) => sum + length, 0)
    const keys = [...new Set(termsOf(text).map(termKey))]
    const lists = keys.map((key) => {
      const all: TermHit[] = []
      for (const { segment, base } of this.opens)
        for (const { chunk, count } of segment.hits(key))
          if (accepted[base + chunk]) all.push({ chunk: base + chunk, count })
      return all
    })
    const averageLength = words / Math.max(1, this.size)
    return bm25({ count: this.size, averageLength, lengthOf: (id) => lengths[id] ?? 1 }, lists)
  }

  byVectors(vector: Float32Array, accepted: Uint8Array): Scores {
    const scores = new Float64Array(this.size).fill(Number.NaN)
    for (const { segment, base } of this.opens)
      nearness(segment, vector, (chunk, score) => {
        if (accepted[base + chunk]) scores[base + chunk] = score
      })
    return scores
  }

  openOf(id: number): Open | undefined {
    let found: Open | undefined
    for (const open of this.opens) if (open.base <= id) found = open
    return found
  }
}
