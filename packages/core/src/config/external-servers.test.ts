// Servers from plugins and lists, through the whole pipeline with real files and a real HTTP server.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { loadConfiguration } from './load.ts'

let top: string
let server: Server | undefined
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-borrowed-'))
  mkdirSync(join(top, 'home'))
  mkdirSync(join(top, 'project', '.git'), { recursive: true })
})
afterEach(async () => {
  rmSync(top, { recursive: true, force: true })
  await new Promise<void>((done) => (server ? server.close(() => done()) : done()))
  server = undefined
})

const write = (path: string, content: unknown) => {
  const file = join(top, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(content))
  return file
}
const load = (env: Record<string, string> = {}) => {
  const surroundings = { HOME: join(top, 'home'), PLUGBOARD_MANAGED_DIR: join(top, 'managed'), ...env }
  const host = systemHost({ env: surroundings })
  return loadConfiguration({ host, cwd: join(top, 'project'), withoutBuiltins: true })
}

it("brings a plugin's servers in, trusted when the user enabled it and not when the repository did", async () => {
  write('mine/.mcp.json', { mcpServers: { a: { command: '${CLAUDE_PLUGIN_ROOT}/run' } } })
  write('project/theirs/.mcp.json', { b: { command: 'b' } })
  write('home/.plugboard/settings.json', { plugins: [join(top, 'mine')] })
  write('project/.plugboard/settings.json', { plugins: ['theirs'] })
  const { servers, diagnostics } = await load()
  expect(diagnostics).toEqual([])
  expect(servers).toMatchObject([
    { name: 'a', scope: 'plugin', entry: { command: join(top, 'mine', 'run') } },
    { name: 'b', scope: 'plugin', disabled: { kind: 'trust', text: 'pending approval' } },
  ])
  expect(servers[0]?.disabled).toBeUndefined()
})

it('suppresses a copy of a hand-written server under another name, and says by which', async () => {
  write('mine/.mcp.json', { mcpServers: { copy: { command: 'same', args: ['x'] } } })
  write('home/.plugboard/settings.json', {
    plugins: [join(top, 'mine')],
    mcpServers: { original: { command: 'same', args: ['x'] } },
  })
  const { servers } = await load()
  expect(servers).toMatchObject([
    { name: 'copy', disabled: { kind: 'suppressed', by: 'original' } },
    { name: 'original' },
  ])
})

it('fetches a managed list with the bearer of the named variable, and never for a repository', async () => {
  const asked: (string | undefined)[] = []
  server = createServer((request, response) => {
    asked.push(request.headers.authorization)
    response.end(JSON.stringify({ mcpServers: { far: { type: 'http', url: 'https://example.com/mcp' } } }))
  })
  await new Promise<void>((done) => server?.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list`
  write('project/.plugboard/settings.json', { managedServers: { url, bearerEnv: 'SECRET' } })
  const foreign = await load({ SECRET: 'sesame' })
  expect(foreign.servers).toEqual([])
  expect(foreign.diagnostics).toMatchObject([
    { message: expect.stringContaining('no effect in a project file') },
  ])
  expect(asked).toEqual([])

  write('home/.plugboard/settings.json', { managedServers: { url, bearerEnv: 'SECRET' } })
  expect((await load({ SECRET: 'sesame' })).servers).toMatchObject([
    { name: 'far', scope: 'managed', source: url },
  ])
  expect(asked).toEqual(['Bearer sesame'])
})

it("brings in the servers of Claude Code's enabled plugins, by who enabled them", async () => {
  const cache = 'home/.claude/plugins/cache'
  write(`${cache}/shop/mine/1.0.0/.mcp.json`, { mcpServers: { old: { command: 'old' } } })
  write(`${cache}/shop/mine/1.1.0/.mcp.json`, { mcpServers: { a: { command: '${CLAUDE_PLUGIN_ROOT}/run' } } })
  utimesSync(join(top, cache, 'shop/mine/1.0.0'), 1, 1)
  write(`${cache}/shop/theirs/.mcp.json`, { b: { command: 'b' } })
  write(`${cache}/shop/off/.mcp.json`, { c: { command: 'c' } })
  write('home/outside/.mcp.json', { d: { command: 'd' } })
  write('home/.claude/settings.json', {
    enabledPlugins: {
      'mine@shop': true,
      'off@shop': false,
      'gone@shop': true,
      '../../../outside@shop': true,
      '..@..': true,
    },
  })
  write('project/.claude/settings.json', {
    enabledPlugins: { 'theirs@shop': true, 'off@shop': true, 'mine@shop': false },
  })
  const { servers, diagnostics } = await load()
  expect(diagnostics).toEqual([])
  expect(servers).toMatchObject([
    { name: 'a', scope: 'plugin', entry: { command: join(top, cache, 'shop/mine/1.1.0/run') } },
    { name: 'b', scope: 'plugin', disabled: { kind: 'trust', text: 'pending approval' } },
  ])
  expect(servers[0]?.disabled).toBeUndefined()
})

it('reads the list of connectors, and knows the id of a proxy entry', async () => {
  const data = [
    { type: 'mcp_server', id: 'one', display_name: 'Linear (EU)', url: 'https://example.com/linear' },
    { type: 'mcp_server', id: 'two', display_name: 'Linear (EU)', url: 'https://example.com/second' },
    { type: 'mcp_server', id: 'three', display_name: '__proto__', url: 'https://example.com/third' },
    { type: 'mcp_server', id: 'no-url' },
    { type: 'other', url: 'https://example.com/other' },
    null,
  ]
  server = createServer((_request, response) => response.end(JSON.stringify({ data, has_more: false })))
  await new Promise<void>((done) => server?.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list`
  write('home/.plugboard/settings.json', {
    claudeaiServers: { url },
    mcpServers: { proxied: { type: 'claudeai-proxy', url: 'https://example.com/proxy', id: 'mcpsrv_1' } },
  })
  const { servers, diagnostics } = await load()
  expect(diagnostics).toEqual([])
  expect(servers.map(({ name, scope }) => [name, scope])).toEqual([
    ['Linear-EU', 'claudeai'],
    ['Linear-EU-2', 'claudeai'],
    ['_proto_', 'claudeai'],
    ['proxied', 'user'],
  ])
})
