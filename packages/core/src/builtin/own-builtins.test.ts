// Built-in servers that a program registers: made at the first use, allowed by their own list, closed with the board,
// and below the user's rules and an administrator's policy.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { openBoard } from '../board/open.ts'
import { systemHost } from '../host.ts'
import type { LocalBoard } from '../index.ts'
import type { BuiltinServer } from './index.ts'

let top: string
let board: LocalBoard | undefined
const asked: string[] = []
beforeEach(() => {
  asked.length = 0
  top = mkdtempSync(join(tmpdir(), 'plugboard-own-builtin-'))
  for (const folder of ['home', 'project/.git', 'managed']) mkdirSync(join(top, folder), { recursive: true })
})
afterEach(async () => {
  await board?.close()
  board = undefined
  rmSync(top, { recursive: true, force: true })
})

const write = (path: string, value: unknown) => {
  mkdirSync(dirname(join(top, path)), { recursive: true })
  writeFileSync(join(top, path), JSON.stringify(value))
}

function place() {
  const home = join(top, 'home')
  const env = { PATH: process.env['PATH'], HOME: home, PLUGBOARD_MANAGED_DIR: join(top, 'managed') }
  return {
    cwd: join(top, 'project'),
    host: systemHost({ env, home }),
    ask: async ({ request }: { request: { tool: string } }) => {
      asked.push(request.tool)
      return 'no' as const
    },
  }
}

function database() {
  const seen = { made: 0, closed: 0 }
  const server: BuiltinServer = {
    create: () => {
      seen.made++
      const mcp = new McpServer({ name: 'db', version: '1.0.0' })
      for (const name of ['query', 'drop'])
        mcp.registerTool(name, { description: name, inputSchema: z.object({}) }, async () => ({
          content: [{ type: 'text', text: `${name} done` }],
        }))
      return {
        connect: (end) => mcp.connect(end),
        close: async () => {
          seen.closed++
          await mcp.close()
        },
      }
    },
    allow: ['query'],
  }
  return { seen, server }
}

describe('a built-in of the program', () => {
  it('is made at its first use, allowed by its list, and closed with the board', async () => {
    const { seen, server } = database()
    board = await openBoard({ ...place(), builtins: { db: server } })
    expect(board.servers().find(({ name }) => name === 'db')).toMatchObject({ scope: 'dynamic' })
    expect(seen).toEqual({ made: 0, closed: 0 })
    expect((await board.call('db.query', {})).content).toMatchObject([{ text: 'query done' }])
    await expect(board.call('db.drop', {})).rejects.toThrow(/denied/)
    expect(asked).toEqual(['drop'])
    expect(seen).toEqual({ made: 1, closed: 0 })
    await board.close()
    expect(seen).toEqual({ made: 1, closed: 1 })
  })

  it('serves a board of the program alone, too', async () => {
    const { server } = database()
    board = await openBoard({ ...place(), servers: {}, builtins: { db: server } })
    expect((await board.call('db.query', {})).isError).toBe(false)
    await expect(board.call('db.drop', {})).rejects.toThrow(/denied/)
  })

  it('is below the user: a deny rule, a deny list and a disabled server win over its list', async () => {
    const { seen, server } = database()
    write('home/.plugboard/settings.json', { permissions: { deny: ['mcp__db__query'] } })
    board = await openBoard({ ...place(), builtins: { db: server } })
    await expect(board.call('db.query', {})).rejects.toThrow(/denied.*mcp__db__query/)
    await board.close()
    write('home/.plugboard/settings.json', { disabledServers: ['db'] })
    board = await openBoard({ ...place(), builtins: { db: server } })
    expect(board.servers().find(({ name }) => name === 'db')).toMatchObject({ state: 'disabled' })
    await board.close()
    write('home/.plugboard/settings.json', { deniedMcpServers: [{ serverName: 'db' }] })
    board = await openBoard({ ...place(), builtins: { db: server } })
    expect(board.servers().find(({ name }) => name === 'db')).toMatchObject({ state: 'disabled' })
    expect(seen.made).toBe(1)
  })

  it('is refused with the reason when it is none', async () => {
    const open = (builtins: Record<string, unknown>) =>
      openBoard({ ...place(), builtins: builtins as Record<string, BuiltinServer> })
    await expect(open({ db: {} })).rejects.toThrow(/builtins\.db\.create/)
    await expect(open({ db: true })).rejects.toThrow(/no built-in server of that name/)
    await expect(open({ 'a b': database().server })).rejects.toThrow(/a b/)
    await expect(open({ db: { create: () => ({}), allow: 'query' } })).rejects.toThrow(/builtins\.db\.allow/)
  })

  it('is asked about by its arguments where it says so', async () => {
    const { server } = database()
    const careful: BuiltinServer = {
      ...server,
      create: async (context) => ({
        ...(await server.create(context)),
        reasonToAsk: (tool) => (tool === 'query' ? 'the table is large' : undefined),
      }),
    }
    board = await openBoard({ ...place(), builtins: { db: careful } })
    await expect(board.call('db.query', {})).rejects.toThrow()
    expect(asked).toEqual(['query'])
  })
})

describe('ours', () => {
  const codebaseOf = async (builtins?: Record<string, boolean>) => {
    board = await openBoard({ ...place(), ...(builtins && { builtins }) })
    const found = board.servers().some(({ name }) => name === 'codebase')
    await board.close()
    return found
  }

  it('are switched by the user, by the program before that, by an administrator before both', async () => {
    expect(await codebaseOf()).toBe(true)
    write('home/.plugboard/settings.json', { builtins: { codebase: false } })
    expect(await codebaseOf()).toBe(false)
    expect(await codebaseOf({ codebase: true })).toBe(true)
    write('managed/managed-settings.json', { builtins: { codebase: false } })
    expect(await codebaseOf({ codebase: true })).toBe(false)
  })

  it('are not switched by a repository', async () => {
    write('home/.plugboard/settings.json', { builtins: { codebase: false } })
    for (const file of [
      '.plugboard/settings.json',
      '.plugboard/settings.local.json',
      '.claude/settings.json',
    ])
      write(`project/${file}`, { builtins: { codebase: true } })
    expect(await codebaseOf()).toBe(false)
  })

  it('stay off when the file has a syntax error elsewhere', async () => {
    mkdirSync(join(top, 'home/.plugboard'))
    writeFileSync(join(top, 'home/.plugboard/settings.json'), '{"builtins": {"codebase": false}, "x": }')
    expect(await codebaseOf()).toBe(false)
  })
})
