import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { LogLine } from '../events.ts'
import { counted } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { LOG_LIMITS } from '../limits.ts'
import { board, fixture, folder, recorded, until } from './fixtures/kit.ts'
import { followLog, logFile, readLog, ServerLog } from './server-log.ts'

const logOf = (stateDir: string, server = 's', host = systemHost()) =>
  new ServerLog(stateDir, server, host, () => undefined)
const olderFile = (stateDir: string) => join(stateDir, 'logs', 's.1.log')
/** As it is written: time, stream and text. */
const row = (text: string) => `2026-01-02T03:04:05.678Z stderr ${text}\n`

/** Open files of this process; a descriptor may be gone before it is read. */
const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return []
    }
  })

describe('the log of a server', () => {
  it('holds its standard error and its log notifications, and both are events', async () => {
    const stateDir = folder()
    const made = await board({ servers: [fixture('raw', 'raw').server], stateDir })
    const events = recorded(made)
    await made.link.request('raw', 'tools/call', { name: 'log' })
    await until('standard error has arrived', () =>
      events.some((event) => event.type === 'log' && event.line.stream === 'stderr'),
    )
    await made.close()
    const lines = await readLog(stateDir, 'raw')
    expect(lines).toContainEqual(expect.objectContaining({ stream: 'stderr', text: 'stderr says hello' }))
    expect(lines).toContainEqual(
      expect.objectContaining({ stream: 'server', text: '[warning] db: low on space' }),
    )
  })

  it('stays within its bounds however much is said', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    for (let round = 0; round < 40; round++) {
      for (let i = 0; i < 100; i++) log.add('stderr', `${round}-${i} ${'x'.repeat(1000)}`)
      await log.flush()
    }
    const file = logFile(stateDir, 's')
    expect(statSync(file).size + statSync(olderFile(stateDir)).size).toBeLessThan(
      LOG_LIMITS.bytesPerServer * 1.5,
    )
    expect((await readLog(stateDir, 's')).at(-1)?.text).toMatch(/^39-99 /)
  })

  it('says how many lines a flood has cost, instead of filling the memory', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    for (let i = 0; i < 2000; i++) log.add('stderr', 'y'.repeat(1000))
    await log.flush()
    const last = (await readLog(stateDir, 's')).at(-1)
    expect(last).toMatchObject({
      stream: 'plugboard',
      text: expect.stringMatching(/^\d+ lines came too fast/),
    })
  })

  it('keeps lines in memory up to its bound, and writes them by a timer that ends with them', async () => {
    const stateDir = folder()
    const timers = new Set<object>()
    const log = logOf(stateDir, 's', counted(systemHost(), timers))
    // With its time and stream each is 1024 characters.
    const line = 'y'.repeat(1024 - row('').length)
    const fits = LOG_LIMITS.bufferedBytes / 1024
    for (let i = 0; i <= fits; i++) log.add('stderr', line)
    expect(timers.size).toBe(1)
    await log.flush()
    expect(timers.size).toBe(0)
    const lines = await readLog(stateDir, 's')
    expect(lines).toHaveLength(fits + 1)
    expect(lines.at(-1)?.text).toMatch(/^1 lines came too fast/)
  })

  it('makes no file where nothing was said', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    log.add('stderr', ' \r\n\n')
    await log.flush()
    expect(existsSync(logFile(stateDir, 's'))).toBe(false)
  })

  it.each([
    [0, false],
    [1, true],
  ])('begins a new file when the last one is over half of its bound (by %i bytes)', async (over, turns) => {
    const stateDir = folder()
    const file = logFile(stateDir, 's')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, 'z'.repeat(LOG_LIMITS.bytesPerServer / 2 + over))
    const log = logOf(stateDir)
    log.add('stderr', 'new')
    await log.flush()
    expect(existsSync(olderFile(stateDir))).toBe(turns)
    expect(statSync(file).size < 100).toBe(turns)
  })

  it('reads only rows that it wrote', async () => {
    const stateDir = folder()
    const file = logFile(stateDir, 's')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(
      file,
      `${row('sound  row')}nonsense\nyesterday stderr no time\n2026-01-02T03:04:05.678Z other no stream\n`,
    )
    expect(await readLog(stateDir, 's')).toEqual([
      { at: Date.parse('2026-01-02T03:04:05.678Z'), stream: 'stderr', text: 'sound  row' },
    ])
  })

  it('has the last lines of its two streams for errors, without frames of stack traces', () => {
    const log = logOf(folder())
    for (const stream of ['transport', 'server', 'plugboard'] as const) log.add(stream, `of ${stream}`)
    const frames = [
      '    at main (a.js:1:2)',
      '  File "a.py", line 3, in main',
      '    ~~^~~',
      'Node.js v20.1.0',
    ]
    for (const line of ['Error: x', ...frames]) log.add('stderr', line)
    log.add('stdout', 'not JSON')
    expect(log.tail()).toEqual(['Error: x', 'not JSON'])
    log.turnPage()
    expect(log.tail()).toEqual([])
    for (let i = 0; i <= LOG_LIMITS.linesInError; i++) log.add('stderr', `line ${i}`)
    const expected = Array.from({ length: LOG_LIMITS.linesInError }, (_, i) => `line ${i + 1}`)
    expect(log.tail()).toEqual(expected)
  })

  it('cuts a line that has no end', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    const whole = 'z'.repeat(LOG_LIMITS.lineBytes)
    log.add('stderr', whole)
    log.add('stderr', `${whole}z`)
    await log.flush()
    expect((await readLog(stateDir, 's')).map(({ text }) => text)).toEqual([whole, `${whole}…`])
  })

  it('can be followed from another process, across the turn of the file', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    log.add('stderr', 'before')
    await log.flush()
    const stop = new AbortController()
    const got: LogLine[] = []
    const following = (async () => {
      for await (const line of followLog(stateDir, 's', stop.signal)) got.push(line)
    })()
    await until('it has begun', async () => {
      log.add('stderr', 'is a client there?')
      await log.flush()
      return got.length > 0
    })
    const line = `${new Date().toISOString()} stderr from elsewhere\\n`
    const script = `require('fs').appendFileSync(${JSON.stringify(logFile(stateDir, 's'))}, "${line}")`
    await promisify(execFile)(process.execPath, ['-e', script])
    await until('the line arrives', () => got.some(({ text }) => text === 'from elsewhere'))
    for (let i = 0; i < 700; i++) {
      log.add('stderr', `${i} ${'w'.repeat(1000)}`)
      if (i % 100 === 99) await log.flush()
    }
    log.add('stderr', 'the end')
    await log.flush()
    await until('the end arrives', () => got.at(-1)?.text === 'the end')
    stop.abort()
    await following
    expect(got.filter(({ text }) => /^\d+ w/.test(text))).toHaveLength(700)
    expect(got[0]?.text).toBe('is a client there?')
    if (process.platform === 'linux')
      expect(openFiles().filter((path) => path.startsWith(stateDir))).toEqual([])
  })

  it('is followed on after files that are not the ones that were followed', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    log.add('stderr', 'a long line that the next file has no room for')
    await log.flush()
    const stop = new AbortController()
    const got: string[] = []
    const following = (async () => {
      for await (const { text } of followLog(stateDir, 's', stop.signal)) got.push(text)
    })()
    await until('it has begun', async () => {
      log.add('stderr', 'begun?')
      await log.flush()
      return got.includes('begun?')
    })
    writeFileSync(olderFile(stateDir), row('short'))
    writeFileSync(`${logFile(stateDir, 's')}.new`, row('after'))
    renameSync(`${logFile(stateDir, 's')}.new`, logFile(stateDir, 's'))
    await until('the line arrives', () => got.includes('after'))
    stop.abort()
    await following
    expect(got.filter((text) => text !== 'begun?')).toEqual(['after'])
  })

  it('gives a follower each line once, however often it looks', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    const stop = new AbortController()
    const got: string[] = []
    const following = (async () => {
      for await (const { text } of followLog(stateDir, 's', stop.signal)) got.push(text)
    })()
    const wanted = ['one', 'two', 'three']
    for (const text of wanted) {
      log.add('stderr', text)
      await log.flush()
      await until(`${text} arrives`, () => got.includes(text))
    }
    // Time for a few more looks at a file that does not change.
    await new Promise((done) => setTimeout(done, 5 * LOG_LIMITS.followMs))
    stop.abort()
    await following
    expect(got).toEqual(wanted)
  })

  it.skipIf(process.platform !== 'linux')('is not left open when following it fails', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    const file = logFile(stateDir, 's')
    const got: LogLine[] = []
    const following = (async () => {
      for await (const line of followLog(stateDir, 's', new AbortController().signal)) got.push(line)
    })()
    const failed = expect(following).rejects.toMatchObject({ code: 'EISDIR' })
    await until('it has begun', async () => {
      log.add('stderr', 'is a client there?')
      await log.flush()
      return got.length > 0
    })
    renameSync(file, `${file}.gone`)
    // A folder can be opened, but not read.
    mkdirSync(olderFile(stateDir))
    log.add('stderr', 'after')
    await log.flush()
    await failed
    expect(openFiles()).not.toContain(file)
  })

  it('is kept under a safe name of its own, whatever the server is called', () => {
    const names = ['plain', '../../etc/passwd', 'a/b', 'a_b', 'A_b', 'x'.repeat(300), 'con', '.', '']
    const files = names.map((name) => logFile('/s', name))
    expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(names.length)
    for (const file of files) expect(file).toMatch(/^\/s\/logs\/[\w-]*(\.[0-9a-f]{10})?\.log$/)
  })

  it('is readable by its owner alone', async () => {
    const stateDir = folder()
    const log = logOf(stateDir)
    log.add('stderr', 'secret')
    await log.flush()
    const file = logFile(stateDir, 's')
    expect(existsSync(file)).toBe(true)
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o077).toBe(0)
  })
})
