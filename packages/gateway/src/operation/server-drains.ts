// server-drains.ts: the calls that run on each server, and servers that take no new ones because an administrator drains them. What
// happens to a drained server is decided in admin/.
import { Disabled } from '@plugboard/core/errors'

const BEING_STOPPED = 'it is being stopped, and takes no new calls'

export class ServerDrains {
  readonly #running = new Map<string, number>()
  readonly #draining = new Set<string>()
  /** Called when the last call of a server has ended. */
  readonly #idle = new Map<string, (() => void)[]>()

  /** A call starts; throws when its server takes no new ones. */
  enter(server: string): void {
    if (this.#draining.size > 0 && this.#draining.has(server)) throw new Disabled(server, BEING_STOPPED)
    this.#running.set(server, this.running(server) + 1)
  }

  /** A call that had entered has ended. */
  leave(server: string): void {
    const left = this.running(server) - 1
    if (left > 0) this.#running.set(server, left)
    else this.#ended(server)
  }

  running(server: string): number {
    return this.#running.get(server) ?? 0
  }

  isDraining(server: string): boolean {
    return this.#draining.has(server)
  }

  /** No new calls from now on. Resolves with how many are still running, when they have ended or the time is over. */
  async drain(server: string, ms: number): Promise<number> {
    this.#draining.add(server)
    if (this.running(server) === 0) return 0
    await new Promise<void>((done) => {
      const timer = setTimeout(done, ms)
      const ended = () => {
        clearTimeout(timer)
        done()
      }
      this.#idle.set(server, [...(this.#idle.get(server) ?? []), ended])
    })
    return this.running(server)
  }

  /** New calls are taken again. */
  resume(server: string): void {
    this.#draining.delete(server)
  }

  #ended(server: string): void {
    this.#running.delete(server)
    const waiting = this.#idle.get(server) ?? []
    this.#idle.delete(server)
    for (const done of waiting) done()
  }
}
