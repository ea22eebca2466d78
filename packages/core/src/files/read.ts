// read.ts: reads a text file that may be missing, huge, a folder, a device or unreadable; never throws for those.
import { isUtf8 } from 'node:buffer'
import { lazyModule } from '../lazy.ts'

export type ReadOutcome =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly mtimeMs: number
      /** Written back as UTF-8, the text gives the same bytes. */
      readonly exact: boolean
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'problem'; readonly message: string; readonly hint: string }

const HINTS: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  EACCES: ['may not be read (permission denied)', 'Give yourself read permission on it.'],
  EPERM: ['may not be read (not permitted)', 'Give yourself read permission on it.'],
  ELOOP: ['is a symbolic link that leads to itself', 'Remove the link or point it at a real file.'],
  EISDIR: ['is a folder, not a file', 'Move the folder away; a JSON file is expected here.'],
  ENAMETOOLONG: ['has a path that is too long for this system', 'Move the project to a shorter path.'],
}

const CHUNK = 64 * 1024

/** Synchronous inside: a handful of small local files, where the thread pool would cost more than the read. */
export async function readTextFile(path: string, maxBytes: number): Promise<ReadOutcome> {
  const fs = lazyModule('node:fs')
  let file: number | undefined
  try {
    // Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
    file = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
    const stat = fs.fstatSync(file)
    if (stat.isDirectory()) return problem('EISDIR')
    if (!stat.isFile())
      return { kind: 'problem', message: 'is not a regular file', hint: 'A JSON file is expected here.' }
    if (stat.size > maxBytes) return tooLarge(stat.size, maxBytes)
    const bytes = readAtMost(file, stat.size, maxBytes + 1)
    if (bytes.length > maxBytes) return tooLarge(bytes.length, maxBytes)
    return { kind: 'text', text: decode(bytes), mtimeMs: stat.mtimeMs, exact: isUtf8(bytes) }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
    return problem(code, error as Error)
  } finally {
    if (file !== undefined) fs.closeSync(file)
  }
}

/** The size is only a hint: a file may grow, and those of /proc report 0 and never end. */
function readAtMost(file: number, expected: number, limit: number): Buffer {
  const fs = lazyModule('node:fs')
  const parts: Buffer[] = []
  let total = 0
  while (total < limit) {
    const room = Math.min(Math.max(expected - total, 0) + CHUNK, limit - total)
    const buffer = Buffer.allocUnsafe(room)
    const bytesRead = fs.readSync(file, buffer, 0, room, null)
    if (bytesRead === 0) break
    parts.push(buffer.subarray(0, bytesRead))
    total += bytesRead
  }
  return Buffer.concat(parts)
}

function problem(code: string, error?: Error): ReadOutcome {
  const [message, hint] = HINTS[code] ?? [
    `could not be read (${code || error?.message || 'unknown error'})`,
    'Check the file and its folder.',
  ]
  return { kind: 'problem', message, hint }
}

function tooLarge(size: number, max: number): ReadOutcome {
  const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`
  return {
    kind: 'problem',
    message: `is ${mib(size)}, larger than the ${mib(max)} that are read`,
    hint: 'A configuration file is small; check that this is the right one.',
  }
}

/** UTF-8, or UTF-16 when its byte order mark says so (editors on Windows write it). The mark itself stays in the text. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le')
  return bytes.toString('utf8')
}
