// semantic/embedding-queue.ts: which segment's chunks get their vectors next: the one that recent searches hit, then in the order
// they were cut. One thread works on a segment, a few chunks at a time, so that a new search can change the order.
import type { ChunkSegment } from '../index/storage.ts'

export interface EmbeddingJob {
  readonly segment: ChunkSegment
  /** Its next chunk without a vector. */
  at: number
}

export class EmbeddingQueue {
  readonly #waiting: EmbeddingJob[]
  readonly #demand: (segment: string) => number

  /** `demand` says how often searches hit a segment; it may change at any time. */
  constructor(segments: readonly ChunkSegment[], demand: (segment: string) => number) {
    this.#waiting = segments.map((segment) => ({ segment, at: segment.vectors }))
    this.#demand = demand
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Taken by the caller until it is put back. */
  take(): EmbeddingJob | undefined {
    let best = 0
    this.#waiting.forEach((job, n) => {
      const least = this.#waiting[best] as EmbeddingJob
      if (this.#demand(job.segment.name) > this.#demand(least.segment.name)) best = n
    })
    return this.#waiting.splice(best, 1)[0]
  }

  /** A finished one is not kept. */
  putBack(job: EmbeddingJob): void {
    if (job.at < job.segment.chunks) this.#waiting.unshift(job)
  }
}
