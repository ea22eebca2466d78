// The real keychain of a Linux desktop, where one is installed: a session bus and an unlocked GNOME keyring.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const desktop = existsSync('/usr/bin/dbus-run-session') && existsSync('/usr/bin/gnome-keyring-daemon')
let dir: string
// The worker needs the native module, so it is placed where Node finds it.
const script = fileURLToPath(new URL('../../../../node_modules/.cache/keychain-worker.mjs', import.meta.url))

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-keychain-'))
  await build({
    entryPoints: [fileURLToPath(new URL('./fixtures/keychain-worker.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@napi-rs/keyring'],
    logLevel: 'error',
  })
})
afterAll(() => {
  rmSync(dir, { recursive: true, force: true })
  rmSync(script, { force: true })
})

function inDesktop(name: string, ...args: string[]): Record<string, unknown> {
  const home = join(dir, name)
  mkdirSync(home, { mode: 0o700 })
  const unlock = 'printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1'
  const done = spawnSync(
    'dbus-run-session',
    ['--', 'sh', '-c', `${unlock}; exec "$0" "$@"`, process.execPath, script, join(home, 'state'), ...args],
    { encoding: 'utf8', timeout: 30_000, env: { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home } },
  )
  if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}`)
  return JSON.parse(done.stdout) as Record<string, unknown>
}

const kept = { short: 'secret', long: true, deleted: [true, false], gone: true }

describe.runIf(desktop)('the keychain of a desktop', () => {
  it('is found, used, and remembered', () => {
    expect(inDesktop('a')).toEqual({ kind: 'keychain', ...kept })
    expect(readdirSync(join(dir, 'a', 'state'))).toEqual(['vault-choice.json'])
  })

  it('keeps the key of the file when the file is wished for', () => {
    expect(inDesktop('b', 'file')).toEqual({ kind: 'file', ...kept })
    expect(readdirSync(join(dir, 'b', 'state', 'vault'))).not.toContain('key')
  })
})
