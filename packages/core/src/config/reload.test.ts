// Loading and reading again: what --strict keeps, what a given file and the approvals keep when they break, what is watched,
// and which running editor is found.
import {
  chmodSync,
  chownSync,
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
import { isRunning } from '../files/running.ts'
import { systemHost } from '../host.ts'
import { IDE_LIMITS } from '../limits.ts'
import { chooseLock, type IdeLock, lockFolder, parseLock, readLocks } from './editor-locks.ts'
import { type Configuration, type LoadOptions, loadConfiguration, reloadConfiguration } from './load.ts'
import { addServer, approve, trustFolder } from './manage.ts'
import { pendingApprovals } from './resolve.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-reload-')))
  mkdirSync(join(base, 'home'))
  mkdirSync(join(base, 'p/.git'), { recursive: true })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))
const at = (path: string) => join(base, path)
const put = (path: string, data: unknown) => {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), typeof data === 'string' ? data : JSON.stringify(data))
}
const hostWith = (env: Record<string, string> = {}) =>
  systemHost({ home: at('home'), env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed'), ...env } })
const load = (options: Partial<LoadOptions> = {}, env: Record<string, string> = {}) =>
  loadConfiguration({ host: hostWith(env), cwd: at('p'), withoutBuiltins: true, ...options })
const servers = (...names: string[]) => ({
  mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])),
})
const names = (loaded: Configuration) => loaded.servers.map(({ name }) => name)
const faults = (loaded: Configuration) =>
  loaded.diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message)
const SETTINGS = 'home/.plugboard/settings.json'

describe('--strict', () => {
  const RULES = {
    permissions: { deny: ['mcp__a__x'] },
    hooks: { PreToolUse: [] },
    allowedMcpServers: [{ serverName: 'a' }],
    deniedMcpServers: [{ serverName: 'b' }],
    gateway: { limits: {} },
    audit: {},
    models: {},
    resident: false,
    tools: {},
    profiles: { x: ['a'] },
    builtins: { codebase: false },
  }

  it('keeps every rule of a settings file, and no server', async () => {
    put(SETTINGS, { ...RULES, ...servers('mine'), disabledServers: ['a'], plugins: ['/none'] })
    put('p/.mcp.json', servers('project'))
    const loaded = await load({ strict: true })
    expect(names(loaded)).toEqual([])
    const user = loaded.documents.find(({ source }) => source.file === at(SETTINGS))
    expect(Object.keys(user?.settings ?? {}).sort()).toEqual(Object.keys(RULES).sort())
    expect(loaded.resident).toEqual({ enabled: false })
  })

  it('adds nothing to a file that says nothing', async () => {
    put(SETTINGS, {})
    const loaded = await load({ strict: true })
    expect(loaded.documents.find(({ source }) => source.file === at(SETTINGS))?.settings).toEqual({})
  })

  it('keeps the servers of an administrator', async () => {
    put('managed/managed-mcp.json', servers('corp'))
    expect(names(await load({ strict: true }))).toEqual(['corp'])
  })
})

describe('a file given by --mcp-config', () => {
  it('keeps what it said while it is broken, gone or a folder, and says so', async () => {
    put('given.json', servers('a'))
    const first = await load({ mcpConfig: [at('given.json')] })
    expect(first.files).toContain(at('given.json'))
    const steps: readonly [() => void, RegExp][] = [
      [() => put('given.json', '{'), /closing.*stays in effect/],
      [() => put('given.json', '{"mcpServers": []}'), /must be an object.*stays in effect/],
      [() => rmSync(at('given.json')), /the file is gone/],
      [() => mkdirSync(at('given.json')), /the file is a folder.*stays in effect/],
    ]
    let now = first
    for (const [damage, told] of steps) {
      damage()
      now = await reloadConfiguration(now)
      expect(names(now)).toEqual(['a'])
      expect(faults(now)).toEqual([expect.stringMatching(told)])
    }
    rmSync(at('given.json'), { recursive: true })
    put('given.json', servers('b'))
    now = await reloadConfiguration(now)
    expect([names(now), now.diagnostics]).toEqual([['b'], []])
  })

  it('may have warnings, and an inline one is not watched', async () => {
    const inline = JSON.stringify({ mcpServers: { a: { command: 'a', args: ['${NOT_SET}'] } } })
    const loaded = await load({ mcpConfig: [inline] })
    expect(names(loaded)).toEqual(['a'])
    expect(loaded.files.every((file) => file.startsWith('/'))).toBe(true)
    expect(new Set(loaded.files).size).toBe(loaded.files.length)
    expect(loaded.files).toContain(at('home/.plugboard/approvals.json'))
  })

  it('belongs to the repository where it lies in the project', async () => {
    put('p/given.json', servers('inside'))
    put('given.json', servers('outside'))
    const loaded = await load({
      mcpConfig: ['given.json', at('given.json'), JSON.stringify(servers('typed'))],
    })
    expect(loaded.servers.map(({ name, author }) => `${name} ${author}`)).toEqual([
      'inside repository',
      'outside user',
      'typed user',
    ])
  })
})

