// meaning/collection.ts: the chunks of all open segments as one collection, ranked by words and by vectors. It never changes:
// when segments come or go, a new one is made, and a search goes on with the one it began with.
import { languageOf } from '../chunks/languages.ts'
import type { ChunkSegment, TermHit } from './chunk-segment.ts'
import { bm25, Nearest, type Ranked } from './rank.ts'
import { termKey, termsOf } from './terms.ts'
import type { VectorFile } from './vectors.ts'

export interface Open {
  readonly segment: ChunkSegment
  readonly vectors: VectorFile
  /** The number of this segment's first chunk among all. */
  readonly base: number
  /** 1 for files that a later segment, or nothing any more, speaks for. */
  readonly stale: Uint8Array
  fileOf: Uint32Array | undefined
}

/** Is there a file this segment still speaks for? */
export const speaks = ({ stale }: Open) => stale.some((flag) => flag === 0)

export type Accepts = (open: Open, chunk: number) => boolean

export class ChunkCollection {
  readonly opens: readonly Open[]

  constructor(opens: readonly Open[]) {
    this.opens = opens
  }

  get hasVectors(): boolean {
    return this.opens.some(({ vectors }) => vectors.count > 0)
  }

  /** What has been chunked and embedded of the files that are still spoken for. */
  counts(): { files: number; chunks: number; vectors: number } {
    let files = 0
    let chunks = 0
    let vectors = 0
    for (const { segment, vectors: file, stale } of this.opens.filter(speaks)) {
      files += stale.reduce((sum, flag) => sum + (1 - flag), 0)
      chunks += segment.chunks
      vectors += Math.min(file.count, segment.chunks)
    }
    return { files, chunks, vectors }
  }

  filter(language: string | undefined, path: string | undefined): Accepts {
    const folder = path === undefined || path === '.' || path === '' ? undefined : path
    const wanted = language?.toLowerCase()
    const verdicts = new Map<Open, Uint8Array>()
    return (open, chunk) => {
      let verdict = verdicts.get(open)
      if (!verdict) {
        verdict = Uint8Array.from(open.segment.files, (file, n) => {
          if (open.stale[n]) return 0
          if (folder !== undefined && file.path !== folder && !file.path.startsWith(`${folder}/`)) return 0
          return wanted === undefined || languageOf(file.path).name === wanted ? 1 : 0
        })
        verdicts.set(open, verdict)
      }
      return verdict[this.#fileOf(open, chunk)] === 1
    }
  }

  byWords(text: string, accepts: Accepts): Ranked[] {
    let count = 0
    let words = 0
    for (const { segment } of this.opens) {
      count += segment.chunks
      for (const length of segment.lengths) words += length
    }
    const keys = [...new Set(termsOf(text).map(termKey))]
    const lists = keys.map((key) => {
      const all: TermHit[] = []
      for (const open of this.opens)
        for (const hit of open.segment.hits(key))
          if (accepts(open, hit.chunk)) all.push({ chunk: open.base + hit.chunk, count: hit.count })
      return all
    })
    return bm25(
      { count, averageLength: words / Math.max(1, count), lengthOf: (id) => this.#lengthOf(id) },
      lists,
    )
  }

  byVectors(vector: Float32Array, accepts: Accepts): Ranked[] {
    const nearest = new Nearest()
    for (const open of this.opens)
      open.vectors.nearness(vector, open.segment.chunks, (chunk, score) => {
        if (accepts(open, chunk)) nearest.add(open.base + chunk, score)
      })
    return nearest.ranked()
  }

  openOf(id: number): Open | undefined {
    let found: Open | undefined
    for (const open of this.opens) if (open.base <= id) found = open
    return found
  }

  #fileOf(open: Open, chunk: number): number {
    open.fileOf ??= Uint32Array.from(open.segment.metas(), (meta) => meta.file)
    return open.fileOf[chunk] as number
  }

  #lengthOf(id: number): number {
    const open = this.openOf(id)
    return open?.segment.lengths[id - open.base] ?? 1
  }
}
