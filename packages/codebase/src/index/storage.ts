// index/storage.ts: what the rest needs of a place that keeps an index, and nothing about how it keeps it. The embedded
// default is a folder of files (folder-store.ts); a database can stand in its place.
import type { TrigramQuery } from './query.ts'
import type { FileState } from './segment.ts'

/** The files a query may match, as the index last saw them. */
export interface Candidate {
  readonly path: string
  readonly flags: number
}

/** What the index knows of a file, and the number it goes by in this snapshot. */
export interface PlacedState extends FileState {
  readonly place: number
}

/** One consistent reading of the text index. */
export interface TextSnapshot {
  readonly fileCount: number
  readonly textBytes: number
  readonly indexBytes: number
  /** Every file's place is below this. */
  readonly places: number
  has(path: string): boolean
  state(path: string): PlacedState | undefined
  paths(): Iterable<string>
  /** Undefined when the query says nothing an index could use. */
  candidates(query: TrigramQuery, ignoresCase: boolean): Candidate[] | undefined
}

export interface IndexStore {
  /** Why nothing can be kept here, if so. */
  readonly unavailable: string | undefined
  /** The newest whole snapshot, or undefined when there is none of this format; cheap when nothing changed. */
  text(): TextSnapshot | undefined
  /** One writer at a time, across processes. */
  tryLock(): boolean
  unlock(): void
  bytes(): number
  drop(): void
  close(): void
}
