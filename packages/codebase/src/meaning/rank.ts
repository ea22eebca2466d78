// meaning/rank.ts: ranking by words (BM25) and by vectors, and the two together.
import { MEANING_LIMITS } from '../limits.ts'
import type { TermHit } from './chunk-segment.ts'

export interface Ranked {
  readonly id: number
  readonly score: number
}

/** What BM25 needs to know of a collection of chunks; ids are the caller's. */
export interface Collection {
  readonly count: number
  readonly averageLength: number
  lengthOf(id: number): number
}

/** `lists` has one entry a term of the query: the chunks that contain it. */
export function bm25(collection: Collection, lists: readonly (readonly TermHit[])[]): Ranked[] {
  const { bm25K1: k1, bm25B: b } = MEANING_LIMITS
  const scores = new Map<number, number>()
  for (const list of lists) {
    if (list.length === 0) continue
    const rarity = Math.log(1 + (collection.count - list.length + 0.5) / (list.length + 0.5))
    for (const { chunk, count } of list) {
      const norm = k1 * (1 - b + (b * collection.lengthOf(chunk)) / collection.averageLength)
      scores.set(chunk, (scores.get(chunk) ?? 0) + (rarity * count * (k1 + 1)) / (count + norm))
    }
  }
  return best([...scores].map(([id, score]) => ({ id, score })))
}

export function best(ranked: Ranked[], most: number = MEANING_LIMITS.poolSize): Ranked[] {
  return ranked.sort((x, y) => y.score - x.score || x.id - y.id).slice(0, most)
}

/** Keeps the nearest few of many without sorting them all. */
export class Nearest {
  readonly #most: number
  #kept: Ranked[] = []
  #least = Number.NEGATIVE_INFINITY

  constructor(most: number = MEANING_LIMITS.poolSize) {
    this.#most = most
  }

  add(id: number, score: number): void {
    if (score <= this.#least) return
    this.#kept.push({ id, score })
    if (this.#kept.length < this.#most * 2) return
    this.#kept = best(this.#kept, this.#most)
    this.#least = this.#kept.at(-1)?.score ?? this.#least
  }

  ranked(): Ranked[] {
    return best(this.#kept, this.#most)
  }
}

/**
 * Both rankings as one: each spreads its scores from 0 to 1, so that a clear winner counts for more than a place among equals,
 * and the two are added. `trust` weighs the vectors.
 */
export function fuse(byWords: readonly Ranked[], byVectors: readonly Ranked[], trust = 1): Ranked[] {
  const fused = new Map<number, number>()
  const add = (ranking: readonly Ranked[], weight: number) => {
    const top = ranking[0]?.score ?? 0
    // A short list of words has no tail to measure from: there, 0 is what has none of them.
    const floor = ranking.length < MEANING_LIMITS.poolSize ? 0 : (ranking.at(-1)?.score ?? 0)
    for (const { id, score } of ranking)
      fused.set(id, (fused.get(id) ?? 0) + (weight * (score - floor)) / (top - floor || 1))
  }
  add(byWords, 1)
  add(byVectors, trust * MEANING_LIMITS.vectorWeight)
  return best([...fused].map(([id, score]) => ({ id, score })))
}
