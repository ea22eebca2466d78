// The board as a user sees it: real servers on every transport, failing ones beside healthy ones, and no process left
// behind however the command ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBoard } from '@plugboard/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isRunning } from '../../packages/core/src/files/running.ts'
import { COMMAND, makePlace, type Place, type Ran } from '../support/cli.ts'
import { freePort } from '../support/free-port.mjs'

const fixture = (path: string) => fileURLToPath(new URL(`../../packages/core/src/${path}`, import.meta.url))
const RAW = fixture('connection/fixtures/raw.mjs')
const MODERN = fixture('connection/fixtures/modern.mjs')
const MODERN_HTTP = fixture('transports/fixtures/sdk-http.mjs')
const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
)

let place: Place
const started: ChildProcess[] = []
/** Processes that the command started; some are left only when a test has failed. */
const orphans: (() => number[])[] = []
beforeEach(() => {
  place = makePlace()
})
afterEach(async () => {
  await Promise.all(started.splice(0).map(ended))
  for (const pid of orphans.splice(0).flatMap((pids) => pids()))
    if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  place.remove()
})

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await gone
}

const configure = (mcpServers: object) =>
  place.write('~/.plugboard/settings.json', { mcpServers, disabledServers: ['codebase'] })
const node = (...args: string[]) => ({ command: process.execPath, args })
const named = (ran: Ran, name: string) =>
  ran.json.servers.find((server: { name: string }) => server.name === name)

async function until(what: string, check: () => boolean, ms = 15_000): Promise<void> {
  const end = Date.now() + ms
  while (!check()) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain until ${what}`)
    await new Promise((done) => setTimeout(done, 20))
  }
}

/** A server that never answers, ends only by SIGKILL, and has a child that does likewise. Both print their pids. */
function hangingServer() {
  const pids = join(place.project, 'pids')
  const stubborn = `for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
setInterval(() => {}, 1000)`
  const grandchild = place.write('grandchild.mjs', stubborn)
  const script = place.write(
    'hangs.mjs',
    `import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
${stubborn}
const child = spawn(process.execPath, [${JSON.stringify(grandchild)}], { stdio: 'ignore' })
setTimeout(() => appendFileSync(${JSON.stringify(pids)}, process.pid + '\\n' + child.pid + '\\n'), 300)`,
  )
  const read = () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : [])
  orphans.push(read)
  return { entry: node(script), pids: read }
}

/** The command as a process that a test can send signals to. It owns its servers: those of the resident board outlive a command. */
function start(...args: string[]) {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: place.home,
    PLUGBOARD_MANAGED_DIR: join(place.home, 'none'),
    PLUGBOARD_RESIDENT: '0',
  }
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: place.project,
    env: { ...env, MCP_TIMEOUT: '60000' },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  started.push(child)
  const exit = new Promise<{ code: number | null; signal: string | null }>((done) =>
    child.once('exit', (code, signal) => done({ code, signal })),
  )
  return { child, exit }
}

async function spawnListening(args: string[], env: Record<string, string>, ready: RegExp): Promise<string> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  return new Promise((done, fail) => {
    let said = ''
    const timer = setTimeout(() => fail(new Error(`it did not start: ${said}`)), 15_000)
    const hear = (chunk: Buffer) => {
      said += chunk
      const match = ready.exec(said)
      if (!match) return
      clearTimeout(timer)
      done(match[1] ?? '')
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
  })
}

async function everythingOver(mode: 'sse' | 'streamableHttp'): Promise<number> {
  const port = await freePort()
  await spawnListening([EVERYTHING, mode], { PORT: String(port) }, /(listening|running) on port/i)
  return port
}

describe('plugboard list', () => {
  it('shows the reference server on each of its transports, and SDK servers of 2026-07-28', async () => {
    const [http, sse, modern] = await Promise.all([
      everythingOver('streamableHttp'),
      everythingOver('sse'),
      spawnListening([MODERN_HTTP, 'modern'], {}, /port (\d+)/),
    ])
    configure({
      stdio: node(EVERYTHING),
      http: { type: 'http', url: `http://127.0.0.1:${http}/mcp` },
      sse: { type: 'sse', url: `http://127.0.0.1:${sse}/sse` },
      modern: node(MODERN),
      'modern-http': { type: 'http', url: `http://127.0.0.1:${modern}/mcp` },
    })
    const ran = await place.run('list', '--json')
    expect(ran.code).toBe(0)
    for (const name of ['stdio', 'http', 'sse']) {
      const row = named(ran, name)
      expect(row).toMatchObject({ name, type: name, state: 'connected', protocolVersion: '2025-11-25' })
      expect(row.tools).toBeGreaterThan(10)
      expect(row.resources).toBeGreaterThan(0)
      expect(row.prompts).toBeGreaterThan(0)
      expect(row.connectMs).toBeGreaterThan(0)
    }
    // A slow start on a busy machine may lead to the legacy handshake, but only the first time.
    const again = await place.run('list', '--json')
    for (const name of ['modern', 'modern-http']) {
      expect(named(ran, name)).toMatchObject({ state: 'connected' })
      expect(named(again, name)).toMatchObject({ state: 'connected', protocolVersion: '2026-07-28' })
      expect(named(again, name).tools).toBeGreaterThan(0)
    }
  })

  it('spawns exactly one process for a server that it knows', async () => {
    const count = join(place.project, 'starts')
    const wrapper = place.write(
      'wrapper.mjs',
      `import { appendFileSync } from 'node:fs'
appendFileSync(${JSON.stringify(count)}, process.pid + '\\n')
await import(${JSON.stringify(RAW)})`,
    )
    configure({ old: { ...node(wrapper), env: { FAULT: 'exit-on-probe' } } })
    const list = () => place.run('list', '--json', '--no-resident')
    expect(named(await list(), 'old').state).toBe('connected')
    const starts = () => readFileSync(count, 'utf8').trim().split('\n').length
    // This one crashes on `server/discover`, so that the first connect costs a second start.
    expect(starts()).toBe(2)
    expect(named(await list(), 'old').state).toBe('connected')
    expect(starts()).toBe(3)
  })
})

