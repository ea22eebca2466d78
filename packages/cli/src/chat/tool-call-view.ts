// tool-call-view.ts: a call as rows: its name and arguments, the difference it makes to a file, and its result: folded at first,
// and whole on demand. All text of servers and models is made visible by the layout.
import type { ContentBlock } from '@plugboard/agent'
import type { DiffLine } from '@plugboard/core/text/line-diff'
import { valueLines } from '@plugboard/core/text/question-text'
import type { Colors } from '../colors.ts'
import { fit, wrap, wrapText } from '../terminal/layout.ts'
import type { FileEdit } from './file-edits.ts'

const ARGUMENT_ROWS = 6
const DIFF_ROWS = 40
const FOLDED_ROWS = 3
/** Of a result that is opened. */
const OPEN_ROWS = 2000
const INDENT = '  '

export interface CallView {
  readonly title: string
  readonly arguments: unknown
  readonly edit?: FileEdit | undefined
  /** Only its name and the file. */
  readonly folded?: boolean
}

/** When a call starts. */
export function callRows(
  { title, arguments: args, edit, folded = false }: CallView,
  columns: number,
  color: Colors,
): string[] {
  const { cyan, bold, dim } = color
  const head = wrap([{ text: title, paint: bold }], { columns, first: `${cyan('→')} `, next: INDENT })
  if (edit)
    return [
      ...head.slice(0, -1),
      `${head.at(-1)} ${dim(fit(edit.path, columns - 10))}`,
      ...(folded ? [] : diffRows(edit.diff, columns, color)),
    ]
  if (folded || isEmpty(args)) return head
  const values = valueLines(args, { columns, rows: ARGUMENT_ROWS })
  return [...head, ...values.brief.map(({ text }) => dim(text))]
}

function isEmpty(args: unknown): boolean {
  return typeof args === 'object' && args !== null && Object.keys(args).length === 0
}

export function diffRows(diff: readonly DiffLine[], columns: number, { green, red, dim }: Colors): string[] {
  const paint = { same: dim, added: green, removed: red, gap: dim }
  const mark = { same: '  ', added: '+ ', removed: '- ', gap: '… ' }
  const added = diff.filter(({ kind }) => kind === 'added').length
  const removed = diff.filter(({ kind }) => kind === 'removed').length
  const rows = diff.flatMap(({ kind, text }) =>
    wrap([{ text, paint: paint[kind] }], {
      columns,
      first: `  ${paint[kind](mark[kind])}`,
      next: `  ${paint[kind]('┆ ')}`,
    }),
  )
  const shown = rows.length > DIFF_ROWS ? rows.slice(0, DIFF_ROWS) : rows
  const more = rows.length - shown.length
  return [
    ...shown,
    ...(more > 0 ? [dim(`  … ${more} more rows of the change`)] : []),
    dim(`  ${added} added, ${removed} removed`),
  ]
}

export interface ResultView {
  readonly title: string
  readonly isError: boolean
  readonly tookMs: number
  readonly content: readonly ContentBlock[]
  /** Its effect was shown already. */
  readonly brief?: boolean
}

/** The first rows, and how to see the rest. */
export function foldedRows(view: ResultView, columns: number, color: Colors): string[] {
  const { dim, yellow } = color
  const all = contentRows(view, columns, color)
  const shown = all.slice(0, view.brief && !view.isError ? 1 : FOLDED_ROWS)
  const more = all.length - shown.length
  return [
    headRow(view, columns, color),
    ...shown,
    ...(more > 0
      ? [`${dim(`  … ${more} more ${more === 1 ? 'row' : 'rows'}`)} ${yellow('(Ctrl-O opens)')}`]
      : []),
  ]
}

/** All of it. */
export function openRows(view: ResultView, columns: number, color: Colors): string[] {
  const all = contentRows(view, columns, color)
  const more = all.length - OPEN_ROWS
  return [
    headRow(view, columns, color),
    ...all.slice(0, OPEN_ROWS),
    ...(more > 0
      ? [color.dim(`  … ${more} more rows; /export writes all of the conversation to a file`)]
      : []),
  ]
}

function headRow(
  { title, isError, tookMs }: ResultView,
  columns: number,
  { red, green, dim }: Colors,
): string {
  return `${isError ? red('✘') : green('✔')} ${fit(title, columns - 16)} ${dim(duration(tookMs))}`
}

function contentRows({ content, isError }: ResultView, columns: number, { red, dim }: Colors): string[] {
  return content.flatMap((block) => {
    if (block.type === 'image') {
      const kilobytes = Math.ceil((block.data.length * 3) / 4 / 1024)
      return [dim(`  [image, ${fit(block.mimeType, 40)}, ${kilobytes} KB]`)]
    }
    const text = block.text.replaceAll('\r\n', '\n').replace(/\n+$/, '')
    return wrapText(text, { columns, first: INDENT, next: INDENT }, isError ? red : dim)
  })
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}
