// `plugboard serve --mode search` in front of twelve real servers, as real clients use it: the Inspector, mcporter, Claude Code,
// and the SDK's clients of both generations and eras. And MCP Apps: the same app server twice behind one endpoint.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { COMMAND, makePlace, type Place } from './support/cli.ts'
import { type RealClients, realClients } from './support/real-clients.ts'
import { realServers } from './support/real-servers.ts'

const INSTALL_MS = 10 * 60_000
const TEST_MS = 120_000
const LISTED = ['search_tools', 'describe_tools', 'call_tool']

/** What a user wants, the tool that does it, and what shows that the real server answered. */
const WISHES = [
  ['echo a message back', 'mcp__everything__echo', { message: 'a word' }, /Echo: a word/],
  ['list the files of a directory', 'mcp__filesystem__list_directory', { path: '.' }, /hello\.txt/],
  ['read the whole knowledge graph', 'mcp__memory__read_graph', {}, /entities/],
  [
    'think step by step about a problem',
    'mcp__sequential-thinking__sequentialthinking',
    { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    /thoughtNumber/,
  ],
  ['budget data with categories', 'mcp__budget__get-budget-data', {}, /Categories/],
] as const

let installed: RealClients | undefined
let place: Place
let child: ChildProcess | undefined
let url = ''
let log = ''

beforeAll(async () => {
  place = makePlace()
  writeFileSync(join(place.project, 'hello.txt'), 'hello\n')
  installed = realClients()
  const servers = realServers(place.project)
  if (!servers) return
  place.write('servers.json', { mcpServers: servers })
  const words = ['serve', '--http', '--port', '0', '--no-auth', '--mode', 'search', '--json']
  child = spawn(
    process.execPath,
    [COMMAND, ...words, '--strict-mcp-config', '--mcp-config', 'servers.json'],
    {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  child.stderr?.on('data', (chunk) => {
    log += String(chunk)
  })
  url = await firstUrl(child)
  await allUp()
}, INSTALL_MS)

afterAll(async () => {
  if (child?.exitCode === null && child.kill()) await once(child, 'exit')
  place.remove()
})

function need({ skip }: TestContext): RealClients {
  if (!installed || url === '') return skip('the npm registry cannot be reached')
  return installed
}

describe.each([
  ['SDK v2, legacy', 'legacy'],
  ['SDK v2, modern', 'modern'],
  ['SDK v1', 'v1'],
] as const)('%s', (_, kind) => {
  it('finds, describes and calls tools of real servers', { timeout: TEST_MS }, async (context) => {
    need(context)
    const { client, call } = await connect(kind)
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(LISTED)
      for (const [wish, tool, args, answer] of WISHES) {
        expect(await call('search_tools', { query: wish })).toContain(tool)
        expect(await call('describe_tools', { names: [tool] })).toContain('"inputSchema"')
        expect(await call('call_tool', { name: tool, arguments: args })).toMatch(answer)
      }
    } finally {
      await client.close()
    }
  })
})

it('has tools of every server', { timeout: TEST_MS }, async (context) => {
  need(context)
  const { client, call } = await connect('legacy')
  const { contents } = await client.readResource({ uri: 'plugboard://status' })
  const status = JSON.parse((contents[0] as { text: string }).text)
  // With the built-in one.
  expect(status.servers).toHaveLength(15)
  for (const { name, state, tools } of status.servers) {
    expect([name, state, tools > 0]).toEqual([name, 'connected', true])
    expect(await call('search_tools', { query: name, limit: 20 })).toContain(`mcp__${name}__`)
  }
  expect(status.tools.tools).toBeGreaterThan(150)
  expect(status.tools.listedTokens).toBeLessThanOrEqual(1500)
  expect(status.tools.tokens).toBeGreaterThan(30_000)
  await client.close()
})

it.for(['legacy', 'modern'])('the Inspector (%s)', { timeout: TEST_MS }, async (era, context) => {
  const { inspector } = need(context)
  const ask = async (...more: string[]) =>
    JSON.parse(
      await inspector(place.home, '--protocol-era', era, ...more, '--transport', 'http', '--server-url', url),
    ).result
  expect((await ask('--method', 'tools/list')).tools.map(({ name }: { name: string }) => name)).toEqual(
    LISTED,
  )
  const tool = (name: string, ...pairs: string[]) =>
    ask('--method', 'tools/call', '--tool-name', name, '--tool-arg', ...pairs)
  const found = await tool('search_tools', 'query=read the whole knowledge graph')
  expect(found.content[0].text).toContain('mcp__memory__read_graph')
  const called = await tool('call_tool', 'name=mcp__memory__read_graph', 'arguments={}')
  expect(called.content[0].text).toContain('entities')
})

it('mcporter', { timeout: TEST_MS }, async (context) => {
  const { mcporter } = need(context)
  const to = ['--http-url', url, '--allow-http']
  const list = JSON.parse(await mcporter(place.home, 'list', '--json', ...to))
  expect(list.tools.map(({ name }: { name: string }) => name)).toEqual(LISTED)
  expect(
    await mcporter(place.home, 'call', ...to, 'search_tools', 'query=list the files of a directory'),
  ).toContain('mcp__filesystem__list_directory')
  const args = JSON.stringify({ name: 'mcp__filesystem__list_directory', arguments: { path: '.' } })
  expect(await mcporter(place.home, 'call', ...to, 'call_tool', '--args', args)).toContain('hello.txt')
})

it('Claude Code', { timeout: TEST_MS }, async (context) => {
  const { claude } = need(context)
  await claude(place.home, 'mcp', 'add', '--scope', 'user', '--transport', 'http', 'many', url)
  expect(await claude(place.home, 'mcp', 'list')).toMatch(/^many: .*Connected/m)
})

it('says on stderr what the mode saves', (context) => {
  need(context)
  expect(log).toMatch(
    /^Mode search: 3 tools listed in place of [\d,]+, about [\d,]+ tokens in place of [\d,]+\.$/m,
  )
})

describe('MCP Apps of the same server twice', () => {
  const MIME = 'text/html;profile=mcp-app'
  const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [MIME] } } }

  it.each(['legacy', 'modern'] as const)('have addresses of their own (%s)', async (kind) => {
    if (url === '') return
    const { client } = await connect(kind, capabilities)
    expect(client.getServerCapabilities()?.extensions).toHaveProperty('io.modelcontextprotocol/ui')
    const { tools } = await client.listTools()
    const apps = tools.filter(({ _meta }) => (_meta?.ui as { resourceUri?: string })?.resourceUri)
    expect(apps.map(({ name }) => name)).toEqual([
      'mcp__budget__get-budget-data',
      'mcp__budget-two__get-budget-data',
    ])
    const addresses = apps.map(({ _meta }) => (_meta?.ui as { resourceUri?: string })?.resourceUri ?? '')
    expect(addresses).toEqual([
      'ui://plugboard/budget/budget-allocator/mcp-app.html',
      'ui://plugboard/budget-two/budget-allocator/mcp-app.html',
    ])
    for (const [at, uri] of addresses.entries()) {
      expect(new URL(uri).protocol).toBe('ui:')
      expect(apps[at]?._meta?.['ui/resourceUri']).toBe(uri)
      const { contents } = await client.readResource({ uri })
      expect(contents[0]).toMatchObject({ uri, mimeType: MIME })
      expect((contents[0] as { text: string }).text).toContain('Budget Allocator')
    }
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(expect.arrayContaining(addresses))
    // Tools of servers without apps are for the model alone.
    expect(tools.find(({ name }) => name === 'call_tool')?._meta).toEqual({ ui: { visibility: ['model'] } })
    // An app knows its tool by its server's name for it; with two such servers it must say which one.
    await expect(client.callTool({ name: 'get-budget-data', arguments: {} })).rejects.toThrow(
      'Several servers with apps',
    )
    await client.close()
  })
})

