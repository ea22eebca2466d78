// running-copies.ts: how many processes run a server's command line right now, and what they hold in memory. Known on
// Linux only, from /proc.
import { basename } from 'node:path'
import { lazyModule } from '@plugboard/core/lazy'

export interface RunningCopies {
  /** Started from the command line itself; those that these started are counted in `processes` and `bytes` only. */
  readonly copies: number
  readonly processes: number
  readonly bytes: number
}

export interface CommandLine {
  readonly command: string
  readonly args: readonly string[]
}

interface Running {
  readonly pid: number
  readonly parent: number
  readonly words: readonly string[]
  readonly bytes: number
}

/** `undefined` where the processes cannot be read. */
export function runningCopies(lines: readonly CommandLine[]): RunningCopies | undefined {
  const all = readProcesses()
  if (all.length === 0) return undefined
  const roots = all.filter(({ words }) => lines.some((line) => runs(words, line)))
  const family = new Set(roots.map(({ pid }) => pid))
  // A parent has not always a smaller number, so until nothing is added; each round adds at least one.
  for (let before = -1; before !== family.size; ) {
    before = family.size
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid)
  }
  const members = all.filter(({ pid }) => family.has(pid))
  const inner = roots.filter(({ parent }) => !family.has(parent))
  return {
    copies: inner.length,
    processes: members.length,
    bytes: members.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/** The program may be an interpreter's script (`npx` is Node with npx-cli.js), so only the arguments must be the same. */
function runs(words: readonly string[], { command, args }: CommandLine): boolean {
  const tail = words.slice(words.length - args.length)
  const head = words.slice(0, words.length - args.length).map((word) => basename(word))
  if (args.length > 0 && !args.every((arg, at) => tail[at] === arg)) return false
  const name = basename(command)
  return head.some((word) => word === name || word === `${name}-cli.js`)
}

function readProcesses(): Running[] {
  const { readdirSync, readFileSync } = lazyModule('node:fs')
  let names: string[]
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
  return names.flatMap((name) => {
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').slice(0, -1)
      const status = readFileSync(`/proc/${name}/status`, 'utf8')
      const number = (key: string) => Number(new RegExp(`^${key}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0)
      return words.length === 0
        ? []
        : [{ pid: Number(name), parent: number('PPid'), words, bytes: number('VmRSS') * 1024 }]
    } catch {
      // It ended meanwhile, or belongs to another account.
      return []
    }
  })
}
