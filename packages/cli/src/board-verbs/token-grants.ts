// token-grants.ts: the file with the tokens of `serve --http`: read strictly at the start, and followed while it runs. When the
// file becomes unusable the last good grants stay, and the fault is reported.
import { statSync } from 'node:fs'
import { InvalidInput } from '@plugboard/core/errors'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type AccessGrant, type Exposure, narrowed, readExposure } from '@plugboard/gateway'
import { readTokenFile } from './token-file.ts'

/** Patterns after a token on its line narrow what that client sees. */
export function readTokens(file: string, exposure: Exposure): AccessGrant[] {
  return readTokenFile(file).map(({ token, rest }) => ({
    token,
    patterns: rest,
    exposure: narrowed(exposure, exposureOf(rest, `--token-file: ${file}`)),
  }))
}

/** An invalid pattern is reported with the file and line it was written in. */
export function exposureOf(patterns: readonly string[], place: string): Exposure {
  try {
    return readExposure(patterns)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(`${place}: ${error.message}`, { hint: error.shellHint, cause: error })
  }
}

export interface TokenListener {
  changed(grants: readonly AccessGrant[]): void
  /** What the operator should know: the file cannot be used and the grants stay as they are, or it is good again. */
  tell(text: string): void
}

export interface FollowedTokens {
  /** Reads the file now, changed or not. */
  again(): void
  stop(): void
}

/** How often a file that keeps changing is looked at before it is read all the same. */
const UNSETTLED_LOOKS = 2

/**
 * Polls the file a few times a second: that sees every way of replacing a file. It is read when two looks agree, because
 * an editor may be in the middle of writing it.
 */
export function followTokens(file: string, exposure: Exposure, listener: TokenListener): FollowedTokens {
  let read = lookOf(file)
  let last = read
  let unsettled = 0
  let told: string | undefined
  // A pipe (`--token-file <(…)`) can be read once.
  const follows = read.startsWith(REGULAR)
  const again = () => {
    read = lookOf(file)
    unsettled = 0
    try {
      // A named pipe would hold the whole process until something writes to it.
      if (!read.startsWith(MISSING) && !read.startsWith(REGULAR))
        throw new InvalidInput(`--token-file: ${file} is not a regular file.`)
      const grants = readTokens(file, exposure)
      listener.changed(grants)
      if (told !== undefined) listener.tell(`--token-file: ${file} is good again.`)
      told = undefined
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      // The same fault is reported once, until the file is good again.
      if (told !== text) listener.tell(`${text} The last good tokens stay valid until the file is repaired.`)
      told = text
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
