// metrics.ts: counts requests and prints the counts for Prometheus. Labels come from fixed sets, so no client can make
// them grow.

const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const

export type RequestOutcome = 'ok' | 'tool_error' | 'error' | 'cancelled'

const OUTCOMES: readonly RequestOutcome[] = ['ok', 'tool_error', 'error', 'cancelled']

interface MethodCounts {
  readonly outcomes: Record<RequestOutcome, number>
  readonly buckets: number[]
  sum: number
  count: number
}

/** A request that was counted when it started, and is counted once more when it ends. */
export class CountedRequest {
  readonly #metrics: Metrics
  readonly #method: string
  readonly #started = performance.now()

  constructor(metrics: Metrics, method: string) {
    this.#metrics = metrics
    this.#method = method
  }

  ended(outcome: RequestOutcome): void {
    this.#metrics.ended(this.#method, outcome, (performance.now() - this.#started) / 1000)
  }
}

export class Metrics {
  readonly #methods = new Map<string, MethodCounts>()
  #inFlight = 0
  #refused = 0

  get inFlight(): number {
    return this.#inFlight
  }

  /** Calls of tools that were answered, whatever the outcome. */
  get calls(): number {
    return this.#methods.get('tools/call')?.count ?? 0
  }

  /** Counts a request of a known method. */
  started(method: string): CountedRequest {
    this.#inFlight++
    return new CountedRequest(this, method)
  }

  ended(method: string, outcome: RequestOutcome, seconds: number): void {
    this.#inFlight--
    let counts = this.#methods.get(method)
    if (!counts) {
      counts = {
        outcomes: { ok: 0, tool_error: 0, error: 0, cancelled: 0 },
        buckets: BUCKETS_SECONDS.map(() => 0),
        sum: 0,
        count: 0,
      }
      this.#methods.set(method, counts)
    }
    counts.outcomes[outcome]++
    counts.sum += seconds
    counts.count++
    for (let at = BUCKETS_SECONDS.length - 1; at >= 0 && seconds <= (BUCKETS_SECONDS[at] ?? 0); at--)
      counts.buckets[at] = (counts.buckets[at] ?? 0) + 1
  }

  /** A request that was refused before it was dispatched. */
  refused(): void {
    this.#refused++
  }

  /** `more` are lines of other parts. */
  print(
    gauges: Readonly<Record<string, number>>,
    states: Readonly<Record<string, number>>,
    more: readonly string[] = [],
  ): string {
    const lines = [
      '# HELP plugboard_requests_total Requests of clients, by method and outcome.',
      '# TYPE plugboard_requests_total counter',
    ]
    for (const [method, { outcomes }] of this.#methods)
      for (const outcome of OUTCOMES)
        if (outcomes[outcome] > 0)
          lines.push(`plugboard_requests_total{method="${method}",outcome="${outcome}"} ${outcomes[outcome]}`)
    const one = (name: string, type: string, help: string, value: number) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`)
    one(
      'plugboard_refused_total',
      'counter',
      'Requests that were refused before they were dispatched.',
      this.#refused,
    )
    one('plugboard_in_flight', 'gauge', 'Requests that are being answered.', this.#inFlight)
    for (const [name, value] of Object.entries(gauges))
      one(`plugboard_${name}`, 'gauge', `How many ${name} are open.`, value)
    lines.push('# HELP plugboard_servers Servers by state.', '# TYPE plugboard_servers gauge')
    for (const [state, count] of Object.entries(states))
      lines.push(`plugboard_servers{state="${state}"} ${count}`)
    lines.push('# HELP plugboard_request_seconds How long requests of clients took.')
    lines.push('# TYPE plugboard_request_seconds histogram')
    for (const [method, { buckets, sum, count }] of this.#methods) {
      for (const [at, le] of BUCKETS_SECONDS.entries())
        lines.push(`plugboard_request_seconds_bucket{method="${method}",le="${le}"} ${buckets[at] ?? 0}`)
      lines.push(`plugboard_request_seconds_bucket{method="${method}",le="+Inf"} ${count}`)
      lines.push(`plugboard_request_seconds_sum{method="${method}"} ${sum}`)
      lines.push(`plugboard_request_seconds_count{method="${method}"} ${count}`)
    }
    return `${[...lines, ...more].join('\n')}\n`
  }
}
