// host.ts: the outside world as one object, so that tests are exact and two boards share nothing. Everything the
// library reads from its environment (time, randomness, variables, network, processes) enters here.
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, parse } from 'node:path'
import { lazyModule } from './lazy.ts'

/** The outside world as one object: environment, clock, network, processes. Tests replace parts of it. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** The user's home folder. */
  readonly home: string
  /** Hosts with the same owner, as in a process with many boards, share what guards their children. */
  readonly owner?: object
  /** Milliseconds since the epoch. */
  now(): number
  /** A number in [0, 1). */
  random(): number
  /**
   * Calls back once after `ms`; the returned function cancels it. For a wait that a caller awaits: it keeps the
   * process alive.
   */
  awaitedTimer(ms: number, callback: () => void): () => void
  /** The same for housekeeping that no caller awaits (heartbeats, idle checks): it never keeps the process alive. */
  backgroundTimer(ms: number, callback: () => void): () => void
  readonly fetch: typeof fetch
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess
}

/**
 * The real environment of this process, with any part replaced.
 *
 * @example
 * const host = systemHost({ env: { ...process.env, MCP_TIMEOUT: '5000' } })
 * console.log(host.env['MCP_TIMEOUT']) // 5000
 */
export function systemHost(overrides: Partial<Host> = {}): Host {
  const env = overrides.env ?? process.env
  return {
    env,
    platform: process.platform,
    home: homeOf(env),
    now: Date.now,
    random: Math.random,
    awaitedTimer: (ms, callback) => {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
    backgroundTimer: (ms, callback) => {
      const timer = setTimeout(callback, ms)
      timer.unref()
      return () => clearTimeout(timer)
    },
    fetch: (input, init) => fetch(input, init),
    spawn: (command, args, options) => lazyModule('node:child_process').spawn(command, args, options),
    ...overrides,
  }
}

/**
 * An empty or relative HOME would make the current folder, and so any clone, the user's own. Then the account's home
 * folder counts, as the system knows it.
 */
function homeOf(env: Host['env']): string {
  const said = env['HOME'] || homedir()
  if (isAbsolute(said)) return said
  try {
    const { homedir: known } = userInfo()
    if (isAbsolute(known)) return known
  } catch {
    // An account that the system does not know has no home folder.
  }
  return parse(process.cwd()).root
}
