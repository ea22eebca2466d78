// main.ts: the soak: fifty servers, many callers, random faults, and invariants that are checked all the while.
// `--minutes N` (2 when left out), `--seed N`, `--keep` to put the summary into docs/reliability.md.
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openBoard, systemHost } from '@plugboard/core'
import { counted } from '../../../packages/core/src/fixtures/timers.ts'
import { handles, listeners, until, withinMs } from '../kit.ts'
import { Lab } from '../lab.ts'
import { circumstances, writePart } from '../report.ts'
import { Ledger } from './ledger.ts'
import { caller, SETTLE_MS, type Soak, troublemaker } from './load.ts'
import { randomOf } from './random.ts'
import { Servers } from './servers.ts'
import { Watch } from './watch.ts'

const MIB = 1024 * 1024
const CALLERS = 16
/** Fifty at once on a busy machine. */
const CONNECT_MS = 15_000
const SAMPLE_MS = 2000
/** Later minus earlier, after the warm-up: more is a leak. */
const GROWTH = { heapMiB: 12, rssMiB: 80 }
const MOST_VIOLATIONS = 20

const root = process.cwd()
const number = (flag: string, otherwise: number) => {
  const at = process.argv.indexOf(flag)
  const value = at === -1 ? otherwise : Number(process.argv[at + 1])
  if (Number.isFinite(value) && value > 0) return value
  console.error(`${flag} needs a number above zero.`)
  process.exit(2)
}
const minutes = number('--minutes', 2)
const seed = number('--seed', 1 + Math.floor(Math.random() * 2 ** 31))
console.log(`seed ${seed}, ${minutes} minutes`)

const violations: string[] = []
const violation = (text: string) => {
  if (violations.length < MOST_VIOLATIONS) console.log(`✘ ${text}`)
  violations.push(text)
}
process.on('unhandledRejection', (error) => violation(`unhandled: ${String(error)}`))
process.on('uncaughtException', (error) => violation(`uncaught: ${error.stack}`))

const home = mkdtempSync(join(tmpdir(), 'plugboard-soak-'))
const lab = new Lab(root)
const ledger = new Ledger(violation)
const servers = await Servers.open(root, home, lab, (line) => ledger.ran(line))
const fds = () => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
/** What the open files are, for a reader of the report. */
const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The one that listed them is closed by now.
      return []
    }
  })
const before = { handles: handles(), listeners: listeners(), fds: fds() }
const timers = new Set<object>()
const board = await openBoard({
  host: countingHost(),
  stateDir: join(home, 'state'),
  caller: 'user',
  timeoutMs: CONNECT_MS,
  servers: servers.configured(),
  inProcess: servers.inProcess,
})
const end = Date.now() + minutes * 60_000
const soak: Soak = {
  board,
  servers,
  ledger,
  watch: new Watch(board, violation),
  outcomes: new Map(),
  troubles: new Map(),
  violation,
  over: () => Date.now() >= end || violations.length >= MOST_VIOLATIONS,
}

await board.ready()
for (const { name, state, error } of board.servers())
  if (state !== 'connected') violation(`${name} did not come up at first: ${state}, ${error?.message}`)
const samples: {
  readonly heap: number
  readonly rss: number
  readonly fds: number
  readonly timers: number
}[] = []
const work = [
  ...Array.from({ length: CALLERS }, (_, me) => caller(soak, randomOf(seed, me), me)),
  troublemaker(soak, randomOf(seed, 1000)),
  observe(),
]
await withinMs(minutes * 60_000 + 2 * SETTLE_MS, 'the end of all calls', Promise.all(work)).catch(
  (error: Error) => violation(error.message),
)
for (const { peer } of servers.members) await peer?.line({ mode: 'good' })
await recovered()
const closing = Date.now()
await withinMs(5000, 'board.close()', board.close()).catch((error: Error) => violation(error.message))
const closeMs = Date.now() - closing
await pause(500)
for (const { dir } of servers.members) ledger.collect(dir)
ledger.judge(true)
await nothingLeft()
const summary = growthAndSummary()
for (const { peer } of servers.members) await peer?.close()
await lab.close()
rmSync(home, { recursive: true, force: true })
console.log(summary)
if (process.argv.includes('--keep')) writePart(root, 'soak', summary)
if (violations.length > 0) console.log(`\nAgain: npm run soak -- --minutes ${minutes} --seed ${seed}`)
process.exitCode = violations.length > 0 ? 1 : 0

