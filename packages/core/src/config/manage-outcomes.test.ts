// What the commands that edit configuration answer and refuse, and what they record: each outcome by itself.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { type LoadOptions, loadConfiguration } from './load.ts'
import {
  addAllowRule,
  addServer,
  approve,
  previewRule,
  removeServer,
  resetProjectChoices,
  setEnabled,
  trustFolder,
} from './manage.ts'
import { pendingApprovals } from './resolve.ts'

let base: string
let host: Host
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-outcomes-')))
  for (const folder of ['home', 'p']) mkdirSync(join(base, folder))
  host = systemHost({ env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') }, now: () => 0 })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const at = (path: string) => join(base, path)
const read = (path: string) => JSON.parse(readFileSync(at(path), 'utf8'))
function put(path: string, data: unknown): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), JSON.stringify(data))
}
const load = (more: Partial<LoadOptions> = {}) =>
  loadConfiguration({ host, cwd: at('p'), withoutBuiltins: true, ...more })
type Request = Parameters<typeof addServer>[2]
const add = async (request: Partial<Request>) =>
  addServer(await load(), host, { name: 'a', written: { command: 'x' }, scope: 'user', ...request })
const LOCAL = 'p/.plugboard/settings.local.json'
const USER = 'home/.plugboard/settings.json'
const RECORD = 'home/.plugboard/approvals.json'
const approvals = () => (existsSync(at(RECORD)) ? (read(RECORD).projects[at('p')] ?? {}) : {})

describe('adding a name that is there', () => {
  it.each<[Partial<Request>, string, string]>([
    [{ keep: true }, 'kept', 'old'],
    [{ keep: true, replace: true }, 'replaced', 'x'],
    [{ replace: true }, 'replaced', 'x'],
  ])('with %j it is %s', async (request, outcome, command) => {
    for (const scope of ['user', 'local'] as const) {
      const file = scope === 'user' ? USER : LOCAL
      put(file, { mcpServers: { a: { command: 'old' } } })
      expect(await add({ ...request, scope })).toEqual({ name: 'a', file: at(file), scope, outcome })
      expect(read(file).mcpServers.a.command).toBe(command)
    }
    // What stays as it was gets no record: the user did not write it.
    expect(Object.keys(approvals())).toEqual(outcome === 'kept' ? [] : ['a'])
  })

  it('is refused without either, with the ways out', async () => {
    put(USER, { mcpServers: { a: { command: 'old' } } })
    await expect(add({})).rejects.toMatchObject({
      server: 'a',
      message: `"a" is already in ${at(USER)}.`,
      hint: expect.stringContaining('--force'),
    })
    expect(await add({ name: 'b', keep: true })).toMatchObject({ outcome: 'added' })
  })
})

describe('what is recorded of an added server', () => {
  it.each<[Request['scope'], boolean, object | undefined]>([
    ['user', false, undefined],
    ['local', false, { kind: 'written', source: LOCAL }],
    ['project', false, { kind: 'written', source: 'p/.mcp.json' }],
    ['local', true, undefined],
    ['project', true, undefined],
  ])('scope %s, pending %s: %j', async (scope, pending, record) => {
    await add({ scope, pending })
    const found = approvals().a
    if (!record) expect(found).toBeUndefined()
    else expect(found).toMatchObject({ kind: 'written', approvedAt: '1970-01-01T00:00:00.000Z' })
    const [server] = (await load()).servers
    expect(server?.disabled?.text).toBe(pending ? 'pending approval' : undefined)
  })

  it('what came with the project is not written to the user’s own file', async () => {
    await expect(add({ scope: 'user', pending: true })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      server: 'a',
      message: `"a" came with the project, so it is not written to ${at(USER)}.`,
    })
    expect(existsSync(at(USER))).toBe(false)
  })
})

