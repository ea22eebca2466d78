// index/segment-set.ts: several segments read as one index. Where two name the same file, the later one counts.
import { FileTable } from './file-table.ts'
import { evaluate, type TrigramQuery } from './query.ts'
import { FLAG, type Segment } from './segment.ts'
import type { Candidate, PlacedState, TextSegment, TextSnapshot } from './storage.ts'

/** Segment and file number in one number; a segment holds fewer than 2^16 files. */
const SHIFT = 65536

export class SegmentSet implements TextSnapshot {
  #written: readonly TextSegment[] = []
  readonly #segments: Segment[] = []
  readonly #places = new FileTable((place) => this.#pathAt(place))
  /** Files a search must always read: in another encoding, or (when case does not matter) with letters that fold. */
  #always: { readonly path: string; readonly place: number; readonly flags: number }[] = []
  #staleCount = 0

  private constructor() {}

  /**
   * Segments that `before` has open are taken over from it. When the new list only adds to the old one, `before` itself grows:
   * taking in one changed file must not cost a walk over all the others.
   */
  static open(
    written: readonly TextSegment[],
    openSegment: (name: string) => Segment,
    before?: SegmentSet,
  ): SegmentSet {
    const known = new Map((before ? before.#segments : []).map((segment) => [segment.name, segment]))
    const opened: Segment[] = []
    try {
      const segments = written.map(({ name }) => {
        const reused = known.get(name)
        if (reused) return reused
        const segment = openSegment(name)
        opened.push(segment)
        return segment
      })
      const grows = before?.segments.every(({ name }, n) => written[n]?.name === name)
      const set = before && grows ? before : new SegmentSet()
      set.#add(segments.slice(set.#segments.length))
      set.#written = written
      return set
    } catch (error) {
      for (const segment of opened) segment.close()
      throw error
    }
  }

  #add(segments: readonly Segment[]): void {
    for (const segment of segments) {
      const first = this.#segments.push(segment) * SHIFT - SHIFT
      for (let n = 0; n < segment.files; n++)
        this.#addFile(segment.path(n), first + n, segment.flags[n] as number)
    }
    this.#always = this.#always.filter(({ path, place }) => this.#places.get(path) === place)
  }

  #addFile(path: string, place: number, flags: number): void {
    if (this.#places.get(path) !== undefined) this.#staleCount++
    if (flags & FLAG.gone) {
      this.#places.delete(path)
      this.#staleCount++
      return
    }
    this.#places.set(path, place)
    if (flags & (FLAG.encoded | FLAG.folds)) this.#always.push({ path, place, flags })
  }

  get segments(): readonly TextSegment[] {
    return this.#written
  }

  get indexBytes(): number {
    return this.#written.reduce((sum, segment) => sum + segment.bytes, 0)
  }

  get textBytes(): number {
    return this.#written.reduce((sum, segment) => sum + segment.textBytes, 0)
  }

  closeExcept(next: SegmentSet | undefined): void {
    const kept = new Set(next ? next.#segments : [])
    for (const segment of this.#segments) if (!kept.has(segment)) segment.close()
  }

  get fileCount(): number {
    return this.#places.size
  }

  get places(): number {
    return this.#segments.length * SHIFT
  }

  /** The share of entries that later segments have replaced. */
  get staleShare(): number {
    return this.#staleCount / Math.max(1, this.#staleCount + this.#places.size)
  }

  has(path: string): boolean {
    return this.#places.get(path) !== undefined
  }

  *paths(): Generator<string> {
    for (const place of this.#places.places()) yield this.#pathAt(place)
  }

  #pathAt(place: number): string {
    return this.#segments[Math.floor(place / SHIFT)]?.path(place % SHIFT) ?? ''
  }

  /** The files for which this segment is the latest. */
  livePaths(name: string): string[] {
    const s = this.#segments.findIndex((segment) => segment.name === name)
    const segment = this.#segments[s]
    const paths: string[] = []
    for (let n = 0; segment && n < segment.files; n++) {
      const path = segment.path(n)
      if (this.#places.get(path) === s * SHIFT + n) paths.push(path)
    }
    return paths
  }

  state(path: string): PlacedState | undefined {
    const place = this.#places.get(path)
    if (place === undefined) return undefined
    const segment = this.#segments[Math.floor(place / SHIFT)]
    const n = place % SHIFT
    if (!segment) return undefined
    return {
      place,
      path,
      size: segment.sizes[n] as number,
      mtimeMs: segment.mtimes[n] as number,
      ctimeMs: segment.ctimes[n] as number,
      hash: segment.hashes[n] as bigint,
      flags: segment.flags[n] as number,
    }
  }

  candidates(query: TrigramQuery, ignoresCase: boolean): Candidate[] | undefined {
    if (query.kind === 'any') return undefined
    const found: Candidate[] = []
    this.#segments.forEach((segment, s) => {
      for (const n of evaluate(query, segment)) {
        const flags = segment.flags[n] as number
        if (flags & FLAG.encoded || (ignoresCase && flags & FLAG.folds)) continue
        const path = segment.path(n)
        if (this.#places.get(path) === s * SHIFT + n) found.push({ path, flags })
      }
    })
    const always = ignoresCase ? this.#always : this.#always.filter(({ flags }) => flags & FLAG.encoded)
    return [...found, ...always].sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}
