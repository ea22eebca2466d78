// Adopting a client: its servers become ours, one entry takes their place, and undoing restores every byte.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { ADOPTABLE, valueAt } from './adopt/clients.ts'
import { replaceTables } from './adopt/toml-tables.ts'
import {
  adopt,
  clientFiles,
  findAdoptable,
  isOwnEntry,
  ownEntry,
  planAdoption,
  undoAdoption,
} from './adopt.ts'
import { loadConfiguration } from './load.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-adopt-')))
  mkdirSync(join(base, 'home'))
  mkdirSync(join(base, 'p/.git'), { recursive: true })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))
const at = (path: string) => join(base, path)
const put = (path: string, data: unknown) => {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), typeof data === 'string' ? data : JSON.stringify(data, null, 2))
}
const text = (path: string) => readFileSync(at(path), 'utf8')
const host = () =>
  systemHost({
    home: at('home'),
    env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') },
    platform: 'linux',
  })
const load = (cwd = at('p')) => loadConfiguration({ host: host(), cwd, withoutBuiltins: true })
const OWN = ownEntry('/usr/bin/node', '/opt/plugboard.js')
const CLAUDE = 'home/.claude.json'
const claude = findAdoptable('claude-code')
const ours = () => JSON.parse(text('home/.plugboard/settings.json')).mcpServers
const record = () => at('home/.plugboard/state/adopted/claude-code.json')

describe('a client', () => {
  it('is found by its name, or the names are listed', () => {
    expect(findAdoptable('codex').title).toBe('Codex')
    expect(() => findAdoptable('none')).toThrow('There is no client "none"')
    expect(() => findAdoptable(undefined)).toThrow('CLIENT is missing')
  })

  it('has its files in the home of the user, never in the project', async () => {
    expect(clientFiles(claude, await load())).toEqual([at(CLAUDE)])
    const cursor = findAdoptable('cursor')
    const files = clientFiles(cursor, await load())
    expect(files.length).toBeGreaterThan(0)
    expect(files.every((file) => file.startsWith(at('home/')))).toBe(true)
    // In the home folder itself, the files are the user's.
    expect(clientFiles(claude, await load(at('home')))).toEqual([at(CLAUDE)])
  })

  it.each<[string, object, readonly string[]]>([
    ['vscode', {}, ['servers']],
    ['vscode', { servers: {}, mcp: {} }, ['servers']],
    ['vscode', { mcp: {} }, ['mcp', 'servers']],
    ['vscode', { mcpServers: {} }, ['mcpServers']],
    ['vscode', { servers: {}, mcpServers: {} }, ['servers']],
    ['opencode', { mcp: { servers: {} } }, ['mcp', 'servers']],
    ['opencode', { mcp: { servers: { type: 'local' } } }, ['mcp']],
    ['opencode', { mcp: {} }, ['mcp']],
    ['opencode', {}, ['mcp']],
    ['codex', {}, ['mcp_servers']],
    ['cursor', {}, ['mcpServers']],
  ])('%s keeps the servers of %j at %j', (id, document, path) => {
    expect(findAdoptable(id).serversAt(document as never)).toEqual(path)
  })

  it.each(ADOPTABLE.map(({ id }) => id))('%s is printed so that it is read again', (id) => {
    const client = findAdoptable(id)
    const { value } = client.print('plugboard', OWN)
    const path = client.serversAt({})
    const document = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), { plugboard: value })
    const { entry, name } = client.convert(document as never)
    expect([name, isOwnEntry(entry ?? {})]).toEqual(['plugboard', true])
  })

  it('is asked only for what it has', () => {
    expect(claude.convert({})).toEqual({ notes: [] })
    expect(claude.convert({ mcpServers: { a: 5 } })).toEqual({ notes: [] })
    expect(valueAt({ a: { b: 1 } }, ['a', 'b'])).toBe(1)
    expect(valueAt({ a: { b: 1 } }, ['a', 'toString'])).toBeUndefined()
    expect(valueAt({ a: 1 }, ['a', 'b'])).toBeUndefined()
  })
})

