// call-metrics.ts: counts and times of calls by server and tool, for Prometheus. The names come from servers, so there is a limit to how
// many are told apart; what is beyond it is counted together.

/** `tool_error`: the tool says that it failed. `gateway_error`: the call did not reach it, or its answer did not come back. */
export type CallOutcome = 'ok' | 'tool_error' | 'gateway_error' | 'denied' | 'limited' | 'cancelled'

const OUTCOMES: readonly CallOutcome[] = [
  'ok',
  'tool_error',
  'gateway_error',
  'denied',
  'limited',
  'cancelled',
]
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const
/** So many tools are told apart, of all servers. */
const SERIES = 1000
const OTHERS = 'other'

interface Series {
  readonly server: string
  readonly tool: string
  readonly outcomes: Map<CallOutcome, number>
  readonly buckets: number[]
  sum: number
  count: number
}

export class CallMetrics {
  readonly #servers = new Map<string, Map<string, Series>>()
  #series = 0

  ended(server: string, tool: string, outcome: CallOutcome, seconds: number): void {
    const series = this.#seriesOf(server, tool)
    series.outcomes.set(outcome, (series.outcomes.get(outcome) ?? 0) + 1)
    series.sum += seconds
    series.count++
    for (let at = BUCKETS_SECONDS.length - 1; at >= 0 && seconds <= (BUCKETS_SECONDS[at] ?? 0); at--)
      series.buckets[at] = (series.buckets[at] ?? 0) + 1
  }

  #seriesOf(server: string, tool: string): Series {
    const known = this.#servers.get(server)?.get(tool)
    if (known) return known
    if (this.#series >= SERIES && tool !== OTHERS) return this.#seriesOf(OTHERS, OTHERS)
    const made: Series = {
      server,
      tool,
      outcomes: new Map(),
      buckets: BUCKETS_SECONDS.map(() => 0),
      sum: 0,
      count: 0,
    }
    this.#series++
    const tools = this.#servers.get(server) ?? new Map<string, Series>()
    this.#servers.set(server, tools.set(tool, made))
    return made
  }

  print(): string[] {
    const all = [...this.#servers.values()].flatMap((tools) => [...tools.values()])
    const labels = ({ server, tool }: Series) =>
      `server="${escapedLabel(server)}",tool="${escapedLabel(tool)}"`
    return [
      '# HELP plugboard_calls_total Calls of tools, by outcome. A tool_error is of the tool, a gateway_error is not.',
      '# TYPE plugboard_calls_total counter',
      ...all.flatMap((series) =>
        OUTCOMES.flatMap((outcome) => {
          const count = series.outcomes.get(outcome)
          return count ? [`plugboard_calls_total{${labels(series)},outcome="${outcome}"} ${count}`] : []
        }),
      ),
      '# HELP plugboard_call_seconds How long calls of tools took.',
      '# TYPE plugboard_call_seconds histogram',
      ...all.flatMap((series) => {
        const name = 'plugboard_call_seconds'
        const own = labels(series)
        return [
          ...BUCKETS_SECONDS.map((le, at) => `${name}_bucket{${own},le="${le}"} ${series.buckets[at] ?? 0}`),
          `${name}_bucket{${own},le="+Inf"} ${series.count}`,
          `${name}_sum{${own}} ${series.sum}`,
          `${name}_count{${own}} ${series.count}`,
        ]
      }),
    ]
  }
}

/** A name as a label: what would end the text, or the line, is escaped. */
export function escapedLabel(name: string): string {
  return name.slice(0, 128).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
