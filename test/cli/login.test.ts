// Logging in and out with the built command, against a real authorization server, without a browser: by paste.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
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

/** Types into the command what a user would: the URL that the browser ended on. */
const loginByPaste = (name: string, mode: Readonly<Record<string, string>> = RESIDENT_ENV) =>
  loginWith(name, { agreed: (redirect, child) => void child.stdin.write(`${redirect}\n`) }, mode)

interface Drive {
  begin?(child: ChildProcessWithoutNullStreams): void
  /** With the URL that the browser is sent to in the end. */
  agreed(redirect: string, child: ChildProcessWithoutNullStreams): void | Promise<void>
}

function loginWith(
  name: string,
  drive: Drive,
  mode: Readonly<Record<string, string>> = RESIDENT_ENV,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: place.home,
    PLUGBOARD_MANAGED_DIR: join(place.home, 'none'),
    ...mode,
  }
  const child = spawn(process.execPath, [COMMAND, 'login', name, '--no-browser', '--json'], {
    cwd: place.project,
    env,
  })
  drive.begin?.(child)
  let stdout = ''
  let stderr = ''
  let walked = false
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    const url = /https?:\/\/\S+/.exec(stderr)?.[0]
    if (url && !walked && stderr.includes('paste')) {
      walked = true
      void as.walk(url).then((redirect) => drive.agreed(String(redirect), child))
    }
  })
  // Not at its exit: its output may still be on the way then.
  return new Promise((done) => child.on('close', (code) => done({ code, stdout, stderr })))
}

const everyFile = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const file = statSync(path)
    return file.isDirectory() ? everyFile(path) : file.isFile() ? [path] : []
  })

it('asks for a login, completes it by paste, stays logged in, and logs out', async () => {
  await place.run('add', '-s', 'user', 'guarded', rs.url)
  const before = (await place.run('list', '--json')).json.servers.find(
    (one: { name: string }) => one.name === 'guarded',
  )
  expect(before).toMatchObject({
    state: 'needs-auth',
    code: 'AUTH_REQUIRED',
    hint: expect.stringContaining('plugboard login guarded'),
  })

  const login = await loginByPaste('guarded')
  expect([login.code, login.stderr]).toEqual([0, expect.stringContaining('http')])
  expect(JSON.parse(login.stdout)).toMatchObject({ server: 'guarded', state: 'connected' })

  const after = await place.run('get', 'guarded', '--json')
  expect(after.json).toMatchObject({ state: 'connected', tools: expect.any(Number) })
  const token = /eyJ[\w-]+\.[\w-]+/
  for (const file of everyFile(place.home)) expect(readFileSync(file, 'latin1')).not.toMatch(token)
  expect(login.stdout + login.stderr + after.stdout).not.toMatch(token)

  expect((await place.run('logout', 'guarded', '--json')).json).toMatchObject({
    forgotten: true,
    revoked: true,
  })
  // A resident board hears of it a moment later.
  await expect
    .poll(async () => (await place.run('get', 'guarded', '--json')).json.state, { timeout: 20_000 })
    .toBe('needs-auth')
}, 60_000)

it('logs out of the connection that a resident board keeps', async () => {
  const on = { PLUGBOARD_RESIDENT: '1' }
  const stateOf = async () => (await place.runWith(on, 'get', 'guarded', '--json')).json.state
  await place.runWith(on, 'add', '-s', 'user', 'guarded', rs.url)
  expect((await loginByPaste('guarded', on)).code).toBe(0)
  expect(await stateOf()).toBe('connected')
  const { pid } = (await place.runWith(on, 'status', '--json')).json
  expect((await place.runWith(on, 'logout', 'guarded', '--json')).json).toMatchObject({ forgotten: true })
  await expect.poll(stateOf, { timeout: 20_000 }).toBe('needs-auth')
  // The same process all along: it was told, not replaced.
  expect((await place.runWith(on, 'status', '--json')).json).toMatchObject({ running: true, pid })
}, 60_000)

it('waits for the browser where nothing can be pasted', async () => {
  await place.run('add', '-s', 'user', 'guarded', rs.url)
  const login = await loginWith('guarded', {
    begin: (child) => void child.stdin.end(),
    // Late enough that the end of input was seen.
    agreed: async (redirect) => {
      await new Promise((done) => setTimeout(done, 500))
      await fetch(redirect)
    },
  })
  expect([login.code, login.stderr]).toEqual([0, expect.stringContaining('http')])
  expect(JSON.parse(login.stdout)).toMatchObject({ server: 'guarded', state: 'connected' })
}, 60_000)

it('reports servers without a login', async () => {
  await place.run('add', '-s', 'user', 'local', '--', 'node', '-e', '0')
  const ran = await place.run('login', 'local')
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('has no login')])
  expect((await place.run('login', 'nobody')).code).toBe(3)
})
