// What a user sees when something answers that is not the server's answer, when the output cannot be written, and when an
// entry cannot be used: in processes of their own.

import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMAND } from '../support/cli.ts'
import { type Home, makeHome, stdioPeer } from './kit.ts'
import { answer } from './model.mjs'

let home: Home
let server: Server | undefined

beforeEach(() => {
  home = makeHome()
})
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
  home.remove()
})

interface Asked {
  readonly id?: number
  readonly method: string
}

/** An HTTP server that `fault` answers for, where it wants to. */
async function httpServer(fault: (asked: Asked, response: ServerResponse, nth: number) => boolean) {
  const asked: string[] = []
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const message = JSON.parse(body) as Asked
      asked.push(message.method)
      const nth = asked.filter((method) => method === message.method).length
      if (fault(message, response, nth)) return undefined
      const said = answer(message)
      if (!said) return response.writeHead(202).end()
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
    })
  })
  await new Promise<void>((ready) => server?.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  home.servers({ s: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } })
  return asked
}

const calls = (asked: readonly string[]) => asked.filter((method) => method === 'tools/call').length

describe.each([
  ['half a JSON body', 200, 'application/json', '{"jsonrpc":"2.0","re'],
  ['an empty body', 200, 'application/json', ''],
  ['a web page', 200, 'text/html', '<html>'],
  ['a 502 of a proxy', 502, 'text/plain', 'bad gateway'],
  ['a 504 of a proxy', 504, 'text/plain', 'gateway timeout'],
])('%s instead of an answer', (_name, status, type, body) => {
  const once = ({ method }: Asked, response: ServerResponse, nth: number) => {
    if (method !== 'tools/call' || nth > 1) return false
    response.writeHead(status, { 'content-type': type }).end(body)
    return true
  }

  it('leaves a write unknown, and is not sent again', async () => {
    const asked = await httpServer(once)
    const { code, stdout } = await home.command(['call', 's.write', '--json'])
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 4, error: { code: 'OUTCOME_UNKNOWN' } })
    expect(calls(asked)).toBe(1)
  })

  it('costs a read nothing', async () => {
    const asked = await httpServer(once)
    expect(await home.command(['call', 's.look'])).toMatchObject({ code: 0, stdout: 'the answer of look\n' })
    expect(calls(asked)).toBe(2)
  })
})

describe('a socket that is dropped once', () => {
  it.each(['initialize', 'tools/list'])('at %s is opened again', async (where) => {
    await httpServer(({ method }, response, nth) => {
      if (method !== where || nth > 1) return false
      response.destroy()
      return true
    })
    expect(await home.command(['call', 's.write'])).toMatchObject({
      code: 0,
      stdout: 'the answer of write\n',
    })
  })
})

describe('a 429 without a time', () => {
  it('says what to do', async () => {
    await httpServer(({ method }, response) => {
      if (method === 'tools/call') response.writeHead(429).end()
      return method === 'tools/call'
    })
    const { code, stderr } = await home.command(['call', 's.look'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/answered HTTP 429\.\n\s+The server limits how often it is used/)
  })
})

/** The exit code and stderr of the command with one descriptor on a full disk. */
function onFullDisk(fd: 1 | 2, args: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const full = openSync('/dev/full', 'w')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home.folder,
    PLUGBOARD_MANAGED_DIR: home.path('managed'),
    PLUGBOARD_RESIDENT: '0',
  }
  return new Promise((resolve, reject) => {
    const stdio: ('ignore' | 'pipe' | number)[] = [
      'ignore',
      fd === 1 ? full : 'ignore',
      fd === 2 ? full : 'pipe',
    ]
    const child = spawn(process.execPath, [COMMAND, ...args], { cwd: home.folder, env, stdio })
    closeSync(full)
    let stderr = ''
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stderr }))
  })
}

describe.runIf(process.platform === 'linux')('on a full disk', () => {
  it('a result that cannot be written is told in a plain sentence', async () => {
    home.servers({ s: stdioPeer(home, '') })
    const { code, stderr } = await onFullDisk(1, ['call', 's.look'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^plugboard: the result could not be written: ENOSPC/)
  })

  it('stderr does not change the exit code', async () => {
    home.servers({ s: stdioPeer(home, '') })
    expect(await onFullDisk(2, ['call', 's.nothing'])).toMatchObject({ code: 3 })
  })
})

describe('an entry whose url misses a variable', () => {
  beforeEach(() => {
    home.servers({ s: stdioPeer(home, ''), remote: { type: 'http', url: '${NOT_SET_HERE}/mcp' } })
  })

  it('leaves the other servers alone', async () => {
    expect(await home.command(['call', 's.look'])).toMatchObject({ code: 0, stdout: 'the answer of look\n' })
  })

  it('says which one', async () => {
    const { code, stdout } = await home.command(['call', 'remote.look', '--json'])
    expect(code).toBe(6)
    const { error } = JSON.parse(stdout)
    expect(error).toMatchObject({ code: 'DISABLED', server: 'remote' })
    expect(error.message).toContain('NOT_SET_HERE is not set')
    expect(await home.command(['login', 'remote'])).not.toMatchObject({ code: 1 })
  })
})

describe('servers that are neither a list nor an object', () => {
  it.each(['5', "'x'", 'true'])('are refused: %s', async (servers) => {
    const { stdout } = await home.script(
      `console.log(await openBoard({ servers: ${servers} }).catch(({ code, message }) => code + ' ' + message))`,
    )
    expect(stdout).toMatch(/^INVALID_INPUT servers: expected /)
  })
})
