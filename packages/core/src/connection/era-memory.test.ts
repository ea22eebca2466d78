import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { EraMemory } from './era-memory.ts'
import type { Watched } from './fixtures/kit.ts'
import {
  board,
  configured,
  fixture,
  folder,
  hastyHost,
  heldHost,
  recorded,
  textOf,
  until,
} from './fixtures/kit.ts'
import type { Transport } from './server-info.ts'

const methods = (watched: Watched) => watched.seen().map(({ method }) => method)
const entry = { type: 'stdio', command: 'x', args: [], env: {} } as const
const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 1000 }
const DAY = 24 * 60 * 60 * 1000

/** Ignores the first request until the second has arrived, and then responds to both at once. */
function answersTogether(end: Transport): void {
  let first: number | string | undefined
  end.onmessage = (message) => {
    if (!('method' in message) || !('id' in message)) return
    const { id, method } = message
    const info = { name: 'both', version: '1' }
    if (method === 'server/discover') first = id
    else if (method === 'initialize' && first !== undefined) {
      const capabilities = {}
      void end.send({
        jsonrpc: '2.0',
        id: first,
        result: { supportedVersions: ['2026-07-28'], capabilities },
      })
      const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: info }
      void end.send({ jsonrpc: '2.0', id, result })
    }
  }
  void end.start()
}

/** Rejects the version the first `times` times, naming its supported versions; it does not support the legacy era. */
function refusesVersion(times: number, supported: readonly string[], asked: string[]) {
  return (end: Transport): void => {
    end.onmessage = (message) => {
      if (!('method' in message) || !('id' in message)) return
      const { id, method } = message
      asked.push(method)
      const refused = { code: -32022, message: 'Unsupported protocol version', data: { supported } }
      if (method !== 'server/discover' || times-- > 0) void end.send({ jsonrpc: '2.0', id, error: refused })
      else
        void end.send({
          jsonrpc: '2.0',
          id,
          result: { supportedVersions: ['2026-07-28'], capabilities: {} },
        })
    }
    void end.start()
  }
}

