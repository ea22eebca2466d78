// semantic/rerank.ts: reranks the few best chunks: does a name that a chunk defines match the question, and does
// one of its lines? In a chunk of many functions BM25 and the vector both lose the right one; here it stands out.
import { SEMANTIC_LIMITS } from '../limits.ts'
import { termsOf } from './terms.ts'

/** The terms of a question with how rare each is, from 0 to 1 (1: in one chunk of all). */
export type Rarities = ReadonlyMap<string, number>

interface Looked {
  readonly name?: string | undefined
  readonly text: string
}

/** How rare a word of a name is taken to be when the question does not have it. */
const UNASKED = 0.5
/** Of a line, and lines of a chunk, that are read: text may be one very long line. */
const LINE_CHARS = 400
const LINES = 400

export function raritiesOf(terms: ReadonlyMap<string, number>, count: number): Rarities {
  const most = Math.log(1 + Math.max(1, count))
  return new Map([...terms].map(([term, rarity]) => [term, Math.min(1, rarity / most)]))
}

/** What the chunk gains by reranking, in the standard deviations of the ranking. */
export function rerankScore(asked: Rarities, { name, text }: Looked): number {
  const lines = text
    .split('\n', LINES)
    .map((line) => line.slice(0, LINE_CHARS))
    .filter((line) => /\w/.test(line))
  const names = new Set([...(name ?? '').split(', '), ...definedIn(lines)])
  return SEMANTIC_LIMITS.nameFit * nameFit(asked, names) + SEMANTIC_LIMITS.lineFit * lineFit(asked, lines)
}

/** The best name's share of asked terms; a name made of common words alone counts for less. */
function nameFit(asked: Rarities, names: Iterable<string>): number {
  let best = 0
  for (const name of names) {
    const terms = [...new Set(termsOf(name))]
    let hit = 0
    let missed = 0
    // Of a compound name the last term is the whole of it.
    for (const term of terms.length > 1 ? terms.slice(0, -1) : terms) {
      const rarity = asked.get(term)
      if (rarity === undefined) missed += UNASKED
      else hit += rarity
    }
    if (hit > 0) best = Math.max(best, (hit / (hit + missed)) * Math.min(1, hit))
  }
  return best
}

/** How much of the question the best single line has. */
function lineFit(asked: Rarities, lines: readonly string[]): number {
  let whole = 0
  for (const rarity of asked.values()) whole += rarity
  let best = 0
  for (const line of lines) {
    let hit = 0
    for (const term of new Set(termsOf(line))) hit += asked.get(term) ?? 0
    best = Math.max(best, hit)
  }
  return whole > 0 ? best / whole : 0
}

const VALUE = /^(?:(?:export|declare|pub(?:\([^)]*\))?) )*(?:const|let|var|val|static|type)\s+(?:mut )?(\w+)/
const NAMED =
  /^\s*(?:(?:export|declare|default|abstract|public|private|protected|static|pub(?:\([^)]*\))?|async|unsafe|const|inline) )*(?:function\*?|def|func|fun|fn|sub|class|interface|struct|enum|trait|type)\s+(?:\([^)]*\)\s*)?(\w+)/
const CONTROL = /^[\s}]*(?:if|for|while|switch|catch|return|else|with|match|do|try|using|loop)\b/

/** Names that lines look like defining, in the syntax of most languages. Values count only where the chunk itself begins. */
function definedIn(lines: readonly string[]): string[] {
  const indent = (line: string) => /^\s*/.exec(line)?.[0].length ?? 0
  const code = lines.filter((line) => !/^\s*\*/.test(line))
  const base = code.reduce((least, line) => Math.min(least, indent(line)), LINE_CHARS)
  return code.flatMap((line) => {
    const value = indent(line) === base ? VALUE.exec(line.slice(base))?.[1] : undefined
    const name = value ?? NAMED.exec(line)?.[1] ?? methodOn(line)
    return name === undefined ? [] : [name]
  })
}

/** `  public int sizeOf(Thing thing) {` → `sizeOf`. */
function methodOn(line: string): string | undefined {
  const open = line.indexOf('(')
  if (open < 0 || !line.trimEnd().endsWith('{') || /[;=]/.test(line) || CONTROL.test(line)) return undefined
  return /(\w+)\s*(?:<[^<>]*>)?$/.exec(line.slice(0, open))?.[1]
}
