// `plugboard serve --mode`: what a client is listed, what stderr says about it, and which flags go together.
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

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
  expect(said).toMatch(/Mode search: 4 tools are listed in place of 60, about \d+ tokens in place of \d+\./)
})

it('decides in auto mode by the number that --search-above gives', async () => {
  const few = await listed(10, '--mode', 'auto')
  expect(few.tools).toHaveLength(10)
  expect(few.said).toContain('Mode all: 10 tools are listed')
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
