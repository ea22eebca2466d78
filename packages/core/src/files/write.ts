// write.ts: replaces a file in one step, so that a reader sees the old text or the new one and never half of it.
import { chmod, constants, lstat, mkdir, open, readlink, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { uniqueName } from './unique-name.ts'

const MAX_LINKS = 16
/** Windows refuses to rename over a file that another process has open for a moment. */
const RENAME_TRIES = 10

export interface WriteOptions {
  /** For a new file; an existing one keeps its own mode unless `forceMode`. */
  readonly mode?: number
  readonly forceMode?: boolean
  /** For folders that have to be created. */
  readonly dirMode?: number
  /** Neither the file nor its folder may be a symbolic link: a link that appears meanwhile fails with ELOOP. */
  readonly noFollow?: boolean
}

/** Follows symbolic links, so that a linked settings file stays a link; the target need not exist yet. */
export async function realTarget(path: string): Promise<string> {
  let current = resolve(path)
  for (let hop = 0; hop < MAX_LINKS; hop++) {
    const info = await lstat(current).catch(() => undefined)
    if (!info?.isSymbolicLink()) return current
    current = resolve(dirname(current), await readlink(current))
  }
  throw Object.assign(new Error(`ELOOP: too many symbolic links, '${path}'`), { code: 'ELOOP', path })
}

export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  const target = options.noFollow ? resolve(path) : await realTarget(path)
  const folder = dirname(target)
  await mkdir(folder, { recursive: true, ...(options.dirMode !== undefined && { mode: options.dirMode }) })
  if (!options.noFollow) return replaceIn(folder, basename(target), data, options)
  await inRealFolder(folder, (held) => replaceIn(held, basename(target), data, options))
}

/**
 * Works in a folder that is not a link, and keeps using that folder even if a link replaces it: on Linux it is
 * reached through its descriptor.
 */
async function inRealFolder(folder: string, work: (held: string) => Promise<void>): Promise<void> {
  if (process.platform === 'win32') {
    if ((await lstat(folder)).isSymbolicLink()) throw linked(folder)
    return work(folder)
  }
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      // Linux reports ENOTDIR for a link to a folder.
      throw error.code === 'ENOTDIR' ? linked(folder) : error
    },
  )
  try {
    const held = `/proc/self/fd/${handle.fd}`
    const usable = process.platform === 'linux' && (await stat(held).catch(() => undefined))?.isDirectory()
    await work(usable ? held : folder)
  } finally {
    await handle.close()
  }
}

function linked(path: string): Error {
  return Object.assign(new Error(`ELOOP: a symbolic link, '${path}'`), { code: 'ELOOP', path })
}

async function replaceIn(
  folder: string,
  name: string,
  data: string | Uint8Array,
  options: WriteOptions,
): Promise<void> {
  const target = join(folder, name)
  const existing = await lstat(target).catch(() => undefined)
  if (existing?.isSymbolicLink()) throw linked(target)
  const mode = options.forceMode || !existing ? (options.mode ?? 0o644) : existing.mode & 0o7777
  const draft = join(folder, `.${name}.${uniqueName()}.tmp`)
  try {
    const file = await open(draft, 'wx', mode)
    try {
      await file.writeFile(data)
      await file.sync()
    } finally {
      await file.close()
    }
    // The umask may have removed bits that the existing file had.
    if (existing || options.forceMode) await chmod(draft, mode)
    await renameOver(draft, target)
  } catch (error) {
    await unlink(draft).catch(() => undefined)
    throw error
  }
}

async function renameOver(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(from, to)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      const busy = process.platform === 'win32' && (code === 'EPERM' || code === 'EACCES' || code === 'EBUSY')
      if (!busy || attempt >= RENAME_TRIES) throw error
      await new Promise((done) => setTimeout(done, 10 * attempt))
    }
  }
}
