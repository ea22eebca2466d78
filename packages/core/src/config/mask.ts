// mask.ts: shows a configuration to a person without showing what would let somebody else in.
// Errs on the side of showing what is plainly not a secret: a masked PATH helps nobody.

const SECRET_NAME =
  /(key|token|secret|passw|passphrase|pwd|auth|credential|cookie|bearer|private|signature|dsn)/i
/** Names that contain one of those words and hold no secret. */
const PLAIN_NAME = /^(SSH_AUTH_SOCK|KEYBOARD.*|.*_(URL|HOST|PORT|PATH|DIR|FILE|ENABLED|TYPE|METHOD))$/i
/** Values that say themselves what they are: vendor prefixes, JWTs, PEM blocks, credentials in a URL. */
const SECRET_VALUE =
  /^(sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|npm|pypi|AKIA|ASIA|AIza|ya29|hf|shpat|dop_v1)[-_A-Za-z0-9]|^eyJ[\w-]+\.|-----BEGIN|:\/\/[^/\s:@]+:[^/\s@]+@|^(Bearer|Basic|Token)\s+\S/

export function isSecret(name: string, value: string): boolean {
  if (value === '') return false
  if (SECRET_VALUE.test(value)) return true
  return SECRET_NAME.test(name) && !PLAIN_NAME.test(name)
}

/** A few characters to recognise it by, and its length. A reference to a variable is no secret and stays. */
export function maskValue(name: string, value: string): string {
  if (!isSecret(name, value)) return value
  if (/^(Bearer |Basic |Token )?\$\{[^}]+\}$/.test(value)) return value
  const [, scheme = '', rest = value] = /^((?:Bearer|Basic|Token)\s+)?(.*)$/s.exec(value) ?? []
  const shown = rest.length >= 16 ? rest.slice(0, 4) : ''
  return `${scheme}${shown}••• (${rest.length} characters)`
}

/** The entry as written, with the values of secrets masked. */
export function maskEntry(written: unknown): unknown {
  if (typeof written !== 'object' || written === null) return written
  const copy: Record<string, unknown> = { ...written }
  for (const field of ['env', 'headers']) {
    const map = copy[field]
    if (typeof map === 'object' && map !== null && !Array.isArray(map))
      copy[field] = Object.fromEntries(
        Object.entries(map).map(([key, value]) => [key, maskValue(key, String(value))]),
      )
  }
  if (typeof copy['url'] === 'string') copy['url'] = maskUrl(copy['url'])
  if (Array.isArray(copy['args'])) copy['args'] = maskArgs(copy['args'].map(String))
  return copy
}

/** `--api-key abc`, `--token=abc` and values that look like secrets by themselves. */
function maskArgs(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const assigned = /^(--?[\w-]+)=(.+)$/s.exec(arg)
    if (assigned) return `${assigned[1]}=${maskValue(assigned[1] ?? '', assigned[2] ?? '')}`
    const before = args[index - 1] ?? ''
    const flag = /^--?[A-Za-z]/.test(before) && !before.includes('=') && !arg.startsWith('-')
    return maskValue(flag ? before : '', arg)
  })
}

export function maskUrl(url: string): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  if (![...parsed.searchParams].some(([key, value]) => isSecret(key, value))) return url
  const query = [...parsed.searchParams].map(
    ([key, value]) => `${key}=${isSecret(key, value) ? '•••' : value}`,
  )
  parsed.search = ''
  return `${parsed.href}?${query.join('&')}`
}
