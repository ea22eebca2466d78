// colors.ts: the few styles and cursor moves the command uses. Their codes are marked as our own: streams.ts lets these
// through to a terminal and makes every other control character visible, wherever the text comes from.
import { lazyModule } from '@plugboard/core/lazy'

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const

export type Colors = Readonly<Record<keyof typeof STYLES, (text: string) => string>>

export function createColors(enabled: boolean): Colors {
  const painted = Object.entries(STYLES).map(([name, [on, off]]) => [
    name,
    enabled ? (text: string) => `${code(`${on}m`)}${text}${code(`${off}m`)}` : (text: string) => text,
  ])
  // Built from the table's own entries, so every name is there.
  return Object.fromEntries(painted) as Colors
}

/** Cursor moves, for redrawing. */
export const cursor = {
  up: (rows: number) => (rows > 0 ? code(`${rows}A`) : ''),
  down: (rows: number) => (rows > 0 ? code(`${rows}B`) : ''),
  /** To the first column. */
  home: () => code('1G'),
  column: (column: number) => code(`${column + 1}G`),
  eraseRight: () => code('0K'),
  eraseLine: () => code('2K'),
  eraseBelow: () => code('0J'),
  shown: (shown: boolean) => code(shown ? '?25h' : '?25l'),
  /** Between the two a terminal that can shows nothing, so that a frame appears whole. */
  frame: (begins: boolean) => code(begins ? '?2026h' : '?2026l'),
  /** Whether the terminal marks pasted text. */
  pastes: (marked: boolean) => code(marked ? '?2004h' : '?2004l'),
  save: () => code('s'),
  restore: () => code('u'),
  /** Questions that a terminal answers on the keyboard: the size of a character in pixels, and what it can do. */
  askCellSize: () => code('16t'),
  askAttributes: () => code('c'),
} as const

/** A control string: of an application (`_`), of the system (`]`) or of a device (`P`). Printable ASCII only. */
export function terminalString(kind: '_' | ']' | 'P', text: string): string {
  return `${mark()}${kind}${text}${STRING_END}`
}

/** A noncharacter starts the marker, and a number that no other program knows makes it ours. */
const MARK_START = '\ufdd0'
// The command is built in two halves, and both need the same marker.
const SHARED = Symbol.for('plugboard.terminal-mark')
const shared = globalThis as { [SHARED]?: string }

function mark(): string {
  shared[SHARED] ??= `${MARK_START}${lazyModule('node:crypto').randomBytes(12).toString('hex')}`
  return shared[SHARED]
}

function code(sequence: string): string {
  return `${mark()}${sequence}`
}

const STRING_END = '\u009c'
const OWN_CODE = /^(?:[0-9]{1,5}[mABGKJ]|\?(?:2004|2026|25)[hl]|[suc]|16t|[_\]P][ -~]*\u009c)/

/** As a terminal reads it. */
function escaped(own: string): string {
  if (own === '') return ''
  return own.endsWith(STRING_END) ? `\x1b${own.slice(0, -1)}\x1b\\` : `\x1b[${own}`
}

/** Our own codes as a terminal reads them; every other part of the text as `rest` makes it. */
export function withCodes(text: string, rest: (text: string) => string): string {
  if (shared[SHARED] === undefined || !text.includes(MARK_START)) return rest(text)
  const [first = '', ...parts] = text.split(shared[SHARED])
  return parts.reduce((done, part) => {
    const [own = ''] = OWN_CODE.exec(part) ?? []
    return `${done}${escaped(own)}${rest(part.slice(own.length))}`
  }, rest(first))
}

/** The text without our codes, to measure it. */
export function withoutCodes(text: string): string {
  if (shared[SHARED] === undefined || !text.includes(MARK_START)) return text
  const [first = '', ...parts] = text.split(shared[SHARED])
  return first + parts.map((part) => part.replace(OWN_CODE, '')).join('')
}
