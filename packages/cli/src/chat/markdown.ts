// markdown.ts: Markdown that arrives in pieces, as lines for a terminal. A line is shown as it arrives and redrawn
// with its style when it is complete. It styles the few elements that answers usually have, and leaves the rest unchanged.
import { cleanText } from '@plugboard/core/tools'
import { type Colors, cursor } from '../colors.ts'

export interface MarkdownOptions {
  readonly color: Colors
  columns(): number
  write(text: string): void
}

export class Markdown {
  readonly #options: MarkdownOptions
  #line = ''
  #fenced = false

  constructor(options: MarkdownOptions) {
    this.#options = options
  }

  write(piece: string): void {
    const lines = cleanText(piece).split('\n')
    const rest = lines.pop() ?? ''
    for (const line of lines) {
      this.#redraw(this.#line + line)
      this.#line = ''
    }
    this.#line += rest
    this.#options.write(rest)
  }

  /** Ends an open line. */
  end(): void {
    if (this.#line !== '') this.#redraw(this.#line)
    this.#line = ''
    this.#fenced = false
  }

  #redraw(line: string): void {
    const shown = this.#line
    const up = Math.max(0, Math.ceil(width(shown) / Math.max(1, this.#options.columns())) - 1)
    const back = shown === '' ? '' : cursor.up(up) + cursor.home() + cursor.eraseBelow()
    this.#options.write(`${back}${this.#styled(line)}\n`)
  }

  #styled(line: string): string {
    const { bold, cyan, dim } = this.#options.color
    if (/^\s*(```|~~~)/.test(line)) {
      this.#fenced = !this.#fenced
      return dim(line)
    }
    if (this.#fenced) return cyan(line)
    const heading = /^(#{1,6})\s+(.*)$/.exec(line)
    if (heading) return bold(heading[2] ?? '')
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return dim('─'.repeat(Math.min(40, this.#options.columns())))
    const quote = /^\s*>\s?(.*)$/.exec(line)
    if (quote) return `${dim('│')} ${dim(quote[1] ?? '')}`
    const item = /^(\s*)[-*+]\s+(.*)$/.exec(line)
    if (item) return `${item[1] ?? ''}• ${this.#inline(item[2] ?? '')}`
    return this.#inline(line)
  }

  /** Code first: its content is not Markdown. */
  #inline(text: string): string {
    const { bold, cyan } = this.#options.color
    return text
      .split(/(`[^`]+`)/)
      .map((part) =>
        part.startsWith('`') && part.endsWith('`') && part.length > 2
          ? cyan(part.slice(1, -1))
          : part.replace(/\*\*([^*\s](?:[^*]*[^*\s])?)\*\*/g, (_, inner: string) => bold(inner)),
      )
      .join('')
  }
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const NO_WIDTH = /\p{Mark}|\u200b|\u200c|\u200d/u

/** How many columns the text takes; accurate enough to count its rows. */
export function width(text: string): number {
  let sum = 0
  for (const char of text) sum += char === '\t' ? 8 : NO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return sum
}
