// Signals and lost servers of long-running commands, as an operator meets them: the command runs in a process of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { constants as osConstants } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { withFileLock } from '../../packages/core/src/files/index.ts'
import { COMMAND, makePlace, type Place, RESIDENT_ENV } from '../support/cli.ts'
import { legacySession, SERVER, until } from '../support/gateway.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function place(): Place {
  const made = makePlace()
  ends.push(() => made.remove())
  return made
}

interface Running {
  readonly child: ChildProcess
  stdout(): string
  stderr(): string
  /** The exit code or the signal's name, or `undefined` while it runs. */
  ended(): number | string | undefined
}

/** The command, with stderr at `fd` when that is given; it ends with the test at the latest. */
function start(at: Place, args: readonly string[], { stderr = 'pipe' } = {} as Outputs): Running {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: at.project,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: at.home,
      PLUGBOARD_MANAGED_DIR: join(at.home, 'managed'),
      ...RESIDENT_ENV,
    },
    stdio: ['pipe', 'pipe', stderr],
  })
  const text = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    text.stderr += chunk
  })
  ends.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  return {
    child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended: () => child.exitCode ?? child.signalCode ?? undefined,
  }
}

interface Outputs {
  readonly stderr?: 'pipe' | number
}

/** Whether the process has a handler for the signal, as the system sees it. */
function takes({ child }: Running, signal: 'SIGHUP'): boolean {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const caught = BigInt(`0x${/SigCgt:\s*(\w+)/.exec(status)?.[1] ?? '0'}`)
  return ((caught >> BigInt(osConstants.signals[signal] - 1)) & 1n) === 1n
}

/** The writing end of a pipe that is full and is never read. */
function stalledPipe(at: Place): number {
  const path = join(at.home, 'stalled')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const writer = openSync(path, 'w')
  ends.push(() => {
    closeSync(writer)
    closeSync(reader)
  })
  for (const size of [65_536, 4096, 1]) {
    try {
      for (;;) writeSync(reader, Buffer.alloc(size, 'x'))
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('EAGAIN')
    }
  }
  return writer
}

const server = (name: string) => ({ command: process.execPath, args: [SERVER], env: { NAME: name } })

// Signals of POSIX, and a system that says who takes which.
const onLinux = describe.runIf(process.platform === 'linux')

onLinux('SIGHUP', () => {
  it.each([
    ['as its first word', []],
    ['after an option', ['--no-color']],
  ])(
    'while `serve` (%s) still starts does not end it, and what changed meanwhile is read',
    async (_, before) => {
      const at = place()
      const settings = (...names: string[]) =>
        at.write('~/.plugboard/settings.json', {
          mcpServers: Object.fromEntries(names.map((name) => [name, server(name)])),
        })
      settings('one')
      const tokens = at.write('tokens', 'the-first-token-4711\n')
      const words = [
        ...before,
        'serve',
        '--http',
        '--port',
        '0',
        '--token-file',
        tokens,
        ...['one', 'two'].flatMap((name) => ['--expose', name]),
      ]
      let running: Running | undefined
      // Another process that holds the keys of the gateway keeps it from starting.
      await withFileLock(
        join(at.home, '.plugboard/state/gateway-keys.json'),
        { waitMs: 1000, staleMs: 60_000, dirMode: 0o700 },
        async () => {
          running = start(at, [...words, '--expose', 'absent'])
          // It says this after it has read the configuration and before it opens the board.
          await until(
            () => running?.stderr().includes('--expose absent matches no server') === true,
            60_000,
            () => running?.stderr() ?? '',
          )
          settings('one', 'two')
          writeFileSync(tokens, 'the-other-token-0815\n')
          running.child.kill('SIGHUP')
          await new Promise((done) => setTimeout(done, 200))
          expect(running.ended()).toBeUndefined()
          expect(running.stdout()).toBe('')
        },
      )
      if (!running) throw new Error('it was not started')
      const { stdout, stderr } = running
      await until(() => stdout().includes('Serving on'), 60_000, stderr)
      await until(() => stderr().includes('The configuration was read again.'), 60_000, stderr)
      const url = /Serving on (\S+)/.exec(stdout())?.[1] ?? ''
      await expect(legacySession(url, 'the-first-token-4711')).rejects.toThrow()
      const session = await legacySession(url, 'the-other-token-0815')
      const names = async () => (await session.request('tools/list')).text
      await until(async () => (await names()).includes('mcp__two__'), 60_000, stderr)
      expect(running.ended()).toBeUndefined()
    },
    180_000,
  )

  it('at any moment of the start leaves `serve` alive', async () => {
    const at = place()
    at.write('~/.plugboard/settings.json', { mcpServers: { one: server('one') } })
    const running = start(at, ['serve', '--http', '--port', '0', '--no-auth'])
    // Before its first line of code runs, no program can take a signal.
    await until(() => takes(running, 'SIGHUP'), 60_000)
    while (!running.stdout().includes('Serving on')) {
      running.child.kill('SIGHUP')
      await new Promise((done) => setTimeout(done, 10))
      if (running.ended() !== undefined) break
    }
    expect([running.ended(), running.stderr()]).toEqual([undefined, expect.not.stringContaining('rror')])
    await until(() => running.stderr().includes('The configuration was read again.'), 60_000)
  }, 180_000)
})

