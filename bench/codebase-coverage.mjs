// How good semantic search is while a tree is being embedded: the same questions at several shares of vectors, against BM25.
// The vectors are the real ones of a finished index; of each segment, only as many are shown as would be there by then.
import { realpathSync } from 'node:fs'
import { Parsers } from '../packages/codebase/dist/chunks/parsers.js'
import { FolderStore } from '../packages/codebase/dist/index/folder-store.js'
import { Root } from '../packages/codebase/dist/root.js'
import { ChunkCollection } from '../packages/codebase/dist/semantic/collection.js'
import { makeEmbedder } from '../packages/codebase/dist/semantic/embedders.js'
import { MODEL } from '../packages/codebase/dist/semantic/model/weights.js'
import { rankChunks } from '../packages/codebase/dist/semantic/rank-chunks.js'
import { Results } from '../packages/codebase/dist/semantic/results.js'

export const SHARES = [0, 0.1, 0.45, 0.65, 0.85, 1]
/** Chunks that get a vector for the question: none, what a busy machine makes in 1.5 seconds, and what two idle cores do. */
export const ON_DEMAND = [0, 4, 15]

/** A segment as it is when only its first `vectors` chunks are embedded. */
function partly(segment, vectors) {
  return {
    name: segment.name,
    files: segment.files,
    lengths: segment.lengths,
    chunks: segment.chunks,
    vectors,
    meta: (chunk) => segment.meta(chunk),
    metas: () => segment.metas(),
    hits: (key) => segment.hits(key),
    scanVectors: (each) =>
      segment.scanVectors((first, records) => {
        const size = MODEL.dimensions + 4
        const shown = Math.max(0, Math.min(records.length / size, vectors - first))
        if (shown > 0) each(first, records.subarray(0, shown * size))
      }),
  }
}

function collectionAt(segments, share) {
  const total = segments.reduce((sum, { chunks }) => sum + chunks, 0)
  let left = Math.round(total * share)
  let base = 0
  return new ChunkCollection(
    segments.map((segment) => {
      const vectors = Math.min(left, segment.chunks)
      left -= vectors
      const open = {
        segment: partly(segment, vectors),
        base,
        stale: new Uint8Array(segment.files.length),
        fileOf: undefined,
      }
      base += segment.chunks
      return open
    }),
  )
}

/** All vectors by the number of their chunk. */
function recordsOf(segments) {
  const records = new Map()
  let base = 0
  const size = MODEL.dimensions + 4
  for (const segment of segments) {
    segment.scanVectors((first, bytes) => {
      for (let n = 0; n * size < bytes.length; n++)
        records.set(base + first + n, Uint8Array.from(bytes.subarray(n * size, (n + 1) * size)))
    })
    base += segment.chunks
  }
  return records
}

/** MRR@10 by share and by chunks on demand, and that of BM25; the index has to be finished. */
export async function coverageScores({ folder, pairs, cacheDir }) {
  const store = new FolderStore(cacheDir, realpathSync(folder))
  const kept = store.chunks({ id: MODEL.name, dimensions: MODEL.dimensions })
  const segments = kept.segments()
  const records = recordsOf(segments)
  const embedder = await makeEmbedder({ kind: 'built-in' })
  const root = new Root(folder)
  const parsers = new Parsers()
  const vectors = []
  for (const { query } of pairs) vectors.push(await embedder.query(query))
  const mrr = async (share, mode, onDemand) => {
    const collection = collectionAt(segments, share)
    const accepted = collection.accepted(undefined, undefined)
    let sum = 0
    for (const [n, { query, file, line }] of pairs.entries()) {
      const results = new Results(root, collection, parsers)
      const { ranked } = await rankChunks(results, {
        mode,
        query,
        vector: mode === 'text' ? undefined : vectors[n],
        accepted,
        embed: async (wanted) => new Map(wanted.slice(0, onDemand).map(({ id }) => [id, records.get(id)])),
      })
      const hits = await results.present(ranked, 10)
      const place = hits.findIndex(
        (hit) => hit.file_path === file && hit.start_line <= line && hit.end_line >= line,
      )
      if (place >= 0) sum += 1 / (place + 1)
    }
    return sum / pairs.length
  }
  const words = await mrr(1, 'text', 0)
  const table = []
  for (const onDemand of ON_DEMAND) {
    const scores = []
    for (const share of SHARES) scores.push(await mrr(share, 'hybrid', onDemand))
    table.push({ onDemand, scores })
  }
  kept.close()
  store.close()
  return { words, table, chunks: records.size }
}
