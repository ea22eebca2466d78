// process-group.ts: one child and everything it forked, ended together. A grandchild that made its own session
// (setsid) left the group on purpose and is not followed.
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Host } from '../host.ts'
import { STDIO_LIMITS } from '../limits.ts'
import { watchdogOf } from './orphan-watchdog.ts'

const POLL_MS = 5

export class ProcessGroup {
  readonly #child: ChildProcess
  readonly #host: Host
  readonly #pid: number
  #gone = false
  #ending: Promise<void> | undefined

  /** The child must lead its own group (`detached`), except on Windows, which has no groups. */
  constructor(child: ChildProcess, pid: number, host: Host) {
    this.#child = child
    this.#host = host
    this.#pid = pid
    watchdogOf(host).guard(pid)
  }

  /** Input end, SIGINT, SIGTERM, SIGKILL, each with its pause; resolves when the group is gone. */
  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  /** The leader exited by itself: the rest of the group is ended too. */
  sweep(): Promise<void> {
    this.#ending ??= this.#sweep()
    return this.#ending
  }

  async #end(): Promise<void> {
    this.#child.stdin?.end()
    if (await this.#goneWithin(STDIO_LIMITS.interruptAfterMs)) return
    this.#signal('SIGINT')
    if (await this.#goneWithin(STDIO_LIMITS.terminateAfterMs)) return
    this.#signal('SIGTERM')
    if (await this.#goneWithin(STDIO_LIMITS.killAfterMs)) return
    await this.#kill()
  }

  async #sweep(): Promise<void> {
    if (await this.#goneWithin(0)) return
    this.#signal('SIGTERM')
    if (await this.#goneWithin(STDIO_LIMITS.orphansMs)) return
    await this.#kill()
  }

  async #kill(): Promise<void> {
    this.#signal('SIGKILL')
    await this.#goneWithin(STDIO_LIMITS.reapMs)
    // What is left is a zombie that its new parent has not reaped: no signal can do more.
    this.#forget()
  }

  /** Polls with timers that keep the process alive: an awaited close() must finish. */
  async #goneWithin(ms: number): Promise<boolean> {
    // By the clock and not by counting polls: on a busy machine each poll is late, and the lateness would add up.
    const end = performance.now() + ms
    for (;;) {
      if (this.#isGone()) return true
      if (performance.now() >= end) return false
      await sleep(POLL_MS)
    }
  }

  #isGone(): boolean {
    if (this.#gone) return true
    if (this.#child.exitCode === null && this.#child.signalCode === null) return false
    if (this.#host.platform !== 'win32' && groupExists(this.#pid)) return false
    this.#forget()
    return true
  }

  /** From here on the process id may belong to another process. */
  #forget(): void {
    this.#gone = true
    watchdogOf(this.#host).forget(this.#pid)
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#gone) return
    try {
      if (this.#host.platform === 'win32') this.#signalTree(signal)
      else process.kill(-this.#pid, signal)
    } catch {
      // ESRCH: it ended between the check and the signal. EPERM: it changed its user, and the kernel refuses.
    }
  }

  /** Windows has neither groups nor graceful signals; taskkill walks the tree of parents as far as it is intact. */
  #signalTree(signal: NodeJS.Signals): void {
    if (signal === 'SIGINT') return
    const force = signal === 'SIGKILL' ? ['/F'] : []
    const killer = this.#host.spawn('taskkill', ['/PID', String(this.#pid), '/T', ...force], {
      stdio: 'ignore',
      windowsHide: true,
    })
    killer.on('error', () => this.#child.kill(signal))
    killer.unref()
  }
}

function groupExists(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
