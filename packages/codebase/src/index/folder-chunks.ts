// index/folder-chunks.ts: the semantic half of the embedded index: in the same folder, immutable segments of chunks, beside each a
// file of vectors that only grows, and one small manifest that names them. A crash leaves the old manifest or the new one; a
// vector cut short by it is not counted, and its chunk is embedded again.
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CodebaseError } from '../errors.ts'
import { replaceFile, writeWhole } from './atomic-write.ts'
import { PackedChunks, packChunks, type VectorSource } from './chunk-segment.ts'
import { bytesInFile } from './segment.ts'
import { type ChunkBatch, type ChunkStore, type VectorModel, vectorBytes } from './storage.ts'

const VERSION = 2
const BLOCK_BYTES = 4 << 20

interface Manifest {
  readonly version: number
  readonly root: string
  readonly model: string | null
  readonly segments: readonly string[]
}

export class FolderChunks implements ChunkStore {
  readonly #folder: string
  readonly #root: string
  readonly #model: VectorModel
  #open: readonly PackedChunks[] = []
  /** Segments that were replaced; a search may still be reading them. */
  readonly #retired: PackedChunks[] = []
  #seen = '[]'
  #added = 0

  constructor(folder: string, root: string, model: VectorModel) {
    this.#folder = folder
    this.#root = root
    this.#model = model
  }

  segments(): readonly PackedChunks[] {
    const names = this.#manifest()?.segments ?? []
    const now = JSON.stringify(names)
    if (now === this.#seen) return this.#open
    const known = new Map(this.#open.map((segment) => [segment.name, segment]))
    const next: PackedChunks[] = []
    for (const name of names) {
      const segment = known.get(name) ?? this.#openSegment(name)
      if (segment) next.push(segment)
      known.delete(name)
    }
    this.#retired.push(...known.values())
    this.#open = next
    this.#seen = now
    return next
  }

  async add(batch: ChunkBatch): Promise<string> {
    const name = `${Date.now().toString(36)}-${process.pid}-${Math.floor(performance.now())}${this.#added++}.chk`
    await writeWhole(join(this.#folder, name), packChunks(batch))
    return name
  }

  async commit(names: readonly string[]): Promise<void> {
    const manifest: Manifest = {
      version: VERSION,
      root: this.#root,
      model: this.#model.id,
      segments: names,
    }
    replaceFile(this.#manifestPath, JSON.stringify(manifest))
  }

  async addVectors(name: string, records: Uint8Array): Promise<void> {
    await this.#vectorsOf(name).append(records)
  }

  async sweep(): Promise<void> {
    const named = new Set(this.#manifest()?.segments)
    for (const name of readdirSync(this.#folder)) {
      const segment = /^(.+\.chk)(?:\.vec)?$/.exec(name)?.[1]
      if (segment !== undefined && !named.has(segment)) rmSync(join(this.#folder, name), { force: true })
    }
  }

  release(): void {
    for (const segment of this.#retired.splice(0)) segment.close()
  }

  async clear(): Promise<void> {
    rmSync(this.#manifestPath, { force: true })
    await this.sweep()
  }

  close(): void {
    this.release()
    for (const segment of this.#open) segment.close()
    this.#open = []
    this.#seen = '[]'
  }

  get #manifestPath(): string {
    return join(this.#folder, 'meaning.json')
  }

  #manifest(): Manifest | undefined {
    try {
      const found = JSON.parse(readFileSync(this.#manifestPath, 'utf8')) as Manifest
      const fits = found.version === VERSION && found.root === this.#root && found.model === this.#model.id
      return fits ? found : undefined
    } catch {
      // Missing or not readable: nothing was chunked yet.
      return undefined
    }
  }

  #vectorsOf(name: string): VectorFile {
    return new VectorFile(join(this.#folder, `${name}.vec`), vectorBytes(this.#model))
  }

  #openSegment(name: string): PackedChunks | undefined {
    try {
      const bytes = bytesInFile(join(this.#folder, name))
      try {
        return new PackedChunks(name, bytes, this.#vectorsOf(name))
      } catch (error) {
        bytes.close()
        throw error
      }
    } catch {
      // Missing, torn or of another format: the files are the source of truth.
      return undefined
    }
  }
}

class VectorFile implements VectorSource {
  readonly #path: string
  readonly #record: number

  constructor(path: string, record: number) {
    this.#path = path
    this.#record = record
  }

  get count(): number {
    return Math.floor(this.#size / this.#record)
  }

  get #size(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
  }

  async append(records: Uint8Array): Promise<void> {
    if (records.length % this.#record !== 0)
      throw new CodebaseError('IO', `Vectors of ${this.#record} bytes each cannot make ${records.length}.`)
    const torn = this.#size % this.#record
    if (torn !== 0) truncateSync(this.#path, this.#size - torn)
    await appendFile(this.#path, records, { mode: 0o600 })
  }

  scan(count: number, each: (first: number, records: Uint8Array) => void): void {
    if (count === 0) return
    const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / this.#record))
    const buffer = new Uint8Array(Math.min(perBlock, count) * this.#record)
    const fd = openSync(this.#path, 'r')
    try {
      for (let first = 0; first < count; first += perBlock) {
        const wanted = Math.min(perBlock, count - first) * this.#record
        let done = 0
        while (done < wanted) {
          const read = readSync(fd, buffer, done, wanted - done, first * this.#record + done)
          if (read === 0) return
          done += read
        }
        each(first, buffer.subarray(0, wanted))
      }
    } finally {
      closeSync(fd)
    }
  }
}
