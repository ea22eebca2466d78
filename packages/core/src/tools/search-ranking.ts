// search-ranking.ts: finds tools by a query in plain words, over name, title, description and parameters. Ranked by weighted
// fields (BM25F) over stemmed terms and their synonyms; it needs no model and no network.
import { isObject } from '../json.ts'
import { TOOL_LIMITS } from '../limits.ts'
import type { JsonSchema } from './definition.ts'
import { isFaint, queryWords, spaced, synonymsOf, wordsOf } from './search-terms.ts'

/** What a search needs to know of a tool. */
export interface SearchableTool {
  readonly name: string
  readonly server: string
  /** The server's own name for it. */
  readonly tool: string
  readonly title?: string | undefined
  readonly description: string
  readonly inputJsonSchema: JsonSchema
}

/** A tool that was found, and how well it matches. */
export interface SearchHit {
  readonly name: string
  readonly score: number
}

/** The weight of a term by its field, and how much a long field reduces it. */
const FIELDS = {
  tool: { weight: 6.5, thinning: 0.65 },
  server: { weight: 2, thinning: 0 },
  title: { weight: 2, thinning: 0.4 },
  lead: { weight: 2.5, thinning: 0.6 },
  body: { weight: 1, thinning: 0.7 },
  parameters: { weight: 0.75, thinning: 0.6 },
} as const
type FieldName = keyof typeof FIELDS
const FIELD_NAMES = Object.keys(FIELDS) as FieldName[]

const SATURATION = 3.2
const SYNONYM_WORTH = 0.42
const FAINT_WORTH = 0.5
const PREFIX_WORTH = 0.6
const SERVER_NAMED = 1.3
/** How much of the score depends on the share of query terms found. */
const COVERAGE = 0.6
const NAMED_EXACTLY = 1000
/** What the nearest tool counts, where the best one by words counts 1. */
const NEARNESS = 1.5
/** A tool without any of the words is found when it is as near as this. */
const NEAR_ENOUGH = 0.2
const EMBEDDED_CHARS = 300
const LEAD_CHARS = 160
const BODY_CHARS = 2048
const QUERY_WORDS = 40

interface Posting {
  readonly doc: number
  /** The term's weight in this tool, before rarity. */
  readonly worth: number
}

/**
 * Finds tools by what they do.
 *
 * @example
 * const say = { name: 'mcp__notes__say', server: 'notes', tool: 'say', description: 'Repeats a text' }
 * const [best] = new ToolIndex([{ ...say, inputJsonSchema: { type: 'object' } }]).search('repeat a text')
 * console.log(best?.name) // mcp__notes__say
 */
export class ToolIndex {
  readonly #names: readonly string[]
  readonly #servers: readonly (readonly string[])[]
  readonly #postings = new Map<string, readonly Posting[]>()
  readonly #rarity = new Map<string, number>()

