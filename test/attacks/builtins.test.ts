// A repository that wants the built-in servers: to switch them on, to take their names, to allow their tools, to pose as the editor.
import { realpathSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

const NAMES = ['workspace', 'browser', 'computer']
const ON = Object.fromEntries(NAMES.map((name) => [name, true]))

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

it('switches none of them on, whatever file it writes', async () => {
  for (const file of [
    '.plugboard/settings.json',
    '.plugboard/settings.local.json',
    '.claude/settings.json',
    '.claude/settings.local.json',
  ])
    place.write(file, { builtins: ON, permissions: { allow: NAMES.map((name) => `mcp__${name}`) } })
  const { json } = await place.run('list', '--json', '--no-connect')
  const names = json.servers.map(({ name }: { name: string }) => name)
  for (const name of NAMES) expect(names).not.toContain(name)
  const called = await place.run('call', 'workspace.write_file', 'file_path=a', 'content=b')
  expect(called.code).not.toBe(0)
})

it('does not take their names', async () => {
  const entry = { command: process.execPath, args: ['-e', ''] }
  place.write('.mcp.json', { mcpServers: Object.fromEntries(NAMES.map((name) => [name, entry])) })
  const { json, stderr } = await place.run('list', '--json', '--no-connect', '--approve-project')
  const names = json.servers.map(({ name }: { name: string }) => name)
  for (const name of NAMES) expect(names).not.toContain(name)
  expect(`${stderr}${JSON.stringify(json)}`).toContain('reserved')
})

it('is not the editor', async () => {
  const lock = {
    pid: process.pid,
    workspaceFolders: [realpathSync(place.project)],
    transport: 'ws',
    authToken: 'x',
  }
  place.write('.claude/ide/4711.lock', lock)
  const said = await place.runWith({ CLAUDE_CONFIG_DIR: `${place.project}/.claude` }, 'explain', 'ide')
  expect(said.stdout).toContain('not read from the project')
})
