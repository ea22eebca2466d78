// question-text.ts: a prompt for the user as lines: what would be done, why it needs permission, and every value in
// full. Pure, so that a terminal, a client's form and a page show the same. The surface adds styling and keys.
import { isObject } from '../json.ts'
import { exactLine, nameText, quoted } from './escape-controls.ts'
import { type DiffLine, lineDiff } from './line-diff.ts'

/** The kind of a line, for surfaces that style it. */
export type LineRole =
  | 'head'
  | 'destructive'
  | 'writes'
  | 'read-only'
  | 'note'
  | 'value'
  | 'fold'
  | 'change'
  | 'added'
  | 'removed'

/** What a call would do, beyond its arguments. A built-in server says it. */
export interface CallPreview {
  readonly notes?: readonly string[]
  /** Shown as differences instead of the arguments. */
  readonly changes?: readonly FileChange[]
  /** Why the call cannot be done. Then it is made without a question, and its server must do nothing but say so. */
  readonly fails?: string
}

/** The text of a file before and after; no `before` is a new file, no `after` a removed one. */
export interface FileChange {
  readonly path: string
  readonly before?: string
  readonly after?: string
}

export interface QuestionLine {
  readonly role: LineRole
  readonly text: string
}

export interface QuestionText {
  /** Short enough to read quickly; long values are folded and marked. */
  readonly brief: readonly QuestionLine[]
  /** Everything. */
  readonly full: readonly QuestionLine[]
  /** The brief form leaves something out: a yes has to wait until the user could see the full one. */
  readonly folded: boolean
  /** False where the values are too large or too deep to be shown at all: such a prompt is refused. */
  readonly complete: boolean
}

export interface LayoutOptions {
  /** The width of the surface. Without it lines are not wrapped: the surface does that. */
  readonly columns?: number | undefined
  /** How many rows of values a brief prompt may take. */
  readonly rows?: number | undefined
}

export interface QuestionParts {
  readonly head: string
  readonly tone?: { readonly role: 'destructive' | 'writes' | 'read-only'; readonly text: string } | undefined
  readonly notes?: readonly string[]
  readonly values?: unknown
  /** Files as they are and as they would be. */
  readonly files?: readonly FileChange[] | undefined
  /** Differences, line by line. */
  readonly changes?: readonly string[] | undefined
}

const BRIEF_ROWS = 14
const BRIEF_DIFF_ROWS = 20
const CHARS = 4_000_000
const DEPTH = 40
const INLINE_CHARS = 60
const HEAD_ROWS = 3

export function questionText(parts: QuestionParts, layout: LayoutOptions = {}): QuestionText {
  const { columns, rows = BRIEF_ROWS } = layout
  const line = (role: LineRole, text: string, indent: string): QuestionLine[] =>
    wrapped(text, columns, indent, `${indent}┆ `).map((row) => ({ role, text: row }))
  const fixed = [
    ...line('head', parts.head, ''),
    ...(parts.tone ? line(parts.tone.role, parts.tone.text, '  ') : []),
    ...(parts.notes ?? []).flatMap((note) => line('note', note, '  ')),
  ]
  const changes = (parts.changes ?? []).flatMap((change) => line('change', exactLine(change), '  '))
  const values = valueLines(parts.values, { columns, rows })
  const asLine = (text: string): QuestionLine => ({ role: 'value', text })
  const files = (parts.files ?? []).flatMap((file) =>
    fileLines(file).flatMap(({ role, text, indent }) => line(role, text, indent)),
  )
  const briefFiles = foldedRows(files, Math.max(rows, BRIEF_DIFF_ROWS), (count) => ({
    role: 'fold',
    text: `  … ${count} more lines of the difference …`,
  }))
  const briefChanges = foldedRows(changes, rows, (count) => ({
    role: 'fold',
    text: `  … ${count} more lines of the change …`,
  }))
  return {
    full: [...fixed, ...changes, ...files, ...values.full.map(asLine)],
    brief: [...fixed, ...briefChanges, ...briefFiles, ...values.brief],
    folded: values.folded || briefChanges.length < changes.length || briefFiles.length < files.length,
    complete: values.complete,
  }
}

