// When audit lines are written: gathered for a moment, at once when told to, bounded in memory and on disk.
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { AUDIT_LIMITS } from '../limits.ts'
import { type AuditEvent, AuditLog, type AuditOptions } from './audit.ts'
import { readAudit } from './audit-verify.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'))
  path = join(folder, 'audit.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const event = (over: Partial<AuditEvent> = {}): AuditEvent => ({
  server: 's',
  tool: 't',
  decision: { outcome: 'allow', reason: { kind: 'default', text: '' } },
  outcome: 'ok',
  ...over,
})
/** A log whose timers run only when the test lets them. */
function logWithTimers(over: Partial<AuditOptions> = {}) {
  const timers = new Set<() => void>()
  const waits: number[] = []
  const host = systemHost({
    now: () => 0,
    backgroundTimer: (ms, done) => {
      waits.push(ms)
      timers.add(done)
      return () => timers.delete(done)
    },
  })
  const fire = () => {
    for (const done of timers) done()
    timers.clear()
  }
  return { audit: new AuditLog({ path, host, ...over }), timers, waits, fire }
}
const written = async () => (await readAudit(path, 1e6)).length
/** Long enough for a line that is not held back to be on its way. */
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done))
}

describe('lines', () => {
  it('are gathered until the timer runs, and again for the next lines', async () => {
    const { audit, waits, fire } = logWithTimers()
    for (const round of [1, 2]) {
      expect(audit.record(event())).toBeUndefined()
      expect(audit.record(event())).toBeUndefined()
      // The lines before may still be on their way to the disk.
      await expect.poll(() => waits).toHaveLength(round)
      await turns()
      expect(await written()).toBe(2 * (round - 1))
      expect(waits.at(-1)).toBe(AUDIT_LIMITS.gatherMs)
      fire()
      await expect.poll(written).toBe(2 * round)
    }
  })

  it('are written by a flush, which leaves no timer, and gathered again after it', async () => {
    const { audit, timers, waits } = logWithTimers()
    audit.record(event())
    const flushed = audit.flush()
    await Promise.resolve()
    audit.record(event())
    await flushed
    expect(await written()).toBe(2)
    expect(timers.size).toBe(0)
    audit.record(event())
    await turns()
    expect(await written()).toBe(2)
    expect(waits).toHaveLength(2)
    await audit.flush()
    expect(await written()).toBe(3)
  })

  it('leave no file open', async () => {
    const { audit } = logWithTimers()
    for (let round = 0; round < 3; round++) {
      audit.record(event())
      await audit.flush()
    }
    const open = await Promise.all(
      (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
    )
    expect(open.filter((file) => file.startsWith(path))).toEqual([])
  })

  it('wait for room from the limit of waiting lines on', async () => {
    const { audit } = logWithTimers({ fileBytes: 1e9 })
    let first: number | undefined
    for (let index = 0; first === undefined; index++) if (audit.record(event())) first = index
    expect(first).toBe(AUDIT_LIMITS.queued)
    await audit.flush()
  })

  it('wait for room from the limit of waiting bytes on', async () => {
    const { audit } = logWithTimers({ fileBytes: 1e9 })
    const large = event({ arguments: Array.from({ length: 15 }, () => 'x'.repeat(200)) })
    let first: number | undefined
    for (let index = 0; first === undefined; index++) if (audit.record(large)) first = index
    await audit.flush()
    const rows = (await readFile(path, 'utf8')).trimEnd().split('\n')
    // The caller is told to wait as soon as the bytes are there, and no line is dropped before.
    expect(rows).toHaveLength((first ?? 0) + 1)
    expect(Buffer.byteLength(rows.join('\n'))).toBeGreaterThanOrEqual(AUDIT_LIMITS.queuedBytes)
    expect(first).toBeLessThan(AUDIT_LIMITS.queuedBytes / 3000 + AUDIT_LIMITS.latest)
  })

  it('are in another file once one is larger than its limit, not before', async () => {
    const write = async (fileBytes: number) => {
      await rm(folder, { recursive: true })
      const { audit } = logWithTimers({ fileBytes })
      audit.record(event())
      await audit.flush()
      return (await readdir(folder)).filter((name) => /\.\d+$/.test(name))
    }
    expect(await write(1e6)).toEqual([])
    const { length } = await readFile(path)
    expect(await write(length)).toEqual([])
    expect(await write(length - 1)).toEqual(['audit.jsonl.000000000001'])
  })
})

describe('a line', () => {
  it('is about its own server, tool and caller, whatever the line before is about', async () => {
    const { audit } = logWithTimers()
    const subjects: Pick<AuditEvent, 'server' | 'tool' | 'caller'>[] = [
      { server: 'a', tool: 'x', caller: 'user' },
      { server: 'a', tool: 'x', caller: 'user' },
      { server: 'a', tool: 'y', caller: 'user' },
      { server: 'b', tool: 'y', caller: 'user' },
      { server: 'b', tool: 'y', caller: 'agent' },
      { server: 'b', tool: 'y' },
    ]
    for (const subject of subjects) audit.record(event(subject))
    await audit.flush()
    const read = await readAudit(path, 10)
    expect(
      read.map(({ server, tool, caller }) => ({ server, tool, ...(caller !== undefined && { caller }) })),
    ).toEqual(subjects)
  })

  it('has the fields that there are', async () => {
    const { audit } = logWithTimers()
    audit.record(event())
    audit.record(event({ durationMs: 3, error: 'TIMEOUT', arguments: () => 1 }))
    await audit.flush()
    const [bare, full] = await readAudit(path, 2)
    for (const field of ['arguments', 'durationMs', 'error']) expect(bare).not.toHaveProperty(field)
    expect(full).toMatchObject({ durationMs: 3, error: 'TIMEOUT', arguments: null })
  })

  it('shows arguments as long as half a line has room', () => {
    const { audit } = logWithTimers()
    const long = Array.from({ length: 40 }, () => 'x'.repeat(200))
    const texts = Array.from({ length: 200 }, (_, rest) => audit.shown('s', { long, y: 'y'.repeat(rest) }))
    const shown = texts.filter((text) => text !== '"[too large]"').map(({ length }) => length)
    expect(shown.length).toBeLessThan(texts.length)
    expect(Math.max(...shown)).toBe(AUDIT_LIMITS.lineBytes / 2)
  })
})

describe('a line', () => {
  it.each<[string, Partial<AuditEvent>, object]>([
    ['now, without arguments', {}, { time: '1970-01-01T00:00:00.000Z' }],
    ['at its own time', { at: 5000 }, { time: '1970-01-01T00:00:05.000Z' }],
    [
      'with its arguments',
      { at: 5000, arguments: { a: 1 } },
      { time: '1970-01-01T00:00:05.000Z', arguments: { a: 1 } },
    ],
    ['with its arguments, now', { arguments: { a: 1 } }, { arguments: { a: 1 } }],
    [
      'with what was shown',
      { at: 5000, arguments: { a: 1 }, shownArguments: '{"b":2}' },
      { arguments: { b: 2 } },
    ],
    ['with what was shown, now', { arguments: { a: 1 }, shownArguments: '{"b":2}' }, { arguments: { b: 2 } }],
  ])('is written %s', async (_, over, expected) => {
    const { audit } = logWithTimers()
    audit.record(event(over))
    await audit.flush()
    const [line] = await readAudit(path, 1)
    expect(line).toMatchObject(expected)
    expect('arguments' in (line ?? {})).toBe('arguments' in over)
  })
})

it('a line says of its own call when it was, who made it and how it ended', async () => {
  const times = [1000, 1000, 2001, 2001, 61_002, 61_002]
  const audit = new AuditLog({ path, host: systemHost({ now: () => times.shift() ?? 0 }) })
  const calls: Partial<AuditEvent>[] = [
    { user: 'ann' },
    { user: 'bob' },
    { user: 'bob', outcome: 'failed' },
    { user: 'bob', outcome: 'failed', tool: 'u' },
    { user: 'bob', outcome: 'failed', tool: 'u', server: 'r' },
    { user: 'bob', outcome: 'failed', tool: 'u', server: 'r', caller: 'agent' },
    { user: 'ann', at: 5 },
    { user: 'ann', at: 6, arguments: { a: 1 } },
  ]
  for (const call of calls) audit.record(event(call))
  await audit.flush()
  const lines = await readAudit(path, 100)
  expect(
    lines.map(({ user, outcome, tool, server, caller }) => ({ user, outcome, tool, server, caller })),
  ).toEqual(
    calls.map(({ user, outcome = 'ok', tool = 't', server = 's', caller }) => ({
      user,
      outcome,
      tool,
      server,
      caller,
    })),
  )
  expect(lines.map(({ time }) => Date.parse(String(time)))).toEqual([
    1000, 1000, 2001, 2001, 61_002, 61_002, 5, 6,
  ])
  expect(lines.at(-1)?.['arguments']).toEqual({ a: 1 })
})
