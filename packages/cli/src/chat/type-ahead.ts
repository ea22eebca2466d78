// type-ahead.ts: text that was typed and not read yet, one line at a time. A paste is one piece however many lines it has;
// keys that arrive before a reader asks for them wait. Pure: keyboard.ts feeds it with what the terminal sends.

const PASTE_START = '\x1b[200~'
const PASTE_END = '\x1b[201~'
const CTRL_C = '\x03'
/** A line editor edits one line: in it, symbols stand for the line ends and tabs of a paste. */
const LINE_END = '␊'
const TAB = '␉'

export class TypeAhead {
  /** Keys of complete and unfinished lines; a paste is already one line. */
  #waiting = ''
  #pasted: string | undefined
  /** What may be the beginning of a paste marker. */
  #rest = ''

  /** Takes what the terminal sent; returns how often Ctrl-C was in it, outside of pastes. */
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

  /** Everything up to and with the next line end; what follows it is for the next line's reader. */
  take(): string {
    const end = /\r\n?|\n/.exec(this.#waiting)
    const upTo = end ? end.index + end[0].length : this.#waiting.length
    const taken = this.#waiting.slice(0, upTo)
    this.#waiting = this.#waiting.slice(upTo)
    return taken
  }

  /** Takes all that waits, before a reader that it is not meant for. */
  setAside(): string {
    const all = this.#waiting
    this.#waiting = ''
    return all
  }

  /** Puts it back, before what arrived since. */
  putBack(keys: string): void {
    this.#waiting = keys + this.#waiting
  }

  /** An Escape that starts no paste is a key after all. */
  release(): void {
    if (this.#pasted !== undefined) return
    this.#waiting += this.#rest
    this.#rest = ''
  }
}

/** How much of the end of the text is the beginning of the marker. */
function partOf(mark: string, text: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}

function asOneLine(pasted: string): string {
  return (
    pasted
      // Text copied out of an editor ends with a line end; that does not mean: send it.
      .replace(/[\r\n]+$/, '')
      .replace(/\r\n?|\n/g, LINE_END)
      .replaceAll('\t', TAB)
      // Keys in a paste are text, and text has none of these.
      .replace(/\p{Cc}/gu, '')
  )
}

/** A line of the editor with its symbols turned back. */
export function withLineEnds(line: string): string {
  return line.replaceAll(LINE_END, '\n').replaceAll(TAB, '\t')
}

/** The same the other way, for the history. */
export function inOneLine(text: string): string {
  return text.replace(/\r\n?|\n/g, LINE_END).replaceAll('\t', TAB)
}
