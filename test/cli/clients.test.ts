// Importing and exporting with the built command: the other clients' documented files, at the places they use.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

const FIXTURES = fileURLToPath(new URL('../../packages/core/src/config/import/fixtures', import.meta.url))
const fixture = (file: string) => readFileSync(join(FIXTURES, file), 'utf8')

/** client, its fixture, and where the client itself keeps it. */
const CLIENTS = [
  ['claude-desktop', 'claude-desktop.json', '~/.config/Claude/claude_desktop_config.json'],
  ['cursor', 'cursor.json', '~/.cursor/mcp.json'],
  ['vscode', 'vscode.json', '.vscode/mcp.json'],
  ['codex', 'codex.toml', '~/.codex/config.toml'],
  ['gemini', 'gemini.json', '~/.gemini/settings.json'],
  ['opencode', 'opencode.jsonc', '~/.config/opencode/opencode.json'],
  ['windsurf', 'windsurf.json', '~/.codeium/windsurf/mcp_config.json'],
] as const

let place: Place
let other: Place
beforeEach(() => {
  place = makePlace()
  other = makePlace()
})
afterEach(() => {
  place.remove()
  other.remove()
})

const entriesOf = (ran: { json: { servers: { name: string; entry: unknown }[] } }) =>
  Object.fromEntries(ran.json.servers.map(({ name, entry }) => [name, entry]))

describe.each(CLIENTS)('%s', (client, file, home) => {
  it('is found at its place, imported, and exported without loss', async () => {
    place.write(home, fixture(file))
    const imported = await place.run('import', client, '--json')
    expect([imported.code, imported.stderr]).toEqual([0, ''])
    const entries = entriesOf(imported)
    expect(Object.keys(entries).length).toBeGreaterThan(0)
    const listed = (await place.run('list', '--no-connect', '--json')).json.servers
    for (const name of Object.keys(entries)) expect(listed).toContainEqual(expect.objectContaining({ name }))
    expect(place.read(home)).toBe(fixture(file))

    const exported = await place.run('export', client, '--json')
    const again = await other.run('import', client, other.write('exported', exported.json.text), '--json')
    const named = exported.json.notes.map((note: { server?: string }) => note.server)
    const kept = Object.fromEntries(Object.entries(entries).filter(([name]) => !named.includes(name)))
    expect(entriesOf(again)).toMatchObject(kept)
    for (const name of Object.keys(entries))
      if (!(name in entriesOf(again)))
        expect(exported.json.notes).toContainEqual(expect.objectContaining({ server: name }))
  })

  it('shows with --dry-run what it would do', async () => {
    const path = place.write('given-by-hand', fixture(file))
    const planned = await place.run('import', client, path, '--dry-run', '--json')
    expect(planned.json.servers.every(({ outcome }: { outcome: string }) => outcome === 'planned')).toBe(true)
    expect((await place.run('list', '--no-connect', '--json')).json.servers).toHaveLength(1)
  })
})

it('does not overwrite existing servers, unless told to', async () => {
  place.write('~/.cursor/mcp.json', { mcpServers: { same: { command: 'theirs' } } })
  await place.run('add', '-s', 'user', 'same', '--', 'mine')
  expect((await place.run('import', 'cursor', '--json')).json.servers).toMatchObject([{ outcome: 'kept' }])
  expect((await place.run('import', 'cursor', '--force', '--json')).json.servers).toMatchObject([
    { outcome: 'replaced' },
  ])
})

it('says where it looked when there is nothing', async () => {
  const ran = await place.run('import', 'windsurf')
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('.codeium/windsurf/mcp_config.json')])
})

it('without a client says which clients have servers here, and imports nothing', async () => {
  const fresh = makePlace()
  try {
    fresh.write('~/.cursor/mcp.json', { mcpServers: { one: { command: 'x' } } })
    const found = await fresh.run('import', '--json')
    expect([found.code, found.json.clients]).toMatchObject([0, [{ client: 'cursor', servers: ['one'] }]])
    expect((await fresh.run('import')).stdout).toContain('plugboard import cursor')
    expect((await fresh.run('list', '--no-connect')).stdout).not.toContain('one ')
    const ours = await fresh.run('import', 'claude-code')
    expect([ours.code, ours.stderr]).toEqual([2, expect.stringContaining('read as they are')])
  } finally {
    fresh.remove()
  }
}, 60_000)
