// meaning/chunk-segment.ts: one immutable file of the meaning index: the chunks of some files, and which words are in which.
// Vectors stand beside it in a file that only grows, one record a chunk in order, so embedding can stop and go on anywhere.
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Chunk } from '../chunks/shape.ts'
import { replaceFile } from '../index/durable.ts'
import { MEANING_LIMITS } from '../limits.ts'
import { termKey, termsOf } from './terms.ts'

export interface ChunkedFile {
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
  readonly chunks: readonly Chunk[]
}

/** What is kept of a chunk besides its words. */
export interface ChunkMeta {
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

interface FileMeta {
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
}

const MARK = 0x314b4350
const FORMAT = 1
const HEADER = 32
/** Keys between two that stay in memory. */
const SIGNPOST = 256

export const hashOf = (text: string) => createHash('sha1').update(text).digest('base64url').slice(0, 16)

/** The words a chunk is found by: its text, its file and folder, and its names, which count several times. */
export function chunkTerms(path: string, chunk: Pick<Chunk, 'text' | 'name' | 'within'>): string[] {
  const { nameCount, withinCount } = MEANING_LIMITS
  const place = path
    .split('/')
    .slice(-2)
    .join(' ')
    .replace(/\.\w+$/, '')
  const times = (terms: readonly string[], count: number) => Array.from({ length: count }, () => terms).flat()
  return [
    ...termsOf(chunk.text),
    ...times(termsOf(chunk.name ?? ''), nameCount),
    ...times(termsOf(chunk.within.join(' ')), withinCount),
    ...termsOf(place),
  ]
}

export function writeChunkSegment(target: string, files: readonly ChunkedFile[]): number {
  const metas: ChunkMeta[] = []
  const lengths: number[] = []
  const postings = new Map<number, number[]>()
  files.forEach((file, f) => {
    for (const chunk of file.chunks) {
      const counts = new Map<number, number>()
      const terms = chunkTerms(file.path, chunk)
      for (const term of terms) counts.set(termKey(term), (counts.get(termKey(term)) ?? 0) + 1)
      for (const [key, count] of counts) {
        const list = postings.get(key)
        if (list) list.push(metas.length, count)
        else postings.set(key, [metas.length, count])
      }
      lengths.push(terms.length)
      metas.push({
        file: f,
        startLine: chunk.startLine,
        endLine: chunk.endLine,
        kind: chunk.kind,
        ...(chunk.name !== undefined && { name: chunk.name }),
        ...(chunk.within.length > 0 && { within: chunk.within }),
        language: chunk.language,
        hash: hashOf(chunk.text),
      })
    }
  })
  const keys = Uint32Array.from([...postings.keys()].sort((a, b) => a - b))
  const offsets = new Uint32Array(keys.length + 1)
  const lists: Buffer[] = []
  keys.forEach((key, n) => {
    const packed = packPairs(postings.get(key) ?? [])
    lists.push(packed)
    offsets[n + 1] = (offsets[n] as number) + packed.length
  })
  const fileTable = files.map(({ path, size, mtimeMs }): FileMeta => ({ path, size, mtimeMs }))
  const table = Buffer.from(JSON.stringify({ files: fileTable, lengths }))
  const metaTexts = metas.map((meta) => Buffer.from(JSON.stringify(meta)))
  const metaOffsets = new Uint32Array(metas.length + 1)
  metaTexts.forEach((text, n) => {
    metaOffsets[n + 1] = (metaOffsets[n] as number) + text.length
  })
  const header = new Uint32Array(HEADER / 4)
  header.set([
    MARK,
    FORMAT,
    metas.length,
    keys.length,
    table.length,
    metaOffsets.at(-1) ?? 0,
    offsets.at(-1) ?? 0,
  ])
  const bytes = Buffer.concat([
    raw(header),
    raw(keys),
    raw(offsets),
    raw(metaOffsets),
    table,
    ...metaTexts,
    ...lists,
  ])
  replaceFile(target, bytes)
  return metas.length
}

const raw = (array: Uint32Array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)

function packPairs(pairs: readonly number[]): Buffer {
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

export interface TermHit {
  readonly chunk: number
  readonly count: number
}

export class ChunkSegment {
  readonly name: string
  readonly files: readonly FileMeta[]
  /** How many words each chunk has. */
  readonly lengths: Uint16Array
  readonly #fd: number
  readonly #keyCount: number
  readonly #keysAt: number
  readonly #metaAt: number
  readonly #dataAt: number
  readonly #metaOffsetsAt: number
  #signs: Uint32Array | undefined

  private constructor(name: string, fd: number) {
    this.name = name
    this.#fd = fd
    const [mark, format, chunks = 0, keyCount = 0, table = 0, metaBytes = 0, dataBytes = 0] = new Uint32Array(
      read(fd, 0, HEADER).buffer,
    )
    const tables = HEADER + keyCount * 4 + (keyCount + 1) * 4 + (chunks + 1) * 4
    if (mark !== MARK || format !== FORMAT || fstatSync(fd).size !== tables + table + metaBytes + dataBytes)
      throw new Error(`${name} is not a whole chunk segment of this format`)
    this.#keyCount = keyCount
    this.#keysAt = HEADER
    this.#metaOffsetsAt = HEADER + keyCount * 4 + (keyCount + 1) * 4
    this.#metaAt = tables + table
    this.#dataAt = tables + table + metaBytes
    const { files, lengths } = JSON.parse(Buffer.from(read(fd, tables, table)).toString('utf8')) as {
      files: FileMeta[]
      lengths: number[]
    }
    this.files = files
    this.lengths = Uint16Array.from(lengths, (length) => Math.min(length, 65535))
  }

  static open(path: string, name: string): ChunkSegment {
    const fd = openSync(path, 'r')
    try {
      return new ChunkSegment(name, fd)
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  get chunks(): number {
    return this.lengths.length
  }

  meta(chunk: number): ChunkMeta {
    const [from = 0, to = 0] = new Uint32Array(read(this.#fd, this.#metaOffsetsAt + chunk * 4, 8).buffer)
    return JSON.parse(
      Buffer.from(read(this.#fd, this.#metaAt + from, to - from)).toString('utf8'),
    ) as ChunkMeta
  }

  /** Every chunk's meta at once, for a pass over all of them. */
  metas(): ChunkMeta[] {
    const offsets = new Uint32Array(read(this.#fd, this.#metaOffsetsAt, (this.chunks + 1) * 4).buffer)
    const text = Buffer.from(read(this.#fd, this.#metaAt, offsets.at(-1) ?? 0))
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
    const keys = new Uint32Array(read(this.#fd, this.#keysAt + from * 4, count * 4).buffer)
    const at = keys.indexOf(key)
    return at < 0 ? [] : this.#list(from + at)
  }

  /** Every so many keys one, read when a word is first looked up. */
  #signposts(): Uint32Array {
    if (!this.#signs) {
      const keys = new Uint32Array(read(this.#fd, this.#keysAt, this.#keyCount * 4).buffer)
      this.#signs = Uint32Array.from(
        { length: Math.ceil(keys.length / SIGNPOST) },
        (_, n) => keys[n * SIGNPOST] as number,
      )
    }
    return this.#signs
  }

  close(): void {
    closeSync(this.#fd)
  }

  #list(at: number): TermHit[] {
    const [from = 0, to = 0] = new Uint32Array(
      read(this.#fd, this.#keysAt + (this.#keyCount + at) * 4, 8).buffer,
    )
    const data = read(this.#fd, this.#dataAt + from, to - from)
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

function read(fd: number, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const count = readSync(fd, bytes, done, length - done, position + done)
    if (count === 0) throw new Error('a chunk segment ended early')
    done += count
  }
  return bytes
}
