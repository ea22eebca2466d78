// pattern.ts: runs untrusted regular expressions so that none can block the process. A pattern whose worst case is
// provably small runs directly; any other runs under a watchdog that stops it.
import { createContext, Script } from 'node:vm'
import { SCHEMA_LIMITS } from '../limits.ts'

export type Match = 'yes' | 'no' | 'too-slow'

export interface Pattern {
  readonly source: string
  test(text: string): Match
}

export type CompiledPattern =
  | { readonly ok: true; readonly pattern: Pattern }
  | { readonly ok: false; readonly reason: string }

export function compilePattern(source: string): CompiledPattern {
  if (source.length > SCHEMA_LIMITS.patternChars)
    return { ok: false, reason: `the pattern is ${source.length} characters long` }
  const regex = parse(source)
  if (!regex) return { ok: false, reason: 'the pattern is not a regular expression' }
  const cost = worstCase(source)
  let watched: ((text: string) => Match) | undefined
  return {
    ok: true,
    pattern: {
      source,
      test(text) {
        if (cost.factor * (text.length + 1) ** cost.power <= SCHEMA_LIMITS.patternSteps)
          return regex.test(text) ? 'yes' : 'no'
        watched ??= underWatchdog(regex)
        return watched(text)
      },
    },
  }
}

/** Both drafts mean Unicode patterns; many servers write ones that only the older syntax accepts. */
function parse(source: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags)
    } catch {
      // Not valid with these flags; the next ones may accept it.
    }
  }
  return undefined
}

function underWatchdog(regex: RegExp): (text: string) => Match {
  const context = createContext(Object.assign(Object.create(null), { regex, text: '' }))
  const script = new Script('regex.test(text)')
  return (text) => {
    context.text = text
    try {
      return script.runInContext(context, { timeout: SCHEMA_LIMITS.patternMs }) ? 'yes' : 'no'
    } catch {
      // Only the watchdog throws here: `test` itself does not.
      return 'too-slow'
    } finally {
      context.text = ''
    }
  }
}

/** At most `factor × length ^ power` steps, or `factor: Infinity` when no bound is known. */
interface Cost {
  readonly factor: number
  readonly power: number
}
const UNKNOWN: Cost = { factor: Number.POSITIVE_INFINITY, power: 1 }

/**
 * A bound from the shape of the pattern alone. Every unbounded repeat multiplies by the length, every choice by the
 * number of alternatives; a repeat around a repeat or a choice, and a back reference, get no bound.
 */
function worstCase(source: string): Cost {
  let factor = 1
  let power = source.startsWith('^') ? 0 : 1
  /** For each open group: does it hold a repeat or a choice? */
  const open: boolean[] = [false]
  let closed = false
  for (let at = 0; at < source.length; at++) {
    const char = source[at]
    if (char === '\\') {
      if (/[1-9k]/.test(source[at + 1] ?? '')) return UNKNOWN
      at++
      closed = false
    } else if (char === '[') {
      at = classEnd(source, at)
      closed = false
    } else if (char === '(') {
      open.push(false)
      if (source[at + 1] === '?') at++
      closed = false
    } else if (char === ')') {
      const branching = open.pop() ?? false
      closed = branching
      if (branching) open[open.length - 1] = true
    } else if (char === '|') {
      factor *= 2
      open[open.length - 1] = true
      closed = false
    } else {
      const repeat = repeatAt(source, at)
      if (!repeat) {
        closed = false
        continue
      }
      if (closed) return UNKNOWN
      open[open.length - 1] = true
      if (repeat.ways === Number.POSITIVE_INFINITY) power++
      else factor *= repeat.ways
      at = repeat.end
      closed = false
    }
  }
  return { factor: factor * Math.max(1, source.length), power }
}

function classEnd(source: string, from: number): number {
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === ']') return at
  }
  return source.length
}

function repeatAt(source: string, at: number): { ways: number; end: number } | undefined {
  const match = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(source.slice(at, at + 24))
  if (!match) return undefined
  const [whole, sign, least, comma, most] = match
  const end = at + whole.length - 1
  if (sign) return { ways: sign === '?' ? 2 : Number.POSITIVE_INFINITY, end }
  if (comma === undefined) return { ways: 1, end }
  if (most === '' || most === undefined) return { ways: Number.POSITIVE_INFINITY, end }
  return { ways: Math.max(1, Number(most) - Number(least) + 1), end }
}
