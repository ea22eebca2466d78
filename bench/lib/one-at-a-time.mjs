// one-at-a-time.mjs: how long one call takes when nothing else runs. The clients and their servers share one core where the
// system can pin them (`taskset`): on two cores a round trip of 25 µs is 25 or 70 µs for the whole run, whatever the client,
// because waking an idle core takes that long and the system chooses when to. As a script: `KIND ROUNDS BATCH WARM`.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { argv, execPath, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { httpContenders, inProcessContenders, stdioContenders } from './contenders.mjs'
import { atOnce, interleave, median, timed } from './measure.mjs'

const CONTENDERS = { stdio: stdioContenders, http: httpContenders, 'in-process': inProcessContenders }
const LIMIT_MS = 10 * 60_000

/** The contenders of one kind, with the connection alone beside the whole board. */
export async function contendersOf(kind) {
  const contenders = await CONTENDERS[kind]()
  contenders.bare = { call: contenders.board.bare, close: async () => undefined }
  return contenders
}

/** Long enough for the optimizing compiler to be done with most of it. */
export async function warmUp(contenders, calls) {
  for (const { call } of Object.values(contenders)) {
    for (let n = 0; n < 200; n++) await call('hello')
    await atOnce(call, calls)
  }
}

/** One contender's turn in a round: what it left behind in the round before must not cost it anything. */
export function turns(contenders, work) {
  return Object.fromEntries(
    Object.entries(contenders).map(([name, contender]) => [
      name,
      async () => {
        await contender.fresh?.()
        for (let n = 0; n < 20; n++) await contender.call('hello')
        return work(contender)
      },
    ]),
  )
}

/** Medians in milliseconds by contender, a number for each round, from a process of its own. */
export function oneAtATime(kind, { rounds, batch, warm }) {
  const script = [execPath, fileURLToPath(import.meta.url), kind, rounds, batch, warm].map(String)
  const [command, ...args] = [...onOneCore(), ...script]
  const run = spawnSync(command, args, {
    timeout: LIMIT_MS,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (run.status !== 0) throw run.error ?? new Error(`${kind}, one call at a time: exit ${run.status}`)
  return JSON.parse(run.stdout)
}

/** The words that pin a command to the last core it may use; none where the system has no such command. */
export function onOneCore() {
  if (spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status !== 0) return []
  const allowed = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))
  return allowed ? ['taskset', '-c', allowed[1]] : []
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  process.removeAllListeners('warning')
  const [kind, rounds, batch, warm] = [argv[2], ...argv.slice(3).map(Number)]
  const contenders = await contendersOf(kind)
  await warmUp(contenders, warm)
  const medianOfBatch = async ({ call }) => {
    const took = []
    for (let n = 0; n < batch; n++) took.push(await timed(() => call('hello')))
    return median(took)
  }
  const samples = await interleave(turns(contenders, medianOfBatch), rounds)
  for (const contender of Object.values(contenders)) await contender.close()
  stdout.write(JSON.stringify(samples))
}
