import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ServerEntry } from './entry.ts'
import { admit, globMatches, LOCKED, type PolicyPart, urlMatches } from './policy.ts'
import type { PolicyMatcher } from './settings.ts'

const stdio = (...words: [string, ...string[]]): ServerEntry => ({
  type: 'stdio',
  command: words[0],
  args: words.slice(1),
  env: {},
})
const http = (url: string): ServerEntry => ({ type: 'http', url, headers: {} })
const sdk: ServerEntry = { type: 'sdk' }
const part = (settings: PolicyPart['settings'], scope: PolicyPart['scope'] = 'enterprise'): PolicyPart => ({
  file: `${scope}.json`,
  scope,
  settings,
})
const allow = (...allowedMcpServers: PolicyMatcher[]) => part({ allowedMcpServers })
const deny = (...deniedMcpServers: PolicyMatcher[]) => part({ deniedMcpServers })
const admitted = (name: string, entry: ServerEntry, ...parts: PolicyPart[]) =>
  admit(name, entry, parts, false).admitted

describe('what an allowed server may do besides', () => {
  const command: PolicyMatcher = { serverCommand: ['node', 'x.js'] }
  const entry = (more: object) => ({ ...stdio('node', 'x.js'), ...more }) as ServerEntry
  const url: PolicyMatcher = { serverUrl: 'https://a/*' }
  const helped = { ...http('https://a/x'), headersHelper: 'id' } as ServerEntry

  it.each<[string, boolean, ServerEntry, PolicyMatcher]>([
    ['nothing', true, entry({}), command],
    [
      'harmless variables',
      true,
      entry({ env: { TZ: 'UTC', LC_ALL: 'C', GITHUB_TOKEN: 'x', OPENAI_API_KEY: 'x' } }),
      command,
    ],
    ['a variable that loads code', false, entry({ env: { NODE_OPTIONS: '--require /tmp/x' } }), command],
    ['the same in other letters', false, entry({ env: { node_options: 'x' } }), command],
    ['another PATH', false, entry({ env: { PATH: '/tmp' } }), command],
    ['LD_PRELOAD', false, entry({ env: { LD_PRELOAD: '/tmp/x.so' } }), command],
    ['npm settings', false, entry({ env: { npm_config_node_options: 'x' } }), command],
    ['a variable that is named', true, entry({ env: { DB: 'x' } }), { ...command, env: ['DB'] }],
    ['one beside it', false, entry({ env: { DB: 'x', PATH: '/tmp' } }), { ...command, env: ['DB'] }],
    ['any variable', true, entry({ env: { PATH: '/tmp' }, inheritEnv: true }), { ...command, env: '*' }],
    ['all variables of the user', false, entry({ inheritEnv: true }), command],
    ['another folder', false, entry({ cwd: '/tmp' }), command],
    ['a folder that may be named', true, entry({ cwd: '/tmp' }), { ...command, cwd: true }],
    ['a helper', false, helped, url],
    ['a helper that may be there', true, helped, { ...url, headersHelper: true }],
  ])('%s: %s', (_, expected, given, matcher) => expect(admitted('a', given, allow(matcher))).toBe(expected))

  it('is said in the reason', () => {
    expect(admit('a', helped, [allow(url)], false)).toMatchObject({
      reason: 'serverUrl "https://a/*" does not cover its "headersHelper"',
    })
  })

  it('is no way around a ban', () => {
    const dodging = entry({ env: { X: '1' }, cwd: '/tmp', inheritEnv: true })
    expect(admitted('a', dodging, deny(command))).toBe(false)
    expect(admitted('a', helped, deny(url))).toBe(false)
  })

  it('a ban covers the program by its path and the name in other letters; an allow list admits neither', () => {
    for (const word of ['/usr/bin/node', './node', 'C:\\node\\node.exe', 'node.cmd']) {
      expect(admitted('a', stdio(word, 'x.js'), deny(command))).toBe(false)
      expect(admitted('a', stdio(word, 'x.js'), allow(command))).toBe(false)
    }
    expect(admitted('a', stdio('/usr/bin/nodejs', 'x.js'), deny(command))).toBe(true)
    expect(admitted('GitHub', stdio('x'), deny({ serverName: 'github' }))).toBe(false)
    expect(admitted('GitHub', stdio('x'), allow({ serverName: 'github' }))).toBe(false)
  })
})

