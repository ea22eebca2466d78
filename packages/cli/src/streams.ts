// streams.ts: the one writer of the command. On a terminal, and on stderr always, control, bidi and invisible characters
// are made visible; our own styling passes. A result in a pipe or a file stays unchanged, byte by byte.
import { lazyModule } from '@plugboard/core/lazy'
import { visible } from '@plugboard/core/text/escape-controls'
import { withCodes } from './colors.ts'
import { type Fd, put } from './raw-output.ts'
import { mayBeTerminal } from './terminal-device.ts'

export { type Fd, neverBlock } from './raw-output.ts'

export function write(fd: Fd, text: string): void {
  screen[ERASE]?.()
  const bytes = shownOn(fd, text)
  if (fd === 2 && isService) log(bytes)
  else put(fd, bytes)
}

// The command is built in two halves with a writer each, and both write to the same screen.
const ERASE = Symbol.for('plugboard.erase-transient-line')
const screen = globalThis as { [ERASE]?: (() => void) | undefined }

/** Resolves when the reader of stdout has taken what was written, or the signal aborts. */
export function readByReader(signal: AbortSignal): Promise<void> {
  const { stdout } = process
  return new Promise((done) => {
    if (signal.aborted || !stdout.writableNeedDrain) return done()
    const end = () => {
      stdout.off('drain', end)
      signal.removeEventListener('abort', end)
      done()
    }
    stdout.on('drain', end)
    signal.addEventListener('abort', end, { once: true })
  })
}

/** What was just written stands only until the next write, which erases it first. Returns how to erase it earlier. */
export function transient(remove: () => void): () => void {
  const once = () => {
    if (screen[ERASE] !== once) return
    screen[ERASE] = undefined
    remove()
  }
  screen[ERASE] = once
  return once
}

let isService = false

/**
 * From now on stderr is the log of a service, which must neither end nor wait because of it: what cannot be written (the
 * reader is gone, the disk is full) or is not read in time is dropped.
 */
export function serviceLog(): void {
  if (isService) return
  isService = true
  process.stderr.on('error', () => undefined)
}

/** What the reader of a log may leave unread. */
const UNREAD_LOG_BYTES = 1024 * 1024

function log(bytes: Buffer): void {
  if (process.stderr.writableLength > UNREAD_LOG_BYTES) return
  try {
    process.stderr.write(bytes)
  } catch {
    // A file on a full disk says so by throwing; there is no better place to tell it.
  }
}

/** A result that is bytes. On a terminal it is shown as text, because its bytes would act on the terminal. */
export function writeBytes(bytes: Uint8Array): void {
  if (showsControls(1)) {
    write(1, Buffer.from(bytes).toString('utf8'))
    return
  }
  screen[ERASE]?.()
  put(1, Buffer.from(bytes))
}

/** The text as this descriptor gets it. */
export function shownOn(fd: Fd, text: string): Buffer {
  return Buffer.from(showsControls(fd) ? terminalText(text) : withCodes(text, (part) => part))
}

/** The text as a terminal may get it, for prompts that a line editor writes. */
export function terminalText(text: string): string {
  return withCodes(text, visible)
}

const shows = new Map<Fd, boolean>()

/** Text on stderr is for users, wherever it ends up: in a terminal or in the log of a build. */
function showsControls(fd: Fd): boolean {
  const known = shows.get(fd)
  if (known !== undefined) return known
  const answer = fd === 2 || isTerminal(fd)
  shows.set(fd, answer)
  return answer
}

/** Tells a user who looks elsewhere that something waits. Only a terminal gets it. */
export function ring(): void {
  if (isTerminal(1)) put(1, Buffer.from('\x07'))
}

/** How wide the screen is. */
export function columnsOf(fd: Fd): number {
  return (fd === 1 ? process.stdout : process.stderr).columns || 80
}

/** Calls back when the screen has another size, until the returned function is called. */
export function onResize(changed: () => void): () => void {
  process.stdout.on('resize', changed)
  return () => process.stdout.off('resize', changed)
}

/** How many rows the screen has. */
export function screenRows(fd: Fd): number {
  return (fd === 1 ? process.stdout : process.stderr).rows || 24
}

/** Where a line editor echoes what is typed. Its prompt has to go through `terminalText`. */
export function editorOutput(fd: Fd): NodeJS.WriteStream {
  return fd === 1 ? process.stdout : process.stderr
}

export function isTerminal(fd: 0 | 1 | 2): boolean {
  return mayBeTerminal(fd) && lazyModule('node:tty').isatty(fd)
}

/** A terminal whose output can be redrawn. */
export function canRedraw(fd: Fd): boolean {
  return process.env['TERM'] !== 'dumb' && isTerminal(fd)
}
