// What can go wrong around the resident board, each with real processes: the command works, says what happened, or ends; it never
// hangs, and no process is left behind.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { isRunning } from '../../packages/core/src/files/running.ts'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const RAW = fileURLToPath(new URL('../../packages/core/src/connection/fixtures/raw.mjs', import.meta.url))
const ON = { PLUGBOARD_RESIDENT: '1' }
const isRoot = process.getuid?.() === 0
const NOBODY = 65534

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

interface Scene extends Place {
  readonly folder: string
  pids(): number[]
  start(env: Readonly<Record<string, string>>, ...args: string[]): ChildProcess
}

function scene(entry: object = {}): Scene {
  const place = makePlace()
  ends.push(() => place.remove())
  const file = join(place.home, 'pids')
  place.write('~/.plugboard/settings.json', {
    disabledServers: ['codebase'],
    mcpServers: { raw: { command: process.execPath, args: [RAW], env: { PIDS: file }, ...entry } },
  })
  return {
    ...place,
    folder: join(place.home, '.plugboard/state/resident'),
    pids: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []),
    start: (env, ...args) => {
      const child = spawn(process.execPath, [COMMAND, ...args], {
        cwd: place.project,
        env: { PATH: process.env['PATH'] ?? '', HOME: place.home, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      ends.push(() => void child.kill('SIGKILL'))
      return child
    },
  }
}

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await check()); ) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((done) => setTimeout(done, 30))
  }
}

/** Of a link below /proc; a descriptor may be closed by now. */
const isSocket = (link: string) => {
  try {
    return readlinkSync(link).startsWith('socket:')
  } catch {
    return false
  }
}

const status = async (at: Scene) => (await at.run('status', '--json')).json

describe('the disk', () => {
  /** Runs the lines in a mount namespace of their own, with `pb` as the command. */
  const inNamespace = (at: Scene, lines: readonly string[]) => {
    const pb = `pb() { '${process.execPath}' '${COMMAND}' "$@"; }`
    return spawnSync('unshare', ['--mount', 'bash', '-c', ['set -e', pb, ...lines].join('\n')], {
      cwd: at.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: at.home, ...ON },
      encoding: 'utf8',
      timeout: 60_000,
    })
  }
  const canMount = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0

  it.runIf(canMount)('is full: every command works, before and after the board has started', () => {
    const at = scene({ env: {} })
    const state = join(at.home, '.plugboard/state')
    mkdirSync(state, { recursive: true })
    const fill = `head -c 1m /dev/zero > '${state}/fill' 2>/dev/null || true`
    const { status, stdout, stderr } = inNamespace(at, [
      `mount -t tmpfs -o size=128k,mode=700 tmpfs '${state}'`,
      fill,
      'pb call raw.echo n=1 -v',
      `rm '${state}/fill'`,
      'pb up --quiet',
      fill,
      'pb call raw.echo n=2',
      'pb tools raw.echo --json | head -c 10',
      'pb down --quiet',
    ])
    expect([status, stdout]).toEqual([0, expect.stringContaining('{"n":1}\n')])
    expect(stdout).toContain('{"n":2}\n')
    expect(stderr).toContain('No resident board is used')
  })

  it.runIf(canMount)('is read-only: the command works without a resident board, and -v says why', () => {
    const at = scene({ env: {} })
    const { status, stdout, stderr } = inNamespace(at, [
      'mount --bind "$HOME" "$HOME"',
      'mount -o remount,bind,ro "$HOME"',
      'pb call raw.echo n=1 -v',
    ])
    expect([status, stdout]).toEqual([0, '{"n":1}\n'])
    expect(stderr).toContain('No resident board is used')
  })
})

