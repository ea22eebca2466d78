// The file that remembers which era a server is of: what is read of it, what is written, and for how long it counts.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ServerEntry } from '../config/entry.ts'
import { systemHost } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { EraMemory, type EraRecord } from './era-memory.ts'
import { type Discovery, MODERN_VERSION } from './server-info.ts'

let stateDir: string
let now: number
let warnings: string[]
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'eras-'))
  now = 10 * CONNECT_LIMITS.eraMemoryMs
  warnings = []
})
afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

const host = systemHost({ now: () => now })
const entry: ServerEntry = { type: 'stdio', command: 'x', args: [], env: {} }
const discovery: Discovery = { supportedVersions: [MODERN_VERSION], capabilities: {} }
const memory = () => new EraMemory(stateDir, host, (text) => warnings.push(text))
const file = () => join(stateDir, 'eras.json')
const saved = (): { version: number; records: Record<string, EraRecord> } =>
  JSON.parse(readFileSync(file(), 'utf8'))
/** Puts a record in the place that the entry has in the file. */
async function put(record: unknown, version: unknown = 1): Promise<void> {
  const first = memory()
  first.remember(entry, 'sig', { era: 'legacy' })
  await first.flush()
  const [key = ''] = Object.keys(saved().records)
  writeFileSync(file(), JSON.stringify({ version, records: { [key]: record } }))
}

describe('a record', () => {
  const modern = (more: object = {}) => ({ at: now, era: 'modern', discovery, ...more })
  it.each<[string, () => unknown, unknown]>([
    ['of the older era', () => ({ at: now, era: 'legacy' }), { era: 'legacy', stale: false }],
    [
      'of the older era that became SSE',
      () => ({ at: now, era: 'legacy', became: 'sse' }),
      { era: 'legacy', stale: false, became: 'sse' },
    ],
    [
      'that became something else',
      () => ({ at: now, era: 'legacy', became: 'x' }),
      { era: 'legacy', stale: false },
    ],
    ['of the modern era', () => modern(), { era: discovery, stale: true }],
    [
      'with a lifetime',
      () => modern({ discovery: { ...discovery, ttlMs: 1 } }),
      { era: { ...discovery, ttlMs: 1 }, stale: false },
    ],
    [
      'at the end of its lifetime',
      () => modern({ at: now - 5, discovery: { ...discovery, ttlMs: 5 } }),
      { era: { ...discovery, ttlMs: 5 }, stale: true },
    ],
    [
      'with a lifetime that is none',
      () => modern({ discovery: { ...discovery, ttlMs: 'x' } }),
      { era: discovery, stale: true },
    ],
    [
      'with instructions',
      () => modern({ discovery: { ...discovery, instructions: 'i' } }),
      { era: { ...discovery, instructions: 'i' }, stale: true },
    ],
    [
      'with instructions that are none',
      () => modern({ discovery: { ...discovery, instructions: 7 } }),
      { era: discovery, stale: true },
    ],
    [
      'of the modern era that became SSE',
      () => modern({ became: 'sse' }),
      { era: discovery, stale: true, became: 'sse' },
    ],
    ['of other versions', () => modern({ discovery: { ...discovery, supportedVersions: ['x'] } }), undefined],
    ['without versions', () => modern({ discovery: { capabilities: {} } }), undefined],
    ['without a discovery', () => ({ at: now, era: 'modern' }), undefined],
    ['of another era', () => ({ at: now, era: 'x', discovery }), undefined],
    ['without a date', () => ({ era: 'legacy' }), undefined],
    ['that is none', () => 7, undefined],
    ['of the future', () => ({ at: now + 1, era: 'legacy' }), undefined],
    [
      'of nearly a day ago',
      () => ({ at: now - CONNECT_LIMITS.eraMemoryMs + 1, era: 'legacy' }),
      { era: 'legacy', stale: false },
    ],
    ['of a day ago', () => ({ at: now - CONNECT_LIMITS.eraMemoryMs, era: 'legacy' }), undefined],
  ])('%s', async (_, record, known) => {
    await put(record())
    expect(await memory().recall(entry, 'sig')).toEqual(known)
  })

  it('of another version of the file is none', async () => {
    await put({ at: now, era: 'legacy' }, 2)
    expect(await memory().recall(entry, 'sig')).toBeUndefined()
    for (const text of ['[]', '7', '{"version":1}', '{"version":1,"records":[]}', '{']) {
      writeFileSync(file(), text)
      expect(await memory().recall(entry, 'sig')).toBeUndefined()
    }
    expect(warnings).toEqual([])
  })

  it('in a file that cannot be read is told', async () => {
    mkdirSync(file())
    expect(await memory().recall(entry, 'sig')).toBeUndefined()
    expect(warnings).toEqual([`${file()} is a folder, not a file`])
  })
})

describe('the file', () => {
  it('keeps what others wrote, loses what is forgotten, and is its owner’s', async () => {
    const [mine, other] = [memory(), memory()]
    mine.remember(entry, 'a', { era: 'legacy' })
    await mine.flush()
    other.remember(entry, 'b', { era: 'modern', discovery })
    await other.flush()
    expect(Object.values(saved().records)).toHaveLength(2)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    await mine.recall(entry, 'a')
    mine.forget(entry, 'a')
    expect(await mine.recall(entry, 'a')).toBeUndefined()
    await mine.flush()
    expect(Object.values(saved().records)).toMatchObject([{ era: 'modern' }])
  })

  it('is not written for what was never known', async () => {
    const mine = memory()
    await mine.recall(entry, 'a')
    mine.forget(entry, 'a')
    mine.remember({ type: 'sdk' }, 'a', { era: 'legacy' })
    await mine.flush()
    expect(existsSync(file())).toBe(false)
  })

  it('drops what is old, and the oldest of too many', async () => {
    const records: Record<string, object> = { old: { at: now - CONNECT_LIMITS.eraMemoryMs, era: 'legacy' } }
    for (let at = 0; at < CONNECT_LIMITS.eraRecords; at++)
      records[`k${at}`] = { at: now - 1 - at, era: 'legacy' }
    writeFileSync(file(), JSON.stringify({ version: 1, records }))
    const mine = memory()
    mine.remember(entry, 'a', { era: 'legacy' })
    await mine.flush()
    const kept = Object.keys(saved().records)
    expect(kept).toHaveLength(CONNECT_LIMITS.eraRecords)
    expect(kept).toContain('k0')
    expect(kept).not.toContain('old')
    expect(kept).not.toContain(`k${CONNECT_LIMITS.eraRecords - 1}`)
  })

  it('that cannot be written is told once, and costs nothing else', async () => {
    mkdirSync(file())
    const mine = memory()
    await mine.recall(entry, 'a')
    mine.remember(entry, 'a', { era: 'legacy' })
    await mine.flush()
    expect(warnings.at(-1)).toMatch(/eras\.json could not be written: \S/)
    expect(await mine.recall(entry, 'a')).toEqual({ era: 'legacy', stale: false })
  })
})