describe('approvals', () => {
  const running = (loaded: Configuration) =>
    loaded.servers.filter(({ disabled }) => !disabled).map(({ name }) => name)
  const approved = async () => {
    put('p/.mcp.json', servers('a'))
    const first = await load()
    expect(running(first)).toEqual([])
    await approve(first, hostWith(), { entries: pendingApprovals(first) })
    const next = await reloadConfiguration(first)
    expect(running(next)).toEqual(['a'])
    return next
  }

  it('that are gone keep running what they approved, and say so', async () => {
    const first = await approved()
    rmSync(at('home/.plugboard/approvals.json'))
    const gone = await reloadConfiguration(first)
    expect([running(gone), faults(gone)]).toEqual([
      ['a'],
      ['the file is gone; what was approved keeps running until it is back or the board restarts'],
    ])
    expect(running(await load())).toEqual([])
  })

  it('that break keep running what they approved; from the start they approve nothing', async () => {
    const first = await approved()
    put('home/.plugboard/approvals.json', '{')
    const broken = await reloadConfiguration(first)
    expect(running(broken)).toEqual(['a'])
    expect(faults(broken)).toEqual([expect.stringMatching(/not readable JSON.*stays in effect/)])
    const anew = await load()
    expect(running(anew)).toEqual([])
    expect(faults(anew)).toEqual([expect.not.stringContaining('stays in effect')])
  })

  it('that were never there are not missed', async () => {
    const first = await load()
    expect((await reloadConfiguration(first)).diagnostics).toEqual([])
  })

  it.each(['approvals', 'a folder', 'settings'])('are missed where they said something: %s', async (what) => {
    put('p/.mcp.json', servers('a'))
    put('p/.plugboard/settings.local.json', { permissions: { allow: ['mcp__a'] } })
    const first = await load()
    if (what === 'a folder') await trustFolder(first, hostWith(), false)
    else
      await approve(first, hostWith(), {
        entries: what === 'approvals' ? pendingApprovals(first) : [],
        settings: what === 'settings' ? first.pendingSettings : [],
      })
    const next = await reloadConfiguration(first)
    rmSync(at('home/.plugboard/approvals.json'))
    expect(faults(await reloadConfiguration(next))).toHaveLength(1)
  })

  it('trust a folder, or not, and say whether the user was asked', async () => {
    const first = await load()
    expect(first.folder).toEqual({ trusted: false, asked: false })
    expect((await load({ approveProject: true })).folder).toEqual({ trusted: true, asked: false })
    await trustFolder(first, hostWith(), true)
    expect((await load()).folder).toEqual({ trusted: true, asked: true })
    await trustFolder(first, hostWith(), false)
    expect((await load()).folder).toEqual({ trusted: false, asked: true })
  })

  it('with pinned files hold while the files are the same', async () => {
    put('p/server.js', '1')
    put('p/.mcp.json', { mcpServers: { a: { command: 'node', args: ['server.js'] } } })
    const first = await load()
    const { filesOf } = await import('./pins.ts')
    const { entry } = first.servers[0] ?? {}
    if (!entry) throw new Error('no server')
    const files = new Map([['a', await filesOf(entry, at('p'))]])
    await approve(first, hostWith(), { entries: pendingApprovals(first), files })
    expect(running(await load())).toEqual(['a'])
    put('p/server.js', '2')
    expect(running(await load())).toEqual([])
  })
})

