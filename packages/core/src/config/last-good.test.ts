// What a reloaded configuration keeps from the previous one, file by file, entry by entry, key by key.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { diagnosticNews } from './last-good.ts'
import { type Configuration, type LoadOptions, loadConfiguration, reloadConfiguration } from './load.ts'
import type { Diagnostic } from './types.ts'

let top: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-last-good-'))
  mkdirSync(join(top, 'home'))
  mkdirSync(join(top, 'p', '.git'), { recursive: true })
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const at = (path: string) => join(top, path)
const write = (path: string, content: unknown) => {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), typeof content === 'string' ? content : JSON.stringify(content))
}
const load = (options: Partial<LoadOptions> = {}) =>
  loadConfiguration({
    host: systemHost({ env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') } }),
    cwd: at('p'),
    withoutBuiltins: true,
    ...options,
  })
const names = ({ servers }: Configuration) => servers.map(({ name }) => name)
const messages = ({ diagnostics }: Configuration) => diagnostics.map(({ message }) => message).join('\n')
const SETTINGS = 'home/.plugboard/settings.json'

describe('a file that is read again', () => {
  it('keeps what it said through several faults in a row, and the fault of the moment is told', async () => {
    write(SETTINGS, { mcpServers: { a: { command: 'a' } }, permissions: { deny: ['mcp__a__x'] } })
    let now = await load()
    const steps: readonly [() => void, string][] = [
      [() => write(SETTINGS, '{'), 'a closing } is missing'],
      [() => write(SETTINGS, ''), 'the file is empty'],
      [() => rmSync(at(SETTINGS)), 'the file is gone'],
      [() => mkdirSync(at(SETTINGS)), 'is a folder'],
    ]
    for (const [damage, told] of steps) {
      damage()
      now = await reloadConfiguration(now)
      expect(names(now)).toEqual(['a'])
      expect(now.rules.map(({ rule }) => rule)).toEqual(['mcp__a__x'])
      expect(messages(now)).toContain(told)
    }
    rmSync(at(SETTINGS), { recursive: true })
    write(SETTINGS, { mcpServers: { b: { command: 'b' } } })
    now = await reloadConfiguration(now)
    expect(names(now)).toEqual(['b'])
    expect(now.diagnostics).toEqual([])
  })

  it('is gone without a word when it said nothing, and empties when it says {}', async () => {
    write(SETTINGS, {})
    write('home/.claude.json', { mcpServers: { a: { command: 'a' } } })
    let now = await load()
    rmSync(at(SETTINGS))
    write('home/.claude.json', {})
    now = await reloadConfiguration(now)
    expect(now.diagnostics).toEqual([])
    expect(names(now)).toEqual([])
  })

  it('has no last good content when it was broken from the start', async () => {
    write(SETTINGS, '{')
    let now = await load()
    expect(messages(now)).not.toContain('stays in effect')
    write(SETTINGS, '{ "mcpServers": ')
    now = await reloadConfiguration(now)
    expect(messages(now)).not.toContain('stays in effect')
    expect(names(now)).toEqual([])
  })

  it('is read with the words of the first time', async () => {
    write('given.json', { mcpServers: { given: { command: 'g' } } })
    write(SETTINGS, { mcpServers: { user: { command: 'u' } } })
    const first = await load({ mcpConfig: [at('given.json')], strict: true })
    expect(names(first)).toEqual(['given'])
    rmSync(at('given.json'))
    const gone = await reloadConfiguration(first)
    expect(names(gone)).toEqual(['given'])
    expect(messages(gone)).toContain('the file is gone')
    write('given.json', { mcpServers: { given: { command: 'g' }, more: { command: 'm' } } })
    expect(names(await reloadConfiguration(gone))).toEqual(['given', 'more'])
  })

  it('asks the veto again', async () => {
    write(SETTINGS, { mcpServers: { a: { command: 'a' } } })
    const first = await load({ refuse: ({ name }) => (name === 'b' ? 'not here' : undefined) })
    write(SETTINGS, { mcpServers: { a: { command: 'a' }, b: { command: 'b' } } })
    const { servers } = await reloadConfiguration(first)
    expect(servers.map(({ disabled }) => disabled?.text)).toEqual([undefined, 'not here'])
  })

  it('stays of the same project when the file that made the project is gone', async () => {
    rmSync(at('p/.git'), { recursive: true })
    write('p/.mcp.json', { mcpServers: { a: { command: 'a' } } })
    mkdirSync(at('p/inner'))
    const first = await load({ cwd: at('p/inner') })
    rmSync(at('p/.mcp.json'))
    const next = await reloadConfiguration(first)
    expect(next.place.root).toBe(first.place.root)
    expect(names(next)).toEqual(['a'])
  })
})

describe('a part of a file', () => {
  it('that broke stays as it was: an entry, under the hash it was approved with', async () => {
    write('p/.mcp.json', { mcpServers: { a: { command: 'a' }, b: { command: 'b' } } })
    const first = await load()
    const hash = first.resolutions.get('a')?.hash
    write('p/.mcp.json', { mcpServers: { a: { command: 7 }, b: { command: 'b2' } } })
    const next = await reloadConfiguration(first)
    expect(next.resolutions.get('a')?.hash).toBe(hash)
    expect(next.servers.map(({ entry }) => entry)).toMatchObject([{ command: 'a' }, { command: 'b2' }])
    expect(messages(next)).toContain('stays in effect')
  })

  it('that broke stays as it was: a settings key, while the others change', async () => {
    write(SETTINGS, { permissions: { deny: ['mcp__a'] }, mcpServers: { a: { command: 'a' } } })
    const first = await load()
    write(SETTINGS, { permissions: { deny: 'mcp__a' }, mcpServers: { b: { command: 'b' } } })
    const next = await reloadConfiguration(first)
    expect(next.rules.map(({ action, rule }) => `${action} ${rule}`)).toEqual(['deny mcp__a'])
    expect(names(next)).toEqual(['b'])
  })

  it('of a policy stays with the whole policy', async () => {
    write('managed/managed-settings.json', {
      deniedMcpServers: [{ serverName: 'bad' }],
      allowedMcpServers: [{ serverName: 'good' }, { serverName: 'bad' }],
    })
    write(SETTINGS, { mcpServers: { good: { command: 'g' }, bad: { command: 'b' } } })
    const first = await load()
    const running = ({ servers }: Configuration) =>
      servers.filter(({ disabled }) => !disabled).map(({ name }) => name)
    expect(running(first)).toEqual(['good'])
    write('managed/managed-settings.json', { deniedMcpServers: 5 })
    expect(running(await reloadConfiguration(first))).toEqual(['good'])
    write('managed/managed-settings.json', '{')
    expect(running(await reloadConfiguration(first))).toEqual(['good'])
  })
})

describe('a plugin', () => {
  const plugged = () => write(SETTINGS, { plugins: [at('plug')] })

  it('stays whole while one of its files is broken', async () => {
    write('plug/.mcp.json', { mcpServers: { a: { command: 'a' } } })
    write('plug/plugin.json', { name: 'plug', mcpServers: { b: { command: 'b' } } })
    plugged()
    const first = await load()
    write('plug/plugin.json', '{')
    write('plug/.mcp.json', { mcpServers: { c: { command: 'c' } } })
    const broken = await reloadConfiguration(first)
    expect(names(broken)).toEqual(['a', 'b'])
    expect(messages(broken)).toContain('stays in effect')
    rmSync(at('plug'), { recursive: true })
    expect(names(await reloadConfiguration(broken))).toEqual(['a', 'b'])
    write('plug/plugin.json', { name: 'plug', mcpServers: { b: { command: 'b' } } })
    write('plug/.mcp.json', { mcpServers: { c: { command: 'c' } } })
    const mended = await reloadConfiguration(broken)
    expect(names(mended)).toEqual(['b', 'c'])
    expect(mended.diagnostics).toEqual([])
  })

  it('may move its servers to another of its files', async () => {
    write('plug/.mcp.json', { mcpServers: { a: { command: 'a' } } })
    plugged()
    const first = await load()
    rmSync(at('plug/.mcp.json'))
    write('plug/plugin.json', { name: 'plug', mcpServers: { a: { command: 'a2' } } })
    const next = await reloadConfiguration(first)
    expect(next.servers[0]?.entry).toMatchObject({ command: 'a2' })
    expect(next.diagnostics).toEqual([])
  })

  it('that is switched off is gone, and its files are watched only while it is on', async () => {
    write('plug/.mcp.json', { mcpServers: { a: { command: 'a' } } })
    plugged()
    const first = await load()
    expect(first.files).toContain(at('plug/.mcp.json'))
    write(SETTINGS, { plugins: [] })
    const next = await reloadConfiguration(first)
    expect(names(next)).toEqual([])
    expect(next.files).not.toContain(at('plug/.mcp.json'))
  })
})

it('tells of a fault once, also when it moves, and of a file when its last error is gone', () => {
  const fault = (message: string, line: number): Diagnostic => ({
    severity: 'error',
    file: '/f',
    line,
    message,
  })
  const [a, b] = [fault('a', 1), fault('b', 2)]
  expect(diagnosticNews([], [a])).toEqual({ appeared: [a], mended: [] })
  expect(diagnosticNews([a], [{ ...a, line: 9 }, b])).toEqual({ appeared: [b], mended: [] })
  expect(diagnosticNews([a, b], [b])).toEqual({ appeared: [], mended: [] })
  expect(diagnosticNews([a, b], [])).toEqual({ appeared: [], mended: ['/f'] })
  expect(diagnosticNews([{ ...a, severity: 'warning' }], [])).toEqual({ appeared: [], mended: [] })
})
