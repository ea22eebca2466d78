// The resident board as users meet it: started, used, stopped, killed, in other hands, in other versions. Each scene runs the
// built command in processes of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { residentPlace, startResident } from '@plugboard/resident'
import { afterEach, describe, expect, it } from 'vitest'
import { isRunning } from '../../packages/core/src/files/running.ts'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const RAW = fileURLToPath(new URL('../../packages/core/src/connection/fixtures/raw.mjs', import.meta.url))
const ON = { PLUGBOARD_RESIDENT: '' }

const places: Place[] = []
afterEach(() => {
  for (const place of places.splice(0)) place.remove()
})

interface Scene extends Place {
  readonly folder: string
  /** The processes of the server, oldest first. */
  pids(): number[]
  /** Starts a command and leaves it running. */
  start(env: Readonly<Record<string, string>>, ...args: string[]): ChildProcess
}

function scene(entry: object = {}): Scene {
  const place = makePlace()
  places.push(place)
  const file = join(place.home, 'pids')
  place.write('~/.plugboard/settings.json', {
    mcpServers: { raw: { command: process.execPath, args: [RAW], env: { PIDS: file }, ...entry } },
  })
  return {
    ...place,
    folder: join(place.home, '.plugboard/state/resident'),
    pids: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []),
    start: (env, ...args) =>
      spawn(process.execPath, [COMMAND, ...args], {
        cwd: place.project,
        env: { PATH: process.env['PATH'] ?? '', HOME: place.home, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
  }
}

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await check()); ) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((done) => setTimeout(done, 30))
  }
}

function ended(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    said.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    said.stderr += chunk
  })
  return new Promise((done) => child.on('close', (code) => done({ code, ...said })))
}

describe('the resident board', () => {
  it('is started by the first command that can use it, keeps its server, and ends with `down`', async () => {
    const at = scene()
    expect((await at.run('status', '--json')).json).toEqual({ running: false })
    // Verbs about the configuration do not need it.
    expect((await at.runWith(ON, 'explain', 'raw')).code).toBe(0)
    expect((await at.run('status', '--json')).json).toEqual({ running: false })
    for (const n of [1, 2]) expect((await at.runWith(ON, 'call', 'raw.echo', `n=${n}`)).code).toBe(0)
    expect(at.pids()).toHaveLength(1)
    expect((await at.run('up', '--json')).json).toMatchObject({ running: true, started: false })
    const { json } = await at.run('status', '--json')
    expect(json).toMatchObject({
      running: true,
      pid: expect.any(Number),
      version: expect.any(String),
      socket: join(at.folder, 'board.sock'),
      uptimeMs: expect.any(Number),
      clients: 0,
      servers: [{ name: 'raw', state: 'connected', share: 'user', users: 0, calls: 2, pid: at.pids()[0] }],
    })
    expect(statSync(at.folder).mode & 0o777).toBe(0o700)
    for (const file of ['token', 'board.sock'])
      expect(statSync(join(at.folder, file)).mode & 0o777).toBe(0o600)
    expect((await at.run('down', '--json')).json).toMatchObject({ stopped: true, pid: json.pid })
    expect(isRunning(json.pid)).toBe(false)
    await until('the server is gone', () => at.pids().every((pid) => !isRunning(pid)))
    expect((await at.run('down', '--json')).json).toMatchObject({ stopped: false })
    expect((await at.run('up', '--json')).json).toMatchObject({ running: true, started: true })
  })

  it('is never started against a flag, a variable, CI or a setting, and not used against a setting', async () => {
    const at = scene()
    const settings = JSON.parse(at.read('~/.plugboard/settings.json'))
    for (const [env, args] of [
      [{ ...ON, CI: 'true' }, []],
      [{ PLUGBOARD_RESIDENT: '0' }, []],
      [{ PLUGBOARD_RESIDENT: 'false' }, []],
      [ON, ['--no-resident']],
    ] as const) {
      expect((await at.runWith(env, 'call', 'raw.echo', ...args)).code).toBe(0)
      expect((await at.run('status', '--json')).json.running).toBe(false)
    }
    at.write('~/.plugboard/settings.json', { ...settings, resident: false })
    expect((await at.runWith(ON, 'call', 'raw.echo')).code).toBe(0)
    expect((await at.run('status', '--json')).json.running).toBe(false)
    await at.run('up')
    const before = at.pids().length
    expect((await at.runWith(ON, 'call', 'raw.echo')).code).toBe(0)
    expect(at.pids()).toHaveLength(before + 1)
    expect((await at.run('status', '--json')).json.servers).toEqual([])
  })

  it('leaves when it is idle', async () => {
    const at = scene()
    const child = at.start({}, 'up', '--foreground', '--idle-ms', '300')
    const end = ended(child)
    expect((await end).code).toBe(0)
    expect(existsSync(join(at.folder, 'board.sock'))).toBe(false)
  })
})

