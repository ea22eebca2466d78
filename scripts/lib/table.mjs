// table.mjs: rows of cells as text for a terminal, and as Markdown the way the formatter would have it. The first is the head.

const width = (text) => [...text].length
const widthsOf = (cells, least) =>
  cells[0].map((_, column) => Math.max(least, ...cells.map((row) => width(row[column]))))

export function plainTable(cells) {
  const widths = widthsOf(cells, 0)
  return cells
    .map((row) => `  ${row.map((cell, at) => cell.padEnd(widths[at])).join('  ')}`.trimEnd())
    .join('\n')
}

export function markdownTable(cells) {
  const escaped = cells.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = widthsOf(escaped, 3)
  const line = (row, fill = ' ') => `| ${row.map((cell, at) => cell.padEnd(widths[at], fill)).join(' | ')} |`
  const [head, ...body] = escaped
  const rule = line(
    head.map(() => ''),
    '-',
  )
  return [line(head), rule, ...body.map((row) => line(row))].join('\n')
}
