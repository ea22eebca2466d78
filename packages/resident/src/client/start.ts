// start.ts: starts the resident process, detached, for the first command that can use it. However many commands start at
// once, one of them starts it and the others wait.
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { withFileLock } from '@plugboard/core/files'
import type { PeerHooks } from '../json-rpc-socket.ts'
import { RESIDENT_LIMITS } from '../limits.ts'
import { NODE_VARIABLES } from '../protocol.ts'
import { makeFolder, type ResidentPlace } from '../socket-paths.ts'
import { type Dialed, dial } from './dial.ts'

export interface StartOptions {
  readonly place: ResidentPlace
  readonly version: string
  /** The program and its arguments that run the resident process in the foreground. */
  readonly command: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What the process itself needs; the variables of a terminal come with each command. */
const OWN_VARIABLES = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'TZ',
  'XDG_RUNTIME_DIR',
  'DBUS_SESSION_BUS_ADDRESS',
  'PLUGBOARD_HOME',
  'PLUGBOARD_STATE_DIR',
  'PLUGBOARD_MANAGED_DIR',
  'SYSTEMROOT',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  ...NODE_VARIABLES,
]

/** A connection to the process, which is started if none runs. */
export async function startAndDial(options: StartOptions, hooks: PeerHooks): Promise<Dialed> {
  const { place, version } = options
  try {
    makeFolder(place)
    const lock = { waitMs: RESIDENT_LIMITS.startMs, staleMs: RESIDENT_LIMITS.startMs }
    return await withFileLock(place.starting, lock, async () => {
      const running = await dial(place, version, hooks)
      if (running.kind === 'connected' || running.kind === 'unusable') return running
      return await dialUntil(options, hooks, spawnResident(options))
    })
  } catch (error) {
    return { kind: 'unusable', why: error instanceof Error ? error.message : String(error) }
  }
}

interface Spawned {
  /** Why there will be no process; undefined while there may be one. */
  fault(): string | undefined
}

function spawnResident({ place, command: [program, ...args], env }: StartOptions): Spawned {
  let fault: string | undefined
  const log = openSync(place.log, 'a', 0o600)
  const kept = OWN_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))
  const child = spawn(program, args, {
    cwd: place.folder,
    env: Object.fromEntries(kept),
    stdio: ['ignore', log, log],
    // Ctrl-C and the end of this terminal do not reach it.
    detached: true,
    windowsHide: true,
  })
  closeSync(log)
  child.on('error', ({ message }) => {
    fault = `it could not be started: ${message}`
  })
  // Code 0: another process was faster, and answers.
  child.on('exit', (code, signal) => {
    if (code !== 0) fault = `it ended with ${signal ?? `code ${code}`}; ${place.log} may say why`
  })
  child.unref()
  return { fault: () => fault }
}

async function dialUntil(
  { place, version }: StartOptions,
  hooks: PeerHooks,
  spawned: Spawned,
): Promise<Dialed> {
  for (const until = Date.now() + RESIDENT_LIMITS.startMs; ; ) {
    const dialed = await dial(place, version, hooks)
    if (dialed.kind === 'connected') return dialed
    const why = spawned.fault()
    if (why !== undefined) return { kind: 'unusable', why }
    if (Date.now() > until)
      return {
        kind: 'unusable',
        why: `it did not start within ${RESIDENT_LIMITS.startMs} ms; ${place.log} may say why`,
      }
    await new Promise((done) => setTimeout(done, RESIDENT_LIMITS.dialAgainMs))
  }
}
