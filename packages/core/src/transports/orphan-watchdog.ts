// orphan-watchdog.ts: one small shell per host that outlives us by a moment and kills the process groups we leave behind. It
// holds the read end of a pipe; when this process ends, for any reason, the pipe ends, and it acts. It never signals
// a group that was removed from its list. On Windows there is none: a child there only sees its input end.
import type { ChildProcess } from 'node:child_process'
import type { Host } from '../host.ts'
import { STDIO_LIMITS } from '../limits.ts'

/** `+ 123` adds a group, `- 123` removes it; end of input means that this process is gone. */
const SCRIPT = `
trap '' HUP INT TERM
groups=''
while read -r what id; do
  case $what in
    +) groups="$groups $id" ;;
    -) rest=''
       for each in $groups; do [ "$each" = "$id" ] || rest="$rest $each"; done
       groups=$rest ;;
  esac
done
[ -n "$groups" ] || exit 0
for each in $groups; do kill -s TERM -- "-$each"; done
sleep 0.3 || sleep 1
for each in $groups; do kill -s KILL -- "-$each"; done
exit 0
`

/** Stored per host and not per module: two boards with their own hosts share nothing. */
const watchdogs = new WeakMap<object, Watchdog>()

export function watchdogOf(host: Host): Watchdog {
  const owner = host.owner ?? host
  let watchdog = watchdogs.get(owner)
  if (watchdog === undefined) {
    watchdog = new Watchdog(host)
    watchdogs.set(owner, watchdog)
  }
  return watchdog
}

export class Watchdog {
  readonly #host: Host
  readonly #groups = new Set<number>()
  #shell: ChildProcess | undefined
  #cancelIdle: (() => void) | undefined

  constructor(host: Host) {
    this.#host = host
  }

  /** The shell's process, while there is one. */
  get pid(): number | undefined {
    return this.#shell?.pid
  }

  /** Started before a child is spawned, so that no child is ever unguarded. */
  ready(): void {
    if (this.#host.platform === 'win32') return
    if (this.#shell === undefined) this.#start()
    // The child may fail to start; then there is nothing to guard.
    this.#retireWhenIdle()
  }

  guard(group: number): void {
    this.#cancelIdle?.()
    this.#groups.add(group)
    this.#send(`+ ${group}\n`)
  }

  forget(group: number): void {
    if (!this.#groups.delete(group)) return
    this.#send(`- ${group}\n`)
    this.#retireWhenIdle()
  }

  #retireWhenIdle(): void {
    if (this.#groups.size > 0 || this.#shell === undefined) return
    this.#cancelIdle?.()
    this.#cancelIdle = this.#host.backgroundTimer(STDIO_LIMITS.watchdogIdleMs, () => this.#retire())
  }

  #start(): void {
    const shell = this.#host.spawn('/bin/sh', ['-c', SCRIPT], {
      cwd: '/',
      env: { PATH: this.#host.env['PATH'] ?? '/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore'],
      // Its own session: Ctrl-C in our terminal must not reach it.
      detached: true,
    })
    this.#shell = shell
    const gone = () => {
      if (this.#shell === shell) this.#shell = undefined
    }
    // Without a shell there is no watchdog: children still end with close(), but not after a SIGKILL to us.
    shell.on('error', gone)
    shell.on('exit', gone)
    shell.stdin?.on('error', gone)
    shell.unref()
    if (shell.stdin !== null && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function')
      shell.stdin.unref()
    for (const group of this.#groups) this.#send(`+ ${group}\n`)
  }

  #send(line: string): void {
    const input = this.#shell?.stdin
    if (input?.writable === true) input.write(line)
  }

  #retire(): void {
    const shell = this.#shell
    this.#shell = undefined
    shell?.stdin?.end()
  }
}
