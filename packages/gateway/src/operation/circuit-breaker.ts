// circuit-breaker.ts: one per server: after several calls in a row for which it could not be connected, calls are refused at once for as
// long as its connection would not be tried again anyway; then one call tries. A server that crashes inside a call does not count: the
// next call starts it again. Neither does what a tool itself answers, or a call that takes too long.
import { IoError, isPlugboardError } from '@plugboard/core'
import { CONNECT_LIMITS } from '@plugboard/core/limits'
import { RateLimited, serverFault } from '../errors.ts'

const OPENS_AFTER = 5
/** As often as a call may probe a failed connection: a server that is back is used at once. */
const OPEN_MS = CONNECT_LIMITS.probeEveryMs
/** Instances come and go with their users. */
const MOST = 1000

export type CircuitState = 'closed' | 'open' | 'half-open'

interface Circuit {
  failures: number
  /** It lets no call through before; undefined while it is closed. */
  openUntil: number | undefined
  isTrying: boolean
}

/** The circuit of one server, for the administration and the metrics. */
export interface CircuitInfo {
  readonly state: CircuitState
  readonly failures: number
  readonly retryMs?: number
}

export class CircuitBreakers {
  readonly #now: () => number
  readonly #circuits = new Map<string, Circuit>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Throws when a call may not start, because the ones before it did not reach the server. `key`: the server, or its instance. */
  enter(server: string, key: string): void {
    const circuit = this.#circuits.get(key)
    if (circuit?.openUntil === undefined) return
    const leftMs = circuit.openUntil - this.#now()
    if (leftMs > 0 || circuit.isTrying) throw refused(server, Math.max(leftMs, 1000))
    circuit.isTrying = true
  }

  succeeded(key: string): void {
    if (this.#circuits.size > 0) this.#circuits.delete(key)
  }

  /** A call that had entered failed. */
  failed(key: string, error: unknown): void {
    // The server answered, though not with a result.
    if (serverFault(error) && !(error instanceof RateLimited)) this.succeeded(key)
    else if (isUnreached(error)) this.#count(key)
    else {
      const circuit = this.#circuits.get(key)
      if (circuit) circuit.isTrying = false
    }
  }

  info(key: string): CircuitInfo {
    const circuit = this.#circuits.get(key)
    if (circuit?.openUntil === undefined) return { state: 'closed', failures: circuit?.failures ?? 0 }
    const retryMs = Math.max(0, circuit.openUntil - this.#now())
    return { state: retryMs > 0 ? 'open' : 'half-open', failures: circuit.failures, retryMs }
  }

  /** An administrator connects the server anew. */
  reset(key: string): void {
    this.#circuits.delete(key)
  }

  #count(key: string): void {
    const circuit = this.#circuits.get(key) ?? {
      failures: 0,
      openUntil: undefined,
      isTrying: false,
    }
    // The one that failed last is the newest.
    this.#circuits.delete(key)
    this.#circuits.set(key, circuit)
    const [oldest] = this.#circuits.keys()
    if (this.#circuits.size > MOST && oldest !== undefined) this.#circuits.delete(oldest)
    circuit.isTrying = false
    circuit.failures++
    if (circuit.failures < OPENS_AFTER) return
    // Calls that were running when it opened do not keep it open for longer.
    if (circuit.openUntil !== undefined && circuit.openUntil > this.#now()) return
    circuit.openUntil = this.#now() + OPEN_MS
  }
}

function isUnreached(error: unknown): boolean {
  return isPlugboardError(error) && !serverFault(error) && error.code === 'INIT_ERROR'
}

function refused(server: string, ms: number): IoError {
  const seconds = Math.ceil(ms / 1000)
  return new IoError(`"${server}" could not be reached by several calls, so none is tried now.`, {
    server,
    hint: `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
  })
}
