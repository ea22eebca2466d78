// semantic/score-fusion.ts: ranking by terms (BM25) and by vectors, and the two together. Every chunk has a score, by its number, so
// that each is ranked by both.
import type { TermHit } from '../index/storage.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'

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
  const { bm25K1: k1, bm25B: b } = SEMANTIC_LIMITS
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
  const most = SEMANTIC_LIMITS.poolSize
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
 * Fusion: what counts is by how many standard deviations a chunk stands out among all, by its terms and by its vector.
 * While vectors are missing, two rules keep chunks that have one from passing those that do not yet: a chunk without a
 * vector is taken to be as near as chunks with its terms are on average, and vectors weigh only as much as the best by terms
 * have of them. `accepted` leaves chunks out.
 */
export function fuse(byWords: Scores, byVectors: Scores, accepted: Uint8Array): Scores {
  const compared = best(
    byWords.map((score, id) => (accepted[id] ? score : Number.NaN)),
    0,
  ).slice(0, SEMANTIC_LIMITS.trustedChunks)
  const all = spreadOf(byVectors, accepted)
  // With few vectors it is not known what is near: then they only sort the best by terms, and put none of these behind the others.
  const isFew = all.count < SEMANTIC_LIMITS.spreadChunks && compared.length > 0
  const nearnesses = isFew ? onlyOf(byVectors, compared) : byVectors
  const words = spreadOf(byWords, accepted)
  const vectors = isFew ? spreadOf(nearnesses, accepted) : all
  const from = isFew ? vectors.least : vectors.mean
  // The share of the best by terms that have a vector; with none by terms, only vectors count.
  const having = compared.filter(({ id }) => !Number.isNaN(nearnesses[id])).length
  const trust = compared.length === 0 ? 1 : having / compared.length
  const slope = isFew ? 0 : slopeOf(byWords, nearnesses, accepted, { words, vectors })
  // Among the best by terms, one without a vector counts as the average of those that have one.
  const average = isFew && having > 0 ? (vectors.mean - from) / vectors.deviation : 0
  const first = new Set(compared.map(({ id }) => id))
  return byWords.map((score, id) => {
    if (!accepted[id]) return Number.NaN
    const near = nearnesses[id] as number
    const byWord = (score - words.mean) / words.deviation
    const expected = isFew ? (first.has(id) ? average : 0) : slope * Math.max(0, byWord)
    const standing = Number.isNaN(near) ? expected : (near - from) / vectors.deviation
    return byWord + SEMANTIC_LIMITS.vectorWeight * trust * standing
  })
}

function onlyOf(scores: Scores, some: readonly Ranked[]): Scores {
  const only = new Float64Array(scores.length).fill(Number.NaN)
  for (const { id } of some) only[id] = scores[id] as number
  return only
}

/** How much nearer a chunk is for each standard deviation that its words stand out, among those that have both. */
function slopeOf(
  byWords: Scores,
  byVectors: Scores,
  accepted: Uint8Array,
  { words, vectors }: { readonly words: Spread; readonly vectors: Spread },
): number {
  let products = 0
  let squares = 0
  let count = 0
  byVectors.forEach((near, id) => {
    if (!accepted[id] || Number.isNaN(near)) return
    const byWord = ((byWords[id] as number) - words.mean) / words.deviation
    if (byWord <= 0) return
    count++
    products += (byWord * (near - vectors.mean)) / vectors.deviation
    squares += byWord * byWord
  })
  return count < SEMANTIC_LIMITS.spreadChunks ? 0 : Math.max(0, products / (squares || 1))
}

interface Spread {
  readonly count: number
  readonly mean: number
  readonly deviation: number
  readonly least: number
}

function spreadOf(scores: Scores, accepted: Uint8Array): Spread {
  let count = 0
  let sum = 0
  let squares = 0
  let least = Number.POSITIVE_INFINITY
  scores.forEach((score, id) => {
    if (!accepted[id] || Number.isNaN(score)) return
    count++
    sum += score
    squares += score * score
    least = Math.min(least, score)
  })
  const mean = sum / Math.max(1, count)
  const deviation = Math.sqrt(Math.max(0, squares / Math.max(1, count) - mean * mean)) || 1
  return { count, mean, deviation, least }
}
