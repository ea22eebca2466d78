// url-elicitations.ts: records which URL elicitations are complete, as servers report it, and lets a call wait for
// one of them.
import { Cancelled } from '../errors.ts'
import type { Events } from '../events.ts'
import type { Host } from '../host.ts'
import { INTERACTION_LIMITS } from '../limits.ts'

const COMPLETE = 'notifications/elicitation/complete'

export class UrlElicitations {
  readonly #host: Host
  readonly #events: Events
  readonly #done = new Set<string>()
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #stop: () => void

  constructor(host: Host, events: Events) {
    this.#host = host
    this.#events = events
    this.#stop = events.on('notification', ({ server, method, params }) => {
      const id =
        method === COMPLETE ? (params as { elicitationId?: unknown } | null)?.elicitationId : undefined
      if (typeof id === 'string') this.#settle(key(server, id))
    })
  }

  /** Resolves when the server reports completion, or on timeout: not every server reports it. */
  wait(server: string, id: string, ms: number, signal?: AbortSignal): Promise<void> {
    const wanted = key(server, id)
    if (this.#done.has(wanted)) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(wanted) ?? new Set()
      this.#waiting.set(wanted, waiting)
      const end = (settle: () => void) => {
        stopTimer()
        signal?.removeEventListener('abort', onAbort)
        waiting.delete(done)
        settle()
      }
      const done = () => end(resolve)
      const onAbort = () => end(() => reject(new Cancelled(undefined, { server, stage: 'call' })))
      const stopTimer = this.#host.awaitedTimer(ms, () => {
        const text = `"${server}" did not confirm within ${ms / 1000} s that the user finished the page; the call is tried again. To skip this wait, answer with \`done: true\` when the user has finished.`
        this.#events.emit('warning', { text, server })
        done()
      })
      waiting.add(done)
      if (signal?.aborted) onAbort()
      else signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  close(): void {
    this.#stop()
  }

  #settle(wanted: string): void {
    // A server may report ids that no call waits for; the oldest of those are dropped.
    if (this.#done.size >= INTERACTION_LIMITS.urlsRemembered)
      for (const oldest of this.#done) {
        this.#done.delete(oldest)
        break
      }
    this.#done.add(wanted)
    const waiting = this.#waiting.get(wanted)
    this.#waiting.delete(wanted)
    for (const done of [...(waiting ?? [])]) done()
  }
}

function key(server: string, id: string): string {
  return JSON.stringify([server, id])
}
