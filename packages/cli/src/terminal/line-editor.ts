// line-editor.ts: a text of several lines that is being typed: the cursor, the history and its search, words cut and put
// back. It knows keys and rows, but no terminal: the owner draws `rows` and sends the keys.
import type { Key } from './key-decoder.ts'
import { charWidth, shownText, width } from './layout.ts'
import type { CursorPlace } from './live-region.ts'

export interface EditorView {
  readonly rows: readonly string[]
  readonly cursor: CursorPlace
}

interface Search {
  readonly query: string
  /** Which match, counted from the newest. */
  readonly at: number
  readonly before: string
}

/** One cell of the text: what is shown for a piece of it. */
interface Cell {
  readonly from: number
  readonly shown: string
  readonly width: number
}

interface Row {
  readonly from: number
  readonly cells: readonly Cell[]
  /** The index behind its last character. */
  readonly end: number
}

const MOST_UNDO = 100

export class LineEditor {
  #text = ''
  #cursor = 0
  #history: readonly string[]
  /** Where in the history, and what was typed before going there. */
  #past: { readonly at: number; readonly draft: string } | undefined
  #search: Search | undefined
  #cut = ''
  #undo: { readonly text: string; readonly cursor: number }[] = []
  /** The column that Up and Down keep to. */
  #column: number | undefined

  constructor(history: readonly string[] = []) {
    this.#history = history
  }

  get text(): string {
    return this.#text
  }

  get cursor(): number {
    return this.#cursor
  }

  get isSearching(): boolean {
    return this.#search !== undefined
  }

  get search(): { readonly query: string; readonly found: boolean } | undefined {
    return this.#search && { query: this.#search.query, found: this.#match() !== undefined }
  }

  /** Newest first. */
  setHistory(history: readonly string[]): void {
    this.#history = history
  }

  set(text: string, cursor = text.length): void {
    this.#remember()
    this.#text = text
    this.#cursor = Math.min(cursor, text.length)
    this.#past = undefined
    this.#search = undefined
    this.#column = undefined
  }

  /** Takes the text and is empty again. */
  take(): string {
    const text = this.#text
    this.set('')
    this.#undo = []
    return text
  }

  insert(text: string): void {
    if (this.#search) {
      this.#search = { ...this.#search, query: this.#search.query + text.replace(/\n.*/s, ''), at: 0 }
      return
    }
    this.#replace(this.#cursor, this.#cursor, text)
  }

  /** Replaces a part, as a completion does. */
  replace(from: number, to: number, text: string): void {
    this.#replace(from, to, text)
  }

