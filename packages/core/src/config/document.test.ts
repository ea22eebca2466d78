// One file's text → definitions and settings, for every shape and with every fault in its place.
import { describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../limits.ts'
import { readDocument } from './document.ts'
import type { Authorship, Shape, Source } from './sources.ts'
import type { Scope } from './types.ts'

const ROOT = '/work/project'
const source = (shape: Shape, scope: Scope, more: Partial<Source> = {}): Source => ({
  id: shape,
  scope,
  shape,
  authorship: 'user' as Authorship,
  file: `/x/${shape}.json`,
  product: 'plugboard',
  rank: 0,
  ...more,
})
const settings = source('settings', 'user')
const mcpJson = source('mcp-json', 'project', { authorship: 'repository', product: 'shared' })
const managed = source('managed-mcp', 'enterprise', { product: 'shared' })
const policy = source('settings', 'enterprise', { product: 'claude' })
const read = (text: string, from: Source) => readDocument(text, from, ROOT)
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

  it('too many servers are cut off, and that is said', () => {
    const many = Array.from({ length: CONFIG_LIMITS.entriesPerFile + 1 }, (_, index) => `"s${index}": ${ok}`)
    const { definitions, diagnostics } = read(`{"mcpServers": {${many.join(',\n')}}}`, mcpJson)
    expect(definitions).toHaveLength(CONFIG_LIMITS.entriesPerFile)
    expect(diagnostics).toMatchObject([{ severity: 'error', line: CONFIG_LIMITS.entriesPerFile + 1 }])
  })
})

describe('settings', () => {
  it('are read whole from a file in order', () => {
    const all = {
      allowedMcpServers: [{ serverName: 'a' }, { serverCommand: ['x'] }, { serverUrl: 'https://*' }],
      deniedMcpServers: [],
      managedServers: { url: 'https://a', bearerEnv: 'T' },
      claudeaiServers: { url: 'https://b' },
      plugins: ['p', { path: 'q', userConfig: { k: 1 } }],
      disabledServers: ['x'],
      disabledMcpjsonServers: ['y'],
      permissions: { allow: ['mcp__a'], ask: [], deny: ['mcp__b'] },
    }
    expect(read(JSON.stringify(all), settings)).toMatchObject({ settings: all, diagnostics: [] })
  })

  it.each<[Scope, string, boolean]>([
    ['user', 'allowedMcpServers', true],
    ['enterprise', 'allowedMcpServers', true],
    ['project', 'allowedMcpServers', false],
    ['local', 'deniedMcpServers', false],
    ['project', 'managedServers', false],
    ['local', 'claudeaiServers', false],
    ['user', 'allowManagedMcpServersOnly', false],
    ['project', 'disabledServers', true],
  ])('of a %s file: %s counts → %s', (scope, key, counts) => {
    const value = key.endsWith('Only')
      ? true
      : key.endsWith('McpServers') || key.startsWith('disabled')
        ? []
        : { url: 'https://a' }
    const { settings: found, diagnostics } = read(JSON.stringify({ [key]: value }), source('settings', scope))
    expect(key in found).toBe(counts)
    expect(diagnostics.map(({ severity, path }) => [severity, path])).toEqual(
      counts ? [] : [['warning', key]],
    )
  })

  it('warn of an unknown key in our own files, and leave other products’ keys alone', () => {
    const text = '{"$schema": "s", "toString": 1, "enabledMcpjsonServers": [], "colour": 2}'
    expect(read(text, settings).diagnostics.map(({ path }) => path)).toEqual(['toString', 'colour'])
    expect(read(text, source('settings', 'user', { product: 'claude' })).diagnostics).toEqual([])
  })
})

describe('a fault never opens a door', () => {
  it.each<[string, string, object]>([
    [
      'one bad matcher leaves the other bans',
      '{"deniedMcpServers": [{"serverName": "a"}, {"serverNmae": "b"}]}',
      { deniedMcpServers: [{ serverName: 'a' }] },
    ],
    [
      'one bad matcher leaves a shorter allow list',
      '{"allowedMcpServers": [{"serverName": "a"}, 3]}',
      { allowedMcpServers: [{ serverName: 'a' }] },
    ],
    ['an allow list that is none admits nothing', '{"allowedMcpServers": "a"}', { allowedMcpServers: [] }],
    [
      'one bad rule leaves the other rules that restrict',
      '{"permissions": {"deny": ["mcp__a", 1], "ask": ["mcp__b"], "allow": ["mcp__c"]}}',
      { permissions: { deny: ['mcp__a'], ask: ['mcp__b'] } },
    ],
    [
      'one bad name leaves the other servers off',
      '{"disabledServers": ["a", 1]}',
      { disabledServers: ['a'] },
    ],
  ])('%s', (_, text, expected) => {
    const { settings: found, diagnostics } = read(text, settings)
    expect(found).toEqual(expected)
    expect(diagnostics).toHaveLength(1)
    expect(diagnostics[0]).toMatchObject({ severity: 'error', line: 1, hint: expect.any(String) })
  })

  it('a fault is placed at the item, not at the key', () => {
    const text = '{\n  "disabledServers": [\n    "a",\n    1\n  ]\n}'
    expect(read(text, settings).diagnostics).toMatchObject([
      { line: 4, column: 5, path: 'disabledServers.1' },
    ])
  })

  it('what restricts still counts in a file with a syntax error, what grants does not', () => {
    const text =
      '{"deniedMcpServers": [{"serverName": "a"}], "permissions": {"deny": ["mcp__x"], "allow": ["mcp__y"]}, "plugins": ["p"], "oops": }'
    expect(read(text, settings).settings).toEqual({
      deniedMcpServers: [{ serverName: 'a' }],
      permissions: { deny: ['mcp__x'] },
    })
  })

  it.each<[string, string, Source]>([
    ['a syntax error', '{"deniedMcpServers": [{"serverName": "a"}', policy],
    ['no object', '[]', policy],
    ['a deny list that is none', '{"deniedMcpServers": {"serverName": "a"}}', policy],
    ['a syntax error in managed-mcp.json', '{"mcpServers": {', managed],
  ])('an administrator’s file with %s admits nothing', (_, text, from) => {
    expect(read(text, from).settings).toMatchObject({
      allowManagedMcpServersOnly: true,
      allowedMcpServers: [],
    })
  })

  it('an administrator’s switch of the wrong type is on', () => {
    expect(read('{"allowManagedMcpServersOnly": "true"}', policy).settings).toEqual({
      allowManagedMcpServersOnly: true,
    })
  })
})
