// Unpacking and looking into an archive at its limits: exactly what is allowed passes, one more is refused.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BUNDLE_LIMITS } from '../../limits.ts'
import { crc32 } from './crc32.ts'
import { type ArchiveLimits, peekArchive, unpackArchive } from './unpack.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'plugboard-unpack-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))
const bundles = () => join(base, 'bundles')

interface Item {
  readonly name: string
  readonly data?: string
  readonly mode?: number
  readonly sum?: number
  readonly encrypted?: boolean
}

/** A zip of stored entries. */
function zipOf(items: readonly Item[]): Buffer {
  const locals: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const { name, data = '', mode = 0o100644, sum, encrypted } of items) {
    // An encrypted entry begins with a header of twelve bytes.
    const bytes = Buffer.concat([Buffer.alloc(encrypted ? 12 : 0), Buffer.from(data)])
    const path = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(encrypted ? 1 : 0, 2)
    common.writeUInt32LE(sum ?? crc32(bytes), 10)
    common.writeUInt32LE(bytes.length, 14)
    common.writeUInt32LE(Buffer.byteLength(data), 18)
    common.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, bytes])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE((mode << 16) >>> 0, 6)
    tail.writeUInt32LE(offset, 10)
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), common, tail, path]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(items.length, 8)
  end.writeUInt16LE(items.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}
const MANIFEST: Item = { name: 'manifest.json', data: '{"name":"x"}' }
function archive(...items: Item[]): string {
  const file = join(base, 'a.mcpb')
  writeFileSync(file, zipOf(items))
  return file
}
const limits = (over: Partial<ArchiveLimits>): ArchiveLimits => ({ ...BUNDLE_LIMITS, ...over })
const unpack = (over: Partial<ArchiveLimits>, ...items: Item[]) =>
  unpackArchive(archive(...items), bundles(), { limits: limits(over) })
/** Nothing but whole bundles is left. */
const drafts = () =>
  existsSync(bundles()) ? readdirSync(bundles()).filter((name) => name.startsWith('.')) : []

describe('unpacking', () => {
  it('writes exactly the files, with the executable bit alone', async () => {
    const folder = await unpack(
      {},
      MANIFEST,
      { name: 'bin/run', data: 'x', mode: 0o100755 },
      { name: 'empty/', mode: 0o040755 },
      { name: 'plain', data: 'y', mode: 0 },
    )
    expect(readdirSync(folder).sort()).toEqual(['bin', 'empty', 'manifest.json', 'plain'])
    const modes = ['bin/run', 'plain', 'manifest.json'].map(
      (name) => statSync(join(folder, name)).mode & 0o777,
    )
    expect(modes).toEqual([0o700, 0o600, 0o600])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(folder).toBe(
      join(
        bundles(),
        createHash('sha256')
          .update(readFileSync(join(base, 'a.mcpb')))
          .digest('hex'),
      ),
    )
    expect(drafts()).toEqual([])
  })

  const more: Item = { name: 'f', data: 'x'.repeat(88) }
  it.each<[string, Partial<ArchiveLimits>, boolean]>([
    ['as many files as allowed', { files: 2 }, true],
    ['one file more', { files: 1 }, false],
    ['as many bytes as allowed', { unpackedBytes: 100 }, true],
    ['one byte more', { unpackedBytes: 99 }, false],
    ['a manifest as long as allowed', { manifestBytes: 12 }, true],
    ['a longer manifest', { manifestBytes: 11 }, false],
    ['an archive as large as allowed', { archiveBytes: zipOf([MANIFEST, more]).length }, true],
    ['a larger archive', { archiveBytes: zipOf([MANIFEST, more]).length - 1 }, false],
  ])('%s', async (_, over, fine) => {
    const attempt = unpack(over, MANIFEST, more)
    if (fine) expect(existsSync(await attempt)).toBe(true)
    else await expect(attempt).rejects.toThrow(/larger than|more than/)
    expect(drafts()).toEqual([])
  })

  it.each<[string, Item[], RegExp]>([
    ['a link', [MANIFEST, { name: 'l', mode: 0o120777 }], /neither a file nor a folder/],
    [
      'a folder that says it is a file',
      [MANIFEST, { name: 'd/', mode: 0o100644 }],
      /neither a file nor a folder/,
    ],
    [
      'a file that says it is a folder',
      [MANIFEST, { name: 'd', mode: 0o040755 }],
      /neither a file nor a folder/,
    ],
    ['no manifest', [{ name: 'x' }], /no manifest\.json/],
    ['a name in two spellings', [MANIFEST, { name: 'a' }, { name: 'A' }], /twice/],
    ['a file that is a folder too', [MANIFEST, { name: 'a' }, { name: 'a/b' }], /a file and a folder/],
    [
      'a file and a folder of one name',
      [MANIFEST, { name: 'a' }, { name: 'a/', mode: 0o040755 }],
      /a file and a folder/,
    ],
    ['an encrypted file', [MANIFEST, { name: 'a', encrypted: true }], /encrypted/],
    ['a wrong sum', [MANIFEST, { name: 'a', data: 'x', sum: 5 }], /damaged/],
    ['a device', [MANIFEST, { name: 'a/NUL.txt' }], /not a name/],
    ['a name that ends with a dot', [MANIFEST, { name: 'a./b' }], /not a name/],
    ['a name with a colon', [MANIFEST, { name: 'ab:c' }], /not a name/],
    ['a name that is too long', [MANIFEST, { name: 'x'.repeat(1025) }], /too long/],
  ])('refuses %s and leaves nothing', async (_, items, message) => {
    await expect(unpack({}, ...items)).rejects.toThrow(message)
    expect(existsSync(bundles()) ? readdirSync(bundles()) : []).toEqual([])
  })

  it.each(['com', 'com10', 'console', 'nul2', 'a.nul', '.x', 'x'.repeat(255)])(
    'takes a file named %s',
    async (name) => {
      expect(existsSync(join(await unpack({}, MANIFEST, { name }), name))).toBe(true)
    },
  )

  it('takes only the archive that was approved, and nothing that is no file', async () => {
    const file = archive(MANIFEST)
    const wanted = createHash('sha256').update(readFileSync(file)).digest('hex')
    await expect(unpackArchive(file, bundles(), { wanted: 'f'.repeat(64) })).rejects.toThrow('changed since')
    expect(readdirSync(bundles())).toEqual([])
    expect(await unpackArchive(file, bundles(), { wanted })).toBe(join(bundles(), wanted))
    await expect(unpackArchive(base, bundles())).rejects.toThrow('not a regular file')
  })

  it('stops when asked to, and when its last step fails', async () => {
    const file = archive(MANIFEST)
    await expect(unpackArchive(file, bundles(), { signal: AbortSignal.abort() })).rejects.toThrow()
    const prepare = () => Promise.reject(new Error('not prepared'))
    await expect(unpackArchive(file, bundles(), { prepare })).rejects.toThrow('not prepared')
    expect(existsSync(bundles()) ? readdirSync(bundles()) : []).toEqual([])
  })
})

