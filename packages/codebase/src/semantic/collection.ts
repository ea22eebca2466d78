// semantic/collection.ts: the chunks of all open segments as one collection, ranked by terms and by vectors. It never changes:
// when segments are added or removed, a new one is made, and a search goes on with the one it began with.
import { languageOf } from '../chunks/languages.ts'
import type { ChunkSegment, TermHit } from '../index/storage.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import { bm25, rarityOf, type Scores } from './score-fusion.ts'
import { termKey, termsOf } from './terms.ts'
import { type Centre, centredNearness, centreOf, nearness } from './vectors.ts'

export interface Open {
  readonly segment: ChunkSegment
  /** The number of this segment's first chunk among all. */
  readonly base: number
  /** 1 for files that are gone or are in a later segment. */
  readonly stale: Uint8Array
  fileOf: Uint32Array | undefined
}

/** Is there a file for which this segment is the latest? */
export const speaks = ({ stale }: Open) => stale.some((flag) => flag === 0)

export interface ByWords {
  readonly scores: Scores
  /** How rare each term of the question is among the chunks. */
  readonly terms: ReadonlyMap<string, number>
}

export class ChunkCollection {
  readonly opens: readonly Open[]
  #centre: { readonly of: number; readonly centre: Centre } | undefined

  constructor(opens: readonly Open[]) {
    this.opens = opens
  }

  /** How many chunks of current files are cut and embedded. */
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

  /** 1 for each chunk of a current file in that folder and language. */
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

  byWords(text: string, accepted: Uint8Array): ByWords {
    const lengths = new Uint16Array(this.size)
    for (const { segment, base } of this.opens) lengths.set(segment.lengths, base)
    const words = lengths.reduce((sum, length) => sum + length, 0)
    const terms = new Map<string, number>()
    const lists = [...new Map(termsOf(text).map((term) => [termKey(term), term]))].map(([key, term]) => {
      const all: TermHit[] = []
      for (const { segment, base } of this.opens)
        for (const { chunk, count } of segment.hits(key))
          if (accepted[base + chunk]) all.push({ chunk: base + chunk, count })
      terms.set(term, rarityOf(all.length, this.size))
      return all
    })
    const averageLength = words / Math.max(1, this.size)
    const scores = bm25({ count: this.size, averageLength, lengthOf: (id) => lengths[id] ?? 1 }, lists)
    return { scores, terms }
  }

  /** Has each of these chunks a vector? */
  isEmbedded(accepted: Uint8Array): boolean {
    return this.opens.every(
      ({ segment, base }) => !accepted.subarray(base + segment.vectors, base + segment.chunks).includes(1),
    )
  }

  /**
   * Similarity measured from the mean of all chunks: what all of them have in common says nothing. `more` has vectors of chunks
   * that have none here yet.
   */
  byVectors(
    vector: Float32Array,
    accepted: Uint8Array,
    more: ReadonlyMap<number, Uint8Array> = new Map(),
  ): Scores {
    const { mean, distances } = this.#centreOf(vector.length)
    let common = 0
    for (let n = 0; n < vector.length; n++) common += (vector[n] as number) * (mean[n] as number)
    const scores = new Float64Array(this.size).fill(Number.NaN)
    for (const { segment, base } of this.opens)
      nearness(segment, vector, (chunk, score) => {
        const id = base + chunk
        if (accepted[id]) scores[id] = (score - common) / (distances[id] || 1)
      })
    for (const [id, record] of more)
      if (accepted[id] && Number.isNaN(scores[id])) scores[id] = centredNearness(record, vector, mean)
    return scores
  }

  /** Made anew only when there are other vectors than last time. */
  #centreOf(dimensions: number): Centre {
    const of = this.opens.reduce((sum, { segment }) => sum + segment.vectors, 0)
    if (this.#centre?.of !== of) this.#centre = { of, centre: centreOf(this.opens, this.size, dimensions) }
    return this.#centre.centre
  }

  /** A good chunk is evidence for its file, so the others of that file get a share of the best one's score. */
  boostSameFile(scores: Scores): Scores {
    const lent = scores.slice()
    for (const { segment, base, fileOf } of this.opens) {
      const best = new Float64Array(segment.files.length).fill(Number.NEGATIVE_INFINITY)
      fileOf?.forEach((file, chunk) => {
        const score = scores[base + chunk] as number
        if (score > (best[file] as number)) best[file] = score
      })
      fileOf?.forEach((file, chunk) => {
        lent[base + chunk] =
          (lent[base + chunk] as number) + SEMANTIC_LIMITS.fileShare * (best[file] as number)
      })
    }
    return lent
  }

  openOf(id: number): Open | undefined {
    let found: Open | undefined
    for (const open of this.opens) if (open.base <= id) found = open
    return found
  }
}