describe('failing servers beside healthy ones', () => {
  /** Never answers, and records when it starts and ends. */
  const silent = (name: string) =>
    node(
      '-e',
      `const note = (what) => require('node:fs').appendFileSync(${JSON.stringify(notes())}, what + ' ${name}\\n')
const end = () => process.exit(note('down'))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end)
process.stdin.resume().on('end', end)
note('up')`,
    )
  const notes = () => join(place.project, 'notes')
  const sickAndWell = async () => ({
    ...Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`well-${n}`, node(RAW)])),
    dead: { type: 'http', url: `http://127.0.0.1:${await freePort()}/mcp` },
    missing: { command: 'no-such-program-anywhere' },
    silent: silent('silent'),
    mute: silent('mute'),
  })

  it('cost the command one MCP_TIMEOUT at most', async () => {
    configure(await sickAndWell())
    const ran = await place.runWith({ MCP_TIMEOUT: '6000' }, 'list', '--json')
    for (let n = 0; n < 5; n++)
      expect(named(ran, `well-${n}`)).toMatchObject({ state: 'connected', tools: 6 })
    expect(named(ran, 'dead')).toMatchObject({ state: 'failed', stage: 'connect' })
    expect(named(ran, 'missing')).toMatchObject({ state: 'failed', stage: 'transport' })
    for (const name of ['silent', 'mute']) expect(named(ran, name).state).not.toBe('connected')
    // The two that fail late do not add up: the command waits for both at once.
    const order = readFileSync(notes(), 'utf8').split('\n')
    expect(order.slice(0, 2).sort()).toEqual(['up mute', 'up silent'])
  })

  it('do not keep the healthy ones from being used', async () => {
    configure(await sickAndWell())
    const { systemHost } = await import('@plugboard/core/host')
    const host = systemHost({ env: { PATH: process.env['PATH'], HOME: place.home, MCP_TIMEOUT: '60000' } })
    await using board = await openBoard({ cwd: place.project, host })
    const ready = board.ready({ timeoutMs: 60_000 })
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        board.link.request(`well-${n}`, 'tools/call', { name: 'echo', arguments: { n } }),
      ),
    )
    expect(answers.map(({ content }) => content)).toEqual(
      Array.from({ length: 5 }, (_, n) => [{ type: 'text', text: JSON.stringify({ n }) }]),
    )
    // The silent ones are still being waited for while the others have answered.
    const states = Object.fromEntries(board.servers().map(({ name, state }) => [name, state]))
    expect(states).toMatchObject({ silent: 'pending', mute: 'pending', missing: 'failed' })
    await board.close()
    await ready
  })
})

