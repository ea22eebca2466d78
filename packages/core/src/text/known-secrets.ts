// known-secrets.ts: the secrets used with one server, and redaction of texts. Anything a server echoes (a token in an
// error, a header in its log) is replaced before it is stored or reported. Callers decide which values are secrets.

const HIDDEN = '[redacted]'
/** Shorter values occur in ordinary texts by chance, and replacing them would make those unreadable. */
const SHORTEST = 8
const LONGEST = 16_384
const MOST = 200

export class KnownSecrets {
  /** Every spelling of every secret. */
  readonly #forms = new Set<string>()
  readonly #known = new Set<string>()
  #pattern: RegExp | undefined

  /** A token, a password, the value of a header (`Bearer …`, `Basic …`). */
  learn(value: string | undefined): void {
    if (value === undefined || this.#known.has(value) || value.length < SHORTEST) return
    if (this.#known.size >= MOST) this.#forgetOldest()
    this.#known.add(value)
    for (const part of partsOf(value)) for (const form of secretForms(part)) this.#forms.add(form)
    this.#pattern = undefined
  }

  get isEmpty(): boolean {
    return this.#forms.size === 0
  }

  readonly hide = (text: string): string => {
    if (this.#forms.size === 0 || text.length < SHORTEST) return text
    this.#pattern ??= patternOf(this.#forms)
    return this.#withoutCutEnd(text.replace(this.#pattern, HIDDEN))
  }

  /** A text that was cut may end with the beginning of a secret. */
  #withoutCutEnd(text: string): string {
    if (!text.endsWith('…')) return text
    const body = text.slice(0, -1)
    for (const form of this.#forms)
      for (let length = Math.min(form.length - 1, body.length); length >= SHORTEST; length--)
        if (body.endsWith(form.slice(0, length))) return `${body.slice(0, -length)}${HIDDEN}…`
    return text
  }

  #forgetOldest(): void {
    for (const oldest of this.#known) {
      this.#known.delete(oldest)
      break
    }
    this.#forms.clear()
    for (const value of this.#known)
      for (const part of partsOf(value)) for (const form of secretForms(part)) this.#forms.add(form)
  }
}

/** Redacts what a caller, a log or a stack would show of an error: its text, its hint, and those of its causes. */
export function hideInError(error: Error, hide: (text: string) => string): void {
  let at: unknown = error
  for (let depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    for (const field of ['message', 'stack', 'hint'] as const) {
      const text: unknown = Reflect.get(at, field)
      if (typeof text !== 'string') continue
      const clean = hide(text)
      if (clean !== text)
        Object.defineProperty(at, field, {
          value: clean,
          writable: true,
          configurable: true,
          enumerable: field === 'hint',
        })
    }
}

/** The forms of a secret in a text: itself, and its URL, JSON, base64 and hex encodings. */
export function secretForms(secret: string): readonly string[] {
  if (secret.length < SHORTEST || secret.length > LONGEST) return []
  const url = safely(() => encodeURIComponent(secret))
  const form = url.replaceAll('%20', '+')
  const bytes = Buffer.from(secret)
  const forms = [
    secret,
    url,
    form,
    url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset)),
  ]
  return [...new Set(forms)].filter((text) => text.length >= SHORTEST)
}

/** In base64 a text looks different at each of three offsets; the characters shared with its neighbours are left out. */
function base64At(bytes: Buffer, offset: number): string[] {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor(((offset + bytes.length) * 8) / 6)
  const part = text.slice(start, end)
  return [part, part.replaceAll('+', '-').replaceAll('/', '_')]
}

/** The value itself, what follows its scheme, the password of a pair, and the lines of a key. */
function partsOf(value: string): readonly string[] {
  const parts = [value]
  const [, scheme = '', rest = ''] = /^(\w[\w-]{1,20})\s+(\S.*)$/s.exec(value) ?? []
  if (rest !== '' && /^(bearer|basic|token|dpop|apikey|negotiate)$/i.test(scheme)) {
    parts.push(rest)
    if (/^basic$/i.test(scheme)) parts.push(...pairParts(Buffer.from(rest, 'base64').toString('utf8')))
  }
  if (value.includes('\n'))
    parts.push(...value.split(/\r?\n/).filter((line) => line.length >= 16 && !line.startsWith('-----')))
  return parts
}

function pairParts(pair: string): readonly string[] {
  const at = pair.indexOf(':')
  return at < 0 ? [] : [pair, pair.slice(at + 1)]
}

function safely(work: () => string): string {
  try {
    return work()
  } catch {
    // A lone surrogate cannot be encoded in a URL.
    return ''
  }
}

/** The longest first, so that no part of one remains. */
function patternOf(forms: ReadonlySet<string>): RegExp {
  const texts = [...forms].sort((a, b) => b.length - a.length)
  return new RegExp(texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
}
