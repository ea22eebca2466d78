// `npm run mutation [-- --seed N] [--count 150] [--area NAME …] [--file PATH …] [--minutes 75] [--quick] [--keep]`: makes a
// seeded sample of small, behaviour-changing edits to the sources, each behind a switch (scripts/lib/switches.mjs), and counts
// how many the tests notice; what the tests in one process do not notice is made in a copy of the tree and the command built. Ends non-zero when an area is below its goal (test/mutation/areas.mjs). `--keep` writes the score to
// docs/reliability.md; `--quick` leaves out the tests that run the command; `--named` makes the edits of
// test/mutation/named.mjs instead of a sample.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { AREAS, EQUIVALENTS, GOAL } from '../test/mutation/areas.mjs'
import { NAMED } from '../test/mutation/named.mjs'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { refusedByCompiler } from './lib/compile-check.mjs'
import { EditTrials } from './lib/edit-trials.mjs'
import { importGraph, typescriptIn } from './lib/import-graph.mjs'
import { mutantsOf, withMutant } from './lib/mutants.mjs'
import { copyOfTree, mutationRunner, replaceFile } from './lib/mutation-run.mjs'
import { sampleOf } from './lib/sample.mjs'
import { markdownTable, plainTable } from './lib/table.mjs'

/** Files without behaviour of their own: numbers, re-exports. */
const WITHOUT_BEHAVIOUR = /\/(?:limits|index|types)\.ts$|\.test\.ts$|fixtures|\.d\.ts$/

/** Tests that run the sources in their own process: they see an edit without a build. */
const IN_PROCESS = ['packages/core/src', 'packages/gateway/src', 'test/http-guard.test.ts']
/** A test whose servers are processes: its tests take seconds. */
const STARTS_PROCESSES = /\b(?:upstream|stdio|bare|fixture|spawn|fork|execFile)\(|\bprocess\.execPath\b/
/** A named edit is tried against this many test files, the nearest first. */
const NEAREST = 12

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10).replaceAll('-', '') },
    count: { type: 'string', default: '150' },
    area: { type: 'string', multiple: true },
    file: { type: 'string', multiple: true },
    minutes: { type: 'string', default: '75' },
    workers: { type: 'string', default: '2' },
    named: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

/** Every mutant of the chosen areas; a file belongs to the first area that names it. */
function allMutants(areas) {
  const taken = new Set()
  return AREAS.flatMap((area) =>
    area.sources
      .flatMap((source) => [...typescriptIn(join(root, source))])
      .filter((file) => !WITHOUT_BEHAVIOUR.test(file) && !taken.has(file) && taken.add(file))
      .map((file) => ({ area, file: relative(root, file) })),
  )
    .filter(({ area, file }) => areas.includes(area) && isChosen(file))
    .flatMap(({ area, file }) => {
      const text = readFileSync(join(root, file), 'utf8')
      return mutantsOf(text).map((mutant) => ({ ...mutant, area, file, text }))
    })
}

const isChosen = (file) => !options.file || options.file.some((part) => file.includes(part))

/** The edits of named.mjs, each of which must be noticed. */
function namedMutants() {
  return NAMED.filter(({ file }) => isChosen(file)).map(({ what, file, before, after }) => {
    const text = readFileSync(join(root, file), 'utf8')
    const start = text.indexOf(before)
    if (start === -1 || text.indexOf(before, start + 1) !== -1)
      throw new Error(`test/mutation/named.mjs: "${what}" is not found once in ${file}; follow the source.`)
    const area = AREAS.find(({ sources }) => sources.some((source) => file.startsWith(source)))
    const line = text.slice(0, start).split('\n').length
    return {
      kind: what,
      area,
      file,
      text,
      start,
      end: start + before.length,
      replacement: after,
      line,
      before,
    }
  })
}

