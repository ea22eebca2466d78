// Which roots a server is given: the project, the folders in its arguments, or what its entry says. With the real
// filesystem server, which serves its roots instead of its arguments once it is given any.
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const FILESYSTEM = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
)

let place: Place
let data: string
let other: string
beforeEach(() => {
  place = makePlace()
  mkdirSync(join(place.home, 'data'))
  mkdirSync(join(place.home, 'other'))
  data = realpathSync(join(place.home, 'data'))
  other = realpathSync(join(place.home, 'other'))
  writeFileSync(join(data, 'note.txt'), 'from data')
  writeFileSync(join(place.project, 'mine.txt'), 'from the project')
})
afterEach(() => place.remove())

const words = (args: readonly string[], more: object = {}) => [
  '--strict-mcp-config',
  '--mcp-config',
  JSON.stringify({
    mcpServers: { files: { command: process.execPath, args: [FILESYSTEM, ...args], ...more } },
  }),
]
const allowed = async (args: readonly string[], more: object = {}) =>
  (await place.run('call', 'files.list_allowed_directories', ...words(args, more))).stdout

describe('the filesystem server', () => {
  it('reads the folder of its arguments, and the project', async () => {
    const read = (path: string) => place.run('call', 'files.read_text_file', `path=${path}`, ...words([data]))
    const note = await read(join(data, 'note.txt'))
    expect(note.stdout).toContain('from data')
    expect(note.code).toBe(0)
    expect((await read(join(place.project, 'mine.txt'))).stdout).toContain('from the project')
    expect((await read(join(other, 'x'))).code).toBe(1)
  }, 60_000)

  it('has only its arguments with "roots": false', async () => {
    const told = await allowed([data], { roots: false })
    expect(told).toContain(data)
    expect(told).not.toContain(place.project)
  }, 60_000)

  it('has only what "roots" lists', async () => {
    const told = await allowed([data], { roots: ['~/other'] })
    expect(told).toContain(other)
    expect(told).not.toContain(data)
    expect(told).not.toContain(place.project)
  }, 60_000)

  it('resolves a folder of its arguments from its own folder', async () => {
    expect(await allowed(['data'], { cwd: place.home })).toContain(data)
  }, 60_000)

  it('has the folder of its arguments also behind serve', async () => {
    const client = new Client({ name: 'test', version: '1' })
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: place.home,
      PLUGBOARD_MANAGED_DIR: join(place.home, 'none'),
    }
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [COMMAND, 'serve', ...words([data])],
        cwd: place.project,
        env,
        stderr: 'ignore',
      }),
    )
    try {
      const listed = async () => (await client.listTools()).tools.map(({ name }) => name)
      await expect.poll(listed, { timeout: 20_000 }).toContain('mcp__files__read_text_file')
      const path = join(data, 'note.txt')
      const read = () => client.callTool({ name: 'mcp__files__read_text_file', arguments: { path } })
      await expect
        .poll(async () => JSON.stringify((await read()).content), { timeout: 20_000 })
        .toContain('from data')
    } finally {
      await client.close()
    }
  }, 60_000)
})

it('explain names the folders, and a wrong "roots" is a fault with its place', async () => {
  const { json } = await place.run(
    'explain',
    'files',
    '--json',
    ...words([data, '--verbose', 'no-such-folder']),
  )
  expect(json.roots.map((folder: string) => realpathSync(folder))).toEqual([
    realpathSync(place.project),
    data,
  ])
  expect((await place.run('explain', 'files', ...words([data], { roots: false }))).stdout).toContain(
    '"roots": false',
  )
  place.write('~/.plugboard/settings.json', { mcpServers: { files: { command: 'x', roots: true } } })
  const { stderr } = await place.run('list')
  expect(stderr).toContain('mcpServers.files.roots')
  expect(stderr).toContain('expected false or a list of folders')
}, 60_000)
