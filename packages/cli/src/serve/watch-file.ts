// watch-file.ts: reads a file again when it changes, while a service runs. It polls a few times a second: that sees every way of
// replacing a file. It reads when two looks agree, because an editor may be in the middle of writing it.
import { statSync } from 'node:fs'
import { InvalidInput } from '@plugboard/core/errors'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'

export interface FollowedFile {
  /** Reads the file now, changed or not. */
  again(): void
  stop(): void
}

export interface FileListener {
  /** How the file is named in messages, as in `--token-file: /path`. */
  readonly title: string
  /** What stays valid while the file cannot be used, as in `The last good tokens stay valid`. */
  readonly kept: string
  /** Reads and uses the file; throws when it cannot be used. */
  read(): void | Promise<void>
  /** A file that is not there is a fault, unless it may be missing. */
  readonly mayBeMissing?: boolean
  /** What the operator should know: the file cannot be used, or it is good again. */
  tell(text: string): void
}

/** How often a file that keeps changing is looked at before it is read all the same. */
const UNSETTLED_LOOKS = 2

export function followFile(file: string, listener: FileListener): FollowedFile {
  let read = lookOf(file)
  let last = read
  let unsettled = 0
  let told: string | undefined
  // A pipe (`--token-file <(…)`) can be read once.
  const follows = read.startsWith(REGULAR) || listener.mayBeMissing === true
  const good = () => {
    if (told !== undefined) listener.tell(`${listener.title} is good again.`)
    told = undefined
  }
  const bad = (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error)
    // The same fault is reported once, until the file is good again.
    if (told !== text) listener.tell(`${text} ${listener.kept} until the file is repaired.`)
    told = text
  }
  const again = () => {
    read = lookOf(file)
    unsettled = 0
    try {
      // A named pipe would hold the whole process until something writes to it.
      if (!read.startsWith(MISSING) && !read.startsWith(REGULAR))
        throw new InvalidInput(`${listener.title} is not a regular file.`)
      const done = listener.read()
      if (done instanceof Promise) done.then(good, bad)
      else good()
    } catch (error) {
      bad(error)
    }
  }
  const look = () => {
    const now = lookOf(file)
    const settled = now === last
    last = now
    if (now === read) unsettled = 0
    else if (settled || unsettled++ >= UNSETTLED_LOOKS) again()
  }
  const timer = follows ? setInterval(look, GATEWAY_LIMITS.tokenFilePollMs) : undefined
  timer?.unref()
  return { again, stop: () => clearInterval(timer) }
}

const REGULAR = 'file '
const MISSING = 'missing'

/** What the file looks like from outside; rights are part of it. It never throws. */
function lookOf(file: string): string {
  try {
    const info = statSync(file, { throwIfNoEntry: false, bigint: true })
    if (!info) return MISSING
    const { dev, ino, size, mode, mtimeNs, ctimeNs } = info
    return `${info.isFile() ? REGULAR : 'other '}${[dev, ino, size, mode, mtimeNs, ctimeNs].join(' ')}`
  } catch (error) {
    // A folder on the way is closed or is a file, or links go round in a circle: reading it says so.
    return `${MISSING} ${(error as NodeJS.ErrnoException).code}`
  }
}