describe('finding the era of a server', () => {
  it('asks once more when its version is refused and yet named as one that is taken', async () => {
    const asked: string[] = []
    const made = await board({
      servers: [],
      inProcess: { wavering: refusesVersion(1, ['2026-07-28'], asked) },
    })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2026-07-28' })
    expect(asked).toEqual(['server/discover', 'server/discover'])
  })

  it.each([
    ['keeps refusing what it names', ['2026-07-28'], ['server/discover', 'server/discover', 'initialize']],
    ['names only versions of the older era', ['2025-11-25'], ['server/discover', 'initialize']],
  ])('goes back to initialize when the server %s', async (_what, supported, expected) => {
    const asked: string[] = []
    const made = await board({
      servers: [],
      inProcess: { refusing: refusesVersion(99, supported, asked) },
    })
    await made.ready()
    expect(asked).toEqual(expected)
  })

  it('meets a server of 2026-07-28 as one, without initialize', async () => {
    const modern = fixture('modern', 'modern')
    // However slowly it starts: this test is not about the wait for a silent one.
    const { host } = heldHost(CONNECT_LIMITS.probeMs)
    const made = await board({ servers: [modern.server], host })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({
      state: 'connected',
      protocolVersion: '2026-07-28',
      serverInfo: { name: 'modern', version: '1.0.0' },
      instructions: 'Modern times.',
      tools: 4,
    })
    expect(
      textOf(await made.link.request('modern', 'tools/call', { name: 'echo', arguments: { text: 'hi' } })),
    ).toBe('hi')
    expect(modern.pids()).toHaveLength(1)
  })

  it('falls back in place when the server does not know the question', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    expect(methods(raw).slice(0, 3)).toEqual(['server/discover', 'initialize', 'notifications/initialized'])
    expect(raw.pids()).toHaveLength(1)
  })

  it('starts a server again that exits on the question, once', async () => {
    const raw = fixture('raw', 'raw', { fault: 'exit-on-probe' })
    const stateDir = folder()
    const first = await board({ servers: [raw.server], stateDir })
    await first.ready()
    expect(first.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
    expect(raw.pids()).toHaveLength(2)
    await first.close()

    const second = await board({ servers: [raw.server], stateDir })
    await second.ready()
    expect(second.servers()[0]?.state).toBe('connected')
    expect(raw.pids()).toHaveLength(3)
  })

  it('waits two seconds at most for one that is silent, once', async () => {
    const raw = fixture('raw', 'raw', { fault: 'silent-on-probe' })
    const stateDir = folder()
    const first = await board({ servers: [raw.server], stateDir })
    await first.ready()
    expect(first.servers()[0]?.state).toBe('connected')
    expect(first.servers()[0]?.connectMs).toBeGreaterThanOrEqual(1900)
    await first.close()
    const second = await board({ servers: [raw.server], stateDir })
    await second.ready()
    expect(methods(raw).filter((method) => method === 'server/discover')).toHaveLength(1)
  })

  it('starts one again that takes its time to fall over the question', async () => {
    const raw = fixture('raw', 'raw', { fault: 'late-exit-on-probe' })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
    expect(raw.pids()).toHaveLength(2)
  })

  it('stays with the older greeting when both are answered, because the server does', async () => {
    const made = await board({ servers: [], inProcess: { both: answersTogether }, host: hastyHost(20) })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
  })

  it('hears the questions of a server of the SDK that was greeted in both eras', async () => {
    const made = await board({
      servers: [fixture('modern', 'modern').server],
      host: hastyHost(8),
      timeoutMs: 240_000,
      requestHandlers: { elicitForm: () => ({ action: 'accept', content: { name: 'Ada' } }) },
    })
    const result = await made.link.request('modern', 'tools/call', { name: 'ask-name', arguments: {} })
    expect(textOf(result)).toBe('Hello Ada')
  })

  it('does not take a slow start for an older server for longer than the first time', async () => {
    const raw = fixture('raw', 'raw', { fault: 'late-modern' })
    const stateDir = folder()
    for (const protocolVersion of ['2025-11-25', '2026-07-28']) {
      const made = await board({ servers: [raw.server], stateDir })
      await made.ready()
      expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion })
      await made.close()
    }
    expect(raw.pids()).toHaveLength(2)
  })
})

describe('the second connect to a known server', () => {
  it.each(['raw', 'modern'] as const)(
    'spawns exactly one process and asks nothing first (%s)',
    async (script) => {
      const watched = fixture('known', script)
      const stateDir = folder()
      const first = await board({ servers: [watched.server], stateDir })
      await first.ready()
      await first.close()
      const before = { pids: watched.pids().length, version: first.servers()[0]?.protocolVersion }

      const second = await board({ servers: [watched.server], stateDir })
      await second.ready()
      expect(second.servers()[0]).toMatchObject({ state: 'connected', serverInfo: { name: script } })
      expect(watched.pids()).toHaveLength(before.pids + 1)
      if (script === 'raw')
        expect(methods(watched).filter((method) => method === 'server/discover')).toHaveLength(1)
    },
  )

  it('asks again when what was remembered is no longer so', async () => {
    const stateDir = folder()
    const raw = fixture('raw', 'raw')
    const memory = new EraMemory(stateDir, systemHost(), () => undefined)
    memory.remember(raw.server.entry, raw.server.signature, {
      era: 'modern',
      discovery: { ...discovery, ttlMs: 0 },
    })
    await memory.flush()
    const made = await board({ servers: [raw.server], stateDir })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
  })
})

