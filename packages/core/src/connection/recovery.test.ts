import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { StateSummary } from '../events.ts'
import { counted, retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { board, configured, fixture, folder, recorded, textOf, until } from './fixtures/kit.ts'
import { META } from './server-info.ts'

const raw = fileURLToPath(new URL('./fixtures/raw.mjs', import.meta.url))
const echo = { name: 'echo', arguments: { n: 1 } }

/** A server whose command does not exist until it is installed. */
function late(entry: object = {}) {
  const command = join(folder(), 'late-server')
  const pids = join(folder(), 'pids')
  return {
    server: configured('late', {
      type: 'stdio',
      command,
      args: [],
      env: { PIDS: pids },
      reconnect: { delayMs: 60_000, retryMs: 3_600_000 },
      ...entry,
    }),
    pids,
    install: () => {
      writeFileSync(command, `#!/bin/sh\nexec ${process.execPath} ${raw}\n`)
      chmodSync(command, 0o755)
    },
  }
}

function statesOf(events: ReturnType<typeof recorded>): StateSummary[] {
  return events.flatMap((event) => (event.type === 'state' ? [event.state] : []))
}

/** The kinds in the order they came, each once. */
function kinds(states: readonly StateSummary[]): string[] {
  return states.map(({ kind }) => kind).filter((kind, at, all) => kind !== all[at - 1])
}

describe('a server that crashed', () => {
  it('is started again by the next call, without waiting out the backoff', async () => {
    const one = fixture('raw', 'raw', { entry: { reconnect: { delayMs: 600_000 } } })
    const made = await board({ servers: [one.server] })
    const died = made.link.request('raw', 'tools/call', { name: 'die-writing' })
    await expect(died).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      stage: 'call',
      message: expect.stringContaining('"raw" exited with code 1.'),
    })
    expect(textOf(await made.link.request('raw', 'tools/call', echo))).toBe('{"n":1}')
    expect(one.pids()).toHaveLength(2)
  })

  it('counts one attempt of one as that', async () => {
    const one = fixture('raw', 'raw', {
      fault: 'die-after-connect',
      entry: { reconnect: { maxAttempts: 1, delayMs: 1 } },
    })
    const made = await board({ servers: [one.server] })
    const events = recorded(made)
    await made.ready()
    await until('it is back', () => one.pids().length === 2 && made.servers()[0]?.state === 'connected')
    const again = statesOf(events).filter((state) => state.kind === 'pending')
    expect(again.every((state) => state.kind === 'pending' && state.attempt === 1 && state.of === 1)).toBe(
      true,
    )
  })
})

