// health.ts: detects a dead server: consecutive transport errors, an unanswered heartbeat, or, for a local one,
// silence after a request timed out. It only detects; connection.ts closes and reconnects.

import { RequestTimedOut } from '../async/wait-errors.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { isTerminalError } from '../transports/transport-errors.ts'
import { JsonRpcError } from './request-errors.ts'
import type { Session } from './session.ts'

export interface HealthOptions {
  readonly host: Host
  /** Our own child process: its exit is visible, but a hang is only noticed by a ping. */
  readonly local: boolean
  readonly onDead: (error: unknown) => void
  readonly heartbeatMs?: number
  readonly heartbeatTimeoutMs?: number
  readonly deafMs?: number
}

export class Health {
  readonly #options: HealthOptions
  /** One fault arrives twice: from the transport, and from the request it broke. */
  readonly #counted = new WeakSet<object>()
  #inARow = 0
  #dead = false
  #asking = false
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
    if (isTerminalError(error)) this.#countFailure(error)
  }

  /** A request timed out. A local server that then sends nothing at all is dead. */
  async timedOut(session: Session): Promise<void> {
    if (!this.#options.local || this.#asking || this.#dead) return
    this.#asking = true
    const deafMs = this.#options.deafMs ?? CONNECT_LIMITS.deafMs
    // With other requests open it may be busy with them, so it is pinged more than once.
    const checks = session.inFlight > 0 ? CONNECT_LIMITS.deafChecks : 1
    for (let asked = 1; ; asked++) {
      const responded = await this.#isResponding(session, deafMs)
      if (responded || session.closed || this.#dead) break
      if (asked < checks) continue
      this.stop()
      this.#options.onDead(new RequestTimedOut(deafMs))
      break
    }
    this.#asking = false
  }

  /** Pings a remote legacy session whenever it has been silent for a while. */
  watch(session: Session): void {
    this.#stopTimer?.()
    if (session.era === 'legacy' && !this.#options.local) this.#arm(session)
  }

  stop(): void {
    this.#dead = true
    this.#stopTimer?.()
  }

  #arm(session: Session): void {
    const everyMs = this.#options.heartbeatMs ?? CONNECT_LIMITS.heartbeatMs
    this.#stopTimer = this.#options.host.backgroundTimer(everyMs, () => {
      const quietFor = this.#options.host.now() - session.lastHeard
      // A negative value means that the clock was set back: then ping.
      if (quietFor >= 0 && quietFor < everyMs) this.#arm(session)
      else void this.#ping(session)
    })
  }

  async #ping(session: Session): Promise<void> {
    const timeoutMs = this.#options.heartbeatTimeoutMs ?? CONNECT_LIMITS.heartbeatTimeoutMs
    try {
      await session.request('ping', undefined, { timeoutMs, background: true })
      this.good()
    } catch (error) {
      // A server that responds "no such method" is alive.
      if (error instanceof JsonRpcError) this.good()
      else if (error instanceof RequestTimedOut) this.#countFailure(error)
      else this.bad(error)
    }
    if (!this.#dead) this.#arm(session)
  }

  /**
   * Any response counts, and so does any other message meanwhile, such as progress. Two requests, because some
   * servers ignore a ping that they do not know.
   */
  async #isResponding(session: Session, timeoutMs: number): Promise<boolean> {
    const asked = session.heardCount
    const methods = [
      session.era === 'modern' ? 'server/discover' : 'ping',
      ...(session.capabilities.tools ? ['tools/list'] : []),
    ]
    const answers = methods.map(async (method) => {
      try {
        await session.request(method, undefined, { timeoutMs, quiet: true, background: true })
      } catch (error) {
        if (!(error instanceof JsonRpcError)) throw error
      }
    })
    const responded = await Promise.any(answers).then(
      () => true,
      () => false,
    )
    return responded || session.heardCount > asked
  }

  #countFailure(error: unknown): void {
    this.#inARow++
    if (this.#inARow < CONNECT_LIMITS.terminalErrors || this.#dead) return
    this.stop()
    this.#options.onDead(error)
  }
}
