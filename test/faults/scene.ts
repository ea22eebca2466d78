// scene.ts: one fault on one transport, run through the public board API beside two healthy servers, with everything
// checked that must always hold: the others answer, closing is bounded, nothing is left behind.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ConfiguredServer,
  isPlugboardError,
  type LocalBoard,
  openBoard,
  type ServerEntry,
  type ServerSnapshot,
  systemHost,
} from '@plugboard/core'
import { authFor, memoryVault } from '@plugboard/core/auth'
import { counted, retimed } from '../../packages/core/src/fixtures/timers.ts'
import { type Fault, forKind, type Kind, type Login, type Outcome, type Up, type Wanted } from './fault.ts'
import { handles, isRunning, listeners, until, withinMs } from './kit.ts'
import type { Lab, RemotePeer } from './lab.ts'
import { inside } from './neighbours.ts'

const BOUNDS = {
  connectMs: 4000,
  callMs: 1000,
  readyMs: 12_000,
  sceneMs: 30_000,
  closeMs: 3000,
  goneMs: 2000,
}
const NEIGHBOUR_MS = 5000
/** What a call may take beyond its own time, for a reconnect and a slow machine. */
const SLACK_MS = 5000
const MIB = 1024 * 1024

export interface Stage {
  readonly root: string
  readonly lab: Lab
  /** A healthy server of the lab, shared by all scenes. */
  readonly beside: RemotePeer
}

export interface Verdict {
  readonly fault: Fault
  readonly kind: Kind
  readonly login: Login
  readonly problems: readonly string[]
  readonly ms: number
  readonly closeMs: number
  readonly peakMiB: number
}

