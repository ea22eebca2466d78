// docs-figures.mjs: the figures of the README, taken from the pages that the benchmarks and the conformance suite write.
// Each is beside the command that prints it. A row that is no longer there is left out, and reported.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable, tablesIn } from './lib/table.mjs'

const MARK = /<!-- figures -->[\s\S]*?<!-- \/figures -->/

/** Which rows, by their first words, and the text for a reader who is new. */
const WANTED = [
  ['`list`: 4 stdio servers', '`plugboard list`: four npm servers brought up and listed, from a cold start'],
  ['`call`: one tool', '`plugboard call`: one tool, from a cold start'],
  ['http, one call at a time (p50)', 'a tool call over HTTP, the whole board'],
  ['stdio, one call at a time (p50)', 'a tool call over stdio, the whole board'],
  ['stdio, 64 at a time (throughput)', 'the same, 64 calls at a time'],
  ['`board.ready()` with 12 stdio servers', 'twelve npm servers connected'],
  ['an idle board with 12 servers, memory', 'memory of an idle board with twelve servers'],
  [
    'first token of `chat -p`, one server needing 10 s, model 300 ms',
    'first token while one server needs 10 s to start',
  ],
  ['tokens for tools in a turn, 500', 'tokens for tools in a turn, 500 plugged in'],
  ['search: recall@5, the half held out', 'the right tool among the first five found, held-out requests'],
  ['`plugboard list`, whole command', '`plugboard list` with 200 configured servers'],
  ['in-process echo, one call at a time', 'a call through `plugboard serve`'],
  ['stdio echo, 64 clients', '`plugboard serve` under 64 clients'],
  [
    'literal, under 200 hits',
    'finding a text in the sources of a kernel and more: share of the time of a scan by ripgrep',
  ],
]

export function withFigures(readme, performance, conformance) {
  if (!MARK.test(readme)) throw new Error('README.md has no <!-- figures --> … <!-- /figures --> to fill')
  const measured = tablesIn(performance).filter(({ cells }) => cells.measured !== undefined)
  const rows = WANTED.flatMap(([start, words]) => {
    const row = measured.find(({ first }) => first.startsWith(start))
    if (!row) console.error(`docs/performance.md has no row "${start}"; the README goes without it.`)
    return row ? [[words, row.cells.measured, firstOf(row.cells.against ?? ''), `\`${row.command}\``]] : []
  })
  const scores = tablesIn(conformance).filter(({ first }) => first.includes('required'))
  for (const { cells, first } of scores) {
    const kind = Object.keys(cells)[0]
    if (!kind.endsWith('scenarios')) continue
    const served = cells['through plugboard serve']
    const words = served ? `${kind} through \`plugboard serve\`` : kind
    rows.push([`conformance, ${words}, ${first}`, served ?? cells.passed, '', '`npm run conformance`'])
  }
  const text = markdownTable([['what', 'measured', 'beside', 'printed by'], ...rows])
  return readme.replace(MARK, () => `<!-- figures -->\n\n${text}\n\n<!-- /figures -->`)
}

/** Puts the figures of the pages below `root` into its README, after one of them was written. */
export function keepFigures(root) {
  const [readme, performance, conformance] = ['README.md', 'docs/performance.md', 'docs/conformance.md'].map(
    (path) => readFileSync(join(root, path), 'utf8'),
  )
  writeFileSync(join(root, 'README.md'), withFigures(readme, performance, conformance))
}

/** The first thing it was compared with, up to its figure. */
function firstOf(against) {
  return /^.*?\d[^,]*/.exec(against)?.[0] ?? ''
}