  constructor(tools: readonly SearchableTool[]) {
    this.#names = tools.map(({ name }) => name)
    const fields = tools.map(fieldsOf)
    this.#servers = fields.map(({ server }) => server)
    const averages = averageLengths(fields)
    const drafts = new Map<string, Map<number, number>>()
    fields.forEach((words, doc) => {
      for (const field of FIELD_NAMES) {
        const { weight, thinning } = FIELDS[field]
        const length = words[field].length
        const share = weight / (1 - thinning + (thinning * length) / averages[field])
        for (const word of words[field]) {
          const docs = drafts.get(word) ?? new Map<number, number>()
          docs.set(doc, (docs.get(doc) ?? 0) + share)
          drafts.set(word, docs)
        }
      }
    })
    for (const [word, docs] of drafts) {
      const found = docs.size
      this.#rarity.set(word, Math.log(1 + (tools.length - found + 0.5) / (found + 0.5)))
      this.#postings.set(
        word,
        [...docs].map(([doc, sum]) => ({ doc, worth: sum / (sum + SATURATION) })),
      )
    }
  }

  /**
   * The best tools first. A query that names a tool exactly finds it first. `nearness`: how near an embedding model finds each tool to
   * the query, in the order of the tools.
   */
  search(
    query: string,
    limit: number = TOOL_LIMITS.searchResults,
    nearness?: Float32Array,
  ): readonly SearchHit[] {
    const scores = this.#wordScores(query)
    if (nearness) addNearness(scores, nearness)
    const plain = query.trim().toLowerCase()
    const hits: { doc: number; score: number }[] = []
    for (let doc = 0; doc < scores.length; doc++) {
      let score = scores[doc] ?? 0
      if (this.#names[doc]?.toLowerCase() === plain) score += NAMED_EXACTLY
      if (score > 0) hits.push({ doc, score })
    }
    hits.sort((a, b) => b.score - a.score || a.doc - b.doc)
    const most = Math.max(1, Math.min(limit, TOOL_LIMITS.searchResultsMost))
    return hits.slice(0, most).map(({ doc, score }) => ({ name: this.#names[doc] ?? '', score }))
  }

  /** By tool; 0 where no word matches. */
  #wordScores(query: string): Float64Array {
    const asked = queryWords(query.slice(0, TOOL_LIMITS.searchQueryChars)).slice(0, QUERY_WORDS)
    const scores = new Float64Array(this.#names.length)
    const matched = new Float64Array(this.#names.length)
    let total = 0
    for (const word of asked) {
      const importance = isFaint(word) ? FAINT_WORTH : 1
      total += importance
      for (const [doc, score] of this.#bestMatches(word)) {
        scores[doc] = (scores[doc] ?? 0) + score * importance
        matched[doc] = (matched[doc] ?? 0) + importance
      }
    }
    for (let doc = 0; doc < scores.length; doc++) {
      let score = (scores[doc] ?? 0) * (1 - COVERAGE + (COVERAGE * (matched[doc] ?? 0)) / (total || 1))
      if (score > 0 && this.#servers[doc]?.every((word) => asked.includes(word))) score *= SERVER_NAMED
      scores[doc] = score
    }
    return scores
  }

  /** For each tool the best match of one query term: itself, or a synonym. */
  #bestMatches(word: string): ReadonlyMap<number, number> {
    const best = new Map<number, number>()
    const take = (term: string, worth: number) => {
      const rarity = this.#rarity.get(term) ?? 0
      for (const posting of this.#postings.get(term) ?? []) {
        const score = posting.worth * rarity * worth
        if (score > (best.get(posting.doc) ?? 0)) best.set(posting.doc, score)
      }
    }
    take(word, 1)
    for (const other of synonymsOf(word)) take(other, SYNONYM_WORTH)
    if (best.size === 0 && word.length >= 4)
      for (const near of this.#nearWords(word)) take(near, PREFIX_WORTH)
    return best
  }

  /** Terms with the same beginning or one different letter: a partial word, or a typo. */
  #nearWords(word: string): readonly string[] {
    const near: string[] = []
    for (const known of this.#postings.keys()) {
      if (
        known.startsWith(word) ||
        (known.length >= 4 && word.startsWith(known)) ||
        oneLetterOff(known, word)
      )
        near.push(known)
      if (near.length >= 20) break
    }
    return near
  }
}

/**
 * What an embedding model reads of a tool.
 *
 * @example
 * const say = { name: 'mcp__notes__say', server: 'notes', tool: 'say', description: 'Repeats a text' }
 * console.log(embeddingText(say)) // notes: say. Repeats a text
 */
export function embeddingText({
  server,
  tool,
  description,
}: Omit<SearchableTool, 'inputJsonSchema'>): string {
  return `${spaced(server)}: ${spaced(tool)}. ${description.slice(0, EMBEDDED_CHARS)}`
}

/** Adds both on one scale: the best by words counts 1, the nearest `NEARNESS`, an average one nothing. */
function addNearness(scores: Float64Array, nearness: Float32Array): void {
  let best = 0
  let nearest = -1
  let sum = 0
  for (let doc = 0; doc < scores.length; doc++) {
    best = Math.max(best, scores[doc] ?? 0)
    nearest = Math.max(nearest, nearness[doc] ?? 0)
    sum += nearness[doc] ?? 0
  }
  const mean = sum / (scores.length || 1)
  if (nearest <= mean) return
  for (let doc = 0; doc < scores.length; doc++) {
    const [words = 0, near = 0] = [scores[doc], nearness[doc]]
    if (words > 0 || near >= NEAR_ENOUGH)
      scores[doc] = words / (best || 1) + (NEARNESS * (near - mean)) / (nearest - mean)
  }
}

function fieldsOf(tool: SearchableTool): Readonly<Record<FieldName, readonly string[]>> {
  const description = tool.description.slice(0, BODY_CHARS)
  const end = /[.\n]/.exec(description.slice(20))?.index
  const lead = end === undefined ? LEAD_CHARS : Math.min(end + 21, LEAD_CHARS)
  const server = wordsOf(tool.server)
  const title = wordsOf(tool.title ?? '')
  return {
    // `slack_post_message` of the server `slack`: the prefix says nothing about the tool.
    tool: wordsOf(tool.tool).filter((word) => !server.includes(word)),
    server,
    title,
    lead: wordsOf(description.slice(0, lead)),
    body: wordsOf(description.slice(lead)),
    parameters: parameterWords(tool.inputJsonSchema, 0),
  }
}

/** Names of parameters, and their enum values: they often say what a tool can do. */
function parameterWords(schema: unknown, depth: number): string[] {
  if (!isObject(schema) || depth > 3) return []
  const words: string[] = []
  if (isObject(schema.properties))
    for (const [name, part] of Object.entries(schema.properties).slice(0, 50)) {
      words.push(...wordsOf(name.slice(0, 80)), ...parameterWords(part, depth + 1))
      if (isObject(part) && typeof part.description === 'string')
        words.push(...wordsOf(part.description.slice(0, 120)))
    }
  if (Array.isArray(schema.enum))
    for (const value of schema.enum.slice(0, 20))
      if (typeof value === 'string') words.push(...wordsOf(value.slice(0, 40)))
  if (isObject(schema.items)) words.push(...parameterWords(schema.items, depth + 1))
  return words
}

function averageLengths(
  fields: readonly Readonly<Record<FieldName, readonly string[]>>[],
): Record<FieldName, number> {
  const average = (field: FieldName) =>
    fields.reduce((sum, words) => sum + words[field].length, 0) / (fields.length || 1) || 1
  return Object.fromEntries(FIELD_NAMES.map((field) => [field, average(field)])) as Record<FieldName, number>
}

function oneLetterOff(a: string, b: string): boolean {
  if (b.length < 5 || Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const swapped =
    a[start] === b[start + 1] && a[start + 1] === b[start] && a.slice(start + 2) === b.slice(start + 2)
  if (swapped) return true
  const skip = (text: string, other: string) => text.slice(start + (text.length >= other.length ? 1 : 0))
  return skip(a, b) === skip(b, a)
}
