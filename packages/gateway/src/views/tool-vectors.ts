// tool-vectors.ts: how near an embedding model finds tools to a query. Vectors are made in the background, kept by the text they stand for,
// and in a file for the next process. Ranking is core's ToolIndex; without all vectors it goes by words alone.
import { createHash } from 'node:crypto'
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import { isObject } from '../json-rpc.ts'

/** Turns texts into vectors of length 1. */
export interface TextEmbedder {
  /** Vectors of models with different ids are not compared. */
  readonly id: string
  readonly dimensions: number
  embed(text: string): Promise<Float32Array>
  close(): Promise<void>
}

/**
 * Which model makes the vectors, and where they are kept.
 *
 * @example
 * const embed = async (text: string) => new Float32Array([Math.min(1, text.length)])
 * const options: ToolVectorsOptions = {
 *   embedder: { id: 'length', dimensions: 1, embed, close: async () => {} },
 *   failed: (error) => console.error(error),
 * }
 * await new ToolVectors(options).close()
 */
export interface ToolVectorsOptions {
  readonly embedder: TextEmbedder
  /** Where vectors are kept; without it in memory alone. */
  readonly file?: string
  /** Called once, when the model or the file fails: search goes on by words. */
  readonly failed?: (error: unknown) => void
}

const VECTORS_MOST = 20_000
const FILE_BYTES = 32 * 1024 * 1024
/** A client does not wait longer for the query's own vector. */
const QUERY_MS = 500
/** One byte a number: the numbers of a vector of length 1 with hundreds of them are small. */
const SCALE = 400

/**
 * Vectors of tools, so that search mode finds them by meaning too.
 *
 * @example
 * const embed = async (text: string) => new Float32Array([Math.min(1, text.length)])
 * const vectors = new ToolVectors({ embedder: { id: 'length', dimensions: 1, embed, close: async () => {} } })
 * const texts = ['files: read. Reads a file.']
 * await vectors.prepare(texts)
 * console.log((await vectors.nearness('show a file', texts))?.length) // 1
 * await vectors.close()
 */
export class ToolVectors {
  readonly #embedder: TextEmbedder
  readonly #file: string | undefined
  readonly #failed: (error: unknown) => void
  /** By a hash of the text, the oldest first. */
  readonly #vectors = new Map<string, Int8Array>()
  readonly #wanted = new Map<string, string>()
  /** The vectors of a list of texts, once there are all. */
  readonly #complete = new WeakMap<readonly string[], readonly Int8Array[]>()
  #opened: Promise<void> | undefined
  #working: Promise<void> | undefined
  #isBroken = false
  #isClosed = false

  constructor({ embedder, file, failed }: ToolVectorsOptions) {
    this.#embedder = embedder
    this.#file = file
    this.#failed = failed ?? (() => undefined)
  }

  /** Begins to make the vectors that are missing. Resolves when there are none left, or the model failed. */
  async prepare(texts: readonly string[]): Promise<void> {
    this.#opened ??= this.#open()
    await this.#opened
    for (const text of texts.slice(0, VECTORS_MOST)) {
      const key = keyOf(text)
      if (!this.#vectors.has(key)) this.#wanted.set(key, text)
    }
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
    await this.#working
  }

  /** How near each text is to the query, from -1 to 1. Undefined while vectors are missing. */
  async nearness(query: string, texts: readonly string[]): Promise<Float32Array | undefined> {
    const known = this.#known(texts)
    if (!known) return undefined
    const asked = await this.#queryVector(query)
    if (!asked) return undefined
    return Float32Array.from(known, (vector) => dot(asked, vector))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wanted.clear()
    // What is being made fails with it.
    await this.#embedder.close()
    await this.#working
  }

  #known(texts: readonly string[]): readonly Int8Array[] | undefined {
    if (this.#isBroken) return undefined
    const complete = this.#complete.get(texts)
    if (complete) return complete
    const known: Int8Array[] = []
    for (const text of texts) {
      const vector = this.#vectors.get(keyOf(text))
      if (!vector) {
        void this.prepare(texts)
        return undefined
      }
      known.push(vector)
    }
    this.#complete.set(texts, known)
    return known
  }

  async #queryVector(query: string): Promise<Float32Array | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((done) => {
      timer = setTimeout(() => done(undefined), QUERY_MS)
    })
    try {
      return await Promise.race([this.#embedder.embed(query), late])
    } catch (error) {
      if (!this.#isClosed) this.#break(error)
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  async #work(): Promise<void> {
    let made = 0
    for (const [key, text] of this.#wanted) {
      if (this.#isClosed || this.#isBroken) break
      try {
        this.#vectors.set(key, packed(await this.#embedder.embed(text)))
        made++
      } catch (error) {
        if (!this.#isClosed) this.#break(error)
      }
      this.#wanted.delete(key)
    }
    for (const key of this.#vectors.keys()) {
      if (this.#vectors.size <= VECTORS_MOST) break
      this.#vectors.delete(key)
    }
    if (made > 0) await this.#save()
  }

  #break(error: unknown): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#wanted.clear()
    this.#failed(error)
  }

  async #open(): Promise<void> {
    if (this.#file === undefined) return
    const outcome = await readTextFile(this.#file, FILE_BYTES)
    if (outcome.kind !== 'text') return
    try {
      const value: unknown = JSON.parse(outcome.text)
      if (!isObject(value) || value.model !== this.#embedder.id || !isObject(value.vectors)) return
      for (const [key, bytes] of Object.entries(value.vectors).slice(0, VECTORS_MOST)) {
        const vector = typeof bytes === 'string' ? Int8Array.from(Buffer.from(bytes, 'base64')) : undefined
        if (vector?.length === this.#embedder.dimensions) this.#vectors.set(key, vector)
      }
    } catch {
      // A broken file counts as empty; the next write replaces it.
    }
  }

  async #save(): Promise<void> {
    if (this.#file === undefined) return
    const vectors = [...this.#vectors].map(([key, vector]) => [key, Buffer.from(vector).toString('base64')])
    const text = JSON.stringify({ model: this.#embedder.id, vectors: Object.fromEntries(vectors) })
    try {
      await writeFileAtomic(this.#file, `${text}\n`, { mode: 0o600, dirMode: 0o700 })
    } catch (error) {
      // They are made again by the next process.
      this.#failed(error)
    }
  }
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

function packed(vector: Float32Array): Int8Array {
  return Int8Array.from(vector, (value) => Math.max(-127, Math.min(127, Math.round(value * SCALE))))
}

function dot(a: Float32Array, b: Int8Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum / SCALE
}
