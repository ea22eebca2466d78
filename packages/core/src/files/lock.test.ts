// The lock between real processes: no update is lost, dead holders are noticed, live ones are respected.
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Cancelled, Timeout } from '../errors.ts'
import { bundleScript, start } from './fixtures/processes.ts'
import { withFileLock } from './lock.ts'

let base: string
let script: string
let path: string
let serial = 0

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'plugboard-lock-'))
  script = await bundleScript(
    `import { readFileSync, writeFileSync } from 'node:fs'
     import { withFileLock } from './lock.ts'
     const [path = '', what = '', rounds = '1'] = process.argv.slice(2)
     const options = { waitMs: 30_000, staleMs: 10_000 }
     if (what === 'hold')
       await withFileLock(path, options, () => { console.log('held'); return new Promise((done) => process.stdin.once('data', done)) })
     else
       for (let round = 0; round < Number(rounds); round++)
         await withFileLock(path, options, async () => {
           const before = Number(readFileSync(path, 'utf8'))
           await new Promise((done) => setTimeout(done, 1))
           writeFileSync(path, String(before + 1))
         })
     process.exit(0)`,
    fileURLToPath(new URL('.', import.meta.url)),
    base,
  )
})
afterAll(() => rmSync(base, { recursive: true, force: true }))
beforeEach(() => {
  path = join(base, `thing-${serial++}`)
})

const quick = { waitMs: 5000, staleMs: 10_000 }
const lockFile = () => `${path}.lock`
const ownerOf = (pid: number, host = hostname()) => JSON.stringify({ pid, host, token: 'other' })
const old = () => new Date(Date.now() - 60_000)

describe('the lock', () => {
  it('loses no increment of four processes', async () => {
    writeFileSync(path, '0')
    const siblings = Array.from({ length: 4 }, () => start(script, [path, 'count', '25']))
    for (const { done } of siblings) expect(await done).toEqual({ code: 0, stderr: '' })
    expect(readFileSync(path, 'utf8')).toBe('100')
    expect(existsSync(lockFile())).toBe(false)
  })

  it('lets one in at a time inside one process too', async () => {
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await new Promise((done) => setTimeout(done, 2))
      inside--
    }
    await Promise.all(Array.from({ length: 8 }, () => withFileLock(path, quick, work)))
    expect(most).toBe(1)
  })

  it('passes the answer and the error of the work on, and is free after both', async () => {
    expect(await withFileLock(path, quick, async () => 7)).toBe(7)
    const fails = withFileLock(path, quick, () => Promise.reject(new Error('mine')))
    await expect(fails).rejects.toThrow('mine')
    expect(existsSync(lockFile())).toBe(false)
  })

  it('makes the folder it stands in', async () => {
    path = join(path, 'a', 'b')
    expect(await withFileLock(path, quick, async () => existsSync(lockFile()))).toBe(true)
  })

  it('says why it cannot be made', async () => {
    writeFileSync(path, 'a file')
    path = join(path, 'below')
    await expect(withFileLock(path, quick, async () => 1)).rejects.toMatchObject({
      code: expect.stringMatching(/IO_ERROR|EEXIST|ENOTDIR/),
    })
  })
})

describe('a holder that is gone', () => {
  it('killed outright, is replaced long before its heartbeat is stale', async () => {
    const holder = start(script, [path, 'hold'])
    expect(await holder.ready).toBe('held')
    const next = withFileLock(path, { waitMs: 8000, staleMs: 60_000 }, async () => 'mine')
    holder.child.kill('SIGKILL')
    expect(await next).toBe('mine')
    await holder.done
  })

  it('on another machine, is replaced when its heartbeat has stopped', async () => {
    writeFileSync(lockFile(), ownerOf(1, 'elsewhere'))
    await expect(withFileLock(path, { ...quick, waitMs: 100 }, async () => 1)).rejects.toThrow(Timeout)
    utimesSync(lockFile(), old(), old())
    expect(await withFileLock(path, quick, async () => 1)).toBe(1)
  })

  it('that died before it could write its name, is replaced after a moment', async () => {
    writeFileSync(lockFile(), '')
    utimesSync(lockFile(), new Date(Date.now() - 3000), new Date(Date.now() - 3000))
    expect(await withFileLock(path, quick, async () => 1)).toBe(1)
  })

  it('is replaced even if a process died while breaking its lock', async () => {
    writeFileSync(lockFile(), ownerOf(999_999_999))
    writeFileSync(`${lockFile()}.break`, '')
    utimesSync(`${lockFile()}.break`, old(), old())
    expect(await withFileLock(path, quick, async () => 1)).toBe(1)
    expect(existsSync(`${lockFile()}.break`)).toBe(false)
  })

  it('is replaced by exactly one of many waiters', async () => {
    writeFileSync(lockFile(), ownerOf(999_999_999))
    writeFileSync(path, '0')
    const siblings = Array.from({ length: 3 }, () => start(script, [path, 'count', '10']))
    for (const { done } of siblings) expect(await done).toEqual({ code: 0, stderr: '' })
    expect(readFileSync(path, 'utf8')).toBe('30')
  })
})

describe('a holder that lives', () => {
  it('is named when the wait is over', async () => {
    const holder = start(script, [path, 'hold'])
    await holder.ready
    const attempt = withFileLock(path, { ...quick, waitMs: 50 }, async () => 1)
    await expect(attempt).rejects.toThrow(Timeout)
    await expect(attempt).rejects.toThrow(`process ${holder.child.pid}`)
    holder.child.stdin?.write('go\n')
    expect((await holder.done).code).toBe(0)
  })

  it('and lets go while a process waits, is followed without breaking anything', async () => {
    writeFileSync(lockFile(), ownerOf(process.pid))
    // What breaking a lock would remove.
    writeFileSync(`${lockFile()}.break`, '')
    utimesSync(`${lockFile()}.break`, old(), old())
    const options = {
      waitMs: 5000,
      // Read after the lock was found taken, and before the waiting process looks whose it is.
      get staleMs() {
        rmSync(lockFile(), { force: true })
        return 10_000
      },
    }
    expect(await withFileLock(path, options, async () => 1)).toBe(1)
    expect(existsSync(`${lockFile()}.break`)).toBe(true)
  })

  it('is left alone by a process that stops waiting', async () => {
    writeFileSync(lockFile(), ownerOf(process.pid))
    const stop = new AbortController()
    const attempt = withFileLock(path, { ...quick, signal: stop.signal }, async () => 1)
    stop.abort()
    await expect(attempt).rejects.toThrow(Cancelled)
    expect(readFileSync(lockFile(), 'utf8')).toBe(ownerOf(process.pid))
  })

  it('keeps its heartbeat going', async () => {
    // Stale long before the wait is over, and not so soon that a busy machine misses a heartbeat.
    await withFileLock(path, { waitMs: 1000, staleMs: 1500 }, async (lock) => {
      const other = withFileLock(path, { waitMs: 3500, staleMs: 1500 }, async () => 'stolen')
      await expect(other).rejects.toThrow(Timeout)
      expect(await lock.stillHeld()).toBe(true)
    })
  })

  it('learns that it lost the lock, and does not remove its successor’s', async () => {
    await withFileLock(path, quick, async (lock) => {
      expect(await lock.stillHeld()).toBe(true)
      writeFileSync(lockFile(), ownerOf(process.pid))
      expect(await lock.stillHeld()).toBe(false)
    })
    expect(readFileSync(lockFile(), 'utf8')).toBe(ownerOf(process.pid))
  })
})
