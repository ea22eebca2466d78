// raw-output.ts: bytes to stdout and stderr, without building Node's streams, which take a good part of a short command's
// time. What the bytes are is the caller's matter.
import { lazyModule } from '@plugboard/core/lazy'

export type Fd = 1 | 2

// The command is built in two halves with a writer each, and both write to the same screen.
const NEVER_BLOCK = Symbol.for('plugboard.never-block')
const screen = globalThis as { [NEVER_BLOCK]?: boolean }

/** The descriptors of this process that were once written asynchronously: later text must not overtake it. */
const queued = new Set<Fd>()

/**
 * From now on no write waits for its reader. For commands that run until a signal: one that waits in a write would not
 * notice the signal.
 */
export function neverBlock(): void {
  screen[NEVER_BLOCK] = true
}

export function put(fd: Fd, given: Buffer): void {
  const fs = lazyModule('node:fs')
  let bytes = given
  if (queued.has(fd) || screen[NEVER_BLOCK]) return void enqueue(fd, bytes)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(fs.writeSync(fd, bytes))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EAGAIN') return void enqueue(fd, bytes)
      failed(fd, error as NodeJS.ErrnoException)
      return
    }
  }
}

/** Whether something is still on its way to a reader: `process.exit` would lose it. */
export function isUnread(): boolean {
  return queued.size > 0
}

/** A descriptor that takes nothing any more. What is meant for stderr is not worth a result or an exit code. */
function failed(fd: Fd, error: NodeJS.ErrnoException): void {
  if (fd === 2) return
  // A reader that went away (`| head`) ends us quietly, as it does other commands.
  if (error.code === 'EPIPE') process.exit(0)
  put(2, Buffer.from(`plugboard: the result could not be written: ${error.message}\n`))
  process.exit(1)
}

/** Node keeps the process alive until the reader has taken it all. */
function enqueue(fd: Fd, bytes: Buffer): void {
  const stream = fd === 1 ? process.stdout : process.stderr
  if (!queued.has(fd)) {
    queued.add(fd)
    stream.on('error', (error: NodeJS.ErrnoException) => failed(fd, error))
  }
  stream.write(bytes)
}
