// index/cpu-turns.ts: which jobs may keep the processor busy. The text index uses every allowed thread, so it works alone; the jobs
// of the semantic index run in parallel while it does not. Queries of a search do not wait for a turn.

export class CpuTurns {
  /** The last exclusive job; it settles when it is done. */
  #alone: Promise<unknown> = Promise.resolve()
  readonly #beside = new Set<Promise<unknown>>()

  /** Waits for running jobs, and keeps others waiting until it is done. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#alone.then(async () => {
      await Promise.allSettled(this.#beside)
      return work()
    })
    this.#alone = turn.catch(() => undefined)
    return turn
  }

  /** Waits only for exclusive jobs; an abort ends the waiting, not the work. */
  async beside<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    // While it waited, another exclusive job may have been queued.
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
