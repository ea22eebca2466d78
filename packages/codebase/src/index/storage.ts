// index/storage.ts: what the rest needs of a place that keeps an index, reading and writing, and nothing about how it keeps it.
// The embedded default is a folder of files (folder-store.ts); memory (memory-store.ts) or a database can stand in its place.
// storage.test.ts says what every one of them must do.
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
  /** The files for which this segment still speaks. */
  livePaths(name: string): string[]
  /** Undefined when the query says nothing an index could use. */
  candidates(query: TrigramQuery, ignoresCase: boolean): Candidate[] | undefined
}

export interface IndexStore {
  /** Why nothing can be kept here, if so. */
  readonly unavailable: string | undefined
  /** Where a person finds it. */
  readonly place: string
  /** The newest whole snapshot, or undefined when there is none of this format; cheap when nothing changed. */
  text(): TextSnapshot | undefined
  /** Keeps a batch. It counts from the commit that names it; one that none names is swept away. Only under the lock. */
  addText(batch: TextBatch): Promise<TextSegment>
  /**
   * From here on the index is these segments, the later ones speaking for a file before the earlier. A crash leaves this or
   * what was before. Only under the lock.
   */
  commitText(segments: readonly TextSegment[]): Promise<void>
  /** Removes what no commit names. Only under the lock. */
  sweepText(): Promise<void>
  /** One writer at a time, across processes. */
  tryLock(): boolean
  unlock(): void
  bytes(): number
  drop(): void
  close(): void
}

export const batchFiles = (batch: TextBatch): number => batch.flags.length

export function batchBytes(batch: TextBatch): number {
  let total = 0
  for (let n = 0; n < batch.flags.length; n++) total += batch.numbers[n] as number
  return total
}
