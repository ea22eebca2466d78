// meaning/rank.ts: ranking by words (BM25) and by vectors, and the two together. Scores are kept for every chunk, by its number, so
// that each chunk is judged by both.
import type { TermHit } from '../index/storage.ts'
import { MEANING_LIMITS } from '../limits.ts'

export interface Ranked {
  readonly id: number
  readonly score: number
}

/** What BM25 needs to know of a collection of chunks; ids are the caller's, from 0. */
export interface Collection {
  readonly count: number
  readonly averageLength: number
  lengthOf(id: number): number
}

/** A score for each chunk; NaN for those that have none. */
export type Scores = Float64Array

/** `lists` has one entry a term of the query: the chunks that contain it. Chunks without any score 0. */
export function bm25(collection: Collection, lists: readonly (readonly TermHit[])[]): Scores {
  const { bm25K1: k1, bm25B: b } = MEANING_LIMITS
  const scores = new Float64Array(collection.count)
  for (const list of lists) {
    if (list.length === 0) continue
    const rarity = rarityOf(list.length, collection.count)
    for (const { chunk, count } of list) {
      const norm = k1 * (1 - b + (b * collection.lengthOf(chunk)) / collection.averageLength)
      scores[chunk] = (scores[chunk] as number) + (rarity * count * (k1 + 1)) / (count + norm)
    }
  }
  return scores
}

/** What a term counts that `having` chunks of `count` contain. */
export const rarityOf = (having: number, count: number) =>
  Math.log(1 + (count - having + 0.5) / (having + 0.5))

/** The best few above `least`, without sorting them all. */
export function best(scores: Scores, least = Number.NEGATIVE_INFINITY): Ranked[] {
  const most = MEANING_LIMITS.poolSize
  let kept: Ranked[] = []
  let bar = least
  const cut = () => {
    kept = kept.sort((x, y) => y.score - x.score || x.id - y.id).slice(0, most)
  }
  scores.forEach((score, id) => {
    // A NaN is above nothing.
    if (!(score > bar)) return
    kept.push({ id, score })
    if (kept.length < most * 2) return
    cut()
    bar = kept.at(-1)?.score ?? bar
  })
  cut()
  return kept
}

/**
 * Both as one: what counts is by how many standard deviations a chunk stands out among all of them, by its words and by its vector.
 * A chunk that has no vector yet is taken for an average one. `accepted` leaves chunks out.
 */
export function fuse(byWords: Scores, byVectors: Scores, accepted: Uint8Array): Scores {
  const words = spreadOf(byWords, accepted)
  const vectors = spreadOf(byVectors, accepted)
  return byWords.map((score, id) => {
    if (!accepted[id]) return Number.NaN
    const near = byVectors[id] as number
    const standing = Number.isNaN(near) ? 0 : (near - vectors.mean) / vectors.deviation
    return (score - words.mean) / words.deviation + MEANING_LIMITS.vectorWeight * standing
  })
}

function spreadOf(scores: Scores, accepted: Uint8Array): { mean: number; deviation: number } {
  let count = 0
  let sum = 0
  let squares = 0
  scores.forEach((score, id) => {
    if (!accepted[id] || Number.isNaN(score)) return
    count++
    sum += score
    squares += score * score
  })
  const mean = sum / Math.max(1, count)
  return { mean, deviation: Math.sqrt(Math.max(0, squares / Math.max(1, count) - mean * mean)) || 1 }
}
