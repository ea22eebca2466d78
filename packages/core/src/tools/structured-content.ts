// structured-content.ts: which part of `structuredContent` a model still needs after the text of the same result.
// The rule, once for every tool:
//
// 1. Text that is the same JSON, or the JSON (or the text) of its only member, contains all of it.
// 2. Otherwise every value is searched for in the text. Booleans, null, empty strings, one-digit numbers and counts
//    of a list that is there are no evidence either way, unless a JSON text gives the same member another value. All
//    other values must appear in the text as separate words, and at least one of them must be longer than two
//    characters.
// 3. What the text contains in full is not shown again. If anything is missing, the structured content follows as
//    JSON, without its long members that the text contains.
import { canonicalJson, isObject, put } from '../json.ts'

/** Past these limits the comparison would take longer than reading twice. */
const COMPARED_CHARS = 1_000_000
const SCANNED_CHARS = 100_000_000
/** A member that is shorter than this as JSON is repeated rather than removed from its context. */
const LONG_MEMBER_CHARS = 200
const WEAK_CHARS = 2

/** The part that the text lacks; undefined when it lacks nothing. */
export function unsaidPart(structured: unknown, texts: readonly string[]): unknown {
  const length = texts.reduce((sum, part) => sum + part.length, 0)
  if (length === 0 || length > COMPARED_CHARS) return structured
  try {
    return compare(structured, texts)
  } catch (error) {
    // Nested deeper than the stack: then the model sees both.
    if (error instanceof RangeError) return structured
    throw error
  }
}

function compare(structured: unknown, texts: readonly string[]): unknown {
  const parsed = [...texts, ...(texts.length > 1 ? [texts.join('')] : [])].flatMap(parseJson)
  if (isSame(structured, parsed, texts)) return undefined
  const shown = new ShownText(texts, parsed)
  const lengths = new Set<number>()
  collectLengths(structured, lengths)
  const verdict = new Search(shown, lengths)
  if (
    verdict.says(structured) &&
    verdict.substantial &&
    !parsed.some((json) => isObject(json) && contradicts(structured, json))
  )
    return undefined
  return isObject(structured) ? withoutLongMembers(structured, shown, lengths, parsed) : structured
}

/**
 * The same JSON; or that of a lone member, such as `{"result": …}`, which SDKs wrap around values that are not
 * objects.
 */
function isSame(structured: unknown, parsed: readonly unknown[], texts: readonly string[]): boolean {
  const members = isObject(structured) ? Object.values(structured) : []
  const wanted = [structured, ...(members.length === 1 ? members : [])]
  const [only] = members
  if (members.length === 1 && typeof only === 'string' && texts.join('\n').trim() === only.trim()) return true
  const forms = new Set(wanted.filter((value) => typeof value !== 'string').map(canonicalJson))
  return parsed.some((json) => forms.has(canonicalJson(json)))
}

function withoutLongMembers(
  structured: Readonly<Record<string, unknown>>,
  shown: ShownText,
  lengths: ReadonlySet<number>,
  parsed: readonly unknown[],
): unknown {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(structured)) {
    const search = new Search(shown, lengths)
    const long = (JSON.stringify(value)?.length ?? 0) >= LONG_MEMBER_CHARS
    const contradicted = parsed.some((json) => isObject(json) && contradicts({ [key]: value }, json))
    if (!(long && search.says(value) && search.substantial && !contradicted)) put(kept, key, value)
  }
  return kept
}

/** The text, and the strings inside it where it is JSON: those may be escaped. */
class ShownText {
  readonly #whole: string
  #from = 0
  #scanned = 0

  constructor(texts: readonly string[], parsed: readonly unknown[]) {
    const inside: string[] = []
    for (const json of parsed) collectTexts(json, inside)
    this.#whole = [...texts, ...inside].join('\n')
  }

  /** Data mostly comes in the same order on both sides, so the search continues from the last match. */
  has(value: string): boolean {
    return this.#find(value, this.#from, this.#whole.length) || this.#find(value, 0, this.#from)
  }

