// A login that waits for the browser, while another program of the machine sends its page broken requests.
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../../packages/core/src/auth/fixtures/resource-server.ts'
import { COMMAND, makePlace, type Place, RESIDENT_ENV } from '../support/cli.ts'

let as: AuthorizationServer
let rs: ResourceServer
let place: Place
beforeEach(async () => {
  place = makePlace()
  as = await startAuthorizationServer()
  rs = await startResourceServer({ as })
})
afterEach(async () => {
  await rs.close()
  await as.close()
  place.remove()
})

/** Raw bytes, which no HTTP library would send. */
function send(port: number, target: string): Promise<void> {
  return new Promise((done) => {
    const head = `GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`
    const socket = connect(port, '127.0.0.1', () => socket.end(head))
    socket.on('data', () => undefined)
    socket.on('error', () => done())
    socket.on('close', () => done())
  })
}

/** Runs the login in the background; the browser's way is walked when the command has shown the address. */
function login(name: string, arrive: (redirect: URL) => Promise<void>): Promise<number | null> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: place.home,
    PLUGBOARD_MANAGED_DIR: join(place.home, 'none'),
    ...RESIDENT_ENV,
  }
  const child = spawn(process.execPath, [COMMAND, 'login', name, '--no-browser', '--json'], {
    cwd: place.project,
    env,
  })
  let stderr = ''
  let walked = false
  child.stdout.resume()
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    const url = /https?:\/\/\S+/.exec(stderr)?.[0]
    if (!url || walked || !stderr.includes('paste')) return
    walked = true
    void as.walk(url).then((redirect) => arrive(new URL(String(redirect))))
  })
  return new Promise((done) => child.on('close', done))
}

it.each([
  ['no path', ['//', '///', '//x', '//[']],
  ['broken escapes', ['/%', '/callback?state=%', '/callback?state=%ff%fe']],
  ['another address', ['http://', 'http://[', '*', '/\\\\']],
])('goes on after requests with %s', async (_, targets) => {
  await place.run('add', '-s', 'user', 'guarded', rs.url)
  const code = await login('guarded', async (redirect) => {
    for (const target of targets) await send(Number(redirect.port), target)
    await fetch(redirect)
  })
  expect(code).toBe(0)
  const { servers } = (await place.run('list', '--json')).json
  expect(servers.find(({ name }: { name: string }) => name === 'guarded')).toMatchObject({
    state: 'connected',
  })
})
