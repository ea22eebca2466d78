// output.ts: how results and notes reach a user or a script. Results go to stdout, everything else to stderr.
import type { Diagnostic } from '@plugboard/core/config'
import type { ErrorCode, PlugboardError } from '@plugboard/core/errors'
import { stringifyJson } from '@plugboard/core/json'
import { visibleJson } from '@plugboard/core/text/escape-controls'
import { printable } from '@plugboard/core/text/strip-controls'
import { type Colors, createColors, withoutCodes } from './colors.ts'
import { EXIT } from './exit-codes.ts'
import { type Fd, isTerminal, write as writeHere } from './streams.ts'
import { forTerminal } from './wrap.ts'

export { EXIT } from './exit-codes.ts'

export interface Output {
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  readonly color: Colors
  readonly errorColor: Colors
  /** A result: one document with --json, text otherwise. */
  result(data: unknown, text: () => string): void
  /** A note for the user; silent with --quiet. */
  note(line: string): void
  /** Text as it is; `result` and `note` are the usual ways. */
  readonly write: TextWriter
}

export type TextWriter = (fd: Fd, text: string) => void

export interface OutputFlags {
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  readonly noColor: boolean
}

export function createOutput(flags: OutputFlags, write: TextWriter = writeHere): Output {
  const wanted = (fd: 1 | 2) => {
    // What another process shows: only commands without a terminal are run for others.
    if (write !== writeHere) return false
    if (flags.noColor || process.env['NO_COLOR']) return false
    if (process.env['FORCE_COLOR']) return process.env['FORCE_COLOR'] !== '0'
    return process.env['TERM'] !== 'dumb' && isTerminal(fd)
  }
  return {
    json: flags.json,
    quiet: flags.quiet,
    verbose: flags.verbose,
    color: createColors(wanted(1)),
    errorColor: createColors(wanted(2)),
    result: (data, text) => {
      const shown = flags.json ? jsonText(data) : text()
      if (shown !== '') write(1, shown.endsWith('\n') ? shown : `${shown}\n`)
    },
    note: (line) => {
      if (!flags.quiet) write(2, `${line}\n`)
    },
    write,
  }
}

const EXIT_OF: Readonly<Record<ErrorCode, number>> = {
  SERVER_NOT_FOUND: EXIT.notFound,
  TOOL_NOT_FOUND: EXIT.notFound,
  RESOURCE_NOT_FOUND: EXIT.notFound,
  PROMPT_NOT_FOUND: EXIT.notFound,
  SKILL_NOT_FOUND: EXIT.notFound,
  SKILL_UNVERIFIED: EXIT.denied,
  INIT_ERROR: EXIT.connect,
  TOOL_ERROR: EXIT.toolError,
  PARSE_ERROR: EXIT.usage,
  IO_ERROR: EXIT.connect,
  AUTH_REQUIRED: EXIT.login,
  PERMISSION_DENIED: EXIT.denied,
  TIMEOUT: EXIT.timeout,
  DISABLED: EXIT.denied,
  INVALID_INPUT: EXIT.usage,
  OUTCOME_UNKNOWN: EXIT.connect,
  ANSWER_TOO_LARGE: EXIT.toolError,
  CANCELLED: EXIT.interrupted,
}

export function exitCodeOf(error: PlugboardError): number {
  // A file that could not be written is not a failed connection.
  if (error.code === 'IO_ERROR' && error.stage === 'config') return EXIT.usage
  return EXIT_OF[error.code]
}

export function reportError(output: Output, error: PlugboardError): void {
  if (output.json) {
    const { shellHint: hint } = error
    output.write(1, `${jsonText({ error: { ...error.toJSON(), ...(hint !== undefined && { hint }) } })}\n`)
    return
  }
  const { red, dim } = output.errorColor
  const where = [error.server, error.stage].filter((part) => part && !error.message.includes(`"${part}"`))
  // Its exit code is also that of a server that was never reached, where calling again is safe: the text tells them apart.
  const code = error.code === 'OUTCOME_UNKNOWN' ? ` ${error.code}` : ''
  const head = `error${code}${where.length > 0 ? ` (${where.join(', ')})` : ''}`
  const text = forTerminal(`${head}: ${shortPaths(error.message)}`, 2)
  output.write(2, `${red('error')}${text.slice('error'.length)}\n`)
  if (error.shellHint)
    output.write(2, `${dimLines(forTerminal(`  ${shortPaths(error.shellHint)}`, 2, ''), dim)}\n`)
}

