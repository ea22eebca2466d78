// semantic/chunk-batch.ts: what is kept of the chunks of some files, made on the thread that cut them: where each is, which
// terms it has, and a hash by which a stale one is noticed.
import { createHash } from 'node:crypto'
import type { Chunk } from '../chunks/chunk-types.ts'
import { packPairs } from '../index/chunk-segment.ts'
import type { ChunkBatch, ChunkedFile, ChunkMeta } from '../index/storage.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import { termKey, termsOf } from './terms.ts'

export interface CutFile extends ChunkedFile {
  readonly cut: readonly Chunk[]
}

export const hashOf = (text: string) => createHash('sha1').update(text).digest('base64url').slice(0, 16)

/** The terms a chunk is found by: its text, its file and folder, and its names, which count several times. */
export function chunkTerms(path: string, chunk: Pick<Chunk, 'text' | 'name' | 'within'>): string[] {
  const { nameCount, withinCount } = SEMANTIC_LIMITS
  const place = path
    .split('/')
    .slice(-2)
    .join(' ')
    .replace(/\.\w+$/, '')
  const times = (terms: readonly string[], count: number) => Array.from({ length: count }, () => terms).flat()
  return [
    ...termsOf(chunk.text),
    ...times(termsOf(chunk.name ?? ''), nameCount),
    ...times(termsOf(chunk.within.join(' ')), withinCount),
    ...termsOf(place),
  ]
}

export function batchOf(files: readonly CutFile[]): ChunkBatch {
  const metas: ChunkMeta[] = []
  const lengths: number[] = []
  const postings = new Map<number, number[]>()
  files.forEach((file, f) => {
    for (const chunk of file.cut) {
      const counts = new Map<number, number>()
      const terms = chunkTerms(file.path, chunk)
      for (const term of terms) counts.set(termKey(term), (counts.get(termKey(term)) ?? 0) + 1)
      for (const [key, count] of counts) {
        const list = postings.get(key)
        if (list) list.push(metas.length, count)
        else postings.set(key, [metas.length, count])
      }
      lengths.push(Math.min(terms.length, 65535))
      metas.push({
        file: f,
        startLine: chunk.startLine,
        endLine: chunk.endLine,
        kind: chunk.kind,
        ...(chunk.name !== undefined && { name: chunk.name }),
        ...(chunk.within.length > 0 && { within: chunk.within }),
        language: chunk.language,
        hash: hashOf(chunk.text),
      })
    }
  })
  const keys = Uint32Array.from([...postings.keys()].sort((a, b) => a - b))
  const offsets = new Uint32Array(keys.length + 1)
  const lists: Buffer[] = []
  keys.forEach((key, n) => {
    const packed = packPairs(postings.get(key) ?? [])
    lists.push(packed)
    offsets[n + 1] = (offsets[n] as number) + packed.length
  })
  return {
    files: files.map(({ path, size, mtimeMs }) => ({ path, size, mtimeMs })),
    metas,
    lengths: Uint16Array.from(lengths),
    postings: { keys, offsets, data: Buffer.concat(lists) },
  }
}