  /** True when the key meant something here. `columns` is the width it is drawn in. */
  press(key: Key, columns: number): boolean {
    if (this.#search) return this.#pressInSearch(key)
    const handler = this.#keys(columns)[nameOf(key)]
    if (!handler) return false
    const vertical = key.name === 'up' || key.name === 'down'
    handler()
    if (!vertical) this.#column = undefined
    return true
  }

  view(columns: number): EditorView {
    const rows = this.#rows(columns)
    const at = rows.findLastIndex(({ from }) => from <= this.#cursor)
    const row = Math.max(0, at)
    return {
      rows: rows.map(({ cells }) => cells.map(({ shown }) => shown).join('')),
      cursor: { row, column: columnOf(rows[row], this.#cursor) },
    }
  }

  #keys(columns: number): Readonly<Record<string, (() => void) | undefined>> {
    const to = (cursor: number) => () => {
      this.#cursor = cursor
    }
    const cutTo = (cursor: number) => () => {
      const [from, end] = cursor < this.#cursor ? [cursor, this.#cursor] : [this.#cursor, cursor]
      if (from === end) return
      this.#cut = this.#text.slice(from, end)
      this.#replace(from, end, '')
    }
    const erase = (from: number, end: number) => () => this.#replace(from, end, '')
    const [left, right] = [this.#step(-1), this.#step(1)]
    const [wordLeft, wordRight] = [this.#word(-1), this.#word(1)]
    const [start, end] = this.#line()
    return {
      left: to(left),
      right: to(right),
      'ctrl-b': to(left),
      'ctrl-f': to(right),
      'ctrl-left': to(wordLeft),
      'ctrl-right': to(wordRight),
      'alt-left': to(wordLeft),
      'alt-right': to(wordRight),
      'alt-b': to(wordLeft),
      'alt-f': to(wordRight),
      home: to(start),
      end: to(end),
      'ctrl-a': to(start),
      'ctrl-e': to(end),
      'ctrl-home': to(0),
      'ctrl-end': to(this.#text.length),
      backspace: erase(left, this.#cursor),
      'ctrl-h': erase(left, this.#cursor),
      delete: erase(this.#cursor, right),
      'ctrl-d': erase(this.#cursor, right),
      'ctrl-w': cutTo(wordLeft),
      'alt-backspace': cutTo(wordLeft),
      'ctrl-backspace': cutTo(wordLeft),
      'alt-d': cutTo(wordRight),
      'ctrl-k': cutTo(end === this.#cursor ? right : end),
      'ctrl-u': cutTo(start === this.#cursor ? left : start),
      'ctrl-y': () => this.insert(this.#cut),
      'ctrl-_': () => this.#takeBack(),
      'ctrl-z': () => this.#takeBack(),
      'ctrl-j': () => this.insert('\n'),
      'shift-enter': () => this.insert('\n'),
      'alt-enter': () => this.insert('\n'),
      up: () => this.#vertical(-1, columns),
      down: () => this.#vertical(1, columns),
      'ctrl-p': () => this.#travel(1),
      'ctrl-n': () => this.#travel(-1),
      'ctrl-r': () => {
        this.#search = { query: '', at: 0, before: this.#text }
      },
    }
  }

  #pressInSearch(key: Key): boolean {
    const search = this.#search
    if (!search) return false
    switch (nameOf(key)) {
      case 'ctrl-r':
        this.#search = { ...search, at: search.at + 1 }
        if (this.#match() === undefined) this.#search = search
        return true
      case 'backspace':
        this.#search = { ...search, query: search.query.slice(0, -1), at: 0 }
        return true
      case 'escape':
      case 'ctrl-c':
      case 'ctrl-g':
        this.set(search.before)
        return true
      default: {
        // Every other key takes what was found into the editor, where it can be changed before it is sent.
        this.set(this.#match() ?? search.before)
        return true
      }
    }
  }

  #match(): string | undefined {
    const { query = '', at = 0 } = this.#search ?? {}
    if (query === '') return undefined
    return this.#history.filter((one) => one.toLowerCase().includes(query.toLowerCase()))[at]
  }

  #replace(from: number, to: number, text: string): void {
    if (from === to && text === '') return
    this.#remember()
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(to)
    this.#cursor = from + text.length
    this.#column = undefined
  }

  #remember(): void {
    const last = this.#undo.at(-1)
    if (last?.text === this.#text) return
    this.#undo.push({ text: this.#text, cursor: this.#cursor })
    if (this.#undo.length > MOST_UNDO) this.#undo.shift()
  }

  #takeBack(): void {
    const last = this.#undo.pop()
    if (!last) return
    this.#text = last.text
    this.#cursor = last.cursor
  }

  /** One character as a user sees it, so that an emoji of several parts is one step. */
  #step(direction: 1 | -1): number {
    const { segments, at } = graphemes(this.#text, this.#cursor)
    if (direction > 0) return segments.find((index) => index > at) ?? this.#text.length
    return segments.findLast((index) => index < at) ?? 0
  }

  #word(direction: 1 | -1): number {
    if (direction > 0) {
      const [skipped = ''] = /^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(this.#text.slice(this.#cursor)) ?? []
      return this.#cursor + skipped.length
    }
    const before = this.#text.slice(0, this.#cursor)
    const [skipped = ''] = /[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u.exec(before) ?? []
    return this.#cursor - skipped.length
  }

  #line(): readonly [number, number] {
    const start = this.#text.lastIndexOf('\n', this.#cursor - 1) + 1
    const end = this.#text.indexOf('\n', this.#cursor)
    return [this.#cursor === 0 ? 0 : start, end < 0 ? this.#text.length : end]
  }

  /** Between the rows of the text; beyond its first and last row, through the history. */
  #vertical(direction: 1 | -1, columns: number): void {
    const rows = this.#rows(columns)
    const at = Math.max(
      0,
      rows.findLastIndex(({ from }) => from <= this.#cursor),
    )
    const target = rows[at + direction]
    if (!target) {
      this.#travel(-direction as 1 | -1)
      return
    }
    this.#column ??= columnOf(rows[at], this.#cursor)
    let used = 0
    let cursor = target.from
    for (const cell of target.cells) {
      if (used + cell.width > this.#column) break
      used += cell.width
      cursor = cell.from + 1
    }
    const cell = target.cells.find(({ from }) => from >= cursor)
    this.#cursor = Math.min(cell?.from ?? target.end, target.end)
  }

  /** `1` is one step into the past. */
  #travel(steps: 1 | -1): void {
    const at = (this.#past?.at ?? -1) + steps
    const draft = this.#past?.draft ?? this.#text
    if (at >= this.#history.length || (steps < 0 && !this.#past)) return
    const text = at < 0 ? draft : (this.#history[at] ?? '')
    this.set(text)
    this.#past = at < 0 ? undefined : { at, draft }
  }

  #rows(columns: number): readonly Row[] {
    const shown = this.#search ? (this.#match() ?? '') : this.#text
    let from = 0
    return shown.split('\n').flatMap((line) => {
      const rows = lineRows(line, from, Math.max(4, columns))
      from += line.length + 1
      return rows
    })
  }
}

function nameOf({ name, ctrl, alt, shift }: Key): string {
  const isLetter = name.length === 1
  return `${ctrl ? 'ctrl-' : ''}${alt ? 'alt-' : ''}${shift && !isLetter && name !== 'tab' ? 'shift-' : ''}${name}`
}

let segmenter: Intl.Segmenter | undefined

/** Where the characters of the line around the cursor begin, as the user sees them. */
function graphemes(
  text: string,
  cursor: number,
): { readonly segments: readonly number[]; readonly at: number } {
  const start = Math.max(0, cursor - 64)
  const part = text.slice(start, cursor + 64)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: plain text has one unit per character
  if (/^[\x00-\x7f]*$/.test(part))
    return { segments: Array.from(part, (_, index) => start + index).concat(start + part.length), at: cursor }
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const segments = [...segmenter.segment(part)].map(({ index }) => start + index)
  return { segments: [...segments, start + part.length], at: cursor }
}

function cellsOf(line: string, from: number): Cell[] {
  const cells: Cell[] = []
  let at = from
  for (const char of line) {
    const shown = shownText(char)
    cells.push({ from: at, shown, width: shown.length === 1 ? charWidth(shown) : width(shown) })
    at += char.length
  }
  return cells
}

/** The rows of one line, broken after a space where there is one. */
function lineRows(line: string, from: number, columns: number): Row[] {
  const rows: Row[] = []
  let cells: Cell[] = []
  let used = 0
  for (const cell of cellsOf(line, from)) {
    if (used + cell.width > columns && cells.length > 0) {
      const space = cells.findLastIndex(({ shown }) => shown === ' ')
      const kept = space > 0 ? cells.slice(0, space + 1) : cells
      const rest = space > 0 ? cells.slice(space + 1) : []
      rows.push({ from: kept[0]?.from ?? from, cells: kept, end: (rest[0] ?? cell).from - 1 })
      cells = rest
      used = rest.reduce((sum, one) => sum + one.width, 0)
    }
    cells.push(cell)
    used += cell.width
  }
  rows.push({ from: cells[0]?.from ?? from, cells, end: from + line.length })
  return rows
}

function columnOf(row: Row | undefined, cursor: number): number {
  return (row?.cells ?? []).reduce((sum, cell) => (cell.from < cursor ? sum + cell.width : sum), 0)
}
