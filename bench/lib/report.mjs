// report.mjs: one way to print a benchmark, and to keep it: its section of docs/performance.md, and its contests (who
// else did the same work in the same run) in docs/performance.json, which the overview and the charts are made of.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { markdownTable, plainTable } from '../../scripts/lib/table.mjs'

const docs = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs')
const page = join(docs, 'performance.md')
const data = join(docs, 'performance.json')

/** The contenders, in the order of the overview's columns. A new peer is one more name. */
export const PEERS = [
  'Plugboard',
  'bare SDK',
  'raw floor',
  'mcporter',
  'mcpdo',
  'Claude Code',
  'mcp-proxy',
  'ripgrep',
  'BM25',
]

/**
 * `rows`: [{ what, value, against?, ratio?, goal?, met?, contest? }]. Prints a table; with --markdown also replaces the
 * section `name` of docs/performance.md. `contest`: { unit, better: 'less'|'more', of: { [peer]: number } }.
 */
export function report(name, title, rows, notes = []) {
  const cells = [
    ['what', 'measured', 'against', 'ratio', 'goal', ''],
    ...rows.map((row) => [
      row.what,
      row.value,
      row.against ?? '',
      row.ratio === undefined ? '' : row.ratio.toFixed(row.ratio < 0.1 ? 3 : 2),
      row.goal ?? '',
      row.met === undefined ? '' : row.met ? 'met' : 'NOT MET',
    ]),
  ]
  console.log(`\n${title}\n${plainTable(cells, { indent: '  ' })}`)
  for (const note of notes) console.log(`  ${note}`)
  const contests = contestsOf(rows)
  const { PLUGBOARD_BENCH_CONTESTS } = process.env
  if (PLUGBOARD_BENCH_CONTESTS) remember(PLUGBOARD_BENCH_CONTESTS, name, contests)
  if (!process.argv.includes('--markdown')) return
  keepSection(name, [`## ${title}`, '', ...ranBy(name), '', markdownTable(cells), '', ...spaced(notes)])
  remember(data, name, contests)
  keepOverview()
}

/** The overview of everything that was kept so far. */
export function keepOverview() {
  keepSection('overview', overviewSection())
}

/** The page with the overview that the kept contests make. */
export function withOverview(text) {
  return withSection(text, 'overview', overviewSection())
}

/** The contests a file holds, by benchmark; without a name, those that earlier runs kept in docs/. */
export function contestsIn(file = data) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

function remember(file, name, contests) {
  const all = { ...contestsIn(file), [name]: { date: today(), contests } }
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
}

/** Every contest with more than one contender, as the cells of one table. */
export function overviewCells(kept) {
  const contests = Object.entries(kept).flatMap(([name, { contests }]) =>
    contests.map((contest) => ({ name, ...contest })),
  )
  const peers = PEERS.filter((peer) => contests.some(({ of }) => of[peer] !== undefined))
  const line = ({ name, what, unit, of }) => [
    name,
    what,
    ...peers.map((peer) => (of[peer] === undefined ? '' : shown(of[peer], unit))),
  ]
  return [['benchmark', 'what', ...peers], ...contests.map(line)]
}

/** A figure short enough for a column: `1.9 s`, `155 µs`, `5.4 k/s`. */
export function shown(value, unit) {
  if (unit === 'ms' && value >= 1000) return `${(value / 1000).toFixed(1)} s`
  if (unit === '/s' && value >= 1000) return `${(value / 1000).toFixed(1)} k/s`
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3
  return `${value.toFixed(digits)} ${unit}`.trim()
}

const today = () => new Date().toISOString().slice(0, 10)
const spaced = (notes) => notes.flatMap((note) => [note, ''])

function ranBy(name) {
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
  return [`\`npm run bench -- ${name}\` (${today()}, ${machine})`]
}

function contestsOf(rows) {
  // Finer than any page shows it: a figure rounded twice could differ from one rounded once.
  const rounded = (of) =>
    Object.fromEntries(Object.entries(of).map(([peer, value]) => [peer, Number(value.toPrecision(6))]))
  return rows
    .filter(({ contest }) => contest)
    .map(({ what, contest }) => ({ what, ...contest, of: rounded(contest.of) }))
}

function overviewSection() {
  return [
    '## Side by side',
    '',
    '`npm run bench -- --markdown` (all of them; the sections below have the dates, the goals and the method)',
    '',
    markdownTable(overviewCells(contestsIn())),
    '',
    'Rounds are interleaved and figures are medians, so a slow moment of the machine hits all columns of a row alike. Rows',
    'come from different runs: compare within a row only. An empty cell means that the peer was not measured, or does not do it.',
    '',
  ]
}

function keepSection(name, lines) {
  writeFileSync(page, withSection(readFileSync(page, 'utf8'), name, lines))
}

function withSection(text, name, lines) {
  const section = [`<!-- bench:${name} -->`, ...lines, `<!-- /bench:${name} -->`].join('\n')
  const pattern = new RegExp(`<!-- bench:${name} -->[\\s\\S]*?<!-- /bench:${name} -->`)
  if (pattern.test(text)) return text.replace(pattern, () => section)
  if (name === 'overview') return text.replace('<!-- bench:', () => `${section}\n\n<!-- bench:`)
  return `${text.trimEnd()}\n\n${section}\n`
}