async function connect(kind: 'legacy' | 'modern' | 'v1', capabilities: object = {}) {
  const info = { name: 'test', version: '1' }
  const mode = kind === 'modern' ? ({ pin: '2026-07-28' } as const) : 'legacy'
  const client =
    kind === 'v1'
      ? (new ClientV1(info, { capabilities }) as unknown as Client)
      : new Client(info, { versionNegotiation: { mode }, capabilities })
  const Transport = kind === 'v1' ? TransportV1 : StreamableHTTPClientTransport
  await client.connect(new Transport(new URL(url)) as StreamableHTTPClientTransport)
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = await client.callTool({ name, arguments: args })
    return JSON.stringify(result.content).replaceAll('\\"', '"')
  }
  return { client, call }
}

/** Waits until every server is up: on a busy machine twelve of them take a while. */
async function allUp(): Promise<void> {
  const { client } = await connect('legacy')
  for (let round = 0; round < 120; round++) {
    const { contents } = await client.readResource({ uri: 'plugboard://status' })
    const { servers } = JSON.parse((contents[0] as { text: string }).text)
    if (servers.every(({ state }: { state: string }) => state !== 'pending')) break
    await new Promise((done) => setTimeout(done, 500))
  }
  await client.close()
}

async function firstUrl({ stdout }: ChildProcess): Promise<string> {
  let said = ''
  for await (const chunk of stdout ?? []) {
    said += String(chunk)
    if (said.trimEnd().endsWith('}')) return JSON.parse(said).url
  }
  throw new Error(`It did not start: ${said} ${log}`)
}
