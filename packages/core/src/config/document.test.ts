// One file's text → definitions and settings, for every shape and with every fault in its place.
import { describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../limits.ts'
import { defineServer } from './document.ts'
import { ROOT, read, source } from './fixtures/source.ts'
import type { Source } from './sources.ts'

const settings = source('settings', 'user')
const mcpJson = source('mcp-json', 'project', { authorship: 'repository', product: 'shared' })
const managed = source('managed-mcp', 'enterprise', { product: 'shared' })
const names = (text: string, from: Source) => read(text, from).definitions.map(({ name }) => name)
const ok = '{"command": "x"}'

describe('where servers stand', () => {
  it.each<[string, string, Source, string[]]>([
    ['under mcpServers in .mcp.json', `{"mcpServers": {"a": ${ok}}}`, mcpJson, ['a']],
    ['at the top of a flat .mcp.json', `{"$schema": "s", "a": ${ok}, "b": ${ok}}`, mcpJson, ['a', 'b']],
    ['only under mcpServers when that is there', `{"mcpServers": {"a": ${ok}}, "b": ${ok}}`, mcpJson, ['a']],
    ['under mcpServers in settings', `{"mcpServers": {"a": ${ok}}, "b": ${ok}}`, settings, ['a']],
    ['not at the top of settings', `{"b": ${ok}}`, settings, []],
    [
      'at the top of a flat managed file, beside its policy',
      `{"allowedMcpServers": [], "a": ${ok}}`,
      managed,
      ['a'],
    ],
    [
      'at the top level of ~/.claude.json',
      `{"mcpServers": {"a": ${ok}}, "projects": {"${ROOT}": {"mcpServers": {"b": ${ok}}}}}`,
      source('claude-json', 'user'),
      ['a'],
    ],
    [
      'under the project of ~/.claude.json',
      `{"mcpServers": {"a": ${ok}}, "projects": {"${ROOT}": {"mcpServers": {"b": ${ok}}}, "/q": {"mcpServers": {"c": ${ok}}}}}`,
      source('claude-json-project', 'local'),
      ['b'],
    ],
    ['nowhere in an empty file', '', mcpJson, []],
    ['nowhere in a list of the wrong type', '{"projects": []}', source('claude-json-project', 'local'), []],
    ['at the last of two equal names', `{"mcpServers": {"a": 1, "a": ${ok}}}`, mcpJson, ['a']],
  ])('%s', (_, text, from, expected) => {
    expect(names(text, from)).toEqual(expected)
    expect(read(text, from).definitions.every(({ entry }) => entry)).toBe(true)
  })
})

describe('a fault', () => {
  it('of an entry names file, line, path and server, and spares the other entries', () => {
    const text = `{\n  "mcpServers": {\n    "good": ${ok},\n    "bad": {\n      "command": "x",\n      "args": ["a",\n        null]\n    }\n  }\n}`
    const [good, bad] = read(text, mcpJson).definitions
    expect(good).toMatchObject({ name: 'good', line: 3, faults: [], entry: { command: 'x' } })
    expect(bad).toMatchObject({ name: 'bad', line: 4 })
    expect(bad?.entry).toBeUndefined()
    expect(bad?.faults).toEqual([
      {
        severity: 'error',
        file: '/x/mcp-json.json',
        line: 7,
        column: 9,
        path: 'mcpServers.bad.args[1]',
        server: 'bad',
        message: 'expected a string, found null',
        hint: expect.any(String),
      },
    ])
  })

  it.each([
    ['codebase', 'reserved'],
    ['a/b', 'names may not have'],
    ['git\u0433ub', 'U+0433'],
    ['', 'empty'],
  ])('of the name %j skips that entry only', (name, word) => {
    const { definitions } = read(`{"mcpServers": {${JSON.stringify(name)}: ${ok}, "fine": ${ok}}}`, mcpJson)
    expect(definitions.map(({ entry }) => Boolean(entry))).toEqual([false, true])
    expect(definitions[0]?.faults[0]).toMatchObject({ line: 1, message: expect.stringContaining(word) })
  })

  it('of the name is not excused by calling the entry an sdk one: only a program may choose any name', () => {
    const text = '{"mcpServers": {"codebase": {"type": "sdk"}, "a/\\u001b[31m": {"type": "sdk"}}}'
    expect(read(text, mcpJson).definitions.filter(({ entry }) => entry)).toEqual([])
    expect(read(text, source('mcp-json', 'dynamic')).definitions.filter(({ entry }) => entry)).toHaveLength(2)
  })

  it.each([
    ['mcpServers of the wrong type', '{\n "mcpServers": [] }', '"mcpServers" must be an object', 2],
    ['a file that holds no object', '[1]', 'the file must hold an object', 1],
    ['a syntax error', '{\n\n  "a": }', 'a value is missing', 3],
  ])('%s leaves no servers and says where', (_, text, message, line) => {
    const { definitions, diagnostics } = read(text, mcpJson)
    expect(definitions).toEqual([])
    expect(diagnostics).toMatchObject([{ severity: 'error', line, message }])
  })

  it('__proto__ defines nothing and is said', () => {
    const { definitions, diagnostics } = read(`{"mcpServers": {"__proto__": ${ok}, "a": ${ok}}}`, mcpJson)
    expect(definitions.map(({ name }) => name)).toEqual(['a'])
    expect(diagnostics).toMatchObject([{ severity: 'warning', path: 'mcpServers.__proto__' }])
  })

  it('shows no character that could act on a terminal', () => {
    const key = JSON.stringify('k\u001b[2J\u009b\u202e')
    const text = `{"mcpServers": {"a": {"command": "x", ${key}: 1, ${key}: 1}, ${key}: {}}, ${key}: 1}`
    const { diagnostics, definitions } = read(text, settings)
    const shown = [...diagnostics, ...definitions.flatMap(({ faults }) => faults)]
    expect(shown.length).toBeGreaterThanOrEqual(4)
    for (const { message, path = '' } of shown) expect(message + path).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(shown[0]?.message).toContain('\\u{1b}[2J')
  })

  it('too many servers are cut off, and that is said', () => {
    const many = Array.from({ length: CONFIG_LIMITS.entriesPerFile + 1 }, (_, index) => `"s${index}": ${ok}`)
    const { definitions, diagnostics } = read(`{"mcpServers": {${many.join(',\n')}}}`, mcpJson)
    expect(definitions).toHaveLength(CONFIG_LIMITS.entriesPerFile)
    expect(diagnostics).toMatchObject([{ severity: 'error', line: CONFIG_LIMITS.entriesPerFile + 1 }])
  })
})

describe('a file that is not usable as a whole', () => {
  const wrongShape = {
    severity: 'error',
    line: 1,
    column: 1,
    message: 'the file must hold an object',
    hint: 'Write { "mcpServers": { … } }.',
  }
  it.each<[string, 'unreadable' | 'empty' | undefined, Source, object[]?]>([
    ['', 'empty', mcpJson],
    ['  // later\n', 'empty', settings],
    ['{}', undefined, mcpJson],
    [`{"mcpServers": {"a": ${ok}}}`, undefined, mcpJson],
    ['{"mcpServers": {', 'unreadable', mcpJson],
    ['[1', 'unreadable', mcpJson, [{ message: 'a closing ] is missing' }]],
    ['[1]', 'unreadable', mcpJson, [{ file: '/x/mcp-json.json', ...wrongShape }]],
    ['"x"', 'unreadable', settings, [{ file: '/x/settings.json', ...wrongShape }]],
    ['{"mcpServers": []}', 'unreadable', mcpJson],
    ['{"other": []}', undefined, source('claude-json', 'user')],
    ['{"projects": []}', undefined, source('claude-json-project', 'local')],
    [`{"projects": {"${ROOT}": {"mcpServers": 5}}}`, 'unreadable', source('claude-json-project', 'local')],
  ])('%j is %s', (text, unusable, from, diagnostics) => {
    const document = read(text, from)
    expect(document.unusable).toBe(unusable)
    expect('unusable' in document).toBe(unusable !== undefined)
    if (diagnostics) expect(document.diagnostics).toMatchObject(diagnostics)
  })

  it('locks what an administrator wrote, and nothing else', () => {
    const locked = { allowManagedMcpServersOnly: true, allowedMcpServers: [] }
    expect(read('[1]', managed).settings).toEqual(locked)
    expect(read('[1]', settings).settings).toEqual({})
  })

  it('is not judged by parts of another product’s file that are none of ours', () => {
    const twice = '"history": {"a": 1, "a": 2}'
    expect(read(`{${twice}, "mcpServers": {}}`, source('claude-json', 'user')).diagnostics).toEqual([])
    expect(read(`{${twice}, "projects": {}}`, source('claude-json-project', 'local')).diagnostics).toEqual([])
    expect(read(`{${twice}, "mcpServers": {}}`, mcpJson).diagnostics).toHaveLength(1)
  })

  it('has no settings where the shape has none', () => {
    const text = '{"disabledServers": ["a"], "colour": 1}'
    expect(read(text, settings).settings).toEqual({ disabledServers: ['a'] })
    expect(read(text, source('claude-json', 'user'))).toMatchObject({ settings: {}, diagnostics: [] })
    expect(read('{"disabledServers": ["a"], "mcpServers": {}}', managed).settings).toEqual({
      disabledServers: ['a'],
    })
  })
})

describe('one definition', () => {
  const [defined] = [read(`{\n  "mcpServers": {"a": ${ok}}}`, mcpJson).definitions[0]]

  it('knows where it stands and what was written', () => {
    expect(defined).toStrictEqual({
      name: 'a',
      source: mcpJson,
      line: 2,
      path: 'mcpServers.a',
      written: { command: 'x' },
      entry: { type: 'stdio', command: 'x', args: [], env: {} },
      faults: [],
    })
    expect(read(`{"a": ${ok}}`, mcpJson).definitions[0]?.path).toBe('a')
    expect(
      read(`{"projects": {"${ROOT}": {"mcpServers": {"a": ${ok}}}}}`, source('claude-json-project', 'local'))
        .definitions[0]?.path,
    ).toBe(`projects["${ROOT}"].mcpServers.a`)
  })

  it('of a program has no line, and its faults have none either', () => {
    const api = source('settings', 'dynamic')
    expect(defineServer('a', { command: 'x' }, api)).toStrictEqual({
      name: 'a',
      source: api,
      path: 'mcpServers.a',
      written: { command: 'x' },
      entry: { type: 'stdio', command: 'x', args: [], env: {} },
      faults: [],
    })
    expect(defineServer('a b', { command: 'x' }, api).faults).toStrictEqual([
      {
        severity: 'error',
        file: '/x/settings.json',
        server: 'a b',
        path: 'mcpServers.a b',
        message:
          'the server name "a b" has a character that names may not have (U+0020); the entry is skipped',
        hint: 'Use letters a-z, digits, - and _; for example "a-b".',
      },
    ])
    expect(defineServer('a b', null, api).entry).toBeUndefined()
    expect(defineServer('a b', { type: 'sdk' }, api).entry).toBeDefined()
    expect(defineServer('a', { comand: 'x' }, api, { line: 3, column: 4 }).faults).toStrictEqual([
      {
        severity: 'error',
        file: '/x/settings.json',
        server: 'a',
        line: 3,
        column: 4,
        path: 'mcpServers.a',
        message: 'has neither "command" nor "url"',
        hint: '"comand" is not a key. Did you mean "command"?',
      },
    ])
    expect(defineServer('a b', {}, api, { line: 3, column: 4 }).faults).toMatchObject([
      { line: 3, column: 4 },
    ])
  })

  it.each<[string, object, object]>([
    // The entry that another client has for this board is no fault, and no server.
    ['plugboard', { command: 'plugboard', args: ['connect'] }, { faults: [] }],
    ['plugboard', { command: 'npx', args: ['x'] }, { faults: [{ severity: 'error' }] }],
    [
      'board',
      { command: 'plugboard', args: ['serve'] },
      { entry: { disabled: true }, offBecause: 'it is this board itself', faults: [] },
    ],
    ['board', { command: 'plugboard', args: ['list'] }, { entry: { command: 'plugboard' } }],
  ])('%s = %j that starts this board', (name, written, expected) => {
    const { definitions } = read(JSON.stringify({ mcpServers: { [name]: written } }), mcpJson)
    expect(definitions).toMatchObject([expected])
    expect(Boolean(definitions[0]?.entry)).toBe(name === 'board')
    expect(definitions[0]?.entry?.disabled).toBe('offBecause' in expected ? true : undefined)
  })

  it.each(['$schema', 'allowedMcpServers', 'deniedMcpServers', 'allowManagedMcpServersOnly', 'permissions'])(
    'is not made of %s at the top, and is under mcpServers',
    (key) => {
      expect(names(`{"${key}": ${ok}}`, managed)).toEqual([])
      expect(names(`{"mcpServers": {"${key.replace('$', '')}": ${ok}}}`, managed)).toHaveLength(1)
    },
  )
})
