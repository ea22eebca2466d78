// event-channel.ts: from a producer that emits at any time to a reader that takes events one by one.

export class EventChannel<T> {
  readonly #most: number
  #items: T[] = []
  #closed = false
  #wakeReader: (() => void) | undefined
  #wakeWriter: (() => void) | undefined

  constructor(most: number) {
    this.#most = most
  }

  push(item: T): void {
    if (this.#closed) return
    this.#items.push(item)
    this.#wakeReader?.()
  }

  /** Resolves when the reader has caught up; a fast producer awaits this now and then. */
  async room(): Promise<void> {
    while (this.#items.length >= this.#most && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve
      })
  }

  close(): void {
    this.#closed = true
    this.#wakeReader?.()
    this.#wakeWriter?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    while (true) {
      const items = this.#items
      this.#items = []
      this.#wakeWriter?.()
      for (const item of items) yield item
      if (this.#items.length > 0) continue
      if (this.#closed) return
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve
      })
    }
  }
}