describe('our own entry', () => {
  it.each<[object, boolean]>(
    [
      [OWN, false],
      [{ command: '/usr/bin/node', args: ['/opt/plugboard.js', 'connect'] }, true],
      [{ command: 'plugboard', args: ['serve', '--http'] }, true],
      [{ command: 'npx', args: ['-y', 'plugboard@1.2.3', 'connect'] }, true],
      [{ command: 'C:\\bin\\Plugboard.cmd', args: ['connect'] }, true],
      [{ command: 'plugboard', args: ['list'] }, false],
      [{ command: 'plugboard' }, false],
      [{ command: 'plugboard', args: 'connect' }, false],
      [{ command: 'connect', args: ['plugboard'] }, false],
      [{ command: 'my-plugboard', args: ['connect'] }, false],
      [{ command: 5, args: [5, 'connect'] }, false],
      [{ url: 'https://plugboard/connect' }, false],
    ].map(([entry, own], at): [object, boolean] => [entry as object, at === 0 ? true : (own as boolean)]),
  )('%j: %s', (entry, own) => {
    expect(isOwnEntry(entry)).toBe(own)
  })
})

describe('adopting', () => {
  const FILE =
    '{\n  // mine\n  "numStartups": 5,\n  "mcpServers": {\n    "a": { "command": "a" },\n    "b": { "url": "https://b/", "type": "http" }\n  }\n}\n'

  it('moves the servers, leaves every other byte, and is undone byte for byte', async () => {
    put(CLAUDE, FILE)
    const plan = await planAdoption(await load(), claude, OWN)
    expect(text(CLAUDE)).toBe(FILE)
    expect(plan.files.map(({ servers }) => servers.map(({ name, outcome }) => `${name} ${outcome}`))).toEqual(
      [['a added', 'b added']],
    )
    expect(plan).not.toHaveProperty('record')
    const done = await adopt(await load(), host(), claude, OWN)
    expect(done.record).toBe(record())
    expect(statSync(record()).mode & 0o777).toBe(0o600)
    expect(text(CLAUDE)).toContain('// mine')
    expect(Object.keys(ours())).toEqual(['a', 'b'])
    expect(text(CLAUDE)).toContain('/opt/plugboard.js')
    const undone = await undoAdoption(await load(), claude)
    expect(undone).toMatchObject({ files: [at(CLAUDE)], removed: ['a', 'b'], kept: [] })
    expect(text(CLAUDE)).toBe(FILE)
    expect(ours()).toEqual({})
    expect(existsSync(record())).toBe(false)
    await expect(undoAdoption(await load(), claude)).rejects.toThrow('nothing to undo')
  })

  it('changes nothing where there is nothing to take', async () => {
    expect(await adopt(await load(), host(), claude, OWN)).toMatchObject({ files: [] })
    for (const content of [
      '{}',
      '{"mcpServers": []}',
      '{"mcpServers": {}}',
      { mcpServers: { plugboard: OWN } },
    ]) {
      put(CLAUDE, content)
      const before = text(CLAUDE)
      expect((await adopt(await load(), host(), claude, OWN)).files).toEqual([])
      expect(text(CLAUDE)).toBe(before)
    }
    expect(existsSync(record())).toBe(false)
    expect(readdirSync(dirname(record()))).toEqual([])
  })

  it('leaves what cannot be converted, and says so', async () => {
    put(CLAUDE, { mcpServers: { a: { command: 'a' }, odd: 5 } })
    const { files } = await adopt(await load(), host(), claude, OWN)
    expect(files[0]?.left).toEqual(['odd'])
    expect(Object.keys(JSON.parse(text(CLAUDE)).mcpServers)).toEqual(['odd', 'plugboard'])
  })

  it('knows a server that we have, and gives another one of the name a name of its own', async () => {
    put('home/.plugboard/settings.json', {
      mcpServers: { a: { command: 'a' }, b: { command: 'other' }, 'b-claude-code': { command: 'third' } },
    })
    put(CLAUDE, { mcpServers: { a: { command: 'a' }, b: { command: 'b' } } })
    const { files } = await adopt(await load(), host(), claude, OWN)
    expect(files[0]?.servers.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['a', 'known'],
      ['b-claude-code-2', 'added'],
    ])
    expect(ours()['b']).toEqual({ command: 'other' })
    const undone = await undoAdoption(await load(), claude)
    expect(undone.removed).toEqual(['b-claude-code-2'])
    expect(Object.keys(ours())).toEqual(['a', 'b', 'b-claude-code'])
  })

  it('is undone step by step, and keeps what the user changed since', async () => {
    put(CLAUDE, { mcpServers: { a: { command: 'a' }, c: { command: 'c' } } })
    const first = text(CLAUDE)
    await adopt(await load(), host(), claude, OWN)
    const between = JSON.parse(text(CLAUDE))
    put(CLAUDE, { ...between, mcpServers: { ...between.mcpServers, b: { command: 'b' } } })
    const second = text(CLAUDE)
    await adopt(await load(), host(), claude, OWN)
    expect((await undoAdoption(await load(), claude)).removed).toEqual(['b'])
    expect(text(CLAUDE)).toBe(second)
    // Changed since the first step: it is left as it is.
    await expect(undoAdoption(await load(), claude)).rejects.toThrow('has changed since')
    put(CLAUDE, first)
    const settings = JSON.parse(text('home/.plugboard/settings.json'))
    put('home/.plugboard/settings.json', { mcpServers: { a: { command: 'changed' } } })
    expect(Object.keys(settings.mcpServers)).toEqual(['a', 'c'])
    expect(await undoAdoption(await load(), claude)).toMatchObject({ removed: [], kept: ['a'] })
    expect(ours()).toEqual({ a: { command: 'changed' } })
  })

  it('is not undone over a file that is gone', async () => {
    put(CLAUDE, FILE)
    await adopt(await load(), host(), claude, OWN)
    rmSync(at(CLAUDE))
    await expect(undoAdoption(await load(), claude)).rejects.toThrow('has changed since')
    expect(existsSync(record())).toBe(true)
  })

  it.each<[string, () => void, RegExp]>([
    ['not UTF-8', () => writeFileSync(at(CLAUDE), Buffer.from([0x7b, 0xff, 0x7d])), /not UTF-8/],
    ['too large', () => put(CLAUDE, `{"x":"${'x'.repeat(CONFIG_LIMITS.fileBytes)}"}`), /too large/],
    ['a folder', () => mkdirSync(at(CLAUDE)), /could not be read \(EISDIR\)/],
  ])('refuses a file that is %s', async (_, make, message) => {
    const configuration = await load()
    make()
    await expect(adopt(configuration, host(), claude, OWN)).rejects.toThrow(message)
  })

  it.each(['{', '{}', '{"steps":5}', '[]'])('refuses a record that is %s', async (content) => {
    put(CLAUDE, FILE)
    mkdirSync(dirname(record()), { recursive: true })
    writeFileSync(record(), content)
    await expect(adopt(await load(), host(), claude, OWN)).rejects.toThrow('cannot be read')
    expect(text(CLAUDE)).toBe(FILE)
  })
})

