// index/regex.ts: parses a regular expression of Rust's syntax far enough to know which text every match must contain.
// It rejects nothing: what it does not understand makes the result "any file", and ripgrep reports what is wrong.
import { allOf, oneOf, type TrigramQuery } from './query.ts'
import { type Char, charOf, charsOf, runQuery } from './trigram-run.ts'

const ANY: TrigramQuery = { kind: 'any' }

/** Exactly these characters, or something that needs `query`. */
type Meaning = { readonly exact: readonly Char[] } | { readonly query: TrigramQuery }

/** One code, or a named set that goes on past ASCII. */
type Member = number | { readonly codes: readonly number[] }

class Unsure extends Error {}

export function regexQuery(
  pattern: string,
  caseSensitive: boolean,
): { query: TrigramQuery; ignoresCase: boolean } {
  const reader = new Reader(pattern, caseSensitive)
  try {
    const meaning = reader.alternation(0)
    if (!reader.atEnd) throw new Unsure()
    return { query: reader.queryOf(meaning), ignoresCase: reader.ignoresCase }
  } catch (error) {
    if (!(error instanceof Unsure)) throw error
    return { query: ANY, ignoresCase: true }
  }
}

const MAX_DEPTH = 50
const BREAK: Meaning = { query: ANY }
/** Takes no character: a place between two, or nothing at all. */
const NOTHING: Meaning = { exact: [] }
/** A repeated part is written out this far. */
const RUN_MAX = 64

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)
const DIGITS = range(0x30, 0x39)
const WORD = [...DIGITS, ...range(0x41, 0x5a), ...range(0x61, 0x7a), 0x5f]

class Reader {
  readonly #chars: readonly string[]
  #at = 0
  #caseSensitive: boolean

