// `plugboard serve --mode`: what a client is listed, what stderr says about it, and which flags go together.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { noTerminal, openTerminal } from '../support/terminal.ts'

const MANY = fileURLToPath(new URL('../../packages/gateway/src/fixtures/many.mjs', import.meta.url))
let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

async function listed(count: number, ...flags: string[]) {
  const desk = { command: process.execPath, args: [MANY], env: { COUNT: String(count) } }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      COMMAND,
      'serve',
      '--strict-mcp-config',
      '--mcp-config',
      JSON.stringify({ mcpServers: { desk } }),
      '--expose',
      'desk',
      ...flags,
    ],
    cwd: place.project,
    env: { PATH: process.env['PATH'] ?? '', HOME: place.home },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (chunk) => {
    said += String(chunk)
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  try {
    const tools = (await client.listTools()).tools.map(({ name }) => name)
    const found = tools.includes('search_tools')
      ? await client.callTool({ name: 'search_tools', arguments: { query: 'archive a ticket', limit: 1 } })
      : undefined
    return { tools, said, found: JSON.stringify(found?.content) }
  } finally {
    await client.close()
  }
}

it('lists the search tools in search mode, and says on stderr what that saves', async () => {
  const { tools, said, found } = await listed(60, '--mode', 'search', '--always', 'desk.list_photo')
  expect(tools).toEqual(['search_tools', 'describe_tools', 'call_tool', 'mcp__desk__list_photo'])
  expect(found).toContain('mcp__desk__archive_ticket(')
  expect(said).toMatch(/Mode search: 4 tools listed in place of 60, about [\d,]+ tokens in place of [\d,]+\./)
})

it('decides in auto mode by the number that --search-above gives', async () => {
  const few = await listed(10, '--mode', 'auto')
  expect(few.tools).toHaveLength(10)
  expect(few.said).toContain('Mode all: 10 tools listed')
  expect((await listed(10, '--mode', 'auto', '--search-above', '100')).tools).toHaveLength(3)
})

it.each([
  [['--always', 'desk'], '--always belongs to'],
  [['--mode', 'search', '--search-above', '5'], '--search-above belongs to'],
  [['--mode', 'auto', '--search-above', 'many'], 'not a number of tokens'],
  [['--mode', 'code'], 'mode'],
])('refuses %j', async (flags, text) => {
  const ran = await place.run('serve', ...flags)
  expect(ran.code).toBe(2)
  expect(ran.stderr).toContain(text)
})

it('serves a profile of the settings, under the names and texts of the settings', async () => {
  place.write('~/.plugboard/settings.json', {
    profiles: { photos: ['desk.list_photo', 'desk.share_photo'] },
    tools: {
      'desk.list_photo': { name: 'photos', description: 'Lists photos.' },
      'desk.nothing': { hidden: true },
    },
  })
  const { tools, said } = await listed(60, '--names', 'auto', '--profile', 'photos')
  expect(tools).toEqual(['photos', 'share_photo'])
  expect(said).toContain('"tools" in the settings: desk.nothing fits no tool')
  const wrong = await place.run('serve', '--profile', 'photo')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean "photos"?')])
})

describe('serve --http', () => {
  /** What it prints until it listens and has said how clients use it. */
  async function started(...flags: string[]) {
    const child = spawn(process.execPath, [COMMAND, 'serve', '--http', '--strict-mcp-config', ...flags], {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk) => {
      said.out += String(chunk)
    })
    child.stderr.on('data', (chunk) => {
      said.err += String(chunk)
    })
    try {
      await expect.poll(() => said.err, { timeout: 30_000 }).toContain('mcp_servers.board')
      return { ...said }
    } finally {
      child.kill()
      await once(child, 'exit')
    }
  }

  it('prints entries to paste, and makes no token for the run when there is one that stays', async () => {
    const first = await started()
    const [, url = '', token = ''] = /Serving on (\S+)\nAuthorization: Bearer (\S+)/.exec(first.out) ?? []
    expect(token).not.toBe('')
    expect(first.err).toContain(
      `claude mcp add --transport http board ${url} --header "Authorization: Bearer ${token}"`,
    )
    const jsons = first.err.split('\n').filter((line) => line.startsWith('  {'))
    const headers = { Authorization: `Bearer ${token}` }
    expect(jsons.map((line) => JSON.parse(line))).toEqual([
      { mcpServers: { board: { url, headers } } },
      { servers: { board: { type: 'http', url, headers } } },
    ])
    expect(first.err).toContain(`http_headers = { Authorization = "Bearer ${token}" }`)
    await place.run('serve', 'token', 'add', 'laptop')
    const second = await started()
    expect(second.out).not.toContain('Authorization')
    expect(second.err).toContain('Bearer YOUR_TOKEN')
    const open = await started('--no-auth')
    expect(open.err).not.toContain('Bearer')
  }, 90_000)
})

it.skipIf(noTerminal())('typed at a terminal says what to do', async () => {
  const terminal = await openTerminal(place, 'serve')
  try {
    // Lines are wrapped.
    const screen = (await terminal.see(/exit 2/)).replace(/\s+/g, ' ')
    expect(screen).toContain('claude mcp add board -- plugboard serve')
    expect(screen).toContain('plugboard serve --http')
  } finally {
    await terminal.close()
  }
})
