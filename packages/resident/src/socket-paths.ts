// socket-paths.ts: where the resident process is found: its folder, socket, token and log, and whether they can be trusted. It
// is part of every command's start, so it imports nothing heavy.
import { join } from 'node:path'
import { lazyModule } from '@plugboard/core/lazy'

export interface ResidentPlace {
  /** 0700 and the user's own. */
  readonly folder: string
  readonly socket: string
  /** A secret of the running process; only the user can read it. */
  readonly token: string
  readonly log: string
  /** Named by a lock while a process starts. */
  readonly starting: string
}

/** The path of a Unix socket is limited: 104 bytes on macOS, 108 on Linux, the final zero included. */
const SOCKET_BYTES = 100

export function residentPlace(stateDir: string, platform: NodeJS.Platform = process.platform): ResidentPlace {
  const own = join(stateDir, 'resident')
  const folder = platform === 'win32' || fits(own) ? own : shortFolder(own)
  return {
    folder,
    socket: platform === 'win32' ? `\\\\.\\pipe\\plugboard-${shortHash(own)}` : join(folder, 'board.sock'),
    token: join(folder, 'token'),
    log: join(folder, 'resident.log'),
    starting: join(folder, 'starting'),
  }
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, 'board.sock')) <= SOCKET_BYTES
}

/** A fixed place, whatever TMPDIR is: every terminal has to find the same one. */
function shortFolder(own: string): string {
  return `/tmp/plugboard-${process.getuid?.() ?? 0}-${shortHash(own)}`
}

function shortHash(text: string): string {
  return lazyModule('node:crypto').createHash('sha256').update(text).digest('hex').slice(0, 12)
}

/** Why the folder, or what is in it, is not to be used; undefined when it is sound. */
export function placeFault({ folder, socket, token }: ResidentPlace): 'missing' | string | undefined {
  if (process.platform === 'win32') return undefined
  const own = process.getuid?.()
  for (const path of [folder, socket, token]) {
    const info = infoOf(path)
    if (!info) return 'missing'
    if (own !== undefined && info.uid !== own) return `${path} belongs to another user`
    const isRight = path === folder ? info.isDirectory() : path === socket ? info.isSocket() : info.isFile()
    if (!isRight) return `${path} is not what it should be`
    if (path !== socket && (info.mode & 0o077) !== 0) return `${path} can be used by other users`
  }
  return undefined
}

/** Undefined when it is not there, or below something that is no folder. */
function infoOf(path: string) {
  try {
    return lazyModule('node:fs').lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Makes the folder, or throws with the reason why it cannot be used. */
export function makeFolder({ folder }: ResidentPlace): void {
  const { mkdirSync, lstatSync, chmodSync } = lazyModule('node:fs')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (process.platform === 'win32') return
  const info = lstatSync(folder)
  if (!info.isDirectory()) throw new Error(`${folder} is not a folder`)
  if (info.uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`)
  if ((info.mode & 0o077) !== 0) chmodSync(folder, 0o700)
}
