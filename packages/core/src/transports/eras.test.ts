// Both eras of the protocol through our transports, against real servers of the SDK.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import type { ServerEntry } from '../config/entry.ts'
import { testContext, until } from './fixtures/support.ts'
import { openTransport } from './open.ts'

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))
const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
)

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Starts a server that prints its port, or that listens on the one given. */
async function serve(args: string[], env: Record<string, string> = {}): Promise<number> {
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
  await until(() => /port \d+/i.test(said), 15_000, 'the server listens')
  const port = Number(/port (\d+)/i.exec(said)?.[1])
  // Some say so a moment before they do.
  let listens = false
  const knock = () =>
    connect(port, '127.0.0.1')
      .once('connect', function (this: Socket) {
        listens = true
        this.destroy()
      })
      .once('error', () => setTimeout(knock, 20))
  knock()
  await until(() => listens, 15_000, `port ${port} is open`)
  return port
}

async function connected(entry: ServerEntry, mode: 'legacy' | 'auto') {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const transport = await openTransport(entry, testContext())
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
    const port = await serve([EVERYTHING, 'streamableHttp'], { PORT: '38471' })
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
    const port = await serve([EVERYTHING, 'sse'], { PORT: '38472' })
    const { client } = await connected(remote('sse', `http://127.0.0.1:${port}/sse`), 'legacy')
    expect(echoed(await client.callTool({ name: 'echo', arguments: { message: 'hi' } }))).toContain(
      'Echo: hi',
    )
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
})
