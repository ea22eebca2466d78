// metrics.ts: counts requests and prints the counts for Prometheus. Labels come from fixed sets, so no client can make
// them grow.

const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const

export type RequestOutcome = 'ok' | 'tool_error' | 'error' | 'cancelled'

interface Durations {
  readonly buckets: number[]
  sum: number
  count: number
}

export class Metrics {
  readonly #requests = new Map<string, number>()
  readonly #durations = new Map<string, Durations>()
  #inFlight = 0
  #refused = 0

  get inFlight(): number {
    return this.#inFlight
  }

  /** Counts a request of a known method until the response says how it went. */
  started(method: string): (outcome: RequestOutcome) => void {
    const at = performance.now()
    this.#inFlight++
    return (outcome) => {
      this.#inFlight--
      const key = `method="${method}",outcome="${outcome}"`
      this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
      this.#observe(method, (performance.now() - at) / 1000)
    }
  }

  /** A request that was refused before it was dispatched. */
  refused(): void {
    this.#refused++
  }

  print(gauges: Readonly<Record<string, number>>, states: Readonly<Record<string, number>>): string {
    const lines = ['# TYPE plugboard_requests_total counter']
    for (const [labels, count] of this.#requests) lines.push(`plugboard_requests_total{${labels}} ${count}`)
    lines.push('# TYPE plugboard_refused_total counter', `plugboard_refused_total ${this.#refused}`)
    lines.push('# TYPE plugboard_in_flight gauge', `plugboard_in_flight ${this.#inFlight}`)
    for (const [name, value] of Object.entries(gauges))
      lines.push(`# TYPE plugboard_${name} gauge`, `plugboard_${name} ${value}`)
    lines.push('# TYPE plugboard_servers gauge')
    for (const [state, count] of Object.entries(states))
      lines.push(`plugboard_servers{state="${state}"} ${count}`)
    lines.push('# TYPE plugboard_request_seconds histogram')
    for (const [method, { buckets, sum, count }] of this.#durations) {
      for (const [at, le] of BUCKETS_SECONDS.entries())
        lines.push(`plugboard_request_seconds_bucket{method="${method}",le="${le}"} ${buckets[at] ?? 0}`)
      lines.push(`plugboard_request_seconds_bucket{method="${method}",le="+Inf"} ${count}`)
      lines.push(`plugboard_request_seconds_sum{method="${method}"} ${sum}`)
      lines.push(`plugboard_request_seconds_count{method="${method}"} ${count}`)
    }
    return `${lines.join('\n')}\n`
  }

  #observe(method: string, seconds: number): void {
    const known = this.#durations.get(method) ?? { buckets: BUCKETS_SECONDS.map(() => 0), sum: 0, count: 0 }
    this.#durations.set(method, known)
    known.sum += seconds
    known.count++
    for (const [at, le] of BUCKETS_SECONDS.entries())
      if (seconds <= le) known.buckets[at] = (known.buckets[at] ?? 0) + 1
  }
}