describe('the veto of the program', () => {
  it('is asked only about servers that would run', async () => {
    put(SETTINGS, { mcpServers: { a: { command: 'a' }, b: { command: 'b', disabled: true } } })
    const asked: string[] = []
    const { servers: list } = await load({
      refuse: ({ name }) => {
        asked.push(name)
        return 'no'
      },
    })
    expect(asked).toEqual(['a'])
    expect(list.map(({ disabled }) => disabled?.text)).toEqual(['no', 'disabled in its entry'])
  })
})

describe('the home folder of Plugboard', () => {
  it.each<[string, () => string, boolean]>([
    ['is not set', () => '', true],
    ['lies elsewhere', () => at('mine'), true],
    ['is the project itself', () => at('p'), true],
    ['lies in the project', () => at('p/.mine'), false],
    ['is relative', () => 'mine', false],
  ])('that %s', async (_, folder, fine) => {
    mkdirSync(at('p/.mine'))
    const attempt = load({}, { PLUGBOARD_HOME: folder() })
    if (fine) expect((await attempt).servers).toEqual([])
    else await expect(attempt).rejects.toMatchObject({ hint: expect.stringContaining('absolute path') })
  })

  it('may lie in a project that contains the home of the user', async () => {
    mkdirSync(at('.git'))
    mkdirSync(at('mine'))
    const loaded = await load({ cwd: base }, { PLUGBOARD_HOME: at('mine') })
    expect(loaded.place.root).toBe(base)
  })

  it('binds an "always" of a private file to the server it was for', async () => {
    const first = await load()
    await addServer(first, hostWith(), { name: 'a', written: { command: 'a' }, scope: 'local' })
    const { addAllowRule } = await import('./manage.ts')
    const { recordAlwaysRule } = await import('./always-rules.ts')
    await addAllowRule(first.place, 'mcp__a', 'local', 0)
    expect((await load()).rules).toMatchObject([{ rule: 'mcp__a' }])
    expect((await load()).rules[0]).not.toHaveProperty('signatures')
    await recordAlwaysRule(first.place, 'mcp__a', 'sig')
    expect((await load()).rules).toMatchObject([{ rule: 'mcp__a', signatures: ['sig'] }])
  })
})

