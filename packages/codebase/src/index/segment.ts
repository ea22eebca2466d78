// index/segment.ts: one immutable piece of the text index: some files' names and states, and the posting lists of their
// trigrams, as bytes. Size and magic number are checked on opening, so a torn one is never read.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { TextBatch } from './storage.ts'
import { markList, unpackList } from './trigrams.ts'

/** What is known of one file at the moment it was indexed. */
export interface FileState {
  readonly path: string
  readonly size: number
  /** -1 when the file was written too recently: then it counts as changed until it is indexed again. */
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly hash: bigint
  readonly flags: number
}

export const FLAG = {
  /** Has a NUL byte where ripgrep looks first, and is skipped as binary. */
  binary: 1,
  /** In another encoding than UTF-8 by its byte order mark: the index cannot answer for it. */
  encoded: 2,
  /** Too large to be searched at all. */
  large: 4,
  /** Holds letters that fold to ASCII `k` or `s`: a search that ignores case must look inside. */
  folds: 8,
  /** Has a NUL byte further on: ripgrep searches up to about there, so only ripgrep itself can search it. */
  lateNul: 32,
  /** Gone since an earlier segment listed it. */
  gone: 16,
} as const

const MARK = 0x31545850
const FORMAT = 1
const HEADER = 64

/** The bytes of a segment, in parts to be written one after the other. */
export function packSegment({ names, numbers, hashes, flags, postings }: TextBatch): Uint8Array[] {
  const count = flags.length
  const padded = new Uint8Array((count + 7) & ~7)
  padded.set(flags)
  const header = new Uint32Array(HEADER / 4)
  header.set([MARK, FORMAT, count, postings.keys.length, names.length, postings.data.length])
  const parts = [header, numbers, hashes, padded, postings.keys, postings.offsets, names, postings.data]
  return parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
}

/** Where the bytes of a segment are read from. */
export interface SegmentBytes {
  readonly length: number
  /** A copy that begins where a number may begin. */
  read(at: number, length: number): ArrayBuffer
  close(): void
}

export class Segment {
  readonly name: string
  readonly sizes: Float64Array
  readonly mtimes: Float64Array
  readonly ctimes: Float64Array
  readonly hashes: BigUint64Array
  readonly flags: Uint8Array
  readonly #keys: Uint32Array
  readonly #offsets: Uint32Array
  readonly #names: Buffer
  /** Where each name begins, and one past the end. */
  readonly #nameAt: Uint32Array
  readonly #dataAt: number
  #bytes: SegmentBytes | undefined

  /** Throws when the bytes are torn or of another format. */
  constructor(name: string, bytes: SegmentBytes) {
    this.name = name
    this.#bytes = bytes
    const header = new Uint32Array(bytes.read(0, HEADER))
    const [mark, format, count = 0, keyCount = 0, pathBytes = 0, dataBytes = 0] = header
    const flagBytes = (count + 7) & ~7
    const tables = count * 32 + flagBytes + keyCount * 8 + 4 + pathBytes
    if (mark !== MARK || format !== FORMAT || HEADER + tables + dataBytes !== bytes.length)
      throw new Error(`${name} is not a whole segment of this format`)
    const buffer = bytes.read(HEADER, tables)
    this.sizes = new Float64Array(buffer, 0, count)
    this.mtimes = new Float64Array(buffer, count * 8, count)
    this.ctimes = new Float64Array(buffer, count * 16, count)
    this.hashes = new BigUint64Array(buffer, count * 24, count)
    this.flags = new Uint8Array(buffer, count * 32, count)
    this.#keys = new Uint32Array(buffer, count * 32 + flagBytes, keyCount)
    this.#offsets = new Uint32Array(buffer, count * 32 + flagBytes + keyCount * 4, keyCount + 1)
    this.#names = Buffer.from(buffer, count * 32 + flagBytes + keyCount * 8 + 4, pathBytes)
    this.#nameAt = nameStarts(this.#names, count)
    this.#dataAt = HEADER + tables
  }

  get files(): number {
    return this.flags.length
  }

  path(n: number): string {
    return this.#names.toString('utf8', this.#nameAt[n] as number, (this.#nameAt[n + 1] as number) - 1)
  }

  /** How many bytes the lists of these trigrams take: 0 when no file has any, and short lists are rare trigrams. */
  weight(keys: readonly number[]): number {
    let bytes = 0
    for (const key of keys) {
      const at = this.#find(key)
      if (at >= 0) bytes += (this.#offsets[at + 1] as number) - (this.#offsets[at] as number)
    }
    return bytes
  }

  list(keys: readonly number[]): number[] {
    const places = keys.map((key) => this.#find(key)).filter((at) => at >= 0)
    if (places.length <= 1) return unpackList(this.#lists(places[0] ?? -1, places[0] ?? -2))
    const has = new Uint8Array(this.files)
    for (let n = 0; n < places.length; ) {
      // Lists of neighbours lie side by side, and are read at once.
      let last = n
      while (places[last + 1] === (places[last] as number) + 1) last++
      const data = this.#lists(places[n] as number, places[last] as number)
      const start = this.#offsets[places[n] as number] as number
      for (; n <= last; n++) {
        const from = (this.#offsets[places[n] as number] as number) - start
        const to = (this.#offsets[(places[n] as number) + 1] as number) - start
        markList(data.subarray(from, to), has)
      }
    }
    const found: number[] = []
    for (let file = 0; file < has.length; file++) if (has[file] === 1) found.push(file)
    return found
  }

  #lists(first: number, last: number): Uint8Array {
    if (!this.#bytes || last < first) return new Uint8Array()
    const from = this.#offsets[first] as number
    const length = (this.#offsets[last + 1] as number) - from
    return new Uint8Array(this.#bytes.read(this.#dataAt + from, length))
  }

  close(): void {
    this.#bytes?.close()
    this.#bytes = undefined
  }

  #find(key: number): number {
    const keys = this.#keys
    let low = 0
    let high = keys.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const value = keys[middle] as number
      if (value === key) return middle
      if (value < key) low = middle + 1
      else high = middle - 1
    }
    return -1
  }
}

/** Names are kept as they are on disk and decoded when asked for: strings of them all would be most of the memory. */
function nameStarts(names: Buffer, count: number): Uint32Array {
  const starts = new Uint32Array(count + 1)
  let at = 0
  for (let n = 1; n <= count; n++) {
    const end = names.indexOf(0, at)
    at = end < 0 ? names.length + 1 : end + 1
    starts[n] = at
  }
  return starts
}

export function bytesInMemory(bytes: Uint8Array): SegmentBytes {
  return {
    length: bytes.length,
    read: (at, length) => new Uint8Array(bytes.subarray(at, at + length)).buffer,
    close: () => undefined,
  }
}

/** Bytes in a file, read piece by piece when asked for. Throws when it is missing. */
export function bytesInFile(path: string): SegmentBytes {
  const fd = openSync(path, 'r')
  return {
    length: fstatSync(fd).size,
    read: (at, length) => readAt(fd, at, length),
    close: () => closeSync(fd),
  }
}

function readAt(fd: number, position: number, length: number): ArrayBuffer {
  const buffer = new ArrayBuffer(length)
  const view = new Uint8Array(buffer)
  let done = 0
  while (done < length) {
    const read = readSync(fd, view, done, length - done, position + done)
    if (read === 0) throw new Error('a segment ended early')
    done += read
  }
  return buffer
}
