// process-metrics.ts: the process itself, for Prometheus: build, memory, CPU time, open streams and how late the event loop is. The
// names are those that Prometheus clients of other languages use.
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { VERSION } from '@plugboard/core/version'

const STARTED_SECONDS = Date.now() / 1000 - process.uptime()

export class ProcessMetrics {
  #loop: IntervalHistogram | undefined

  /** From the first time it is asked for, the delay of the event loop is measured. */
  print(): string[] {
    this.#loop ??= watched()
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const delay = (percentile: number) => (this.#loop?.percentile(percentile) ?? 0) / 1e9
    const lines = [
      ...one('plugboard_build_info', 'gauge', 'The version that runs.', 1, `{version="${VERSION}"}`),
      ...one('process_start_time_seconds', 'gauge', 'When the process started.', STARTED_SECONDS),
      ...one('process_cpu_seconds_total', 'counter', 'CPU time that was used.', (user + system) / 1e6),
      ...one('process_resident_memory_bytes', 'gauge', 'Memory in RAM.', rss),
      ...one('nodejs_heap_size_used_bytes', 'gauge', 'Memory of JavaScript.', heapUsed),
      '# HELP nodejs_eventloop_lag_seconds How late the event loop was since the last look.',
      '# TYPE nodejs_eventloop_lag_seconds gauge',
      ...[50, 90, 99].map((p) => `nodejs_eventloop_lag_seconds{quantile="${p / 100}"} ${delay(p)}`),
    ]
    this.#loop.reset()
    return lines
  }
}

function watched(): IntervalHistogram {
  const histogram = monitorEventLoopDelay({ resolution: 20 })
  histogram.enable()
  return histogram
}

function one(name: string, type: string, help: string, value: number, labels = ''): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name}${labels} ${value}`]
}
