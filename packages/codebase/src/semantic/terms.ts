// semantic/terms.ts: the terms of a text as BM25 counts them: identifiers split at case and underscore, lower-cased,
// stemmed; a compound identifier also counts as one term.

const WORD =
  /[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*|[0-9]{2,}|[\u00c0-\u024f\u0370-\u1fff\u3040-\u9fff\uac00-\ud7af]+/g
const PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g
const MAX_WORD = 64

export function termsOf(text: string): string[] {
  const terms: string[] = []
  for (const [word] of text.matchAll(WORD)) {
    if (word.length > MAX_WORD) continue
    const parts = word.match(PART)
    if (!parts || parts.length === 1) {
      terms.push(stem(word.toLowerCase()))
      continue
    }
    for (const part of parts) if (part.length > 1) terms.push(stem(part.toLowerCase()))
    terms.push(word.toLowerCase().replaceAll('_', ''))
  }
  return terms
}

const ENDINGS: readonly (readonly [ending: string, replacement: string, least: number])[] = [
  ['ization', 'iz', 3],
  ['isation', 'iz', 3],
  ['ational', 'at', 3],
  ['fulness', 'ful', 3],
  ['iveness', 'iv', 3],
  ['ations', 'at', 3],
  ['ation', 'at', 3],
  ['ators', 'at', 3],
  ['ator', 'at', 3],
  ['ingly', '', 3],
  ['ments', '', 4],
  ['ment', '', 4],
  ['ness', '', 3],
  ['izers', 'iz', 3],
  ['izer', 'iz', 3],
  ['izing', 'iz', 3],
  ['ised', 'iz', 3],
  ['ized', 'iz', 3],
  ['ises', 'iz', 3],
  ['izes', 'iz', 3],
  ['ise', 'iz', 3],
  ['ize', 'iz', 3],
  ['ions', '', 4],
  ['ion', '', 4],
  ['ings', '', 3],
  ['ing', '', 3],
  ['ies', 'i', 2],
  ['ied', 'i', 2],
  ['ers', '', 3],
  ['er', '', 4],
  ['ors', '', 3],
  ['ed', '', 3],
  ['es', '', 3],
  ['ly', '', 3],
  ['s', '', 3],
  ['e', '', 3],
  ['y', 'i', 3],
]

/** A light stemmer: near forms of a word match, at the price of a few false matches. */
export function stem(word: string): string {
  if (word.length < 4 || word.endsWith('ss')) return word
  for (const [ending, replacement, least] of ENDINGS) {
    if (!word.endsWith(ending) || word.length - ending.length < least) continue
    const base = word.slice(0, word.length - ending.length) + replacement
    // "running" and "run", "stopped" and "stop".
    return ending !== 's' && /([bdfgmnprt])\1$/.test(base) ? base.slice(0, -1) : base
  }
  return word
}

/** 32 bits stand for a term in the index; two terms sharing one is rare and only blurs a rank. */
export function termKey(term: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < term.length; n++) {
    hash ^= term.charCodeAt(n)
    hash = Math.imul(hash, 0x01000193)
  }
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
