// files.ts: reads a file and lists a folder, inside the root, bounded; says so when a file is not text.
import type { FileHandle } from 'node:fs/promises'
import { readdir } from 'node:fs/promises'
import { CodebaseError, errno } from './errors.ts'
import { FILE_LIMITS } from './limits.ts'
import { ripgrepNames } from './ripgrep.ts'
import { quote, type Root } from './root.ts'

export interface FileText {
  readonly file_path: string
  readonly text: string
  readonly start_line: number
  readonly end_line: number
  readonly total_lines?: number
  readonly size: number
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be'
  /** There is more after `end_line`. */
  readonly truncated: boolean
}

export interface LineRange {
  readonly start?: number | undefined
  readonly end?: number | undefined
}

/** The bytes of a file up to `limit`, read through a handle that is known to be inside the root. */
export async function readBytes(
  root: Root,
  path: string,
  limit: number,
): Promise<{ place: string; bytes: Buffer }> {
  const { handle, stats, relative } = await root.open(path)
  try {
    if (stats.size > limit) throw tooLarge(path, stats.size, limit)
    return { place: relative, bytes: await readUpTo(handle, Math.max(stats.size, 4096), limit, path) }
  } finally {
    await handle.close()
  }
}

export async function readText(root: Root, path: string, range: LineRange): Promise<FileText> {
  const ranged = range.start !== undefined || range.end !== undefined
  if (range.start !== undefined && range.end !== undefined && range.end < range.start)
    throw new CodebaseError('BAD_INPUT', 'end_line is before start_line.')
  const { place, bytes } = await readBytes(
    root,
    path,
    ranged ? FILE_LIMITS.rangeBytes : FILE_LIMITS.readBytes,
  )
  const { text, encoding } = decodeText(bytes, path)
  return { ...cutLines(text, range), file_path: place, size: bytes.length, encoding }
}

/** UTF-8, or UTF-16 by its byte order mark; anything else is refused with a reason instead of shown garbled. */
export function decodeText(bytes: Buffer, path: string): { text: string; encoding: FileText['encoding'] } {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : 'utf-8'
  if (encoding === 'utf-8') {
    const nul = bytes.indexOf(0)
    if (nul >= 0)
      throw new CodebaseError(
        'NOT_TEXT',
        `${quote(path)} is binary (a NUL byte at ${nul}), ${bytes.length} bytes.`,
      )
  }
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), encoding }
  } catch (error) {
    throw new CodebaseError(
      'NOT_TEXT',
      `${quote(path)} is not ${encoding.toUpperCase()} text (${bytes.length} bytes).`,
      'It is in another encoding, or binary; convert it to read it here.',
      error,
    )
  }
}

function cutLines(text: string, range: LineRange): Omit<FileText, 'file_path' | 'size' | 'encoding'> {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0 && at + 1 < text.length; at = text.indexOf('\n', at + 1))
    starts.push(at + 1)
  const total = text.length === 0 ? 0 : starts.length
  const first = range.start ?? 1
  if (first > Math.max(total, 1))
    throw new CodebaseError('BAD_INPUT', `start_line is ${first}, but the file has ${total} lines.`)
  let last = Math.min(range.end ?? total, total)
  const from = starts[first - 1] ?? 0
  let to = starts[last] ?? text.length
  let truncated = false
  while (to - from > FILE_LIMITS.answerChars && last > first) {
    truncated = true
    // Halving keeps this fast for a file of many short lines.
    last = Math.max(first, first + Math.floor((last - first) / 2))
    to = starts[last] ?? text.length
  }
  const whole = text.slice(from, to)
  const cut = whole.length > FILE_LIMITS.answerChars
  return {
    text: cut ? whole.slice(0, FILE_LIMITS.answerChars) : whole,
    start_line: total === 0 ? 0 : first,
    end_line: last,
    total_lines: total,
    truncated: truncated || cut,
  }
}

