// table.mjs: tables as text for a terminal, as Markdown the way the formatter would have it, and read back from a page.
// Cells come in rows; the first row is the head.

const width = (text) => [...text].length
const asText = (cells) => cells.map((row) => row.map((cell) => String(cell).replaceAll('\n', ' ')))
const widthsOf = (cells, least) =>
  cells[0].map((_, column) => Math.max(least, ...cells.map((row) => width(row[column]))))
const padded = (cell, to, fill) => cell + fill.repeat(Math.max(0, to - width(cell)))

/** Lines for a terminal; a cell longer than `most` characters is cut. */
export function plainTable(cells, { indent = '', most = Number.POSITIVE_INFINITY } = {}) {
  const short = asText(cells).map((row) =>
    row.map((cell) => (width(cell) > most ? cell.slice(0, most) : cell)),
  )
  const widths = widthsOf(short, 0)
  return short
    .map((row) => `${indent}${row.map((cell, at) => padded(cell, widths[at], ' ')).join('  ')}`.trimEnd())
    .join('\n')
}

export function markdownTable(cells) {
  const escaped = asText(cells).map((row) => row.map((cell) => cell.trim().replaceAll('|', '\\|')))
  const widths = widthsOf(escaped, 3)
  const line = (row, fill) => `| ${row.map((cell, at) => padded(cell, widths[at], fill)).join(' | ')} |`
  const [head, ...body] = escaped
  const rule = line(
    head.map(() => ''),
    '-',
  )
  return [line(head, ' '), rule, ...body.map((row) => line(row, ' '))].join('\n')
}

/** The rows of every table in a text, each as an object by its head; rows keep the heading they stand under. */
export function tablesIn(markdown) {
  const rows = []
  let heading = ''
  let command = ''
  let head
  for (const line of markdown.split('\n')) {
    if (line.startsWith('#')) {
      heading = line.replace(/^#+ /, '')
      command = ''
    }
    command = /`(npm run [^`]+)`/.exec(line)?.[1] ?? command
    const cells = line.startsWith('|')
      ? line
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim())
      : undefined
    if (!cells) head = undefined
    else if (!head) head = cells
    else if (!/^-+$/.test(cells[0]))
      rows.push({
        heading,
        command,
        cells: Object.fromEntries(cells.map((cell, at) => [head[at], cell])),
        first: cells[0],
      })
  }
  return rows
}