describe('a running editor', () => {
  const lock = (over: object = {}) => ({
    pid: process.pid,
    workspaceFolders: [at('p')],
    transport: 'ws',
    ...over,
  })
  const editor = async (options: Partial<LoadOptions> = {}, env: Record<string, string> = {}) => {
    const loaded = await load({ withoutBuiltins: false, ...options }, env)
    const found = loaded.resolutions.get('ide')
    const [contender] = found?.contenders ?? []
    return {
      entry: contender?.definition.entry,
      why: contender?.verdict.kind === 'off' ? contender.verdict.why : contender?.definition.note,
    }
  }

  it('that has the folder open is a server, found again by the folder', async () => {
    put('home/.claude/ide/1234.lock', lock({ ideName: 'My\n  Editor' }))
    const { entry, why } = await editor()
    expect(entry).toEqual({ type: 'ws-ide', headers: {} })
    expect(why).toContain(`My Editor (process ${process.pid}) has this folder open`)
  })

  it('that has only a part of the project open is named by its address', async () => {
    mkdirSync(at('p/sub'))
    put('home/.claude/ide/1234.lock', lock({ workspaceFolders: [at('p/sub')] }))
    const ws = await editor({ cwd: at('p/sub') })
    expect(ws.entry).toMatchObject({ type: 'ws-ide', url: 'ws://127.0.0.1:1234' })
    expect(ws.why).toMatch(/^An editor \(/)
    put('home/.claude/ide/1234.lock', lock({ workspaceFolders: [at('p/sub')], transport: 'sse' }))
    expect((await editor({ cwd: at('p/sub') })).entry).toMatchObject({
      type: 'sse-ide',
      url: 'http://127.0.0.1:1234/sse',
    })
  })

  it('that started last is taken, whatever its transport', async () => {
    put('home/.claude/ide/1.lock', lock({ transport: 'sse', ideName: 'old' }))
    put('home/.claude/ide/2.lock', lock({ transport: 'ws', ideName: 'new' }))
    utimesSync(at('home/.claude/ide/1.lock'), 1000, 1000)
    expect((await editor()).why).toContain('new (')
    utimesSync(at('home/.claude/ide/2.lock'), 10, 10)
    expect((await editor()).why).toContain('old (')
  })

  it.each<[string, () => void, Partial<LoadOptions>, Record<string, string>, RegExp]>([
    ['no lock', () => undefined, {}, {}, /No editor that runs/],
    [
      'another folder',
      () => put('home/.claude/ide/1.lock', lock({ workspaceFolders: [at('q')] })),
      {},
      {},
      /No editor/,
    ],
    [
      'no process',
      () => put('home/.claude/ide/1.lock', lock({ pid: undefined })),
      {},
      {},
      /No editor that runs/,
    ],
    [
      'a process that ended',
      () => put('home/.claude/ide/1.lock', lock({ pid: 2 ** 22 + 1 })),
      {},
      {},
      /No editor/,
    ],
    [
      'a switch',
      () => put('home/.claude/ide/1.lock', lock()),
      { builtins: { ide: false } },
      {},
      /switched off/,
    ],
    [
      'a folder of the project',
      () => put('p/ide-config/ide/1.lock', lock()),
      {},
      { CLAUDE_CONFIG_DIR: 'IN_PROJECT' },
      /not read from the project/,
    ],
  ])('is none with %s', async (_, arrange, options, env, why) => {
    arrange()
    const inProject = env['CLAUDE_CONFIG_DIR'] ? { CLAUDE_CONFIG_DIR: at('p/ide-config') } : {}
    const found = await editor(options, inProject)
    expect(found.entry).toBeUndefined()
    expect(found.why).toMatch(why)
  })

  it('is not looked for with --strict, nor where an entry has its name', async () => {
    put('home/.claude/ide/1.lock', lock())
    expect(await editor({ strict: true })).toEqual({ entry: undefined, why: undefined })
    put(SETTINGS, { mcpServers: { ide: { command: 'mine' } } })
    expect((await editor()).entry).toMatchObject({ command: 'mine' })
  })

  it('is found in the project where that contains the home of the user', async () => {
    mkdirSync(at('.git'))
    put('home/.claude/ide/1.lock', lock({ workspaceFolders: [base] }))
    expect((await editor({ cwd: base })).entry).toMatchObject({ type: 'ws-ide' })
  })

  it('leaves its locks where its configuration is', () => {
    expect(lockFolder({ home: '/h', env: {} })).toBe('/h/.claude/ide')
    expect(lockFolder({ home: '/h', env: { CLAUDE_CONFIG_DIR: '' } })).toBe('/h/.claude/ide')
    expect(lockFolder({ home: '/h', env: { CLAUDE_CONFIG_DIR: '/c' } })).toBe('/c/ide')
  })
})

describe('the lock of an editor', () => {
  it.each<[unknown, string, object | undefined]>([
    [{ workspaceFolders: [] }, '1.lock', { port: 1, transport: 'sse' }],
    [{ workspaceFolders: [], port: 65_535, transport: 'ws' }, 'x.lock', { port: 65_535, transport: 'ws' }],
    [{ workspaceFolders: [], port: 65_536 }, '1.lock', undefined],
    [{ workspaceFolders: [], port: 0 }, '1.lock', undefined],
    [{ workspaceFolders: [], port: 1.5 }, '1.lock', undefined],
    [{ workspaceFolders: [] }, 'x.lock', undefined],
    [{ workspaceFolders: '/p' }, '1.lock', undefined],
    [{}, '1.lock', undefined],
    [null, '1.lock', undefined],
    ['text', '1.lock', undefined],
    [
      { workspaceFolders: ['/p', 5], pid: 7, ideName: 'E', authToken: 't' },
      '1.lock',
      { workspaceFolders: ['/p'], pid: 7, ideName: 'E', authToken: 't' },
    ],
  ])('%j in %s is read as %j', (value, name, expected) => {
    const read = parseLock(value, name, 9)
    if (expected === undefined) expect(read).toBeUndefined()
    else expect(read).toMatchObject({ ...expected, modifiedMs: 9 })
  })

  it.each([0, -1, 1.5, '7', undefined])('has no process %j', (pid) => {
    expect(parseLock({ workspaceFolders: [], pid }, '1.lock', 0)).not.toHaveProperty('pid')
  })

  it('names a bounded number of folders', () => {
    const workspaceFolders = Array.from({ length: IDE_LIMITS.folders + 5 }, (_, n) => `/p${n}`)
    expect(parseLock({ workspaceFolders }, '1.lock', 0)?.workspaceFolders).toHaveLength(IDE_LIMITS.folders)
  })

  it.each<[string, string[], string[] | undefined, boolean]>([
    ['the same', ['/p'], ['/p'], true],
    ['one below', ['/p'], ['/p/q'], true],
    ['one above', ['/p/q'], ['/p'], false],
    ['one beside', ['/p'], ['/pq'], false],
    ['any of several', ['/x', '/p'], ['/y', '/p'], true],
    ['no wish', ['/p'], undefined, true],
    ['a relative one', ['.'], [process.cwd()], false],
  ])('has %s open', (_, workspaceFolders, workspace, chosen) => {
    const one: IdeLock = { port: 1, workspaceFolders, transport: 'ws', modifiedMs: 1, ideName: 'E' }
    expect(chooseLock([one], { transport: 'ws', workspace }) === one).toBe(chosen)
    expect(chooseLock([one], { transport: 'sse', workspace })).toBeUndefined()
    expect(chooseLock([one], { transport: 'ws', workspace, ideName: 'F' })).toBeUndefined()
    expect(chooseLock([one], { transport: 'ws', workspace, ideName: 'E' }) === one).toBe(chosen)
    const newer = { ...one, modifiedMs: 2 }
    expect(chooseLock([one, newer, one], { transport: 'ws', workspace }) === newer).toBe(chosen)
  })

  it('is the user’s own file in a folder of the user’s own', async () => {
    const folder = at('ide')
    const text = JSON.stringify({ workspaceFolders: [] })
    for (const name of ['1.lock', '2.txt', '3.lock', '4.lock'])
      put(`ide/${name}`, name === '3.lock' ? '{' : text)
    symlinkSync(at('ide/1.lock'), at('ide/5.lock'))
    chmodSync(at('ide/4.lock'), 0o666)
    const ports = async () => (await readLocks(folder, () => true)).map(({ port }) => port)
    expect(await ports()).toEqual([1])
    chmodSync(folder, 0o777)
    expect(await ports()).toEqual([])
    chmodSync(folder, 0o700)
    put('ide/6.lock', { workspaceFolders: [], pid: 77 })
    expect((await readLocks(folder, (pid) => pid !== 77)).map(({ port }) => port)).toEqual([1])
    symlinkSync(folder, at('link'))
    expect(await readLocks(at('link'), () => true)).toEqual([])
    expect(await readLocks(at('none'), () => true)).toEqual([])
    rmSync(at('ide/6.lock'))
    put('ide/7.lock', `{"workspaceFolders":[],"x":"${'x'.repeat(IDE_LIMITS.lockBytes)}"}`)
    expect(await ports()).toEqual([1])
  })

  it.runIf(process.getuid?.() === 0)('of another user is not read', async () => {
    put('ide/1.lock', { workspaceFolders: [] })
    chownSync(at('ide/1.lock'), 12345, 12345)
    expect(await readLocks(at('ide'), () => true)).toEqual([])
  })

  it('is of a process that runs', () => {
    expect([isRunning(process.pid), isRunning(2 ** 22 + 1)]).toEqual([true, false])
  })
})