describe.runIf(isRoot)('another user', () => {
  /** As `nobody`, who may read the home but owns nothing in it. The command is a copy: this folder may be closed to others. */
  const asNobody = (at: Scene, env: Readonly<Record<string, string>>, ...args: string[]) => {
    const copy = join(at.home, 'command')
    const own = dirname(dirname(COMMAND))
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(own, part), join(copy, part), { recursive: true })
    return spawnSync(process.execPath, [join(copy, 'bin', basename(COMMAND)), ...args], {
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '', ...env },
      encoding: 'utf8',
      timeout: 60_000,
      uid: NOBODY,
      gid: NOBODY,
    })
  }

  it('owns the socket that lies there: it is not connected to, and the command works', async () => {
    const at = scene()
    mkdirSync(at.folder, { recursive: true, mode: 0o700 })
    const heard: string[] = []
    const trap = createServer((socket) => socket.on('data', (chunk) => heard.push(String(chunk))))
    await new Promise<void>((done) => trap.listen(join(at.folder, 'board.sock'), done))
    ends.push(() => trap.close())
    chownSync(join(at.folder, 'board.sock'), NOBODY, NOBODY)
    writeFileSync(join(at.folder, 'token'), 'x'.repeat(64), { mode: 0o600 })
    const ran = await at.runWith(ON, 'call', 'raw.echo', 'n=1', '-v')
    expect([ran.code, ran.stdout]).toEqual([0, '{"n":1}\n'])
    expect(ran.stderr).toContain('belongs to another user')
    expect(heard).toEqual([])
    const told = await at.run('status')
    expect([told.code, told.stderr]).toEqual([2, expect.stringContaining('belongs to another user')])
  })

  it('cannot use the board of this user, whatever it knows about it', async () => {
    const at = scene()
    await at.run('up')
    const state = dirname(at.folder)
    for (const path of [dirname(at.home), at.home, join(at.home, '.plugboard'), state]) chmodSync(path, 0o755)
    // With the folder open, the socket and the token still are the user's.
    chmodSync(at.folder, 0o755)
    const ran = asNobody(at, { HOME: '/nonexistent', PLUGBOARD_STATE_DIR: state }, 'status', '--json')
    expect(ran.status).toBe(2)
    expect(ran.stdout).toContain('belongs to another user')
    const script = `require('net').connect(${JSON.stringify(join(at.folder, 'board.sock'))}).on('error', (e) => console.log(e.code)).on('connect', () => console.log('in'))`
    const raw = spawnSync(process.execPath, ['-e', script], {
      uid: NOBODY,
      gid: NOBODY,
      encoding: 'utf8',
      timeout: 10_000,
    })
    expect(raw.stdout.trim()).toBe('EACCES')
    chmodSync(at.folder, 0o700)
  })
})

describe('many at once', () => {
  it('fifty commands while it starts are served by one process and one server', async () => {
    const at = scene()
    const many = Array.from({ length: 50 }, (_, n) => at.runWith(ON, 'call', 'raw.echo', `n=${n}`))
    const ran = await Promise.all(many)
    expect(ran.map(({ code, stdout }) => [code, stdout])).toEqual(ran.map((_, n) => [0, `{"n":${n}}\n`]))
    expect(at.pids()).toHaveLength(1)
    expect(readFileSync(join(at.folder, 'resident.log'), 'utf8').match(/ started, /g)).toHaveLength(1)
  }, 180_000)

  it('two terminals that edit the configuration lose nothing, and the board sees both', async () => {
    const at = scene()
    await at.runWith(ON, 'call', 'raw.echo')
    const add = (prefix: string) => async () => {
      for (let n = 0; n < 5; n++)
        expect((await at.run('add', '-s', 'user', `${prefix}${n}`, '--', process.execPath, RAW)).code).toBe(0)
    }
    await Promise.all([add('a')(), add('b')()])
    const [one, two] = await Promise.all([
      at.runWith(ON, 'call', 'a4.echo', 'n=1'),
      at.runWith(ON, 'call', 'b4.echo', 'n=2'),
    ])
    expect([one.stdout, two.stdout]).toEqual(['{"n":1}\n', '{"n":2}\n'])
    await Promise.all([at.run('remove', 'a4'), at.run('remove', 'b4')])
    expect((await at.runWith(ON, 'call', 'a4.echo')).code).toBe(3)
    expect((await at.runWith(ON, 'call', 'raw.echo', 'n=3')).stdout).toBe('{"n":3}\n')
  }, 120_000)
})

