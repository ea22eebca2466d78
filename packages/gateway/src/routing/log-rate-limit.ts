// log-rate-limit.ts: how many log messages of one server are passed on to clients in a second. The rest is counted.

interface Window {
  /** When it began, in milliseconds. */
  since: number
  passed: number
  dropped: number
}

export class LogRates {
  readonly #perSecond: number
  readonly #now: () => number
  readonly #windows = new Map<string, Window>()

  constructor(perSecond: number, now: () => number = Date.now) {
    this.#perSecond = perSecond
    this.#now = now
  }

  /** 'drop', or pass this message on: then the number of those that were dropped since the last one. */
  take(server: string): 'drop' | number {
    const now = this.#now()
    let window = this.#windows.get(server)
    if (!window) {
      window = { since: now, passed: 0, dropped: 0 }
      this.#windows.set(server, window)
    }
    if (Math.abs(now - window.since) >= 1000) {
      window.since = now
      window.passed = 0
    }
    if (window.passed >= this.#perSecond) {
      window.dropped++
      return 'drop'
    }
    window.passed++
    const { dropped } = window
    window.dropped = 0
    return dropped
  }

  /** The server is no longer configured. */
  forget(server: string): void {
    this.#windows.delete(server)
  }
}
