// one-line.ts: names and titles of servers in one line of a bounded length. streams.ts makes text harmless.
import { cleanLine } from '@plugboard/core/tools'
import { columnsOf, isTerminal } from '../streams.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what colour codes start with
const COLOR_CODE = /(?:\x1b\[|\x9b)[0-9;:]*m/g

/** Text of a server for stdout. A terminal gets it without its colours; the writer shows the rest of its controls. */
export function forStdout(text: string): string {
  return isTerminal(1) ? text.replace(COLOR_CODE, '') : text
}

export function oneLine(text: unknown, chars = 100): string {
  return typeof text === 'string' ? cleanLine(text, chars) : ''
}

/** How wide a line may be; unlimited when the output is not a terminal. */
export function columns(): number {
  return isTerminal(1) ? columnsOf(1) : 200
}
