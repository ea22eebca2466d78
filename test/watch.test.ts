// A board that follows its files: what is added, changed, removed, approved and switched off takes effect, and the
// other servers are not touched.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Board, openBoard, systemHost } from '@plugboard/core'
import { afterEach, beforeEach, expect, it } from 'vitest'

const SERVER = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const memory = (mark: string) => ({ command: process.execPath, args: [SERVER], env: { MARK: mark } })

let top: string
let board: Board
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-watch-'))
  mkdirSync(join(top, 'home'))
  mkdirSync(join(top, 'project', '.git'), { recursive: true })
})
afterEach(async () => {
  await board.close()
  rmSync(top, { recursive: true, force: true })
})

const write = (path: string, content: unknown) => {
  const file = join(top, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(content))
}
const stateOf = (name: string) => board.servers().find((server) => server.name === name)?.state
const settled = { timeout: 15_000 }

it('starts, restarts and stops servers as the files say, without touching the others', async () => {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(top, 'home'),
    PLUGBOARD_MANAGED_DIR: join(top, 'none'),
  }
  write('home/.plugboard/settings.json', {
    mcpServers: { steady: memory('1') },
    disabledServers: ['codebase'],
  })
  board = await openBoard({ cwd: join(top, 'project'), host: systemHost({ env }), watch: true })
  const events: string[] = []
  board.on('state', ({ server, state }) => events.push(`${server} ${state.kind}`))
  await board.ready()
  expect(stateOf('steady')).toBe('connected')
  events.length = 0

  write('home/.plugboard/settings.json', {
    mcpServers: { steady: memory('1'), fresh: memory('1') },
    disabledServers: ['codebase'],
  })
  await expect.poll(() => stateOf('fresh'), settled).toBe('connected')

  write('home/.plugboard/settings.json', {
    mcpServers: { steady: memory('1'), fresh: memory('2') },
    disabledServers: ['codebase'],
  })
  await expect.poll(() => events.filter((event) => event === 'fresh connected').length, settled).toBe(2)

  write('project/.mcp.json', { mcpServers: { theirs: memory('1') } })
  await expect.poll(() => stateOf('theirs'), settled).toBe('disabled')

  write('home/.plugboard/settings.json', {
    mcpServers: { steady: memory('1') },
    disabledServers: ['codebase'],
  })
  await expect.poll(() => stateOf('fresh'), settled).toBeUndefined()
  expect(events.filter((event) => event.startsWith('steady'))).toEqual([])
  expect(stateOf('steady')).toBe('connected')
}, 60_000)

it('takes over hooks and rules that are written while it runs', async () => {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(top, 'home'),
    PLUGBOARD_MANAGED_DIR: join(top, 'none'),
  }
  const settings = { mcpServers: { steady: memory('1') }, disabledServers: ['codebase'] }
  write('home/.plugboard/settings.json', settings)
  board = await openBoard({
    cwd: join(top, 'project'),
    host: systemHost({ env }),
    watch: true,
    caller: 'user',
  })
  const outcome = () =>
    board.call('steady.read_graph').then(
      () => 'answered',
      (error: Error) => error.message,
    )
  expect(await outcome()).toBe('answered')

  const command = `${process.execPath} -e "console.error('not today'); process.exit(2)"`
  const hooks = { PreToolUse: [{ matcher: 'mcp__steady__.*', hooks: [{ type: 'command', command }] }] }
  write('home/.plugboard/settings.json', { ...settings, hooks })
  await expect.poll(outcome, settled).toContain('not today')

  write('home/.plugboard/settings.json', { ...settings, permissions: { deny: ['mcp__steady'] } })
  await expect.poll(outcome, settled).toContain('mcp__steady')

  write('home/.plugboard/settings.json', settings)
  await expect.poll(outcome, settled).toBe('answered')
}, 60_000)
