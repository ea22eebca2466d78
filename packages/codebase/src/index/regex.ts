// index/regex.ts: reads a regular expression of Rust's syntax far enough to know which text every match must contain.
// It judges nothing: what it does not understand makes the answer "any file", and ripgrep says what is wrong with it.
import { allOf, literalQuery, oneOf, type TrigramQuery } from './query.ts'

const ANY: TrigramQuery = { kind: 'any' }

/** Exactly this text, or something that needs `query`. */
type Meaning = { readonly exact: string } | { readonly query: TrigramQuery }

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
    return 'exact' in meaning ? literalQuery(meaning.exact, this.#caseSensitive) : meaning.query
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
    let run = ''
    let isExact = true
    const flush = () => {
      if (run !== '') parts.push(literalQuery(run, this.#caseSensitive))
      run = ''
      isExact = false
    }
    while (!this.atEnd && !this.#sees('|') && !this.#sees(')')) {
      const atom = this.#atom(depth)
      const { min, once } = this.#repetition()
      if ('exact' in atom && once) run += atom.exact
      else if ('exact' in atom && min >= 1) {
        run += atom.exact.repeat(Math.min(min, 3))
        flush()
      } else {
        flush()
        if (min >= 1) parts.push(this.queryOf(atom))
      }
    }
    if (isExact) return { exact: run }
    flush()
    return { query: allOf(parts) }
  }

  /** Every quantifier that follows an atom, one upon the other; a `?` after one only makes it lazy. */
  #repetition(): { min: number; once: boolean } {
    let min = 1
    for (let once = true; ; once = false) {
      if (this.#take('*') || this.#take('?')) min = 0
      else if (this.#sees('{')) min *= this.#countedLeast()
      else if (!this.#take('+')) return { min, once }
      this.#take('?')
    }
  }

  #countedLeast(): number {
    const rest = this.#chars.slice(this.#at, this.#at + 24).join('')
    const found = /^\{\s*(\d*)\s*(?:,\s*\d*\s*)?\}/.exec(rest)
    if (!found) throw new Unsure()
    this.#at += found[0].length
    return Number(found[1] || 0)
  }

  #atom(depth: number): Meaning {
    const char = this.#next()
    switch (char) {
      case '.':
      case '^':
      case '$':
        return BREAK
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
        return { exact: char }
    }
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
        if (this.#take(')')) return { exact: '' }
        this.#next()
      }
    }
    const inside = this.alternation(depth + 1)
    if (!this.#take(')')) throw new Unsure()
    return inside
  }

  /** Skips a class with everything nested in it; which characters it holds does not matter here. */
  #class(): Meaning {
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
    if (!/[A-Za-z0-9<>]/.test(char)) return { exact: char }
    switch (char) {
      case 't':
        return { exact: '\t' }
      case 'd':
      case 'D':
      case 's':
      case 'S':
      case 'w':
      case 'W':
      case 'A':
      case 'z':
      case 'B':
      case 'n':
      case 'r':
      case 'f':
      case 'v':
      case 'a':
      case '<':
      case '>':
        return BREAK
      case 'b':
        if (this.#sees('{')) throw new Unsure()
        return BREAK
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
