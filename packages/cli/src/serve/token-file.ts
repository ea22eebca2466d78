// token-file.ts: the file of tokens for HTTP clients: one a line, at least 16 characters, `#` starts a comment.
import { readFileSync } from 'node:fs'
import { InvalidInput } from '@plugboard/core/errors'

export interface TokenLine {
  readonly token: string
  /** What follows the token on its line. */
  readonly rest: readonly string[]
}

/** What a header can carry. */
const SENDABLE = /^[\x21-\x7e]{1,1024}$/

export function readTokenFile(file: string): TokenLine[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new InvalidInput(`--token-file: ${file} cannot be read${code ? ` (${code})` : ''}.`, {
      hint: 'Check that the file is there and that you may read it.',
      cause: error,
    })
  }
  const lines = text
    .split('\n')
    .map((line) => line.replace(/(?:^|\s)#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [token = '', ...rest] = line.split(/\s+/)
      return { token, rest }
    })
  if (lines.some(({ token }) => !SENDABLE.test(token)))
    throw new InvalidInput(`--token-file: ${file} has a token that no client can send.`, {
      hint: 'Write tokens of printable ASCII characters, at most 1024 each.',
    })
  const short = lines.find(({ token }) => token.length < 16)
  if (lines.length === 0 || short)
    throw new InvalidInput(`--token-file: ${file} ${short ? 'has a token that is too short' : 'is empty'}.`, {
      hint: 'Write one token of at least 16 characters per line.',
    })
  if (new Set(lines.map(({ token }) => token)).size < lines.length)
    throw new InvalidInput(`--token-file: ${file} has the same token twice.`, {
      hint: 'Write all patterns of one client on one line, after its token.',
    })
  return lines
}
