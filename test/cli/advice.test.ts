// What the command says when something is missing: what it is, where, and the next step; never what policy
// forbids.
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { zip } from '../support/zip.ts'

const SERVER = fileURLToPath(new URL('../support/pid-server.mjs', import.meta.url))

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

describe('plugboard add without a name', () => {
  it.each([
    [['https://x.example/mcp'], 'plugboard add NAME https://x.example/mcp'],
    [['https://x.example/mcp', '-s', 'user'], 'plugboard add NAME https://x.example/mcp'],
    [['--', 'npx', '-y', 'some-server'], 'plugboard add NAME -- npx -y some-server'],
    [[], 'plugboard add NAME URL'],
  ])('%j says that NAME is missing', async (words, hint) => {
    const { code, stderr } = await place.run('add', ...words)
    expect(stderr).toContain('NAME is missing')
    expect(stderr).toContain(hint)
    expect(code).toBe(2)
  })

  it('with a name and nothing else says what else is missing', async () => {
    expect((await place.run('add', 'mine')).stderr).toContain('What to run or reach is missing')
  })
})

describe('a managed machine', () => {
  const managed = (content: object, file: string) => place.write(`../managed/${file}`, content)

  it.each([
    ['managed-mcp.json', { mcpServers: {} }],
    ['managed-settings.json', { allowManagedMcpServersOnly: true }],
  ])('with %s gets no advice to add servers', async (file, content) => {
    managed(content, file)
    const { stdout, stderr } = await place.run('list')
    expect(stdout + stderr).not.toContain('plugboard add')
    expect(stdout + stderr).not.toContain('plugboard import')
  })

  it('is distinguished from one that is not', async () => {
    expect((await place.run('list')).stdout).toContain('plugboard add')
  })
})

it('a bundle that lacks a value says which one, and where to write it', async () => {
  const file = join(place.home, 'needy.mcpb')
  const manifest = {
    manifest_version: '0.3',
    name: 'needy',
    version: '1.0.0',
    server: { type: 'node', entry_point: 'index.js' },
    user_config: { api_key: { type: 'string', title: 'API key', required: true, sensitive: true } },
  }
  writeFileSync(file, zip({ 'manifest.json': JSON.stringify(manifest), 'index.js': '' }))
  place.write('~/.plugboard/settings.json', { plugins: [file] })
  const { stdout } = await place.run('list')
  expect(stdout).toContain('it needs a value for api_key')
  expect(stdout).toContain('"userConfig": {"api_key": …}')
  expect(stdout).not.toContain('disabled in its entry')
  const called = await place.run('call', 'needy.anything')
  expect(called.code).toBe(6)
  expect(called.stderr).toContain('api_key')
}, 60_000)

describe('explain of a bare url', () => {
  let server: Server
  let url: string
  beforeEach(async () => {
    let post = ''
    server = createServer(async (request, response) => {
      if (request.url === '/older' && request.method === 'POST') return response.writeHead(405).end()
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('event: endpoint\ndata: /post\n\n')
        server.on('more', (text: string) => response.write(`data: ${text}\n\n`))
        return
      }
      post = ''
      for await (const chunk of request) post += chunk
      response.writeHead(202).end()
      const { id, method, params } = JSON.parse(post)
      if (id === undefined) return
      const result =
        method === 'initialize'
          ? {
              protocolVersion: params.protocolVersion,
              capabilities: { tools: {} },
              serverInfo: { name: 'old', version: '1' },
            }
          : { tools: [] }
      server.emit('more', JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/older`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })

  it('says what will be tried, and after a connect which transport it was', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { bare: { url } } })
    const before = await place.run('explain', 'bare')
    expect(before.stdout).toContain('Streamable HTTP, and the older SSE transport')
    expect(before.stdout).not.toContain('it was met as')
    const { servers } = (await place.run('list', '--json')).json
    expect(servers).toContainEqual(expect.objectContaining({ name: 'bare', state: 'connected', type: 'sse' }))
    expect((await place.run('explain', 'bare')).stdout).toContain('it was met as the older SSE transport')
    expect((await place.run('explain', 'bare', '--json')).json.metAs).toBe('sse')
  }, 60_000)
})

it('makes every state file readable for the user only', async () => {
  const entry = { command: process.execPath, args: [SERVER] }
  place.write('~/.plugboard/settings.json', { mcpServers: { one: entry }, disabledServers: ['codebase'] })
  expect((await place.run('call', 'one.whoami')).code).toBe(0)
  expect((await place.run('list')).code).toBe(0)
  const state = join(place.home, '.plugboard/state')
  const names = readdirSync(state, { recursive: true, encoding: 'utf8' })
  expect(names).toContain('tools.lock.json')
  for (const name of names) {
    const { mode } = statSync(join(state, name))
    expect(`${name} ${(mode & 0o077).toString(8)}`).toBe(`${name} 0`)
  }
}, 60_000)
