// place.mjs: where a server under test lives: a throw-away home and folder, and, for servers that are reached over the
// network, the running process behind a free port. It neither sees nor changes anything of the user's.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findBrowser } from '../../scripts/ensure-browser.mjs'
import { freePort } from '../support/free-port.mjs'

const SERVE_MS = 45_000
const POLL_MS = 50
const STOP_MS = 2000
const PATHS = { http: '/mcp', sse: '/sse', ws: '/message' }
/** The part of our own environment that any program needs. */
const NEEDED = ['PATH', 'LANG', 'SystemRoot', 'ComSpec', 'PATHEXT']

export function makePlace(server) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-compat-')))
  const home = join(folder, 'home')
  const work = join(folder, 'work')
  mkdirSync(home)
  mkdirSync(work)
  mkdirSync(join(folder, 'tmp'))
  for (const [name, text] of Object.entries(server.files ?? {})) writeFileSync(join(work, name), text)
  const env = { HOME: home, USERPROFILE: home, TMPDIR: join(folder, 'tmp') }
  for (const name of NEEDED) if (process.env[name] !== undefined) env[name] = process.env[name]
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  return { home, work, env, remove }
}

/** The entry that a user would write for this server, after starting it where it has to run by itself. */
export async function launch(server, place, { command, args: before = [], inner, env: mark }) {
  const port = server.over ? await freePort() : undefined
  const facts = { ...place, port, inner, browser: findBrowser() }
  const filled = (value = []) => (typeof value === 'function' ? value(facts) : value)
  const args = [...before, ...filled(server.args)]
  const env = { ...filled(server.env ?? {}), ...mark }
  if (!server.over)
    return {
      entry: { type: 'stdio', command, args, env, cwd: place.work },
      stop: async () => undefined,
    }
  const child = spawn(command, args, {
    cwd: place.work,
    env: { ...place.env, ...env },
    stdio: 'ignore',
    detached: process.platform !== 'win32',
  })
  const gone = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  const stop = async () => {
    signalGroup(child)
    await Promise.race([gone, sleep(STOP_MS, undefined, { ref: false })])
  }
  try {
    await answers(port, child)
  } catch (error) {
    await stop()
    throw error
  }
  const scheme = server.over === 'ws' ? 'ws' : 'http'
  const url = `${scheme}://localhost:${port}${server.path ?? PATHS[server.over]}`
  return { entry: { type: server.over, url }, stop }
}

function signalGroup(child) {
  try {
    if (process.platform === 'win32') child.kill()
    else process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended by itself, or never started.
  }
}

async function answers(port, child) {
  for (let waited = 0; waited < SERVE_MS; waited += POLL_MS) {
    if (child.exitCode !== null || child.pid === undefined)
      throw new Error(`it ended with code ${child.exitCode} before it served`)
    const status = await fetch(`http://localhost:${port}/`, { signal: AbortSignal.timeout(STOP_MS) }).then(
      (response) => response.body?.cancel().then(() => response.status),
      () => undefined,
    )
    if (status !== undefined) return
    await sleep(POLL_MS)
  }
  throw new Error(`nothing answered on its port within ${SERVE_MS} ms`)
}
