// mask.ts: shows a configuration without its secrets. When in doubt it shows what is clearly not a secret: a masked
// PATH helps no user.

/** A name with one of these words holds a secret. Whole words: AUTHOR and KEYBOARD do not match. */
const SECRET_WORDS = new Set(
  'key keys apikey token tokens secret secrets password passwords passwd passphrase pass pwd auth authorization credential credentials cookie bearer private signature sig dsn pat jwt sid sessionid webhook'.split(
    ' ',
  ),
)
const SECRET_ENDINGS =
  /(token|secret|password|passwd|pwd|apikey|accesskey|secretkey|privatekey|credentials|connectionstring)$/
/** A last word that means: about a secret, without holding one. */
const PLAIN_ENDINGS = new Set(
  'url uri host port path dir file enabled type method sock name id server expiry ttl'.split(' '),
)

/** Values with a recognisable form, wherever they occur. */
const VENDOR_TOKENS =
  /\b(?:sk-[\w-]{8,}|[spr]k_(?:live|test)_\w{8,}|gh[pousr]_\w{10,}|github_pat_\w{10,}|glpat-[\w-]{8,}|xox[abeprs]-[\w-]{8,}|npm_[A-Za-z0-9]{10,}|pypi-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{8,}|hf_[A-Za-z0-9]{10,}|shpat_\w{8,}|dop_v1_\w{8,}|lin_api_\w{8,}|ntn_\w{8,}|figd_[\w-]{8,}|whsec_\w{8,}|eyJ\w[\w-]{4,511}\.[\w-]+(?:\.[\w-]*)?)/g
