// semaphore.ts: limits how many run at a time; the next starts when one ends. First come, first served.
import { RequestAborted } from './wait-errors.ts'

export class Semaphore {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(size: number) {
    this.#free = Math.max(1, size)
  }

  /** Waits for a slot; the returned function releases it, once however often it is called. */
  async take(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) throw new RequestAborted(signal.reason)
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#pass()
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(granted)
        reject(new RequestAborted(signal?.reason))
      }
      const granted = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      this.#waiting.add(granted)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  #pass(): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else this.#free++
  }
}
