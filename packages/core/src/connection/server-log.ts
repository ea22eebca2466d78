// server-log.ts: a server's output outside the protocol, as a bounded ring of lines on disk that any process can read
// and follow. Two files per server: the current one, and the one before it.
import { createHash } from 'node:crypto'
import { appendFile, type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sleep } from '../async/waits.ts'
import type { LogLine } from '../events.ts'
import { readTextFile } from '../files/index.ts'
import { type Host, systemHost } from '../host.ts'
import { LOG_LIMITS } from '../limits.ts'

const STREAMS: readonly LogLine['stream'][] = ['stderr', 'stdout', 'transport', 'server', 'plugboard']

export class ServerLog {
  readonly #file: string
  readonly #host: Host
  readonly #onLine: (line: LogLine) => void
  readonly #hide: (text: string) => string
  readonly #tail: LogLine[] = []
  #buffer: string[] = []
  #buffered = 0
  #dropped = 0
  #stopTimer: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(
    stateDir: string,
    server: string,
    host: Host,
    onLine: (line: LogLine) => void,
    hide: (text: string) => string = (text) => text,
  ) {
    this.#file = logFile(stateDir, server)
    this.#host = host
    this.#onLine = onLine
    this.#hide = hide
  }

  add(stream: LogLine['stream'], text: string): void {
    // Before it is split and clipped: half a secret is a secret too.
    for (const piece of this.#hide(text).split(/\r?\n/)) if (piece.trim() !== '') this.#line(stream, piece)
  }

  /** The server's last stderr lines, newest last, without stack frames: those are in the log. */
  tail(): readonly string[] {
    return this.#tail.map((line) => line.text)
  }

  /** Clears the last lines: what follows belongs to a new attempt. */
  turnPage(): void {
    this.#tail.length = 0
  }

  /** Writes what is buffered. Never rejects: a full disk must not take a connection down. */
  flush(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  #line(stream: LogLine['stream'], text: string): void {
    const line: LogLine = { at: this.#host.now(), stream, text: clip(text) }
    if ((stream === 'stderr' || stream === 'stdout') && !isScaffolding(text)) {
      this.#tail.push(line)
      if (this.#tail.length > LOG_LIMITS.linesInError) this.#tail.shift()
    }
    this.#onLine(line)
    if (this.#buffered >= LOG_LIMITS.bufferedBytes) {
      this.#dropped++
      return
    }
    const rendered = render(line)
    this.#buffer.push(rendered)
    this.#buffered += rendered.length
    this.#stopTimer ??= this.#host.backgroundTimer(LOG_LIMITS.flushMs, () => void this.flush())
  }

  async #write(): Promise<void> {
    if (this.#buffer.length === 0) return
    if (this.#dropped > 0) {
      const text = `${this.#dropped} lines came too fast to be kept`
      this.#buffer.push(render({ at: this.#host.now(), stream: 'plugboard', text }))
    }
    const text = this.#buffer.join('')
    this.#buffer = []
    this.#buffered = 0
    this.#dropped = 0
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
      const size = (await stat(this.#file).catch(() => undefined))?.size ?? 0
      if (size > LOG_LIMITS.bytesPerServer / 2) await rename(this.#file, older(this.#file))
      await appendFile(this.#file, text, { mode: 0o600 })
    } catch {
      // A failure to write the log could only be logged; the lines were events already.
    }
  }
}

/** Path of a server's log; the name is made safe and stays unique. */
export function logFile(stateDir: string, server: string): string {
  if (/^[a-z0-9_-]{1,64}$/.test(server)) return join(stateDir, 'logs', `${server}.log`)
  const slug = server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 48)
  const hash = createHash('sha256').update(server).digest('hex').slice(0, 10)
  // A plain name contains no dot, so the two forms never collide.
  return join(stateDir, 'logs', `${slug}.${hash}.log`)
}

/**
 * The kept lines, oldest first.
 *
 * @example
 * for (const { stream, text } of await readLog('/home/ada/.plugboard/state', 'notes')) console.log(stream, text)
 */
export async function readLog(stateDir: string, server: string): Promise<readonly LogLine[]> {
  const file = logFile(stateDir, server)
  const lines: LogLine[] = []
  for (const path of [older(file), file]) {
    const outcome = await readTextFile(path, LOG_LIMITS.bytesPerServer * 2)
    if (outcome.kind === 'text') lines.push(...parse(outcome.text))
  }
  return lines
}

/**
 * Lines written from now on, by any process, until the signal.
 *
 * @example
 * const soon = AbortSignal.timeout(50)
 * for await (const { text } of followLog('/home/ada/.plugboard/state', 'notes', soon)) console.log(text)
 */
export async function* followLog(
  stateDir: string,
  server: string,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const host = systemHost()
  const file = logFile(stateDir, server)
  const info = await stat(file).catch(() => undefined)
  let offset = info?.size ?? 0
  let inode = info?.ino
  let rest = ''
  while (!signal.aborted) {
    // The file may be rotated at any moment: the checked file and the read file must be the same one.
    const handle = await open(file, 'r').catch(() => undefined)
    if (handle)
      try {
        const { ino, size } = await handle.stat()
        if (inode !== undefined && ino !== inode) {
          rest += await readOlder(file, offset)
          offset = 0
        }
        inode = ino
        if (size < offset) offset = 0
        const text = await readFrom(handle, offset)
        offset += Buffer.byteLength(text)
        rest += text
      } finally {
        await handle.close()
      }
    const cut = rest.lastIndexOf('\n') + 1
    yield* parse(rest.slice(0, cut))
    rest = rest.slice(cut)
    await sleep(host, LOG_LIMITS.followMs, signal)
  }
}

async function readOlder(file: string, offset: number): Promise<string> {
  const handle = await open(older(file), 'r').catch(() => undefined)
  if (!handle) return ''
  try {
    return await readFrom(handle, offset)
  } finally {
    await handle.close()
  }
}

/** From there to the end; the caller closes the file. */
async function readFrom(handle: FileHandle, offset: number): Promise<string> {
  const { size } = await handle.stat()
  const bytes = Buffer.alloc(Math.min(Math.max(0, size - offset), LOG_LIMITS.bytesPerServer * 2))
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset)
  // Every write ends with a whole line, so a character is never cut in two.
  return bytes.toString('utf8', 0, bytesRead)
}

function older(file: string): string {
  return `${file.slice(0, -'.log'.length)}.1.log`
}

/** Stack traces, which the log keeps: frames of JavaScript, Java and Python, and marks below a line. */
function isScaffolding(text: string): boolean {
  return /^\s+at \S|^\s+File ".*", line \d+|^\s*[~^]+\s*$|^Node\.js v\d/.test(text)
}

function clip(text: string): string {
  return text.length > LOG_LIMITS.lineBytes ? `${text.slice(0, LOG_LIMITS.lineBytes)}…` : text
}

function render(line: LogLine): string {
  return `${new Date(line.at).toISOString()} ${line.stream} ${line.text}\n`
}

function parse(text: string): LogLine[] {
  const lines: LogLine[] = []
  for (const row of text.split('\n')) {
    const [when = '', name = ''] = row.split(' ', 2)
    const at = Date.parse(when)
    const stream = STREAMS.find((known) => known === name)
    if (stream && !Number.isNaN(at))
      lines.push({ at, stream, text: row.slice(when.length + name.length + 2) })
  }
  return lines
}
