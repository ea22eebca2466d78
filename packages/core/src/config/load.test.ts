// Real folders, real files, every kind of bad input: a precise message, and all other servers unaffected.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput } from '../errors.ts'
import { asPlainUser } from '../files/fixtures/plain-user.ts'
import { systemHost } from '../host.ts'
import { type LoadOptions, loadConfiguration } from './load.ts'
import { addServer, setEnabled } from './manage.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-load-')))
  mkdirSync(join(base, 'home'))
  mkdirSync(join(base, 'p'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const at = (path: string) => join(base, path)
function put(path: string, data: unknown): string {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), typeof data === 'string' ? data : JSON.stringify(data))
  return at(path)
}
const servers = (...names: string[]) => ({
  mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])),
})
function load(options: Partial<Omit<LoadOptions, 'host'>> = {}, env: Record<string, string> = {}) {
  const host = systemHost({ env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed'), ...env } })
  return loadConfiguration({ host, cwd: at('p'), withoutBuiltins: true, withLines: true, ...options })
}
type Loaded = Awaited<ReturnType<typeof load>>
const shown = ({ servers: list }: Loaded) =>
  list.map(({ name, scope, disabled }) => `${name} ${scope}${disabled ? ` (${disabled.text})` : ''}`)
const errors = ({ diagnostics }: Loaded) => diagnostics.filter(({ severity }) => severity === 'error')

describe('what an archive was unpacked to', () => {
  const unpack = (path: string, data: unknown) => {
    const source = put(`made/${path}`, data)
    const long = new Date('2026-01-02')
    utimesSync(source, long, long)
    execFileSync('tar', ['-cf', at('made.tar'), '-C', at('made'), path])
    execFileSync('tar', ['-xf', at('made.tar'), '-C', at('p')])
  }

  it('waits for approval in the private files too, and hears what does not count', async () => {
    const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command: 'touch pwned' }] }] }
    unpack('.plugboard/settings.local.json', { ...servers('l1'), hooks, permissions: { allow: ['mcp__l1'] } })
    unpack('.claude/settings.local.json', servers('l2'))
    const loaded = await load()
    expect(shown(loaded)).toEqual(['l1 local (pending approval)', 'l2 local (pending approval)'])
    expect([loaded.hooks, loaded.rules]).toEqual([[], []])
    expect(loaded.diagnostics).toMatchObject([
      { severity: 'warning', path: 'hooks', message: expect.stringContaining('not approved') },
      { severity: 'warning', path: 'permissions.allow', message: expect.stringContaining('not approved') },
    ])
    expect(shown(await load({ approveProject: true }))).toEqual(['l1 local', 'l2 local'])
  })

  it('does not become the user’s own by an edit of ours', async () => {
    unpack('.plugboard/settings.local.json', servers('l1'))
    const host = systemHost({ env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') } })
    await addServer(await load(), host, { name: 'mine', written: { command: 'mine' }, scope: 'local' })
    await setEnabled(await load(), host, 'mine', false)
    await setEnabled(await load(), host, 'mine', true)
    expect(shown(await load())).toEqual(['l1 local (pending approval)', 'mine local'])
  })
})

describe('the user’s own folder', () => {
  it('is believed nowhere that a repository could have brought it', async () => {
    put('p/.plugboard/settings.json', servers('planted'))
    put('p/.plugboard/approvals.json', { projects: {} })
    for (const folder of [at('p/.plugboard'), '.plugboard', 'p'])
      await expect(load({}, { PLUGBOARD_HOME: folder })).rejects.toThrow(InvalidInput)
    put('mine/settings.json', servers('u'))
    expect(shown(await load({}, { PLUGBOARD_HOME: at('mine') }))).toContain('u user')
  })

  it('makes the home folder a trusted one to start in; what lies in it as a project’s still asks', async () => {
    put('home/.mcp.json', servers('m'))
    const loaded = await load({ cwd: at('home') })
    expect(loaded.folder).toEqual({ trusted: true, asked: false })
    expect(shown(loaded)).toEqual(['m project (pending approval)'])
  })
})

