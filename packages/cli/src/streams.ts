// streams.ts: writes to stdout and stderr without building Node's streams for them, which costs a good part of a
// short command's life. Falls back to the streams when a pipe is full.
import { lazyModule } from '@plugboard/core/lazy'

export type Fd = 1 | 2

/** The descriptors of this process that took the slow way once: what is written later must not overtake it. */
const queued = new Set<Fd>()

export function write(fd: Fd, text: string): void {
  const fs = lazyModule('node:fs')
  let bytes = Buffer.from(text)
  if (queued.has(fd)) return void enqueue(fd, bytes)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(fs.writeSync(fd, bytes))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EAGAIN') return void enqueue(fd, bytes)
      // A reader that went away (`| head`) ends us quietly, as it does other commands.
      if (code === 'EPIPE') process.exit(0)
      throw error
    }
  }
}

/** Node keeps the process alive until the reader has taken it all. */
function enqueue(fd: Fd, bytes: Buffer): void {
  const stream = fd === 1 ? process.stdout : process.stderr
  if (!queued.has(fd)) {
    queued.add(fd)
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0)
      throw error
    })
  }
  stream.write(bytes)
}

/** Where scripts send what they do not read; a character device too. */
const DEV_NULL = 0x103n

/**
 * Asked of the descriptor first: only a character device can be a terminal, and the module that knows is heavy. Asked in
 * big integers: after the other kind of answer about a pipe, Node 20 takes symbolic links in `node_modules` for folders,
 * and then a package that pnpm installed does not find its own.
 */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const device = lazyModule('node:fs').fstatSync(fd, { bigint: true })
    if (!device.isCharacterDevice() || (process.platform === 'linux' && device.rdev === DEV_NULL))
      return false
  } catch {
    // A closed descriptor is no terminal.
    return false
  }
  return lazyModule('node:tty').isatty(fd)
}

/** A terminal where what was drawn can be drawn over. */
export function canRedraw(fd: Fd): boolean {
  return process.env['TERM'] !== 'dumb' && isTerminal(fd)
}