interface FileLine {
  readonly role: LineRole
  readonly text: string
  readonly indent: string
}

const DIFF_MARKS: Readonly<Record<DiffLine['kind'], { readonly role: LineRole; readonly indent: string }>> = {
  added: { role: 'added', indent: '  + ' },
  removed: { role: 'removed', indent: '  - ' },
  same: { role: 'value', indent: '    ' },
  gap: { role: 'note', indent: '  … ' },
}

/** A file's name and what happens to it, then its difference, line by line. */
function fileLines({ path, before, after }: FileChange): readonly FileLine[] {
  const what = before === undefined ? 'new file' : after === undefined ? 'is removed' : 'changes'
  const head: FileLine = { role: 'value', text: `${quoted(path)} ${what}`, indent: '  ' }
  const lines = lineDiff(before ?? '', after ?? '').map((line) => ({
    ...DIFF_MARKS[line.kind],
    text: exactLine(line.text),
  }))
  const [wasOpen, isOpen] = [before, after].map((text) => text !== undefined && !text.endsWith('\n'))
  const ends = after !== undefined && wasOpen !== isOpen && (before !== undefined || isOpen)
  const note = `${isOpen ? 'no' : 'a'} line break at the end of the new text`
  return [head, ...lines, ...(ends ? [{ role: 'note' as const, text: note, indent: '  ' }] : [])]
}

/** The whole prompt as one text, for a surface that shows texts. */
export function plainQuestion({ full }: QuestionText): string {
  return full.map(({ text }) => text).join('\n')
}

export interface ValueLines {
  readonly full: readonly string[]
  readonly brief: readonly QuestionLine[]
  readonly folded: boolean
  readonly complete: boolean
}

/**
 * A JSON value as lines, in full: each member on its own line with its path, a text of several lines with a bar
 * before each. No value can look like another line, whatever it contains.
 */
export function valueLines(value: unknown, layout: LayoutOptions = {}): ValueLines {
  const { columns, rows = BRIEF_ROWS } = layout
  const leaves: Leaf[] = []
  const complete = collect('', value, 0, leaves, { chars: CHARS })
  const shown = leaves.map((leaf) => leafRows(leaf, columns))
  const full = shown.flat()
  const asValue = (text: string): QuestionLine => ({ role: 'value', text })
  if (full.length <= rows && full.every((row) => row.length <= 4 * (columns ?? 500)))
    return { full, brief: full.map(asValue), folded: false, complete }
  const short = shown.flatMap((leaf, at) =>
    foldedRows(leaf.map(asValue), HEAD_ROWS + 1, (count) => ({
      role: 'fold',
      text: `    … ${count} more ${count === 1 ? 'line' : 'lines'}, ${leaves[at]?.chars ?? 0} characters in all …`,
    })),
  )
  const brief = foldedRows(short, rows, (count) => ({ role: 'fold', text: `  … ${count} more lines …` }))
  return {
    full,
    brief,
    folded: brief.length < full.length || brief.some(({ role }) => role === 'fold'),
    complete,
  }
}

/** The beginning and the very end, with what is left out between them. */
function foldedRows(
  rows: readonly QuestionLine[],
  most: number,
  mark: (count: number) => QuestionLine,
): readonly QuestionLine[] {
  if (rows.length <= most + 1) return rows
  return [...rows.slice(0, most - 1), mark(rows.length - most), ...rows.slice(-1)]
}

interface Leaf {
  readonly path: string
  /** In one line as JSON, or a text of several lines. */
  readonly text: string
  readonly lines?: readonly string[]
  readonly chars: number
}

