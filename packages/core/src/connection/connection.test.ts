import { describe, expect, it } from 'vitest'
import { isRunning } from '../files/running.ts'
import { board, fixture, recorded, textOf, until } from './fixtures/kit.ts'

describe('bringing a server up', () => {
  it('connects nothing until it is needed, and then once', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    expect(made.servers()[0]).toMatchObject({ state: 'pending', attempt: 0 })
    expect(raw.pids()).toEqual([])

    const [a, b] = await Promise.all([
      made.link.request('raw', 'tools/call', { name: 'echo', arguments: { n: 1 } }),
      made.link.request('raw', 'tools/call', { name: 'echo', arguments: { n: 2 } }),
      made.ready(),
    ])
    expect([textOf(a), textOf(b)]).toEqual(['{"n":1}', '{"n":2}'])
    expect(raw.pids()).toHaveLength(1)
  })

  it('shows what the server is and has', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    const events = recorded(made)
    await made.ready()
    expect(made.servers()).toMatchObject([
      {
        name: 'raw',
        type: 'stdio',
        state: 'connected',
        tools: 6,
        resources: 1,
        prompts: 1,
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'raw', version: '1' },
        instructions: 'Be kind.',
      },
    ])
    expect(
      made.link.definitions().map(({ server, tool, available }) => [server, tool.name, available])[0],
    ).toEqual(['raw', 'echo', true])
    const states = events.flatMap((event) => (event.type === 'state' ? [event.state] : []))
    expect(states.map((state) => (state.kind === 'pending' ? state.stage : state.kind))).toEqual([
      'client',
      'transport',
      'connect',
      'capabilities',
      'tools',
      'resources',
      'server-info',
      'connected',
    ])
  })

  it('accepts a server that still speaks 2024-11-05', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'old' }).server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2024-11-05' })
  })
})

describe('closing', () => {
  it('leaves no process, and may be asked for again', async () => {
    const raw = fixture('raw', 'raw')
    const made = await board({ servers: [raw.server] })
    await made.ready()
    await Promise.all([made.close(), made.close()])
    await until('the process is gone', () => raw.pids().every((pid) => !isRunning(pid)))
    await expect(made.link.request('raw', 'tools/list')).rejects.toMatchObject({ code: 'IO_ERROR' })
    expect(raw.pids()).toHaveLength(1)
  })
})
