// live-region.ts: the rows at the bottom of the screen that change, below text that stays. A frame rewrites only the rows
// that differ from the last one, inside the marks of a synchronised update, so nothing flickers and nothing is left behind.
import { cursor } from '../colors.ts'
import { width } from './layout.ts'

export interface CursorPlace {
  readonly row: number
  readonly column: number
}

export interface LiveRegionOptions {
  write(text: string): void
  size(): { readonly columns: number; readonly rows: number }
}

export class LiveRegion {
  readonly #options: LiveRegionOptions
  #rows: readonly string[] = []
  #at: CursorPlace = { row: 0, column: 0 }
  #columns = 0

  constructor(options: LiveRegionOptions) {
    this.#options = options
  }

  /** Prints rows above the region, for good, and draws the region below them. */
  draw(printed: readonly string[], live: readonly string[], place?: CursorPlace): void {
    const { columns, rows } = this.#options.size()
    // A region that is higher than the screen cannot be redrawn: its upper part is left out.
    const cut = Math.max(0, live.length - Math.max(1, rows - 1))
    const next = live.slice(cut)
    const wanted = place
      ? { row: Math.max(0, place.row - cut), column: place.column }
      : { row: Math.max(0, next.length - 1), column: 0 }
    const parts = [this.#afterResize(columns)]
    if (printed.length > 0) parts.push(this.#print(printed))
    parts.push(this.#redraw(next), this.#move(wanted), cursor.column(wanted.column))
    this.#rows = next
    this.#at = wanted
    this.#columns = columns
    const text = parts.join('')
    if (text !== '')
      this.#options.write(
        `${cursor.frame(true)}${cursor.shown(false)}${text}${place ? cursor.shown(true) : ''}${cursor.frame(false)}`,
      )
  }

  /** Removes the region; the cursor is where it began. */
  erase(): void {
    const text = this.#afterResize(this.#options.size().columns) + this.#move({ row: 0, column: 0 })
    this.#options.write(`${text}${cursor.home()}${cursor.eraseBelow()}${cursor.shown(true)}`)
    this.#rows = []
    this.#at = { row: 0, column: 0 }
  }

  /** A narrower screen has wrapped the rows: they take more rows than were drawn. */
  #afterResize(columns: number): string {
    if (this.#columns === 0 || columns === this.#columns || this.#rows.length === 0) return ''
    this.#columns = columns
    const taken = (row: string) => Math.max(1, Math.ceil(width(row) / Math.max(1, columns)))
    const above = this.#rows.slice(0, this.#at.row).reduce((sum, row) => sum + taken(row), 0)
    const inside = Math.floor(this.#at.column / Math.max(1, columns))
    this.#rows = []
    this.#at = { row: 0, column: 0 }
    return cursor.up(above + inside) + cursor.home() + cursor.eraseBelow()
  }

  #print(printed: readonly string[]): string {
    const text = printed.map((row) => `${row}${cursor.eraseRight()}\n`).join('')
    const start = this.#move({ row: 0, column: 0 }) + cursor.home()
    // The rows of the region are where the text is now.
    this.#at = { row: 0, column: 0 }
    const left = Math.max(0, this.#rows.length - printed.length)
    this.#rows = left > 0 ? [...Array.from({ length: left }, () => STALE)] : []
    return start + text + (left > 0 ? '' : cursor.eraseBelow())
  }

  #redraw(next: readonly string[]): string {
    const old = this.#rows
    const shrinks = old.length > next.length
    let text = ''
    let last = next.findIndex((row, at) => row !== old[at])
    if (last < 0 && !shrinks) return ''
    if (last < 0) last = Math.max(0, next.length - 1)
    const reachable = Math.max(0, old.length - 1)
    text += this.#move({ row: Math.min(last, reachable), column: 0 })
    if (last > reachable) text += '\n'.repeat(last - reachable)
    text += cursor.home()
    for (let at = last; at < next.length; at++) {
      const isEnd = at === next.length - 1
      if (next[at] !== old[at] || (isEnd && shrinks))
        text += `${next[at]}${isEnd && shrinks ? cursor.eraseBelow() : cursor.eraseRight()}`
      if (!isEnd) text += `\n${cursor.home()}`
    }
    if (next.length === 0) text += cursor.eraseBelow()
    this.#at = { row: Math.max(0, next.length - 1), column: 0 }
    return text
  }

  #move({ row }: CursorPlace): string {
    const from = this.#at.row
    this.#at = { row, column: 0 }
    return row < from ? cursor.up(from - row) : cursor.down(row - from)
  }
}

/** Equal to no row that is drawn. */
const STALE = '\0'
