// semantic/vectors.ts: vectors with a byte a number, and their similarity. The store keeps them.
import { type ChunkSegment, vectorBytes } from '../index/storage.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'

/** The similarity of each vector to `query` (1 is the same direction). */
export function nearness(
  segment: Pick<ChunkSegment, 'scanVectors'>,
  query: Float32Array,
  each: (chunk: number, score: number) => void,
): void {
  const whole = new Int16Array(query.length)
  let most = 0
  for (const value of query) most = Math.max(most, Math.abs(value))
  const step = most / 2047 || 1
  query.forEach((value, n) => {
    whole[n] = Math.round(value / step)
  })
  const record = vectorBytes({ dimensions: query.length })
  segment.scanVectors((first, records) => {
    const view = new DataView(records.buffer, records.byteOffset, records.byteLength)
    const bytes = new Int8Array(records.buffer, records.byteOffset, records.byteLength)
    for (let at = 0, chunk = first; at < records.length; at += record, chunk++)
      each(chunk, dot(bytes, at + 4, whole, query.length) * step * view.getFloat32(at, true))
  })
}

/** What vectors have in common, and how far each is from that. */
export interface Centre {
  readonly mean: Float32Array
  readonly distances: Float32Array
}

interface Placed {
  readonly segment: Pick<ChunkSegment, 'scanVectors'>
  readonly base: number
}

/** The mean of few vectors is uncertain, so it is shortened. */
export function centreOf(opens: readonly Placed[], size: number, dimensions: number): Centre {
  const sum = new Float64Array(dimensions)
  const squares = new Float32Array(size)
  const record = vectorBytes({ dimensions })
  let count = 0
  for (const { segment, base } of opens)
    segment.scanVectors((first, records) => {
      const view = new DataView(records.buffer, records.byteOffset, records.byteLength)
      for (let at = 0, id = base + first; at < records.length; at += record, id++, count++) {
        const bytes = new Int8Array(records.buffer, records.byteOffset + at + 4, dimensions)
        const scale = view.getFloat32(at, true)
        let own = 0
        for (let n = 0; n < dimensions; n++) {
          const value = bytes[n] as number
          own += value * value
          sum[n] = (sum[n] as number) + scale * value
        }
        squares[id] = own * scale * scale
      }
    })
  const mean = Float32Array.from(sum, (value) => value / (count + SEMANTIC_LIMITS.centreChunks))
  let own = 0
  for (const value of mean) own += value * value
  const distances = new Float32Array(size).fill(1)
  for (const { segment, base } of opens)
    nearness(segment, mean, (chunk, score) => {
      const id = base + chunk
      distances[id] = Math.sqrt(Math.max(0, (squares[id] as number) - 2 * score + own))
    })
  return { mean, distances }
}

/** Of one record, as seen from `mean`: the cosine between it and the query, once the common part is subtracted. */
export function centredNearness(record: Uint8Array, query: Float32Array, mean: Float32Array): number {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength)
  const scale = view.getFloat32(0, true)
  let near = 0
  let distance = 0
  for (let n = 0; n < query.length; n++) {
    const own = scale * view.getInt8(4 + n) - (mean[n] as number)
    near += own * (query[n] as number)
    distance += own * own
  }
  return near / (Math.sqrt(distance) || 1)
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
  const record = new Uint8Array(vectorBytes({ dimensions: vector.length }))
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