const PRIVATE_BLOCK = /-----BEGIN[\s\S]*/
const SCHEME_AT_START = /^((?:Bearer|Basic|Token)\s+)(\S+)$/i
const BEARER_INSIDE = /\b(Bearer\s+)([\w.~+/=-]{8,})/gi
const USERINFO = /\b([a-z][a-z0-9+.-]{0,31}:\/\/)([^/\s@?#]+)@/gi
const QUERY = /([?&;])([^=&;\s?#]{1,64})=([^&\s#"']*)/g
/** `--token=x`, `TOKEN=x`, `Authorization: Bearer x`. */
const ASSIGNED = /(^|[\s"'])(-{0,2}[A-Za-z_][\w.-]*)(=["']?|:\s*)((?:(?:Bearer|Basic|Token)\s+)?[^\s"']+)/g
/** `--token x`. */
const FLAGGED = /(^|\s)(--?[A-Za-z][\w-]*)(\s+["']?)([^\s"'-][^\s"']*)/g
/** Variables by name; one with a default may carry the secret in it. */
const REFERENCES = /^(?:(?:Bearer|Basic|Token)\s+)?(?:[:@]?\$(?:\{(?:env:|input:)?\w+\}|\w+))+$/

const MAX_SHOWN = 4096

export function isSecret(name: string, value: string): boolean {
  if (value === '') return false
  return hasSecretName(name) || SCHEME_AT_START.test(value) || maskText(value) !== value
}

function hasSecretName(name: string): boolean {
  const words = (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase())
  if (words.includes('webhook')) return true
  if (words.includes('public') || PLAIN_ENDINGS.has(words.at(-1) ?? '')) return false
  return words.some((word) => SECRET_WORDS.has(word)) || SECRET_ENDINGS.test(words.join(''))
}

/** A few characters to recognise it by, and its length. A reference to a variable is not a secret and stays. */
export function maskValue(name: string, value: string): string {
  if (value === '' || REFERENCES.test(value)) return value
  const [, scheme = '', rest = value] = SCHEME_AT_START.exec(value) ?? []
  return scheme || hasSecretName(name) ? `${scheme}${masked(rest)}` : maskText(value)
}

function masked(secret: string): string {
  return `${hint(secret)} (${secret.length} characters)`
}

function hint(secret: string): string {
  return `${secret.length >= 16 ? secret.slice(0, 4) : ''}•••`
}

/** Secrets inside a longer text, recognised by their form. The rest of a very long text is not scanned. */
function maskText(given: string): string {
  const text = given.length > MAX_SHOWN ? `${given.slice(0, MAX_SHOWN)}… (${given.length} characters)` : given
  return text
    .replace(PRIVATE_BLOCK, '•••')
    .replace(USERINFO, (whole, scheme: string, user: string) =>
      REFERENCES.test(user) ? whole : `${scheme}•••@`,
    )
    .replace(QUERY, (_, mark: string, key: string, value: string) => mark + maskPairs(`${key}=${value}`))
    .replace(BEARER_INSIDE, (_, scheme: string, token: string) => scheme + hint(token))
    .replace(VENDOR_TOKENS, hint)
}

/** `a=1;token=x`: some servers separate by `;`, and a secret may hold one, so the rest goes with it. */
function maskPairs(pairs: string): string {
  const parts = pairs.split(';')
  const at = parts.findIndex((part) => /^[^=]+=./.test(part) && hasSecretName(part.split('=', 1)[0] ?? ''))
  const secret = parts.slice(at).join(';')
  const value = secret.slice(secret.indexOf('=') + 1)
  if (at === -1 || REFERENCES.test(value)) return pairs
  return [...parts.slice(0, at), `${secret.slice(0, secret.indexOf('='))}=•••`].join(';')
}

/** Shell syntax is a command, not a secret, and masking it would hide what runs. */
const SHELL_ACTS = /\$\(|[`;|&<>]/

/** The first characters and the length of a value that came from the environment. */
export function abbreviated(value: string): string {
  const shown = value.length >= 16 ? 4 : value.length >= 8 ? 2 : 0
  return value === '' ? '' : `${value.slice(0, shown)}••• (${value.length} characters)`
}

/** A command line, or one word of it: also masks what is assigned to a secret-like name. */
function maskLine(given: string): string {
  const line =
    given.length > MAX_SHOWN ? `${given.slice(0, MAX_SHOWN - 32)}… (${given.length} characters)` : given
  const assigned = line.replace(ASSIGNED, (whole, lead: string, name: string, sign: string, value: string) =>
    hasSecretName(name) && !SHELL_ACTS.test(value) ? `${lead}${name}${sign}${maskValue(name, value)}` : whole,
  )
  const flagged = assigned.replace(
    FLAGGED,
    (whole, lead: string, flag: string, gap: string, value: string) =>
      hasSecretName(flag) && !SHELL_ACTS.test(value)
        ? `${lead}${flag}${gap}${maskValue(flag, value)}`
        : whole,
  )
  return maskText(flagged)
}

/** The entry as written, with secret values masked; accepts any shape, because the entry may be invalid. */
export function maskEntry(written: unknown): unknown {
  return maskNode('', written)
}

function maskNode(name: string, node: unknown): unknown {
  if (Array.isArray(node))
    return name === 'args'
      ? maskArgs(node)
      : node.map((item) => maskNode(hasSecretName(name) ? name : '', item))
  if (typeof node === 'object' && node !== null)
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, maskNode(key, value)]))
  if (typeof node === 'number' && hasSecretName(name)) return maskValue(name, String(node))
  if (typeof node !== 'string') return node
  return name === 'command' || name === 'headersHelper' ? maskLine(node) : maskValue(name, node)
}

/** `--api-key abc`, `--token=abc`, `-e TOKEN=abc`, `--header "Authorization: Bearer abc"`. */
function maskArgs(args: readonly unknown[]): unknown[] {
  return args.map((arg, index) => {
    if (typeof arg !== 'string') return maskNode('', arg)
    const before = String(args[index - 1] ?? '')
    const flag = /^--?[A-Za-z][\w-]*$/.test(before) && !arg.startsWith('-')
    return flag && hasSecretName(before) && !SHELL_ACTS.test(arg) ? maskValue(before, arg) : maskLine(arg)
  })
}

export function maskUrl(url: string): string {
  return maskText(url)
}