describe('where servers come from', () => {
  it('reads every file of the table, each into its scope', async () => {
    put('p/.plugboard/settings.local.json', servers('l1'))
    put('p/.claude/settings.local.json', servers('l2'))
    put('home/.claude.json', { ...servers('u3'), projects: { [at('p')]: servers('l3') } })
    put('p/.mcp.json', servers('p1'))
    put('p/.plugboard/settings.json', servers('p2'))
    put('p/.claude/settings.json', servers('p3'))
    put('home/.plugboard/settings.json', servers('u1'))
    put('home/.claude/settings.json', servers('u2'))
    const loaded = await load()
    expect(shown(loaded)).toEqual([
      'l1 local (pending approval)',
      'l2 local (pending approval)',
      'l3 local',
      'p1 project (pending approval)',
      'p2 project (pending approval)',
      'p3 project (pending approval)',
      'u1 user',
      'u2 user',
      'u3 user',
    ])
    expect(loaded.diagnostics).toEqual([])
  })

  it('the same name in user, project and local: local wins, and all three are known', async () => {
    put('p/.plugboard/settings.local.json', servers('a'))
    put('p/.mcp.json', servers('a'))
    put('home/.plugboard/settings.json', servers('a'))
    const loaded = await load()
    expect(shown(loaded)).toEqual(['a local (pending approval)'])
    expect(loaded.resolutions.get('a')?.contenders.map(({ definition }) => definition.source.file)).toEqual([
      at('p/.plugboard/settings.local.json'),
      at('p/.mcp.json'),
      at('home/.plugboard/settings.json'),
    ])
  })

  it('below the project folder, its files still count', async () => {
    put('p/.mcp.json', servers('a'))
    mkdirSync(at('p/deep/er'), { recursive: true })
    expect(shown(await load({ cwd: at('p/deep/er') }))).toEqual(['a project (pending approval)'])
  })

  it('nothing at all is no fault', async () => {
    expect(await load()).toMatchObject({ servers: [], diagnostics: [], hidden: [] })
  })
})

describe('the home folder as the project', () => {
  it.each([
    ['under its name', 'home'],
    ['through a link', 'link'],
  ])('has only the user’s own files (%s)', async (_, home) => {
    symlinkSync(at('home'), at('link'))
    put('home/.plugboard/settings.json', servers('u1'))
    put('home/.claude/settings.json', servers('u2'))
    put('home/.mcp.json', servers('m'))
    const loaded = await load({ cwd: at('home') }, { HOME: at(home) })
    expect(shown(loaded)).toEqual(['m project (pending approval)', 'u1 user', 'u2 user'])
  })
})

