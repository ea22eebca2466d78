// Boards of one process that share servers: what is one, what stays apart, and when a server is not shared after all.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import type { LocalBoard } from '../board/local-board.ts'
import type { BoardOptions } from '../board.ts'
import { isRunning } from '../files/running.ts'
import { systemHost } from '../host.ts'
import { board, configured, fixture, folder, recorded, until } from './fixtures/kit.ts'
import { ConnectionPool } from './pool.ts'

const EVERYTHING = fileURLToPath(
  new URL('../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)
const pools: ConnectionPool[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

function makePool(idleMs = 60_000): ConnectionPool {
  const pool = new ConnectionPool({ idleMs })
  pools.push(pool)
  return pool
}

/** A board of one project on the pool, with the state folder of all of them. */
function boardIn(
  pool: ConnectionPool,
  stateDir: string,
  project: string,
  servers: BoardOptions['servers'],
  more: Pick<BoardOptions, 'elicit' | 'host'> = {},
): Promise<LocalBoard> {
  const cwd = join(stateDir, project)
  mkdirSync(cwd, { recursive: true })
  return board({ stateDir, cwd, pool, servers: servers ?? [], ...more })
}

describe('a pool', () => {
  it('gives two boards one process, which outlives the first of them and ends with the pool', async () => {
    const pool = makePool()
    const dir = folder()
    const raw = fixture('one', 'raw', { entry: { share: 'user', cwd: dir } })
    const first = await boardIn(pool, dir, 'a', [raw.server])
    await first.ready()
    const second = await boardIn(pool, dir, 'b', [raw.server])
    await second.ready()
    expect(second.servers()[0]?.state).toBe('connected')
    expect(raw.pids()).toHaveLength(1)
    expect(pool.status()).toMatchObject([{ name: 'one', share: 'user', users: 2, state: 'connected' }])
    await first.close()
    await second.ping('one')
    expect(pool.status()[0]?.users).toBe(1)
    await second.close()
    const third = await boardIn(pool, dir, 'c', [raw.server])
    await third.ping('one')
    expect(raw.pids()).toHaveLength(1)
    await pool.close()
    await until('the process is gone', () => !isRunning(raw.pids()[0] ?? 0))
  })

  it('stops a server that its boards do not use, and starts it again unnoticed when one does', async () => {
    const pool = makePool(200)
    const dir = folder()
    const raw = fixture('resting', 'raw', { entry: { share: 'user', cwd: dir } })
    const only = await boardIn(pool, dir, 'a', [raw.server])
    await only.ready()
    const tools = only.tools().map(({ name }) => name)
    await until('the server rests', () => !isRunning(raw.pids()[0] ?? 0))
    expect(only.servers()).toMatchObject([{ state: 'pending', listedBy: 'server' }])
    expect(only.tools().map(({ name, available }) => [name, available])).toEqual(
      tools.map((name) => [name, true]),
    )
    expect((await only.call('resting.echo', { n: 1 }, { caller: 'user' })).isError).toBe(false)
    expect(raw.pids()).toHaveLength(2)
    // A call that takes longer than the limit is in use.
    const calls = Array.from({ length: 5 }, () => only.call('resting.slow', { ms: 400 }, { caller: 'user' }))
    await Promise.all(calls)
    expect(raw.pids()).toHaveLength(2)
  })

  it('stops a server that no board used for a while, and starts it again on need', async () => {
    const pool = makePool(30)
    const dir = folder()
    const raw = fixture('idle', 'raw', { entry: { share: 'user', cwd: dir } })
    const first = await boardIn(pool, dir, 'a', [raw.server])
    await first.ready()
    await first.close()
    await until('the idle server is gone', () => !isRunning(raw.pids()[0] ?? 0))
    expect(pool.status()).toEqual([])
    const second = await boardIn(pool, dir, 'a', [raw.server])
    await second.ping('idle')
    expect(raw.pids()).toHaveLength(2)
  })

  it('keeps apart what differs in the entry, the environment, the project or the abilities of the client', async () => {
    const pool = makePool()
    const dir = folder()
    const shared = fixture('s', 'raw', { dir, entry: { share: 'user', cwd: dir } })
    const ofProject = fixture('p', 'raw', { dir, entry: { share: 'project', cwd: dir } })
    const alone = fixture('z', 'raw', { dir, entry: { share: 'session', cwd: dir } })
    const servers = [shared.server, ofProject.server, alone.server]
    const open = async (project: string, more: Pick<BoardOptions, 'elicit' | 'host'> = {}) => {
      const made = await boardIn(pool, dir, project, servers, more)
      await made.ready()
      return made
    }
    await open('a')
    await open('a')
    expect([shared.pids().length, ofProject.pids().length, alone.pids().length]).toEqual([1, 1, 2])
    await open('b')
    expect([shared.pids().length, ofProject.pids().length, alone.pids().length]).toEqual([1, 2, 3])
    // Another PATH, another instance; another terminal, the same one.
    await open('a', { host: systemHost({ env: { ...process.env, TERM: 'other' } }) })
    expect(shared.pids()).toHaveLength(1)
    await open('a', { host: systemHost({ env: { ...process.env, LANG: 'xx' } }) })
    expect(shared.pids()).toHaveLength(2)
    await open('a', { elicit: async () => ({ action: 'decline' }) })
    expect(shared.pids()).toHaveLength(3)
  })

  it('gives boards of several projects that start at once one process', async () => {
    const pool = makePool()
    const dir = folder()
    const raw = fixture('s', 'raw', { dir, entry: { share: 'user', cwd: dir } })
    const [a, b, c, again] = await Promise.all(
      ['a', 'b', 'c', 'a'].map((project) => boardIn(pool, dir, project, [raw.server])),
    )
    await Promise.all([a?.ping('s'), b?.ready(), c?.toolsOf('s'), again?.ready()])
    expect(raw.pids()).toHaveLength(1)
  })

  it('gives a board of another project the server that was stopped for want of use', async () => {
    const pool = makePool(50)
    const dir = folder()
    const raw = fixture('s', 'raw', { dir, entry: { share: 'user', cwd: dir } })
    const first = await boardIn(pool, dir, 'a', [raw.server])
    await first.ping('s')
    await until('it was stopped', () => raw.pids().every((pid) => !isRunning(pid)))
    const second = await boardIn(pool, dir, 'b', [raw.server])
    await second.ping('s')
    await first.ping('s')
    expect(pool.status()).toHaveLength(1)
  })

  it('reports the events of a request to the board that sent it, and the state to all', async () => {
    const pool = makePool()
    const dir = folder()
    const raw = fixture('ev', 'raw', { entry: { share: 'user', cwd: dir } })
    const first = await boardIn(pool, dir, 'a', [raw.server])
    const second = await boardIn(pool, dir, 'a', [raw.server])
    const [mine, theirs] = [recorded(first), recorded(second)]
    await first.ready()
    await second.ready()
    await first.ping('ev')
    const calls = (events: readonly { type: string }[]) => events.filter(({ type }) => type === 'call-ended')
    await until('the first board heard of its call', () => calls(mine).length === 1)
    expect(calls(theirs)).toEqual([])
    expect(theirs.some((event) => event.type === 'state' && event.state.kind === 'connected')).toBe(true)
  })

  it('tries a failed server again for each new board, as a program of its own would', async () => {
    const pool = makePool()
    const dir = folder()
    const raw = fixture('bad', 'raw', { fault: 'refuse', entry: { share: 'user', cwd: dir } })
    for (const project of ['a', 'a']) {
      const made = await boardIn(pool, dir, project, [raw.server])
      await made.ready()
      expect(made.servers()[0]?.state).toBe('failed')
      await made.close()
    }
    expect(raw.pids().length).toBeGreaterThanOrEqual(2)
  })
})

describe('a server that asks', () => {
  it('for roots, in the era where it keeps them, belongs to the project that answered', async () => {
    const pool = makePool()
    const dir = folder()
    const raw = fixture('roots', 'raw', { entry: { share: 'user', cwd: dir } })
    const first = await boardIn(pool, dir, 'a', [raw.server])
    const second = await boardIn(pool, dir, 'b', [raw.server])
    await first.ready()
    await second.ping('roots')
    expect(raw.pids()).toHaveLength(1)
    const asked = first.link.request(
      'roots',
      'tools/call',
      { name: 'ask', arguments: {} },
      { timeoutMs: 500 },
    )
    await expect(asked).rejects.toMatchObject({ code: 'TIMEOUT' })
    await until('the roots were answered', () => raw.seenText().includes(`${dir}/a`))
    // The other project gets a server of its own from now on.
    await second.ping('roots')
    expect(raw.pids()).toHaveLength(2)
    await first.ping('roots')
    expect(raw.pids()).toHaveLength(2)
    expect(raw.seenText()).not.toContain(`${dir}/b`)
  })

  it('the user is answered by the board whose call it belongs to, and by none where two may be meant', async () => {
    const pool = makePool()
    const dir = folder()
    const entry = configured('ev', {
      type: 'stdio',
      command: process.execPath,
      args: [EVERYTHING],
      env: {},
      cwd: dir,
      share: 'user',
    })
    const heard: string[] = []
    const open = (who: string) =>
      boardIn(pool, dir, 'a', [entry], {
        elicit: async () => {
          heard.push(who)
          return { action: 'decline' }
        },
      })
    const [first, second] = [await open('first'), await open('second')]
    await first.ready()
    await second.ready()
    await second.call('ev.trigger-elicitation-request', {}, { caller: 'user' })
    await first.call('ev.trigger-elicitation-request', {}, { caller: 'user' })
    expect(heard).toEqual(['second', 'first'])
    // While the other board has a call running too, no user is asked.
    const long = second.call(
      'ev.trigger-long-running-operation',
      { duration: 3, steps: 2 },
      { caller: 'user' },
    )
    await new Promise((done) => setTimeout(done, 300))
    await first.call('ev.trigger-elicitation-request', {}, { caller: 'user' }).catch(() => undefined)
    await long
    expect(heard).toEqual(['second', 'first'])
  })
})
