// health.ts: notices that a remote server is no longer there: errors of the line in a row, or a ping nobody answers.
// It only notices; connection.ts closes and reconnects.
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { isTerminalFault } from '../transports/faults.ts'
import { RequestTimedOut, RpcFault } from './faults.ts'
import type { Session } from './session.ts'

export interface HealthOptions {
  readonly host: Host
  readonly onDead: (error: unknown) => void
  readonly heartbeatMs?: number
  readonly heartbeatTimeoutMs?: number
}

export class Health {
  readonly #options: HealthOptions
  /** One fault reaches us twice: from the transport, and from the request it broke. */
  readonly #counted = new WeakSet<object>()
  #inARow = 0
  #dead = false
  #stopTimer: (() => void) | undefined

  constructor(options: HealthOptions) {
    this.#options = options
  }

  good(): void {
    this.#inARow = 0
  }

  bad(error: unknown): void {
    if (typeof error !== 'object' || error === null || this.#counted.has(error)) return
    this.#counted.add(error)
    if (isTerminalFault(error)) this.#strike(error)
  }

  /** Pings a session that has the word, whenever it has been silent for a while. */
  watch(session: Session): void {
    this.#stopTimer?.()
    if (session.era === 'legacy') this.#arm(session)
  }

  stop(): void {
    this.#dead = true
    this.#stopTimer?.()
  }

  #arm(session: Session): void {
    const everyMs = this.#options.heartbeatMs ?? CONNECT_LIMITS.heartbeatMs
    this.#stopTimer = this.#options.host.timer(everyMs, () => {
      const quietFor = this.#options.host.now() - session.lastHeard
      // Less than nothing means that the clock was set back: then a ping says more than the clock.
      if (quietFor >= 0 && quietFor < everyMs) this.#arm(session)
      else void this.#ping(session)
    })
  }

  async #ping(session: Session): Promise<void> {
    const timeoutMs = this.#options.heartbeatTimeoutMs ?? CONNECT_LIMITS.heartbeatTimeoutMs
    try {
      await session.request('ping', undefined, { timeoutMs })
      this.good()
    } catch (error) {
      // A server that answers "no such method" is alive.
      if (error instanceof RpcFault) this.good()
      else if (error instanceof RequestTimedOut) this.#strike(error)
      else this.bad(error)
    }
    if (!this.#dead) this.#arm(session)
  }

  #strike(error: unknown): void {
    this.#inARow++
    if (this.#inARow < CONNECT_LIMITS.terminalErrors || this.#dead) return
    this.stop()
    this.#options.onDead(error)
  }
}