describe('bad input leaves all other servers alone', () => {
  const bad = 'home/.plugboard/settings.json'
  beforeEach(() => put('home/.claude/settings.json', servers('good')))

  it.each<[string, () => void, number | undefined, RegExp]>([
    [
      'broken JSON',
      () => put(bad, '{\n "mcpServers": {\n  "a": {"command" "x"}\n}}'),
      3,
      /a colon is missing/,
    ],
    ['a list', () => put(bad, '[]'), 1, /must hold an object/],
    ['servers of the wrong type', () => put(bad, '{\n"mcpServers": 3}'), 2, /"mcpServers" must be an object/],
    [
      'an entry of the wrong type',
      () => put(bad, '{"mcpServers":\n{"a": "npx x"}}'),
      2,
      /expected an object, found the string/,
    ],
    [
      'a folder in its place',
      () => mkdirSync(at(bad), { recursive: true }),
      undefined,
      /is a folder, not a file/,
    ],
    [
      'a link to itself',
      () => {
        mkdirSync(dirname(at(bad)))
        symlinkSync('settings.json', at(bad))
      },
      undefined,
      /leads to itself/,
    ],
    [
      'a pipe',
      () => {
        mkdirSync(dirname(at(bad)))
        execFileSync('mkfifo', [at(bad)])
      },
      undefined,
      /not a regular file/,
    ],
    ['50 MB', () => put(bad, `{"x": "${'y'.repeat(50_000_000)}"}`), undefined, /47\.7 MiB, larger than/],
    ['a hundred thousand levels', () => put(bad, '['.repeat(100_000)), 1, /nested more than/],
    ['a name with a separator', () => put(bad, servers('../a')), 1, /names may not have/],
    ['a look-alike name', () => put(bad, servers('gооd')), 1, /U\+043E/],
    ['a reserved name', () => put(bad, servers('codebase')), 1, /reserved/],
    [
      'text that is no text',
      () => {
        put(bad, '')
        writeFileSync(at(bad), Buffer.from([0, 1, 2, 255]))
      },
      1,
      /not a JSON value|JSON does not allow/,
    ],
  ])('%s', async (_, make, line, message) => {
    make()
    const loaded = await load()
    expect(shown(loaded)).toEqual(['good user'])
    expect(errors(loaded)).toHaveLength(1)
    expect(errors(loaded)[0]).toMatchObject({
      file: at(bad),
      message: expect.stringMatching(message),
      hint: expect.stringMatching(/\S/),
    })
    expect(errors(loaded)[0]?.line).toBe(line)
  })

  it('a file that may not be read', async () => {
    chmodSync(put(bad, servers('a')), 0)
    const loaded = await asPlainUser(base, () => load())
    expect(shown(loaded)).toEqual(['good user'])
    expect(errors(loaded)).toMatchObject([
      { file: at(bad), message: expect.stringContaining('permission denied') },
    ])
  })

  it.each<[string, string, RegExp]>([
    ['duplicate keys', '{"mcpServers": {"a": {"command": "1"},\n"a": {"command": "2"}}}', /twice/],
    ['__proto__', '{"mcpServers": {"__proto__": {"command": "x"},\n"a": {"command": "2"}}}', /not allowed/],
    [
      'a variable that is missing',
      '{"mcpServers": {"a": {"command": "2", "args": ["${NOPE}"]}}}',
      /NOPE is not set/,
    ],
  ])('%s only warn', async (_, text, message) => {
    put(bad, text)
    const loaded = await load()
    expect(shown(loaded)).toEqual(['a user', 'good user'])
    expect(loaded.servers[0]?.entry).toMatchObject({ command: '2' })
    expect(loaded.diagnostics).toMatchObject([
      { severity: 'warning', file: at(bad), message: expect.stringMatching(message) },
    ])
  })

  it.each([
    ['a byte order mark', '\uFEFF{"mcpServers": {"a": {"command": "x"}}}'],
    ['CRLF', '{\r\n"mcpServers": {\r\n"a": {"command": "x"}\r\n}\r\n}'],
  ])('%s is no fault at all', async (_, text) => {
    put(bad, text)
    expect(await load()).toMatchObject({ diagnostics: [], servers: [{ name: 'a' }, { name: 'good' }] })
  })

  it('circular variables stay what they are', async () => {
    put(bad, { mcpServers: { a: { command: '${A}', args: ['${B}'] } } })
    const loaded = await load({}, { A: '${B}', B: '${A}' })
    expect(loaded.servers[0]?.entry).toMatchObject({ command: '${B}', args: ['${A}'] })
  })

  it('a fault of ~/.claude.json, which is read for two scopes, is told once', async () => {
    put('home/.claude.json', '{"history": [1, 2}, "mcpServers": {"a": {"command": "x"}}}')
    const loaded = await load()
    expect(shown(loaded)).toEqual(['good user'])
    const places = errors(loaded).map(({ file, line, column }) => `${file}:${line}:${column}`)
    expect(places.length).toBeGreaterThan(0)
    expect(new Set(places).size).toBe(places.length)
  })

  it('approvals that cannot be read approve nothing, and say so', async () => {
    put('p/.mcp.json', servers('a'))
    put('home/.plugboard/approvals.json', '{')
    const loaded = await load()
    expect(shown(loaded)).toEqual(['a project (pending approval)', 'good user'])
    expect(errors(loaded)).toMatchObject([{ file: at('home/.plugboard/approvals.json') }])
  })
})

describe('a private file', () => {
  const git = (folder: string, ...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=t', '-c', 'user.email=t@e', '-c', 'protocol.file.allow=always', ...args],
      { cwd: at(folder), stdio: 'pipe' },
    )

  it('waits for a yes, whatever git knows of it', async () => {
    put('p/.plugboard/settings.local.json', { ...servers('a'), permissions: { allow: ['mcp__a'] } })
    for (const step of [[], ['init', '-q'], ['add', '-f', '.']]) {
      if (step.length > 0) git('p', ...step)
      const loaded = await load()
      expect(shown(loaded)).toEqual(['a local (pending approval)'])
      expect(loaded.rules).toEqual([])
    }
    expect(shown(await load({ approveProject: true }))).toEqual(['a local'])
  })

  it('waits for a yes when its folder is a submodule', async () => {
    put('lib/settings.local.json', servers('a'))
    git('lib', 'init', '-q')
    git('lib', 'add', '.')
    git('lib', 'commit', '-qm', 'x')
    git('p', 'init', '-q')
    git('p', 'submodule', 'add', '-q', at('lib'), '.plugboard')
    expect(shown(await load())).toEqual(['a local (pending approval)'])
  })
})