  #find(value: string, from: number, to: number): boolean {
    for (let at = this.#whole.indexOf(value, from); ; at = this.#whole.indexOf(value, at + 1)) {
      const end = at < 0 ? to : at
      this.#scanned += Math.max(0, end - from)
      if (this.#scanned > SCANNED_CHARS) return false
      if (at < 0 || at >= to) return false
      if (isOwnWord(this.#whole, at, value)) {
        this.#from = at
        return true
      }
    }
  }
}

/** As a separate word: the 7 of `17 ms` is not the value 7. */
function isOwnWord(whole: string, at: number, value: string): boolean {
  const isWordChar = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}]/u.test(char)
  const joinedBefore = isWordChar(value[0]) && isWordChar(whole[at - 1])
  const joinedAfter = isWordChar(value.at(-1)) && isWordChar(whole[at + value.length])
  // `1.5` is not the value 1, nor `-7` the value 7.
  const number = /^\d+$/.test(value)
  const fraction = number && /^\.\d/.test(whole.slice(at + value.length, at + value.length + 2))
  const signed = number && /^(?:\d\.|.?-)$/.test(whole.slice(Math.max(0, at - 2), at))
  return !joinedBefore && !joinedAfter && !fraction && !signed
}

class Search {
  /** A value was found that is distinctive enough. */
  substantial = false
  readonly #shown: ShownText
  readonly #lengths: ReadonlySet<number>

  constructor(shown: ShownText, lengths: ReadonlySet<number>) {
    this.#shown = shown
    this.#lengths = lengths
  }

  /** True when every value that is evidence appears in the text. */
  says(value: unknown, key = ''): boolean {
    if (typeof value === 'string') return this.#saysText(value)
    if (typeof value === 'number') return this.#saysNumber(value, key)
    if (Array.isArray(value)) return value.every((item) => this.says(item, key))
    if (!isObject(value)) return true
    // A key that is not a field name is data too: a path, an address, a date.
    return Object.entries(value).every(
      ([name, item]) => (isFieldName(name) || this.#saysText(name)) && this.says(item, name),
    )
  }

  #saysText(value: string): boolean {
    const text = value.trim()
    if (text === '') return true
    if (!this.#shown.has(text) && !this.#saysLines(text)) return false
    if (text.length > WEAK_CHARS) this.substantial = true
    return true
  }

  /** Text of several lines may be indented or numbered where it is shown. */
  #saysLines(text: string): boolean {
    const lines = text.split('\n')
    return lines.length > 1 && lines.every((line) => line.trim() === '' || this.#shown.has(line.trim()))
  }

  #saysNumber(value: number, key: string): boolean {
    const isSmall = Number.isInteger(value) && Math.abs(value) < 10
    if ((isSmall || this.#lengths.has(value)) && !isIdentifier(key)) return true
    const forms = new Set([String(value), value.toLocaleString('en-US', { maximumFractionDigits: 20 })])
    if (![...forms].some((form) => this.#shown.has(form))) return false
    if (String(value).length > WEAK_CHARS) this.substantial = true
    return true
  }
}

function isFieldName(key: string): boolean {
  return /^[A-Za-z_$][\w$-]{0,63}$/.test(key)
}

/** A number under such a key identifies something, however small it is. */
function isIdentifier(key: string): boolean {
  return /(?:^|[_-])(?:id|number|no|key|code)s?$|(?:Id|ID|Number|Key|Code)s?$/.test(key)
}

/** Whether a JSON text has the same member with another value. */
function contradicts(structured: unknown, json: unknown): boolean {
  if (Array.isArray(structured) && Array.isArray(json))
    return structured.length !== json.length || structured.some((item, at) => contradicts(item, json[at]))
  if (isObject(structured) && isObject(json))
    return Object.keys(structured).some(
      (key) => Object.hasOwn(json, key) && contradicts(structured[key], json[key]),
    )
  const isLeaf = (value: unknown) => typeof value !== 'object' || value === null
  return isLeaf(structured) && isLeaf(json) && structured !== json
}

function collectLengths(value: unknown, lengths: Set<number>): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) lengths.add(value.length)
  for (const part of Object.values(value)) collectLengths(part, lengths)
}

function collectTexts(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value)
  else if (typeof value === 'object' && value !== null)
    for (const [key, part] of Object.entries(value)) {
      if (!Array.isArray(value) && !isFieldName(key)) texts.push(key)
      collectTexts(part, texts)
    }
}

/** As a list: JSON may well be `null`. */
function parseJson(part: string): readonly unknown[] {
  if (!/^\s*[[{"\d-]|^\s*(?:true|false|null)\s*$/.test(part)) return []
  try {
    return [JSON.parse(part)]
  } catch {
    // It only looked like JSON.
    return []
  }
}
