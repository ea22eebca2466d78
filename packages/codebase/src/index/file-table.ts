// index/file-table.ts: a map from path to the entry that holds for it, for some hundred thousand files in a few megabytes: two
// numbers a file, and the names stay where they were read from.

const FREE = 0
const REMOVED = 0xffffffff

/** Places are below 2^32 - 2. */
export class FileTable {
  readonly #nameAt: (place: number) => string
  /** One more than the place, so that 0 is free. */
  #places = new Uint32Array(1024)
  #hashes = new Uint32Array(1024)
  #used = 0
  #size = 0

  constructor(nameAt: (place: number) => string) {
    this.#nameAt = nameAt
  }

  get size(): number {
    return this.#size
  }

  get(path: string): number | undefined {
    const slot = this.#find(path, hashOf(path))
    return slot < 0 ? undefined : (this.#places[slot] as number) - 1
  }

  set(path: string, place: number): void {
    const hash = hashOf(path)
    const known = this.#find(path, hash)
    if (known >= 0) {
      this.#places[known] = place + 1
      return
    }
    if (this.#used * 2 >= this.#places.length) this.#grow()
    this.#put(hash, place + 1)
    this.#size++
  }

  delete(path: string): void {
    const slot = this.#find(path, hashOf(path))
    if (slot < 0) return
    this.#places[slot] = REMOVED
    this.#size--
  }

  *places(): Generator<number> {
    for (const stored of this.#places) if (stored !== FREE && stored !== REMOVED) yield stored - 1
  }

  #find(path: string, hash: number): number {
    const mask = this.#places.length - 1
    for (let slot = hash & mask; this.#places[slot] !== FREE; slot = (slot + 1) & mask) {
      const stored = this.#places[slot] as number
      if (this.#hashes[slot] === hash && stored !== REMOVED && this.#nameAt(stored - 1) === path) return slot
    }
    return -1
  }

  #put(hash: number, stored: number): void {
    const mask = this.#places.length - 1
    let slot = hash & mask
    while (this.#places[slot] !== FREE) slot = (slot + 1) & mask
    this.#places[slot] = stored
    this.#hashes[slot] = hash
    this.#used++
  }

  #grow(): void {
    const [places, hashes] = [this.#places, this.#hashes]
    let room = 1024
    while (room < (this.#size + 1) * 4) room *= 2
    this.#places = new Uint32Array(room)
    this.#hashes = new Uint32Array(room)
    this.#used = 0
    places.forEach((stored, slot) => {
      if (stored !== FREE && stored !== REMOVED) this.#put(hashes[slot] as number, stored)
    })
  }
}

function hashOf(path: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < path.length; n++) hash = Math.imul(hash ^ path.charCodeAt(n), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