describe('the administrator’s files', () => {
  it('managed-mcp.json hides every other server, and says which', async () => {
    put('managed/managed-mcp.json', servers('corp'))
    put('home/.plugboard/settings.json', servers('mine'))
    const loaded = await load({ mcpConfig: [JSON.stringify(servers('typed'))] })
    expect(shown(loaded)).toEqual(['corp enterprise'])
    expect(loaded.exclusiveFile).toBe(at('managed/managed-mcp.json'))
    expect(loaded.hidden.map(({ name }) => name)).toEqual(['mine', 'typed'])
  })

  it.each<[string, () => void]>([
    ['broken', () => put('managed/managed-mcp.json', '{"mcpServers": {')],
    ['empty', () => put('managed/managed-mcp.json', '')],
    ['a folder', () => mkdirSync(at('managed/managed-mcp.json'), { recursive: true })],
  ])('managed-mcp.json that is %s fails closed', async (_, make) => {
    make()
    put('home/.plugboard/settings.json', servers('mine'))
    const loaded = await load()
    expect(loaded.servers).toEqual([])
    expect(loaded.hidden).toMatchObject([{ name: 'mine' }])
  })

  it('managed-settings.json admits and bans, also under --strict', async () => {
    put('managed/managed-settings.json', { deniedMcpServers: [{ serverName: 'b' }] })
    const loaded = await load({ strict: true, mcpConfig: [JSON.stringify(servers('a', 'b'))] })
    expect(shown(loaded)).toEqual([
      'a dynamic',
      `b dynamic (denied by policy (serverName "b"), ${at('managed/managed-settings.json')})`,
    ])
  })

  it.each<[string, () => void]>([
    ['broken', () => put('managed/managed-settings.json', '{"deniedMcpServers": [}')],
    ['a folder', () => mkdirSync(at('managed/managed-settings.json'), { recursive: true })],
  ])('managed-settings.json that is %s admits nothing', async (_, make) => {
    make()
    put('home/.plugboard/settings.json', { ...servers('mine'), allowedMcpServers: [{ serverName: 'mine' }] })
    const loaded = await load()
    expect(loaded.servers).toMatchObject([{ name: 'mine', disabled: { kind: 'policy' } }])
    expect(errors(loaded)[0]?.file).toBe(at('managed/managed-settings.json'))
  })
})

describe('what is given at run time', () => {
  it('--mcp-config takes a file, a relative file, JSON and the flat shape; the later one wins', async () => {
    put('p/one.json', servers('a', 'b'))
    const loaded = await load({
      mcpConfig: [
        'one.json',
        at('p/one.json'),
        ' {"mcpServers": {"b": {"command": "inline"}}} // mine',
        '{"c": {"url": "https://c/"}}',
      ],
    })
    expect(shown(loaded)).toEqual(['a dynamic', 'b dynamic', 'c dynamic'])
    expect(loaded.servers[1]).toMatchObject({ source: '--mcp-config', entry: { command: 'inline' } })
  })

  it('--strict leaves the servers of every other file alone, not what they forbid', async () => {
    const permissions = { deny: ['mcp__a__drop'] }
    put('home/.plugboard/settings.json', { ...servers('mine'), permissions })
    put('p/.mcp.json', '{ broken')
    const loaded = await load({ strict: true, mcpConfig: [JSON.stringify(servers('a'))] })
    expect(shown(loaded)).toEqual(['a dynamic'])
    expect(loaded.rules).toMatchObject([{ action: 'deny', rule: 'mcp__a__drop', scope: 'user' }])
    expect(loaded.diagnostics).toEqual([])
  })

  it.each([
    ['denied', { deniedMcpServers: [{ serverName: 'b' }] }],
    ['not among the allowed', { allowedMcpServers: [{ serverName: 'a' }] }],
  ])('--strict does not start a server that the user’s settings have %s', async (_, policy) => {
    put('home/.plugboard/settings.json', policy)
    const loaded = await load({ strict: true, mcpConfig: [JSON.stringify(servers('a', 'b'))] })
    expect(shown(loaded)).toEqual(['a dynamic', expect.stringMatching(/^b dynamic \(.+\)$/)])
  })

  it.each([
    ['a file that is not there', 'gone.json', /no file/],
    ['broken JSON', '{"a": ', /line 1/],
    ['a folder', '.', /is a folder/],
    ['servers of the wrong type', '{"mcpServers": []}', /must be an object/],
  ])('--mcp-config with %s is the caller’s own mistake', async (_, word, message) => {
    const attempt = load({ mcpConfig: [word] })
    await expect(attempt).rejects.toThrow(InvalidInput)
    await expect(attempt).rejects.toThrow(message)
  })

  it('what the program gives beats --mcp-config, and its sdk servers may have any name', async () => {
    const loaded = await load({
      servers: { a: { command: 'program' }, 'any name': { type: 'sdk' } },
      mcpConfig: [JSON.stringify(servers('a'))],
    })
    expect(loaded.servers).toMatchObject([{ name: 'a', entry: { command: 'program' } }, { name: 'any name' }])
  })
})
