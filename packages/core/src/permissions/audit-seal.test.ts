import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryVault } from '../auth/vault.ts'
import { systemHost } from '../host.ts'
import { AuditLog } from './audit.ts'
import { type AuditKeys, auditKeys } from './audit-seal.ts'
import { verifyAudit } from './audit-verify.ts'

let folder: string
let path: string
let keys: AuditKeys
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'seal-'))
  path = join(folder, 'audit.jsonl')
  keys = auditKeys({ path })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function write(count: number, over: { keys?: AuditKeys | undefined; fileBytes?: number } = { keys }) {
  const log = new AuditLog({ path, host: systemHost(), ...over })
  for (let index = 0; index < count; index++)
    log.record({
      server: 'git',
      tool: 'log',
      decision: { outcome: 'allow', reason: { kind: 'rule', text: 'a rule' } },
      outcome: 'ok',
      arguments: { index },
    })
  await log.flush()
}
const rows = async () => (await readFile(path, 'utf8')).trimEnd().split('\n')
const put = (lines: readonly string[]) => writeFile(path, lines.map((line) => `${line}\n`).join(''))

/** What a program without the key can do: recompute the public hash chain, with the seals it finds. */
function rechained(lines: readonly string[], keepSeals: boolean): string[] {
  let prev = '0'.repeat(64)
  return lines.map((line, index) => {
    const { hash: _, mac, ...fields } = JSON.parse(line)
    const body = JSON.stringify({ ...fields, seq: index + 1, prev })
    prev = createHash('sha256').update(body).digest('hex')
    const seal = keepSeals && mac ? `,"mac":"${mac}"` : ''
    return `${body.slice(0, -1)},"hash":"${prev}"${seal}}`
  })
}
const headOf = (lines: readonly string[]) => {
  const { seq, hash } = JSON.parse(lines.at(-1) ?? '{}')
  return writeFile(`${path}.head`, JSON.stringify({ seq, hash }))
}

describe('seals of the audit log', () => {
  it('hold over many writers, and the key is readable by its owner alone', async () => {
    await write(3)
    await Promise.all([write(5), write(5)])
    expect(await verifyAudit(path, keys)).toEqual({
      ok: true,
      lines: 13,
      firstSeq: 1,
      rotatedAway: 0,
      seals: { key: 'file', since: 1, unsealed: 0 },
    })
    expect((await stat(`${path}.key`)).mode & 0o777).toBe(0o600)
  })

  it('are one for a batch, whatever its size', async () => {
    await write(200)
    expect((await rows()).filter((line) => line.includes('"mac":'))).toHaveLength(2)
  })

  it.each([
    ['taken out of the middle', (lines: string[]) => lines.toSpliced(3, 1)],
    ['taken off the beginning', (lines: string[]) => lines.slice(2)],
    ['taken off the end', (lines: string[]) => lines.slice(0, -2)],
    ['put in', (lines: string[]) => lines.toSpliced(3, 0, lines[2] ?? '')],
    ['moved', (lines: string[]) => [...lines.slice(0, 2), ...lines.slice(2).reverse()]],
    ['changed', (lines: string[]) => lines.map((line) => line.replace('"index":4', '"index":40'))],
  ])('show a line that was %s, even when the chain and its end were made anew', async (_, edit) => {
    await write(5)
    await write(5)
    const honest = await rows()
    for (const keepSeals of [true, false]) {
      const forged = rechained(edit([...honest]), keepSeals)
      expect(forged).not.toEqual(honest)
      await put(forged)
      await headOf(forged)
      expect(await verifyAudit(path, keys)).toMatchObject({ ok: false })
      // Without the key the same forgery is not detected, except by the seals: that is what the key is for.
      if (!keepSeals) expect(await verifyAudit(path)).toMatchObject({ ok: true })
    }
  })

  it('show that the note of the end is gone, at once and after the next line', async () => {
    await write(4)
    const lines = await rows()
    await put(lines.slice(0, 2))
    await unlink(`${path}.head`)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false, problem: /end mark/ })
    await write(1)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false, problem: /removed/ })
  })

  it('show that the whole log is gone', async () => {
    await write(4)
    await unlink(path)
    await unlink(`${path}.head`)
    await write(1)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false })
  })

  it('start with the first line that is written with a key, and cover the lines before it', async () => {
    await write(4, {})
    expect(await verifyAudit(path, keys)).toEqual({ ok: true, lines: 4, firstSeq: 1, rotatedAway: 0 })
    await write(2)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: true, lines: 6, seals: { since: 5 } })
    const forged = rechained(
      (await rows()).map((line) => line.replace('"index":2', '"index":20')),
      true,
    )
    await put(forged)
    await headOf(forged)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false })
  })

  it('hold when files are rotated away', async () => {
    for (let round = 0; round < 12; round++) await write(20, { keys, fileBytes: 3000 })
    const check = await verifyAudit(path, keys)
    expect(check).toMatchObject({ ok: true, seals: { unsealed: 0 } })
    expect(check.ok && check.firstSeq).toBeGreaterThan(1)
  })

  it('are kept in the vault where one is in use, and a key file does not take its place', async () => {
    const vault = memoryVault()
    keys = auditKeys({ path, vault: async () => vault })
    await write(2)
    await expect(stat(`${path}.key`)).rejects.toThrow(/ENOENT/)
    await writeFile(`${path}.key`, JSON.stringify({ key: Buffer.alloc(32).toString('base64'), since: 1 }))
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: true, seals: { key: 'vault' } })
  })

  it('wait for a key that cannot be read now, and the lines are written all the same', async () => {
    await write(2)
    const locked: AuditKeys = { load: () => Promise.reject(new Error('locked')), make: keys.make }
    await write(2, { keys: locked })
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: true, lines: 4, seals: { unsealed: 2 } })
    await write(1)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: true, lines: 5, seals: { unsealed: 0 } })
  })

  it('cannot be judged without the key', async () => {
    await write(2)
    await copyFile(`${path}.key`, `${path}.saved`)
    await unlink(`${path}.key`)
    expect(await verifyAudit(path, keys)).toMatchObject({ ok: false, problem: /key that is not here/ })
  })

  it.each<[string, RegExp]>([
    ['{"key":"AAAA","since":1}', /damaged/],
    ['{"key":7,"since":1}', /damaged/],
    [JSON.stringify({ key: Buffer.alloc(32).toString('base64') }), /damaged/],
    ['', /./],
  ])('refuse the key %s', async (text, message) => {
    await writeFile(`${path}.key`, text)
    await expect(keys.load()).rejects.toThrow(message)
  })

  it('have no key before the first line, and refuse one that cannot be read', async () => {
    expect(await keys.load()).toBeUndefined()
    await mkdir(`${path}.key`)
    await expect(keys.load()).rejects.toThrow(/cannot be read/)
  })

  it('say which store keeps the key', async () => {
    for (const [vault, kept] of [
      [{ ...memoryVault(), kind: 'keychain' as const }, 'keychain'],
      [memoryVault(), 'vault'],
    ] as const) {
      const made = await auditKeys({ path, vault: async () => vault }).make(1)
      expect(made.key.kept).toBe(kept)
    }
    expect((await keys.make(1)).key.kept).toBe('file')
  })
})