describe('the process', () => {
  it('sleeps and resumes: a command that waits gets its answer, and the server is the same', async () => {
    const at = scene()
    const { pid } = (await at.run('up', '--json')).json
    expect((await at.runWith(ON, 'call', 'raw.echo')).code).toBe(0)
    const child = at.start(ON, 'call', 'raw.slow', 'ms=300')
    const done = new Promise<string>((resolve) => {
      let said = ''
      child.stdout?.on('data', (chunk) => {
        said += chunk
      })
      child.on('close', (code) => resolve(`${code} ${said}`))
    })
    await until('the call runs', async () => (await status(at)).servers[0]?.calls > 1)
    process.kill(pid, 'SIGSTOP')
    await new Promise((wait) => setTimeout(wait, 1500))
    process.kill(pid, 'SIGCONT')
    expect(await done).toBe('0 done\n')
    expect(at.pids()).toHaveLength(1)
  })

  it('is stopped for good: a new command works without it', async () => {
    const at = scene()
    const { pid } = (await at.run('up', '--json')).json
    process.kill(pid, 'SIGSTOP')
    ends.push(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
    const ran = await at.runWith(ON, 'call', 'raw.echo', 'n=1', '-v')
    expect([ran.code, ran.stdout]).toEqual([0, '{"n":1}\n'])
    expect(ran.stderr).toContain('did not answer')
    process.kill(pid, 'SIGCONT')
  })

  it.skipIf(process.platform !== 'linux')(
    'is stopped: Ctrl-C ends a command, and its call is not made',
    async () => {
      const at = scene()
      const { pid } = (await at.run('up', '--json')).json
      process.kill(pid, 'SIGSTOP')
      ends.push(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
      const child = at.start(ON, 'call', 'raw.echo', 'n=1')
      const ended = once(child, 'close')
      // From before it connects, it notices Ctrl-C.
      await until('it is connected', () => {
        const folder = `/proc/${child.pid}/fd`
        return readdirSync(folder).some((fd) => Number(fd) > 2 && isSocket(join(folder, fd)))
      })
      child.kill('SIGINT')
      // Until the command listens for it, the signal ends Node itself: a shell shows 130 for both.
      const [code, signal] = await ended
      expect(signal === 'SIGINT' ? 130 : code).toBe(130)
      expect(at.pids()).toEqual([])
      process.kill(pid, 'SIGCONT')
    },
  )

  it('leaves when its folder is removed, and the next command starts another', async () => {
    const at = scene()
    const { pid } = (await at.run('up', '--json')).json
    execFileSync('rm', ['-rf', at.folder])
    await until('it is gone', () => !isRunning(pid))
    expect((await at.runWith(ON, 'call', 'raw.echo', 'n=1')).stdout).toBe('{"n":1}\n')
  })

  it('outlives a server that exhausts memory: the call fails, others go on', async () => {
    const at = scene()
    const greedy = at.write(
      'greedy.mjs',
      `import { createInterface } from 'node:readline'
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'greedy', version: '1' } })
  if (method === 'tools/list') say(id, { tools: [{ name: 'eat', inputSchema: { type: 'object' } }] })
  if (method === 'tools/call') for (const kept = [];;) kept.push(new Array(1e6).fill(Math.random()))
})`,
    )
    await at.run('add', '-s', 'user', 'greedy', '--', process.execPath, '--max-old-space-size=64', greedy)
    const { pid } = (await at.run('up', '--json')).json
    const [eaten, echoed] = await Promise.all([
      at.runWith(ON, 'call', 'greedy.eat', '--json'),
      at.runWith(ON, 'call', 'raw.echo', 'n=1'),
    ])
    expect(eaten.code).toBe(4)
    expect(eaten.json.error).toMatchObject({ code: 'OUTCOME_UNKNOWN', server: 'greedy' })
    expect(echoed.stdout).toBe('{"n":1}\n')
    expect((await status(at)).pid).toBe(pid)
  })
})
