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
    throw new InvalidInput(`${place}: ${error.message}`, { hint: error.hint, cause: error })
  }
}

export interface TokenListener {
  changed(grants: readonly AccessGrant[]): void
  /** The file cannot be used; the grants stay as they are. */
  failed(text: string): void
}

export interface FollowedTokens {
  /** Reads the file now, changed or not. */
  again(): void
  stop(): void
}

/** Polls the file a few times a second: that sees every way of replacing a file. */
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
      // The same fault is reported once, until the file is good again.
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