describe('whose environment and whose approval', () => {
  it('is that of the terminal: other values mean another instance', async () => {
    const at = scene({ env: { PIDS: '${PIDS_FILE}', TOKEN: '${TOKEN:-none}' } })
    const file = join(at.home, 'pids')
    const call = (token: string) =>
      at.runWith({ ...ON, PIDS_FILE: file, TOKEN: token }, 'call', 'raw.echo', '--json')
    for (const token of ['one', 'two', 'one']) expect((await call(token)).code).toBe(0)
    expect(at.pids()).toHaveLength(2)
  })

  it('is asked for each command: what a project brings needs its approval, whatever runs already', async () => {
    const at = scene()
    await at.runWith(ON, 'call', 'raw.echo')
    at.write('.mcp.json', { mcpServers: { theirs: { command: process.execPath, args: [RAW] } } })
    expect((await at.runWith(ON, 'call', 'theirs.echo')).code).toBe(6)
    await at.runWith(ON, 'approve', 'theirs', '--yes')
    expect((await at.runWith(ON, 'call', 'theirs.echo')).code).toBe(0)
    await at.runWith(ON, 'reset-project-choices')
    expect((await at.runWith(ON, 'call', 'theirs.echo')).code).toBe(6)
  })

  it('sees what another terminal just wrote', async () => {
    const at = scene()
    await at.runWith(ON, 'call', 'raw.echo')
    await at.run('add', '-s', 'user', 'more', '--', process.execPath, RAW)
    expect((await at.runWith(ON, 'call', 'more.echo')).code).toBe(0)
    await at.run('remove', 'more')
    expect((await at.runWith(ON, 'call', 'more.echo')).code).toBe(3)
  })
})

