// One specification for both boards: the one in this process, and the one of the resident process over its socket.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Board, openBoard, systemHost } from '@plugboard/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRemote, type Prompts } from './client/open-remote.ts'
import { NODE_VARIABLES } from './protocol.ts'
import { type Resident, startResident } from './resident.ts'
import { residentPlace } from './socket-paths.ts'

const path = (from: string) => fileURLToPath(new URL(from, import.meta.url))
const EVERYTHING = path('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const RAW = path('../../core/src/connection/fixtures/raw.mjs')

const top = mkdtempSync(join(tmpdir(), 'plugboard-suite-'))
const cwd = join(top, 'project')
const env = {
  // Node read these when this process started.
  ...Object.fromEntries(NODE_VARIABLES.map((name) => [name, process.env[name] ?? ''])),
  PATH: process.env['PATH'] ?? '',
  HOME: join(top, 'home'),
  PLUGBOARD_MANAGED_DIR: join(top, 'managed'),
}
const stdio = (file: string, more: object = {}) => ({ command: process.execPath, args: [file], ...more })
const SERVERS = {
  ev: stdio(EVERYTHING),
  raw: stdio(RAW, { env: { MARK: join(top, 'mark') } }),
  bad: { command: join(top, 'no-such-program') },
  off: stdio(RAW, { disabled: true }),
}
const mcpConfig = [JSON.stringify({ mcpServers: SERVERS })]

type Open = (prompts?: Prompts) => Promise<Board>
let resident: Resident | undefined

const openLocal: Open = (prompts = {}) =>
  openBoard({
    host: systemHost({ env }),
    cwd,
    config: { mcpConfig, strict: true },
    caller: 'user',
    ...prompts,
  })

const openOverSocket: Open = async (prompts = {}) => {
  const opened = await openRemote({
    place: residentPlace(join(top, 'state')),
    version: '1.0.0',
    params: { cwd, env, mcpConfig, strict: true, caller: 'user' },
    prompts,
  })
  if (opened.kind === 'none') throw new Error(opened.why)
  return opened.board
}

beforeAll(async () => {
  for (const dir of [cwd, env.HOME]) mkdirSync(dir, { recursive: true })
  resident = await startResident({ place: residentPlace(join(top, 'state')), version: '1.0.0', idleMs: 0 })
})

afterAll(async () => {
  resident?.leave('the tests are over')
  await resident?.left
  rmSync(top, { recursive: true, force: true })
})

describe.each([
  ['in this process', openLocal],
  ['of the resident process', openOverSocket],
] as const)('a board %s', (_, open) => {
  async function using<T>(work: (board: Board) => Promise<T>, prompts?: Prompts): Promise<T> {
    const board = await open(prompts)
    try {
      return await work(board)
    } finally {
      await board.close()
    }
  }

  it('lists its servers before any is connected, and their states after', () =>
    using(async (board) => {
      expect(board.servers().map(({ name }) => name)).toEqual(
        expect.arrayContaining(['ev', 'raw', 'bad', 'off']),
      )
      await board.ready({ timeoutMs: 30_000 })
      const states = Object.fromEntries(board.servers().map((server) => [server.name, server]))
      expect(states).toMatchObject({
        ev: { state: 'connected', type: 'stdio', tools: expect.any(Number) },
        bad: { state: 'failed', error: { code: 'INIT_ERROR' } },
        off: { state: 'disabled' },
      })
      expect(states['bad']?.error).toBeInstanceOf(Error)
      expect(states['bad']?.error?.toJSON()).toMatchObject({ code: 'INIT_ERROR', server: 'bad' })
    }))

  it('finds, describes and calls tools', () =>
    using(async (board) => {
      const tool = await board.tool('ev.echo')
      expect(tool).toMatchObject({
        name: 'mcp__ev__echo',
        available: true,
        mcpInfo: { serverName: 'ev', toolName: 'echo' },
      })
      expect(tool.isReadOnly()).toBe(true)
      expect(tool.argumentProblem({})).toContain('message')
      const result = await board.call(tool.name, { message: 'hi' })
      expect(result).toMatchObject({ isError: false, content: [{ type: 'text', text: 'Echo: hi' }] })
      const whole = await board.call(
        tool.name,
        { message: 'x'.repeat(200_000) },
        { maxResultChars: Number.POSITIVE_INFINITY, keepAnswer: true },
      )
      expect(whole.truncated).toBe(false)
      expect(whole.answer?.content).toHaveLength(1)
      expect((await tool.call({ message: 'again' })).content[0]).toMatchObject({ text: 'Echo: again' })
    }))

  it('searches, counts and offers the tools of connected servers', () =>
    using(async (board) => {
      expect((await board.toolsOf('ev')).length).toBeGreaterThan(5)
      expect(board.searchTools('echo a message', 3)[0]?.tool.name).toBe('mcp__ev__echo')
      expect(board.toolCosts().servers.find(({ server }) => server === 'ev')?.tokens).toBeGreaterThan(10)
      expect(board.toolsFor({ mode: 'false' }).kind).toBe('all')
      expect(await board.changedTools('ev')).toEqual(expect.any(Array))
    }))

  it('says what is wrong in the same words', () =>
    using(async (board) => {
      await expect(board.tool('ev.ech')).rejects.toMatchObject({
        code: 'TOOL_NOT_FOUND',
        server: 'ev',
        hint: expect.stringContaining('ev.echo'),
      })
      expect(board.tools().length).toBeGreaterThan(5)
      await expect(board.tool('ghost.x')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
      await expect(board.call('ev.echo', {})).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      await expect(board.call('bad.x', {})).rejects.toMatchObject({ code: 'INIT_ERROR', server: 'bad' })
      await expect(board.reconnect('off')).rejects.toMatchObject({ code: 'DISABLED' })
      await expect(board.connect('ghost')).rejects.toMatchObject({ code: 'SERVER_NOT_FOUND' })
      await expect(board.read('ev', 'demo://nothing')).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' })
    }))

  it('reads resources and prompts', () =>
    using(async (board) => {
      const resources = await board.resources({ server: 'ev' })
      expect(resources.length).toBeGreaterThan(0)
      expect((await board.templates({ server: 'ev' })).length).toBeGreaterThan(0)
      const [first] = resources
      expect(await board.read('ev', first?.resource.uri ?? '')).toHaveLength(1)
      expect((await board.prompts({ server: 'ev' })).map(({ prompt }) => prompt.name)).toContain(
        'args-prompt',
      )
      const prompt = await board.prompt('ev', 'args-prompt', { city: 'Paris' })
      expect(JSON.stringify(prompt.messages)).toContain('Paris')
      expect(await board.skills({ server: 'ev' })).toEqual([])
    }))

  it('streams progress and events, and cancels', () =>
    using(async (board) => {
      const kinds: string[] = []
      board.on('state', ({ server, state }) => {
        if (server === 'raw') kinds.push(state.kind)
      })
      await board.reconnect('raw')
      expect(kinds).toContain('connected')
      const progress: unknown[] = []
      await board.call(
        'raw.slow',
        { ms: 600, everyMs: 50, progress: true },
        { onProgress: (one) => progress.push(one) },
      )
      expect(progress.length).toBeGreaterThan(0)
      const stop = new AbortController()
      const call = board.call('raw.slow', { ms: 30_000 }, { signal: stop.signal })
      setTimeout(() => stop.abort(), 200)
      await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    }))

  it('asks the user of the caller, and is asked nothing without one', async () => {
    const asked: string[] = []
    const elicit: NonNullable<Prompts['elicit']> = async (prompt) => {
      asked.push(prompt.server)
      return { action: 'decline' }
    }
    await using((board) => board.call('ev.trigger-elicitation-request', {}, { caller: 'user' }), { elicit })
    expect(asked).toEqual(['ev'])
    await using(async (board) => {
      await expect(board.tool('ev.trigger-elicitation-request')).rejects.toMatchObject({
        code: 'TOOL_NOT_FOUND',
      })
    })
  })

  it('is closed once, and answers nothing after', async () => {
    const board = await open()
    await board.close()
    await board.close()
    await expect(board.ping('ev')).rejects.toMatchObject({ code: 'IO_ERROR' })
  })
})