describe('the memory of eras', () => {
  it('is per server and transport, dated, and trusted for a day', async () => {
    const stateDir = folder()
    let now = 1_000_000
    const host = systemHost({ now: () => now })
    const memory = new EraMemory(stateDir, host, () => undefined)
    memory.remember(entry, 'sig', { era: 'modern', discovery })
    await memory.flush()

    const other = new EraMemory(stateDir, host, () => undefined)
    expect(await other.recall(entry, 'sig')).toEqual({ era: discovery, stale: false })
    now += 2000
    expect(await other.recall(entry, 'sig')).toMatchObject({ stale: true })
    expect(await other.recall(entry, 'other')).toBeUndefined()
    expect(await other.recall({ type: 'http', url: 'http://x', headers: {} }, 'sig')).toBeUndefined()
    now += DAY
    expect(await other.recall(entry, 'sig')).toBeUndefined()
  })

  it('survives a broken file, and two writers at once', async () => {
    const stateDir = folder()
    writeFileSync(join(stateDir, 'eras.json'), '{"version":1,"records":{"__proto__":{"at":1},"x":')
    const memories = [1, 2, 3, 4].map(() => new EraMemory(stateDir, systemHost(), () => undefined))
    for (const [i, memory] of memories.entries()) memory.remember(entry, `s${i}`, { era: 'legacy' })
    await Promise.all(memories.map((memory) => memory.flush()))
    expect(Object.keys(JSON.parse(readFileSync(join(stateDir, 'eras.json'), 'utf8')).records)).toHaveLength(4)
  })

  it('never asks the older transports, and keeps nothing about servers handed over', async () => {
    const stateDir = folder()
    const memory = new EraMemory(stateDir, systemHost(), () => undefined)
    expect(await memory.recall({ type: 'sse', url: 'http://x', headers: {} }, 's')).toMatchObject({
      era: 'legacy',
    })
    memory.remember({ type: 'sdk' }, 's', { era: 'legacy' })
    await memory.flush()
    expect(await memory.recall({ type: 'sdk' }, 's')).toBeUndefined()
  })
})

describe('a session of 2026-07-28', () => {
  it('answers what a tool asks for, with the handler that is advertised for it', async () => {
    const asked: unknown[] = []
    const made = await board({
      servers: [fixture('modern', 'modern').server],
      requestHandlers: {
        elicitForm: (params, { server }) => {
          asked.push([server, params.message])
          return { action: 'accept', content: { name: 'Ada' } }
        },
      },
    })
    const result = await made.link.request('modern', 'tools/call', { name: 'ask-name', arguments: {} })
    expect(textOf(result)).toBe('Hello Ada')
    expect(asked).toEqual([['modern', 'Your name?']])
  })

  it('has no way to be asked what is not advertised', async () => {
    const made = await board({ servers: [fixture('modern', 'modern').server] })
    const call = made.link.request('modern', 'tools/call', { name: 'ask-name', arguments: {} })
    await expect(call).rejects.toMatchObject({ code: 'TOOL_ERROR' })
  })

  it('hears of list changes through a subscription', async () => {
    const made = await board({ servers: [fixture('modern', 'modern').server] })
    const events = recorded(made)
    await made.ready()
    await until('the subscription is open', async () => {
      await made.link.request('modern', 'tools/call', { name: 'echo', arguments: { text: '' } })
      return true
    })
    await made.link.request('modern', 'tools/call', { name: 'grow', arguments: {} })
    await until('the new tool is listed', () =>
      made.link.definitions().some(({ tool }) => tool.name === 'grown'),
    )
    expect(
      events.filter((event) => event.type === 'list-changed' && event.list === 'tools').length,
    ).toBeGreaterThan(1)
  })

  it('tells the server of a cancelled call', async () => {
    const modern = fixture('modern', 'modern')
    const made = await board({ servers: [modern.server] })
    await made.ready()
    const stop = new AbortController()
    const call = made.link.request(
      'modern',
      'tools/call',
      { name: 'slow', arguments: { ms: 20_000 } },
      { signal: stop.signal },
    )
    await until('the call is under way', () => modern.seenText().includes('working'))
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until('the server is told', () => modern.seenText().includes('cancelled'))
  })
})

describe('an in-process server', () => {
  it('is met like any other', async () => {
    const { build } = await import('./fixtures/tools.mjs')
    const made = await board({ servers: [], inProcess: { inside: (end) => build().connect(end) } })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ name: 'inside', type: 'sdk', state: 'connected', tools: 4 })
    expect(
      textOf(await made.link.request('inside', 'tools/call', { name: 'echo', arguments: { text: 'in' } })),
    ).toBe('in')
  })

  it('that was not handed over fails at its transport', async () => {
    const made = await board({ servers: [configured('nobody', { type: 'sdk' })] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'failed', stage: 'transport' })
  })
})
