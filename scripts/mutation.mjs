// `npm run mutation [-- --seed N] [--count 150] [--area NAME …] [--minutes 60] [--keep]`: makes a seeded sample of small,
// behaviour-changing edits to the sources, one at a time in a copy of the tree, and counts how many the tests notice.
// Ends non-zero when an area is below its goal (test/mutation/areas.mjs). `--keep` writes the score to docs/reliability.md.
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { AREAS, EQUIVALENTS } from '../test/mutation/areas.mjs'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { mutantsOf, withMutant } from './lib/mutants.mjs'
import { sampleOf } from './lib/sample.mjs'
import { plainTable } from './lib/table.mjs'

const BESIDE_MS = 240_000
const BEYOND_MS = 420_000
/** Files without behaviour of their own: numbers, re-exports. */
const WITHOUT_BEHAVIOUR = /(?:limits|index|types)\.ts$|\.test\.ts$|fixtures|\.d\.ts$/

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10).replaceAll('-', '') },
    count: { type: 'string', default: '150' },
    area: { type: 'string', multiple: true },
    minutes: { type: 'string', default: '75' },
    workers: { type: 'string', default: '2' },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

function* sourcesIn(path) {
  if (statSync(path).isFile()) {
    if (!WITHOUT_BEHAVIOUR.test(path)) yield path
    return
  }
  for (const item of readdirSync(path).sort()) yield* sourcesIn(join(path, item))
}

/** Every mutant of the chosen areas; a file belongs to the first area that names it. */
function allMutants(areas) {
  const taken = new Set()
  return areas.flatMap((area) =>
    area.sources
      .map((source) => join(root, source))
      .filter(existsSync)
      .flatMap((source) => [...sourcesIn(source)])
      .filter((file) => !taken.has(file) && taken.add(file))
      .flatMap((file) => {
        const text = readFileSync(file, 'utf8')
        return mutantsOf(text).map((mutant) => ({ ...mutant, area, file: relative(root, file), text }))
      }),
  )
}

function reasonToAccept({ file, kind, text, start, end }) {
  return EQUIVALENTS.find((one) => {
    if (one.file !== file || one.kind !== kind) return false
    const at = text.indexOf(one.before)
    return at !== -1 && start >= at && end <= at + one.before.length
  })?.reason
}

/** A copy of the tree by hard links: an edit replaces the link, so the original is never written. */
function copyOfTree() {
  const dir = mkdtempSync(join(tmpdir(), 'plugboard-mutation-'))
  const names = readdirSync(root).filter((name) => name !== '.git')
  const done = spawnSync('cp', ['-al', ...names, dir], { cwd: root, stdio: 'inherit' })
  if (done.status !== 0) throw new Error('the tree could not be copied')
  for (const name of ['.plugboard-build', '.plugboard-install']) {
    const stamp = join(dir, 'node_modules', name)
    rmSync(stamp, { force: true })
    if (existsSync(join(root, 'node_modules', name))) copyFileSync(join(root, 'node_modules', name), stamp)
  }
  rmSync(join(dir, 'node_modules', '.vite'), { recursive: true, force: true })
  return dir
}

/** Runs test files in a copy: `passed`, `failed` or `timeout`, and the first test that failed. */
function runTests(dir, tests, { built, limitMs }) {
  const there = tests.filter((test) => existsSync(join(dir, test)))
  if (there.length === 0) return Promise.resolve({ result: 'passed' })
  const vitest = join(dir, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--bail=1', '--maxWorkers=1', '--no-color', '--reporter=dot', ...there]
  const env = { ...process.env, ...(built && { PLUGBOARD_TEST_BUILT: '1' }) }
  const child = spawn(process.execPath, args, {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-200_000)
    })
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      process.kill(-child.pid, 'SIGKILL')
      resolve({ result: 'timeout', by: 'the time limit' })
    }, limitMs)
    child.on('close', (code) => {
      clearTimeout(timer)
      const by = /FAIL\s+(.+)/.exec(output)?.[1] ?? output.trim().split('\n').at(-1)
      resolve(code === 0 ? { result: 'passed' } : { result: 'failed', by, output })
    })
  })
}

