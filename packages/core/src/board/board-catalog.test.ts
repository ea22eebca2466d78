// A board that knows its tools before any server has started, and believes only the server when one is called.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../connection/fixtures/kit.ts'
import { ConnectionPool } from '../connection/pool.ts'
import { systemHost } from '../host.ts'
import type { LocalBoard } from './local-board.ts'
import { openBoard } from './open.ts'
import type { BoardBehaviour } from './options.ts'
import type { OfRequest } from './resources-and-prompts.ts'

const RAW = fileURLToPath(new URL('../connection/fixtures/raw.mjs', import.meta.url))
const EVERYTHING = fileURLToPath(
  new URL('../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)
let top: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-board-catalog-'))
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const command = (env: Readonly<Record<string, string>> = {}, args: readonly string[] = [RAW]) => ({
  command: process.execPath,
  args,
  env: { PIDS: join(top, 'pids'), ...env },
})
const open = (servers: Readonly<Record<string, object>>, more: BoardBehaviour = {}): Promise<LocalBoard> =>
  openBoard({
    servers: servers as Record<string, { command: string }>,
    stateDir: join(top, 'state'),
    caller: 'user',
    catalog: true,
    ...more,
  })
const starts = () =>
  existsSync(join(top, 'pids')) ? readFileSync(join(top, 'pids'), 'utf8').split('\n').length - 1 : 0

async function learn(servers: Readonly<Record<string, object>>): Promise<void> {
  await using board = await open(servers)
  await board.ready()
}

describe('a board with a catalog', () => {
  it('has tools, an offer and definitions without starting anything', async () => {
    const servers = { one: command(), two: command({ MORE: '1' }) }
    await learn(servers)
    const before = starts()
    await using board = await open(servers)
    expect(board.tools().map(({ name }) => name)).toContain('mcp__one__echo')
    expect(board.tools().every(({ available }) => available)).toBe(true)
    expect(board.toolsFor().kind).toBe('all')
    expect(board.link.definitions().every(({ available }) => available)).toBe(true)
    expect(board.link.unlisted()).toEqual([])
    expect(board.link.connection('one').catalog.remembered?.instructions).toBe('Be kind.')
    expect(board.servers()).toMatchObject([{ state: 'pending', tools: 6 }, { state: 'pending' }])
    expect(starts()).toBe(before)
  })

  it('lists resources, templates and prompts without starting anything, where it knows them whole', async () => {
    const servers = { ev: { command: process.execPath, args: [EVERYTHING] } }
    const listed = async (of: OfRequest) => {
      await using board = await open(servers)
      const lists = {
        prompts: await board.prompts(of),
        resources: await board.resources(of),
        templates: await board.templates(of),
      }
      return { lists, state: board.servers()[0]?.state }
    }
    await learn(servers)
    // The templates were not asked for yet.
    const first = await listed({ start: 'unlisted' })
    expect(first.state).toBe('connected')
    expect(first.lists.templates.length).toBeGreaterThan(0)
    expect(await listed({ start: 'unlisted' })).toEqual({ ...first, state: 'pending' })
    expect(await listed({ start: 'unlisted', server: 'ev' })).toEqual({ ...first, state: 'pending' })
    expect((await listed({})).state).toBe('connected')
  })

  it('starts exactly one server for a call', async () => {
    const servers = { one: command(), two: command({ MORE: '1' }) }
    await learn(servers)
    const before = starts()
    await using board = await open(servers)
    expect((await board.call('one.echo', { n: 1 })).isError).toBe(false)
    expect(starts()).toBe(before + 1)
    expect(board.servers().map(({ state }) => state)).toEqual(['connected', 'pending'])
  })

  it('starts exactly one server for a call that is passed on', async () => {
    await learn({ one: command() })
    const before = starts()
    await using board = await open({ one: command() })
    const [tool] = board.link.tools()
    if (!tool) throw new Error('no tool')
    await board.link.pass(tool, { arguments: { n: 1 } })
    expect(starts()).toBe(before + 1)
  })

  it('does not know a server that was never connected, or without the option', async () => {
    await learn({ one: command() })
    await using more = await open({ one: command(), new: command({ NEW: '1' }) })
    expect(more.link.unlisted()).toEqual(['new'])
    await using without = await open({ one: command() }, { catalog: false })
    expect(without.tools()).toEqual([])
    expect(without.link.unlisted()).toEqual(['one'])
  })

  it('works with the connections of a pool', async () => {
    await learn({ one: command() })
    const before = starts()
    const pool = new ConnectionPool({ host: systemHost() })
    const board = await open({ one: command() }, { pool })
    expect(board.tools()).toHaveLength(6)
    expect(starts()).toBe(before)
    expect((await board.call('one.echo')).isError).toBe(false)
    await board.close()
    await pool.close()
  })
})

describe('when the truth differs', () => {
  /** The same entry and the same stamp, with another list behind it. */
  async function changedBehind(fault: string) {
    const script = join(top, 'server.mjs')
    copyFileSync(RAW, script)
    utimesSync(script, 1000, 1000)
    const entry = { command: process.execPath, args: [script], inheritEnv: true }
    const host = (env: Record<string, string>) => systemHost({ env: { ...process.env, ...env } })
    const first = await open({ one: entry }, { host: host({}) })
    await first.ready()
    await first.close()
    return await open({ one: entry }, { host: host({ FAULT: fault }) })
  }

  it('the new list is an event, and the old tools are gone', async () => {
    await using board = await changedBehind('bad-tool')
    expect(board.tools()).toHaveLength(6)
    const heard: unknown[] = []
    board.on('list-changed', (event) => heard.push(event))
    await board.ready()
    await until('the list was read', () => heard.length > 0)
    expect(board.tools().map(({ mcpInfo }) => mcpInfo.toolName)).toEqual(['good', 'no-schema'])
  })

  it('a call of a tool that is gone is refused by its name, and not sent', async () => {
    await using board = await changedBehind('bad-tool')
    const [tool] = board.tools()
    await expect(tool?.call({})).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND', server: 'one' })
    await expect(board.call('one.echo')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })

  it('a server that does not start any more says so, and its tools are known but not available', async () => {
    await using board = await changedBehind('exit-at-once')
    await expect(board.call('one.echo')).rejects.toMatchObject({ server: 'one' })
    expect(board.tools().map(({ available }) => available)).toEqual(Array(6).fill(false))
  })
})
