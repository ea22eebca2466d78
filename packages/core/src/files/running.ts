// running.ts: whether a process that a file names still runs. A process that ended stays in the process table until its parent asks
// how; a container without an init never asks, so the table alone is no proof of life.
import { lazyModule } from '../lazy.ts'

/** Whether the process runs, also under another user. One that ended and is only not reaped yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, but under another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  return process.platform !== 'linux' || !isZombie(pid)
}

function isZombie(pid: number): boolean {
  try {
    // After the name in parentheses, which may contain anything, comes the state.
    return /\) Z [^)]*$/.test(lazyModule('node:fs').readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    // It went away meanwhile, or /proc is not readable: the process table has the last word.
    return false
  }
}
