// A quick check that a call has not become dearer: CPU of this process for each `board.call` over stdio against the
// floor's in the same process. A ratio of CPU times hardly depends on the machine or its load, so the limits can catch a
// regression of half as much again. It takes seconds and fails when a limit is passed; `npm test` runs it with --quick.
import { inProcessContenders, stdioContenders } from './lib/contenders.mjs'
import { atOnce, interleave, percentile } from './lib/measure.mjs'
import { report } from './lib/report.mjs'

const QUICK = process.argv.includes('--quick')
const ROUNDS = QUICK ? 15 : 40
const MANY = QUICK ? 800 : 1500
const rows = []
process.removeAllListeners('warning')

await cost('stdio, 64 at a time', stdioContenders, 'raw', 2.4)
await cost('in-process, 64 at a time', inProcessContenders, 'sdk', 1.05)
report('call-cost', 'The CPU that a call costs', rows, [
  `CPU of the calling process, the 20th percentile of ${ROUNDS} short interleaved rounds. The limits are about half as much again as what was measured when they were set: 1.1 to 1.6, and 0.58 to 0.72.`,
])
if (rows.some(({ met }) => !met)) process.exitCode = 1

async function cost(what, open, against, limit) {
  const contenders = await open()
  try {
    const pair = { board: contenders.board, [against]: contenders[against] }
    // Long enough for the optimizing compiler to be done.
    for (const { call } of Object.values(pair)) await atOnce(call, QUICK ? 6000 : 15_000)
    const samples = await interleave(
      Object.fromEntries(
        Object.entries(pair).map(([name, { call }]) => [name, async () => (await atOnce(call, MANY)).cpu]),
      ),
      ROUNDS,
    )
    const of = (name) => percentile(samples[name], 0.2)
    const ratio = of('board') / of(against)
    rows.push({
      what: `${what} (CPU for each call)`,
      value: `${of('board').toFixed(1)} µs`,
      against: `${against === 'raw' ? 'floor' : 'SDK'} ${of(against).toFixed(1)} µs`,
      ratio,
      goal: `≤ ${limit}`,
      met: ratio <= limit,
    })
  } finally {
    for (const { close } of Object.values(contenders)) await close()
  }
}
