// index/turns.ts: who may keep the processor busy. The text index uses every thread that is allowed, so it works alone; the jobs
// of the search by meaning run beside each other while it does not. Questions of a search wait for nobody.

export class CpuTurns {
  /** The last that asked to be alone; it settles when it is done. */
  #alone: Promise<unknown> = Promise.resolve()
  readonly #beside = new Set<Promise<unknown>>()

  /** Waits for whoever is at work, and keeps others waiting until it is done. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#alone.then(async () => {
      await Promise.allSettled(this.#beside)
      return work()
    })
    this.#alone = turn.catch(() => undefined)
    return turn
  }

  /** Waits only for those who want to be alone; an abort ends the waiting, not the work. */
  async beside<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    // While it waited, another may have asked to be alone.
    for (let seen: Promise<unknown> | undefined; seen !== this.#alone; ) {
      seen = this.#alone
      await untilAborted(seen, signal)
    }
    const running = work()
    this.#beside.add(running)
    try {
      return await running
    } finally {
      this.#beside.delete(running)
    }
  }
}

async function untilAborted(waited: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  let stop: () => void = () => undefined
  const aborted = new Promise<void>((done) => {
    stop = done
    signal.addEventListener('abort', stop, { once: true })
  })
  await Promise.race([waited, aborted])
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
}
