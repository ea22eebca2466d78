// chunks/parsers.ts: loads tree-sitter and its grammars when they are first needed, and parses within a bound of work.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Language, Parser, Tree } from 'web-tree-sitter'

/**
 * How often the parser may report before it is stopped; a file of 5 MB takes 70,000 reports. Counted and not timed: the
 * same text has the same chunks on a busy machine as on an idle one.
 */
const PARSE_REPORTS = 100_000

interface Loaded {
  readonly parser: Parser
  readonly load: (path: string) => Promise<Language>
}

/** One set of parsers, closed by its creator. A grammar that does not load costs only its own language. */
export class Parsers {
  #loaded: Promise<Loaded> | undefined
  readonly #grammars = new Map<string, Promise<Language | undefined>>()

  /** Undefined when there is no such grammar or parsing took too much: the file is then cut by lines. */
  async parse(grammar: string, text: string): Promise<Tree | undefined> {
    this.#loaded ??= start()
    const { parser, load } = await this.#loaded
    let language = this.#grammars.get(grammar)
    if (!language) {
      language = load(grammarPath(grammar)).catch(() => undefined)
      this.#grammars.set(grammar, language)
    }
    const found = await language
    if (!found) return undefined
    parser.setLanguage(found)
    let reports = 0
    const tree = parser.parse(text, null, { progressCallback: () => ++reports > PARSE_REPORTS })
    if (!tree) parser.reset()
    return tree ?? undefined
  }
}

async function start(): Promise<Loaded> {
  const { Language: Grammar, Parser: Tool } = await import('web-tree-sitter')
  await Tool.init()
  return { parser: new Tool(), load: (path) => Grammar.load(path) }
}

function grammarPath(grammar: string): string {
  const folder = dirname(createRequire(import.meta.url).resolve('@cursorless/tree-sitter-wasms/package.json'))
  return join(folder, 'out', `tree-sitter-${grammar}.wasm`)
}
