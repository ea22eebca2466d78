// semantic/on-demand.ts: vectors for the few chunks that a search needs now, while the rest of the tree is not embedded yet.
// They are kept in memory, and the background work takes them from there instead of making them again.
import { SEMANTIC_LIMITS } from '../limits.ts'
import type { PendingChunk } from './worker.ts'

export interface WantedChunk {
  readonly id: number
  readonly path: string
  readonly hash: string
}

/** Returns the vectors of as many of these chunks, from the first on, as the model makes at once. */
export type AskForVectors = (lane: number, chunks: readonly PendingChunk[]) => Promise<readonly Uint8Array[]>

export class VectorsOnDemand {
  /** By the hash of the chunk's text, in the order of last use. */
  readonly #kept = new Map<string, Uint8Array>()
  readonly #ask: AskForVectors
  readonly #lanes: number

  constructor(lanes: number, ask: AskForVectors) {
    this.#lanes = lanes
    this.#ask = ask
  }

  known(hash: string): Uint8Array | undefined {
    return this.#kept.get(hash)
  }

  /** Those of `wanted` that were known or could be made in time. Late ones are kept for the next search. */
  async vectors(
    wanted: readonly WantedChunk[],
    budgetMs: number = SEMANTIC_LIMITS.onDemandMs,
  ): Promise<Map<number, Uint8Array>> {
    const missing = byFile(wanted.filter(({ hash }) => !this.#kept.has(hash)))
    if (missing.length > 0) await this.#make(missing, budgetMs)
    const found = new Map<number, Uint8Array>()
    for (const { id, hash } of wanted) {
      const record = this.#kept.get(hash)
      if (record) found.set(id, record)
    }
    return found
  }

  async #make(missing: readonly WantedChunk[], budgetMs: number): Promise<void> {
    let next = 0
    let isOver = false
    const work = async (lane: number) => {
      while (!isOver && next < missing.length) {
        const from = next
        // A lane that takes many at once gets its model's batch size; the others go on after it.
        const some = missing.slice(from, from + SEMANTIC_LIMITS.endpointBatch)
        next = from + 1
        const records = await this.#ask(
          lane,
          some.map(({ path, hash }) => ({ path, hash, known: this.#kept.get(hash) })),
        )
        next = Math.max(next, from + records.length)
        records.forEach((record, n) => {
          const chunk = some[n]
          if (chunk) this.#keep(chunk.hash, record)
        })
        if (records.length === 0) return
      }
    }
    // A model that fails costs the vectors; the background work reports why.
    const lanes = Array.from({ length: this.#lanes }, (_, lane) => work(lane).catch(() => undefined))
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<void>((done) => {
      timer = setTimeout(done, budgetMs)
    })
    await Promise.race([Promise.all(lanes), over])
    isOver = true
    clearTimeout(timer)
  }

  #keep(hash: string, record: Uint8Array): void {
    this.#kept.delete(hash)
    this.#kept.set(hash, record)
    if (this.#kept.size <= SEMANTIC_LIMITS.onDemandKept) return
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined) this.#kept.delete(oldest)
  }
}

/** In the order of the best of each file: a file that is cut once gives all of its chunks. */
function byFile(wanted: readonly WantedChunk[]): WantedChunk[] {
  const files = new Map<string, WantedChunk[]>()
  for (const chunk of wanted) {
    const file = files.get(chunk.path)
    if (file) file.push(chunk)
    else files.set(chunk.path, [chunk])
  }
  return [...files.values()].flat()
}
