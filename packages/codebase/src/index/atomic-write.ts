// index/atomic-write.ts: makes folders, and writes a file in one step: to a temporary file beside it, flushed to the disk, renamed.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errno } from '../errors.ts'

/**
 * Makes a folder and its parents, each tried once. Node's own recursive mkdir loops without end on "no such folder",
 * where the system reports that for a folder it refuses to make, as under /proc.
 */
export function makeFolder(path: string): void {
  const missing: string[] = []
  for (let at = path; !existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.push(at)
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: 0o700 })
    } catch (error) {
      // Another process may have made it first.
      if (errno(error) !== 'EEXIST') throw error
    }
  }
}

export function replaceFile(path: string, data: string | Uint8Array): void {
  const draft = `${path}.${process.pid}.draft`
  try {
    const fd = openSync(draft, 'w', 0o600)
    try {
      writeFileSync(fd, data)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(draft, path)
  } catch (error) {
    try {
      unlinkSync(draft)
    } catch {
      // It was never made; the first error is the one to report.
    }
    throw error
  }
}

/** The same asynchronously, for large files. */
export async function writeWhole(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const draft = `${path}.draft`
  let file: FileHandle | undefined
  try {
    file = await open(draft, 'w', 0o600)
    let rest = parts.filter((part) => part.byteLength > 0)
    while (rest.length > 0) rest = without(rest, (await file.writev(rest)).bytesWritten)
    await file.datasync()
    await file.close()
    file = undefined
    await rename(draft, path)
  } catch (error) {
    await file?.close().catch(() => undefined)
    // It may never have been made; the first error is the one to report.
    await unlink(draft).catch(() => undefined)
    throw error
  }
}

function without(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let left = bytes
  const rest = [...parts]
  while (rest.length > 0 && left >= (rest[0]?.byteLength ?? 0)) left -= rest.shift()?.byteLength ?? 0
  const first = rest[0]
  return first && left > 0 ? [first.subarray(left), ...rest.slice(1)] : rest
}
