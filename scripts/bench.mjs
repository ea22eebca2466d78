// `npm run bench [-- NAME …] [--markdown] [--svg]`: runs bench/NAME.bench.mjs (all of them without a name) and ends with one
// table of who was how fast at what. --markdown keeps the figures in docs/performance.md and in the README, --svg draws
// them in docs/charts/.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { keepFigures } from './docs-figures.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { plainTable } from './lib/table.mjs'

ensureInstalled()
await build()

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const names = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const known = readdirSync(join(root, 'bench'))
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.slice(0, -'.bench.mjs'.length))
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`No benchmark named ${unknown.join(', ')}. There are: ${known.join(', ')}.`)
  process.exit(2)
}

const { contestsIn, overviewCells } = await import(join(root, 'bench/lib/report.mjs'))
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-run-'))
const contests = join(folder, 'contests.json')
const failed = []
for (const name of names.length > 0 ? names : known) {
  const done = spawnSync(process.execPath, [join(root, 'bench', `${name}.bench.mjs`), ...flags], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PLUGBOARD_BENCH_CONTESTS: contests },
  })
  if (done.status !== 0) failed.push(name)
}
const cells = overviewCells(contestsIn(contests))
rmSync(folder, { recursive: true, force: true })
if (cells.length > 1) console.log(`\nSide by side\n${plainTable(cells, { indent: '  ' })}`)
if (flags.includes('--markdown')) keepFigures(root)
if (flags.includes('--svg')) {
  const { drawCharts } = await import(join(root, 'bench/lib/chart.mjs'))
  for (const file of drawCharts()) console.log(`drawn: ${file}`)
}
if (failed.length > 0) console.error(`\nDid not end well: ${failed.join(', ')}.`)
process.exit(failed.length > 0 ? 1 : 0)
