// A rule that every test follows: it can fail. A test has an expectation, a helper of its file that has one, or it waits for
// something that has to come.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from '@babel/parser'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const EXPECTS = /\b(?:expect|assert)\b/
/** Each fails when what it waits for does not come, or does the checks of another file. */
const WAITS = /\b(?:until|see|waitFor\w*|waitForText|getByText|check|compile)\b/

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly loc: { readonly start: { readonly line: number } }
  readonly [key: string]: unknown
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'loc' in value
}

function* nodesIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const item of value) yield* nodesIn(item)
  if (!isNode(value)) return
  yield value
  for (const [key, member] of Object.entries(value)) if (key !== 'loc') yield* nodesIn(member)
}

/** `it(…)`, `it.each(…)(…)`, `test.skipIf(…)(…)`: the name that the call begins with. */
function calledName(node: unknown): unknown {
  if (!isNode(node)) return undefined
  return node.type === 'Identifier'
    ? node['name']
    : calledName(node['object'] ?? node['callee'] ?? node['tag'])
}

/** The lines of tests that cannot fail. */
function idleTests(text: string): number[] {
  const { program } = parse(text, { sourceType: 'module', plugins: ['typescript'] })
  const nodes = [...nodesIn(program)]
  const source = ({ start, end }: Node) => text.slice(start, end)
  const helpers = nodes.flatMap((node) => {
    const { id } = node
    const isHelper = node.type === 'FunctionDeclaration' || node.type === 'VariableDeclarator'
    return isHelper && isNode(id) && typeof id['name'] === 'string' && EXPECTS.test(source(node))
      ? [id['name']]
      : []
  })
  const fits = (code: string) =>
    EXPECTS.test(code) || WAITS.test(code) || helpers.some((name) => code.includes(`${name}(`))
  return nodes.flatMap((node) => {
    if (node.type !== 'CallExpression' || !/^(?:it|test)$/.test(String(calledName(node['callee'])))) return []
    const work = [...(node['arguments'] as Node[])].find(({ type }) => /Function/.test(type))
    return work && !fits(source(work)) ? [node.loc.start.line] : []
  })
}

function* testFiles(folder: string): Generator<string> {
  for (const item of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, item.name)
    if (item.isDirectory() && !/^(?:node_modules|dist|\..*)$/.test(item.name)) yield* testFiles(path)
    else if (item.name.endsWith('.test.ts')) yield path
  }
}

describe('a test', () => {
  it('has something that can fail', () => {
    const files = [...testFiles(join(root, 'packages')), ...testFiles(join(root, 'test'))]
    expect(files.length).toBeGreaterThan(100)
    const idle = files.flatMap((file) =>
      idleTests(readFileSync(file, 'utf8')).map(
        (line) => `${relative(root, file).split(sep).join('/')}:${line}`,
      ),
    )
    expect(idle).toEqual([])
  })

  it.each<[string, number]>([
    ["it('x', () => { expect(1).toBe(1) })", 0],
    ["it('x', async () => { await until(() => true) })", 0],
    ["function same(a) { expect(a).toBe(1) }\nit('x', () => { same(1) })", 0],
    ["it('x', () => { run() })", 1],
    ["it.each([1])('x', () => { run() })", 1],
    ["it.skipIf(true)('x', () => { run() })", 1],
    ["describe('x', () => { test('y', async () => { await run() }) })", 1],
  ])('of the form %j: %i without', (text, count) => {
    expect(idleTests(text)).toHaveLength(count)
  })
})