async function readUpTo(handle: FileHandle, expected: number, limit: number, path: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  let total = 0
  for (;;) {
    const piece = Buffer.allocUnsafe(Math.min(expected, 1 << 20))
    const { bytesRead } = await handle.read(piece, 0, piece.length, null)
    if (bytesRead === 0) break
    pieces.push(piece.subarray(0, bytesRead))
    total += bytesRead
    // A file that grows while it is read must not be followed for ever.
    if (total > limit) throw tooLarge(path, total, limit)
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
}

function tooLarge(path: string, size: number, limit: number): CodebaseError {
  const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`
  return new CodebaseError(
    'TOO_LARGE',
    `${quote(path)} is ${mib(size)}; at most ${mib(limit)} are read.`,
    'Give start_line and end_line, or use search_code.',
  )
}

export interface FolderEntry {
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink' | 'other'
}

export interface FolderListing {
  readonly path: string
  readonly entries: readonly FolderEntry[]
  readonly truncated: boolean
}

export interface ListOptions {
  readonly depth: number
  readonly glob: readonly string[]
  readonly signal?: AbortSignal | undefined
}

/** One level shows everything that is there; deeper, or with a glob, what the ignore rules leave. */
export async function listFolder(
  binary: string,
  root: Root,
  path: string,
  options: ListOptions,
): Promise<FolderListing> {
  const place = await root.find(path)
  if (options.depth <= 1 && options.glob.length === 0) return oneLevel(place.relative, place.absolute, path)
  await oneLevel(place.relative, place.absolute, path)
  const cwd = await root.real()
  const found = new Map<string, FolderEntry>()
  const prefix = place.relative === '' ? '' : `${place.relative}/`
  const onName = (name: string) => {
    const inner = name.slice(prefix.length).split('/')
    for (let n = 1; n < inner.length && options.glob.length === 0; n++) {
      const folder = prefix + inner.slice(0, n).join('/')
      found.set(folder, { path: folder, kind: 'directory' })
    }
    found.set(name, { path: name, kind: 'file' })
  }
  const isFull = () => found.size > FILE_LIMITS.entries
  const names = (globs: readonly string[], each: (name: string) => void) => {
    const flags = ['--files', `--max-depth=${options.depth}`, ...globs.map((glob) => `--glob=${glob}`)]
    const run = { cwd, signal: options.signal }
    return ripgrepNames(binary, [...flags, '--', `./${place.relative}`], run, each, () => !isFull())
  }
  // With ripgrep a glob brings back ignored files; here it only narrows.
  const seen = options.glob.length > 0 ? new Set<string>() : undefined
  if (seen) await names([], (name) => seen.add(name))
  await names(options.glob, (name) => {
    if (seen?.has(name) ?? true) onName(name)
  })
  const entries = [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
  return { path: place.relative, entries: entries.slice(0, FILE_LIMITS.entries), truncated: isFull() }
}

async function oneLevel(relative: string, absolute: string, given: string): Promise<FolderListing> {
  try {
    const items = await readdir(absolute, { withFileTypes: true })
    const entries = items
      .map((item): FolderEntry => {
        const kind = item.isDirectory()
          ? 'directory'
          : item.isFile()
            ? 'file'
            : item.isSymbolicLink()
              ? 'symlink'
              : 'other'
        return { path: relative === '' ? item.name : `${relative}/${item.name}`, kind }
      })
      .sort((a, b) => (a.path < b.path ? -1 : 1))
    return {
      path: relative,
      entries: entries.slice(0, FILE_LIMITS.entries),
      truncated: entries.length > FILE_LIMITS.entries,
    }
  } catch (error) {
    const code = errno(error)
    if (code === 'ENOTDIR')
      throw new CodebaseError(
        'NOT_A_DIRECTORY',
        `${quote(given)} is not a folder.`,
        'Use read_file for files.',
      )
    throw new CodebaseError(
      'IO',
      `${quote(given)} cannot be listed (${code ?? 'unknown error'}).`,
      undefined,
      error,
    )
  }
}
