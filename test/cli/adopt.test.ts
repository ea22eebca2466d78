// `plugboard adopt`: a client's servers move here, its file gets one entry, and --undo restores every byte.
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findClient } from '../../packages/core/src/config/import/index.ts'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

const fixture = (name: string) =>
  readFileSync(
    fileURLToPath(new URL(`../../packages/core/src/config/import/fixtures/${name}`, import.meta.url)),
    'utf8',
  )
const CLAUDE_JSON = `{
  "numStartups": 4, // kept
  "mcpServers": {
    "memory": { "type": "stdio", "command": "npx", "args": ["-y", "server-memory"], "env": {} },
    "docs": { "type": "http", "url": "https://docs.example.com/mcp" }
  },
  "projects": { "/p": { "mcpServers": { "local": { "command": "x" } } } }
}
`
/** client, its file under the home folder, what is in it. */
const FILES: readonly (readonly [string, string, string])[] = [
  ['claude-code', '.claude.json', CLAUDE_JSON],
  ['claude-desktop', '.config/Claude/claude_desktop_config.json', fixture('claude-desktop.json')],
  ['cursor', '.cursor/mcp.json', fixture('cursor.json')],
  ['vscode', '.config/Code/User/mcp.json', fixture('vscode.json')],
  ['vscode', '.config/Code/User/settings.json', fixture('vscode-settings.json')],
  ['codex', '.codex/config.toml', fixture('codex.toml')],
  ['gemini', '.gemini/settings.json', fixture('gemini.json')],
  ['opencode', '.config/opencode/opencode.jsonc', fixture('opencode.jsonc')],
  ['opencode', '.config/opencode/opencode.json', fixture('opencode-v2.jsonc')],
  ['windsurf', '.codeium/windsurf/mcp_config.json', fixture('windsurf.json')],
  ['cursor', '.cursor/mcp.json', '\uFEFF{"mcpServers":{"a":{"command":"x"}},"other":[1,2]}'],
  [
    'cursor',
    '.cursor/mcp.json',
    '{\r\n\t"mcpServers": {\r\n\t\t"a b": {"command": "x"}, // why\r\n\t},\r\n}\r\n',
  ],
  [
    'codex',
    '.codex/config.toml',
    'model = "o3"\n[mcp_servers."a.b"]\ncommand = "x"\n[mcp_servers."a.b".env]\nK = "v"\n\n# tail\n[tui]\nx = 1',
  ],
]
const serversIn = (id: string, text: string) =>
  id === 'claude-code'
    ? Object.keys(JSON.parse(text.replace(' // kept', '')).mcpServers)
    : [...(findClient(id)?.parse(text).servers.keys() ?? [])]
const settingsFile = () => join(place.home, '.plugboard/settings.json')

describe.each(FILES)('%s with %s', (id, path, text) => {
  let file: string
  beforeEach(() => {
    file = place.write(`~/${path}`, '')
    writeFileSync(file, text)
    chmodSync(file, 0o640)
  })
  const now = () => readFileSync(file, 'utf8')

  it('is shown, adopted once, and restored byte for byte', async () => {
    const before = serversIn(id, text)
    expect(before.length).toBeGreaterThan(0)
    const shown = await place.run('adopt', id, '--dry-run', '--json')
    expect(shown.json).toMatchObject({ client: id, dryRun: true, files: [file] })
    expect(now()).toBe(text)
    expect(existsSync(settingsFile())).toBe(false)

    const adopted = await place.run('adopt', id, '--json')
    expect(adopted.code).toBe(0)
    expect(serversIn(id, now())).toEqual(['plugboard'])
    for (const name of adopted.json.left) expect(now()).toContain(name)
    expect(now()).toContain(JSON.stringify(COMMAND).slice(1, -1))
    expect(now()).toContain('connect')
    expect(statSync(file).mode & 0o777).toBe(0o640)
    const ours = Object.keys(JSON.parse(readFileSync(settingsFile(), 'utf8')).mcpServers)
    expect(ours.sort()).toEqual(adopted.json.servers.map(({ name }: { name: string }) => name).sort())
    expect(statSync(adopted.json.record).mode & 0o777).toBe(0o600)

    const adoptedText = now()
    const again = await place.run('adopt', id)
    expect(again.stdout).toContain('no servers left to adopt')
    expect(now()).toBe(adoptedText)

    const undone = await place.run('adopt', id, '--undo', '--json')
    expect(undone.json).toMatchObject({ files: [file], kept: [] })
    expect(undone.json.removed.sort()).toEqual(ours)
    expect(now()).toBe(text)
    expect(existsSync(adopted.json.record)).toBe(false)
    expect(JSON.parse(readFileSync(settingsFile(), 'utf8')).mcpServers ?? {}).toEqual({})
    const twice = await place.run('adopt', id, '--undo')
    expect(twice.code).toBe(2)
    expect(twice.stderr).toContain('nothing to undo')
  })
})

