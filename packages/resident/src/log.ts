// log.ts: what the resident process writes about itself: one file, bounded, in its own folder. A log that cannot be
// written never stops the process.
import { appendFileSync, renameSync, statSync } from 'node:fs'
import { RESIDENT_LIMITS } from './limits.ts'

export type Log = (text: string) => void

export function openLog(file: string): Log {
  let bytes = sizeOf(file)
  return (text) => {
    const line = `${new Date().toISOString()} ${text.replaceAll('\n', '\\n')}\n`
    try {
      if (bytes > RESIDENT_LIMITS.logBytes) {
        renameSync(file, `${file}.1`)
        bytes = 0
      }
      appendFileSync(file, line, { mode: 0o600 })
      bytes += Buffer.byteLength(line)
    } catch {
      // A full or read-only disk: the process goes on without its log.
    }
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
