import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { chooseLock, type IdeLock, parseLock, readLocks } from '../config/editor-locks.ts'
import type { IdeEntry } from '../config/entry.ts'
import { systemHost } from '../host.ts'
import { events, scripted } from './fixtures/http-script.ts'
import { testContext, until } from './fixtures/support.ts'
import { openTransport } from './open.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-ide-'))
  mkdirSync(join(folder, '.claude', 'ide'), { recursive: true })
  ends.push(() => rmSync(folder, { recursive: true }))
  return folder
}

const lock = (more: Partial<IdeLock> = {}): IdeLock => ({
  port: 1,
  workspaceFolders: ['/code/project'],
  transport: 'ws',
  modifiedMs: 0,
  ...more,
})

const entry = (type: IdeEntry['type'], more: Partial<IdeEntry> = {}): IdeEntry => ({
  type,
  headers: {},
  ...more,
})

describe('the editor that is meant', () => {
  it('has the workspace open, speaks the transport, and is the newest', () => {
    const locks = [
      lock({ port: 1, modifiedMs: 10 }),
      lock({ port: 2, modifiedMs: 30, transport: 'sse' }),
      lock({ port: 3, modifiedMs: 20 }),
      lock({ port: 4, modifiedMs: 40, workspaceFolders: ['/code/other'] }),
    ]
    const workspace = ['/code/project/packages/core']
    expect(chooseLock(locks, { transport: 'ws', workspace })?.port).toBe(3)
    expect(chooseLock(locks, { transport: 'sse', workspace })?.port).toBe(2)
    expect(chooseLock(locks, { transport: 'ws' })?.port).toBe(4)
    expect(chooseLock(locks, { transport: 'ws', workspace: ['/code/project-2'] })).toBeUndefined()
    expect(chooseLock(locks, { transport: 'ws', workspace: ['/code'] })).toBeUndefined()
    expect(chooseLock(locks, { transport: 'ws', ideName: 'Other' })).toBeUndefined()
  })

  it('still runs, and left a lock that can be read', async () => {
    const folder = join(home(), '.claude', 'ide')
    const write = (name: string, value: unknown) =>
      writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))
    write('4001.lock', { workspaceFolders: ['/a'], pid: 11, transport: 'ws' })
    write('4002.lock', { workspaceFolders: ['/a'], pid: 12, transport: 'ws' })
    write('4003.lock', '{ half')
    write('4004.lock', { workspaceFolders: 'not a list' })
    write('name.lock', { port: 99999, workspaceFolders: [] })
    write('4005.txt', { workspaceFolders: [] })
    const found = await readLocks(folder, (pid) => pid === 12)
    expect(found.map(({ port }) => port)).toEqual([4002])
    expect(await readLocks(join(folder, 'missing'), () => true)).toEqual([])
    expect(parseLock({ port: 5, workspaceFolders: ['/a', 1] }, 'x.lock', 7)).toEqual({
      port: 5,
      workspaceFolders: ['/a'],
      transport: 'sse',
      modifiedMs: 7,
    })
  })
})

describe('the server of an editor', () => {
  it('gets its token over a WebSocket', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    const tokens: unknown[] = []
    server.on('connection', (_socket, request) =>
      tokens.push(request.headers['x-claude-code-ide-authorization']),
    )
    await new Promise((resolve) => server.once('listening', resolve))
    ends.push(() => new Promise((resolve) => server.close(resolve)))
    const folder = home()
    const path = join(folder, '.claude', 'ide', `${(server.address() as AddressInfo).port}.lock`)
    writeFileSync(
      path,
      JSON.stringify({ workspaceFolders: [folder], pid: process.pid, transport: 'ws', authToken: 't' }),
    )
    utimesSync(path, new Date(), new Date())
    const host = systemHost({ home: folder, env: { PATH: process.env['PATH'] } })
    const transport = await openTransport(
      entry('ws-ide'),
      testContext({ host, workspace: [join(folder, 'src')] }),
    )
    ends.push(() => transport.close())
    await transport.start()
    await until(() => tokens.length === 1)
    expect(tokens).toEqual(['t'])
  })

  it('gets its token over SSE', async () => {
    const server = await scripted((asked) => events(asked)('event: endpoint\ndata: /post\n\n'))
    ends.push(() => server.close())
    const folder = home()
    const port = Number(new URL(server.url).port)
    const lockPath = join(folder, '.claude', 'ide', 'code.lock')
    writeFileSync(lockPath, JSON.stringify({ port, workspaceFolders: [folder], authToken: 't' }))
    const host = systemHost({ home: folder, env: {} })
    const transport = await openTransport(entry('sse-ide'), testContext({ host, workspace: [folder] }))
    ends.push(() => transport.close())
    await transport.start()
    expect(server.asked[0]).toMatchObject({
      url: '/sse',
      headers: { 'x-claude-code-ide-authorization': 't' },
    })
  })

  it('that does not run, or that is not on this machine, cannot be opened', async () => {
    const context = testContext({ host: systemHost({ home: home(), env: {} }), workspace: ['/code'] })
    await expect(openTransport(entry('ws-ide'), context)).rejects.toMatchObject({ code: 'INIT_ERROR' })
    const far = entry('ws-ide', { url: 'ws://editor.example.com:4000' })
    await expect(openTransport(far, context)).rejects.toMatchObject({ code: 'INIT_ERROR' })
  })
})
