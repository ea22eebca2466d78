// write.ts: replaces a file in one step, so that a reader sees the old text or the new one and never half of it.
import { chmod, lstat, mkdir, open, readlink, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { uniqueName } from './unique.ts'

const MAX_LINKS = 16
/** Windows refuses to rename over a file that another process has open for a moment. */
const RENAME_TRIES = 10

export interface WriteOptions {
  /** For a new file; an existing one keeps its own mode unless `forceMode`. */
  readonly mode?: number
  readonly forceMode?: boolean
  /** For folders that have to be made. */
  readonly dirMode?: number
  /** The dates it has from the first moment on; now, unless given. */
  readonly times?: { readonly atime: Date; readonly mtime: Date } | undefined
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
  const target = await realTarget(path)
  const folder = dirname(target)
  await mkdir(folder, { recursive: true, ...(options.dirMode !== undefined && { mode: options.dirMode }) })
  const existing = await stat(target).catch(() => undefined)
  const mode = options.forceMode || !existing ? (options.mode ?? 0o644) : existing.mode & 0o7777
  const draft = join(folder, `.${basename(target)}.${uniqueName()}.tmp`)
  try {
    const file = await open(draft, 'wx', mode)
    try {
      await file.writeFile(data)
      if (options.times) await file.utimes(options.times.atime, options.times.mtime)
      await file.sync()
    } finally {
      await file.close()
    }
    // The umask may have taken bits away that the existing file had.
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
