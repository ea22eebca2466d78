// client-turns.ts: for legacy servers that share one pipe between all calls, and whose questions do not say which call they
// are for. Calls that may ask take turns between clients, and a question that could be for several clients waits until
// the calls of only one of them are left. server-requests.ts knows which calls run.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { ClientRequest } from '../client-request.ts'

/** How long calls and questions wait for those of other clients. */
export interface TurnWaits {
  /** After this a call starts although another client's call still runs. */
  readonly turnMs: number
  /** After this a question that could be for several clients is refused. */
  readonly holdMs: number
}

/** A call that runs, or waits for its turn. */
export interface TurnCall {
  readonly server: string
  readonly request: ClientRequest
  /** The tool, where its server may ask during the call and not say for which call. */
  readonly what?: string | undefined
  /** The server asked while it ran, maybe because of it. */
  hasAsked: boolean
}

interface Waiter {
  readonly call: TurnCall
  readonly what: string
  start(): void
}

interface Held {
  /** Who is asked, if that is clear by now. */
  readonly isClear: () => boolean
  settle(): void
}

interface ServerTurns {
  /** What was called and ended without a question. */
  readonly quiet: Set<string>
  waiting: Waiter[]
  held: Held[]
}

/** More is not remembered; a server has that many tools. */
const QUIET = 10_000

export class ClientTurns {
  readonly #servers = new Map<string, ServerTurns>()
  /** The calls that a server works on. */
  readonly #running: (server: string) => readonly TurnCall[]
  readonly #waits: TurnWaits

  constructor(running: (server: string) => readonly TurnCall[], waits: TurnWaits = GATEWAY_LIMITS) {
    this.#running = running
    this.#waits = waits
  }

  /**
   * Calls `start` when the call may begin: undefined when that was at once, else a promise of it. `what` is the tool, or the
   * method.
   */
  enter(call: TurnCall, what: string, start: () => void): Promise<void> | undefined {
    const turns = this.#turnsOf(call.server)
    if (!this.#mustWait(turns, call, what)) {
      start()
      return undefined
    }
    const { signal } = call.request
    return new Promise((done) => {
      const begin = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', begin)
        turns.waiting = turns.waiting.filter((one) => one !== waiter)
        start()
        done()
      }
      const waiter: Waiter = { call, what, start: begin }
      const timer = setTimeout(begin, this.#waits.turnMs)
      signal.addEventListener('abort', begin, { once: true })
      turns.waiting.push(waiter)
    })
  }

  /** A call ended; `answered` when its server answered it, so that no open question can be its own. */
  left(call: TurnCall, answered: boolean): void {
    const turns = this.#servers.get(call.server)
    if (!turns) return
    const { what, hasAsked } = call
    if (answered && !hasAsked && what !== undefined && turns.quiet.size < QUIET) turns.quiet.add(what)
    if (!answered) for (const held of [...turns.held]) held.settle()
    this.#next(turns)
  }

  /** The server asks during these calls; each of them may be the one that does. */
  asked(server: string, calls: readonly TurnCall[]): void {
    const turns = this.#servers.get(server)
    if (!turns) return
    for (const call of calls) {
      call.hasAsked = true
      if (call.what !== undefined) turns.quiet.delete(call.what)
    }
    this.#next(turns)
  }

  /** Resolves when it is clear who is asked, or when it will not become clear. */
  async hold(server: string, isClear: () => boolean, signal: AbortSignal): Promise<void> {
    const turns = this.#turnsOf(server)
    const clients = new Set(this.#running(server).map(({ request }) => request.client.id))
    // Each of them may wait for an answer itself: then none of the calls would end.
    if (turns.held.length + 1 >= clients.size && turns.held.length > 0) return
    await new Promise<void>((done) => {
      const held: Held = { isClear, settle: () => end() }
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        turns.held = turns.held.filter((one) => one !== held)
        done()
      }
      const timer = setTimeout(end, this.#waits.holdMs)
      signal.addEventListener('abort', end, { once: true })
      turns.held.push(held)
    })
    this.#next(turns)
  }

  #mustWait(turns: ServerTurns, call: TurnCall, what: string): boolean {
    if (turns.held.length === 0 && turns.quiet.has(what)) return false
    const others = this.#running(call.server).filter(
      ({ request }) => request.client.id !== call.request.client.id,
    )
    if (turns.held.length > 0) return others.length > 0
    return others.some((other) => other.what === undefined || !turns.quiet.has(other.what))
  }

  #next(turns: ServerTurns): void {
    for (const held of [...turns.held]) if (held.isClear()) held.settle()
    for (const waiter of [...turns.waiting])
      if (!this.#mustWait(turns, waiter.call, waiter.what)) waiter.start()
  }

  #turnsOf(server: string): ServerTurns {
    const known = this.#servers.get(server)
    if (known) return known
    const made: ServerTurns = { quiet: new Set(), waiting: [], held: [] }
    this.#servers.set(server, made)
    return made
  }
}
