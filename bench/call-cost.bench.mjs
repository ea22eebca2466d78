// A quick check that a call has not become dearer: CPU of this process for each `board.call` over stdio against the
// floor's in the same process. A ratio of CPU times hardly depends on the machine or its load, so the limits can catch a
// regression of half as much again. It takes seconds and fails when a limit is passed; `npm test` runs it with --quick.
import { configured, core, stdioEntry } from './lib/board-only.mjs'
import { inProcessContenders, stdioContenders, throughTheBoard } from './lib/contenders.mjs'
import { atOnce, interleave, median, percentile } from './lib/measure.mjs'
import { report } from './lib/report.mjs'

const QUICK = process.argv.includes('--quick')
const ROUNDS = QUICK ? 15 : 40
const RECORDED_ROUNDS = 100
const MANY = QUICK ? 800 : 1500
const rows = []
process.removeAllListeners('warning')

const ONLY_RECORDING = process.argv.includes('--recording')
if (!ONLY_RECORDING) {
  await cost('stdio, 64 at a time', stdioContenders, 'raw', 2.4)
  await cost('in-process, 64 at a time', inProcessContenders, 'sdk', 1.05)
}
// Two hundredths are less than a quick run can tell from noise.
if (!QUICK) await recording(1.02)
report('call-cost', 'The CPU that a call costs', rows, [
  `CPU of the calling process, the 20th percentile of ${ROUNDS} short interleaved rounds. The limits are about half as much again as what was measured when they were set: 1.1 to 1.6, and 0.58 to 0.72.`,
  'Recording: the same board and server, with the recorder of the resident process that nobody looks at, and without one; medians of as many pairs of rounds.',
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

/** What the recording of the resident process costs a call while nobody looks: CPU and throughput, in pairs of rounds. */
async function recording(limit) {
  const { ConnectionPool, TrafficRecorder } = await core('index.js')
  const open = async (options) => {
    const pool = new ConnectionPool({ idleMs: 0, ...options })
    const board = await throughTheBoard({ servers: [configured('echo', stdioEntry())], pool }, 'echo')
    return { call: board.call, close: () => board.close().finally(() => pool.close()) }
  }
  const on = await open({ traffic: new TrafficRecorder() })
  const off = await open({})
  try {
    for (const { call } of [on, off, on, off]) await atOnce(call, 15_000)
    const round =
      ({ call }) =>
      () =>
        atOnce(call, MANY)
    const samples = await interleave({ on: round(on), off: round(off) }, RECORDED_ROUNDS)
    // Neighbours in time are compared: what the machine did then, it did to both.
    const pairs = (of) => samples.on.map((one, at) => of(one, samples.off[at]))
    const cpu = median(pairs((one, other) => one.cpu / other.cpu))
    const rate = median(pairs((one, other) => other.rate / one.rate))
    for (const [what, ratio] of [
      ['CPU for each call', cpu],
      ['time for each call at full throughput', rate],
    ])
      rows.push({
        what: `stdio, 64 at a time, recorded and nobody looks (${what})`,
        value: `${median(samples.on.map((one) => one.cpu)).toFixed(1)} µs`,
        against: `not recorded ${median(samples.off.map((one) => one.cpu)).toFixed(1)} µs`,
        ratio,
        goal: `≤ ${limit}`,
        met: ratio <= limit,
      })
  } finally {
    await on.close()
    await off.close()
  }
}
