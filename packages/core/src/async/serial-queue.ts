// serial-queue.ts: calls that must not overlap run one at a time, in the order they came.
import { RequestAborted } from './wait-errors.ts'

export class SerialQueue {
  #last: Promise<void> = Promise.resolve()

  /** Runs `work` when everything queued before it has ended. A caller that gives up leaves the queue at once. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last
    let release: () => void = () => undefined
    const mine = new Promise<void>((resolve) => {
      release = resolve
    })
    // The next one waits for this one, and through it for all before.
    this.#last = before.then(() => mine)
    try {
      await turn(before, signal)
      return await work()
    } finally {
      release()
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
