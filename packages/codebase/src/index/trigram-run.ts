// index/trigram-run.ts: a part of a match that is known character by character, and the trigrams that a file with it must have. A
// character may be one of several; then one of several trigrams must be there.
import { CLASS_BITS, CLASSES, LINE_END } from './byte-classes.ts'
import type { TrigramQuery } from './query.ts'

/** One character: the classes of ASCII it may be, and whether it may be any character past ASCII. */
export interface Char {
  readonly classes: readonly number[]
  readonly wide: boolean
}

/** More combinations than this for three places narrow too little for the cost of the lookup. */
const KEYS_PER_GRAM = 4096
const ASCII = 128
const WIDE = CLASSES[ASCII] as number

/** The characters of a text as they must be found; nothing is sure across a letter past ASCII when case does not matter. */
export function charsOf(text: string, caseSensitive: boolean): Char[] | undefined {
  const bytes = Buffer.from(text, 'utf8')
  if (!caseSensitive && bytes.some((byte) => byte >= ASCII)) return undefined
  return [...bytes].map((byte) => ({ classes: [CLASSES[byte] as number], wide: false }))
}

/** One character out of a set of ASCII codes. */
export function charOf(codes: Iterable<number>, wide: boolean): Char {
  const classes = new Set<number>()
  for (const code of codes) classes.add(CLASSES[code] as number)
  return { classes: [...classes].sort((a, b) => a - b), wide }
}

/** What a file must have to hold the run; line ends are in no trigram, so what may be one says nothing. */
export function runQuery(run: readonly Char[]): TrigramQuery {
  const grams = new Map<string, readonly number[]>()
  for (let n = 0; n + 2 < run.length; n++) {
    const keys = gramAt(run[n] as Char, run[n + 1] as Char, run[n + 2] as Char)
    if (keys) grams.set(keys.join(), keys)
  }
  return grams.size === 0 ? { kind: 'any' } : { kind: 'grams', grams: [...grams.values()] }
}

/** All trigrams that may begin with `a`. A character past ASCII takes two bytes or more, all of one class. */
function gramAt(a: Char, b: Char, c: Char): number[] | undefined {
  const ways: (readonly [readonly number[], readonly number[], readonly number[]])[] = [
    [a.classes, b.classes, c.classes],
  ]
  if (c.wide) ways.push([a.classes, b.classes, [WIDE]])
  if (b.wide) ways.push([a.classes, [WIDE], [WIDE]])
  if (a.wide) ways.push([[WIDE], [WIDE], [WIDE, ...b.classes]])
  const count = ways.reduce((sum, [x, y, z]) => sum + x.length * y.length * z.length, 0)
  if (count > KEYS_PER_GRAM) return undefined
  const keys = new Set<number>()
  for (const [first, second, third] of ways)
    for (const x of first)
      for (const y of second)
        for (const z of third) {
          if (x === LINE_END || y === LINE_END || z === LINE_END) return undefined
          keys.add((((x << CLASS_BITS) | y) << CLASS_BITS) | z)
        }
  return [...keys].sort((one, other) => one - other)
}
