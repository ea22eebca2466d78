// text/literal.ts: the one kind of search that gives ripgrep's result without ripgrep: plain text, case as given, in a few
// files without NUL bytes. It saves the start of a process. literal.test.ts holds it to ripgrep's results.
import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_LIMITS, SEARCH_LIMITS } from '../limits.ts'
import { lineOf, type TextMatch } from './matches.ts'

/** More files, or bigger ones, are left to ripgrep: it reads them on several cores. */
const LITERAL_LIMITS = { files: 400, bytesPerFile: 4 * 1024 * 1024 } as const

const LINE_FEED = 10

export interface LiteralSearch {
  readonly root: string
  readonly text: string
  readonly max: number
  readonly context: number
}

/** Undefined when only ripgrep can search one of the files. */
export function searchLiteral(search: LiteralSearch, files: readonly string[]): TextMatch[] | undefined {
  if (files.length > LITERAL_LIMITS.files) return undefined
  const needle = Buffer.from(search.text, 'utf8')
  // A lone surrogate has no UTF-8 form; what Node makes of it is not what was asked for.
  if (needle.toString('utf8') !== search.text) return undefined
  const found: TextMatch[] = []
  let chars = 0
  for (const file of files) {
    const bytes = readWhole(join(search.root, file), search.text)
    if (bytes === 'judge') return undefined
    if (!bytes) continue
    for (const match of matchesIn(bytes, needle, file, search)) {
      found.push(match)
      chars += match.text.length + file.length
      if (found.length >= search.max || chars >= SEARCH_LIMITS.answerChars) return found
    }
  }
  return found
}

function* matchesIn(
  bytes: Buffer,
  needle: Buffer,
  file: string,
  search: LiteralSearch,
): Generator<TextMatch> {
  let line = 1
  let counted = 0
  for (let at = bytes.indexOf(needle); at >= 0; ) {
    const from = at === 0 ? 0 : bytes.lastIndexOf(LINE_FEED, at - 1) + 1
    const end = endOfLine(bytes, at + needle.length - 1)
    for (let n = bytes.indexOf(LINE_FEED, counted); n >= 0 && n < from; n = bytes.indexOf(LINE_FEED, n + 1))
      line++
    counted = from
    const { text, note } = shownLine(bytes.subarray(from, end))
    yield {
      file_path: file,
      line,
      text,
      ...(search.context > 0 && {
        before: linesBefore(bytes, from, search.context),
        after: linesAfter(bytes, end, search.context),
      }),
      ...(note && { note }),
    }
    at = end < bytes.length ? bytes.indexOf(needle, end) : -1
  }
}

/** Just past the line's terminator, or the end of the file. */
function endOfLine(bytes: Buffer, at: number): number {
  const next = bytes.indexOf(LINE_FEED, at)
  return next < 0 ? bytes.length : next + 1
}

function linesBefore(bytes: Buffer, from: number, count: number): string[] {
  const lines: string[] = []
  for (let end = from; end > 0 && lines.length < count; ) {
    const start = end < 2 ? 0 : bytes.lastIndexOf(LINE_FEED, end - 2) + 1
    lines.unshift(shownLine(bytes.subarray(start, end)).text)
    end = start
  }
  return lines
}

function linesAfter(bytes: Buffer, from: number, count: number): string[] {
  const lines: string[] = []
  for (let start = from; start < bytes.length && lines.length < count; ) {
    const end = endOfLine(bytes, start)
    lines.push(shownLine(bytes.subarray(start, end)).text)
    start = end
  }
  return lines
}

const shownLine = (line: Buffer) =>
  lineOf(isUtf8(line) ? { text: line.toString('utf8') } : { bytes: line.toString('base64') })

/** The file without its byte order mark, as ripgrep reads it. Nothing when it is gone, or cannot have the text. */
function readWhole(path: string, text: string): Buffer | 'judge' | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const { size } = fstatSync(fd)
    if (size > FILE_LIMITS.searchBytes || size > LITERAL_LIMITS.bytesPerFile) return 'judge'
    const bytes = Buffer.allocUnsafe(size + 1)
    const length = readSync(fd, bytes, 0, size + 1, 0)
    // It changed meanwhile, or holds what the index did not see.
    if (length !== size) return 'judge'
    if (isWide(bytes, length)) return mayHoldWide(bytes.subarray(0, length), text) ? 'judge' : undefined
    if (bytes.subarray(0, length).includes(0)) return 'judge'
    const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf && length >= 3
    return bytes.subarray(isMarked ? 3 : 0, length)
  } catch {
    // Gone or not readable: ripgrep skips it too.
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function isWide(bytes: Buffer, length: number): boolean {
  return length >= 2 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
}

/**
 * Could a file in UTF-16 have the text? The index has no trigrams of such files, so they are checked every time, and
 * nearly always the answer is no. Broken parts are read as U+FFFD, so a text with that character could be anywhere.
 */
function mayHoldWide(bytes: Buffer, text: string): boolean {
  if (text.includes('\ufffd')) return true
  const needle = Buffer.from(text, 'utf16le')
  return bytes.includes(bytes[0] === 0xff ? needle : needle.swap16())
}