  constructor(pattern: string, caseSensitive: boolean) {
    this.#chars = [...pattern]
    this.#caseSensitive = caseSensitive
    // A flag set anywhere is taken to hold everywhere, which can only widen the answer.
    if (/\(\?[a-zA-Z]*i/.test(pattern)) this.#caseSensitive = false
  }

  get ignoresCase(): boolean {
    return !this.#caseSensitive
  }

  get atEnd(): boolean {
    return this.#at >= this.#chars.length
  }

  queryOf(meaning: Meaning): TrigramQuery {
    return 'exact' in meaning ? runQuery(meaning.exact) : meaning.query
  }

  alternation(depth: number): Meaning {
    if (depth > MAX_DEPTH) throw new Unsure()
    const choices = [this.#concatenation(depth)]
    while (this.#take('|')) choices.push(this.#concatenation(depth))
    const only = choices[0]
    if (choices.length === 1 && only) return only
    return { query: oneOf(choices.map((choice) => this.queryOf(choice))) }
  }

  #concatenation(depth: number): Meaning {
    const parts: TrigramQuery[] = []
    let run: Char[] = []
    let isExact = true
    const flush = (next: readonly Char[]) => {
      parts.push(runQuery(run))
      run = [...next]
      isExact = false
    }
    while (!this.atEnd && !this.#sees('|') && !this.#sees(')')) {
      const atom = this.#atom(depth)
      const { min, max } = this.#repetition()
      if (!('exact' in atom)) {
        flush([])
        if (min >= 1) parts.push(atom.query)
        continue
      }
      const times = Math.min(min, Math.max(1, Math.floor(RUN_MAX / Math.max(1, atom.exact.length))))
      const least = Array.from({ length: times }, () => atom.exact).flat()
      run.push(...least)
      // What follows a repetition follows its last rounds, whatever their number.
      if (times !== max) flush(least)
    }
    if (isExact) return { exact: run }
    flush([])
    return { query: allOf(parts) }
  }

  /** Every quantifier that follows an atom, one upon the other; a `?` after one only makes it lazy. */
  #repetition(): { min: number; max: number } {
    let min = 1
    let max = 1
    for (;;) {
      if (this.#take('*')) [min, max] = [0, Number.POSITIVE_INFINITY]
      else if (this.#take('+')) max = Number.POSITIVE_INFINITY
      else if (this.#take('?')) min = 0
      else if (this.#sees('{')) {
        const counted = this.#counted()
        min *= counted.min
        // Nothing at all, any number of times, is still nothing.
        max = max === 0 || counted.max === 0 ? 0 : max * counted.max
      } else return { min, max }
      this.#take('?')
    }
  }

  #counted(): { min: number; max: number } {
    const rest = this.#chars.slice(this.#at, this.#at + 24).join('')
    const found = /^\{\s*(\d*)\s*(,\s*(\d*)\s*)?\}/.exec(rest)
    if (!found) throw new Unsure()
    this.#at += found[0].length
    const min = Number(found[1] || 0)
    return { min, max: found[2] === undefined ? min : found[3] ? Number(found[3]) : Number.POSITIVE_INFINITY }
  }

  #atom(depth: number): Meaning {
    const char = this.#next()
    switch (char) {
      case '.':
        return BREAK
      case '^':
      case '$':
        return NOTHING
      case '[':
        return this.#class()
      case '(':
        return this.#group(depth)
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
      case '{':
        throw new Unsure()
      case '\n':
        return BREAK
      default:
        return this.#literal(char)
    }
  }

  #literal(text: string): Meaning {
    const exact = charsOf(text, this.#caseSensitive)
    return exact ? { exact } : BREAK
  }

  #group(depth: number): Meaning {
    if (this.#take('?')) {
      if (this.#take('P')) {
        if (!this.#take('<')) throw new Unsure()
        this.#skipPast('>')
      } else if (this.#take('<')) this.#skipPast('>')
      else {
        let flags = ''
        while (!this.#sees(':') && !this.#sees(')')) flags += this.#next()
        // `x` changes how the pattern itself is read; `u` and `R` what a character or a line is.
        if (!/^[ismU-]*$/.test(flags)) throw new Unsure()
        if (this.#take(')')) return NOTHING
        this.#next()
      }
    }
    const inside = this.alternation(depth + 1)
    if (!this.#take(')')) throw new Unsure()
    return inside
  }

  /** A class of plain members; one with others nested in it, or with set operations, is only skipped. */
  #class(): Meaning {
    const start = this.#at
    const codes = new Set<number>()
    const isNegated = this.#take('^')
    let wide = isNegated
    for (let first = true; first || !this.#sees(']'); first = false) {
      const from = this.#member()
      if (from === undefined) return this.#skippedClass(start)
      const to = this.#sees('-') && this.#chars[this.#at + 1] !== ']' ? this.#rangeEnd(from) : from
      if (to === undefined) return this.#skippedClass(start)
      for (const code of typeof from !== 'number'
        ? from.codes
        : typeof to === 'number'
          ? range(from, to)
          : [])
        codes.add(code)
      wide ||= typeof from !== 'number'
    }
    this.#next()
    if (!isNegated) return { exact: [charOf(codes, wide)] }
    return {
      exact: [
        charOf(
          range(0, 127).filter((code) => !codes.has(code)),
          wide,
        ),
      ],
    }
  }

  /** `--` takes away from a class, and is no range. */
  #rangeEnd(from: Member): Member | undefined {
    this.#next()
    if (this.#sees('-')) return undefined
    const to = this.#member()
    return typeof from === 'number' && typeof to === 'number' && from <= to ? to : undefined
  }

  /** An ASCII code, or `\d` and `\w`, which also hold characters past ASCII. Anything else is not plain. */
  #member(): Member | undefined {
    let char = this.#next()
    if (char === '[' || ('&-~'.includes(char) && this.#sees(char))) return undefined
    if (char === '\\') {
      char = this.#next()
      if (char === 'd') return { codes: DIGITS }
      if (char === 'w') return { codes: WORD }
      if (char === 't') return 9
      if (/[A-Za-z0-9<>]/.test(char)) return undefined
    }
    const code = char.codePointAt(0) ?? 0
    return code < 128 ? code : undefined
  }

  #skippedClass(start: number): Meaning {
    this.#at = start
    let level = 1
    this.#take('^')
    // A bracket right at the start is a member, not the end.
    this.#take(']')
    while (level > 0) {
      const char = this.#next()
      if (char === '\\') this.#next()
      else if (char === '[') {
        level++
        this.#take('^')
        if (!this.#sees(':')) this.#take(']')
      } else if (char === ']') level--
    }
    return BREAK
  }

  #escape(): Meaning {
    const char = this.#next()
    if (!/[A-Za-z0-9<>]/.test(char)) return this.#literal(char)
    switch (char) {
      case 't':
        return this.#literal('\t')
      case 'd':
        return { exact: [charOf(DIGITS, true)] }
      case 'w':
        return { exact: [charOf(WORD, true)] }
      case 'D':
      case 's':
      case 'S':
      case 'W':
      case 'n':
      case 'r':
      case 'f':
      case 'v':
      case 'a':
        return BREAK
      case 'A':
      case 'z':
      case 'B':
      case '<':
      case '>':
        return NOTHING
      case 'b':
        if (this.#sees('{')) throw new Unsure()
        return NOTHING
      case 'p':
      case 'P':
        if (this.#take('{')) this.#skipPast('}')
        else this.#next()
        return BREAK
      default:
        throw new Unsure()
    }
  }

  #skipPast(end: string): void {
    while (this.#next() !== end);
  }

  #next(): string {
    const char = this.#chars[this.#at++]
    if (char === undefined) throw new Unsure()
    return char
  }

  #sees(char: string): boolean {
    return this.#chars[this.#at] === char
  }

  #take(char: string): boolean {
    if (!this.#sees(char)) return false
    this.#at++
    return true
  }
}
