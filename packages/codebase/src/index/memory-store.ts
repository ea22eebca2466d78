// index/memory-store.ts: an index that lives as long as its process: for a cache folder that cannot be written. It is bounded,
// because nothing gives the memory back.
import { CodebaseError } from '../errors.ts'
import { INDEX_LIMITS } from '../limits.ts'
import { ChunkTable, MemoryChunks } from './memory-chunks.ts'
import { bytesInMemory, packSegment, Segment, type SegmentBytes } from './segment.ts'
import { SegmentSet } from './segment-set.ts'
import {
  batchBytes,
  batchFiles,
  type ChunkStore,
  type IndexStore,
  type TextBatch,
  type TextSegment,
  type VectorModel,
} from './storage.ts'

export class MemoryStore implements IndexStore {
  readonly unavailable = undefined
  readonly place = 'memory'
  readonly #most: number
  readonly #kept = new Map<string, Buffer>()
  readonly #table = new ChunkTable()
  #set: SegmentSet | undefined
  #isLocked = false
  #added = 0

  constructor(most: number = INDEX_LIMITS.memoryBytes) {
    this.#most = most
  }

  text(): SegmentSet | undefined {
    return this.#set
  }

  async addText(batch: TextBatch): Promise<TextSegment> {
    const bytes = Buffer.concat(packSegment(batch))
    this.#makeRoom(this.#textBytes(), bytes.length)
    const name = `m${this.#added++}`
    this.#kept.set(name, bytes)
    return { name, bytes: bytes.length, files: batchFiles(batch), textBytes: batchBytes(batch) }
  }

  async commitText(segments: readonly TextSegment[]): Promise<void> {
    const next = SegmentSet.open(segments, (name) => new Segment(name, this.#bytesOf(name)), this.#set)
    this.#set?.closeExcept(next)
    this.#set = next
  }

  async sweepText(): Promise<void> {
    const named = new Set(this.#set?.segments.map(({ name }) => name))
    for (const name of this.#kept.keys()) if (!named.has(name)) this.#kept.delete(name)
  }

  tryLock(): boolean {
    this.#isLocked = true
    return this.#isLocked
  }

  unlock(): void {
    this.#isLocked = false
  }

  chunks(model: VectorModel): ChunkStore {
    return new MemoryChunks(this.#table, model, (bytes) => this.#makeRoom(this.#table.bytes(), bytes))
  }

  bytes(): number {
    return this.#textBytes() + this.#table.bytes()
  }

  #textBytes(): number {
    let total = 0
    for (const bytes of this.#kept.values()) total += bytes.length
    return total
  }

  drop(): void {
    this.close()
    this.#kept.clear()
    this.#table.clear()
  }

  close(): void {
    this.unlock()
    this.#set?.closeExcept(undefined)
    this.#set = undefined
  }

  #bytesOf(name: string): SegmentBytes {
    const bytes = this.#kept.get(name)
    if (!bytes) throw new CodebaseError('IO', `There is no segment ${name}.`)
    return bytesInMemory(bytes)
  }

  /** Each half has its own bound, so that neither uses up the other's. */
  #makeRoom(taken: number, bytes: number): void {
    if (taken + bytes <= this.#most) return
    throw new CodebaseError(
      'IO',
      `The index would take more than ${Math.round(this.#most / 2 ** 20)} MiB of memory.`,
      'Give it a folder that can be written (PLUGBOARD_CACHE_DIR).',
    )
  }
}
