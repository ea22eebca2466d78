// index/durable.ts: replaces a file in one step: written whole beside it, flushed to the disk, renamed over it.
import { closeSync, fsyncSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'

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
      // It was never made; the first error is the one to tell.
    }
    throw error
  }
}