describe('looking into an archive', () => {
  const peek = (
    budget: { plugins: number; bytes: number },
    over: Partial<ArchiveLimits> = {},
    file = archive(MANIFEST),
  ) => peekArchive(file, limits(over), budget, undefined)
  const size = zipOf([MANIFEST]).length

  it('gives its hash and manifest, and takes what it read from the budget', async () => {
    const budget = { plugins: 2, bytes: 2 * size }
    const { hash, manifest } = await peek(budget)
    expect([hash.length, manifest, budget]).toEqual([64, MANIFEST.data, { plugins: 1, bytes: size }])
    await peek(budget)
    expect(budget).toEqual({ plugins: 0, bytes: 0 })
    await expect(peek(budget)).rejects.toThrow('too many or too large')
  })

  it.each<[string, { plugins: number; bytes: number }, boolean]>([
    ['exactly enough', { plugins: 1, bytes: size }, true],
    ['one byte too few', { plugins: 1, bytes: size - 1 }, false],
    ['no plugin left', { plugins: 0, bytes: size }, false],
  ])('with %s', async (_, budget, fine) => {
    if (fine) expect((await peek(budget, { manifestBytes: 12, files: 1 })).manifest).toBe(MANIFEST.data)
    else await expect(peek(budget)).rejects.toThrow('too many or too large')
  })

  it.each<[string, () => string, Partial<ArchiveLimits>, RegExp]>([
    ['a folder', () => base, {}, /not a regular file/],
    ['no manifest', () => archive({ name: 'x' }), {}, /no manifest\.json/],
    ['an encrypted manifest', () => archive({ ...MANIFEST, encrypted: true }), {}, /encrypted/],
    ['a manifest that is too long', () => archive(MANIFEST), { manifestBytes: 11 }, /manifest is larger/],
    ['too many files', () => archive(MANIFEST, { name: 'x' }), { files: 1 }, /more than 1 files/],
  ])('refuses %s', async (_, make, over, message) => {
    await expect(peek({ plugins: 9, bytes: 1e6 }, over, make())).rejects.toThrow(message)
  })

  it.runIf(process.platform === 'linux')('keeps no file open', async () => {
    const file = archive(MANIFEST)
    const open = () => readdirSync('/proc/self/fd').length
    await peek({ plugins: 9, bytes: 1e6 }, {}, file)
    const before = open()
    for (let round = 0; round < 8; round++) {
      await peek({ plugins: 9, bytes: 1e6 }, {}, file)
      await unpackArchive(file, join(base, `b${round}`))
    }
    await expect.poll(open).toBeLessThan(before + 5)
  })
})
