// The fast reader returns exactly what the full reader would, or nothing.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDocument } from './document.ts'
import { readPlain } from './fast-read.ts'
import type { Shape, Source } from './sources.ts'

const source = (shape: Shape, product: Source['product'] = 'plugboard'): Source => ({
  id: 'x',
  scope: shape === 'mcp-json' ? 'project' : 'user',
  shape,
  product,
  authorship: 'user',
  file: '/somewhere/settings.json',
  rank: 0,
})

/** What the fast reader does not know: positions. */
const withoutLines = (document: ReturnType<typeof readDocument>) => ({
  ...document,
  definitions: document.definitions.map(({ line: _, ...definition }) => definition),
})

const odd = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
)
const words = fc.oneof(fc.array(fc.string(), { maxLength: 3 }), odd)
const map = fc.oneof(fc.dictionary(fc.string({ maxLength: 5 }), fc.string(), { maxKeys: 3 }), odd)
const entry = fc.oneof(
  fc.record(
    {
      type: fc.oneof(fc.constantFrom('stdio', 'http', 'sse', 'ws', 'sdk', 'streamable-http', 'nope'), odd),
      command: fc.oneof(fc.string(), odd),
      args: words,
      env: map,
      url: fc.oneof(fc.webUrl(), fc.constant('https://example.com/mcp'), fc.string(), odd),
      headers: map,
      timeout: fc.oneof(fc.integer(), odd),
      disabled: fc.oneof(fc.boolean(), odd),
      cwd: odd,
      surprise: odd,
    },
    { requiredKeys: [] },
  ),
  odd,
)
const name = fc.oneof(
  fc.constantFrom('a', 'b', 'codebase', '__proto__', 'with space', 'constructor'),
  fc.string(),
)
const servers = fc.oneof(fc.dictionary(name, entry, { maxKeys: 4 }), odd)
const settings = fc.record(
  {
    mcpServers: servers,
    disabledServers: words,
    permissions: odd,
    plugins: odd,
    $schema: odd,
    surprise: odd,
  },
  { requiredKeys: [] },
)

describe('the fast read', () => {
  it('agrees with careful reading on every document it answers for', () => {
    const shapes = fc.constantFrom<Shape>(
      'settings',
      'mcp-json',
      'claude-json',
      'claude-json-project',
      'managed-mcp',
    )
    const products = fc.constantFrom<Source['product']>('plugboard', 'claude')
    let answered = 0
    fc.assert(
      fc.property(
        fc.oneof(settings, servers),
        shapes,
        products,
        fc.constantFrom(0, 2),
        (value, shape, product, indent) => {
          const text = JSON.stringify(value, null, indent)
          const from = source(shape, product)
          const quick = readPlain(text, from, '/root')
          if (!quick) return
          answered++
          expect(quick).toEqual(withoutLines(readDocument(text, from, '/root')))
        },
      ),
      { numRuns: 3000 },
    )
    expect(answered).toBeGreaterThan(100)
  })

  it('answers for the ordinary file', () => {
    const text = JSON.stringify({
      mcpServers: {
        a: { command: 'x', args: ['${A}'], env: { K: 'v' } },
        b: { type: 'http', url: 'https://example.com:8443/mcp', headers: { A: 'b' }, disabled: true },
      },
      disabledServers: ['a'],
    })
    expect(readPlain(text, source('settings'), '/root')?.definitions).toHaveLength(2)
  })

  it.each([
    ['plain', 'x'],
    ['escaped', '\\"\\\\'],
  ])('answers for a file with one %s string of many megabytes', (_, part) => {
    const text = JSON.stringify({ mcpServers: { a: { command: 'x' } }, pasted: part.repeat(8_000_000) })
    expect(readPlain(text, source('claude-json', 'claude'), '/root')?.definitions).toHaveLength(1)
  })

  it.each([
    ['comments', '{ /* c */ "mcpServers": {} }'],
    ['a repeated key', '{ "mcpServers": {}, "mcpServers": {} }'],
    ['a repeated key in disguise', '{ "mcpServers": {}, "mcpServer\\u0073": {} }'],
    ['a poisonous key', '{ "mcpServers": { "__proto__": { "command": "x" } } }'],
    ['a trailing comma', '{ "mcpServers": {}, }'],
    ['a byte order mark', '\uFEFF{ "mcpServers": {} }'],
    ['deep nesting', `{ "x": ${'['.repeat(100)}${']'.repeat(100)} }`],
    ['a key-like string', '{ "mcpServers": { "a": { "command": "\\": " , "oops": 1 } } }'],
  ])('leaves %s to the careful reader', (_, text) => {
    expect(readPlain(text, source('settings'), '/root')).toBeUndefined()
  })
})