/** An edit that the compiler refuses does not count: it could not be committed. */
function compiles(dir) {
  const tsc = join(dir, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: dir, stdio: 'ignore' }).status === 0
}

async function tryMutant(dir, mutant) {
  const file = join(dir, mutant.file)
  rmSync(file)
  writeFileSync(file, withMutant(mutant.text, mutant))
  try {
    if (!compiles(dir)) return { result: 'invalid', by: 'the compiler' }
    const beside = await runTests(dir, mutant.area.beside, { built: true, limitMs: BESIDE_MS })
    if (beside.result !== 'passed') return beside
    return await runTests(dir, mutant.area.beyond, { built: false, limitMs: BEYOND_MS })
  } finally {
    rmSync(file)
    writeFileSync(file, mutant.text)
  }
}

/** Tests that fail without an edit would notice every edit. */
async function checkBaseline(dir, areas) {
  for (const area of areas) {
    for (const [tests, built] of [
      [area.beside, true],
      [area.beyond, false],
    ]) {
      const ran = await runTests(dir, tests, { built, limitMs: BEYOND_MS * 3 })
      if (ran.result === 'passed') continue
      console.error(
        `${area.name}: the tests fail without any edit (${ran.by}).\n${(ran.output ?? '').slice(-3000)}`,
      )
      process.exit(2)
    }
  }
}

const areas = AREAS.filter(({ name }) => !options.area || options.area.includes(name))
const seed = Number(options.seed)
ensureInstalled()
const sample = sampleOf(allMutants(areas), areas, { seed, count: Number(options.count) })
if (options.list) {
  for (const { area, file, line, kind, before } of sample)
    console.log(`${area.name}  ${file}:${line}  ${kind}  ${before.slice(0, 80).replaceAll('\n', ' ')}`)
  process.exit(0)
}
await build()
const started = Date.now()
const until = started + Number(options.minutes) * 60_000
const copies = Array.from({ length: Number(options.workers) }, copyOfTree)
process.on('exit', () => {
  for (const dir of copies) rmSync(dir, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))
await checkBaseline(copies[0], areas)

const ran = []
const queue = [...sample]
await Promise.all(
  copies.map(async (dir) => {
    while (queue.length > 0 && Date.now() < until) {
      const mutant = queue.shift()
      const accepted = reasonToAccept(mutant)
      const outcome = accepted ? { result: 'accepted', by: accepted } : await tryMutant(dir, mutant)
      ran.push({ ...mutant, ...outcome })
      const sign = {
        passed: 'UNNOTICED',
        failed: 'noticed',
        timeout: 'noticed',
        accepted: 'equivalent',
        invalid: 'no code',
      }[outcome.result]
      const where = `${mutant.file}:${mutant.line}`
      console.log(
        `${sign}  ${where}  ${mutant.kind}: ${mutant.before.slice(0, 100).replaceAll(/\s+/g, ' ')}  ${outcome.by ?? ''}`,
      )
    }
  }),
)

const rows = areas.map((area) => {
  const mine = ran.filter((one) => one.area === area)
  const counted = mine.filter(({ result }) => result !== 'accepted' && result !== 'invalid')
  const accepted = mine.filter(({ result }) => result === 'accepted').length
  const noticed = counted.filter(({ result }) => result !== 'passed').length
  const share = counted.length === 0 ? 1 : noticed / counted.length
  return { area, tried: counted.length, noticed, share, accepted }
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
if (options.keep) await keep(cells, minutes)
process.exitCode = whole < 0.9 || rows.some(({ area, share }) => share < area.goal) ? 1 : 0

async function keep(table, took) {
  const { markdownTable } = await import('./lib/table.mjs')
  const file = join(root, 'docs/reliability.md')
  const page = readFileSync(file, 'utf8')
  const [open, close] = ['<!-- mutation -->', '<!-- /mutation -->']
  const text = `\`npm run mutation -- --seed ${seed}\` on ${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, ${took} minutes:\n\n${markdownTable(table)}`
  const from = page.indexOf(open) + open.length
  writeFileSync(file, `${page.slice(0, from)}\n\n${text}\n\n${page.slice(page.indexOf(close))}`)
}