function countingHost() {
  return counted(systemHost(), timers)
}

async function observe(): Promise<void> {
  while (!soak.over()) {
    await pause(SAMPLE_MS)
    for (const { dir } of servers.members) ledger.collect(dir)
    ledger.judge(false)
    globalThis.gc?.()
    const { heapUsed, rss } = process.memoryUsage()
    samples.push({ heap: heapUsed / MIB, rss: rss / MIB, fds: fds(), timers: timers.size })
  }
}

/** With every connection good again, each enabled server must answer. */
async function recovered(): Promise<void> {
  servers.off.clear()
  servers.away.clear()
  await board.link.apply(servers.configured())
  for (const { name } of servers.members) {
    soak.watch.forget(name)
    const state = board.servers().find((one) => one.name === name)?.state
    if (state === 'failed') await board.reconnect(name)
    const answer = board.call(`${name}.echo`, { nonce: 'last' })
    await withinMs(SETTLE_MS, `the last answer of ${name}`, answer).catch((error: Error) =>
      violation(`${name} did not recover: ${error.message}`),
    )
  }
}

async function nothingLeft(): Promise<void> {
  const soon = (what: string, check: () => boolean) =>
    until(what, check, 3000).catch((error: Error) => violation(error.message))
  await soon('no process is left', () => servers.processes().length === 0)
  await soon(`no timer is pending (${timers.size})`, () => timers.size === 0)
  await soon(`no call is open (${soak.watch.open})`, () => soak.watch.open === 0)
  await soon('no more handles are open than before', () => handles() <= before.handles)
  await soon('no more files are open than before', () => fds() <= before.fds + 2)
  if (fds() > before.fds + 2) violation(`open files: ${before.fds} before, now ${openFiles()}`)
  await soon('no listener is left on the process', () => listeners() <= before.listeners)
}

function growthAndSummary(): string {
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
  // The first half is warm-up: code is compiled, pools and caches fill, every server has been lost once.
  const late = samples.slice(samples.length >> 1)
  const half = late.length >> 1
  const grown = (of: (sample: (typeof samples)[number]) => number) =>
    Math.round(10 * (median(late.slice(half).map(of)) - median(late.slice(0, half).map(of)))) / 10
  const heap = grown((sample) => sample.heap)
  const rss = grown((sample) => sample.rss)
  if (heap > GROWTH.heapMiB) violation(`the heap grew by ${heap} MiB after the warm-up`)
  if (rss > GROWTH.rssMiB) violation(`the process grew by ${rss} MiB after the warm-up`)
  const most = (of: (sample: (typeof samples)[number]) => number) =>
    Math.round(Math.max(0, ...samples.map(of)))
  const list = (of: Map<string, number>) => [...of].map(([key, n]) => `${key} ${n}`).join(', ')
  const calls = [...soak.outcomes.values()].reduce((sum, n) => sum + n, 0)
  return [
    `\`npm run soak -- --minutes ${minutes} --seed ${seed}\` on ${circumstances()}: **${violations.length} violations**.`,
    '',
    `- ${servers.members.length} servers, ${CALLERS} callers, ${calls} calls: ${list(soak.outcomes)}`,
    `- ${[...soak.troubles.values()].reduce((sum, n) => sum + n, 0)} troubles: ${list(soak.troubles)}`,
    `- ${soak.watch.transitions} state events and ${soak.watch.calls} ended calls in order; ${ledger.checked} writes held against the servers' own counts`,
    `- second half: heap ${heap >= 0 ? '+' : ''}${heap} MiB, resident ${rss >= 0 ? '+' : ''}${rss} MiB (medians of its halves); most ${most((s) => s.rss)} MiB resident, ${most((s) => s.heap)} MiB heap, ${most((s) => s.fds)} files, ${most((s) => s.timers)} timers`,
    `- closed in ${closeMs} ms${violations.length === 0 ? '; nothing left' : ''}`,
  ].join('\n')
}
