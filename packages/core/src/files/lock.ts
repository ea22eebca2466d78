// lock.ts: one holder at a time, across processes, for whatever `path` names. A dead holder is noticed at once (its
// pid is gone) or, on another machine or after pid reuse, when its heartbeat stops.
import { lstat, mkdir, open, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { Cancelled, IoError, Timeout } from '../errors.ts'
import { isObject } from '../json.ts'
import { readTextFile } from './read.ts'
import { isRunning } from './running.ts'
import { uniqueName } from './unique-name.ts'

export interface LockOptions {
  /** How long to wait for the lock before giving up. */
  readonly waitMs: number
  /** A lock whose heartbeat is older than this is abandoned. */
  readonly staleMs: number
  readonly signal?: AbortSignal | undefined
  /** Mode for folders that have to be created. */
  readonly dirMode?: number
}

export interface FileLock {
  /** False when another process took the lock, because this one slept past the heartbeat. Check before you commit. */
  stillHeld(): Promise<boolean>
}

/** Breaking takes a few file operations; a breaker older than this died in the middle. */
const BREAKER_STALE_MS = 2000

/** A lock file holds a pid, a host name and a token. */
const OWNER_BYTES = 4096

interface Owner {
  readonly pid: number
  readonly host: string
  readonly token: string
}

export async function withFileLock<T>(
  path: string,
  options: LockOptions,
  work: (lock: FileLock) => Promise<T>,
): Promise<T> {
  const file = `${path}.lock`
  const owner: Owner = { pid: process.pid, host: hostname(), token: uniqueName() }
  await acquire(file, owner, options)
  const heartbeat = setInterval(() => {
    const now = new Date()
    // A heartbeat that fails means the lock is gone; stillHeld() reports it.
    utimes(file, now, now).catch(() => undefined)
  }, options.staleMs / 4)
  heartbeat.unref()
  try {
    return await work({ stillHeld: async () => (await readOwner(file))?.token === owner.token })
  } finally {
    clearInterval(heartbeat)
    if ((await readOwner(file))?.token === owner.token) await unlink(file).catch(() => undefined)
  }
}

async function acquire(file: string, owner: Owner, options: LockOptions): Promise<void> {
  const deadline = Date.now() + options.waitMs
  for (let attempt = 0; ; attempt++) {
    if (options.signal?.aborted) throw new Cancelled('Waiting for a lock was cancelled.')
    if (await create(file, owner, options.dirMode)) return
    await assertLockFile(file)
    const late = Date.now() - deadline
    // An abandoned lock is taken however little time there is, unless it cannot be removed.
    if (late < 2 * BREAKER_STALE_MS && (await isAbandoned(file, options.staleMs)))
      await breakLock(file, options.staleMs)
    else if (late >= 0) {
      const holder = await readOwner(file)
      throw new Timeout(
        `${file} is held by ${holder ? `process ${holder.pid} on ${holder.host}` : 'another process'}.`,
        {
          hint: 'Wait for that process to finish; if there is none, delete the lock file.',
        },
      )
    } else await pause(Math.min(4 + attempt * 2, 25) * (0.5 + Math.random()))
  }
}

/** A clone can bring something in the place of the lock that no process of ours has made and that cannot be removed. */
async function assertLockFile(file: string): Promise<void> {
  const info = await lstat(file).catch(() => undefined)
  if (!info || info.isFile()) return
  const what = info.isDirectory() ? 'a folder' : info.isSymbolicLink() ? 'a link' : 'no regular file'
  throw new IoError(`${file}, where a lock belongs, is ${what}.`, {
    hint: 'Look at it and remove it; the lock is made again.',
  })
}

async function create(file: string, owner: Owner, dirMode: number | undefined): Promise<boolean> {
  try {
    const handle = await open(file, 'wx', 0o600).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(file), { recursive: true, ...(dirMode !== undefined && { mode: dirMode }) })
      return open(file, 'wx', 0o600)
    })
    try {
      await handle.writeFile(JSON.stringify(owner))
    } catch (error) {
      // Ours and empty: no other process could tell its owner.
      await unlink(file).catch(() => undefined)
      throw error
    } finally {
      await handle.close()
    }
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    throw new IoError(`The lock ${file} could not be made (${code}).`, {
      hint: `Check that you may write to ${dirname(file)} and that the disk is not full.`,
      cause: error,
    })
  }
}

async function isAbandoned(file: string, staleMs: number): Promise<boolean> {
  const info = await lstat(file).catch(() => undefined)
  if (!info) return false
  if (Date.now() - info.mtimeMs > staleMs) return true
  const owner = await readOwner(file)
  // A lock file is empty for the moment between its creation and its first write.
  if (!owner) return Date.now() - info.mtimeMs > 2000
  return owner.host === hostname() && !isRunning(owner.pid)
}

/**
 * Removes an abandoned lock. Two waiters may see the same abandoned lock, and the slower one must not remove the lock
 * that the faster one has taken since: so only the holder of a second, short-lived file may remove, after checking
 * again.
 */
async function breakLock(file: string, staleMs: number): Promise<void> {
  const breaker = `${file}.break`
  const handle = await open(breaker, 'wx', 0o600).catch(() => undefined)
  if (!handle) {
    const info = await lstat(breaker).catch(() => undefined)
    if (info && Date.now() - info.mtimeMs > BREAKER_STALE_MS) await unlink(breaker).catch(() => undefined)
    await pause(5)
    return
  }
  try {
    if (await isAbandoned(file, staleMs)) await unlink(file).catch(() => undefined)
  } finally {
    await handle.close()
    await unlink(breaker).catch(() => undefined)
  }
}

async function readOwner(file: string): Promise<Owner | undefined> {
  const outcome = await readTextFile(file, OWNER_BYTES)
  if (outcome.kind !== 'text') return undefined
  try {
    const owner: unknown = JSON.parse(outcome.text)
    return isOwner(owner) ? owner : undefined
  } catch {
    // Missing, or not written yet: no owner for now.
    return undefined
  }
}

function isOwner(value: unknown): value is Owner {
  return (
    isObject(value) &&
    Number.isInteger(value['pid']) &&
    typeof value['host'] === 'string' &&
    typeof value['token'] === 'string'
  )
}

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))