/** Every leaf of the value, in order. False when something is too deep or too large to be shown. */
function collect(
  path: string,
  value: unknown,
  depth: number,
  into: Leaf[],
  room: { chars: number },
): boolean {
  if (value === undefined) return true
  const leaf = leafOf(path, value, depth)
  if (leaf) {
    room.chars -= leaf.chars + path.length + 8
    if (room.chars < 0) return false
    into.push(leaf)
    return true
  }
  if (depth >= DEPTH) return false
  const members = Array.isArray(value)
    ? value.map((item: unknown, at) => [`${path}[${at}]`, item === undefined ? null : item] as const)
    : Object.entries(value as object).map(([key, item]) => [memberPath(path, key), item] as const)
  for (const [name, item] of members) if (!collect(name, item, depth + 1, into, room)) return false
  return true
}

function memberPath(path: string, key: string): string {
  if (path === '') return nameText(key)
  return /^[A-Za-z_$][\w$-]{0,127}$/.test(key) ? `${path}.${key}` : `${path}[${quoted(key)}]`
}

function leafOf(path: string, value: unknown, depth: number): Leaf | undefined {
  if (typeof value === 'string') {
    const lines = value.split(/\r\n|\n/)
    return {
      path,
      text: quoted(value),
      chars: value.length,
      ...(lines.length > 1 && { lines: value.split('\n').map(exactLine) }),
    }
  }
  if (typeof value !== 'object' || value === null) {
    const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null')
    return { path, text, chars: text.length }
  }
  // The members of the value itself are always on their own lines.
  const members = Array.isArray(value) ? value : Object.values(value)
  if (members.length > 0 && (depth === 0 || members.length > INLINE_CHARS / 2)) return undefined
  if (members.some((item) => typeof item === 'object' && item !== null && Object.keys(item).length > 0))
    return undefined
  if (members.some((item) => typeof item === 'string' && item.length > INLINE_CHARS)) return undefined
  const text = inlineText(value)
  return text.length <= INLINE_CHARS ? { path, text, chars: text.length } : undefined
}

function inlineText(value: object): string {
  const item = (one: unknown): string =>
    typeof one === 'string' ? quoted(one) : Array.isArray(one) ? '[]' : isObject(one) ? '{}' : String(one)
  if (Array.isArray(value)) return `[${value.map(item).join(', ')}]`
  return `{${Object.entries(value)
    .map(([key, one]) => `${quoted(key)}: ${item(one)}`)
    .join(', ')}}`
}

function leafRows({ path, text, lines, chars }: Leaf, columns: number | undefined): string[] {
  const label = path === '' ? '' : `${path}: `
  if (!lines) return wrapped(`${label}${text}`, columns, '  ', '    ┆ ')
  return [
    ...wrapped(`${label}${lines.length} lines, ${chars} characters`, columns, '  ', '    ┆ '),
    ...lines.flatMap((line) => wrapped(line, columns, '    │ ', '    ┆ ')),
  ]
}

/**
 * Wrapped to rows that fit, each with its mark in front: a terminal that wrapped it itself would start the next row
 * at the edge, where our own lines start. A character that may be wide counts as two. A row ends after a space where it
 * has one in its second half; no character is left out.
 */
function wrapped(text: string, columns: number | undefined, first: string, next: string): string[] {
  const room = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(20, columns - 1) - next.length
  if (text.length * 2 <= room || (text.length <= room && /^[\x20-\x7e]*$/.test(text))) return [first + text]
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const char of text) {
    const width = char >= ' ' && char <= '~' ? 1 : 2
    if (used + width > room) {
      const space = char === ' ' ? -1 : row.lastIndexOf(' ') + 1
      const end = space > row.length / 2 ? space : row.length
      rows.push((rows.length === 0 ? first : next) + row.slice(0, end))
      row = row.slice(end)
      used = widthOf(row)
    }
    row += char
    used += width
  }
  rows.push((rows.length === 0 ? first : next) + row)
  return rows
}

function widthOf(text: string): number {
  return [...text].reduce((sum, char) => sum + (char >= ' ' && char <= '~' ? 1 : 2), 0)
}
