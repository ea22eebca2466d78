// lanes.ts: calls to one server that may not run beside each other run one at a time, in the order they came.
// Tools that say they are safe to run together do not wait, and servers never wait for each other.
import { Cancelled } from '../errors.ts'

export class Lanes {
  /** The last call in each server's lane. */
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(server: string, concurrencySafe: boolean, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (concurrencySafe) return work()
    const before = this.#last.get(server)
    const mine = before ? waitThen(before, work, signal) : work()
    // The next one waits for the end, good or bad; whoever made the call hears which. A call that was cancelled while it
    // waited ends before the ones in front of it, so those are waited for too.
    const end = mine
      .then(ignore, ignore)
      .then(() => before)
      .then(() => {
        if (this.#last.get(server) === end) this.#last.delete(server)
      })
    this.#last.set(server, end)
    return mine
  }
}

function ignore(): void {}

async function waitThen<T>(
  before: Promise<unknown>,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (!signal) {
    await before
    return work()
  }
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(new Cancelled('The call was cancelled while it waited for its turn.'))
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    before.then(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    })
  })
  return work()
}
