// index/trigrams.ts: collects which files contain which trigrams, and packs that into posting lists. The loops over bytes
// are WebAssembly (wasm/trigrams.wat); this owns their memory.
import { TRIGRAMS_WASM } from '../kernels.ts'
import { startKernel, WASM_PAGE, type WasmMemory } from '../wasm.ts'
import { CLASSES, neverCollected, TRIGRAM_COUNT } from './byte-classes.ts'

export interface Postings {
  /** Ascending. */
  readonly keys: Uint32Array
  /** Where each key's list begins in `data`; one more at the end. */
  readonly offsets: Uint32Array
  readonly data: Uint8Array
}

interface Kernel {
  readonly memory: WasmMemory
  collect(ptr: number, length: number, state: number, generation: number, out: number): number
  tail(end: number): number
  measure(from: number, to: number, file: number): void
  write(from: number, to: number, file: number): void
  hash(ptr: number, length: number, seed: bigint): bigint
}

// The layout of wasm/trigrams.wat.
const SEEN = 0x1000
const LAST = 0x50000
const SIZES = 0x100000
const FOUND = 0x200000

const NEVER = 255
const GENERATIONS = 254
/** A file is read and collected in pieces of this size, so that a huge one needs no more memory than a small one. */
export const PIECE_BYTES = 1 << 20
/** Files of one segment are numbered in 16 bits. */
const FILES_MAX = 60_000

export class TrigramCollector {
  readonly #kernel: Kernel
  readonly #unseen = new Uint8Array(TRIGRAM_COUNT)
  readonly #capacity: number
  readonly #lists: number
  readonly #input: number
  /** Buffer for the next piece of a file; read into it, then call `piece`. */
  readonly input: Buffer
  #generation = 0
  #out = FOUND
  /** Where each file's trigrams end. */
  #ends: number[] = []
  #state = 0
  #hash = 0n

  /** `capacity` is how many (file, trigram) pairs one segment holds. */
  constructor(capacity: number) {
    this.#capacity = capacity
    for (const key of neverCollected()) this.#unseen[key] = NEVER
    this.#lists = FOUND + capacity * 4
    // A gap takes one byte mostly, three at most; the average is near 1.2.
    this.#input = this.#lists + capacity * 2 + WASM_PAGE
    this.#kernel = startKernel<Kernel>(TRIGRAMS_WASM)
    const { memory } = this.#kernel
    memory.grow(
      Math.ceil((this.#input + PIECE_BYTES + 16) / WASM_PAGE) - memory.buffer.byteLength / WASM_PAGE,
    )
    new Uint8Array(memory.buffer, 0, 256).set(CLASSES)
    this.input = Buffer.from(memory.buffer, this.#input, PIECE_BYTES + 8)
    this.#forget()
  }

  get files(): number {
    return this.#ends.length
  }

  get isEmpty(): boolean {
    return this.#ends.length === 0
  }

  /** False when the next file might not fit: pack first. */
  get hasRoom(): boolean {
    return (this.#out - FOUND) / 4 + TRIGRAM_COUNT < this.#capacity && this.#ends.length < FILES_MAX
  }

  begin(): void {
    if (this.#generation === GENERATIONS) this.#forget()
    this.#generation++
    this.#state = 0
    this.#hash = 0n
  }

  piece(length: number): void {
    const { collect, tail } = this.#kernel
    this.#out = collect(this.#input, length, this.#state, this.#generation, this.#out)
    if (length >= 2) this.#state = tail(this.#input + length)
  }

  /** Adds a piece to the file's fingerprint only. */
  mix(length: number): void {
    const padded = (length + 7) & ~7
    this.input.fill(0, length, padded)
    this.#hash = this.#kernel.hash(this.#input, padded, this.#hash ^ BigInt(length))
  }

  /** Ends the file and returns its fingerprint. */
  end(): bigint {
    this.#ends.push(this.#out)
    return BigInt.asUintN(64, this.#hash)
  }

  /** The posting lists of all files so far; the collector is empty afterwards. */
  pack(): Postings {
    const { memory, measure, write } = this.#kernel
    const last = new Uint16Array(memory.buffer, LAST, TRIGRAM_COUNT)
    const sizes = new Uint32Array(memory.buffer, SIZES, TRIGRAM_COUNT)
    last.fill(0)
    sizes.fill(0)
    this.#eachFile(measure)
    let keyCount = 0
    for (let key = 0; key < TRIGRAM_COUNT; key++) if (sizes[key] !== 0) keyCount++
    const keys = new Uint32Array(keyCount)
    const offsets = new Uint32Array(keyCount + 1)
    let total = 0
    for (let key = 0, n = 0; key < TRIGRAM_COUNT; key++) {
      const size = sizes[key] as number
      if (size === 0) continue
      keys[n] = key
      offsets[n++] = total
      sizes[key] = this.#lists + total
      total += size
    }
    offsets[keyCount] = total
    if (this.#lists + total > this.#input) throw new RangeError('posting lists outgrew their room')
    last.fill(0)
    this.#eachFile(write)
    const data = new Uint8Array(memory.buffer, this.#lists, total).slice()
    this.#ends = []
    this.#out = FOUND
    return { keys, offsets, data }
  }

  #eachFile(step: (from: number, to: number, file: number) => void): void {
    let from = FOUND
    // Files count from 1, so that a gap is never 0.
    this.#ends.forEach((end, file) => {
      step(from, end, file + 1)
      from = end
    })
  }

  #forget(): void {
    const seen = new Uint8Array(this.#kernel.memory.buffer, SEEN, TRIGRAM_COUNT)
    seen.set(this.#unseen)
    this.#generation = 0
  }
}

/** Reads one list back as file numbers from 0, ascending. */
export function unpackList(data: Uint8Array): number[] {
  const files: number[] = []
  eachInList(data, (file) => files.push(file))
  return files
}

/** Sets a mark for every file of a list. */
export function markList(data: Uint8Array, marks: Uint8Array): void {
  eachInList(data, (file) => {
    marks[file] = 1
  })
}

function eachInList(data: Uint8Array, each: (file: number) => void): void {
  let number = 0
  let gap = 0
  let shift = 0
  for (let n = 0; n < data.length; n++) {
    const byte = data[n] as number
    gap |= (byte & 127) << shift
    if (byte & 128) {
      shift += 7
      continue
    }
    number += gap
    each(number - 1)
    gap = 0
    shift = 0
  }
}
