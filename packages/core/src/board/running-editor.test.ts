// A running editor that has the folder open is a server without any configuration, and lock files that are not to be believed
// are not.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { loadConfiguration } from '../config/load.ts'
import { systemHost } from '../host.ts'
import type { LocalBoard } from '../index.ts'
import { openBoard } from './open.ts'

let top: string
let board: LocalBoard | undefined
const ends: (() => unknown)[] = []
const asked: string[] = []
beforeEach(() => {
  asked.length = 0
  top = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-editor-')))
  mkdirSync(join(top, 'home/.claude/ide'), { recursive: true })
  mkdirSync(join(top, 'project/.git'), { recursive: true })
  mkdirSync(join(top, 'project/packages/one'), { recursive: true })
})
afterEach(async () => {
  await board?.close()
  board = undefined
  for (const end of ends.splice(0).reverse()) await end()
  rmSync(top, { recursive: true, force: true })
})

const project = () => join(top, 'project')
const put = (path: string, value: unknown) => {
  mkdirSync(dirname(join(top, path)), { recursive: true })
  writeFileSync(join(top, path), typeof value === 'string' ? value : JSON.stringify(value))
}

interface Editor {
  readonly port: number
  readonly received: { readonly method: string; readonly params?: unknown }[]
  send(method: string, params: unknown): void
}

/** A small editor: it knows its token, offers two tools, and sends and takes notifications. */
async function editor(): Promise<Editor> {
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    handleProtocols: () => 'mcp',
    verifyClient: ({ req }: { req: { headers: Record<string, unknown> } }) =>
      req.headers['x-claude-code-ide-authorization'] === 'the-token',
  })
  await new Promise((done) => server.once('listening', done))
  ends.push(() => {
    for (const client of server.clients) client.terminate()
    server.close()
  })
  const received: { method: string; params?: unknown }[] = []
  const send = (message: object) => {
    for (const client of server.clients) client.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-03-26',
      capabilities: { tools: {} },
      serverInfo: { name: 'editor', version: '1' },
    },
    'tools/list': {
      tools: ['getDiagnostics', 'executeCode'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    },
    'tools/call': { content: [{ type: 'text', text: 'no problems' }] },
    ping: {},
  }
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse(String(data))
      if (id === undefined) received.push({ method, params })
      else
        send({
          id,
          ...(results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } }),
        })
    }),
  )
  return {
    port: (server.address() as AddressInfo).port,
    received,
    send: (method, params) => send({ method, params }),
  }
}

const lock = (port: number, more: object = {}) =>
  put(`home/.claude/ide/${port}.lock`, {
    pid: process.pid,
    workspaceFolders: [project()],
    ideName: 'Small Editor',
    transport: 'ws',
    authToken: 'the-token',
    ...more,
  })

const host = (env: Record<string, string> = {}) =>
  systemHost({ env: { PATH: process.env['PATH'], HOME: join(top, 'home'), ...env }, home: join(top, 'home') })

async function opened(cwd = project()): Promise<LocalBoard> {
  board = await openBoard({
    cwd,
    host: host(),
    builtins: { codebase: false },
    ask: async ({ request }) => {
      asked.push(request.tool)
      return 'no'
    },
  })
  return board
}

