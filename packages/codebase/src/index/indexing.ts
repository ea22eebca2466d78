// index/indexing.ts: reads files into batches for the index; runs inside a worker thread. It knows neither ignore rules (it
// is given the files) nor where batches are kept.
import { isAscii } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_LIMITS } from '../limits.ts'
import { type FileState, FLAG } from './segment.ts'
import type { TextBatch } from './storage.ts'
import { PIECE_BYTES, type Postings, type TrigramCollector } from './trigrams.ts'

export interface IndexJob {
  readonly root: string
  readonly files: readonly string[]
  readonly filesPerSegment: number
}

/** A file written within this time may change again without its times showing it. */
const WARM_MS = 50

const FOLDING = [Buffer.from('\u212a'), Buffer.from('\u017f')] as const

/** Indexes the files in order; calls `onProgress` now and then, and stops early when it returns false. */
export function indexFiles(
  job: IndexJob,
  collector: TrigramCollector,
  onBatch: (batch: TextBatch) => void,
  onProgress: (files: number) => boolean = () => true,
): void {
  let states: FileState[] = []
  const flush = () => {
    if (states.length > 0) onBatch(inColumns(states, collector.pack()))
    states = []
  }
  for (let n = 0; n < job.files.length; n++) {
    const state = indexFile(job.root, job.files[n] as string, collector)
    states.push(state)
    if (!collector.hasRoom || states.length >= job.filesPerSegment) flush()
    if (n % 500 === 499 && !onProgress(n + 1)) return
  }
  flush()
}

function inColumns(files: readonly FileState[], postings: Postings): TextBatch {
  const count = files.length
  const numbers = new Float64Array(count * 3)
  const hashes = new BigUint64Array(count)
  const flags = new Uint8Array(count)
  files.forEach((file, n) => {
    numbers[n] = file.size
    numbers[count + n] = file.mtimeMs
    numbers[count * 2 + n] = file.ctimeMs
    hashes[n] = file.hash
    flags[n] = file.flags
  })
  const names = Uint8Array.from(Buffer.from(files.map(({ path }) => path).join('\0')))
  return { names, numbers, hashes, flags, postings }
}

/** A file that cannot be read is recorded as gone, so that numbers and names stay aligned. */
function indexFile(root: string, path: string, collector: TrigramCollector): FileState {
  collector.begin()
  let fd: number | undefined
  try {
    fd = openSync(
      join(root, path),
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    )
    const stats = fstatSync(fd)
    if (!stats.isFile()) return { ...nothing(path), hash: collector.end() }
    const isLarge = stats.size > FILE_LIMITS.searchBytes
    const flags = isLarge ? FLAG.large : collectFile(fd, collector)
    const isWarm = Date.now() - stats.mtimeMs < WARM_MS
    return {
      path,
      size: stats.size,
      mtimeMs: isWarm ? -1 : stats.mtimeMs,
      ctimeMs: stats.ctimeMs,
      hash: collector.end(),
      flags,
    }
  } catch {
    // Gone or not readable: ripgrep skips it too.
    return { ...nothing(path), hash: collector.end() }
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

const nothing = (path: string) => ({ path, size: 0, mtimeMs: -1, ctimeMs: -1, flags: FLAG.gone })

/** ripgrep reads this much at first; a NUL byte in it makes the whole file binary. */
export const FIRST_LOOK_BYTES = 65536

function collectFile(fd: number, collector: TrigramCollector): number {
  let flags = 0
  let isCut = false
  const { input } = collector
  for (let position = 0; ; ) {
    const length = fill(fd, input, position)
    if (length === 0) return flags
    const piece = input.subarray(0, length)
    if (position === 0 && hasOtherEncoding(piece)) flags |= FLAG.encoded
    if (!isCut) {
      const nul = piece.indexOf(0)
      isCut = nul >= 0
      if (isCut) flags |= position + nul < FIRST_LOOK_BYTES ? FLAG.binary : FLAG.lateNul
      collector.piece(nul < 0 ? length : position + nul < FIRST_LOOK_BYTES ? 0 : nul)
    }
    if (!isAscii(piece)) {
      if (FOLDING.some((letter) => piece.includes(letter)) || length === PIECE_BYTES) flags |= FLAG.folds
    }
    collector.mix(length)
    if (length < PIECE_BYTES) return flags
    position += length
  }
}

function fill(fd: number, input: Uint8Array, position: number): number {
  let length = 0
  while (length < PIECE_BYTES) {
    const wanted = PIECE_BYTES - length
    const read = readSync(fd, input, length, wanted, position + length)
    length += read
    // A regular file returns all there is: a short read is its end.
    if (read < wanted) break
  }
  return length
}

function hasOtherEncoding(piece: Uint8Array): boolean {
  const [a, b] = piece
  return (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)
}