describe('adopting', () => {
  const FILE = '~/.cursor/mcp.json'
  const entry = { command: 'npx', args: ['-y', 'server-memory'] }
  const read = (path: string) => readFileSync(join(place.home, path.slice(2)), 'utf8')

  it('keeps what else stands in the file, and does not print its values', async () => {
    const token = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'
    place.write(FILE, { theme: 'dark', mcpServers: { memory: { ...entry, env: { TOKEN: token } } } })
    const adopted = await place.run('adopt', 'cursor')
    expect(adopted.stdout + adopted.stderr).not.toContain(token)
    expect(adopted.stdout).toContain('memory was added here')
    expect(adopted.stdout).toContain('adopt cursor --undo')
    expect(JSON.parse(read(FILE))).toMatchObject({ theme: 'dark', mcpServers: { plugboard: {} } })
  })

  it('does not undo over a file that changed since', async () => {
    place.write(FILE, { mcpServers: { memory: entry } })
    await place.run('adopt', 'cursor')
    const changed = read(FILE).replace('{', '{ "later": true,')
    place.write(FILE, changed)
    const undone = await place.run('adopt', 'cursor', '--undo')
    expect(undone.code).toBe(2)
    expect(undone.stderr).toContain('has changed since it was adopted')
    expect(read(FILE)).toBe(changed)
    expect((await place.run('get', 'memory', '--no-connect', '--json')).code).toBe(0)
  })

  it('gives another name to a server whose name is taken by a different one, and knows an equal one', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { memory: { command: 'other' }, same: entry } })
    place.write(FILE, { mcpServers: { memory: entry, same: entry } })
    const { json } = await place.run('adopt', 'cursor', '--json')
    expect(json.servers).toMatchObject([
      { original: 'memory', name: 'memory-cursor', outcome: 'added' },
      { original: 'same', name: 'same', outcome: 'known' },
    ])
    const { json: undone } = await place.run('adopt', 'cursor', '--undo', '--json')
    expect(undone.removed).toEqual(['memory-cursor'])
    expect(Object.keys(JSON.parse(read('~/.plugboard/settings.json')).mcpServers)).toEqual(['memory', 'same'])
  })

  it('keeps a server here that the user changed since', async () => {
    place.write(FILE, { mcpServers: { memory: entry } })
    await place.run('adopt', 'cursor')
    await place.run('add', 'memory', '-s', 'user', '--force', '--', 'other')
    const { json } = await place.run('adopt', 'cursor', '--undo', '--json')
    expect(json).toMatchObject({ removed: [], kept: ['memory'] })
  })

  it('takes servers that were added later, and undoes step by step', async () => {
    place.write(FILE, { mcpServers: { memory: entry } })
    const first = read(FILE)
    await place.run('adopt', 'cursor')
    const parsed = JSON.parse(read(FILE))
    place.write(FILE, { mcpServers: { ...parsed.mcpServers, later: { command: 'later' } } })
    const second = read(FILE)
    const { json } = await place.run('adopt', 'cursor', '--json')
    expect(json.servers).toMatchObject([{ name: 'later' }])
    await place.run('adopt', 'cursor', '--undo')
    expect(read(FILE)).toBe(second)
    expect((await place.run('adopt', 'cursor', '--undo')).code).toBe(2)
    place.write(FILE, JSON.stringify(parsed, undefined, 2))
    expect(first).toContain('memory')
  })

  it('writes through a link of the user’s own', async () => {
    const real = place.write('~/dotfiles/mcp.json', { mcpServers: { memory: entry } })
    place.write('~/.cursor/keep', '')
    symlinkSync(real, join(place.home, '.cursor/mcp.json'))
    await place.run('adopt', 'cursor')
    expect(JSON.parse(readFileSync(real, 'utf8')).mcpServers).toHaveProperty('plugboard')
  })

  it.each([
    ['a broken file', '{ "mcpServers": {', /not valid JSON/],
    ['a file with nothing in it', '', /no servers left/],
    ['servers that are no object', '{"mcpServers": 3}', /no servers left/],
  ])('changes nothing in %s', async (_, text, says) => {
    place.write(FILE, text)
    const { stdout, stderr } = await place.run('adopt', 'cursor')
    expect(stdout + stderr).toMatch(says)
    expect(read(FILE)).toBe(text)
  })

  it('refuses TOML that it cannot edit line by line', async () => {
    const text = 'mcp_servers = { a = { command = "x" } }\n'
    place.write('~/.codex/config.toml', text)
    const { code, stderr } = await place.run('adopt', 'codex')
    expect(code).toBe(2)
    expect(stderr).toContain('[mcp_servers.NAME]')
    expect(read('~/.codex/config.toml')).toBe(text)
    expect(existsSync(settingsFile())).toBe(false)
  })

  it('says which clients there are, and which file it looked for', async () => {
    expect((await place.run('adopt', 'emacs')).stderr).toContain('claude-code, claude-desktop, cursor')
    expect((await place.run('adopt', 'cursor')).stderr).toContain('~/.cursor/mcp.json')
  })

  it('leaves a project’s file alone', async () => {
    place.write('.cursor/mcp.json', { mcpServers: { planted: entry } })
    expect((await place.run('adopt', 'cursor')).code).toBe(2)
    expect(existsSync(settingsFile())).toBe(false)
  })
})

it('a board never connects to an entry that leads to itself', async () => {
  place.write('~/.claude.json', {
    mcpServers: {
      plugboard: { command: process.execPath, args: [COMMAND, 'connect'] },
      runner: { command: 'npx', args: ['-y', 'plugboard@latest', 'serve'] },
      other: { command: 'sh', args: ['-c', 'exit 1'] },
    },
  })
  const { json, stderr } = await place.run('list', '--json')
  const rows = new Map(json.servers.map((row: { name: string }) => [row.name, row]))
  expect(rows.has('plugboard')).toBe(false)
  expect(stderr).not.toContain('plugboard')
  expect(rows.get('runner')).toMatchObject({
    state: 'disabled',
    reason: expect.stringContaining('this board itself'),
  })
  expect(rows.get('other')).toMatchObject({ state: 'failed' })
})