describe('an entry that is not valid', () => {
  it.each<[unknown, RegExp, RegExp | undefined]>([
    [{ command: 1 }, /command/, undefined],
    [{ command: 'x', args: 'y', env: { A: {} } }, /args: .*; .*env.A: /, undefined],
    [null, /./, undefined],
    [{}, /./, undefined],
  ])('%j is refused with every fault and its place', async (written, message) => {
    const error = await add({ written }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({
      code: 'INVALID_INPUT',
      server: 'a',
      message: expect.stringMatching(message),
    })
    expect((error as Error).message).toMatch(/: /)
  })

  it('a warning does not keep it out', async () => {
    expect(await add({ written: { command: 'x', colour: 'red' } })).toMatchObject({ outcome: 'added' })
  })

  it.each(['a/b', '', 'codebase'])('the name %j is refused with a sentence and a hint', async (name) => {
    await expect(add({ name })).rejects.toMatchObject({
      message: expect.stringMatching(/^[A-Z"].*\.$/),
      hint: expect.any(String),
    })
  })
})

describe('removing', () => {
  it('of what no file of ours has says where it is and how to switch it off', async () => {
    put('home/.claude.json', { mcpServers: { a: { command: 'x' } } })
    for (const scope of [undefined, 'user'] as const)
      await expect(load().then((loaded) => removeServer(loaded, 'a', scope))).rejects.toMatchObject({
        message: `"a" is defined in ${at('home/.claude.json')} (user), which plugboard does not edit.`,
        shellHint: expect.stringContaining('plugboard disable a'),
      })
  })

  it('takes it out of our file and leaves another product’s of the same scope', async () => {
    put('home/.claude.json', { mcpServers: { a: { command: 'x' } } })
    put(USER, { mcpServers: { a: { command: 'y' } } })
    expect(await removeServer(await load(), 'a')).toEqual({ files: [at(USER)] })
    expect(read('home/.claude.json').mcpServers).toEqual({ a: { command: 'x' } })
  })

  it('names another scope when it is not in the one that was given', async () => {
    put(USER, { mcpServers: { a: { command: 'y' } } })
    await expect(load().then((loaded) => removeServer(loaded, 'a', 'local'))).rejects.toMatchObject({
      message: `"a" is not defined in the local scope, but in ${at(USER)} (user).`,
    })
  })

  it('asks which of several scopes with a command that works', async () => {
    put(USER, { mcpServers: { a: { command: 'y' } } })
    put(LOCAL, { mcpServers: { a: { command: 'z' } } })
    await expect(load().then((loaded) => removeServer(loaded, 'a'))).rejects.toMatchObject({
      message: '"a" is defined in several scopes: local, user.',
      shellHint: 'Say which: `plugboard remove a -s local`.',
    })
    expect(read(USER).mcpServers).toHaveProperty('a')
  })
})

describe('switching on', () => {
  it('takes it off the lists of both files of the user', async () => {
    put(USER, { mcpServers: { a: { command: 'x' } }, disabledServers: ['a', 'b'] })
    put(LOCAL, { disabledServers: ['a'] })
    expect((await setEnabled(await load(), host, 'a', true)).changed.toSorted()).toEqual(
      [at(USER), at(LOCAL)].toSorted(),
    )
    expect([read(USER).disabledServers, read(LOCAL).disabledServers]).toEqual([['b'], []])
    expect(await setEnabled(await load(), host, 'a', true)).toEqual({ changed: [] })
  })

  it('is not kept from a server of the user’s by a list for .mcp.json', async () => {
    put(USER, { mcpServers: { a: { command: 'x' } } })
    put('home/.claude/settings.json', { disabledMcpjsonServers: ['a'] })
    expect(await setEnabled(await load(), host, 'a', true)).toEqual({ changed: [] })
  })

  it('says which list of which shared file keeps it off', async () => {
    put('p/.mcp.json', { mcpServers: { a: { command: 'x' } } })
    put('p/.plugboard/settings.json', { disabledServers: ['a'] })
    await expect(load().then((loaded) => setEnabled(loaded, host, 'a', true))).rejects.toMatchObject({
      message: expect.stringContaining(at('p/.plugboard/settings.json')),
      hint: 'Remove it from "disabledServers" there.',
    })
  })

  it('does not edit the flag in a file that is not ours', async () => {
    put('home/.claude.json', { mcpServers: { a: { command: 'x', disabled: true } } })
    await expect(load().then((loaded) => setEnabled(loaded, host, 'a', true))).rejects.toMatchObject({
      message: `"a" is disabled in ${at('home/.claude.json')}, which plugboard does not edit.`,
    })
    expect(read('home/.claude.json').mcpServers.a.disabled).toBe(true)
  })

  it('carries the record of an approved entry over, with its kind and its pinned files', async () => {
    put('p/.mcp.json', { mcpServers: { a: { command: 'x', disabled: true } } })
    const entries = pendingApprovals(await load())
    await approve(await load(), host, { entries, files: new Map([['a', { 'f.js': 'sha' }]]) })
    const before = approvals().a
    expect(before).toMatchObject({ kind: 'approved', files: { 'f.js': 'sha' } })
    expect(await setEnabled(await load(), host, 'a', true)).toEqual({ changed: [at('p/.mcp.json')] })
    expect(approvals().a).toEqual({ ...before, hash: expect.not.stringMatching(before.hash) })
  })

  it('makes no record for an entry that has none', async () => {
    put('p/.mcp.json', { mcpServers: { a: { command: 'x', disabled: true } } })
    await setEnabled(await load(), host, 'a', true)
    expect(approvals()).toEqual({})
  })
})

describe('approving', () => {
  it('nothing writes no record', async () => {
    await approve(await load(), host, { entries: [] })
    expect(existsSync(at(RECORD))).toBe(false)
  })

  it.each([
    [true, 'written'],
    [false, 'approved'],
    [undefined, 'approved'],
  ] as const)('as mine: %s is recorded as %s', async (mine, kind) => {
    put('p/.mcp.json', { mcpServers: { a: { command: 'x' }, b: { command: 'y' } } })
    const entries = pendingApprovals(await load())
    const files = new Map([['b', { 'f.js': 'sha' }]])
    await approve(await load(), host, { entries, files, ...(mine !== undefined && { mine }) })
    expect(approvals().a).toMatchObject({ kind, source: at('p/.mcp.json') })
    expect(approvals().a).not.toHaveProperty('files')
    expect(approvals().b.files).toEqual({ 'f.js': 'sha' })
  })

  it('settings records hooks by their hash and rules by their text', async () => {
    const loaded = await load()
    const pending = { file: 'x', because: '', hash: 'h' }
    await approve(loaded, host, {
      entries: [],
      settings: [
        { ...pending, record: 'f.json', kind: 'hooks', written: {} },
        { ...pending, record: 'g.json', kind: 'allow', written: ['s.t'] },
      ] as never,
    })
    expect(read(RECORD).settings[at('p')]).toEqual({ 'f.json': { hooks: 'h' }, 'g.json': { allow: ['s.t'] } })
  })

  it('a rule of the user’s is written, and recorded only inside the project', async () => {
    const { place } = await load()
    expect(await addAllowRule(place, 's.t', 'user', 0)).toBe(at(USER))
    expect(read(USER).permissions).toEqual({ allow: ['s.t'] })
    expect(existsSync(at(RECORD))).toBe(false)
    expect(await addAllowRule(place, 's.u', 'local', 0)).toBe(at(LOCAL))
    expect(read(LOCAL).permissions).toEqual({ allow: ['s.u'] })
    expect(Object.values(read(RECORD).settings[at('p')])).toEqual([{ allow: ['s.u'] }])
  })

  it('a folder is recorded either way, and everything is forgotten together', async () => {
    for (const trusted of [true, false]) {
      await trustFolder(await load(), host, trusted)
      expect(read(RECORD).folders[at('p')]).toMatchObject({ trusted })
    }
    await add({ scope: 'local' })
    expect(await resetProjectChoices(await load())).toBe(2)
    expect(read(RECORD).folders).toEqual({})
  })
})

describe('the rule that a command would write', () => {
  const place = async () => (await load()).place
  it.each([
    ['allow', 'mcp__a__*', undefined],
    ['deny', 'mcp__*', undefined],
    ['ask', '*.write', undefined],
    ['allow', 'mcp__*', 'The rule "mcp__*" has a "*" in the name of the server.'],
    ['deny', '!', 'The rule "!" is not a rule.'],
  ] as const)('%s %s is checked before', async (action, rule, problem) => {
    const preview = previewRule(await place(), { action, rule, scope: 'user' })
    if (problem !== undefined) return await expect(preview).rejects.toThrow(problem)
    const { file, before, after } = await preview
    expect([file, before]).toEqual([at(USER), undefined])
    expect(JSON.parse(after).permissions).toEqual({ [action]: [rule] })
    expect(existsSync(at(USER))).toBe(false)
  })
})

describe('removing from a scope that does not have it', () => {
  it('says where it is, if one of the places can be edited', async () => {
    put(USER, { mcpServers: { a: { command: 'x' } } })
    put('home/.claude.json', { mcpServers: { a: { command: 'y' } } })
    const message = `"a" is not defined in the local scope, but in ${at(USER)} (user), ${at('home/.claude.json')} (user).`
    await expect(load().then((loaded) => removeServer(loaded, 'a', 'local'))).rejects.toMatchObject({
      message,
    })
  })
})

describe('enabling a built-in', () => {
  const enable = async (name: string) =>
    (await setEnabled(await load({ withoutBuiltins: false }), host, name, true)).changed
  it('that is on changes nothing, and one that is off is switched on', async () => {
    expect(await enable('codebase')).toEqual([])
    expect(await enable('browser')).toEqual([at(USER)])
    expect(read(USER).builtins).toEqual({ browser: true })
  })

  it('is not kept from it by an entry that may not have its name', async () => {
    put(USER, { mcpServers: { browser: { command: 'x' } } })
    expect(await enable('browser')).toEqual([at(USER)])
    expect(read(USER).builtins).toEqual({ browser: true })
  })
})
