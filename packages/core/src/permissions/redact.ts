// redact.ts: makes arguments and texts safe for a log: secrets removed, long values shortened. When in doubt it hides.
import { put } from '../json.ts'
import { AUDIT_LIMITS } from '../limits.ts'

const HIDDEN = '[redacted]'
const SECRET_KEY =
  /pass(?:word|wd|phrase|code)?$|^pwd$|secret|token$|^token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|cookie|credential|^auth$|^bearer$|^pin$|^otp$|session[-_]?id|signature|^jwt$/i
/** Forms of secrets of well-known services, wherever they occur. */
const SECRET_TEXT = [
  /\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b(?:Bearer|Basic|token)\s+[A-Za-z0-9+/=._~-]{12,}/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
]
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/?#@]{0,128}):[^\s/?#@]{1,256}@/gi
const ASSIGNMENT =
  /\b((?:password|passwd|secret|token|api[-_]?key|access[-_]?token|client[-_]?secret)["']?\s{0,3}[=:]\s{0,3}["']?)[^\s"'&,;]{3,256}/gi

/** No pattern above matches fewer characters (`a://:b@`): most keys and many values need no check at all. */
const SHORTEST_SECRET = 7
/** Every pattern above needs one of these, so that most texts are read once and not ten times. */
const MARKS =
  /[:=]|[spr]k[-_]|gh[pousr]_|github_pat_|glpat-|xox|AKIA|ASIA|AIza|eyJ|(?:Bearer|Basic|token)\s|-----BEGIN/i

const DEPTH = 6
const ENTRIES = 40

export function redactText(text: string): string {
  if (text.length < SHORTEST_SECRET) return text
  let clean = text.slice(0, 4 * AUDIT_LIMITS.argumentChars)
  if (MARKS.test(clean)) {
    for (const shape of SECRET_TEXT) clean = clean.replace(shape, HIDDEN)
    clean = clean.replace(URL_PASSWORD, `$1:${HIDDEN}@`).replace(ASSIGNMENT, `$1${HIDDEN}`)
  }
  if (clean.length <= AUDIT_LIMITS.argumentChars) return clean
  return `${clean.slice(0, AUDIT_LIMITS.argumentChars)}… (${text.length} characters)`
}

const same = (text: string) => text

/** A copy of the value that may be logged; `hide` knows secrets without a recognisable form. */
export function redact(value: unknown, depth = 0, hide: (text: string) => string = same): unknown {
  // Before it is cut: half a secret is a secret too.
  if (typeof value === 'string') return redactText(hide(value))
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH) return '[deeper]'
  if (Array.isArray(value)) {
    const items = value.slice(0, ENTRIES).map((item) => redact(item, depth + 1, hide))
    return value.length > ENTRIES ? [...items, `[${value.length - ENTRIES} more]`] : items
  }
  const keys = Object.keys(value)
  const copy: Record<string, unknown> = {}
  for (const key of keys.length > ENTRIES ? keys.slice(0, ENTRIES) : keys) {
    const item = (value as Record<string, unknown>)[key]
    put(copy, redactText(hide(key)), isSecretKey(key) ? hidden(item) : redact(item, depth + 1, hide))
  }
  return keys.length > ENTRIES ? { ...copy, '…': `${keys.length - ENTRIES} more` } : copy
}

/** The same few keys come with every call. */
const judged = new Map<string, boolean>()
const JUDGED_KEYS = 1000

function isSecretKey(key: string): boolean {
  const known = judged.get(key)
  if (known !== undefined) return known
  const secret = SECRET_KEY.test(key)
  if (judged.size >= JUDGED_KEYS) judged.clear()
  if (key.length <= AUDIT_LIMITS.argumentChars) judged.set(key, secret)
  return secret
}

/** Empty and boolean values reveal nothing. */
function hidden(value: unknown): unknown {
  return value === '' || value === null || typeof value === 'boolean' ? value : HIDDEN
}
