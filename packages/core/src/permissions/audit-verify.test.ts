// What the check of an audit log finds, line by line: chains, blocks, seals and end marks made by hand.
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { AuditLog } from './audit.ts'
import { blockHash, endOf, isCut, parseLine, readHead, START, writeHead } from './audit-file.ts'
import { type AuditKey, type AuditKeys, auditKeys, isSealed, sealOf } from './audit-seal.ts'
import { readAudit, verifyAudit } from './audit-verify.ts'

let folder: string
let path: string
let keys: AuditKeys
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verify-'))
  path = join(folder, 'audit.jsonl')
  keys = auditKeys({ path })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function write(count: number, over: object = {}): Promise<void> {
  const log = new AuditLog({ path, host: systemHost(), ...over })
  for (let index = 0; index < count; index++)
    log.record({
      server: 'git',
      tool: 'log',
      decision: { outcome: 'allow', reason: { kind: 'rule', text: 'a rule' } },
      outcome: 'ok',
    })
  await log.flush()
}
const locked: AuditKeys = {
  load: () => Promise.reject(new Error('locked')),
  make: () => Promise.reject(new Error('locked')),
}
const rows = async () => (await readFile(path, 'utf8')).trimEnd().split('\n')
const put = (lines: readonly string[]) => writeFile(path, lines.map((line) => `${line}\n`).join(''))

/** A line that closes a block, with the hash that belongs to it. */
function closing(fields: object, before = ''): { row: string; hash: string } {
  const body = JSON.stringify(fields)
  const hash = blockHash(before, body)
  return { row: `${body.slice(0, -1)},"hash":"${hash}"}`, hash }
}

const key: AuditKey = { bytes: Buffer.alloc(32, 1), since: 5, kept: 'file' }

describe('a seal', () => {
  const seal = sealOf(key, 'line', 7, 'abc')
  it.each<[string, boolean, unknown, Parameters<typeof isSealed>[1], number]>([
    ['is its own', true, seal, 'line', 7],
    ['is of another kind', false, seal, 'head', 7],
    ['is of another line', false, seal, 'line', 8],
    ['is another of the same length', false, 'f'.repeat(64), 'line', 7],
    ['is shorter', false, seal.slice(0, 62), 'line', 7],
    ['is empty', false, '', 'line', 7],
    ['is missing', false, undefined, 'line', 7],
    ['is no text', false, 7, 'line', 7],
  ])('that %s holds: %s', (_, holds, given, kind, seq) => {
    expect(isSealed(key, kind, seq, 'abc', given)).toBe(holds)
  })
})

describe('the end mark', () => {
  const end = { seq: 5, hash: 'e' }
  const sealed = (seq: number, hash: string) => ({ seq, hash, mac: sealOf(key, 'head', seq, hash) })
  it.each<[string, Parameters<typeof isCut>[1], AuditKey | undefined, boolean]>([
    ['none, and no key', undefined, undefined, false],
    ['none, with a key', undefined, key, true],
    ['of the last line', { seq: 5, hash: 'e' }, undefined, false],
    ['of another last line', { seq: 5, hash: 'x' }, undefined, true],
    ['of a later line', { seq: 6, hash: 'e' }, undefined, true],
    ['of an earlier line', { seq: 4, hash: 'x' }, undefined, false],
    ['sealed', sealed(5, 'e'), key, false],
    ['unsealed since the key came into use', { seq: 5, hash: 'e' }, key, true],
    ['unsealed from before', { seq: 4, hash: 'x' }, key, false],
    ['with the seal of another line', { ...sealed(4, 'e'), seq: 5 }, key, true],
  ])('%s: lines are missing: %s', (_, head, withKey, cut) => {
    expect(isCut(end, head, withKey)).toBe(cut)
  })

  it('is read as it was written, and anything else is none', async () => {
    expect(await readHead(path)).toBeUndefined()
    await writeHead(path, { seq: 3, hash: 'h' }, undefined)
    expect(await readHead(path)).toEqual({ seq: 3, hash: 'h', mac: undefined })
    await writeHead(path, { seq: 3, hash: 'h' }, key)
    expect(await readHead(path)).toEqual({ seq: 3, hash: 'h', mac: sealOf(key, 'head', 3, 'h') })
    for (const text of [
      '{"seq":3}',
      '{"hash":"h"}',
      '{"seq":"3","hash":"h"}',
      '{"seq":3,"hash":7}',
      '3',
      'x',
    ]) {
      await writeFile(`${path}.head`, text)
      expect([text, await readHead(path)]).toEqual([text, undefined])
    }
  })

  it('that lost its seal is a fault from the first line with the key on', async () => {
    await write(1, { keys })
    const { mac: _, ...head } = JSON.parse(await readFile(`${path}.head`, 'utf8'))
    await writeFile(`${path}.head`, JSON.stringify(head))
    expect(await verifyAudit(path, keys)).toMatchObject({
      ok: false,
      line: 2,
      problem: 'may be missing: the end mark of the log has no seal of this key',
    })
  })
})

