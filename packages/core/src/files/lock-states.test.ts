// What a process does about a lock file that is there already: by what it is, who owns it and how old it is.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withFileLock } from './lock.ts'
import { readTextFile } from './read.ts'
import { writeFileAtomic } from './write.ts'

let base: string
let path: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'plugboard-lock-'))
  path = join(base, 'thing')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const DEAD = 999_999_999
const lockFile = () => `${path}.lock`
const ago = (ms: number) => new Date(Date.now() - ms)
const owner = (pid: unknown, host: unknown = hostname(), token: unknown = 'other') =>
  JSON.stringify({ pid, host, token })
const taken = (waitMs = 0, staleMs = 60_000) => withFileLock(path, { waitMs, staleMs }, async () => 'taken')

describe('a lock file', () => {
  it.each<[string, string, number, boolean]>([
    ['of a process that lives', owner(process.pid), 0, false],
    ['of a process that is gone', owner(DEAD), 0, true],
    ['of a process elsewhere, which may live', owner(DEAD, 'elsewhere'), 30_000, false],
    ['of a process elsewhere, whose heartbeat stopped', owner(DEAD, 'elsewhere'), 61_000, true],
    ['of a process that lives and does not move', owner(process.pid), 61_000, true],
    ['that is just being written', '', 500, false],
    ['that was never written', '', 2500, true],
    ['that is no JSON', 'x', 500, false],
    ['that is no object', 'null', 500, false],
    ['without a number of its process', owner('1'), 500, false],
    ['without a machine', owner(DEAD, 7), 500, false],
    ['without a token', owner(DEAD, hostname(), 7), 500, false],
    ['without a token, for long', owner(DEAD, hostname(), 7), 2500, true],
  ])('%s is taken over: %s', async (_, text, age, over) => {
    writeFileSync(lockFile(), text)
    utimesSync(lockFile(), ago(age), ago(age))
    if (over) expect(await taken()).toBe('taken')
    else {
      await expect(taken()).rejects.toMatchObject({ code: 'TIMEOUT' })
      expect(readFileSync(lockFile(), 'utf8')).toBe(text)
    }
  })

  it('names its owner when the wait is over, where it has one', async () => {
    writeFileSync(lockFile(), owner(process.pid))
    await expect(taken()).rejects.toThrow(`is held by process ${process.pid} on ${hostname()}.`)
    writeFileSync(lockFile(), '')
    await expect(taken()).rejects.toThrow('is held by another process.')
  })

  it.each<[string, () => unknown]>([
    ['a folder', () => mkdirSync(lockFile())],
    ['a link', () => symlinkSync('nowhere', lockFile())],
    [
      'no regular file',
      () => new Promise<void>((done) => void createServer().listen(lockFile(), done).unref()),
    ],
  ])('that is %s is told and left alone', async (what, make) => {
    await make()
    await expect(taken(60_000)).rejects.toMatchObject({
      code: 'IO_ERROR',
      message: `${lockFile()}, where a lock belongs, is ${what}.`,
    })
  })

  it('that another process is about to break is left to it', async () => {
    writeFileSync(lockFile(), owner(DEAD))
    writeFileSync(`${lockFile()}.break`, '')
    const waiting = taken(60_000)
    await new Promise((done) => setTimeout(done, 60))
    expect(readFileSync(lockFile(), 'utf8')).toBe(owner(DEAD))
    utimesSync(`${lockFile()}.break`, ago(3000), ago(3000))
    expect(await waiting).toBe('taken')
    expect(readdirSync(base)).toEqual([])
  })

  it('is not made for a caller that is cancelled before', async () => {
    const cancelled = { waitMs: 0, staleMs: 1000, signal: AbortSignal.abort() }
    await expect(withFileLock(path, cancelled, async () => 1)).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(readdirSync(base)).toEqual([])
  })

  it('is free again for one that waits', async () => {
    let release = () => {}
    const first = withFileLock(
      path,
      { waitMs: 0, staleMs: 60_000 },
      () => new Promise<void>((done) => (release = done)),
    )
    await expect.poll(() => existsSync(lockFile())).toBe(true)
    const second = taken(60_000)
    await new Promise((done) => setTimeout(done, 20))
    release()
    await first
    expect(await second).toBe('taken')
  })

  it('is in a folder of the mode that was asked for', async () => {
    path = join(base, 'a', 'thing')
    await withFileLock(path, { waitMs: 0, staleMs: 1000, dirMode: 0o700 }, async () => 1)
    expect(statSync(join(base, 'a')).mode & 0o777).toBe(0o700)
    path = join(base, 'b', 'thing')
    await taken()
    expect(statSync(join(base, 'b')).mode & 0o777).toBe(0o777 & ~process.umask())
  })

  it('that cannot be made says why', async () => {
    writeFileSync(path, 'a file')
    path = join(path, 'below')
    await expect(taken()).rejects.toMatchObject({
      code: 'IO_ERROR',
      message: `The lock ${lockFile()} could not be made (ENOTDIR).`,
      hint: `Check that you may write to ${join(base, 'thing')} and that the disk is not full.`,
    })
  })

  it('is not touched any more once it is free', async () => {
    await withFileLock(path, { waitMs: 0, staleMs: 40 }, () => new Promise((done) => setTimeout(done, 30)))
    writeFileSync(lockFile(), '')
    utimesSync(lockFile(), ago(60_000), ago(60_000))
    await new Promise((done) => setTimeout(done, 80))
    expect(Date.now() - statSync(lockFile()).mtimeMs).toBeGreaterThan(50_000)
  })
})

describe('files', () => {
  it('are closed after every lock, read and write, whether it succeeds or not', async () => {
    writeFileSync(lockFile(), owner(DEAD))
    await taken()
    await writeFileAtomic(path, 'x')
    await writeFileAtomic(path, 'x', { noFollow: true })
    await readTextFile(path, 100)
    await readTextFile(path, 0)
    await readTextFile(base, 100)
    const open = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    expect(open.filter((file) => file.startsWith(base))).toEqual([])
  })
})

describe('a lock that is held', () => {
  it.each<[string, string]>([
    [owner(process.pid), `process ${process.pid} on ${hostname()}`],
    [owner(process.pid, 'elsewhere'), `process ${process.pid} on elsewhere`],
    [owner('x'), 'another process'],
    [owner(1.5), 'another process'],
    [owner(process.pid, 5), 'another process'],
    [owner(process.pid, hostname(), 5), 'another process'],
    ['null', 'another process'],
    ['5', 'another process'],
    ['', 'another process'],
  ])('by %s is said to be by %s', async (content, holder) => {
    writeFileSync(lockFile(), content)
    await expect(taken()).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: `${lockFile()} is held by ${holder}.`,
      hint: 'Wait for that process to finish; if there is none, delete the lock file.',
    })
  })

  it('in a folder that is not there yet makes the folder with its mode', async () => {
    path = join(base, 'new', 'thing')
    expect(
      await withFileLock(path, { waitMs: 0, staleMs: 60_000, dirMode: 0o700 }, async () => 'taken'),
    ).toBe('taken')
    expect(statSync(join(base, 'new')).mode & 0o777).toBe(0o700)
  })

  it('in a place that is no folder says so', async () => {
    writeFileSync(join(base, 'file'), '')
    path = join(base, 'file', 'thing')
    await expect(taken()).rejects.toThrow(`The lock ${lockFile()} could not be made (ENOTDIR).`)
  })
})