function reasonToAccept({ file, kind, text, start, end }) {
  return EQUIVALENTS.find((one) => {
    if (one.file !== file || one.kind !== kind) return false
    const at = text.indexOf(one.before)
    return at !== -1 && start >= at && end <= at + one.before.length
  })?.reason
}

const areas = AREAS.filter(({ name }) => !options.area || options.area.includes(name))
const seed = Number(options.seed)
ensureInstalled()
const all = (options.named ? namedMutants() : allMutants(areas)).map((mutant, id) => ({ ...mutant, id }))
const draw = (refused) =>
  options.named ? all : sampleOf(all, areas, { seed, count: Number(options.count), refused })
if (options.list) {
  for (const { area, file, line, kind, before } of draw())
    console.log(`${area.name}  ${file}:${line}  ${kind}  ${before.slice(0, 80).replaceAll('\n', ' ')}`)
  process.exit(0)
}
await build()
const started = Date.now()
const until = started + Number(options.minutes) * 60_000
const clean = copyOfTree()
const copies = Array.from({ length: Number(options.workers) }, copyOfTree)
const toEnd = []
process.on('exit', () => {
  for (const trials of toEnd) trials.end()
  for (const dir of [clean, ...copies]) rmSync(dir, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))
const graph = importGraph(root)
const notice = mutationRunner(clean)

/** What became of each edit: `{ result, by }`. */
const outcomes = new Map()
function settle(mutant, result, by) {
  outcomes.set(mutant, { result, by })
  const before = mutant.before.slice(0, 100).replaceAll(/\s+/g, ' ')
  console.log(`${result}  ${mutant.file}:${mutant.line}  ${mutant.kind}: ${before}  ${by ?? ''}`)
}
const unsettled = (mutants) => mutants.filter((mutant) => !outcomes.has(mutant))

const isSlow = (test) => STARTS_PROCESSES.test(readFileSync(join(root, test), 'utf8'))

/** Tries all edits behind switches against the tests that reach them; returns those for which there was no time. */
async function tryInProcess(mutants) {
  const byTest = new Map()
  for (const mutant of mutants)
    for (const test of graph.testsFor(mutant.file, IN_PROCESS))
      byTest.set(test, [...(byTest.get(test) ?? []), mutant])
  // A test that loads little is fast, and it is about what it loads; one that starts processes is slow.
  const rank = new Map(
    [...byTest.keys()].map((test) => [test, graph.weight(test) + (isSlow(test) ? 1e6 : 0)]),
  )
  const queue = [...byTest.keys()].sort((a, b) => rank.get(a) - rank.get(b))
  const onNote = (note) => console.log(`note: ${note}`)
  const runs = copies.map((dir) => new EditTrials(dir, mutants, join(dir, 'node_modules/.edits')))
  toEnd.push(...runs)
  await Promise.all(
    runs.map(async (trials) => {
      while (queue.length > 0 && Date.now() < until) {
        const test = queue.shift()
        const ids = unsettled(byTest.get(test)).map(({ id }) => id)
        const onResult = ({ id, noticed, by }) => {
          const mutant = all[id]
          if (noticed && !outcomes.has(mutant)) settle(mutant, 'noticed', `${test} > ${by}`)
        }
        await trials.try(test, ids, { onResult, onNote })
      }
    }),
  )
  for (const trials of runs) trials.end()
  return queue.flatMap((test) => byTest.get(test))
}

/** Makes each edit in a copy and runs the tests that `testsOf` gives; returns those for which there was no time. */
async function tryEdited(mutants, testsOf, built) {
  const queue = [...mutants]
  await Promise.all(
    copies.map(async (dir) => {
      while (queue.length > 0 && Date.now() < until) {
        const mutant = queue.shift()
        replaceFile(dir, mutant.file, withMutant(mutant.text, mutant))
        const { noticed, by } = await notice(dir, testsOf(mutant), { built })
        replaceFile(dir, mutant.file, mutant.text)
        if (noticed) settle(mutant, 'noticed', by)
      }
    }),
  )
  return queue
}

function commandTests({ area }) {
  const files = area.beyond.flatMap((path) => [...typescriptIn(join(root, path))])
  return files.filter((path) => path.endsWith('.test.ts')).map((path) => relative(root, path))
}

/** An edit that the compiler refuses could not be committed: another one is drawn in its place. */
function compilingSample() {
  const refused = new Set()
  const compiles = new Set()
  for (;;) {
    const sample = draw(refused)
    const unknown = sample.filter((mutant) => !compiles.has(mutant) && !refused.has(mutant))
    if (unknown.length === 0) return { sample, refused: refused.size }
    const bad = refusedByCompiler(clean, unknown)
    for (const mutant of unknown) (bad.has(mutant.id) ? refused : compiles).add(mutant)
  }
}

const { sample, refused } = compilingSample()
console.log(`${sample.length} edits; ${refused} others do not compile`)
for (const mutant of sample) {
  const reason = reasonToAccept(mutant)
  if (reason) settle(mutant, 'equivalent', reason)
}
const late = new Set(
  options.named
    ? await tryEdited(
        unsettled(sample),
        ({ file }) => graph.testsFor(file, IN_PROCESS).slice(0, NEAREST),
        true,
      )
    : await tryInProcess(sample),
)
if (!options.quick)
  for (const mutant of await tryEdited(unsettled(sample), commandTests, false)) late.add(mutant)
for (const mutant of unsettled(sample)) settle(mutant, late.has(mutant) ? 'no time' : 'UNNOTICED')
const ran = [...outcomes].map(([mutant, outcome]) => ({ ...mutant, ...outcome }))

const rows = areas.map((area) => {
  const mine = ran.filter((one) => one.area.name === area.name)
  const noticed = mine.filter(({ result }) => result === 'noticed').length
  const tried = noticed + mine.filter(({ result }) => result === 'UNNOTICED').length
  const accepted = mine.filter(({ result }) => result === 'equivalent').length
  return { area, tried, noticed, share: tried === 0 ? 1 : noticed / tried, accepted }
})
const sum = (key) => rows.reduce((total, row) => total + row[key], 0)
const percent = (share) => `${(share * 100).toFixed(0)} %`
const whole = sum('tried') === 0 ? 0 : sum('noticed') / sum('tried')
const cells = [
  ['area', 'edits', 'noticed', 'share', 'goal', 'equivalent'],
  ...rows.map(({ area, tried, noticed, share, accepted }) => [
    area.name,
    tried,
    noticed,
    percent(share),
    area.goal === undefined ? '' : percent(area.goal),
    accepted,
  ]),
  ['all', sum('tried'), sum('noticed'), percent(whole), percent(GOAL), sum('accepted')],
]
const minutes = Math.round((Date.now() - started) / 60_000)
const judged = ran.filter(({ result }) => result !== 'no time').length
console.log(`\n${plainTable(cells)}\n\nseed ${seed}, ${judged} of ${sample.length} edits, ${minutes} minutes`)
if (judged < sample.length) console.log('There was no time for the others: give more with --minutes.')
if (options.keep) keep(cells, minutes)
process.exitCode =
  judged < sample.length || whole < GOAL || rows.some(({ area, share }) => share < (area.goal ?? 0)) ? 1 : 0

function keep(table, took) {
  const file = join(root, 'docs/reliability.md')
  const page = readFileSync(file, 'utf8')
  const [open, close] = ['<!-- mutation -->', '<!-- /mutation -->']
  const chosen = ['--seed', seed, '--count', options.count, ...(options.quick ? ['--quick'] : [])].join(' ')
  const on = `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, ${took} minutes`
  const text = `\`npm run mutation -- ${chosen}\` on ${on}, ${judged} of ${sample.length} edits:\n\n${markdownTable(table)}`
  const from = page.indexOf(open) + open.length
  writeFileSync(file, `${page.slice(0, from)}\n\n${text}\n\n${page.slice(page.indexOf(close))}`)
}
