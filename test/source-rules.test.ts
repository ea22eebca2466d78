// Rules that every source file follows and no compiler checks: transports are told apart by their traits, and files and
// functions stay short. CONTRIBUTING.md states them.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from '@babel/parser'
import { describe, expect, it } from 'vitest'
import { TRANSPORTS, WRITTEN_TYPES } from '../packages/core/src/config/transport-traits.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

interface SourceFile {
  /** From the top of the repository, with slashes. */
  readonly path: string
  readonly text: string
}

function* filesIn(folder: string): Generator<SourceFile> {
  for (const item of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, item.name)
    if (item.isDirectory()) {
      if (item.name !== 'fixtures') yield* filesIn(path)
    } else if (/\.(?:tsx?|mjs)$/.test(item.name) && !/\.test\.tsx?$|\.d\.m?ts$/.test(item.name))
      yield { path: relative(root, path).split(sep).join('/'), text: readFileSync(path, 'utf8') }
  }
}

const sources = [
  ...readdirSync(join(root, 'packages')).flatMap((name) => [...filesIn(join(root, 'packages', name, 'src'))]),
  ...filesIn(join(root, 'scripts')),
]

describe('transports are told apart by their traits', () => {
  const names = [...WRITTEN_TYPES.keys()].join('|')
  const CHECKS = [
    new RegExp(`\\btype\\s*[!=]==?\\s*['"](?:${names})['"]`),
    new RegExp(`\\bcase\\s+['"](?:${names})['"]`),
    new RegExp(`['"](?:${names})['"]\\s*\\]\\s*\\.includes\\(`),
    /\bentry\.type\.(?:startsWith|endsWith|includes)\(/,
  ]
  /** The table, and what reads a `type` that is not an entry's yet. */
  const ALLOWED = new Set([
    'packages/core/src/config/transport-traits.ts',
    'packages/core/src/config/fast-read.ts',
    'packages/core/src/config/import/servers.ts',
  ])
  const checksIn = (text: string) =>
    text.split('\n').filter((line) => CHECKS.some((check) => check.test(line)))

  it('finds the checks that it forbids', () => {
    expect(
      checksIn(
        [
          "if (entry.type === 'stdio') return",
          'if (type !== "sdk") return',
          "    case 'ws-ide':",
          "['http', 'sse'].includes(server.entry.type)",
          "entry.type.endsWith('-ide')",
        ].join('\n'),
      ),
    ).toHaveLength(5)
    expect(checksIn("if (block.type === 'text') return")).toEqual([])
  })

  it('no other file compares a transport type', () => {
    const found = sources
      .filter(({ path }) => !ALLOWED.has(path))
      .flatMap(({ path, text }) => checksIn(text).map((line) => `${path}: ${line.trim()}`))
    expect(found).toEqual([])
  })

  it('every transport has a file that opens it', () => {
    const factory = readFileSync(join(root, 'packages/core/src/transports/open.ts'), 'utf8')
    for (const type of Object.keys(TRANSPORTS))
      expect(factory).toMatch(new RegExp(`^\\s+'?${type}'?: async`, 'm'))
  })
})

describe('files and functions stay short', () => {
  const FILE_LINES = 450
  const FUNCTION_LINES = 60
  /** What is longer for now, with its size: it may shrink and not grow. */
  const LONGER: Readonly<Record<string, number>> = {
    'packages/core/src/connection/connection.ts': 484,
    'packages/core/src/connection/json-rpc.ts request': 67,
    'packages/core/src/connection/json-rpc.ts (no name)': 65,
  }

  interface Span {
    readonly name: string
    readonly lines: number
  }

  function longOnes({ path, text }: SourceFile): Span[] {
    const lines = text.split('\n').length - 1
    const { program } = parse(text, {
      sourceType: 'module',
      plugins: path.endsWith('.tsx') ? ['typescript', 'jsx'] : path.endsWith('.ts') ? ['typescript'] : [],
    })
    const found: Span[] = lines > FILE_LINES ? [{ name: path, lines }] : []
    visit(program, undefined, (span) => {
      if (span.lines > FUNCTION_LINES) found.push({ ...span, name: `${path} ${span.name}` })
    })
    return found
  }

  it('no file is over 450 lines and no function over 60', () => {
    const found = sources.flatMap(longOnes)
    expect(found.filter(({ name, lines }) => lines > (LONGER[name] ?? 0))).toEqual([])
  })

  it('measures functions of every form', () => {
    const body = '\n'.repeat(FUNCTION_LINES)
    const text = `function a() {${body}}\nconst b = () => {${body}}\nclass C {\n  #d() {${body}}\n}\nconst e = { f() {${body}} }\n`
    expect(longOnes({ path: 'x.ts', text }).map(({ name }) => name)).toEqual([
      'x.ts a',
      'x.ts b',
      'x.ts d',
      'x.ts f',
    ])
  })

  /** Calls `seen` for each function below the node, with the name it is known by. */
  function visit(node: unknown, parent: Tree | undefined, seen: (span: Span) => void): void {
    if (Array.isArray(node)) for (const item of node) visit(item, parent, seen)
    if (!isTree(node)) return
    if (/^(?:Arrow)?Function|^(?:Object|Class|ClassPrivate)Method$/.test(node.type))
      seen({
        name: nameOf(node) ?? nameOf(parent) ?? '(no name)',
        lines: node.loc.end.line - node.loc.start.line + 1,
      })
    for (const [key, value] of Object.entries(node))
      if (key !== 'loc' && typeof value === 'object') visit(value, node, seen)
  }

  interface Tree {
    readonly type: string
    readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } }
    readonly id?: unknown
    readonly key?: unknown
  }

  function isTree(node: unknown): node is Tree {
    return typeof node === 'object' && node !== null && 'type' in node && 'loc' in node
  }

  function nameOf(node: Tree | undefined): string | undefined {
    const known = (node?.id ?? node?.key) as { name?: string; id?: { name?: string } } | undefined
    return known?.name ?? known?.id?.name
  }
})
