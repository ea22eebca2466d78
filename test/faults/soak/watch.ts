// watch.ts: checks a board's events: only legal state transitions, and calls that start once and end once.
import type { Board, StateSummary } from '@plugboard/core'

/** The legal transitions; a server that is configured anew starts from nothing. */
const MAY_FOLLOW: Readonly<Record<StateSummary['kind'], readonly StateSummary['kind'][]>> = {
  pending: ['pending', 'connected', 'failed', 'needs-auth'],
  connected: ['pending', 'failed', 'needs-auth', 'connected'],
  failed: ['pending'],
  'needs-auth': ['pending'],
  disabled: [],
}

export class Watch {
  readonly #states = new Map<string, StateSummary['kind']>()
  readonly #open = new Map<number, string>()
  transitions = 0
  calls = 0

  constructor(board: Board, violation: (text: string) => void) {
    board.on('state', ({ server, state }) => {
      this.transitions++
      const before = this.#states.get(server)
      if (before && !MAY_FOLLOW[before].includes(state.kind))
        violation(`${server} went from ${before} to ${state.kind}`)
      if (state.kind === 'pending' && state.attempt > Math.max(state.of, 1))
        violation(`${server} is at attempt ${state.attempt} of ${state.of}`)
      this.#states.set(server, state.kind)
    })
    board.on('call-started', ({ call, server }) => {
      if (this.#open.has(call)) violation(`call ${call} started twice`)
      this.#open.set(call, server)
    })
    board.on('call-ended', ({ call, server, outcome, error }) => {
      this.calls++
      if (this.#open.get(call) !== server)
        violation(`call ${call} ended on ${server} without having started there`)
      if ((outcome === 'error' || outcome === 'cancelled') !== (error !== undefined))
        violation(`call ${call} ended with ${outcome} and error ${error?.code}`)
      this.#open.delete(call)
    })
  }

  /** The configuration of this server changed: its next state may be any first one. */
  forget(server: string): void {
    this.#states.delete(server)
  }

  get open(): number {
    return this.#open.size
  }
}
