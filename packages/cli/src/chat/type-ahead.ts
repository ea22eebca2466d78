// type-ahead.ts: what was typed and not read yet, one line at a time. A paste is one piece however many lines it has;
// keys that come before anybody reads them wait. Pure: keyboard.ts feeds it with what the terminal sends.

const PASTE_START = '\x1b[200~'
const PASTE_END = '\x1b[201~'
const CTRL_C = '\x03'
/** A line editor edits one line: in it, the line ends and tabs of a paste are signs of their own. */
const LINE_END = '␊'
const TAB = '␉'

export class TypeAhead {
  /** Keys of whole and unfinished lines, pastes already as one line. */
  #waiting = ''
  #pasted: string | undefined
  /** The beginning of what may become a mark of a paste. */
  #rest = ''

  /** Takes what the terminal sent; the answer says how often Ctrl-C was among it, outside of pastes. */
  add(text: string): { readonly interrupts: number } {
    let left = this.#rest + text
    this.#rest = ''
    let interrupts = 0
    while (left !== '') {
      const mark = this.#pasted === undefined ? PASTE_START : PASTE_END
      const at = left.indexOf(mark)
      const cut = at < 0 ? left.length - partOf(mark, left) : at
      const piece = left.slice(0, cut)
      if (this.#pasted === undefined) {
        const keys = piece.replaceAll(CTRL_C, '')
        interrupts += piece.length - keys.length
        this.#waiting += keys
      } else this.#pasted += piece
      if (at < 0) {
        this.#rest = left.slice(cut)
        break
      }
      left = left.slice(at + mark.length)
      if (this.#pasted !== undefined) this.#waiting += asOneLine(this.#pasted)
      this.#pasted = this.#pasted === undefined ? '' : undefined
    }
    return { interrupts }
  }

  /** Everything up to and with the next line end; what follows it is for whoever reads the next line. */
  take(): string {
    const end = /\r\n?|\n/.exec(this.#waiting)
    const upTo = end ? end.index + end[0].length : this.#waiting.length
    const taken = this.#waiting.slice(0, upTo)
    this.#waiting = this.#waiting.slice(upTo)
    return taken
  }

  /** Takes everything that waits, for a reader that it is not meant for. */
  setAside(): string {
    const all = this.#waiting
    this.#waiting = ''
    return all
  }

  /** Puts it back, before what came since. */
  putBack(keys: string): void {
    this.#waiting = keys + this.#waiting
  }

  /** An Escape that no paste followed is a key after all. */
  release(): void {
    if (this.#pasted !== undefined) return
    this.#waiting += this.#rest
    this.#rest = ''
  }
}

/** How much of the end of the text is the beginning of the mark. */
function partOf(mark: string, text: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}

function asOneLine(pasted: string): string {
  return (
    pasted
      // What is copied out of an editor ends with a line end, and that does not mean: send it.
      .replace(/[\r\n]+$/, '')
      .replace(/\r\n?|\n/g, LINE_END)
      .replaceAll('\t', TAB)
      // Keys in a paste are text, and text has none of these.
      .replace(/\p{Cc}/gu, '')
  )
}

/** A line of the editor as it was meant. */
export function withLineEnds(line: string): string {
  return line.replaceAll(LINE_END, '\n').replaceAll(TAB, '\t')
}

/** The same the other way, for the history. */
export function inOneLine(text: string): string {
  return text.replace(/\r\n?|\n/g, LINE_END).replaceAll('\t', TAB)
}