describe('a fault', () => {
  it('kill -9 of the board: a write ends with OUTCOME_UNKNOWN, no server outlives it, the next command works', async () => {
    const at = scene()
    const { pid } = (await at.run('up', '--json')).json
    const child = at.start(ON, 'call', 'raw.write', 'ms=60000', '--json')
    const end = ended(child)
    await until('the call runs', async () => {
      const { servers } = (await at.run('status', '--json')).json
      return servers?.[0]?.calls > 0
    })
    process.kill(pid, 'SIGKILL')
    const { code, stdout } = await end
    expect(code).toBe(4)
    expect(JSON.parse(stdout).error).toMatchObject({ code: 'OUTCOME_UNKNOWN', server: 'raw' })
    await until('the server is gone', () => at.pids().every((one) => !isRunning(one)))
    expect((await at.runWith(ON, 'call', 'raw.echo')).code).toBe(0)
    expect((await at.run('status', '--json')).json.pid).not.toBe(pid)
  })

  it('kill -9 of the board: a call that only reads is sent again', async () => {
    const at = scene()
    const { pid } = (await at.runWith(ON, 'up', '--json')).json
    const child = at.start(ON, 'call', 'raw.slow', 'ms=4000')
    const end = ended(child)
    await until('the call runs', async () => {
      const { servers } = (await at.run('status', '--json')).json
      return servers?.[0]?.calls > 0
    })
    process.kill(pid, 'SIGKILL')
    expect(await end).toMatchObject({ code: 0, stdout: 'done\n' })
  })

  it('kill -9 of a command: its call is cancelled, the server goes on for others', async () => {
    const at = scene({ env: { PIDS: '${PIDS_FILE}', SEEN: '${SEEN_FILE}' } })
    const env = { ...ON, PIDS_FILE: join(at.home, 'pids'), SEEN_FILE: join(at.home, 'seen') }
    const seen = () => (existsSync(env.SEEN_FILE) ? readFileSync(env.SEEN_FILE, 'utf8') : '')
    const child = at.start(env, 'call', 'raw.slow', 'ms=60000')
    await until('the call runs', () => seen().includes('"slow"'))
    child.kill('SIGKILL')
    await until('the server heard of it', () => seen().includes('notifications/cancelled'))
    expect((await at.runWith(env, 'call', 'raw.echo')).code).toBe(0)
    expect(at.pids()).toHaveLength(1)
  })

  it.runIf(process.getuid?.() === 0)('a folder of another user is not used', async () => {
    const at = scene()
    await at.run('up')
    chownSync(at.folder, 65534, 65534)
    const ran = await at.runWith(ON, 'call', 'raw.echo', '-v')
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain('belongs to another user')
    expect((await at.run('status')).code).toBe(2)
    chownSync(at.folder, 0, 0)
  })

  it('a leftover socket and a folder that cannot be made do not stop a command', async () => {
    const at = scene()
    const { pid } = (await at.run('up', '--json')).json
    process.kill(pid, 'SIGKILL')
    await until('it is gone', () => !isRunning(pid))
    expect(existsSync(join(at.folder, 'board.sock'))).toBe(true)
    expect((await at.run('status', '--json')).json).toEqual({ running: false })
    expect((await at.run('up', '--json')).json).toMatchObject({ running: true, started: true })
    // No folder can be made below a file; to the command that is the same as a disk that cannot be written.
    const file = at.write('~/file', 'a file')
    const nowhere = { ...ON, PLUGBOARD_STATE_DIR: join(file, 'state') }
    const ran = await at.runWith(nowhere, 'call', 'raw.echo', '-v')
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain('No resident board is used')
  })

  it('an older process makes room for a newer command, a newer one stays', async () => {
    const at = scene()
    const place = residentPlace(join(at.home, '.plugboard/state'))
    const newer = await startResident({ place, version: '99.0.0', idleMs: 0 })
    const ran = await at.runWith(ON, 'status', '--json')
    expect(ran.json).toMatchObject({ running: true, version: '99.0.0' })
    newer?.leave('the test')
    await newer?.left
    const older = await startResident({ place, version: '0.0.1', idleMs: 0 })
    expect((await at.runWith({ ...nodeVariables(), ...ON }, 'call', 'raw.echo')).code).toBe(0)
    expect(await older?.left).toContain('takes over')
    expect((await at.run('status', '--json')).json.version).not.toBe('0.0.1')
  })
})

function nodeVariables(): Record<string, string> {
  const given = process.env['NODE_EXTRA_CA_CERTS']
  return given === undefined ? {} : { NODE_EXTRA_CA_CERTS: given }
}

it('waits with little code: what a board or a gateway needs is loaded for the first client', () => {
  const folder = join(dirname(COMMAND), '../dist/board-verbs')
  const loaded = new Map<string, number>()
  const load = (file: string): void => {
    if (loaded.has(file)) return
    const text = readFileSync(join(folder, file), 'utf8')
    loaded.set(file, text.length)
    for (const [, next = ''] of text.matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g)) load(next)
  }
  load('up.js')
  const chars = [...loaded.values()].reduce((sum, length) => sum + length, 0)
  expect(loaded.size).toBeGreaterThan(5)
  // With a gateway it was 1,300,000.
  expect(chars).toBeLessThan(400_000)
})