describe('the end of the command', () => {
  it('leaves no child and no grandchild behind a kill -9', async () => {
    const server = hangingServer()
    configure({ hangs: server.entry })
    const { child, exit } = start('list')
    await until('the server and its child are up', () => server.pids().length === 2)
    expect(server.pids().map(isRunning)).toEqual([true, true])
    child.kill('SIGKILL')
    expect(await exit).toEqual({ code: null, signal: 'SIGKILL' })
    await until('both are gone', () => !server.pids().some(isRunning))
  })

  it('is clean after one Ctrl-C: exit code 130, and no process left', async () => {
    const server = hangingServer()
    configure({ hangs: server.entry, well: node(RAW) })
    const { child, exit } = start('list')
    await until('the server and its child are up', () => server.pids().length === 2)
    child.kill('SIGINT')
    expect(await exit).toEqual({ code: 130, signal: null })
    await until('both are gone', () => !server.pids().some(isRunning))
  })

  it('is immediate after a second Ctrl-C', async () => {
    const server = hangingServer()
    configure({ hangs: server.entry })
    const { child, exit } = start('list')
    await until('the server and its child are up', () => server.pids().length === 2)
    child.kill('SIGINT')
    child.kill('SIGINT')
    expect(await exit).toEqual({ code: 130, signal: null })
    await until('both are gone', () => !server.pids().some(isRunning))
  })

  it('comes by itself when all is printed, although a server refuses to end', async () => {
    const server = hangingServer()
    configure({ hangs: server.entry })
    const ran = await place.runWith({ MCP_TIMEOUT: '1500' }, 'list', '--json')
    expect(named(ran, 'hangs').state).not.toBe('connected')
    expect(ran.code).toBe(0)
    await until('both are gone', () => !server.pids().some(isRunning))
  })
})

describe('plugboard logs', () => {
  it('shows show the log messages and stderr of a server, after it is gone', async () => {
    const script = place.write(
      'chatty.mjs',
      `process.stderr.write('a warning on stderr\\n')
process.stdout.write('Welcome! This is not JSON-RPC.\\n')
await import(${JSON.stringify(RAW)})`,
    )
    configure({ chatty: node(script), quiet: node(RAW) })
    expect(named(await place.run('list', '--json'), 'chatty').state).toBe('connected')
    const { lines } = (await place.run('logs', 'chatty', '--json')).json
    expect(lines).toContainEqual(expect.objectContaining({ stream: 'stderr', text: 'a warning on stderr' }))
    expect(lines).toContainEqual(
      expect.objectContaining({ stream: 'stdout', text: 'Welcome! This is not JSON-RPC.' }),
    )
    const text = (await place.run('logs', 'chatty')).stdout
    expect(text).toMatch(/stderr\s+a warning on stderr/)
    expect((await place.run('logs', 'quiet')).stderr).toContain('has written nothing')
    expect((await place.run('logs', 'nobody')).code).toBe(3)
  })

  it('holds the last stderr lines of one that failed, and list shows them', async () => {
    configure({ broken: { ...node(RAW), env: { FAULT: 'exit-at-once' } } })
    const ran = await place.run('list', '--json')
    expect(named(ran, 'broken')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('no licence found'),
    })
    expect((await place.run('logs', 'broken')).stdout).toContain('no licence found')
  })
})
