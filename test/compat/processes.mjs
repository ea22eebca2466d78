// processes.mjs: every process that a server under test started, found by a mark in its environment, whatever
// its parent, group or session has become. It only looks; `endAll` is for what a check has already reported.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export const MARK = 'PLUGBOARD_COMPAT_RUN'
const POLL_MS = 20
/** A killed process is visible until the kernel has reaped it. */
const REAP_MS = 150
const LEAVE_MS = 5000
const PS_MS = 10_000

/** The living processes that carry this mark, and their descendants; undefined where that cannot be told. */
export function familyOf(mark) {
  const all = process.platform === 'linux' ? fromProc(mark) : fromPs(mark)
  if (!all) return undefined
  const family = new Set(all.filter(({ marked }) => marked).map(({ pid }) => pid))
  for (let grew = true; grew; ) {
    const before = family.size
    for (const { pid, parent, group } of all) if (family.has(parent) || family.has(group)) family.add(pid)
    grew = family.size > before
  }
  family.delete(process.pid)
  return all.filter(({ pid }) => family.has(pid))
}

/**
 * What is left of a server that was ended. Its own process group has to be gone at once; a process in another group left
 * on purpose, and gets a moment to notice that its parent is gone.
 */
export async function leftRunning(mark, before = []) {
  const group = before.find((one) => one.parent === process.pid && one.group === one.pid)?.group
  const start = performance.now()
  for (;;) {
    const living = stillThere(mark, before)
    if (!living || living.length === 0) return []
    const waited = performance.now() - start
    const late = living.filter((one) => waited >= (one.group === group ? REAP_MS : LEAVE_MS))
    if (late.length > 0) return late
    await sleep(POLL_MS)
  }
}

export function endAll(processes) {
  for (const { pid } of processes ?? [])
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended meanwhile.
    }
}

function stillThere(mark, before) {
  const now = familyOf(mark)
  if (!now) return undefined
  const known = new Set(now.map(({ pid }) => pid))
  const left = before.filter((one) => !known.has(one.pid) && isSame(one))
  return [...now, ...left]
}

/** A pid can be reused by another process; its start time cannot. */
function isSame({ pid, started }) {
  return process.platform === 'linux' && started !== undefined && statusOf(pid)?.started === started
}

function fromProc(mark) {
  const found = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const status = statusOf(Number(name))
    if (status) found.push({ ...status, marked: carries(name, mark) })
  }
  return found
}

function statusOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const close = stat.lastIndexOf(')')
    const fields = stat.slice(close + 2).split(' ')
    // A zombie has ended; only its parent has not asked how.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return {
      pid,
      command: stat.slice(stat.indexOf('(') + 1, close),
      parent: Number(fields[1]),
      group: Number(fields[2]),
      started: fields[19],
    }
  } catch {
    return undefined // It ended while we looked.
  }
}

function carries(pid, mark) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}`)
  } catch {
    return false // It ended, or it belongs to another user.
  }
}

/** Where there is no /proc, `ps` shows the environment of one's own processes. */
function fromPs(mark) {
  if (process.platform === 'win32') return undefined
  const text = execFileSync('ps', ['-A', '-E', '-ww', '-o', 'pid=,ppid=,pgid=,command='], {
    encoding: 'utf8',
    timeout: PS_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
    if (!pid) return []
    const marked = command.includes(`${MARK}=${mark}`)
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        command: command.split(' ')[0],
        marked,
      },
    ]
  })
}
