// measure.mjs: interleaved rounds and medians. Figures of one run are only compared with each other: the
// machine is shared, so a ratio means something and a millisecond alone does not.
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { performance } from 'node:perf_hooks'

export function median(values) {
  return percentile(values, 0.5)
}

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** Runs every contender once a round, in a rotating order, so that a slow moment hits all of them alike. */
export async function interleave(contenders, rounds) {
  const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]))
  const names = Object.keys(contenders)
  for (let round = 0; round < rounds; round++)
    for (let step = 0; step < names.length; step++) {
      const name = names[(round + step) % names.length]
      samples[name].push(await contenders[name]())
    }
  return samples
}

/** Milliseconds that `work` took. */
export async function timed(work) {
  return (await answered(work)).ms
}

/** The same, with its result. */
export async function answered(work) {
  const start = performance.now()
  const value = await work()
  return { ms: performance.now() - start, value }
}

/**
 * Runs it with this process, and those that it starts, on one core: a message between two cores waits for the other one to wake,
 * which says nothing about the code. Where there is no `taskset`, on all cores; the second word of the answer says which.
 */
export async function onOneCore(work) {
  const all = `0-${cpus().length - 1}`
  const pin = (cores) => spawnSync('taskset', ['-acp', cores, String(process.pid)]).status === 0
  const isPinned = cpus().length > 1 && pin('1')
  try {
    return [await work(), isPinned]
  } finally {
    if (isPinned) pin(all)
  }
}

/** Polls until it is true; an hour at most. */
export async function until(check, what, limitMs = 3_600_000) {
  const end = Date.now() + limitMs
  for (;;) {
    if (await check()) return
    if (Date.now() > end) throw new Error(`${what} took too long`)
    await new Promise((done) => setTimeout(done, 100))
  }
}

/** A generator with a fixed seed: the same queries in every run. */
export function seeded(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`

/** Milliseconds of CPU (user and system) that `work` cost this process. */
export async function cpuOf(work) {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** As many calls as are kept open at a time. */
export const LANES = 64

/** Makes so many calls, LANES at a time: calls per second, and microseconds of this process's CPU for each. */
export async function atOnce(call, many) {
  let left = many
  const lane = async () => {
    while (left-- > 0) await call('hello')
  }
  let took = 0
  const cpu = await cpuOf(async () => {
    took = await timed(() => Promise.all(Array.from({ length: LANES }, lane)))
  })
  return { rate: (many / took) * 1000, cpu: (cpu / many) * 1000 }
}
