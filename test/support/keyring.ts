// keyring.ts: a keychain of its own for one test, as a Linux desktop has it: a session bus and an unlocked GNOME keyring. Both end by their
// process ids.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { until } from './gateway.ts'

export const hasKeyring = existsSync('/usr/bin/dbus-daemon') && existsSync('/usr/bin/gnome-keyring-daemon')

export interface Keyring {
  /** With these variables a process uses this keychain. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startKeyring(): Promise<Keyring> {
  const home = mkdtempSync(join(tmpdir(), 'plugboard-keyring-'))
  const surroundings = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home }
  const children: ChildProcess[] = []
  const stop = async () => {
    for (const child of children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    rmSync(home, { recursive: true, force: true })
  }
  const started = (command: string, words: readonly string[], env: Record<string, string>) => {
    const child = spawn(command, words, { env, stdio: ['pipe', 'pipe', 'ignore'] })
    children.push(child)
    return child
  }
  const firstLine = async ({ stdout }: ChildProcess) => {
    if (!stdout) throw new Error('There is no output.')
    const [line] = (await once(createInterface(stdout), 'line', { signal: AbortSignal.timeout(20_000) })) as [
      string,
    ]
    return line
  }
  try {
    const bus = started('dbus-daemon', ['--session', '--nofork', '--print-address'], surroundings)
    const DBUS_SESSION_BUS_ADDRESS = await firstLine(bus)
    const env = { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR: home }
    const words = ['--foreground', '--unlock', '--components=secrets']
    const daemon = started('gnome-keyring-daemon', words, { ...surroundings, ...env })
    daemon.stdin?.end('test')
    await until(() => hasOwner({ ...surroundings, ...env }))
    return { env, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Whether the keyring has its name on the bus. */
function hasOwner(env: Record<string, string>): boolean {
  const to = ['--session', '--print-reply', '--dest=org.freedesktop.DBus', '/']
  const words = [...to, 'org.freedesktop.DBus.NameHasOwner', 'string:org.freedesktop.secrets']
  return spawnSync('dbus-send', words, { env, encoding: 'utf8', timeout: 5000 }).stdout.includes('true')
}
