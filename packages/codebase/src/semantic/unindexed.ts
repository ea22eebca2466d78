// semantic/unindexed.ts: a result by terms before anything is indexed: ripgrep names the files that contain the rarest words of
// the question, the best of them are chunked at once, and BM25 ranks their chunks.

import { languageOf } from '../chunks/languages.ts'
import { CodebaseError } from '../errors.ts'
import type { TermHit } from '../index/storage.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import { isShown } from '../protected-names.ts'
import { ripgrepNames } from '../ripgrep.ts'
import { chunkTerms } from './chunk-batch.ts'
import { best, bm25 } from './score-fusion.ts'
import type { SemanticHit, SemanticQuery } from './semantic-query.ts'
import { termsOf } from './terms.ts'

/** What it needs of a codebase. */
export interface Readable {
  real(): Promise<string>
  ripgrep(): Promise<string>
  chunkFile(path: string): Promise<{
    file_path: string
    chunks: readonly Omit<SemanticHit, 'file_path' | 'score'>[] | readonly ChunkInfo[]
  }>
}

/** One chunk of a file as it is shown. */
export interface ChunkInfo {
  readonly start_line: number
  readonly end_line: number
  readonly kind: string
  readonly name?: string
  readonly within?: readonly string[]
  readonly language: string
  readonly text: string
}

const WORDS_MAX = 6

export async function rankUnindexed(
  code: Readable,
  query: SemanticQuery,
  signal?: AbortSignal,
): Promise<SemanticHit[]> {
  const terms = [...new Set(termsOf(query.query))]
  const searched = [...terms]
    .filter((term) => term.length > 2)
    .sort((a, b) => b.length - a.length)
    .slice(0, WORDS_MAX)
  const scores = new Map<string, number>()
  for (const term of searched) {
    const files = await filesWith(code, term, query.path, signal)
    for (const file of files) scores.set(file, (scores.get(file) ?? 0) + 1 / Math.log(2 + files.length))
  }
  const wanted = query.language?.toLowerCase()
  const likely = [...scores]
    .filter(([file]) => wanted === undefined || languageOf(file).name === wanted)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, SEMANTIC_LIMITS.filesOnTheSpot)
  const chunks: { path: string; chunk: ChunkInfo; terms: string[] }[] = []
  for (const [path] of likely) {
    signal?.throwIfAborted()
    for (const chunk of await chunksOf(code, path))
      chunks.push({
        path,
        chunk,
        terms: chunkTerms(path, { ...chunk, name: chunk.name, within: chunk.within ?? [] }),
      })
  }
  const lists = terms.map((term) =>
    chunks.flatMap(({ terms: own }, id): TermHit[] => {
      const count = own.reduce((sum, other) => sum + (other === term ? 1 : 0), 0)
      return count > 0 ? [{ chunk: id, count }] : []
    }),
  )
  const words = chunks.reduce((sum, { terms: own }) => sum + own.length, 0)
  const collection = {
    count: chunks.length,
    averageLength: words / Math.max(1, chunks.length),
    lengthOf: (id: number) => chunks[id]?.terms.length ?? 1,
  }
  return best(bm25(collection, lists), 0)
    .slice(0, query.maxResults)
    .flatMap(({ id, score }) => {
      const found = chunks[id]
      if (!found) return []
      const { within, ...chunk } = found.chunk
      return [{ file_path: found.path, ...chunk, ...(within && { within: [...within] }), score }]
    })
}

/** A stem matches as a part of a word, which is what a stem is for. */
async function filesWith(
  code: Readable,
  term: string,
  path: string | undefined,
  signal?: AbortSignal,
): Promise<string[]> {
  const names: string[] = []
  const args = [
    '--files-with-matches',
    '--ignore-case',
    '--fixed-strings',
    `--regexp=${term}`,
    '--',
    `./${path ?? ''}`,
  ]
  const cwd = await code.real()
  await ripgrepNames(await code.ripgrep(), args, { cwd, signal }, (name) => {
    // What was named itself has been admitted.
    const below = path !== undefined && name.startsWith(`${path}/`) ? name.slice(path.length + 1) : name
    if (name === path || isShown(below)) names.push(name)
  })
  return names
}

async function chunksOf(code: Readable, path: string): Promise<readonly ChunkInfo[]> {
  try {
    return (await code.chunkFile(path)).chunks
  } catch (error) {
    // Binary, too large or gone: the other files still count.
    if (error instanceof CodebaseError) return []
    throw error
  }
}
