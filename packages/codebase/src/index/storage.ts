// index/storage.ts: what the rest needs of a place that keeps an index, reading and writing, and nothing about how it keeps it.
// An implementation detail with two forms: a folder of files (folder-store.ts), and memory (memory-store.ts) where the folder cannot be
// written. Reading is synchronous. storage.test.ts says what both must do.
import type { TrigramQuery } from './query.ts'
import type { FileState } from './segment.ts'
import type { Postings } from './trigrams.ts'

/** The files a query may match, as the index last saw them. */
export interface Candidate {
  readonly path: string
  readonly flags: number
}

/** What the index knows of a file, and the number it goes by in this snapshot. */
export interface PlacedState extends FileState {
  readonly place: number
}

/** Some files, as a thread has read them: in columns, because there are many. */
export interface TextBatch {
  /** A NUL between two paths. */
  readonly names: Uint8Array
  /** All sizes, then all times of change, then all times of change of the state. */
  readonly numbers: Float64Array
  readonly hashes: BigUint64Array
  readonly flags: Uint8Array
  /** Files are numbered in the order of the columns. */
  readonly postings: Postings
}

/** A batch that is kept. Its name means something to its store only. */
export interface TextSegment {
  readonly name: string
  readonly bytes: number
  readonly files: number
  readonly textBytes: number
}

/** One consistent reading of the text index. */
export interface TextSnapshot {
  readonly fileCount: number
  readonly textBytes: number
  readonly indexBytes: number
  /** Every file's place is below this. */
  readonly places: number
  /** The share of entries that later segments have replaced. */
  readonly staleShare: number
  readonly segments: readonly TextSegment[]
  has(path: string): boolean
  state(path: string): PlacedState | undefined
  paths(): Iterable<string>
  /** The files for which this segment is the latest. */
  livePaths(name: string): string[]
  /** Undefined when the query says nothing an index could use. */
  candidates(query: TrigramQuery, ignoresCase: boolean): Candidate[] | undefined
}

export interface IndexStore {
  /** Why nothing can be kept here, if so. */
  readonly unavailable: string | undefined
  /** Where the user finds it. */
  readonly place: string
  /** The newest whole snapshot, or undefined when there is none of this format; cheap when nothing changed. */
  text(): TextSnapshot | undefined
  /** Keeps a batch. It counts from the commit that names it; one that none names is swept away. Only under the lock. */
  addText(batch: TextBatch): Promise<TextSegment>
  /**
   * From here on the index consists of these segments; later ones override earlier ones. A crash leaves this or
   * the state before. Only under the lock.
   */
  commitText(segments: readonly TextSegment[]): Promise<void>
  /** Removes what no commit names. Only under the lock. */
  sweepText(): Promise<void>
  /** The other half: chunks, and the vectors this model gave them. */
  chunks(model: VectorModel): ChunkStore
  /** One writer at a time, across processes. */
  tryLock(): boolean
  unlock(): void
  bytes(): number
  drop(): void
  close(): void
}

/** The model whose vectors are kept. Vectors of different models are never compared. */
export interface VectorModel {
  /** Null when there is no model, and nothing has a vector. */
  readonly id: string | null
  readonly dimensions: number
}

/** A vector is kept as its scale (a little-endian float of 4 bytes), then a signed byte a number. */
export const vectorBytes = ({ dimensions }: Pick<VectorModel, 'dimensions'>): number => dimensions + 4

/** A file at the moment it was chunked. */
export interface ChunkedFile {
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
}

/** What is kept of a chunk besides its terms. */
export interface ChunkMeta {
  /** Its place among the files of its batch. */
  readonly file: number
  readonly startLine: number
  readonly endLine: number
  readonly kind: string
  readonly name?: string
  readonly within?: readonly string[]
  readonly language: string
  /** Of the chunk's text, so that a stale entry is noticed. */
  readonly hash: string
}

/** The chunks of some files, as a thread has cut them, in the order of the files. */
export interface ChunkBatch {
  readonly files: readonly ChunkedFile[]
  readonly metas: readonly ChunkMeta[]
  /** How many words each chunk has. */
  readonly lengths: Uint16Array
  /** By the key of a word: the chunks that have it and how often, as `packPairs` writes them. */
  readonly postings: Postings
}

export interface TermHit {
  readonly chunk: number
  readonly count: number
}

/** A batch of chunks that is kept, to be read until its store is closed. */
export interface ChunkSegment {
  readonly name: string
  readonly files: readonly ChunkedFile[]
  readonly lengths: Uint16Array
  readonly chunks: number
  meta(chunk: number): ChunkMeta
  /** Every chunk's meta at once, for a pass over all of them. */
  metas(): ChunkMeta[]
  /** The chunks that have the word with this key. */
  hits(key: number): TermHit[]
  /** So many chunks, from the first on, have a vector by now. */
  readonly vectors: number
  /** All vectors, block by block; `each` gets the number of the first, and bytes that are its own only until it returns. */
  scanVectors(each: (first: number, records: Uint8Array) => void): void
}

export interface ChunkStore {
  /** What was committed last for this model; the same array while nothing changed. One that is torn is left out. */
  segments(): readonly ChunkSegment[]
  /** Keeps a batch, and answers its name. It counts from the commit that names it. Only under the lock. */
  add(batch: ChunkBatch): Promise<string>
  /** From here on these segments are all there is, for any model. A crash leaves this or what was before. Only under the lock. */
  commit(names: readonly string[]): Promise<void>
  /** Whole vectors for the next chunks that have none; they count at once. One call at a time, only under the lock. */
  addVectors(name: string, records: Uint8Array): Promise<void>
  /** Removes what no commit for this model names. Only under the lock. */
  sweep(): Promise<void>
  /** Closes segments that a commit has replaced. Only while no search reads one. */
  release(): void
  /** Removes all chunks and vectors, of any model, also when the disk is full. Only under the lock. */
  clear(): Promise<void>
  close(): void
}

export const batchFiles = (batch: TextBatch): number => batch.flags.length

export function batchBytes(batch: TextBatch): number {
  let total = 0
  for (let n = 0; n < batch.flags.length; n++) total += batch.numbers[n] as number
  return total
}