describe('the lists', () => {
  const git = stdio('git-mcp', '--all')
  it.each<[string, boolean, PolicyPart[]]>([
    ['no list admits everything', true, []],
    ['an empty allow list admits nothing', false, [allow()]],
    ['an empty deny list denies nothing', true, [deny()]],
    ['a name admits', true, [allow({ serverName: 'git' })]],
    ['another name does not', false, [allow({ serverName: 'Git' })]],
    ['an exact command admits', true, [allow({ serverCommand: ['git-mcp', '--all'] })]],
    ['a shorter command does not', false, [allow({ serverCommand: ['git-mcp'] })]],
    ['a longer command does not', false, [allow({ serverCommand: ['git-mcp', '--all', ''] })]],
    ['words are not joined', false, [allow({ serverCommand: ['git-mcp --all'] })]],
    [
      'deny beats allow',
      false,
      [allow({ serverName: 'git' }), deny({ serverCommand: ['git-mcp', '--all'] })],
    ],
    [
      'deny beats allow in any file',
      false,
      [part({ deniedMcpServers: [{ serverName: 'git' }] }, 'user'), allow({ serverName: 'git' })],
    ],
    [
      'lists of several files add up',
      true,
      [allow({ serverName: 'x' }), part({ allowedMcpServers: [{ serverName: 'git' }] }, 'user')],
    ],
    [
      'once commands are listed, a name no longer admits a command',
      false,
      [allow({ serverName: 'git' }, { serverCommand: ['other'] })],
    ],
    ['URL entries do not bind commands', true, [allow({ serverName: 'git' }, { serverUrl: 'https://a/*' })]],
  ])('%s', (_, expected, parts) => expect(admitted('git', git, ...parts)).toBe(expected))

  it('once URLs are listed, a name no longer admits a remote server', () => {
    const lists = allow({ serverName: 'web' }, { serverUrl: 'https://ok.example/*' })
    expect(admitted('web', http('https://evil.test/mcp'), lists)).toBe(false)
    expect(admitted('any', http('https://ok.example/mcp'), lists)).toBe(true)
    expect(admitted('web', stdio('x'), lists)).toBe(true)
  })

  it('allowManagedMcpServersOnly leaves the user’s own allow lists out, and keeps every ban', () => {
    const mine = part(
      { allowedMcpServers: [{ serverName: 'a' }], deniedMcpServers: [{ serverName: 'b' }] },
      'user',
    )
    const theirs = part({
      allowManagedMcpServersOnly: true,
      allowedMcpServers: [{ serverName: 'b' }, { serverName: 'c' }],
    })
    expect(['a', 'b', 'c'].map((name) => admitted(name, stdio('x'), mine, theirs))).toEqual([
      false,
      false,
      true,
    ])
    expect(admitted('a', stdio('x'), mine, part({ allowManagedMcpServersOnly: true }))).toBe(false)
  })

  it('what the program hands over passes the allow list, but not a ban', () => {
    expect(admit('s', sdk, [allow()], true).admitted).toBe(true)
    expect(admit('s', sdk, [deny({ serverName: 's' })], true).admitted).toBe(false)
  })

  it('an unreadable file of the administrator closes everything, whatever the user lists', () => {
    const own = part({ allowedMcpServers: [{ serverName: 'a' }] }, 'user')
    expect(admitted('a', stdio('x'), part(LOCKED), own)).toBe(false)
    expect(admitted('a', stdio('x'), own)).toBe(true)
  })

  it('a listed command admits no URL, and a listed URL no command', () => {
    expect(admitted('a', http('https://a/x'), allow({ serverCommand: ['x'] }))).toBe(false)
    expect(admitted('a', http('https://a/x'), deny({ serverCommand: ['x'] }))).toBe(true)
    expect(admitted('a', stdio('x'), allow({ serverUrl: 'https://a/*' }))).toBe(false)
    expect(admitted('a', stdio('x'), deny({ serverUrl: '*' }))).toBe(true)
  })

  it('every verdict names its rule and file', () => {
    expect(admit('a', stdio('x', 'y'), [deny({ serverCommand: ['x', 'y'] })], false)).toMatchObject({
      reason: 'denied by policy (serverCommand ["x","y"])',
    })
    expect(admit('a', http('https://a/'), [deny({ serverUrl: 'https://a/*' })], false)).toMatchObject({
      reason: 'denied by policy (serverUrl "https://a/*")',
    })
    expect(admit('a', stdio('x'), [deny({ serverName: 'a' })], false)).toEqual({
      admitted: false,
      reason: 'denied by policy (serverName "a")',
      file: 'enterprise.json',
    })
    expect(admit('a', stdio('x'), [allow()], false)).toMatchObject({
      reason: 'not on the allow list',
      file: 'enterprise.json',
    })
    expect(admit('a', stdio('x'), [allow({ serverName: 'a' })], false)).toMatchObject({
      by: 'serverName "a" in enterprise.json',
    })
  })
})

