// chunks/parsers.ts: loads tree-sitter and its grammars when they are first needed, and parses within a time limit.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Language, Parser, Tree } from 'web-tree-sitter'

const PARSE_MS = 4000

interface Loaded {
  readonly parser: Parser
  readonly load: (path: string) => Promise<Language>
}

/** One set of parsers, owned by whoever made it. A grammar that does not load costs only its own language. */
export class Parsers {
  #loaded: Promise<Loaded> | undefined
  readonly #grammars = new Map<string, Promise<Language | undefined>>()

  /** Undefined when there is no such grammar or the file took too long: it is then cut by lines. */
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
    const deadline = performance.now() + PARSE_MS
    const tree = parser.parse(text, null, { progressCallback: () => performance.now() > deadline })
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
