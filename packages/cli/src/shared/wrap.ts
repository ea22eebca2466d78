// wrap.ts: text in lines of a given width, broken between words. Colour codes do not count.
import { withoutCodes } from '../colors.ts'
import { columnsOf, isTerminal } from '../streams.ts'

const PIPED_COLUMNS = 80

/** How wide text for a user may be: the terminal's width, 80 in a pipe. */
export function textColumns(fd: 1 | 2 = 1): number {
  return isTerminal(fd) ? Math.max(40, columnsOf(fd)) : PIPED_COLUMNS
}

/** One paragraph as lines; a word longer than a line stays whole. Later lines get `indent` before them. */
export function wrapped(text: string, columns: number, indent = ''): readonly string[] {
  const lines: string[] = []
  let line = ''
  let width = 0
  for (const word of text.split(' ')) {
    const chars = [...withoutCodes(word)].length
    if (line !== '' && width + 1 + chars > columns) {
      lines.push(line)
      line = indent + word
      width = indent.length + chars
    } else {
      line = line === '' && lines.length === 0 ? word : `${line} ${word}`
      width = width === 0 ? chars : width + 1 + chars
    }
  }
  return [...lines, line]
}
