import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { isRunning } from '../files/running.ts'
import { systemHost } from '../host.ts'
import { until, within } from './fixtures/support.ts'
import { Watchdog, watchdogOf } from './orphan-watchdog.ts'

const PARENT = fileURLToPath(new URL('fixtures/parent.mjs', import.meta.url))

const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

async function family(mode = ''): Promise<{ parent: ChildProcess; pids: number[]; watchdogs: number[] }> {
  const parent = spawn(process.execPath, [PARENT, mode], { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(parent)
  const said = await within(
    new Promise<string>((resolve) => parent.stdout?.once('data', (chunk) => resolve(String(chunk)))),
    'no pids',
  )
  return { parent, pids: JSON.parse(said), watchdogs: shellsOf(parent.pid ?? 0) }
}

/** The direct children of a process that are shells. */
function shellsOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const [, comm, , ppid] =
          /^\d+ \((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
        return comm === 'sh' && Number(ppid) === parent
      } catch {
        // It ended during the check.
        return false
      }
    })
    .map(Number)
}

const onLinux = describe.skipIf(process.platform !== 'linux')

onLinux('when we are gone', () => {
  it('by SIGKILL, no child and no grandchild is left, nor the watchdog', async () => {
    const { parent, pids, watchdogs } = await family()
    expect(pids.every(isRunning)).toBe(true)
    expect(watchdogs).toHaveLength(1)
    parent.kill('SIGKILL')
    await until(() => ![...pids, ...watchdogs].some(isRunning), 'all of them gone')
  })

  it('by a plain exit without a close, likewise', async () => {
    const { pids, watchdogs } = await family('exit')
    await until(() => ![...pids, ...watchdogs].some(isRunning), 'all of them gone')
  })

  it('the children that are left are still found after others were closed', async () => {
    const { parent, pids } = await family('close-first')
    const [closed = 0, closedChild = 0, ...others] = pids
    expect([closed, closedChild].some(isRunning)).toBe(false)
    expect(others.every(isRunning)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !others.some(isRunning), 'the others gone')
  })
})

onLinux('when everything is closed', () => {
  it('nothing keeps the program alive', async () => {
    const { parent, pids } = await family('close-all')
    if (parent.exitCode === null)
      await within(new Promise((resolve) => parent.once('exit', resolve)), 'no exit')
    expect(parent.exitCode).toBe(0)
    expect(pids.some(isRunning)).toBe(false)
  })
})

onLinux('the watchdog', () => {
  it('never touches a group that was struck off its list', async () => {
    const bystander = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' })
    const victim = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' })
    started.push(bystander, victim)
    // A host whose spawn returns the shell, so that the test can end its pipe.
    let shell: ChildProcess | undefined
    const host = systemHost({
      spawn: (command, args, options) => {
        shell = spawn(command, args, options)
        return shell
      },
    })
    const watchdog = new Watchdog(host)
    watchdog.ready()
    watchdog.guard(bystander.pid ?? 0)
    watchdog.guard(victim.pid ?? 0)
    watchdog.forget(bystander.pid ?? 0)
    shell?.stdin?.destroy()
    await until(() => !isRunning(victim.pid ?? 0), 'the victim gone')
    await until(() => !isRunning(shell?.pid ?? 0), 'the shell gone')
    expect(isRunning(bystander.pid ?? 0)).toBe(true)
  })

  it('leaves when there has been nothing to guard for a while, and comes back when there is', async () => {
    const watchdog = watchdogOf(systemHost())
    const child = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' })
    started.push(child)
    // The server that it was started for could not be started.
    watchdog.ready()
    const first = watchdog.pid ?? 0
    await until(() => !isRunning(first), 'the shell gone')
    watchdog.ready()
    expect(watchdog.pid).not.toBe(first)
    watchdog.guard(child.pid ?? 0)
    watchdog.forget(child.pid ?? 0)
    expect(isRunning(child.pid ?? 0)).toBe(true)
  })

  it('is one for each host', () => {
    const one = systemHost()
    expect(watchdogOf(one)).toBe(watchdogOf(one))
    expect(watchdogOf(systemHost())).not.toBe(watchdogOf(one))
  })
})
