// meaning/vectors.ts: the vectors of one segment's chunks, a byte a number, in a file that only grows. A record cut short by a
// crash is not counted; its chunk is embedded again.
import { appendFileSync, closeSync, openSync, readSync, statSync, truncateSync } from 'node:fs'

export class VectorFile {
  readonly #path: string
  readonly #record: number
  readonly #dimensions: number

  constructor(path: string, dimensions: number) {
    this.#path = path
    this.#dimensions = dimensions
    this.#record = dimensions + 4
  }

  get count(): number {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
    return Math.floor(size / this.#record)
  }

  /** Cuts off a torn record; only the writer calls it. */
  repair(): void {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
    if (size % this.#record !== 0) truncateSync(this.#path, size - (size % this.#record))
  }

  append(records: readonly Uint8Array[]): void {
    appendFileSync(this.#path, Buffer.concat(records), { mode: 0o600 })
  }

  /** All records of the chunks below `limit`, block by block; `each` gets the number of the first and the bytes. */
  scan(limit: number, each: (first: number, records: Uint8Array) => void): void {
    const count = Math.min(limit, this.count)
    if (count === 0) return
    const perBlock = Math.max(1, Math.floor((4 << 20) / this.#record))
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

  /** How near each vector is to `query` (1 is the same direction). */
  nearness(query: Float32Array, limit: number, each: (chunk: number, score: number) => void): void {
    const whole = new Int16Array(query.length)
    let most = 0
    for (const value of query) most = Math.max(most, Math.abs(value))
    const step = most / 2047 || 1
    query.forEach((value, n) => {
      whole[n] = Math.round(value / step)
    })
    this.scan(limit, (first, records) => {
      const view = new DataView(records.buffer, records.byteOffset, records.byteLength)
      const bytes = new Int8Array(records.buffer, records.byteOffset, records.byteLength)
      for (let at = 0, chunk = first; at < records.length; at += this.#record, chunk++)
        each(chunk, dot(bytes, at + 4, whole, this.#dimensions) * step * view.getFloat32(at, true))
    })
  }
}

function dot(bytes: Int8Array, at: number, query: Int16Array, count: number): number {
  // Four sums at once, in whole numbers: a processor adds them side by side, and none leaves 32 bits.
  let [a, b, c, d] = [0, 0, 0, 0]
  const whole = count & ~3
  let n = 0
  for (; n < whole; n += 4) {
    const from = at + n
    a = (a + Math.imul(bytes[from] as number, query[n] as number)) | 0
    b = (b + Math.imul(bytes[from + 1] as number, query[n + 1] as number)) | 0
    c = (c + Math.imul(bytes[from + 2] as number, query[n + 2] as number)) | 0
    d = (d + Math.imul(bytes[from + 3] as number, query[n + 3] as number)) | 0
  }
  for (; n < count; n++) a = (a + Math.imul(bytes[at + n] as number, query[n] as number)) | 0
  return a + b + c + d
}

/** One vector as a record: its scale, then a byte a number. */
export function packVector(vector: Float32Array): Uint8Array {
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  const scale = most / 127 || 1
  const record = new Uint8Array(vector.length + 4)
  new DataView(record.buffer).setFloat32(0, scale, true)
  const bytes = new Int8Array(record.buffer, 4)
  vector.forEach((value, n) => {
    bytes[n] = Math.round(value / scale)
  })
  return record
}

/** The same direction, at length 1. */
export function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const factor = 1 / Math.sqrt(squares || 1)
  return vector.map((value) => value * factor)
}
