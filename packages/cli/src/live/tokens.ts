// tokens.ts: the file with the tokens of `serve --http`: read strictly at the start, and followed while it runs. A file that
// cannot be used any more changes nothing: the last good one stays, and the fault is told.
import { readFileSync, statSync } from 'node:fs'
import { InvalidInput } from '@plugboard/core/errors'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Exposure, type Grant, narrowed, readExposure } from '@plugboard/gateway'

/** One token a line; what follows it on the line narrows what that client is shown. `#` starts a comment. */
export function readTokens(file: string, exposure: Exposure): Grant[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidInput(`--token-file: ${file} cannot be read.`, {
      hint: 'Check that the file is there and that you may read it.',
      cause: error,
    })
  }
  const grants = text
    .split('\n')
    .map((line) => line.replace(/(?:^|\s)#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [token = '', ...patterns] = line.split(/\s+/)
      return { token, patterns, exposure: narrowed(exposure, exposureOf(patterns, `--token-file: ${file}`)) }
    })
  const short = grants.find(({ token }) => token.length < 16)
  if (grants.length === 0 || short)
    throw new InvalidInput(`--token-file: ${file} ${short ? 'has a token that is too short' : 'is empty'}.`, {
      hint: 'Write one token of at least 16 characters a line.',
    })
  if (new Set(grants.map(({ token }) => token)).size < grants.length)
    throw new InvalidInput(`--token-file: ${file} has the same token twice.`, {
      hint: 'Write what one client is shown on one line, after its token.',
    })
  return grants
}

/** What cannot be a pattern is an error of the place it was written in. */
export function exposureOf(patterns: readonly string[], place: string): Exposure {
  try {
    return readExposure(patterns)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(`${place}: ${error.message}`, { hint: error.hint, cause: error })
  }
}

export interface TokenListener {
  changed(grants: readonly Grant[]): void
  /** The file cannot be used; the grants stay as they are. */
  failed(text: string): void
}

export interface FollowedTokens {
  /** Reads the file now, changed or not. */
  again(): void
  stop(): void
}

/** Looks at the file a few times a second: that sees every way in which a file can be replaced. */
export function followTokens(file: string, exposure: Exposure, listener: TokenListener): FollowedTokens {
  let seen = lookOf(file)
  let told: string | undefined
  const again = () => {
    seen = lookOf(file)
    try {
      const grants = readTokens(file, exposure)
      told = undefined
      listener.changed(grants)
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      // The same fault is told once, until the file is good again.
      if (told !== error.message)
        listener.failed(`${error.message} The tokens that were read last stay valid until it is mended.`)
      told = error.message
    }
  }
  const timer = setInterval(() => {
    if (lookOf(file) !== seen) again()
  }, GATEWAY_LIMITS.tokenFilePollMs)
  timer.unref()
  return { again, stop: () => clearInterval(timer) }
}

function lookOf(file: string): string {
  const info = statSync(file, { throwIfNoEntry: false, bigint: true })
  return info ? `${info.dev} ${info.ino} ${info.size} ${info.mtimeNs}` : ''
}
