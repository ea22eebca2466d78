// text/matches.ts: turns ripgrep's JSON lines into the matches an answer carries, bounded in number and size.

import { SEARCH_LIMITS } from '../limits.ts'
import { LineSplitter } from '../ripgrep.ts'

export interface TextMatch {
  readonly file_path: string
  /** 1-based. */
  readonly line: number
  /** The line without its terminator. */
  readonly text: string
  readonly before?: readonly string[]
  readonly after?: readonly string[]
  /** The line was longer than an answer carries, or not UTF-8 and shown with replacement characters. */
  readonly note?: 'cut' | 'not utf-8'
}

/** ripgrep's way to write text that may not be UTF-8. */
export interface JsonText {
  readonly text?: string
  readonly bytes?: string
}

interface JsonEvent {
  readonly type: 'begin' | 'match' | 'context' | 'end' | 'summary'
  readonly data: { readonly path?: JsonText; readonly lines?: JsonText; readonly line_number?: number | null }
}

interface Line {
  readonly text: string
  readonly note: TextMatch['note']
}

/** Collects matches from one or more runs; `full` says when to stop them. */
export class MatchCollector {
  readonly matches: TextMatch[] = []
  readonly #max: number
  readonly #context: number
  #chars = 0

  readonly #accepts: (file: string) => boolean

  constructor(max: number, context: number, accepts: (file: string) => boolean = () => true) {
    this.#max = max
    this.#context = context
    this.#accepts = accepts
  }

  get full(): boolean {
    return this.matches.length >= this.#max || this.#chars >= SEARCH_LIMITS.answerChars
  }

  /** A reader for one run's output; returns false when enough was found. */
  reader(): (piece: Buffer) => boolean {
    const splitter = new LineSplitter()
    let file = ''
    let isAccepted = true
    let lines = new Map<number, Line>()
    let hits: number[] = []
    const flush = () => {
      for (const at of hits) if (!this.full) this.#add(file, at, lines)
      lines = new Map()
      hits = []
    }
    return (piece) => {
      for (const raw of splitter.lines(piece)) {
        const event = JSON.parse(raw.toString('utf8')) as JsonEvent
        const number = event.data.line_number
        if (event.type === 'begin') {
          file = pathOf(event.data.path)
          isAccepted = this.#accepts(file)
        } else if (event.type === 'end') flush()
        else if (isAccepted && number !== undefined && number !== null && event.data.lines) {
          lines.set(number, lineOf(event.data.lines))
          if (event.type === 'match') hits.push(number)
          if (this.#context === 0 && hits.length >= this.#max - this.matches.length) flush()
        }
        if (this.full) return false
      }
      return true
    }
  }

  #add(file: string, at: number, lines: ReadonlyMap<number, Line>): void {
    const line = lines.get(at) ?? { text: '', note: undefined }
    const around = (from: number, to: number) => {
      const texts: string[] = []
      for (let n = from; n <= to; n++) {
        const other = lines.get(n)
        if (other) texts.push(other.text)
      }
      return texts
    }
    const context =
      this.#context > 0
        ? { before: around(at - this.#context, at - 1), after: around(at + 1, at + this.#context) }
        : {}
    this.matches.push({
      file_path: file,
      line: at,
      text: line.text,
      ...context,
      ...(line.note && { note: line.note }),
    })
    this.#chars += line.text.length + file.length
    for (const other of [...(context.before ?? []), ...(context.after ?? [])]) this.#chars += other.length
  }
}

function pathOf(path: JsonText | undefined): string {
  const text = path?.text ?? Buffer.from(path?.bytes ?? '', 'base64').toString('utf8')
  const plain = process.platform === 'win32' ? text.replaceAll('\\', '/') : text
  return plain.startsWith('./') ? plain.slice(2) : plain
}

/** A line as an answer shows it. */
export function lineOf(lines: JsonText): Line {
  const whole = lines.text ?? Buffer.from(lines.bytes ?? '', 'base64').toString('utf8')
  const text = whole.endsWith('\r\n') ? whole.slice(0, -2) : whole.endsWith('\n') ? whole.slice(0, -1) : whole
  if (text.length > SEARCH_LIMITS.lineChars)
    return { text: cutAt(text, SEARCH_LIMITS.lineChars), note: 'cut' }
  return { text, note: lines.text === undefined ? 'not utf-8' : undefined }
}

/** Never between the halves of a surrogate pair. */
function cutAt(text: string, chars: number): string {
  const last = text.charCodeAt(chars - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? chars - 1 : chars)
}
