// `npm run mutation [-- --seed N] [--count 150] [--area NAME …] [--file PATH …] [--minutes 75] [--quick] [--keep]`: makes a
// seeded sample of small, behaviour-changing edits to the sources, one at a time in a copy of the tree, and counts how many
// the tests notice. Ends non-zero when an area is below its goal (test/mutation/areas.mjs). `--keep` writes the score to
// docs/reliability.md; `--quick` leaves out the tests that run the command; `--named` makes the edits of
// test/mutation/named.mjs instead of a sample.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { AREAS, EQUIVALENTS } from '../test/mutation/areas.mjs'
import { NAMED } from '../test/mutation/named.mjs'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { compileCheck } from './lib/compile-check.mjs'
import { importGraph, typescriptIn } from './lib/import-graph.mjs'
import { mutantsOf, withMutant } from './lib/mutants.mjs'
import { copyOfTree, endHosts, mutationRunner, replaceFile } from './lib/mutation-run.mjs'
import { sampleOf } from './lib/sample.mjs'
import { markdownTable, plainTable } from './lib/table.mjs'

/** Files without behaviour of their own: numbers, re-exports. */
const WITHOUT_BEHAVIOUR = /(?:limits|index|types)\.ts$|\.test\.ts$|fixtures|\.d\.ts$/

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
const sample = options.named
  ? namedMutants()
  : sampleOf(allMutants(areas), areas, { seed, count: Number(options.count) })
if (options.list) {
  for (const { area, file, line, kind, before } of sample)
    console.log(`${area.name}  ${file}:${line}  ${kind}  ${before.slice(0, 80).replaceAll('\n', ' ')}`)
  process.exit(0)
}
await build()
const started = Date.now()
const until = started + Number(options.minutes) * 60_000
const clean = copyOfTree()
const copies = Array.from({ length: Number(options.workers) }, copyOfTree)
process.on('exit', () => {
  endHosts()
  for (const dir of [clean, ...copies]) rmSync(dir, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))
const graph = importGraph(root)
const compiles = compileCheck(clean)
const notice = mutationRunner(clean)

/** An edit that the compiler refuses does not count: it could not be committed. */
async function tryMutant(dir, mutant) {
  const accepted = reasonToAccept(mutant)
  if (accepted) return { result: 'equivalent', by: accepted }
  replaceFile(dir, mutant.file, withMutant(mutant.text, mutant))
  const edited = [mutant.file]
  try {
    const { beside, beyond } = mutant.area
    // A quick run asks the compiler last: most edits are noticed, and the tests are faster.
    if (!options.quick && !compiles(dir)) return NO_CODE
    const inProcess = await notice(dir, graph.testsFor(mutant.file, beside), { built: true, edited })
    if (inProcess.noticed) return resultOf(inProcess)
    if (options.quick) return compiles(dir) ? resultOf(inProcess) : NO_CODE
    const commandTests = beyond.flatMap((path) => [...typescriptIn(join(root, path))])
    const files = commandTests.filter((path) => path.endsWith('.test.ts')).map((path) => relative(root, path))
    return resultOf(await notice(dir, files, { built: false, edited }))
  } finally {
    replaceFile(dir, mutant.file, mutant.text)
  }
}

const NO_CODE = { result: 'no code', by: 'the compiler' }
const resultOf = ({ noticed, by }) => ({ result: noticed ? 'noticed' : 'UNNOTICED', by })

const ran = []
const queue = [...sample]
await Promise.all(
  copies.map(async (dir) => {
    while (queue.length > 0 && Date.now() < until) {
      const mutant = queue.shift()
      const began = Date.now()
      const outcome = await tryMutant(dir, mutant)
      ran.push({ ...mutant, ...outcome })
      const seconds = Math.round((Date.now() - began) / 1000)
      const before = mutant.before.slice(0, 100).replaceAll(/\s+/g, ' ')
      console.log(
        `${outcome.result}  ${mutant.file}:${mutant.line}  ${mutant.kind}: ${before}  ${outcome.by ?? ''} (${seconds} s)`,
      )
    }
  }),
)

endHosts()
const rows = areas.map((area) => {
  const mine = ran.filter((one) => one.area === area)
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
    percent(area.goal),
    accepted,
  ]),
  ['all', sum('tried'), sum('noticed'), percent(whole), '90 %', sum('accepted')],
]
const minutes = Math.round((Date.now() - started) / 60_000)
console.log(
  `\n${plainTable(cells)}\n\nseed ${seed}, ${ran.length} of ${sample.length} edits, ${minutes} minutes`,
)
if (options.keep) keep(cells, minutes)
process.exitCode = whole < 0.9 || rows.some(({ area, share }) => share < area.goal) ? 1 : 0

function keep(table, took) {
  const file = join(root, 'docs/reliability.md')
  const page = readFileSync(file, 'utf8')
  const [open, close] = ['<!-- mutation -->', '<!-- /mutation -->']
  const chosen = ['--seed', seed, '--count', options.count, ...(options.quick ? ['--quick'] : [])].join(' ')
  const on = `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, ${took} minutes`
  const text = `\`npm run mutation -- ${chosen}\` on ${on}, ${ran.length} of ${sample.length} edits:\n\n${markdownTable(table)}`
  const from = page.indexOf(open) + open.length
  writeFileSync(file, `${page.slice(0, from)}\n\n${text}\n\n${page.slice(page.indexOf(close))}`)
}
