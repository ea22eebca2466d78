// shown.ts: words of servers on a terminal: nothing in them may act on it. What goes to a file or a pipe stays as it is.
import { cleanLine, cleanText } from '@plugboard/core/tools'
import { isTerminal } from '../streams.ts'

/** Text that came from a server, for stdout. */
export function forStdout(text: string): string {
  return isTerminal(1) ? cleanText(text) : text
}

export function oneLine(text: unknown, chars = 100): string {
  return typeof text === 'string' ? cleanLine(text, chars) : ''
}

/** How wide a line may be; wide enough for anything when nobody looks. */
export function columns(): number {
  return isTerminal(1) ? process.stdout.columns || 80 : 200
}