describe('tables of a TOML file', () => {
  const replaced = (source: string, names: string[], more = '') =>
    replaceTables(source, 'mcp_servers', names, more, 'f.toml')
  const A = '[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers.a.env]\nX = "1"\n\n'
  const B = '[mcp_servers."b"]\ncommand = "b"\n'
  const NEW = '[mcp_servers.new]\ncommand = "n"\n'

  it.each<[string, string, string[], string, string]>([
    ['the named one, with its own tables', `${A}${B}`, ['a'], '', `${B}\n`],
    ['a quoted one', `${A}${B}`, ['b'], '', A],
    ['none', `${A}${B}`, [], '', `${A}${B}\n`],
    ['all of them', `# top\n${A}${B}`, ['a', 'b'], NEW, `# top\n\n${NEW}`],
    ['all there is', A, ['a'], NEW, NEW],
    [
      'with a comment',
      '[mcp_servers.a] # mine\ncommand = "a"\n[other]\nx = 1',
      ['a'],
      NEW,
      `[other]\nx = 1\n\n${NEW}`,
    ],
    ['not one of another table', `[other.a]\nx = 1\n${A}`, ['a'], NEW, `[other.a]\nx = 1\n\n${NEW}`],
    ["with ' around its name", "[mcp_servers.'a']\ncommand = 'a'\n[x]\n", ['a'], '', '[x]\n\n'],
    ['with line ends of Windows', '[mcp_servers.a]\r\ncommand = "a"\r\n[x]\r\n', ['a'], '', '[x]\r\n\n'],
  ])('%s', (_, source, names, more, expected) => {
    expect(replaced(source, names, more)).toBe(expected)
  })

  it.each([
    'mcp_servers = { a = { command = "a" } }\n',
    '[mcp_servers]\na = { command = "a" }\n',
    'mcp_servers.a.command = "a"\n',
    '[mcp_servers.a]\ncommand = """\n[other]\n"""\n',
  ])('are refused where they are written in another way: %j', (source) => {
    expect(() => replaced(source, ['a'], NEW)).toThrow('cannot be edited line by line')
  })
})
