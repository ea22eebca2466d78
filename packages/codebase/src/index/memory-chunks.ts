// index/memory-chunks.ts: the semantic half of an index that lives as long as its process. All that open it share one state.
import { CodebaseError } from '../errors.ts'
import { PackedChunks, packChunks, type VectorSource } from './chunk-segment.ts'
import { bytesInMemory } from './segment.ts'
import { type ChunkBatch, type ChunkStore, type VectorModel, vectorBytes } from './storage.ts'

/** What is kept, for whichever model committed last. */
export class ChunkTable {
  readonly kept = new Map<string, Shelved>()
  committed: { readonly model: string | null; readonly segments: readonly PackedChunks[] } | undefined
  added = 0

  bytes(): number {
    let total = 0
    for (const { bytes, vectors } of this.kept.values()) total += bytes + vectors.bytes
    return total
  }

  clear(): void {
    this.kept.clear()
    this.committed = undefined
  }
}

interface Shelved {
  readonly segment: PackedChunks
  readonly bytes: number
  readonly vectors: VectorArray
}

const NONE: readonly PackedChunks[] = []

export class MemoryChunks implements ChunkStore {
  readonly #table: ChunkTable
  readonly #model: VectorModel
  readonly #makeRoom: (bytes: number) => void

  /** `makeRoom` throws when that much more may not be taken. */
  constructor(table: ChunkTable, model: VectorModel, makeRoom: (bytes: number) => void) {
    this.#table = table
    this.#model = model
    this.#makeRoom = makeRoom
  }

  segments(): readonly PackedChunks[] {
    const { committed } = this.#table
    return committed?.model === this.#model.id ? committed.segments : NONE
  }

  async add(batch: ChunkBatch): Promise<string> {
    const bytes = Buffer.concat(packChunks(batch))
    // Memory for the vectors is reserved now, so that a segment that fits can be embedded whole.
    const vectors = this.#model.id === null ? 0 : batch.metas.length
    this.#makeRoom(bytes.length + vectors * vectorBytes(this.#model))
    const name = `c${this.#table.added++}`
    const array = new VectorArray(vectors, vectorBytes(this.#model))
    const segment = new PackedChunks(name, bytesInMemory(bytes), array)
    this.#table.kept.set(name, { segment, bytes: bytes.length, vectors: array })
    return name
  }

  async commit(names: readonly string[]): Promise<void> {
    const segments = names.map((name) => this.#shelved(name).segment)
    this.#table.committed = { model: this.#model.id, segments }
  }

  async addVectors(name: string, records: Uint8Array): Promise<void> {
    this.#shelved(name).vectors.append(records)
  }

  async sweep(): Promise<void> {
    const named = new Set(this.segments().map(({ name }) => name))
    for (const name of this.#table.kept.keys()) if (!named.has(name)) this.#table.kept.delete(name)
  }

  release(): void {
    // Nothing is open: unread data is left to the garbage collector.
  }

  async clear(): Promise<void> {
    this.#table.clear()
  }

  close(): void {
    // Nothing is open: the shared state holds the data.
  }

  #shelved(name: string): Shelved {
    const found = this.#table.kept.get(name)
    if (!found) throw new CodebaseError('IO', `There is no segment ${name}.`)
    return found
  }
}

class VectorArray implements VectorSource {
  readonly #record: number
  readonly #all: Uint8Array
  #used = 0

  constructor(most: number, record: number) {
    this.#record = record
    this.#all = new Uint8Array(most * record)
  }

  get bytes(): number {
    return this.#all.length
  }

  get count(): number {
    return this.#used / this.#record
  }

  append(records: Uint8Array): void {
    if (records.length % this.#record !== 0 || this.#used + records.length > this.#all.length)
      throw new CodebaseError('IO', `Vectors of ${this.#record} bytes each cannot make ${records.length}.`)
    this.#all.set(records, this.#used)
    this.#used += records.length
  }

  scan(count: number, each: (first: number, records: Uint8Array) => void): void {
    if (count > 0) each(0, this.#all.subarray(0, count * this.#record))
  }
}
