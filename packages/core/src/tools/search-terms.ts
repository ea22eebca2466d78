// search-terms.ts: texts, identifiers and queries as search terms: split, lower-cased, stemmed, without stop words. Synonyms of a term
// are in search-synonyms.ts.
import { phrasesFrom, SHORT } from './search-phrases.ts'
import { stem } from './search-stem.ts'

/** One thing that a query asks for, and the stemmed terms that may say it, with what each counts. */
export type QueryTerm = ReadonlyMap<string, number>

/** Stop words: they say nothing about which tool is meant. */
const EMPTY = new Set(
  'a about an and any anything are as at be been but by can could did do does doing done everything for from had has have here how i if in into is it its just let me my no not now of off on one only or our out please should so some something than that the their them then there these they this those to too up us was we were what when where which while whose why will with would you your'.split(
    ' ',
  ),
)
/** Verbs that fit most tools; they count, but little. */
const FAINT = new Set(
  [
    'get',
    'give',
    'show',
    'tell',
    'use',
    'want',
    'need',
    'let',
    'take',
    'put',
    'go',
    'new',
    'work',
    'thing',
    'tool',
    'api',
  ].map(stem),
)

/** What the words of a phrase count themselves, beside the words that it stands for. */
const PHRASE_ITSELF = 0.5
/** Words between a verb and its particle: "turn the new feature on". */
const PARTICLE_GAP = 3
const PARTICLES = new Set('up off out on in away back down over apart into together'.split(' '))

export function isFaint(stemmed: string): boolean {
  return FAINT.has(stemmed)
}

/** Splits `createPullRequest`, `get_file-info` and `HTTPServer2` into words. */
function split(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** An identifier as words. */
export function spaced(identifier: string): string {
  return split(identifier).join(' ')
}

/** The terms of a text, without stop words, stemmed, in order. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const word of split(text)) if (!EMPTY.has(word)) words.push(stem(word))
  return words
}

/** What a query asks for, in order and each once: abbreviations are expanded, and a phrase is one term. */
export function queryTerms(text: string): readonly QueryTerm[] {
  const words = split(text)
  const stems = words.map(stem)
  const taken = new Set<number>()
  const terms = new Map<string, QueryTerm>()
  const put = (term: QueryTerm) => terms.set([...term.keys()].join(' '), term)
  words.forEach((word, at) => {
    if (taken.has(at)) return
    const phrase = phraseAt(stems, at, taken)
    if (phrase) {
      for (const place of phrase.places) taken.add(place)
      const own = phrase.places.flatMap((place) =>
        PARTICLES.has(words[place] ?? '') ? [] : wordsOf(words[place] ?? ''),
      )
      put(
        new Map([
          ...own.map((one) => [one, PHRASE_ITSELF] as const),
          ...phrase.means.map((one) => [one, 1] as const),
        ]),
      )
      return
    }
    const long = Object.hasOwn(SHORT, word) ? (SHORT[word] ?? word) : word
    for (const one of wordsOf(long)) put(new Map([[one, 1]]))
  })
  return [...terms.values()]
}

function phraseAt(
  stems: readonly string[],
  at: number,
  taken: ReadonlySet<number>,
): { readonly places: readonly number[]; readonly means: readonly string[] } | undefined {
  for (const { words, means } of phrasesFrom(stems[at] ?? '')) {
    const places = [at]
    for (const word of words.slice(1)) {
      const from = (places.at(-1) ?? at) + 1
      const gap = words.length === 2 && PARTICLES.has(word) ? PARTICLE_GAP : 0
      const found = stems
        .slice(from, from + gap + 1)
        .findIndex((one, more) => one === word && !taken.has(from + more))
      if (found < 0) break
      places.push(from + found)
    }
    if (places.length === words.length) return { places, means }
  }
  return undefined
}
