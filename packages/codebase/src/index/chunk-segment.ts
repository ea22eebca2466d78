// index/chunk-segment.ts: the bytes of one immutable piece of the semantic index: the chunks of some files, and which words are in
// which. Size and magic number are checked on opening, so a torn one is never read. Its vectors are kept beside it, because they come later.
import type { SegmentBytes } from './segment.ts'
import type { ChunkBatch, ChunkedFile, ChunkMeta, ChunkSegment, TermHit } from './storage.ts'

/** Where the vectors of a segment are read from. */
export interface VectorSource {
  /** Whole ones. */
  readonly count: number
  scan(count: number, each: (first: number, records: Uint8Array) => void): void
}

const MARK = 0x314b4350
const FORMAT = 1
const HEADER = 32
/** Keys between two that stay in memory. */
const SIGNPOST = 256

/** The bytes of a segment, in parts to be written one after the other. */
export function packChunks({ files, metas, lengths, postings }: ChunkBatch): Uint8Array[] {
  const { keys, offsets, data } = postings
  const table = Buffer.from(JSON.stringify({ files, lengths: [...lengths] }))
  const metaTexts = metas.map((meta) => Buffer.from(JSON.stringify(meta)))
  const metaOffsets = new Uint32Array(metas.length + 1)
  metaTexts.forEach((text, n) => {
    metaOffsets[n + 1] = (metaOffsets[n] as number) + text.length
  })
  const header = new Uint32Array(HEADER / 4)
  const metaBytes = metaOffsets.at(-1) ?? 0
  header.set([MARK, FORMAT, metas.length, keys.length, table.length, metaBytes, data.length])
  return [raw(header), raw(keys), raw(offsets), raw(metaOffsets), table, Buffer.concat(metaTexts), data]
}

const raw = (array: Uint32Array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

/** Pairs of a chunk's number, ascending, and a count, each number in as few bytes as it needs. */
export function packPairs(pairs: readonly number[]): Buffer {
  const out: number[] = []
  let last = -1
  for (let n = 0; n < pairs.length; n += 2) {
    pushNumber(out, (pairs[n] as number) - last)
    pushNumber(out, pairs[n + 1] as number)
    last = pairs[n] as number
  }
  return Buffer.from(out)
}

function pushNumber(out: number[], value: number): void {
  let rest = value
  for (; rest >= 128; rest >>>= 7) out.push((rest & 127) | 128)
  out.push(rest)
}

export class PackedChunks implements ChunkSegment {
  readonly name: string
  readonly files: readonly ChunkedFile[]
  readonly lengths: Uint16Array
  readonly #bytes: SegmentBytes
  readonly #vectors: VectorSource
  readonly #keyCount: number
  readonly #keysAt: number
  readonly #metaAt: number
  readonly #dataAt: number
  readonly #metaOffsetsAt: number
  #signs: Uint32Array | undefined

  constructor(name: string, bytes: SegmentBytes, vectors: VectorSource) {
    this.name = name
    this.#bytes = bytes
    this.#vectors = vectors
    const header = bytes.length < HEADER ? new ArrayBuffer(0) : bytes.read(0, HEADER)
    const [mark, format, chunks = 0, keyCount = 0, table = 0, metaBytes = 0, dataBytes = 0] = new Uint32Array(
      header,
    )
    const tables = HEADER + keyCount * 4 + (keyCount + 1) * 4 + (chunks + 1) * 4
    if (mark !== MARK || format !== FORMAT || bytes.length !== tables + table + metaBytes + dataBytes)
      throw new Error(`${name} is not a whole chunk segment of this format`)
    this.#keyCount = keyCount
    this.#keysAt = HEADER
    this.#metaOffsetsAt = HEADER + keyCount * 4 + (keyCount + 1) * 4
    this.#metaAt = tables + table
    this.#dataAt = tables + table + metaBytes
    const { files, lengths } = JSON.parse(Buffer.from(bytes.read(tables, table)).toString('utf8')) as {
      files: ChunkedFile[]
      lengths: number[]
    }
    this.files = files
    this.lengths = Uint16Array.from(lengths, (length) => Math.min(length, 65535))
  }

  get chunks(): number {
    return this.lengths.length
  }

  meta(chunk: number): ChunkMeta {
    const [from = 0, to = 0] = new Uint32Array(this.#bytes.read(this.#metaOffsetsAt + chunk * 4, 8))
    return JSON.parse(
      Buffer.from(this.#bytes.read(this.#metaAt + from, to - from)).toString('utf8'),
    ) as ChunkMeta
  }

  metas(): ChunkMeta[] {
    const offsets = new Uint32Array(this.#bytes.read(this.#metaOffsetsAt, (this.chunks + 1) * 4))
    const text = Buffer.from(this.#bytes.read(this.#metaAt, offsets.at(-1) ?? 0))
    return Array.from(
      { length: this.chunks },
      (_, n) => JSON.parse(text.subarray(offsets[n], offsets[n + 1]).toString('utf8')) as ChunkMeta,
    )
  }

  /** Looks the word up: one read finds its key, two more its list. The key table of a big tree need not stay in memory. */
  hits(key: number): TermHit[] {
    const signposts = this.#signposts()
    let low = 0
    let high = signposts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((signposts[middle] as number) <= key) low = middle + 1
      else high = middle
    }
    if (low === 0) return []
    const from = (low - 1) * SIGNPOST
    const count = Math.min(SIGNPOST, this.#keyCount - from)
    const keys = new Uint32Array(this.#bytes.read(this.#keysAt + from * 4, count * 4))
    const at = keys.indexOf(key)
    return at < 0 ? [] : this.#list(from + at)
  }

  /** Every so many keys one, read when a word is first looked up. */
  #signposts(): Uint32Array {
    if (!this.#signs) {
      const keys = new Uint32Array(this.#bytes.read(this.#keysAt, this.#keyCount * 4))
      this.#signs = Uint32Array.from(
        { length: Math.ceil(keys.length / SIGNPOST) },
        (_, n) => keys[n * SIGNPOST] as number,
      )
    }
    return this.#signs
  }

  get vectors(): number {
    return Math.min(this.#vectors.count, this.chunks)
  }

  scanVectors(each: (first: number, records: Uint8Array) => void): void {
    this.#vectors.scan(this.vectors, each)
  }

  close(): void {
    this.#bytes.close()
  }

  #list(at: number): TermHit[] {
    const [from = 0, to = 0] = new Uint32Array(this.#bytes.read(this.#keysAt + (this.#keyCount + at) * 4, 8))
    const data = new Uint8Array(this.#bytes.read(this.#dataAt + from, to - from))
    const hits: TermHit[] = []
    let chunk = -1
    for (let n = 0; n < data.length; ) {
      let value = 0
      const pair = [0, 0]
      for (let p = 0; p < 2; p++) {
        value = 0
        for (let shift = 0; ; shift += 7) {
          const byte = data[n++] as number
          value |= (byte & 127) << shift
          if (byte < 128) break
        }
        pair[p] = value
      }
      chunk += pair[0] as number
      hits.push({ chunk, count: pair[1] as number })
    }
    return hits
  }
}