/** What a fault's own check can look at. */
export interface Scene {
  readonly kind: Kind
  readonly board: LocalBoard
  readonly peer: RemotePeer | undefined
  readonly dir: string
  server(): ServerSnapshot
  call(tool: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<Outcome>
  text(tool: string, args?: Record<string, unknown>): Promise<string>
  /** The lines the peer wrote: `seen` methods, tools it `ran`, `pids` of its processes. */
  noted(file: 'seen' | 'ran' | 'pids'): string[]
  check(holds: boolean, otherwise: string): void
}

export async function play(fault: Fault, kind: Kind, login: Login, stage: Stage): Promise<Verdict> {
  const began = Date.now()
  const problems: string[] = []
  const dir = mkdtempSync(join(tmpdir(), 'plugboard-fault-'))
  const stray = (error: unknown) => problems.push(`unhandled: ${String(error)}`)
  process.on('unhandledRejection', stray)
  process.on('uncaughtException', stray)
  const before = { handles: handles(), listeners: listeners() }
  const memory = watchMemory()
  const timers = new Set<object>()
  const peer =
    kind === 'stdio'
      ? undefined
      : await stage.lab.open(kind, fault.behaviour ?? 'good', dir, stage.beside.url)
  let closeMs = 0
  try {
    const board = await openOn(
      fault,
      entryFor(fault, kind, login, stage, dir, peer),
      login,
      stage,
      dir,
      timers,
    )
    const scene = sceneOn(board, kind, peer, dir, problems)
    const neighbours = keepCalling(board, problems)
    await withinMs(BOUNDS.sceneMs, 'the scene', act(fault, scene)).catch((error: unknown) =>
      problems.push(String(error instanceof Error ? error.message : error)),
    )
    await neighbours.stop()
    const closing = Date.now()
    await withinMs(BOUNDS.closeMs, 'board.close()', board.close()).catch((error: unknown) =>
      problems.push(String(error)),
    )
    closeMs = Date.now() - closing
    await nothingLeft(scene, timers, before, problems)
  } finally {
    await peer?.close()
    process.off('unhandledRejection', stray)
    process.off('uncaughtException', stray)
    try {
      rmSync(dir, { recursive: true, force: true })
    } catch (error) {
      problems.push(`its folder was written after the board was closed: ${String(error)}`)
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    }
  }
  const peakMiB = memory.stop()
  const bound = fault.peakMiB ?? 200
  if (peakMiB > bound) problems.push(`memory grew by ${peakMiB} MiB, more than ${bound}`)
  return { fault, kind, login, problems, ms: Date.now() - began, closeMs, peakMiB }
}

function entryFor(
  fault: Fault,
  kind: Kind,
  login: Login,
  { root }: Stage,
  dir: string,
  peer: RemotePeer | undefined,
): ServerEntry {
  const common = {
    timeout: fault.timeoutMs ?? BOUNDS.callMs,
    reconnect: { maxAttempts: fault.reconnects ?? 3, delayMs: 20 },
  }
  if (kind === 'stdio') {
    const args = [join(root, 'test/faults/peers/stdio.mjs'), fault.behaviour ?? 'good', dir]
    return { ...common, type: 'stdio', command: process.execPath, args, env: { FAULT_DIR: dir } }
  }
  // An Authorization header of the entry's own would bypass the provider.
  const header = login === 'provider' ? 'x-api-key' : 'authorization'
  return { ...common, type: kind, url: peer?.url ?? '', headers: { [header]: 'Bearer s3cret-of-odd' } }
}

const named = (name: string, entry: ServerEntry): ConfiguredServer => ({
  name,
  scope: 'dynamic',
  source: 'faults',
  entry,
  signature: JSON.stringify(entry),
})

function openOn(
  fault: Fault,
  entry: ServerEntry,
  login: Login,
  stage: Stage,
  dir: string,
  timers: Set<object>,
): Promise<LocalBoard> {
  const real = systemHost()
  const quicker = fault.quicker ?? 1
  const born = real.now()
  const host = {
    ...counted(
      retimed(real, (ms) => ms / quicker),
      timers,
    ),
    now: () => born + (real.now() - born) * quicker,
  }
  const beside = { type: 'http', url: stage.beside.url, headers: {} } as const
  const stateDir = join(dir, 'state')
  const context = { host, stateDir, vault: memoryVault() }
  return openBoard({
    host,
    stateDir,
    ...(login === 'provider' && { auth: (server: ConfiguredServer) => authFor(server, context) }),
    caller: 'user',
    timeoutMs: (fault.connectMs ?? BOUNDS.connectMs) * quicker,
    servers: [named('odd', entry), named('beside', beside)],
    inProcess: { inside },
  })
}

function sceneOn(
  board: LocalBoard,
  kind: Kind,
  peer: RemotePeer | undefined,
  dir: string,
  problems: string[],
): Scene {
  const server = () => {
    const found = board.servers().find(({ name }) => name === 'odd')
    if (!found) throw new Error('the server is not on the board any more')
    return found
  }
  return {
    kind,
    board,
    peer,
    dir,
    server,
    call: (tool, args, signal) =>
      outcomeOf(board.call(`odd.${tool}`, args ?? {}, signal ? { signal } : {}), problems),
    text: async (tool, args = {}) => {
      const { content } = await board.call(`odd.${tool}`, args)
      return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    },
    noted: (file) => {
      const path = join(dir, file)
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
    },
    check: (holds, otherwise) => {
      if (!holds) problems.push(otherwise)
    },
  }
}

async function outcomeOf(
  call: Promise<{ readonly isError?: boolean }>,
  problems: string[],
): Promise<Outcome> {
  try {
    return (await call).isError ? 'tool-error' : 'ok'
  } catch (error) {
    if (isPlugboardError(error)) {
      if (error.message.includes('s3cret-of-odd')) problems.push('a header value is in an error message')
      if (error.message.length > 100_000)
        problems.push(`an error message of ${error.message.length} characters`)
      return error.code
    }
    problems.push(`an error that is not of the family: ${String(error)}`)
    return 'ok'
  }
}

async function act(fault: Fault, scene: Scene): Promise<void> {
  const { board, kind, peer, check } = scene
  if (fault.lineFirst) await peer?.line(fault.lineFirst)
  await withinMs(BOUNDS.readyMs, 'board.ready()', board.ready())
  const up: Up = forKind(fault.up, kind) ?? 'connected'
  checkUp(up, scene)
  if (fault.line) await peer?.line(fault.line)
  const limit = 2 * (fault.timeoutMs ?? BOUNDS.callMs) + SLACK_MS
  const expect = (what: string, got: Outcome, wanted: Wanted) =>
    check([wanted].flat().includes(got), `${what} ended with ${got}, not ${[wanted].flat().join(' or ')}`)
  const call = forKind(fault.call, kind)
  const timed = async (tool: string, args?: Record<string, unknown>) => {
    const from = Date.now()
    const outcome = await scene.call(tool, args)
    const ms = Date.now() - from
    check(ms <= limit, `a call took ${ms} ms, longer than ${limit}`)
    return outcome
  }
  if (call !== undefined) expect('the call', await timed('odd'), call)
  const write = forKind(fault.write, kind)
  if (write !== undefined) {
    const ranBefore = scene.noted('ran').filter((line) => line === 'odd-write').length
    expect('the write', await timed('odd-write'), write)
    const ran = scene.noted('ran').filter((line) => line === 'odd-write').length - ranBefore
    check(ran <= 1, `a tool that may not be repeated ran ${ran} times`)
  }
  if (fault.also) await fault.also[1](scene)
  if (up !== 'connected') return
  if (fault.line) await peer?.line({ mode: 'good' })
  expect('a call afterwards', await timed('echo', { still: 'here' }), forKind(fault.after, kind) ?? 'ok')
}

function checkUp(up: Up, { server, check }: Scene): void {
  const { state, error, stage } = server()
  if (up === 'connected') {
    check(state === 'connected', `${state} at ${stage}: ${error?.code} ${error?.message.slice(0, 300)}`)
    return
  }
  check(state === up.state, `its state is ${state}, not ${up.state}`)
  const codes: readonly string[] = [up.code].flat()
  check(codes.includes(error?.code ?? ''), `its error is ${error?.code}, not ${codes.join(' or ')}`)
  if (up.stage) check(stage === up.stage, `its stage is ${stage}, not ${up.stage}`)
  check((error?.message.length ?? 0) < 100_000, 'its error message is without bound')
  check(!error?.message.includes('s3cret-of-odd'), 'a header value is in its error message')
}

/** Calls the two healthy servers all the while; each response must arrive and be its own. */
function keepCalling(board: LocalBoard, problems: string[]): { stop(): Promise<void> } {
  let over = false
  let count = 0
  const one = async (server: string) => {
    while (!over) {
      const nonce = `${server}-${++count}`
      try {
        const result = await withinMs(
          NEIGHBOUR_MS,
          `an answer of ${server}`,
          board.call(`${server}.echo`, { nonce }),
        )
        if (!JSON.stringify(result.content).includes(nonce)) problems.push(`${server} gave another's answer`)
      } catch (error) {
        problems.push(`a healthy server failed: ${String(error)}`)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
  }
  const loops = Promise.all([one('inside'), one('beside')])
  return {
    stop: async () => {
      over = true
      await loops
    },
  }
}

async function nothingLeft(
  scene: Scene,
  timers: ReadonlySet<object>,
  before: { readonly handles: number; readonly listeners: number },
  problems: string[],
): Promise<void> {
  const soon = (what: string, check: () => boolean | Promise<boolean>) =>
    until(what, check, BOUNDS.goneMs).catch((error: unknown) => problems.push(String(error)))
  const running = () =>
    scene
      .noted('pids')
      .map(Number)
      .filter((pid) => isRunning(pid, scene.dir))
  await soon('no process is left', () => running().length === 0)
  await soon('no timer is pending', () => timers.size === 0)
  await soon('no socket is open', async () => ((await scene.peer?.sockets()) ?? 0) === 0)
  await soon('no handle is open', () => handles() <= before.handles)
  await soon('no listener is left on the process', () => listeners() <= before.listeners)
  for (const pid of running()) process.kill(pid, 'SIGKILL')
}

/** The peak of what the process holds above what it held at the start, sampled often. */
function watchMemory(): { stop(): number } {
  globalThis.gc?.()
  const start = process.memoryUsage.rss()
  let peak = start
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 50).unref()
  return {
    stop: () => {
      look()
      clearInterval(timer)
      return Math.round((peak - start) / MIB)
    },
  }
}
