// kit.ts: what the fault suite and the soak share: waits with a bound, and checks of what a process holds.
import { readFileSync } from 'node:fs'

export function withinMs<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  ms: number,
): Promise<void> {
  const end = Date.now() + ms
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain until ${what}`)
    await new Promise((done) => setTimeout(done, 10))
  }
}

/** Children, pipes and sockets that keep this process busy. */
export function handles(): number {
  return process.getActiveResourcesInfo().filter((kind) => /Process|Pipe|TCP|Socket/.test(kind)).length
}

export function listeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name as string), 0)
}

/**
 * Whether the process runs: one that is only waiting to be reaped does not. Pids are reused, so where
 * that can be seen the process must be one that knows the folder, by its arguments or from its parent.
 */
export function isRunning(pid: number, dir: string): boolean {
  try {
    process.kill(pid, 0)
    if (process.platform !== 'linux') return true
    const about = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8')
    return !/^State:\s+Z/m.test(about('status')) && (about('cmdline') + about('environ')).includes(dir)
  } catch {
    // ESRCH, or it ended between the checks.
    return false
  }
}