const dimLines = (text: string, dim: Colors['dim']) => text.replace(/\S.*$/gm, (line) => dim(line))

/**
 * Faults in files, most serious first; a file's fault never stops the command. An error is always reported, also with
 * `--json` and `--quiet`: without it a program would take a shorter list of servers for the whole one.
 */
export function reportDiagnostics(output: Output, diagnostics: readonly Diagnostic[], limit = 20): void {
  const muted = output.quiet || output.json
  const told = muted ? diagnostics.filter(({ severity }) => severity === 'error') : diagnostics
  if (told.length === 0) return
  const { dim } = output.errorColor
  const sorted = [...told].sort((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'))
  const shown = output.verbose ? sorted : sorted.slice(0, limit)
  for (const fault of shown) output.write(2, `${forTerminal(diagnosticText(fault, output.errorColor), 2)}\n`)
  if (shown.length < sorted.length) output.write(2, dim(`… and ${sorted.length - shown.length} more (-v)\n`))
}

/** One fault of one file: where, what, and on a line of its own what to do. */
export function diagnosticText(fault: Diagnostic, { red, yellow, dim }: Colors): string {
  const mark = fault.severity === 'error' ? red('error') : yellow('warning')
  const at = `${shortPath(fault.file)}${fault.line === undefined ? '' : `:${fault.line}:${fault.column ?? 1}`}`
  const path = fault.path ? ` ${fault.path}:` : ''
  const hint = fault.hint ? `\n  ${dim(safe(fault.hint))}` : ''
  return `${mark} ${at}:${safe(path)} ${safe(fault.message)}${hint}`
}

/** Lines with foreign text, control characters made visible. */
export function safe(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** `~` for the home folder. */
export function shortPath(path: string): string {
  const home = process.env['HOME']
  return safe(home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path)
}

/** The same for a sentence that may have paths in it. */
export function shortPaths(text: string): string {
  const home = process.env['HOME']
  return safe(home ? text.replaceAll(`${home}/`, '~/') : text)
}

/** JSON with every control and invisible character written as an escape: the values are the same. */
export function jsonText(data: unknown): string {
  return visibleJson(stringifyJson(data, 2))
}

/** The same in one line, for a stream of them. */
export function jsonLine(data: unknown): string {
  return `${visibleJson(JSON.stringify(data))}\n`
}

/** Columns that line up; the last one is not padded. Colour codes do not count. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, width(cell))
    })
  return rows
    .map((row) =>
      row
        .map((cell, index) =>
          index === row.length - 1 ? cell : cell + ' '.repeat((widths[index] ?? 0) - width(cell)),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export interface TableLimits {
  /** How wide a line may be. */
  readonly columns: number
  /** Which columns to leave out, one after the other, until the lines fit. */
  readonly drop?: readonly number[]
  /** Which end of a cell of the last column goes when dropping was not enough; of a path it is the start. */
  readonly cut?: 'start' | 'end'
}

/** Less of a cell does not tell enough. */
const LAST_CELL_MIN = 12

/** The same as `table`, in lines that fit a screen. */
export function fitTable(
  rows: readonly (readonly string[])[],
  { columns, drop = [], cut = 'end' }: TableLimits,
): string {
  const widest = (index: number) => Math.max(0, ...rows.map((row) => width(row[index] ?? '')))
  let kept = (rows[0] ?? []).map((_, index) => index)
  const before = () => kept.slice(0, -1).reduce((sum, index) => sum + widest(index) + 2, 0)
  for (const index of drop)
    if (before() + widest(kept.at(-1) ?? 0) > columns) kept = kept.filter((each) => each !== index)
  const left = Math.max(LAST_CELL_MIN, columns - before())
  return table(
    rows.map((row) =>
      kept.map((index, at) => {
        const cell = row[index] ?? ''
        return at === kept.length - 1 ? cutCell(cell, left, cut) : cell
      }),
    ),
  )
}

function cutCell(cell: string, columns: number, end: 'start' | 'end'): string {
  const plain = withoutCodes(cell)
  const chars = [...plain]
  if (chars.length <= columns) return cell
  const part =
    end === 'start'
      ? `…${chars.slice(1 - columns).join('')}`
      : `${chars
          .slice(0, columns - 1)
          .join('')
          .trimEnd()}…`
  return cell.replace(plain, () => part)
}

function width(cell: string): number {
  const plain = withoutCodes(cell)
  return /[^ -~]/.test(plain) ? [...plain].length : plain.length
}
