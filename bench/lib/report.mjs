// report.mjs: one way to print a benchmark, and to keep it in docs/performance.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const page = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs', 'performance.md')

/**
 * `rows`: [{ what, value, against?, ratio?, goal?, met? }]. Prints a table; with --markdown also replaces the section
 * `name` of docs/performance.md.
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
  const widths = cells[0].map((_, column) => Math.max(...cells.map((line) => [...line[column]].length)))
  console.log(`\n${title}`)
  for (const line of cells)
    console.log(`  ${line.map((cell, column) => cell.padEnd(widths[column])).join('  ')}`.trimEnd())
  for (const note of notes) console.log(`  ${note}`)
  if (process.argv.includes('--markdown')) keep(name, title, cells, notes)
}

function keep(name, title, cells, notes) {
  const escaped = cells.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = escaped[0].map((_, column) => Math.max(3, ...escaped.map((row) => [...row[column]].length)))
  // As the formatter would have it.
  const line = (row, fill = ' ') => `| ${row.map((cell, at) => cell.padEnd(widths[at], fill)).join(' | ')} |`
  const [head, ...body] = escaped
  const machine = `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
  const section = [
    `<!-- bench:${name} -->`,
    `## ${title}`,
    '',
    `\`npm run bench -- ${name}\` (${machine})`,
    '',
    line(head),
    line(
      head.map(() => ''),
      '-',
    ),
    ...body.map((row) => line(row)),
    '',
    ...notes.map((note) => `${note}\n`),
    `<!-- /bench:${name} -->`,
  ].join('\n')
  const text = readFileSync(page, 'utf8')
  const pattern = new RegExp(`<!-- bench:${name} -->[\\s\\S]*?<!-- /bench:${name} -->`)
  writeFileSync(
    page,
    pattern.test(text) ? text.replace(pattern, () => section) : `${text.trimEnd()}\n\n${section}\n`,
  )
}