describe('a line', () => {
  it.each<[string, unknown]>([
    ['{"a":1}', { a: 1 }],
    ['7', undefined],
    ['"x"', undefined],
    ['null', undefined],
    ['{', undefined],
    ['', undefined],
  ])('%s is read as %j', (text, value) => {
    expect(parseLine(text)).toEqual(value)
  })

  it.each<[string, (lines: string[]) => string[], number, string]>([
    [
      'changed, alone in its block',
      ([a = '', ...rest]) => [a.replace('allow', 'deny'), ...rest],
      1,
      'was changed after it was written',
    ],
    [
      'changed, in a block of several',
      ([a = '', b = '', ...rest]) => [a, b, ...rest.map((row) => row.replace('allow', 'deny'))],
      2,
      'or a line after it was changed after it was written',
    ],
    ['after one that is missing', ([a = '', _b, c = '']) => [a, c], 2, 'does not follow the line before it'],
    [
      'of an unfinished block, after one that is missing',
      (lines) => [...lines, '{"seq":5}'],
      4,
      'does not follow the line before it',
    ],
  ])('%s is named', async (_, tamper, line, problem) => {
    await write(3)
    await rm(`${path}.head`)
    const honest = await rows()
    expect(honest).toHaveLength(3)
    await put(tamper(honest))
    expect(await verifyAudit(path)).toMatchObject({ ok: false, line, problem })
  })

  it('of a block that belongs to another chain does not follow, also after lines without a hash', async () => {
    const first = closing({ seq: 1, prev: START })
    const second = closing({ seq: 2, prev: 'f'.repeat(64) })
    await put([first.row, second.row])
    const fault = { ok: false, problem: 'does not follow the line before it' }
    expect(await verifyAudit(path)).toMatchObject({ ...fault, line: 2 })
    const open = '{"seq":2}'
    await put([first.row, open, closing({ seq: 3, prev: 'f'.repeat(64) }, `${open}\n`).row])
    expect(await verifyAudit(path)).toMatchObject({ ...fault, line: 2 })
    await put([first.row, open, closing({ seq: 3, prev: first.hash }, `${open}\n`).row])
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 3 })
  })
})

describe('seals', () => {
  const NOT_FIRST = 'does not start its file: lines before it were removed'
  const unsealed = (row: string) => row.replace(/,"mac":"[0-9a-f]+"/, '')

  it('show that the first line of a file was removed, or its seal', async () => {
    await write(3, { keys })
    const [first = '', ...rest] = await rows()
    expect(rest).toHaveLength(2)
    await put(rest)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false, line: 1, problem: NOT_FIRST })
    await put([unsealed(first), ...rest])
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false, line: 1, problem: NOT_FIRST })
  })

  it.each([1, 2, 3])('that were all removed are missed, after %i lines with the key', async (count) => {
    await write(4)
    await write(count, { keys })
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: true, seals: { since: 5, unsealed: 0 } })
    await put((await rows()).map(unsealed))
    expect(await verifyAudit(path, keys)).toMatchObject({
      ok: false,
      line: 5 + count,
      problem: /the seals were removed$/,
    })
  })

  it('may be missing at the end while the key cannot be read', async () => {
    await write(4)
    await write(1, { keys })
    await write(2, { keys: locked })
    expect(await verifyAudit(path, keys)).toMatchObject({
      ok: true,
      lines: 7,
      seals: { since: 5, unsealed: 2 },
    })
  })
})

describe('the end of a log', () => {
  it('is its only line', async () => {
    await write(1)
    expect(await endOf(path)).toMatchObject({ seq: 1, open: '', startsFile: false })
    await write(1)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 2 })
  })

  it('may be lines without any hash', async () => {
    await put(['{"seq":1}', '{"seq":2}'])
    expect(await endOf(path)).toEqual({
      seq: 2,
      hash: START,
      open: '{"seq":1}\n{"seq":2}\n',
      startsFile: false,
    })
    await write(1)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 3 })
  })

  it('is found behind many lines of a writer that died', async () => {
    await write(2)
    const open = Array.from({ length: 700 }, (_, at) =>
      JSON.stringify({ seq: at + 3, text: 'x'.repeat(100) }),
    )
    await appendFile(path, open.map((row) => `${row}\n`).join(''))
    await write(1)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 703 })
  })

  it('is where the last whole line ends', async () => {
    await put(['{"seq":1}'])
    expect(await endOf(path)).not.toHaveProperty('tornAt')
    await appendFile(path, '{"se')
    expect(await endOf(path)).toMatchObject({ seq: 1, tornAt: 10 })
    await writeFile(path, '{"se')
    expect(await endOf(path)).toEqual({ seq: 0, hash: START, open: '', startsFile: true, tornAt: 0 })
  })

  it('is at the end of the rotated file while the new one is empty', async () => {
    await write(2)
    const [, last = ''] = await rows()
    await writeFile(`${path}.000000000002`, await readFile(path))
    await writeFile(`${path}.00000000000x`, 'not one of them')
    await writeFile(path, '')
    expect(await endOf(path)).toMatchObject({ seq: 2, hash: JSON.parse(last).hash, startsFile: true })
    expect((await readAudit(path, 5)).map(({ seq }) => seq)).toEqual([1, 2])
  })
})
