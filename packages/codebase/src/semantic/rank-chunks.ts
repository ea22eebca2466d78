// semantic/rank-chunks.ts: one question against one collection: by terms, by vectors, or both, also while many chunks have no vector yet.
// It is given the vectors that were made for the question, and does not make any.
import { SEMANTIC_LIMITS } from '../limits.ts'
import type { WantedChunk } from './on-demand.ts'
import { raritiesOf } from './rerank.ts'
import type { Results } from './results.ts'
import { best, fuse, type Ranked, type Scores } from './score-fusion.ts'
import type { SemanticMode } from './semantic-query.ts'

export interface Ranking {
  readonly ranked: readonly Ranked[]
  /** Chunks that got a vector for this question. */
  readonly embedded: number
}

export interface RankedQuestion {
  readonly mode: SemanticMode
  readonly query: string
  /** Undefined: only terms are used. */
  readonly vector: Float32Array | undefined
  readonly accepted: Uint8Array
  /** Vectors for the best chunks by terms that have none, as many as there is time for. */
  readonly embed?: ((wanted: readonly WantedChunk[]) => Promise<ReadonlyMap<number, Uint8Array>>) | undefined
}

export async function rankChunks(results: Results, question: RankedQuestion): Promise<Ranking> {
  const { collection } = results
  const { mode, query, vector, accepted, embed } = question
  const isWhole = collection.isEmbedded(accepted)
  const byWords = mode === 'vector' && isWhole && vector ? undefined : collection.byWords(query, accepted)
  if (!vector || mode === 'text') return { ranked: byWords ? best(byWords.scores, 0) : [], embedded: 0 }
  const made =
    byWords && !isWhole && embed
      ? await embed(wantedOf(results, byWords.scores))
      : new Map<number, Uint8Array>()
  const byVectors = collection.byVectors(vector, accepted, made)
  const embedded = made.size
  if (mode === 'vector') {
    const near = best(byVectors)
    const seen = new Set(near.map(({ id }) => id))
    const rest = byWords ? best(byWords.scores, 0).filter(({ id }) => !seen.has(id)) : []
    return { ranked: [...near, ...rest.map(({ id }) => ({ id, score: 0 }))], embedded }
  }
  if (!byWords) return { ranked: best(byVectors), embedded }
  const both = fuse(byWords.scores, byVectors, accepted)
  const ranked = await results.rerank(
    best(collection.boostSameFile(both)),
    raritiesOf(byWords.terms, collection.size),
  )
  return { ranked, embedded }
}

/** The best by terms that have no vector, the best first. */
function wantedOf(results: Results, byWords: Scores): WantedChunk[] {
  const { collection } = results
  return best(byWords, 0)
    .slice(0, SEMANTIC_LIMITS.onDemandChunks)
    .flatMap(({ id }) => {
      const open = collection.openOf(id)
      if (!open || id - open.base < open.segment.vectors) return []
      const { file, hash } = open.segment.meta(id - open.base)
      return [{ id, path: open.segment.files[file]?.path ?? '', hash }]
    })
}
