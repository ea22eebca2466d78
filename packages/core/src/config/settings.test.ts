// The keys besides the servers: where they count, and that a fault in them never opens access.
import { describe, expect, it } from 'vitest'
import { read, source } from './fixtures/source.ts'
import type { Source } from './sources.ts'
import type { Scope } from './types.ts'

const settings = source('settings', 'user')
const managed = source('managed-mcp', 'enterprise', { product: 'shared' })
const policy = source('settings', 'enterprise', { product: 'claude' })

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

  it('warn of a slip in the name of a list of rules, and say which was meant', () => {
    const text = '{"mcpServrs": {}, "permissions": {"dney": ["mcp__a"], "ask": []}}'
    expect(read(text, settings).diagnostics.map(({ path, hint }) => [path, hint])).toEqual([
      ['mcpServrs', 'It is ignored. Did you mean "mcpServers"?'],
      ['permissions.dney', 'It is ignored. Did you mean "deny"?'],
    ])
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

describe('what is said about a key', () => {
  const said = (text: string, from: Source = settings) =>
    read(text, from).diagnostics.map(
      ({ severity, path, message, hint, topic }) =>
        `${severity} ${path}: ${message} | ${hint}${topic === undefined ? '' : ` (${topic})`}`,
    )
  it.each<[string, Source, string[]]>([
    [
      '{"colour": 1}',
      settings,
      ['warning colour: unknown key "colour" | It is ignored; `plugboard config schema` lists the keys.'],
    ],
    [
      '{"permissions": {"dney": []}}',
      settings,
      ['error permissions.dney: unknown key "dney" | It is ignored. Did you mean "deny"? (rules)'],
    ],
    [
      '{"permissions": {"somethingElse": []}}',
      settings,
      [
        'warning permissions.somethingElse: unknown key "somethingElse" | It is ignored; `plugboard config schema` lists the keys. (rules)',
      ],
    ],
    [
      '{"hooks": {}}',
      source('settings', 'project'),
      [
        'warning hooks: "hooks" has no effect in a project file | It counts in enterprise and user and local settings only.',
      ],
    ],
    // Another product's hooks are for its own tools; an administrator's are for all.
    ['{"hooks": {}}', source('settings', 'project', { product: 'claude' }), []],
    ['{"hooks": {}}', source('settings', 'user', { product: 'claude' }), []],
    [
      '{"resident": 5}',
      settings,
      [
        'error resident: "resident" is not valid: expected true, false or {"idleMs": …} | The whole key was ignored.',
      ],
    ],
    [
      '{"disabledServers": ["a", 1]}',
      settings,
      [
        'error disabledServers.1: "disabledServers" is not valid: expected a string | Correct it; the valid parts of the key still apply.',
      ],
    ],
    [
      '{"permissions": {"deny": ["files/!"], "ask": [5, "ok"]}}',
      settings,
      [
        expect.stringMatching(
          /^error permissions\.ask\.0: "permissions" is not valid: expected a string \| .*\(rules\)$/,
        ),
        expect.stringMatching(/^error permissions\.deny\[0\]: the deny rule "files\/!" .*\(rules\)$/),
      ],
    ],
    ['{"permissions": {"deny": ["Bash(rm)"]}}', source('settings', 'user', { product: 'claude' }), []],
  ])('%s', (text, from, messages) => {
    expect(said(text, from)).toEqual(messages)
  })

  it.each<[string, Source, object]>([
    ['{"hooks": {"a": 1}}', settings, { hooks: { a: 1 } }],
    ['{"hooks": {"a": 1}}', source('settings', 'user', { product: 'claude' }), {}],
    ['{"hooks": {"a": 1}}', policy, { hooks: { a: 1 } }],
    ['{"hooks": {"a": 1}}', source('settings', 'project'), {}],
    ['{"allowManagedMcpServersOnly": "yes"}', policy, { allowManagedMcpServersOnly: true }],
    ['{"builtins": {"a": false, "b": true, "c": 1}}', settings, { builtins: { a: false } }],
    ['{"builtins": 5}', settings, { builtins: {} }],
    ['{"builtins": null}', settings, { builtins: {} }],
    ['{"builtins": {"a": false, "b": true}, "oops": }', settings, { builtins: { a: false } }],
    ['{"disabledServers": ["a"], "oops": }', settings, { disabledServers: ['a'] }],
    ['{"permissions": {"deny": "mcp__a"}}', settings, { permissions: { deny: ['mcp__a'], ask: [] } }],
    ['{"permissions": {"ask": 5, "allow": ["mcp__a"]}}', settings, { permissions: { deny: [], ask: [] } }],
    ['{"permissions": "mcp__a"}', settings, {}],
    ['{"permissions": null}', settings, {}],
    ['{"permissions": {"ask": ["mcp__a"]}, "oops": }', settings, { permissions: { ask: ['mcp__a'] } }],
    ['{"allowedMcpServers": 5}', settings, { allowedMcpServers: [] }],
    ['{"deniedMcpServers": 5}', settings, {}],
    ['{"deniedMcpServers": []}', policy, { deniedMcpServers: [] }],
    ['{"resident": true, "oops": }', settings, {}],
  ])('%s leaves what is right, and what restricts', (text, from, expected) => {
    expect(read(text, from).settings).toStrictEqual(expected)
  })
})
