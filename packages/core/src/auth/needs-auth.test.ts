// What is known about servers that require a login, shared by all processes through one small file.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type AuthContext, serverKey } from './context.ts'
import { remote } from './fixtures/setup.ts'
import { forgetNeedsAuth, needsAuth, rememberNeedsAuth, watchLogins } from './needs-auth.ts'
import { memoryVault } from './vault.ts'

let stateDir: string
let now: number
let timers: Map<() => void, number>
let context: AuthContext
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'needs-auth-'))
  now = 1_000_000
  timers = new Map()
  context = {
    host: systemHost({
      now: () => now,
      backgroundTimer: (ms, run) => {
        timers.set(run, ms)
        return () => timers.delete(run)
      },
    }),
    stateDir,
    vault: memoryVault(),
  }
})
afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

const server = remote('s', 'https://s.test/mcp')
const other = remote('o', 'https://o.test/mcp')
const file = () => join(stateDir, 'needs-auth.json')
const saved = () => JSON.parse(readFileSync(file(), 'utf8'))

describe('the note of a 401', () => {
  it('is kept with what was asked for, for its server alone, and readable by its owner alone', async () => {
    expect(await needsAuth(server, context)).toBeUndefined()
    await rememberNeedsAuth(server, context, { scope: 'x', resourceMetadata: 'https://s.test/m', dpop: true })
    expect(await needsAuth(server, context)).toEqual({
      scope: 'x',
      resourceMetadata: 'https://s.test/m',
      dpop: true,
      since: now,
    })
    expect(await needsAuth(other, context)).toBeUndefined()
    expect(await needsAuth(remote('s', 'https://elsewhere.test/mcp'), context)).toBeUndefined()
    expect(statSync(file()).mode & 0o777).toBe(0o600)
  })

  it.each([
    [0, true],
    [AUTH_LIMITS.needsAuthMemoryMs - 1, true],
    [AUTH_LIMITS.needsAuthMemoryMs, false],
    [-AUTH_LIMITS.needsAuthMemoryMs, false],
  ])('counts after %i ms: %s', async (passed, counts) => {
    await rememberNeedsAuth(server, context)
    now += passed
    expect((await needsAuth(server, context)) !== undefined).toBe(counts)
    // The next change drops what no longer counts.
    await rememberNeedsAuth(other, context)
    expect(serverKey(server) in saved().needs).toBe(counts)
  })

  it('is forgotten by a login, which keeps the notes of the others', async () => {
    await rememberNeedsAuth(server, context)
    await rememberNeedsAuth(other, context)
    await forgetNeedsAuth(server, context)
    expect(await needsAuth(server, context)).toBeUndefined()
    expect(await needsAuth(other, context)).toBeDefined()
    expect(saved().logins).toEqual({ [serverKey(server)]: now })
  })

  it.each([
    '',
    '{',
    '7',
    'null',
    '{"needs":7,"logins":"x"}',
    '{"needs":{"K":null},"logins":{"K":"x"}}',
    '{"needs":{"K":{"since":"x"}}}',
    '{"needs":{"K":7}}',
  ])('in a damaged file (%s) is none, and a login is no news', async (text) => {
    writeFileSync(file(), text.replaceAll('K', serverKey(server)))
    expect(await needsAuth(server, context)).toBeUndefined()
    await rememberNeedsAuth(server, context)
    expect(await needsAuth(server, context)).toEqual({ since: now })
  })

  it('remembers the latest logins only', async () => {
    const many = Object.fromEntries(
      Array.from({ length: AUTH_LIMITS.loginsRemembered + 5 }, (_, at) => [`k${at}`, at]),
    )
    writeFileSync(file(), JSON.stringify({ logins: many }))
    await forgetNeedsAuth(server, context)
    const kept = Object.keys(saved().logins)
    expect(kept).toHaveLength(AUTH_LIMITS.loginsRemembered)
    expect(kept[0]).toBe(serverKey(server))
    expect(kept).not.toContain('k0')
  })
})

describe('a watch for logins', () => {
  it('tells each login once, and nothing that was there before', async () => {
    await forgetNeedsAuth(other, context)
    const told: string[] = []
    const stop = await watchLogins(context, (key) => void told.push(key))
    now++
    await forgetNeedsAuth(server, context)
    await expect.poll(() => told).toEqual([serverKey(server)])
    now++
    await forgetNeedsAuth(server, context)
    await expect.poll(() => told).toHaveLength(2)
    await rememberNeedsAuth(other, context)
    for (const run of timers.keys()) run()
    await new Promise((done) => setTimeout(done, 20))
    expect(told).toEqual([serverKey(server), serverKey(server)])
    stop()
  })

  it('looks again now and then where the system tells nothing, until it is stopped', async () => {
    stateDir = join(stateDir, 'new')
    context = { ...context, stateDir }
    const told: string[] = []
    const stop = await watchLogins(context, (key) => void told.push(key))
    expect(existsSync(stateDir)).toBe(true)
    for (let round = 0; round < 2; round++) {
      expect([...timers.values()]).toEqual([AUTH_LIMITS.loginPollMs])
      const [[run] = []] = timers
      timers.clear()
      run?.()
    }
    expect(timers.size).toBe(1)
    const [[late] = []] = timers
    stop()
    expect(timers.size).toBe(0)
    now++
    await forgetNeedsAuth(server, context)
    // A timer that was about to run changes nothing any more.
    late?.()
    expect(timers.size).toBe(0)
    await new Promise((done) => setTimeout(done, 20))
    expect(told).toEqual([])
  })

  it.runIf(process.platform === 'linux')('watches the one file, and nothing once it is stopped', async () => {
    const watches = () =>
      readdirSync('/proc/self/fdinfo').flatMap((fd) => {
        try {
          return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')
            .split('\n')
            .filter((line) => line.startsWith('inotify'))
        } catch {
          // Closed since it was listed.
          return []
        }
      }).length
    writeFileSync(file(), '{}')
    const before = watches()
    const told: string[] = []
    const stop = await watchLogins(context, (key) => void told.push(key))
    expect(watches()).toBe(before + 1)
    // In place, so that the system reports no other name.
    writeFileSync(file(), JSON.stringify({ logins: { k: 7 } }))
    await expect.poll(() => told).toEqual(['k'])
    stop()
    expect(watches()).toBe(before)
  })
})