describe('a server that failed', () => {
  it('is tried again by the next call, and tells of each change', async () => {
    const { server, install } = late()
    const made = await board({ servers: [server] })
    const events = recorded(made)
    await expect(made.link.request('late', 'tools/call', echo)).rejects.toMatchObject({ code: 'INIT_ERROR' })
    install()
    expect(textOf(await made.link.request('late', 'tools/call', echo))).toBe('{"n":1}')
    expect(made.link.definitions().every(({ available }) => available)).toBe(true)
    await until('events have come', () => kinds(statesOf(events)).at(-1) === 'connected')
    expect(kinds(statesOf(events))).toEqual(['pending', 'failed', 'pending', 'connected'])
  })

  it('is found by the name of a tool that it had not yet shown', async () => {
    const { server, install } = late()
    const made = await board({ servers: [server] })
    await expect(made.call('late.echo', {}, { caller: 'user' })).rejects.toMatchObject({ code: 'INIT_ERROR' })
    install()
    await expect(made.call('late.echo', {}, { caller: 'user' })).resolves.toMatchObject({ isError: false })
  })

  it('is tried once for all who need it', async () => {
    const one = fixture('raw', 'raw', { fault: 'refuse' })
    const made = await board({ servers: [one.server] })
    await made.ready()
    expect(made.servers()[0]?.state).toBe('failed')
    const calls = Array.from({ length: 20 }, () =>
      made.link.request('raw', 'tools/list').catch((error) => error),
    )
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'INIT_ERROR' })
    expect(one.pids()).toHaveLength(2)
  })

  it('is not tried by those who only look, while the verdict is fresh', async () => {
    const one = fixture('raw', 'raw', { fault: 'refuse' })
    const made = await board({ servers: [one.server] })
    for (let n = 0; n < 5; n++) await made.ready()
    expect(one.pids().length).toBeLessThan(5)
  })

  it('comes back by itself without a call', async () => {
    const { server, install } = late({ reconnect: { retryMs: 50 } })
    const made = await board({ servers: [server] })
    await made.ready()
    expect(made.servers()[0]?.state).toBe('failed')
    install()
    await until('it is up', () => made.servers()[0]?.state === 'connected')
  })

  it('is retried by itself after longer and longer waits', async () => {
    const waits: number[] = []
    // In the middle of its range the jitter adds nothing.
    const real = { ...systemHost(), random: () => 0.5 }
    const host = retimed(real, (ms) => {
      if (![7001, 14_002, 28_004].includes(ms)) return ms
      waits.push(ms)
      return 0
    })
    const made = await board({ servers: [late({ reconnect: { retryMs: 7001 } }).server], host })
    await made.ready()
    await until('three retries were planned', () => waits.length >= 3)
    expect(waits.slice(0, 3)).toEqual([7001, 14_002, 28_004])
  })

  it('leaves no timer behind when its board is closed', async () => {
    const timers = new Set<object>()
    const made = await board({ servers: [late().server], host: counted(systemHost(), timers) })
    await made.ready()
    expect(made.servers()[0]?.state).toBe('failed')
    await made.close()
    // The watchdog of child processes exits by itself a moment later.
    await until('no timer is left', () => timers.size === 0)
  })

  it('rests when its board is closed', async () => {
    const one = fixture('raw', 'raw', { fault: 'refuse', entry: { reconnect: { retryMs: 50 } } })
    const made = await board({ servers: [one.server] })
    await made.ready()
    await until('it was tried again', () => one.pids().length > 1)
    await made.close()
    const before = one.pids().length
    await new Promise((done) => setTimeout(done, 400))
    expect(one.pids()).toHaveLength(before)
  })
})

describe('reconnecting on demand', () => {
  it('restarts a server that is up, and one that failed at once', async () => {
    const one = fixture('raw', 'raw')
    const { server, install } = late()
    const made = await board({ servers: [one.server, server] })
    await made.ready()
    await expect(made.reconnect('raw')).resolves.toMatchObject({ state: 'connected', tools: 6 })
    expect(one.pids()).toHaveLength(2)
    await expect(made.reconnect('late')).resolves.toMatchObject({
      state: 'failed',
      error: { code: 'INIT_ERROR' },
    })
    install()
    await expect(made.reconnect('late')).resolves.toMatchObject({ state: 'connected' })
  })

  it('is refused for a server that is switched off', async () => {
    const { server } = fixture('raw', 'raw')
    const off = { ...server, disabled: { kind: 'config', text: 'off' } } as const
    const made = await board({ servers: [off] })
    await expect(made.reconnect('raw')).rejects.toMatchObject({ code: 'DISABLED' })
  })

  it('is given up by the one who asked', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'hang:connect' }).server] })
    const stop = new AbortController()
    const asked = made.reconnect('raw', { signal: stop.signal })
    stop.abort()
    await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})

describe('servers that hang while they start', () => {
  it('do not keep a healthy one waiting for a slot until they are given up', async () => {
    const hung = ['a', 'b', 'c'].map((name) => fixture(name, 'raw', { fault: 'hang:connect' }).server)
    const made = await board({ servers: [...hung, fixture('well', 'raw').server], timeoutMs: 20_000 })
    void made.ready()
    expect(textOf(await made.link.request('well', 'tools/call', echo))).toBe('{"n":1}')
    expect(made.servers().filter(({ state }) => state === 'pending')).toHaveLength(3)
  })
})

describe('a legacy server', () => {
  it('is sent nothing of what a modern client says about itself', async () => {
    const one = fixture('raw', 'raw')
    const made = await board({ servers: [one.server] })
    const _meta = {
      [META.protocolVersion]: '2026-07-28',
      [META.clientInfo]: { name: 'x', version: '1' },
      [META.clientCapabilities]: {},
      [META.logLevel]: 'debug',
      'com.example/own': 1,
    }
    await made.link.request('raw', 'tools/call', { ...echo, _meta })
    const seen = one.seen().find(({ method }) => method === 'tools/call')
    expect(seen?.params?._meta).toEqual({ 'com.example/own': 1, progressToken: expect.anything() })
  })

  it('shows its capabilities and instructions', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      instructions: 'Be kind.',
    })
  })
})
