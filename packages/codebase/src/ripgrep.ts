// ripgrep.ts: runs the ripgrep binary that npm brought, and reads what it prints as it comes.
// It decides nothing about which files to search; search.ts does.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { CodebaseError, errno } from './errors.ts'
import { SEARCH_LIMITS } from './limits.ts'

/** What every run has in common: no configuration file, and no messages about files that vanish. */
const COMMON = ['--no-config', '--no-messages', '--color=never']

/** How ripgrep is run. */
export interface RunOptions {
  readonly cwd: string
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
  readonly stdin?: Uint8Array | undefined
}

export type RunEnd = 'done' | 'stopped' | 'timeout'

/** The path of the binary; loaded late because a missing platform package throws. */
export async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch (error) {
    throw new CodebaseError(
      'IO',
      'ripgrep is not installed for this platform.',
      'Install again with optional dependencies: npm install --include=optional.',
      error,
    )
  }
}

/**
 * Runs ripgrep and hands over its standard output piece by piece. `onOutput` returns false to stop the run.
 * Exit status 1 is "no match", 2 with nothing printed on stdout is an error of the pattern or the arguments.
 */
export async function runRipgrep(
  binary: string,
  args: readonly string[],
  options: RunOptions,
  onOutput: (piece: Buffer) => boolean,
): Promise<RunEnd> {
  options.signal?.throwIfAborted()
  if (args.some((arg) => arg.includes('\0')))
    throw new CodebaseError('BAD_INPUT', 'A pattern or glob must not contain a NUL byte.')
  const child = spawn(binary, [...COMMON, ...args], {
    cwd: options.cwd,
    stdio: [options.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  }) as ChildProcessByStdio<null, Readable, Readable>
  return new Promise<RunEnd>((done, fail) => {
    let end: RunEnd = 'done'
    let complaint = ''
    const stop = (why: RunEnd) => {
      if (end === 'done') end = why
      child.kill('SIGKILL')
    }
    const timer = setTimeout(() => stop('timeout'), options.timeoutMs ?? SEARCH_LIMITS.timeoutMs)
    const onAbort = () => stop('stopped')
    options.signal?.addEventListener('abort', onAbort, { once: true })
    const settle = () => {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', onAbort)
    }
    child.stdout.on('data', (piece: Buffer) => {
      if (end === 'done' && !onOutput(piece)) stop('stopped')
    })
    child.stderr.on('data', (piece: Buffer) => {
      if (complaint.length < 4096) complaint += piece.toString('utf8')
    })
    child.on('error', (error) => {
      settle()
      fail(spawnFailure(error))
    })
    child.on('close', (code) => {
      settle()
      if (end === 'done' && code === 2 && complaint.trim() !== '') fail(refused(complaint))
      else done(end)
    })
    feed(child, options.stdin)
  })
}

function feed(child: ChildProcessByStdio<null, Readable, Readable>, input: Uint8Array | undefined): void {
  if (!input) return
  const stdin = child.stdin as unknown as NodeJS.WritableStream
  // A run that was stopped early leaves its input unread, which is no error.
  stdin.on('error', () => undefined)
  stdin.end(input)
}

function spawnFailure(error: Error): CodebaseError {
  const code = errno(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new CodebaseError('ROOT_GONE', 'The root folder, or ripgrep itself, is gone.', undefined, error)
  return new CodebaseError('IO', `ripgrep could not be started (${code ?? error.message}).`, undefined, error)
}

function refused(complaint: string): CodebaseError {
  const text = complaint.replaceAll(/^rg: /gm, '').trim().slice(0, 1000)
  // ripgrep tells the two apart in its message only; a wrong guess costs the hint, not the error.
  if (text.startsWith('error parsing glob'))
    return new CodebaseError(
      'BAD_PATTERN',
      `The glob was refused: ${text}`,
      'In a glob * ? [ ] { } have a meaning: close what is open, or put a backslash before it.',
    )
  return new CodebaseError(
    'BAD_PATTERN',
    `The pattern was refused: ${text}`,
    'Regular expressions are those of Rust’s regex crate: no look-around, no back-references.',
  )
}

/**
 * Runs ripgrep for the names of files, and hands each over as the rest of this package spells it: from the root, with slashes.
 * `goesOn` is called after each piece of output and returns false to stop the run.
 */
export function ripgrepNames(
  binary: string,
  args: readonly string[],
  options: RunOptions,
  onName: (name: string) => void,
  goesOn: () => boolean = () => true,
): Promise<RunEnd> {
  const splitter = new NameSplitter((raw) => onName(slashed(raw.toString('utf8')).replace(/^\.\//, '')))
  return runRipgrep(binary, ['--null', ...args], options, (piece) => {
    splitter.push(piece)
    return goesOn()
  })
}

/** The files below these folders that the ignore rules leave; rejects when there was no time to list them all. */
export async function listFiles(
  binary: string,
  options: RunOptions & { readonly folders?: readonly string[]; readonly flags?: readonly string[] },
  onName: (name: string) => void,
): Promise<void> {
  const { folders = [''], flags = [], ...run } = options
  const args = ['--files', ...flags, '--', ...folders.map((folder) => `./${folder}`)]
  const end = await ripgrepNames(binary, args, run, onName)
  if (end !== 'done') throw new CodebaseError('TIMEOUT', 'Listing the files took too long.')
}

const slashed = (path: string) => (process.platform === 'win32' ? path.replaceAll('\\', '/') : path)

/** Splits NUL-separated output into names. */
class NameSplitter {
  #rest: Buffer = Buffer.alloc(0)
  readonly #onName: (name: Buffer) => void

  constructor(onName: (name: Buffer) => void) {
    this.#onName = onName
  }

  push(piece: Buffer): void {
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece
    let from = 0
    for (let at = all.indexOf(0, from); at >= 0; at = all.indexOf(0, from)) {
      this.#onName(all.subarray(from, at))
      from = at + 1
    }
    this.#rest = all.subarray(from)
  }
}

/** Splits output into lines without ever copying a line twice. */
export class LineSplitter {
  #rest: Buffer[] = []

  lines(piece: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let from = 0
    for (let at = piece.indexOf(10, from); at >= 0; at = piece.indexOf(10, from)) {
      const last = piece.subarray(from, at)
      lines.push(this.#rest.length > 0 ? Buffer.concat([...this.#rest, last]) : last)
      this.#rest = []
      from = at + 1
    }
    if (from < piece.length) this.#rest.push(piece.subarray(from))
    return lines
  }
}
