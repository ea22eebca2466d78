// list-text.ts: the table of servers as this terminal can show it: its width, paths from the project's folder, and lines
// broken between words. In a pipe, lines are as long as they are and paths whole.
import type { Configuration } from '@plugboard/core/config'
import type { Colors } from '../colors.ts'
import { mayAdd, type RowsOptions, rowsAsText, type ServerRow } from '../server-table.ts'
import { columnsOf, isTerminal } from '../streams.ts'
import { wrapped } from '../wrap.ts'

export function listText(
  rows: readonly ServerRow[],
  color: Colors,
  configuration: Configuration,
  options: Pick<RowsOptions, 'notStarted'> = {},
): string {
  return rowsAsText(rows, color, {
    ...options,
    ...onThisScreen(configuration.place.root),
    mayAdd: mayAdd(configuration),
  })
}

function onThisScreen(root: string): Pick<RowsOptions, 'columns' | 'root' | 'wrap'> {
  if (!isTerminal(1)) return {}
  const columns = columnsOf(1)
  return { columns, root, wrap: (line) => wrapLines(line, columns) }
}

/** Each line of a text, with later parts indented as its first. */
export function wrapLines(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const [indent = ''] = /^ */.exec(line) ?? []
      const [first = '', ...rest] = wrapped(line.slice(indent.length), columns - indent.length, '  ')
      return [indent + first, ...rest.map((each) => indent + each)]
    })
    .join('\n')
}
