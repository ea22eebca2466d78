// A process that goes on: `serve --http` in front of servers that are down, unreachable, crashing or hung. What matters is the
// next call after the server is back, without a restart.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.mjs'
import { type Ended, type Home, makeHome, stdioPeer } from './kit.ts'
import { httpPeer, type RemotePeer } from './remote.ts'

let home: Home
let peer: RemotePeer | undefined
let gateway: { readonly port: number; readonly pid: number; readonly ended: Promise<Ended> } | undefined

beforeEach(() => {
  home = makeHome()
})
afterEach(async () => {
  if (gateway) process.kill(gateway.pid, 'SIGTERM')
  await gateway?.ended
  gateway = undefined
  await peer?.close()
  peer = undefined
  home.remove()
})

async function serve(servers: Readonly<Record<string, unknown>>): Promise<void> {
  home.servers(servers)
  const port = await freePort()
  let ended: Promise<Ended> | undefined
  const pid = await new Promise<number>((started) => {
    ended = home.command(['serve', '--http', '--no-auth', '--port', String(port)], {
      started,
      patienceMs: 240_000,
    })
  })
  if (ended) gateway = { port, pid, ended }
  await until(async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok)
}

async function until(check: () => Promise<boolean>, ms = 30_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await check().catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain`)
    await pause(50)
  }
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

interface Answered {
  readonly isError: boolean
  readonly text: string
}

/** One tool call by a client of 2026-07-28, which needs no session. */
async function call(tool: string): Promise<Answered> {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: `mcp__s__${tool}`,
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }
  const response = await fetch(`http://127.0.0.1:${gateway?.port}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': `mcp__s__${tool}`,
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const data = text.includes('data: ') ? (/^data: (.*)$/gm.exec(text)?.[1] ?? '') : text
  const message = JSON.parse(data)
  if (message.error) return { isError: true, text: String(message.error.message) }
  return { isError: message.result.isError === true, text: message.result.content?.[0]?.text ?? '' }
}

const pids = () => readFileSync(home.path('pids'), 'utf8').trim().split('\n').map(Number)

describe('serve --http', () => {
  it('answers the next call after a server came up that was down when it started', async () => {
    const port = await freePort()
    await serve({ s: { type: 'http', url: `http://127.0.0.1:${port}/` } })
    expect(await call('look')).toMatchObject({ isError: true })
    peer = await httpPeer('none', port)
    expect(await call('look')).toEqual({ isError: false, text: 'the answer of look' })
  })

  it('answers the next call after a server was down for longer than the quick attempts take', async () => {
    peer = await httpPeer('none')
    const { port, url } = peer
    await serve({ s: { type: 'http', url, reconnect: { delayMs: 50 } } })
    expect(await call('look')).toMatchObject({ isError: false })
    await peer.close()
    for (let n = 0; n < 3; n++) expect(await call('look')).toMatchObject({ isError: true })
    peer = await httpPeer('none', port)
    expect(await call('look')).toEqual({ isError: false, text: 'the answer of look' })
  })

  it('answers the next call after six crashes in a row', async () => {
    await serve({ s: { ...stdioPeer(home, 'crashes'), permissions: { writePermission: 'allow' } } })
    for (let n = 0; n < 6; n++) {
      const crashed = await call('write')
      expect(crashed).toMatchObject({ isError: true })
      expect(crashed.text).toContain('exited with code 3')
    }
    expect(await call('look')).toEqual({ isError: false, text: 'the answer of look' })
  })

  it('starts a command that was missing when it started', async () => {
    const { chmodSync, writeFileSync } = await import('node:fs')
    const command = home.path('late-server')
    const { args, env } = stdioPeer(home, '')
    await serve({ s: { command, env } })
    expect(await call('look')).toMatchObject({ isError: true })
    writeFileSync(command, `#!/bin/sh\nexec ${process.execPath} ${args[0]}\n`)
    chmodSync(command, 0o755)
    expect(await call('look')).toEqual({ isError: false, text: 'the answer of look' })
  })

  it('goes on with the same server after an answer of more than 64 MiB', async () => {
    await serve({ s: { ...stdioPeer(home, 'huge'), permissions: { writePermission: 'allow' } } })
    for (let n = 0; n < 3; n++) expect((await call('look')).text).toContain('64 MiB')
    expect(await call('write')).toEqual({ isError: false, text: 'the answer of write' })
    expect(pids()).toHaveLength(1)
  }, 120_000)

  it('restarts a server that hangs, after a call has timed out', async () => {
    await serve({ s: stdioPeer(home, 'hangs', { timeout: 1000 }) })
    expect((await call('look')).text).toContain('did not answer')
    await until(async () => !(await call('look')).isError)
    expect(pids()).toHaveLength(2)
    expect(() => process.kill(pids()[0] ?? 0, 0)).toThrow()
  })
})
