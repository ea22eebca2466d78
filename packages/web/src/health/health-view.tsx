// health-view.tsx: calls, errors and latencies over time, and what definitions and results cost in a model's context.
import { lazy, Suspense, useMemo } from 'react'
import { Empty, Loading } from '../parts/basics.tsx'
import { count, duration, tokens } from '../parts/format.ts'
import { number, TableHead } from '../parts/table-head.tsx'
import { addressOf } from '../routes.ts'
import { board } from '../state/board.ts'
import { isFailure, isWork, percentile, statsBy } from '../state/server-stats.ts'
import { useStore } from '../state/store.ts'
import type { ToolLine, TrafficEntry } from '../state/types.ts'
import type { ChartData } from './chart.tsx'

const Chart = lazy(() => import('./chart.tsx'))

const BUCKETS = 40

export default function HealthView() {
  const traffic = useStore(board, (state) => state.traffic)
  const tools = useStore(board, (state) => state.tools)
  const work = useMemo(() => traffic.filter(isWork), [traffic])
  const series = useMemo(() => seriesOf(work), [work])
  const errors = work.filter(isFailure).length
  const latencies = work.map(({ durationMs = 0 }) => durationMs)
  return (
    <section className="pane" aria-labelledby="health-title">
      <header className="pane-head">
        <h1 id="health-title">Costs and health</h1>
        <p className="summary">since the recording began</p>
      </header>
      <dl className="tiles">
        <Tile name="Calls" value={count(work.length)} />
        <Tile name="Errors" value={count(errors)} isBad={errors > 0} />
        <Tile name="Median" value={duration(percentile(latencies, 0.5))} />
        <Tile name="95 %" value={duration(percentile(latencies, 0.95))} />
        <Tile name="99 %" value={duration(percentile(latencies, 0.99))} />
        <Tile
          name="Definitions"
          value={`${count((tools ?? []).reduce((sum, tool) => sum + tool.tokens, 0))} tokens`}
        />
      </dl>
      {work.length < 2 ? (
        <Empty icon="health" title="There are no calls to draw yet" />
      ) : (
        <Suspense fallback={<Loading>Drawing…</Loading>}>
          <div className="charts">
            <Chart title="Calls and errors" data={series.calls} names={['calls', 'errors']} unit="" />
            <Chart title="Latency" data={series.latency} names={['median', '95 %']} unit="ms" />
          </div>
        </Suspense>
      )}
      <Costs tools={tools ?? []} traffic={traffic} />
    </section>
  )
}

function Tile({
  name,
  value,
  isBad = false,
}: {
  readonly name: string
  readonly value: string
  readonly isBad?: boolean
}) {
  return (
    <div className="tile">
      <dt>{name}</dt>
      <dd className={isBad ? 'bad' : ''}>{value}</dd>
    </div>
  )
}

function seriesOf(work: readonly TrafficEntry[]): { readonly calls: ChartData; readonly latency: ChartData } {
  const from = work[0]?.at ?? 0
  const until = Math.max(work.at(-1)?.at ?? 0, from + BUCKETS)
  const step = (until - from) / BUCKETS
  const buckets = Array.from({ length: BUCKETS }, (): TrafficEntry[] => [])
  for (const entry of work) buckets[Math.min(BUCKETS - 1, Math.floor((entry.at - from) / step))]?.push(entry)
  const times = buckets.map((_, at) => (from + at * step) / 1000)
  const latencies = buckets.map((bucket) => bucket.map(({ durationMs = 0 }) => durationMs))
  return {
    calls: [
      times,
      buckets.map((bucket) => bucket.length),
      buckets.map((bucket) => bucket.filter(isFailure).length),
    ],
    latency: [
      times,
      latencies.map((values) => (values.length === 0 ? null : percentile(values, 0.5))),
      latencies.map((values) => (values.length === 0 ? null : percentile(values, 0.95))),
    ],
  }
}

const TOOLS_SHOWN = 100
const COLUMNS = ['Tool', 'Server', ...['Definition', 'Calls', 'Errors', 'Median', 'Results'].map(number)]

function Costs({
  tools,
  traffic,
}: {
  readonly tools: readonly ToolLine[]
  readonly traffic: readonly TrafficEntry[]
}) {
  const rows = useMemo(() => {
    const stats = statsBy(traffic, ({ server, name }) => `${server} ${name ?? ''}`)
    return tools
      .map((tool) => ({ tool, stats: stats.get(`${tool.server} ${tool.tool}`) }))
      .sort((a, b) => (b.stats?.calls ?? 0) - (a.stats?.calls ?? 0) || b.tool.tokens - a.tool.tokens)
  }, [tools, traffic])
  if (rows.length === 0) return null
  return (
    <>
      <h2 className="section-title">By tool</h2>
      <div className="table-wrap">
        <table className="table">
          <TableHead columns={COLUMNS} />
          <tbody>
            {rows.slice(0, TOOLS_SHOWN).map(({ tool, stats }) => (
              <tr key={tool.name}>
                <th scope="row">
                  <a href={addressOf('tools', tool.name)} className="row-link">
                    {tool.tool}
                  </a>
                </th>
                <td>{tool.server}</td>
                <td className="number">{tool.tokens} tokens</td>
                <td className="number">{stats?.calls ?? ''}</td>
                <td className={`number ${stats && stats.errors > 0 ? 'bad' : ''}`}>{stats?.errors || ''}</td>
                <td className="number">{stats ? duration(percentile(stats.latencies, 0.5)) : ''}</td>
                <td className="number">{stats ? `${count(tokens(stats.resultChars))} tokens` : ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > TOOLS_SHOWN && <p className="dim">and {rows.length - TOOLS_SHOWN} more tools</p>}
    </>
  )
}
