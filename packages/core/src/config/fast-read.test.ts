// The fast reader returns exactly what the full reader would, or nothing.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../limits.ts'
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

  const server = (entry: object) => ({ mcpServers: { a: entry } })
  const remote = { type: 'http', url: 'https://example.com/mcp' }
  const LONGEST = 2 ** 31 - 1

  /** Each holds one thing that decides; `false`: the full reader has to say something about it. */
  it.each<[unknown, boolean, Shape?]>([
    [server({ command: 'x' }), true],
    [server({ command: 'x', type: 'stdio' }), true],
    [server({ command: 'x', type: 'http' }), false],
    [server({ command: '' }), false],
    [server({ command: 'x', args: ['a', ''] }), true],
    [server({ command: 'x', args: ['a', 1] }), false],
    [server({ command: 'x', args: 'a' }), false],
    [server({ command: 'x', env: { A: 'b', C: '' } }), true],
    [server({ command: 'x', env: { A: 'b', C: 1 } }), false],
    [server({ command: 'x', env: ['A'] }), false],
    [server({ command: 'x', cwd: '/x' }), true],
    [server({ command: 'x', cwd: '' }), false],
    [server({ command: 'x', disabled: false, description: '' }), true],
    [server({ command: 'x', disabled: 'yes' }), false],
    [server({ command: 'x', description: 1 }), false],
    [server({ command: 'x', timeout: 0.5, connectTimeout: LONGEST }), true],
    [server({ command: 'x', timeout: 0 }), false],
    [server({ command: 'x', timeout: LONGEST + 1 }), false],
    [server({ command: 'x', timeout: '5' }), false],
    [server({ command: 'x', roots: false }), true],
    [server({ command: 'x', roots: ['/a', '/b'] }), true],
    [server({ command: 'x', roots: true }), false],
    [server({ command: 'x', roots: ['/a', ''] }), false],
    [server({ command: 'x', url: 'https://example.com' }), false],
    [server({ command: 'x', toString: 'y' }), false],
    [server({ command: 'node', args: ['/bin/plugboard.cjs', 'connect'] }), false],
    [server({ command: 'npx', args: ['-y', 'plugboard@1', 'serve'] }), false],
    [server({ command: 'plugboard', args: ['codebase'] }), true],
    [server(remote), true],
    [server({ ...remote, type: 'sse' }), true],
    [server({ ...remote, type: 'ws' }), false],
    [server({ url: remote.url }), false],
    [server({ type: 'http' }), false],
    [server({ ...remote, headers: { A: 'b' } }), true],
    [server({ ...remote, headers: { A: 1 } }), false],
    [server({ ...remote, env: {} }), false],
    [server({ ...remote, url: 'http://h.example:8080/a_b/~c.d/' }), true],
    [server({ ...remote, url: 'https://user@example.com/mcp' }), false],
    [server({ ...remote, url: `https://\${HOST}/mcp` }), false],
    [server({ ...remote, url: 'https://example.com:99999/mcp' }), false],
    [server({ ...remote, url: 'wss://example.com/mcp' }), false],
    [{ mcpServers: { 'with space': { command: 'x' } } }, false],
    [{ mcpServers: { a: [] } }, false],
    [{ mcpServers: [] }, false],
    [[], false],
    [{}, true],
    [{ $schema: 's', disabledServers: ['a'], disabledMcpjsonServers: ['b'] }, true],
    [{ $schema: 1 }, false],
    [{ disabledServers: 'a' }, false],
    [{ disabledServers: [1] }, false],
    [{ surprise: 1 }, false],
    [{ toString: 1 }, false],
    [{ permissions: {} }, false],
    [{ ...server({ command: 'x' }), surprise: 1 }, true, 'mcp-json'],
    [{ a: { command: 'x' } }, false, 'mcp-json'],
    [{}, false, 'mcp-json'],
    [server({ command: 'x' }), false, 'managed-mcp'],
    [{ ...server({ command: 'x' }), surprise: { mcpServers: 1 } }, true, 'claude-json'],
    [{}, true, 'claude-json'],
    [{ projects: { '/root': server({ command: 'x' }) } }, true, 'claude-json-project'],
    [{ projects: { '/other': server({ command: 'x' }) } }, true, 'claude-json-project'],
    [{ projects: { '/root': { mcpServers: [] } } }, false, 'claude-json-project'],
    [{ projects: [] }, true, 'claude-json-project'],
    [server({ command: 'x' }), true, 'claude-json-project'],
  ])('of %j answers: %s', (value, answers, shape = 'settings') => {
    for (const indent of [0, 2, '\t']) {
      const text = JSON.stringify(value, null, indent)
      const quick = readPlain(text, source(shape), '/root')
      expect(quick !== undefined).toBe(answers)
      if (quick) expect(quick).toStrictEqual(withoutLines(readDocument(text, source(shape), '/root')))
    }
  })

  it.each([
    ['model', true],
    ['permissions', false],
    ['enabledPlugins', false],
  ])('of another product’s settings with the key %s answers: %s', (key, answers) => {
    const text = JSON.stringify({ [key]: {}, disabledMcpjsonServers: ['a'] })
    const quick = readPlain(text, source('settings', 'claude'), '/root')
    expect(quick !== undefined).toBe(answers)
    if (quick) expect(quick.settings).toEqual({ disabledMcpjsonServers: ['a'] })
  })

  it('answers up to the limits of the full reader, and not beyond', () => {
    const { depth, entriesPerFile } = CONFIG_LIMITS
    const nested = (levels: number) => `{"x": ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const many = (count: number) =>
      JSON.stringify({
        mcpServers: Object.fromEntries(
          Array.from({ length: count }, (_, index) => [`s${index}`, { command: 'x' }]),
        ),
      })
    const answers = (text: string) => readPlain(text, source('claude-json'), '/root') !== undefined
    expect([depth, depth + 1].map((levels) => answers(nested(levels)))).toEqual([true, false])
    expect([entriesPerFile, entriesPerFile + 1].map((count) => answers(many(count)))).toEqual([true, false])
  })

  it.each([
    ['{"a": "x:", "b": ": \\" :", "c\\"": 1, "d\\\\": "\\\\"}', true],
    ['{ "a" :1, "b"\t:\r\n2 }', true],
    ['{"a": 1, "a" : 2}', false],
    ['{"a": [{"b": 1, "b": 2}]}', false],
    ['{"a": [{"__proto__": 1}]}', false],
    ['{"a": {"b": {"__proto__": {}}}}', false],
    ['"a"', false],
    ['null', false],
  ])('counts the keys of %s', (text, answers) => {
    expect(readPlain(text, source('claude-json'), '/root') !== undefined).toBe(answers)
  })
})
