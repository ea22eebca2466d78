import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { board, fixture, folder, recorded, textOf, until } from './connection/fixtures/kit.ts'
import { isRunning } from './files/running.ts'
import { systemHost } from './host.ts'

const stateOf = (made: Awaited<ReturnType<typeof board>>) =>
  Object.fromEntries(made.servers().map(({ name, state }) => [name, state]))

describe('a board', () => {
  it('takes servers from where the program says, and its own before loaded ones', async () => {
    const mine = fixture('same', 'raw').server
    const theirs = { ...fixture('same', 'raw').server, source: 'file' }
    const made = await board({
      servers: [mine],
      load: async () => [theirs, { ...fixture('other', 'raw').server, source: 'file' }],
    })
    expect(made.servers().map(({ name, source }) => [name, source])).toEqual([
      ['same', 'test'],
      ['other', 'file'],
    ])
  })

  it('has the built-in servers when its configuration lists them, and only then', async () => {
    const place = { cwd: folder(), host: systemHost({ home: folder() }) }
    const plain = await board({ ...place, config: { strict: true } })
    expect(plain.servers().map(({ name }) => name)).toEqual(['codebase'])
    const bare = await board({ ...place, config: { strict: true, withoutBuiltins: true } })
    expect(bare.servers()).toEqual([])
  })

  it('says what is not there', async () => {
    const made = await board({})
    await made.ready()
    await expect(made.link.request('ghost', 'tools/list')).rejects.toMatchObject({
      code: 'SERVER_NOT_FOUND',
      server: 'ghost',
    })
  })

  it('connects one server on demand, and says what came of it', async () => {
    const raw = fixture('raw', 'raw')
    const other = fixture('other', 'raw')
    const dead = fixture('dead', 'raw', { entry: { command: '/no/such/program' } })
    const made = await board({ servers: [raw.server, other.server, dead.server] })
    expect(await made.connect('raw')).toMatchObject({ name: 'raw', state: 'connected' })
    expect((await made.connect('dead')).state).not.toBe('connected')
    expect(other.pids()).toEqual([])
    expect((await made.toolsOf('raw')).map(({ mcpInfo }) => mcpInfo.serverName)).toContain('raw')
    await expect(made.toolsOf('dead')).rejects.toMatchObject({ server: 'dead' })
    await expect(made.connect('ghost')).rejects.toMatchObject({ code: 'SERVER_NOT_FOUND' })
  })

  it.each(['raw', 'modern'] as const)('pings a server of either era: %s', async (kind) => {
    const made = await board({ servers: [fixture('one', kind).server] })
    await made.ping('one', { timeoutMs: 5000 })
    expect(stateOf(made)).toEqual({ one: 'connected' })
  })

  it('fails a ping that gets no answer', async () => {
    const made = await board({
      servers: [fixture('one', 'raw', { fault: 'hang:connect' }).server],
      timeoutMs: 300,
    })
    await expect(made.ping('one', { timeoutMs: 200 })).rejects.toMatchObject({ server: 'one' })
  })

  it('gives a call up that is cancelled while its server is still coming up', async () => {
    const made = await board({ servers: [fixture('slow', 'raw', { fault: 'hang:connect' }).server] })
    const stop = new AbortController()
    const call = made.call('slow.echo', {}, { signal: stop.signal })
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED', stage: 'call' })
  })

  it('never starts a disabled server, and says why', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({
      servers: [{ ...raw.server, disabled: { kind: 'trust', text: 'pending approval' } }],
    })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'disabled', reason: 'pending approval' })
    await expect(made.link.request('raw', 'tools/list')).rejects.toMatchObject({ code: 'DISABLED' })
    expect(raw.pids()).toEqual([])
  })

  it('stops waiting when its time is up or the caller gives up, and goes on connecting', async () => {
    const hangs = fixture('hangs', 'raw', { fault: 'hang:connect' })
    const made = await board({ servers: [hangs.server] })
    await made.ready({ timeoutMs: 100 })
    expect(stateOf(made)).toEqual({ hangs: 'pending' })
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 20)
    await expect(made.ready({ signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('never meets another board in the same process', async () => {
    const stateDir = folder()
    const raw = fixture('raw', 'raw')
    const one = await board({ servers: [raw.server], stateDir })
    const two = await board({ servers: [raw.server], stateDir })
    const events = recorded(two)
    await one.ready()
    expect(stateOf(two)).toEqual({ raw: 'pending' })
    expect(events).toEqual([])
    await two.ready()
    await one.close()
    expect(textOf(await two.link.request('raw', 'tools/call', { name: 'echo', arguments: {} }))).toBe('{}')
  })

  it('can be used with `await using`', async () => {
    const raw = fixture('raw', 'raw')
    {
      await using made = await board({ servers: [raw.server] })
      await made.ready()
    }
    await until('the process is gone', () => !raw.pids().some(isRunning))
  })
})

describe('slots', () => {
  it('let as many servers start at a time as said, and the next one as soon as one is up', async () => {
    const many = Array.from({ length: 6 }, (_, i) => fixture(`s${i}`, 'raw'))
    const made = await board({
      servers: many.map(({ server }) => server),
      env: { MCP_SERVER_CONNECTION_BATCH_SIZE: '2' },
    })
    let most = 0
    const starting = new Set<string>()
    made.on('state', ({ server, state }) => {
      if (state.kind === 'pending' && state.stage !== 'client') starting.add(server)
      else starting.delete(server)
      most = Math.max(most, starting.size)
    })
    await made.ready()
    expect(Object.values(stateOf(made))).toEqual(Array(6).fill('connected'))
    expect(most).toBe(2)
  })

  it('are given back by a server that is slow to come up', async () => {
    const made = await board({
      servers: [fixture('hangs', 'raw', { fault: 'hang:connect' }).server, fixture('ok', 'raw').server],
      env: { MCP_SERVER_CONNECTION_BATCH_SIZE: '1' },
      timeoutMs: 60_000,
    })
    void made.ready()
    await until('the other one is up', () => stateOf(made).ok === 'connected', 18_000)
    expect(stateOf(made).hangs).toBe('pending')
  })
})

describe('a change of configuration', () => {
  it('starts what was added, restarts what changed, stops what is gone and touches nothing else', async () => {
    const [keep, change, drop, add] = ['keep', 'change', 'drop', 'add'].map((name) => fixture(name, 'raw'))
    if (!keep || !change || !drop || !add) throw new Error('four fixtures')
    const made = await board({ servers: [keep.server, change.server, drop.server] })
    await made.ready()
    const changed = { ...change.server, entry: { ...change.server.entry, timeout: 5000 } }
    const told: unknown[] = []
    made.on('configuration-changed', (event) => told.push(event))
    await made.link.apply([{ ...keep.server, source: 'moved' }, changed, add.server])
    expect(told).toEqual([{ added: ['change', 'add'], removed: ['change', 'drop'], rules: false }])
    await until('all are up', () => Object.values(stateOf(made)).every((state) => state === 'connected'))
    expect(made.servers().map(({ name, source }) => [name, source])).toEqual([
      ['keep', 'moved'],
      ['change', 'test'],
      ['add', 'test'],
    ])
    expect([keep, change, drop, add].map(({ pids }) => pids().length)).toEqual([1, 2, 1, 1])
    expect([keep, drop].map(({ pids }) => pids().some(isRunning))).toEqual([true, false])
  })

  it('disables and enables a server while the board is open', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    await made.link.apply([{ ...raw.server, disabled: { kind: 'user', text: 'switched off' } }])
    expect(stateOf(made)).toEqual({ raw: 'disabled' })
    expect(made.tools()).toEqual([])
    await made.link.apply([raw.server])
    await until('it is up again', () => stateOf(made).raw === 'connected')
  })

  it('connects nothing on a board that is not used yet', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({})
    await made.link.apply([raw.server])
    await pause(100)
    expect(raw.pids()).toEqual([])
  })
})