onLinux('SIGTERM while the log is not read', () => {
  it.each([
    ['over HTTP', ['--http', '--port', '0', '--no-auth']],
    ['over stdio', []],
  ])(
    'ends `serve` %s',
    async (_, args) => {
      const at = place()
      const settings = { mcpServers: { one: server('one') } }
      at.write('~/.plugboard/settings.json', settings)
      const running = start(at, ['serve', ...args], { stderr: stalledPipe(at) })
      if (args.length > 0) await until(() => running.stdout().includes('Serving on'), 60_000)
      else {
        running.child.stdin?.write(`${JSON.stringify(INITIALIZE)}\n`)
        await until(() => running.stdout().includes('"serverInfo"'), 60_000)
      }
      // Each of these is told on stderr.
      at.write('~/.plugboard/settings.json', '{')
      running.child.kill('SIGHUP')
      await new Promise((done) => setTimeout(done, 500))
      expect(running.ended()).toBeUndefined()
      running.child.kill('SIGTERM')
      await until(() => running.ended() !== undefined, 60_000)
      expect(running.ended()).toBe(0)
    },
    180_000,
  )

  it('ends `logs --follow`', async () => {
    const at = place()
    at.write('~/.plugboard/settings.json', { mcpServers: { chatty: talkative(at) } })
    await at.run('tools', 'chatty')
    const running = start(at, ['logs', 'chatty', '--follow', '--lines', '100000'])
    running.child.stdout?.once('data', () => running.child.stdout?.pause())
    await until(() => running.stdout() !== '', 60_000, running.stderr)
    // Long enough for it to reach the write that nothing reads.
    await new Promise((done) => setTimeout(done, 1000))
    expect(running.ended()).toBeUndefined()
    running.child.kill('SIGTERM')
    await until(() => running.ended() !== undefined, 60_000)
    expect(running.ended()).toBe(130)
  }, 180_000)
})

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
}

/** A server without a library: JSON-RPC by line, with `answers` as the code of an object of functions. */
function lineServer(at: Place, name: string, { before = '', answers = '' }): object {
  const file = at.write(
    `~/${name}.mjs`,
    `import { appendFileSync, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
${before}
const answers = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: { subscribe: true } }, serverInfo: { name: 'line', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 't', inputSchema: { type: 'object' } }] }),
  ping: () => ({}),
  ${answers}
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  if (!answers[method]) return send({ id, error: { code: -32601, message: 'Method not found' } })
  send({ id, result: answers[method](params) })
})`,
  )
  return { command: process.execPath, args: [file] }
}

/** Writes more to its log than a pipe holds. */
const talkative = (at: Place) =>
  lineServer(at, 'chatty', { before: "for (let i = 0; i < 5000; i++) console.error('x'.repeat(100))" })

describe('`watch`', () => {
  it('subscribes again after its server died and came back, also when it could not start at first', async () => {
    const at = place()
    const [starts, down] = [join(at.home, 'starts'), join(at.home, 'down')]
    // It announces a change to whoever subscribes, once, and to no other client.
    const entry = lineServer(at, 'clock', {
      before: `appendFileSync(${JSON.stringify(starts)}, process.pid + '\\n')
if (existsSync(${JSON.stringify(down)})) process.exit(1)`,
      answers: `'resources/list': () => ({ resources: [{ uri: 'clock:now', name: 'clock' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'process ' + process.pid }] }),
  'resources/subscribe': ({ uri }) => {
    setTimeout(() => send({ method: 'notifications/resources/updated', params: { uri } }), 50)
    return {}
  },`,
    })
    at.write('~/.plugboard/settings.json', {
      mcpServers: { clock: { ...entry, reconnect: { delayMs: 100 } } },
    })
    const running = start(at, ['watch', 'clock', 'clock:now', '--read', '--json'])
    const told = () =>
      running
        .stdout()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).contents[0].text as string)
    const pids = () => readFileSync(starts, 'utf8').trim().split('\n').map(Number)
    const why = () => `${running.stdout()}\n${running.stderr()}`
    await until(() => told().length === 1, 60_000, why)
    // A crash that the next start mends.
    process.kill(pids().at(-1) ?? 0, 'SIGKILL')
    await until(() => told().length === 2, 60_000, why)
    // A crash after which it cannot start for a while.
    writeFileSync(down, '')
    const before = pids()
    process.kill(before.at(-1) ?? 0, 'SIGKILL')
    await until(() => pids().length > before.length, 60_000, why)
    expect(told()).toHaveLength(2)
    rmSync(down)
    await until(() => told().length === 3, 60_000, why)
    expect(new Set(told()).size).toBe(3)
    expect(told().at(-1)).toBe(`process ${pids().at(-1)}`)
    expect(running.ended()).toBeUndefined()
    running.child.kill('SIGTERM')
    await until(() => running.ended() !== undefined, 60_000)
    expect(running.ended()).toBe(130)
  }, 180_000)
})
