// layout.ts: text as rows of a terminal: how wide it is, and where it wraps. Text is made visible before it is measured, so
// that a row takes as many columns as counted here, whatever the text contains.
import { visible } from '@plugboard/core/text/escape-controls'
import { withoutCodes } from '../colors.ts'

/** Text of one style. */
export interface Span {
  readonly text: string
  readonly paint?: ((text: string) => string) | undefined
}

export interface WrapOptions {
  readonly columns: number
  /** What stands before the first row, and before the others. Plain, or painted by our own colours. */
  readonly first?: string
  readonly next?: string
}

const TAB = '    '
const PLAIN = /^[\x20-\x7e]*$/
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
const NO_WIDTH = /\p{Mark}|\u200b|\u200c|\u200d/u

/** How many columns the text takes; our own codes take none. */
export function width(text: string): number {
  const plain = withoutCodes(text)
  if (PLAIN.test(plain)) return plain.length
  let sum = 0
  for (const char of plain) sum += charWidth(char)
  return sum
}

export function charWidth(char: string): number {
  if (char >= ' ' && char <= '~') return 1
  return char === '\t' ? TAB.length : NO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1
}

/** Text of others in one line, as it is shown: tabs as spaces, hidden characters as escapes. */
export function shownText(text: string): string {
  return visible(text.replaceAll('\t', TAB)).replaceAll('\n', ' ')
}

/** Cut to the columns, with a mark where something is missing. Without our own codes. */
export function fit(text: string, columns: number): string {
  const line = shownText(text)
  if (width(line) <= columns) return line
  let used = 0
  let kept = ''
  for (const char of line) {
    used += charWidth(char)
    if (used > columns - 1) break
    kept += char
  }
  return `${kept}…`
}

/** Spans wrapped at words; a word that is longer than a row is broken. */
export function wrap(spans: readonly Span[], { columns, first = '', next = '' }: WrapOptions): string[] {
  const rows: string[] = []
  let row = first
  let used = width(first)
  let blank = true
  const room = Math.max(8, columns)
  const end = () => {
    rows.push(row)
    row = next
    used = width(next)
    blank = true
  }
  const put = (text: string, size: number, paint: Span['paint']) => {
    row += paint ? paint(text) : text
    used += size
    blank = false
  }
  for (const { text, paint } of spans)
    for (const word of shownText(text).match(/ +|[^ ]+/g) ?? []) {
      const size = width(word)
      if (used + size <= room) {
        put(word, size, paint)
        continue
      }
      // A space at the end of a row is not seen, and must not begin the next one.
      if (word.startsWith(' ')) {
        if (!blank) end()
        continue
      }
      if (!blank) end()
      if (used + size <= room) put(word, size, paint)
      else
        for (const piece of broken(word, room - used, room - width(next))) {
          if (used + width(piece) > room) end()
          put(piece, width(piece), paint)
        }
    }
  rows.push(row)
  return rows
}

/** One text of one style. */
export function wrapText(text: string, options: WrapOptions, paint?: Span['paint']): string[] {
  return text.split('\n').flatMap((line, at) => {
    const { first = '', next = '' } = options
    return wrap([{ text: line, paint }], { ...options, first: at === 0 ? first : next })
  })
}

function broken(word: string, first: number, rest: number): string[] {
  const pieces: string[] = []
  let piece = ''
  let used = 0
  for (const char of word) {
    const size = charWidth(char)
    if (used + size > (pieces.length === 0 ? first : rest) && piece !== '') {
      pieces.push(piece)
      piece = ''
      used = 0
    }
    piece += char
    used += size
  }
  return [...pieces, piece]
}
