// token-grants.ts: the file with the tokens of `serve --http`: read strictly at the start, and followed while it runs. When the
// file becomes unusable the last good grants stay, and the fault is reported.
import { InvalidInput } from '@plugboard/core/errors'
import { type AccessGrant, type Exposure, readExposure } from '@plugboard/gateway'
import { narrowed } from '@plugboard/gateway/parts'
import { readTokenFile } from './token-file.ts'
import { type FollowedFile, followFile } from './watch-file.ts'

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

export function followTokens(file: string, exposure: Exposure, listener: TokenListener): FollowedFile {
  return followFile(file, {
    title: `--token-file: ${file}`,
    kept: 'The last good tokens stay valid',
    read: () => listener.changed(readTokens(file, exposure)),
    tell: (text) => listener.tell(text),
  })
}
