// docs-table.mjs: Markdown tables, written aligned and read back.

export function table(head, rows) {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row, fill = ' ') =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width, fill)).join(' | ')} |`
  return [line(cells[0]), line([], '-'), ...cells.slice(1).map((row) => line(row))].join('\n')
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
