// process-memory.ts: how much memory the processes of servers take, with what they started. Linux is read from /proc; elsewhere `ps` is
// asked once for all of them. Where neither works nothing is known.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const LIMITS = { processes: 64, psMs: 2000, psBytes: 4 * 1024 * 1024 } as const

/** Bytes by pid. A process that has ended is left out. */
export async function memoryOf(pids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (pids.length === 0 || process.platform === 'win32') return new Map()
  const table = process.platform === 'linux' ? undefined : await processTable()
  const found = new Map<number, number>()
  await Promise.all(
    pids.map(async (pid) => {
      const bytes = table ? bytesIn(table, pid) : await bytesInProc(pid)
      if (bytes > 0) found.set(pid, bytes)
    }),
  )
  return found
}

async function bytesInProc(top: number): Promise<number> {
  let sum = 0
  const waiting = [top]
  for (let seen = 0; seen < LIMITS.processes; seen++) {
    const pid = waiting.pop()
    if (pid === undefined) break
    const [status, children] = await Promise.all([
      read(`/proc/${pid}/status`),
      read(`/proc/${pid}/task/${pid}/children`),
    ])
    sum += Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
    waiting.push(...children.split(' ').filter(Boolean).map(Number))
  }
  return sum
}

interface Row {
  readonly parent: number
  readonly bytes: number
}

function bytesIn(table: ReadonlyMap<number, Row>, top: number): number {
  const own = new Set([top])
  let sum = table.get(top)?.bytes ?? 0
  // A child has a higher place in the list than its parent, nearly always: what is missed is little.
  for (const [pid, { parent, bytes }] of table)
    if (own.has(parent) && !own.has(pid) && own.size < LIMITS.processes) {
      own.add(pid)
      sum += bytes
    }
  return sum
}

async function processTable(): Promise<ReadonlyMap<number, Row>> {
  const options = { timeout: LIMITS.psMs, maxBuffer: LIMITS.psBytes }
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,rss='], options).catch(() => ({
    stdout: '',
  }))
  const rows = [...stdout.matchAll(/^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/gm)]
  return new Map(
    rows.map(([, pid, parent, kilobytes]) => [
      Number(pid),
      { parent: Number(parent), bytes: Number(kilobytes) * 1024 },
    ]),
  )
}

function read(path: string): Promise<string> {
  // The process is gone.
  return readFile(path, 'utf8').catch(() => '')
}
