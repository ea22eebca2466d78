// serial-queue.ts: calls that must not overlap run one at a time, in the order they came.
import { RequestAborted } from './wait-errors.ts'

/** Ends a turn; more calls do nothing. */
export type Release = () => void

export class SerialQueue {
  #last: Promise<void> = Promise.resolve()
  /** Those that run and those that wait. */
  #inside = 0

  /** Runs `work` when everything queued before it has ended. A caller that gives up leaves the queue at once. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.enter(signal)
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** A turn, when everything queued before it has ended. */
  async enter(signal?: AbortSignal): Promise<Release> {
    const before = this.#last
    const release = this.#join()
    try {
      await turn(before, signal)
      return release
    } catch (error) {
      release()
      throw error
    }
  }

  /** A turn at once, or nothing when the queue is not empty. */
  enterNow(): Release | undefined {
    return this.#inside === 0 ? this.#join() : undefined
  }

  #join(): Release {
    const before = this.#last
    let end: (() => void) | undefined
    const mine = new Promise<void>((resolve) => {
      end = resolve
    })
    // The next one waits for this one, and through it for all before.
    this.#last = before.then(() => mine)
    this.#inside++
    return () => {
      if (!end) return
      this.#inside--
      end()
      end = undefined
    }
  }
}

function turn(before: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return before
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new RequestAborted(signal.reason))
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    before.then(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    })
  })
}