describe('a running editor', () => {
  it.each(['project', 'project/packages/one'])(
    'is connected as ide from %s, and allows its own list',
    async (cwd) => {
      const { port } = await editor()
      lock(port, { workspaceFolders: [join(top, cwd)] })
      const here = await opened(join(top, cwd))
      expect(here.servers()).toMatchObject([{ name: 'ide', scope: 'dynamic', type: 'ws-ide' }])
      expect((await here.call('ide.getDiagnostics', {})).content).toMatchObject([{ text: 'no problems' }])
      await expect(here.call('ide.executeCode', {})).rejects.toThrow(/denied/)
      expect(asked).toEqual(['executeCode'])
    },
  )

  it('exchanges notifications of any name', async () => {
    const { port, received, send } = await editor()
    lock(port)
    const here = await opened()
    await here.ready()
    const updated = new Promise((done) =>
      here.on('notification', (event) => event.method === 'file_updated' && done(event)),
    )
    send('file_updated', { filePath: 'a.ts' })
    expect(await updated).toMatchObject({ server: 'ide', params: { filePath: 'a.ts' } })
    await here.link.notify('ide', 'experiment_gates', { gates: {} })
    await expect
      .poll(() => received.map(({ method }) => method), { timeout: 10_000 })
      .toContain('experiment_gates')
  })

  it("is below the user's rules and switches, and below an entry of that name", async () => {
    const { port } = await editor()
    lock(port)
    put('home/.plugboard/settings.json', { permissions: { deny: ['mcp__ide__getDiagnostics'] } })
    await expect((await opened()).call('ide.getDiagnostics', {})).rejects.toThrow(/denied/)
    await board?.close()
    put('home/.plugboard/settings.json', { builtins: { ide: false } })
    expect((await opened()).servers()).toEqual([])
    await board?.close()
    put('home/.plugboard/settings.json', { mcpServers: { ide: { command: 'my-editor' } } })
    expect((await opened()).servers()).toMatchObject([{ name: 'ide', scope: 'user', type: 'stdio' }])
    await board?.close()
    put('home/.plugboard/settings.json', { deniedMcpServers: [{ serverName: 'ide' }] })
    expect((await opened()).servers()).toMatchObject([{ name: 'ide', state: 'disabled' }])
  })

  it.each<[string, (file: string) => void]>([
    ['of a process that is gone', () => lock(4711, { pid: 2 ** 22 + 1 })],
    ['without a process', () => lock(4711, { pid: undefined })],
    ['of another folder', () => lock(4711, { workspaceFolders: [join(top, 'other')] })],
    ['of a folder that only begins like it', () => lock(4711, { workspaceFolders: [join(top, 'proj')] })],
    ['of a relative folder', () => lock(4711, { workspaceFolders: ['.', ''] })],
    ['that every user can write', (file) => chmodSync(file, 0o666)],
    [
      'that is a link',
      (file) => {
        renameSync(file, join(top, 'elsewhere'))
        symlinkSync(join(top, 'elsewhere'), file)
      },
    ],
    ['that is not JSON', () => put('home/.claude/ide/4711.lock', '{')],
    ['that is huge', () => lock(4711, { more: 'x'.repeat(100_000) })],
    ['of an impossible port', () => lock(4711, { port: 99_999 })],
  ])('is not believed by a lock %s', async (_, spoil) => {
    lock(4711)
    spoil(join(top, 'home/.claude/ide/4711.lock'))
    expect((await opened()).servers()).toEqual([])
  })

  it('is not looked for in the project, whatever the environment says', async () => {
    put('project/.claude/ide/4711.lock', { pid: process.pid, workspaceFolders: [project()], transport: 'ws' })
    const { servers, resolutions } = await loadConfiguration({
      host: host({ CLAUDE_CONFIG_DIR: join(project(), '.claude') }),
      cwd: project(),
    })
    expect(servers.map(({ name }) => name)).not.toContain('ide')
    expect(resolutions.get('ide')?.contenders[0]?.verdict).toMatchObject({
      why: expect.stringContaining('not read from the project'),
    })
  })

  it('is named without control characters', async () => {
    lock(4711, { ideName: `\u001b[31mred\n${'x'.repeat(500)}` })
    const { resolutions } = await loadConfiguration({ host: host(), cwd: project() })
    const [contender] = resolutions.get('ide')?.contenders ?? []
    expect(contender?.definition.note).toMatch(/^[\x20-\x7e…]{10,200}$/)
  })
})

describe('an sdk entry with a name', () => {
  it('is the server that the program passes in under that name', async () => {
    const { McpServer } = await import('@modelcontextprotocol/server')
    put('home/.plugboard/settings.json', { mcpServers: { editor: { type: 'sdk', name: 'vscode' } } })
    board = await openBoard({
      cwd: project(),
      host: host(),
      builtins: { codebase: false, ide: false },
      inProcess: { vscode: (end) => new McpServer({ name: 'vscode', version: '1' }).connect(end) },
    })
    await board.ready()
    expect(board.servers().find(({ name }) => name === 'editor')).toMatchObject({
      state: 'connected',
      type: 'sdk',
    })
  })
})