describe('a URL on an allow list', () => {
  it.each<[pattern: string, url: string, fits: boolean]>([
    ['*', 'https://a/x', true],
    ['*', '${HOST}/mcp', true],
    ['*/mcp', '${HOST}/mcp', true],
    ['https://*', '${HOST}/mcp', false],
    ['*', 'https://anything/x', true],
    ['https://a.example/mcp', 'https://a.example/mcp', true],
    ['https://a.example/mcp', 'https://a.example/mcp/', false],
    ['https://a.example/mcp', 'https://a.example/mcp?x=1', false],
    ['https://a.example/mcp*', 'https://a.example/mcp?x=1', true],
    ['https://a.example/*', 'https://a.example/', true],
    ['https://a.example', 'https://a.example/', true],
    ['https://a.example', 'https://a.example/mcp', false],
    ['https://*.example/*', 'https://b.example/x', true],
    ['https://*.example/*', 'https://example/x', false],
    ['https://*', 'https://b.example/x', true],
    ['https://*', 'http://b.example/x', false],
    ['http://localhost:*', 'http://localhost:3000/mcp', true],
    ['http://localhost:*/*', 'http://localhost:3000/mcp', true],
    ['a.example', 'https://a.example/mcp', true],
    ['a.example/*', 'wss://a.example/mcp', true],
    ['*.a.example', 'https://x.a.example/', true],
    ['*://a.example/*', 'ws://a.example/x', true],
    // Spellings of the same place.
    ['https://A.Example/*', 'HTTPS://a.EXAMPLE/x', true],
    ['https://a.example:443/*', 'https://a.example/x', true],
    ['https://a.example/*', 'https://a.example:443/x', true],
    ['https://a.example/*', 'https://a.example./x', true],
    ['https://bücher.example/*', 'https://xn--bcher-kva.example/x', true],
    ['https://xn--bcher-kva.example/*', 'https://bücher.example/x', true],
    ['https://a.example/mcp', 'https://a.example/%6dcp', true],
    // Tricks.
    ['https://a.example/*', 'https://a.example@evil.test/x', false],
    ['https://a.example/*', 'https://a.example:x@evil.test/x', false],
    ['https://a.example/*', 'https://evil.test/?https://a.example/', false],
    ['https://a.example/*', 'https://a.example.evil.test/x', false],
    ['https://*.example/*', 'https://evil.test/.example/', false],
    ['https://*.example/*', 'https://evil.test/x?.example/', false],
    ['https://*.example/*', 'https://evil.test#.example/', false],
    ['https://*.example/*', 'https://evil.test\\.example/', false],
    ['https://a.example/*', 'https://a.example:8443/x', false],
    ['https://a.example/*', 'http://a.example/x', false],
    ['https://a.example/*', 'wss://a.example/x', false],
    ['https://a.example/ok/*', 'https://a.example/ok/../admin', false],
    ['https://a.example/ok/*', 'https://a.example/ok/%2e%2e/admin', false],
    ['https://a.example/*', 'https://\u0430.example/x', false],
    ['https://a.example/MCP', 'https://a.example/mcp', false],
    ['http://127.0.0.1/*', 'http://0x7f.1/x', true],
    ['http://[::1]:80/*', 'http://[0:0::1]/x', true],
  ])('%s · %s → %s', (pattern, url, fits) => expect(urlMatches(pattern, url)).toBe(fits))
})

describe('a URL on a deny list covers every spelling of the place', () => {
  it.each([
    ['https://evil.test/mcp', 'https://evil.test/mcp/'],
    ['https://evil.test/mcp', 'https://evil.test/mcp?x'],
    ['https://evil.test/mcp', 'https://evil.test/mcp#x'],
    ['https://evil.test/mcp/', 'https://evil.test/mcp'],
    ['https://evil.test/mcp', 'https://evil.test/%6D%63p'],
    ['https://evil.test/mcp', 'https://evil.test/a/../mcp'],
    ['https://evil.test', 'https://evil.test/any'],
    ['https://evil.test/*', 'https://evil.test./x'],
    ['https://evil.test/*', 'https://EVIL.test:443/x'],
    ['https://evil.test/*', 'https://user:pw@evil.test/x'],
    ['https://evil.test/*', 'wss://evil.test/x'],
    ['http://evil.test/*', 'ws://evil.test/x'],
    ['evil.test', 'https://evil.test/x'],
  ])('%s · %s', (pattern, url) => {
    expect(admitted('x', http(url), deny({ serverUrl: pattern }))).toBe(false)
  })

  it('and no other place', () => {
    for (const url of ['https://evil.test/mcp2', 'https://notevil.test/mcp', 'http://evil.test/mcp'])
      expect(admitted('x', http(url), deny({ serverUrl: 'https://evil.test/mcp' }))).toBe(true)
  })
})

describe('wildcards', () => {
  it('mean what the regular expression with .* means', () => {
    const letters = fc.constantFrom('a', 'b', '*', '.', '/')
    const word = fc.array(letters, { maxLength: 10 }).map((list) => list.join(''))
    fc.assert(
      fc.property(word, word, (pattern, raw) => {
        const text = raw.replaceAll('*', 'c')
        const regexp = new RegExp(`^${pattern.replace(/[./]/g, '\\$&').replaceAll('*', '.*')}$`, 's')
        expect(globMatches(pattern, text)).toBe(regexp.test(text))
      }),
      { numRuns: 500 },
    )
  })

  it('end, whatever the pattern', () => {
    expect(globMatches(`${'a*'.repeat(500)}b`, 'a'.repeat(5000))).toBe(false)
  })
})
