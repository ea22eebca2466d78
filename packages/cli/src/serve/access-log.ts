// access-log.ts: where the lines of the access log go: stderr, or a file. A reader that stalls, or a full disk, must not hold the
// gateway: then lines are dropped, and their number is written when there is space again.
import { createWriteStream } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AccessEntry } from '@plugboard/gateway'
import { write } from '../streams.ts'
import type { GatewayFile } from './gateway-file.ts'

/** What may wait to be written. */
const WAITING_BYTES = 1024 * 1024

export type AccessLog = (entry: AccessEntry) => void

export function openAccessLog(file: GatewayFile | undefined): AccessLog | undefined {
  const where = file?.config.accessLog
  if (file === undefined || where === undefined) return undefined
  if (where === 'stderr') return (entry) => void write(2, `${JSON.stringify(entry)}\n`)
  return toFile(resolve(dirname(file.file), where))
}

function toFile(path: string): AccessLog {
  let dropped = 0
  let stream = opened()
  function opened() {
    const made = createWriteStream(path, { flags: 'a', mode: 0o600 })
    // Told by the lines that are missing; the next line tries again.
    made.on('error', () => undefined)
    return made
  }
  // A log that was moved away is begun anew.
  process.on('SIGHUP', () => {
    stream.end()
    stream = opened()
  })
  return (entry) => {
    if (stream.destroyed) stream = opened()
    if (stream.writableLength > WAITING_BYTES) return void dropped++
    if (dropped > 0)
      stream.write(`${JSON.stringify({ time: entry.time, level: 'warn', msg: 'dropped', dropped })}\n`)
    dropped = 0
    stream.write(`${JSON.stringify(entry)}\n`)
  }
}
