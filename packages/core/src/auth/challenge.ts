// challenge.ts: parses a WWW-Authenticate header. The header is untrusted: bounded, and never believed.

export interface Challenge {
  readonly scheme: string
  readonly params: ReadonlyMap<string, string>
}

const MAX_HEADER = 16 * 1024
const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
const QUOTED = /"((?:[^"\\]|\\.)*)"/y

/** Every challenge of the header, in order; parsing stops at the first that is malformed. */
export function parseChallenges(header: string | null): readonly Challenge[] {
  if (!header || header.length > MAX_HEADER) return []
  const found: { scheme: string; params: Map<string, string> }[] = []
  let at = 0
  const skip = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const match = pattern.exec(header)
    if (!match) return undefined
    at += match[0].length
    return match[1] ?? match[0]
  }
  for (let guard = 0; guard < 256 && at < header.length; guard++) {
    skip(/[\s,]*/y)
    const word = skip(TOKEN)
    if (word === undefined) break
    if (skip(/\s*=\s*(?=[^=\s,]|")/y) === undefined) {
      found.push({ scheme: word.toLowerCase(), params: new Map() })
      // A token68 after a scheme (`Negotiate abc==`) is ignored.
      skip(/ +[A-Za-z0-9\-._~+/]+=*(?=\s*(?:,|$))/y)
      continue
    }
    const value = skip(QUOTED)?.replace(/\\(.)/g, '$1') ?? skip(/[^\s,]+/y) ?? ''
    found.at(-1)?.params.set(word.toLowerCase(), value)
  }
  return found
}

export interface AuthChallenge {
  readonly dpop: boolean
  readonly resourceMetadata?: string
  readonly scope?: string
  readonly error?: string
}

/** What an MCP server requires, by its Bearer or DPoP challenge. */
export function authChallenge(header: string | null | undefined): AuthChallenge {
  const all = parseChallenges(header ?? null)
  const ours = all.filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  const first = (name: string) => ours.map(({ params }) => params.get(name)).find(Boolean)
  const resourceMetadata = first('resource_metadata')
  const scope = first('scope')
  const error = first('error')
  return {
    dpop: ours.length > 0 && ours.every(({ scheme }) => scheme === 'dpop'),
    ...(resourceMetadata && { resourceMetadata }),
    ...(scope && { scope }),
    ...(error && { error }),
  }
}
