// index/query.ts: which trigrams a file must have to match a query. Whatever is not certain is left out: it may name
// too many files, never too few.
import { charsOf, runQuery } from './trigram-run.ts'

export type TrigramQuery =
  | { readonly kind: 'any' }
  /** Of each gram, one of its keys (ascending) must be there. */
  | { readonly kind: 'grams'; readonly grams: readonly (readonly number[])[] }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly TrigramQuery[] }

const ANY: TrigramQuery = { kind: 'any' }

export function literalQuery(text: string, caseSensitive: boolean): TrigramQuery {
  // Past ASCII, upper and lower case may have different lengths in UTF-8, so nothing is sure across such a letter.
  const parts = caseSensitive ? [text] : text.split(/[^\x20-\x7e\t]+/)
  return allOf(parts.map((part) => runQuery(charsOf(part, caseSensitive) ?? [])))
}

export function allOf(parts: readonly TrigramQuery[]): TrigramQuery {
  const grams = parts.flatMap((part) => (part.kind === 'grams' ? part.grams : []))
  const known = parts.filter((part) => part.kind === 'and' || part.kind === 'or')
  if (grams.length > 0) known.unshift({ kind: 'grams', grams })
  if (known.length === 0) return ANY
  return known.length === 1 && known[0] ? known[0] : { kind: 'and', parts: known }
}

export function oneOf(parts: readonly TrigramQuery[]): TrigramQuery {
  if (parts.length === 0 || parts.some((part) => part.kind === 'any')) return ANY
  return parts.length === 1 && parts[0] ? parts[0] : { kind: 'or', parts }
}

/** What the evaluation needs of a segment. */
export interface Lists {
  readonly files: number
  /** The bytes that the lists of these keys take together. */
  weight(keys: readonly number[]): number
  /** The files that have one of these keys, ascending. */
  list(keys: readonly number[]): number[]
}

/** Enough lists to narrow the field; longer ones cost more to read than the files they rule out. */
const LISTS_PER_LITERAL = 16
const FEW = 4
const BYTES_PER_FILE = 64

/** The files of one segment that may match, ascending. */
export function evaluate(query: Exclude<TrigramQuery, { kind: 'any' }>, lists: Lists): number[] {
  if (query.kind === 'grams') return evaluateGrams(query.grams, lists)
  const parts = query.parts.filter((part) => part.kind !== 'any')
  if (query.kind === 'or') {
    const all = new Set<number>()
    for (const part of parts) for (const file of evaluate(part, lists)) all.add(file)
    return [...all].sort((a, b) => a - b)
  }
  let found: number[] | undefined
  for (const part of parts) {
    const next = evaluate(part, lists)
    found = found ? intersect(found, next) : next
    if (found.length === 0) break
  }
  return found ?? []
}

function evaluateGrams(grams: readonly (readonly number[])[], lists: Lists): number[] {
  const weighed = grams
    .map((keys) => ({ keys, weight: lists.weight(keys) }))
    .sort((a, b) => a.weight - b.weight)
  if (weighed[0]?.weight === 0) return []
  let found: number[] | undefined
  for (const { keys, weight } of weighed.slice(0, LISTS_PER_LITERAL)) {
    if (found && found.length <= FEW) break
    if (weight > (found?.length ?? lists.files) * BYTES_PER_FILE) break
    const next = lists.list(keys)
    found = found ? intersect(found, next) : next
    if (found.length === 0) break
  }
  return found ?? Array.from({ length: lists.files }, (_, n) => n)
}

function intersect(a: readonly number[], b: readonly number[]): number[] {
  const both: number[] = []
  let n = 0
  let m = 0
  while (n < a.length && m < b.length) {
    const x = a[n] as number
    const y = b[m] as number
    if (x === y) {
      both.push(x)
      n++
      m++
    } else if (x < y) n++
    else m++
  }
  return both
}
