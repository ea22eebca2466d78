// wrap.ts: text in lines of a given width, broken between words, and not inside of a command in backticks. Colour codes do
// not count.
import { withoutCodes } from './colors.ts'
import { columnsOf, isTerminal } from './streams.ts'

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
  for (const word of wordsOf(text, columns)) {
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

/** Text of several lines for a terminal; in a pipe it stays as it is. A later row gets the indent of its line, and `more`. */
export function forTerminal(text: string, fd: 1 | 2, more = '  '): string {
  if (!isTerminal(fd)) return text
  const columns = textColumns(fd)
  return text
    .split('\n')
    .flatMap((line) => {
      const indent = /^ {0,20}/.exec(line)?.[0] ?? ''
      const [first = '', ...rest] = wrapped(line.slice(indent.length), columns - indent.length, more)
      return [first, ...rest].map((row) => indent + row)
    })
    .join('\n')
}

/** A command in backticks is one word where it fits in a line: the user copies it. */
function wordsOf(text: string, columns: number): readonly string[] {
  const words: string[] = []
  let open: string[] = []
  for (const word of text.split(' ')) {
    const ticks = word.split('`').length - 1
    if (open.length === 0 && ticks % 2 === 0) words.push(word)
    else if (open.length === 0) open = [word]
    else {
      open.push(word)
      if (ticks % 2 === 0) continue
      const whole = open.join(' ')
      words.push(...([...withoutCodes(whole)].length < columns ? [whole] : open))
      open = []
    }
  }
  return [...words, ...open]
}
