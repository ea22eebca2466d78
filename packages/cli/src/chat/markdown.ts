// markdown.ts: Markdown that arrives in pieces, as rows for a terminal. Complete lines are given away and never change; the
// line that is still arriving, and a table until its end, are shown below them and redrawn.
import type { Colors } from '../colors.ts'
import { fit, type Span, shownText, width, wrap } from '../terminal/layout.ts'
import { type CodeState, codeSpans } from './code-colors.ts'

interface Fence {
  readonly mark: string
  readonly indent: number
  readonly language: string
}

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([\w+#.-]*)/
const TABLE_ROW = /^\s*\|.*\|?\s*$/
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/
/** A table that grows beyond this is shown in parts. */
const TABLE_ROWS = 200
/** A line without an end is given away in parts. */
const LINE_CHARS = 4000

export class Markdown {
  readonly #color: Colors
  #line = ''
  #table: string[] = []
  #fence: Fence | undefined
  #code: CodeState = {}

  constructor(color: Colors) {
    this.#color = color
  }

  /** Takes a piece; returns the rows that are complete with it. */
  push(piece: string, columns: number): readonly string[] {
    const lines = (this.#line + piece.replaceAll('\r\n', '\n')).split('\n')
    this.#line = lines.pop() ?? ''
    const rows = lines.flatMap((line) => this.#complete(line, columns))
    if (this.#line.length <= LINE_CHARS) return rows
    const long = this.#line
    this.#line = ''
    return [...rows, ...this.#complete(long, columns)]
  }

  /** The rows of what is not complete yet. */
  tail(columns: number): readonly string[] {
    const rows = this.#table.length > 0 ? this.#tableRows(columns) : []
    if (this.#line === '') return rows
    if (this.#fence) return [...rows, ...this.#codeRows(this.#line, columns).rows]
    return [...rows, ...this.#rows(this.#line, columns)]
  }

  /** Ends what is open; returns its rows. */
  end(columns: number): readonly string[] {
    const rows = this.#line === '' ? [] : this.#complete(this.#line, columns)
    this.#line = ''
    const table = this.#endTable(columns)
    this.#fence = undefined
    this.#code = {}
    return [...rows, ...table]
  }

  #complete(line: string, columns: number): readonly string[] {
    if (this.#fence) return this.#inFence(line, this.#fence, columns)
    if (TABLE_ROW.test(line) && (this.#table.length === 0 || this.#table.length < TABLE_ROWS)) {
      this.#table.push(line)
      return []
    }
    const before = this.#endTable(columns)
    const fence = FENCE.exec(line)
    if (fence) {
      this.#fence = { indent: fence[1]?.length ?? 0, mark: fence[2] ?? '', language: fence[3] ?? '' }
      this.#code = {}
      const label = this.#fence.language === '' ? '' : ` ${this.#fence.language}`
      return [...before, this.#color.dim(`┌──${fit(label, 30)}`)]
    }
    return [...before, ...this.#rows(line, columns)]
  }

  #inFence(line: string, { mark, indent }: Fence, columns: number): readonly string[] {
    const trimmed = line.trim()
    const closes = trimmed.startsWith(mark) && [...trimmed].every((char) => char === mark[0])
    if (closes) {
      this.#fence = undefined
      return [this.#color.dim('└──')]
    }
    const { rows, state } = this.#codeRows(line.slice(Math.min(indent, line.search(/\S|$/))), columns)
    this.#code = state
    return rows
  }

  /** Code is not wrapped at words: a row that goes on has its own mark. */
  #codeRows(line: string, columns: number): { readonly rows: readonly string[]; readonly state: CodeState } {
    const { dim } = this.#color
    const { spans, state } = codeSpans(line, this.#fence?.language ?? '', this.#color, this.#code)
    return { rows: wrap(spans, { columns, first: dim('│ '), next: dim('┆ ') }), state }
  }

  #rows(line: string, columns: number): readonly string[] {
    const { bold, dim, cyan, underline } = this.#color
    if (line.trim() === '') return ['']
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line)
    if (heading) {
      const paint = heading[1]?.length === 1 ? (text: string) => bold(underline(text)) : bold
      return wrap(this.#inline(heading[2] ?? '', paint), { columns })
    }
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [dim('─'.repeat(Math.min(40, columns)))]
    const quote = /^\s*>\s?(.*)$/.exec(line)
    if (quote) {
      const bar = `${dim('│')} `
      return wrap(this.#inline(quote[1] ?? '', dim), { columns, first: bar, next: bar })
    }
    const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(line)
    if (item) {
      const [, space = '', mark = '', box, text = ''] = item
      const bullet = /\d/.test(mark) ? mark : box === undefined ? '•' : box === ' ' ? '☐' : '☑'
      const indent = ' '.repeat(Math.min(space.replaceAll('\t', '    ').length, 20))
      return wrap(this.#inline(text), {
        columns,
        first: `${indent}${cyan(bullet)} `,
        next: `${indent}${' '.repeat(bullet.length + 1)}`,
      })
    }
    return wrap(this.#inline(line), { columns })
  }

  #endTable(columns: number): readonly string[] {
    const rows = this.#table.length > 0 ? this.#tableRows(columns) : []
    this.#table = []
    return rows
  }

  /** Lines of a table with a rule below the first one; otherwise they are lines. */
  #tableRows(columns: number): readonly string[] {
    const [head = '', rule = '', ...body] = this.#table
    if (!TABLE_RULE.test(rule)) return this.#table.flatMap((line) => this.#rows(line, columns))
    const aligns = cellsOf(rule).map((cell) =>
      cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left',
    )
    const cells = [head, ...body].map((line) => {
      const found = cellsOf(line)
      return aligns.map((_, at) => this.#inline(found[at] ?? ''))
    })
    const wanted = aligns.map((_, at) => Math.max(1, ...cells.map((row) => spansWidth(row[at] ?? []))))
    const widths = fittingWidths(wanted, columns - 3 * aligns.length + 2)
    const { dim, bold } = this.#color
    return cells.flatMap((row, index) => {
      const columnsOfRow = row.map((spans, at) =>
        wrap(index === 0 ? spans.map((span) => ({ ...span, paint: bold })) : spans, {
          columns: widths[at] ?? 8,
        }),
      )
      const height = Math.max(...columnsOfRow.map(({ length }) => length))
      const lines = Array.from({ length: height }, (_, line) =>
        columnsOfRow
          .map((rows, at) => aligned(rows[line] ?? '', widths[at] ?? 8, aligns[at] ?? 'left'))
          .join(dim(' │ '))
          .trimEnd(),
      )
      return index === 0 ? [...lines, dim(widths.map((size) => '─'.repeat(size)).join('─┼─'))] : lines
    })
  }

  /** Code first: its content is not Markdown. */
  #inline(text: string, base?: Span['paint']): readonly Span[] {
    const { bold, cyan, italic, underline, dim } = this.#color
    const both = (outer: Span['paint'], inner: (text: string) => string) => (part: string) =>
      outer ? outer(inner(part)) : inner(part)
    const spans: Span[] = []
    let plain = ''
    const flush = () => {
      if (plain !== '') spans.push({ text: plain, paint: base })
      plain = ''
    }
    let rest = text
    for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
      plain += rest.slice(0, found.index)
      rest = rest.slice(found.index + found[0].length)
      const { escaped, code, strong, struck, emphasis, label, url, bare } = found.groups ?? {}
      if (escaped !== undefined) {
        plain += escaped
        continue
      }
      flush()
      if (code !== undefined) spans.push({ text: code.replace(/^`+ ?| ?`+$/g, ''), paint: both(base, cyan) })
      else if (strong !== undefined) spans.push(...this.#inline(strong.slice(2, -2), both(base, bold)))
      else if (struck !== undefined) spans.push(...this.#inline(struck.slice(2, -2), both(base, dim)))
      else if (emphasis !== undefined) spans.push(...this.#inline(emphasis.slice(1, -1), both(base, italic)))
      else if (bare !== undefined) spans.push({ text: bare, paint: both(base, underline) })
      else {
        // The address is always readable: a link's text says nothing about where it leads.
        spans.push({ text: label ?? '', paint: both(base, underline) })
        if (url !== label) spans.push({ text: ` (${url})`, paint: both(base, dim) })
      }
    }
    plain += rest
    flush()
    return spans
  }
}

const INLINE = new RegExp(
  [
    '\\\\(?<escaped>[\\\\`*_{}\\[\\]()#+.!~|>-])',
    '(?<code>(?<ticks>`+)(?!`).+?(?<!`)\\k<ticks>(?!`))',
    '(?<strong>\\*\\*(?=\\S)(?:(?!\\*\\*).)*?\\S\\*\\*|(?<![\\p{L}\\p{N}])__(?=\\S)(?:(?!__).)*?\\S__(?![\\p{L}\\p{N}]))',
    '(?<struck>~~(?=\\S)(?:(?!~~).)*?\\S~~)',
    '(?<emphasis>(?<!\\*)\\*(?![\\s*])[^*]*?[^\\s*]\\*(?!\\*)|(?<![\\p{L}\\p{N}_])_(?![\\s_])[^_]*?[^\\s_]_(?![\\p{L}\\p{N}_]))',
    '!?\\[(?<label>[^\\]\\[]*)\\]\\((?<url>[^()\\s]+)(?:\\s+"[^"]*")?\\)',
    '(?<bare>https?://[^\\s<>()]+[^\\s<>().,;:!?])',
  ].join('|'),
  'u',
)

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function spansWidth(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + width(shownText(text)), 0)
}

/** The widest columns give first. */
function fittingWidths(wanted: readonly number[], room: number): readonly number[] {
  const widths = [...wanted]
  for (let over = widths.reduce((sum, size) => sum + size, 0) - room; over > 0; over--) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= 8) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function aligned(text: string, size: number, align: string): string {
  const free = Math.max(0, size - width(text))
  if (align === 'right') return ' '.repeat(free) + text
  if (align === 'center') return ' '.repeat(Math.floor(free / 2)) + text + ' '.repeat(Math.ceil(free / 2))
  return text + ' '.repeat(free)
}
