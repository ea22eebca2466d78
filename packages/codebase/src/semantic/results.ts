// semantic/results.ts: from numbers of chunks to the result of a search. Every chunk is read from its file and checked against what was
// indexed; each file is read once a search.
import { chunkText } from '../chunks/chunk.ts'
import type { Parsers } from '../chunks/parsers.ts'
import { CodebaseError } from '../errors.ts'
import { decodeText, readBytes } from '../files.ts'
import type { ChunkMeta } from '../index/storage.ts'
import { CHUNK_LIMITS, FILE_LIMITS, SEMANTIC_LIMITS } from '../limits.ts'
import type { Root } from '../root.ts'
import { hashOf } from './chunk-batch.ts'
import type { ChunkCollection } from './collection.ts'
import { type Rarities, rerankScore } from './rerank.ts'
import type { Ranked } from './score-fusion.ts'
import type { SemanticHit } from './semantic-query.ts'

interface Read {
  readonly path: string
  readonly meta: ChunkMeta
  readonly text: string
}

/** Files with lines longer than a chunk that one search cuts again, and their characters together: this blocks the main thread. */
const CUT_AGAIN = { files: 10, chars: 2 * FILE_LIMITS.semanticBytes } as const

/** Its text is there, is not, or was not checked. */
type Check = { readonly is: 'there'; readonly text: string } | { readonly is: 'gone' | 'unknown' }

export class Results {
  readonly collection: ChunkCollection
  readonly #root: Root
  readonly #files = new Map<string, string | undefined>()
  readonly #parsers: Parsers
  /** The texts of the chunks of files that were cut again, by where they stand and their hash. */
  readonly #cuts = new Map<string, ReadonlyMap<string, string>>()
  #cutChars = 0

  constructor(root: Root, collection: ChunkCollection, parsers: Parsers) {
    this.#root = root
    this.collection = collection
    this.#parsers = parsers
  }

  /** The first few in a new order, by what their text shows; the rest after them as they were. */
  async rerank(ranked: readonly Ranked[], asked: Rarities): Promise<Ranked[]> {
    const { closerLooks } = SEMANTIC_LIMITS
    const first: Ranked[] = []
    for (const { id, score } of ranked.slice(0, closerLooks)) {
      const read = await this.#read(id)
      if (read)
        first.push({ id, score: score + rerankScore(asked, { name: read.meta.name, text: read.text }) })
    }
    return [...first.sort((a, b) => b.score - a.score || a.id - b.id), ...ranked.slice(closerLooks)]
  }

  async present(ranked: readonly Ranked[], most: number): Promise<SemanticHit[]> {
    const hits: SemanticHit[] = []
    for (const { id, score } of ranked) {
      if (hits.length >= most) break
      const read = await this.#read(id)
      if (!read) continue
      const { path, meta, text } = read
      hits.push({
        file_path: path,
        start_line: meta.startLine,
        end_line: meta.endLine,
        kind: meta.kind,
        ...(meta.name !== undefined && { name: meta.name }),
        ...(meta.within && { within: [...meta.within] }),
        language: meta.language,
        text,
        score: Math.round(score * 1e6) / 1e6,
      })
    }
    return hits
  }

  /** Undefined when the chunk's text is gone, and its file then no longer counts, or when checking would take too long. */
  async #read(id: number): Promise<Read | undefined> {
    const open = this.collection.openOf(id)
    if (!open) return undefined
    const meta = open.segment.meta(id - open.base)
    const path = open.segment.files[meta.file]?.path ?? ''
    const file = await this.#file(path)
    const check: Check = file === undefined ? { is: 'gone' } : await this.#check(path, file, meta)
    if (check.is === 'there') return { path, meta, text: check.text }
    if (check.is === 'gone') open.stale[meta.file] = 1
    return undefined
  }

  async #check(path: string, file: string, meta: ChunkMeta): Promise<Check> {
    const lines = linesOf(file, meta.startLine, meta.endLine)
    if (hashOf(lines) === meta.hash) return { is: 'there', text: lines }
    // Only a line that fills a chunk is ever cut inside; all other chunks are whole lines.
    if (lines.length < CHUNK_LIMITS.maxChars) return { is: 'gone' }
    const cut = await this.#cut(path, file)
    if (!cut) return { is: 'unknown' }
    const text = cut.get(placeOf(meta, meta.hash))
    return text === undefined ? { is: 'gone' } : { is: 'there', text }
  }

  /** Undefined when this search has cut enough. */
  async #cut(path: string, file: string): Promise<ReadonlyMap<string, string> | undefined> {
    const known = this.#cuts.get(path)
    if (known) return known
    if (this.#cuts.size >= CUT_AGAIN.files || this.#cutChars + file.length > CUT_AGAIN.chars) return undefined
    this.#cutChars += file.length
    const chunks = await chunkText(path, file, this.#parsers)
    const cut = new Map(chunks.map((chunk) => [placeOf(chunk, hashOf(chunk.text)), chunk.text]))
    this.#cuts.set(path, cut)
    return cut
  }

  async #file(path: string): Promise<string | undefined> {
    if (!this.#files.has(path)) this.#files.set(path, await this.#textOf(path))
    return this.#files.get(path)
  }

  async #textOf(path: string): Promise<string | undefined> {
    try {
      const { bytes } = await readBytes(this.#root, path, FILE_LIMITS.semanticBytes)
      return decodeText(bytes, path).text
    } catch (error) {
      if (error instanceof CodebaseError) return undefined
      throw error
    }
  }
}

const placeOf = ({ startLine, endLine }: Pick<ChunkMeta, 'startLine' | 'endLine'>, hash: string) =>
  `${startLine}-${endLine} ${hash}`

/** Both counted from 1, the last one with its newline. */
function linesOf(text: string, first: number, last: number): string {
  let from = 0
  for (let line = 1; line < first; line++) from = text.indexOf('\n', from) + 1
  let to = from
  for (let line = first; line <= last; line++) {
    const next = text.indexOf('\n', to)
    to = next < 0 ? text.length : next + 1
  }
  return text.slice(from, to)
}
