// Both eras of the protocol through our transports, against real servers of the SDK.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../../test/support/free-port.mjs'
import type { ServerEntry } from '../config/entry.ts'
import { testContext, until } from './fixtures/support.ts'
import { linkedPair } from './linked-pair.ts'
import { openTransport, type TransportContext } from './open.ts'

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))
const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
)

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

interface Served {
  readonly port: number
  said(): string
}

/** Starts a server that prints its port, or that listens on the one given. */
async function serve(args: string[], env: Record<string, string> = {}): Promise<Served> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  ends.push(
    () =>
      new Promise<void>((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.once('exit', () => resolve())
        child.kill('SIGKILL')
      }),
  )
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  await until(() => /port \d+/i.test(said), 'the server listens')
  const port = Number(/port (\d+)/i.exec(said)?.[1])
  // Some report it a moment before they do it.
  let listens = false
  const tryConnect = () =>
    connect(port, '127.0.0.1')
      .once('connect', function (this: Socket) {
        listens = true
        this.destroy()
      })
      .once('error', () => setTimeout(tryConnect, 20))
  tryConnect()
  await until(() => listens, `port ${port} is open`)
  return { port, said: () => said }
}

async function connected(
  entry: ServerEntry,
  mode: 'legacy' | 'auto',
  overrides: Partial<TransportContext> = {},
) {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const transport = await openTransport(entry, testContext(overrides))
  ends.push(() => client.close())
  await client.connect(transport)
  return { client, transport }
}

const remote = (type: 'http' | 'sse', url: string): ServerEntry => ({ type, url, headers: {} })
const echoed = (result: unknown) => JSON.stringify(result)

describe('the era before 2026', () => {
  it('works over stdio', async () => {
    const { client } = await connected(
      { type: 'stdio', command: process.execPath, args: [EVERYTHING, 'stdio'], env: {} },
      'legacy',
    )
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
    expect(echoed(await client.callTool({ name: 'echo', arguments: { message: 'hi' } }))).toContain(
      'Echo: hi',
    )
  })

  it('works over Streamable HTTP, with a session that is ended on close', async () => {
    const { port } = await serve([EVERYTHING, 'streamableHttp'], { PORT: String(await freePort()) })
    const { client, transport } = await connected(remote('http', `http://127.0.0.1:${port}/mcp`), 'legacy')
    expect(transport.sessionId).toBeTruthy()
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
    const calls = Array.from({ length: 32 }, (_, n) =>
      client.callTool({ name: 'echo', arguments: { message: `n${n}` } }),
    )
    expect((await Promise.all(calls)).map(echoed).every((text, n) => text.includes(`Echo: n${n}`))).toBe(true)
    await client.close()
    expect(transport.sessionId).toBeUndefined()
  })

  it('works over the older SSE', async () => {
    const { port } = await serve([EVERYTHING, 'sse'], { PORT: String(await freePort()) })
    const { client } = await connected(remote('sse', `http://127.0.0.1:${port}/sse`), 'legacy')
    expect(echoed(await client.callTool({ name: 'echo', arguments: { message: 'hi' } }))).toContain(
      'Echo: hi',
    )
  })
})

describe('sessions of the SDK', () => {
  for (const mode of ['json', 'sse'])
    it(`are opened, used and closed with ${mode} answers`, async () => {
      const { port, said } = await serve([fixture('sdk-http.mjs'), mode])
      const { client } = await connected(remote('http', `http://127.0.0.1:${port}/mcp`), 'legacy')
      expect(echoed(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toContain('hi')
      await client.close()
      await until(() => said().includes('session closed'), 'the goodbye heard')
    })
})

describe('the era of 2026-07-28', () => {
  it('works over stdio', async () => {
    const { client } = await connected(
      { type: 'stdio', command: process.execPath, args: [fixture('sdk-stdio.mjs')], env: {} },
      'auto',
    )
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect(echoed(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toContain('hi')
  })

  it('works over HTTP, where the headers mirror the body', async () => {
    const { port } = await serve([fixture('sdk-http.mjs'), 'modern'])
    const { client } = await connected(remote('http', `http://127.0.0.1:${port}/mcp`), 'auto')
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    const calls = Array.from({ length: 16 }, (_, n) =>
      client.callTool({ name: 'echo', arguments: { text: `n${n}` } }),
    )
    expect((await Promise.all(calls)).map(echoed).every((text, n) => text.includes(`n${n}`))).toBe(true)
  })

  it('cancels over HTTP by ending the stream', async () => {
    const { port, said } = await serve([fixture('sdk-http.mjs'), 'modern'])
    const { client } = await connected(remote('http', `http://127.0.0.1:${port}/mcp`), 'auto')
    const controller = new AbortController()
    const call = client.callTool({ name: 'slow', arguments: { text: '' } }, { signal: controller.signal })
    const outcome = call.then(
      () => 'answered',
      () => 'cancelled',
    )
    await until(() => said().includes('slow began'), 'the call under way')
    controller.abort()
    expect(await outcome).toBe('cancelled')
    await until(() => said().includes('slow ended'), 'the server heard of it')
  })

  it('listens over HTTP until it is told to stop', async () => {
    const { port } = await serve([fixture('sdk-http.mjs'), 'modern'])
    const { client } = await connected(remote('http', `http://127.0.0.1:${port}/mcp`), 'auto')
    const subscription = await client.listen({ toolsListChanged: true })
    await subscription.close()
    expect(await subscription.closed).toBe('local')
  })

  it('falls back to the older one when the server does not know it', async () => {
    const { client } = await connected(
      { type: 'stdio', command: process.execPath, args: [EVERYTHING, 'stdio'], env: {} },
      'auto',
    )
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
  })
})

describe('a linked pair', () => {
  it('carries both eras between a client and a server in one process', async () => {
    const { McpServer } = await import('@modelcontextprotocol/server')
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    for (const mode of ['legacy', 'auto'] as const) {
      const [near, far] = linkedPair()
      serveStdio(() => new McpServer({ name: 'in-process', version: '1' }), { transport: far })
      const { client } = await connected({ type: 'sdk' }, mode, { handOver: () => near })
      expect(client.getServerVersion()?.name).toBe('in-process')
      expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25')
    }
  })
})
