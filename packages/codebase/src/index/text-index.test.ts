// The index under failures: killed while it is written, two processes, a torn or foreign file, a full disk, no permission.
import { spawn, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch, seeded, textQuery } from '../fixtures/test-folders.ts'

const built = new URL('../../dist/codebase.js', import.meta.url).href
const KILLS = process.env['PLUGBOARD_LONG'] ? 20 : 6
const FILES = 3000

let tree: Scratch
beforeAll(() => {
  tree = scratch()
  for (let n = 0; n < FILES; n++)
    tree.write(
      `d${n % 50}/f${n}.txt`,
      `file number ${n}\nmarker_${n % 97}_end\n${`filler ${n} text `.repeat(100)}\n`,
    )
})
afterAll(() => tree.remove())

const open = (cacheDir: string) => new Codebase({ root: tree.folder, cacheDir, embeddings: { kind: 'none' } })
const state = (code: Codebase, wanted: string) =>
  eventually(async () => (await code.status()).text.state === wanted, wanted, 30_000)
const count = async (code: Codebase, text: string) => (await code.searchCode(textQuery(text))).matches.length
const EXPECTED = Array.from({ length: FILES }, (_, n) => n % 97).filter((n) => n === 13).length

function indexer(cacheDir: string) {
  const script = `import { Codebase } from ${JSON.stringify(built)}
    const code = new Codebase({ root: ${JSON.stringify(tree.folder)}, cacheDir: ${JSON.stringify(cacheDir)}, embeddings: { kind: 'none' } })
    process.stdout.write('up')
    await code.reindex()
    process.stdout.write('done')
    await new Promise((done) => setTimeout(done, 60000))`
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

describe('an index that is interrupted', () => {
  it(`answers correctly after ${KILLS} kills at random moments`, async () => {
    const cache = scratch()
    const random = seeded(Date.now() & 0xffff)
    let duration = 1200
    for (let n = 0; n < KILLS; n++) {
      const child = indexer(cache.folder)
      const exited = new Promise((done) => child.once('exit', done))
      const began = Date.now()
      await new Promise<void>((done) => {
        child.stdout.on('data', (piece: Buffer) => {
          if (String(piece).includes('done')) {
            duration = Math.max(100, Date.now() - began)
            done()
          }
        })
        setTimeout(done, random() * duration)
      })
      child.kill('SIGKILL')
      await exited
      const code = open(cache.folder)
      expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
      if (n % 3 === 2) {
        await state(code, 'ready')
        expect((await code.searchCode(textQuery('marker_13_end'))).source).toBe('index')
        expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
      }
      await code.close()
    }
    cache.remove()
  }, 120_000)

  it('is built again when a segment is torn, missing or of another version', async () => {
    const cache = scratch()
    const first = open(cache.folder)
    first.warmUp()
    await state(first, 'ready')
    const { folder } = (await first.status()).cache
    await first.close()
    const segment = () => join(folder, readdirSync(folder).find((name) => name.endsWith('.tri')) ?? '')
    const damages = [
      () => truncateSync(segment(), 1000),
      () => writeFileSync(segment(), 'not a segment'),
      () => writeFileSync(join(folder, 'manifest.json'), '{"version": 99}'),
      () => writeFileSync(join(folder, 'manifest.json'), '{'),
    ]
    for (const damage of damages) {
      damage()
      const code = open(cache.folder)
      expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
      await state(code, 'ready')
      expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
      await code.close()
    }
    cache.remove()
  }, 60_000)
})

describe('an index that two processes share', () => {
  it('has one writer, and both answer correctly', async () => {
    const cache = scratch()
    const [a, b] = [open(cache.folder), open(cache.folder)]
    a.warmUp()
    b.warmUp()
    await eventually(
      async () => (await a.status()).text.state === 'ready' || (await b.status()).text.state === 'ready',
      'one index',
      30_000,
    )
    expect(await Promise.all([count(a, 'marker_13_end'), count(b, 'marker_13_end')])).toEqual([
      EXPECTED,
      EXPECTED,
    ])
    tree.write('shared.txt', 'marker_13_end\n')
    expect(await Promise.all([count(a, 'marker_13_end'), count(b, 'marker_13_end')])).toEqual([
      EXPECTED + 1,
      EXPECTED + 1,
    ])
    tree.write('shared.txt', 'gone\n')
    expect(await Promise.all([count(a, 'marker_13_end'), count(b, 'marker_13_end')])).toEqual([
      EXPECTED,
      EXPECTED,
    ])
    await state(a, 'ready')
    await state(b, 'ready')
    await eventually(async () => {
      const answers = [
        await a.searchCode(textQuery('marker_13_end')),
        await b.searchCode(textQuery('marker_13_end')),
      ]
      return answers.every(({ source, matches }) => source === 'index' && matches.length === EXPECTED)
    }, 'both answering from the one index')
    await a.close()
    await b.close()
    cache.remove()
  }, 60_000)
})

describe('an index that cannot be kept', () => {
  it('lives in memory when a file is in the way of its folder, and says so', async () => {
    const cache = scratch({ file: 'in the way' })
    const code = open(join(cache.folder, 'file', 'below'))
    expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
    await state(code, 'ready')
    const again = await code.searchCode(textQuery('marker_13_end'))
    expect(again.matches).toHaveLength(EXPECTED)
    expect(again.source).toBe('index')
    expect(again.notes.join()).toMatch(/in memory only: .*(ENOTDIR|EEXIST)/)
    tree.write('fresh.txt', 'marker_13_end\n')
    expect(await count(code, 'marker_13_end')).toBe(EXPECTED + 1)
    tree.write('fresh.txt', 'no more\n')
    expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
    await code.close()
    cache.remove()
  }, 30_000)

  it('does the same on a file system that is read-only', async (context) => {
    const cache = scratch()
    const disk = join(cache.folder, 'disk')
    mkdirSync(disk)
    const mounted =
      process.platform === 'linux' &&
      spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', disk]).status === 0
    if (!mounted) {
      cache.remove()
      return context.skip()
    }
    const code = open(disk)
    try {
      expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
      await state(code, 'ready')
      expect((await code.searchCode(textQuery('marker_13_end'))).notes.join()).toMatch(
        /in memory only: .* cannot be written/,
      )
      expect(readdirSync(disk)).toEqual([])
    } finally {
      await code.close()
      spawnSync('umount', [disk])
      cache.remove()
    }
  }, 30_000)

  it('leaves the old index in place when the disk is full', async (context) => {
    const cache = scratch()
    const disk = join(cache.folder, 'disk')
    mkdirSync(disk)
    const mounted =
      process.platform === 'linux' &&
      spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]).status === 0
    if (!mounted) return context.skip()
    const code = open(disk)
    try {
      code.warmUp()
      await state(code, 'ready')
      const { folder } = (await code.status()).cache
      const before = readFileSync(join(folder, 'manifest.json'), 'utf8')
      // Fills the rest of the disk.
      try {
        writeFileSync(join(disk, 'ballast'), Buffer.alloc(3 << 20))
      } catch {
        // Written until the disk was full, as intended.
      }
      const status = await code.reindex()
      expect(status.text.state).toBe('failed')
      expect(status.text.reason).toMatch(/ENOSPC/)
      expect(readFileSync(join(folder, 'manifest.json'), 'utf8')).toBe(before)
      expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
    } finally {
      await code.close()
      spawnSync('umount', [disk])
      cache.remove()
    }
  }, 60_000)

  it('is built again by a running server after another process dropped it', async () => {
    const cache = scratch()
    const server = open(cache.folder)
    server.warmUp()
    await state(server, 'ready')
    const other = open(cache.folder)
    await other.drop()
    await other.close()
    expect(readdirSync(cache.folder)).toEqual([])
    expect(await count(server, 'marker_13_end')).toBe(EXPECTED)
    const isBack = async () => {
      server.warmUp()
      const { text, meaning } = await server.status()
      return text.files > 0 && text.state === 'ready' && meaning.files_indexed === text.files
    }
    await eventually(isBack, 'the index', 30_000)
    const { matches, source } = await server.searchCode(textQuery('marker_13_end'))
    expect([matches.length, source]).toEqual([EXPECTED, 'index'])
    await server.close()
    cache.remove()
  }, 60_000)

  it('is removed by drop', async () => {
    const cache = scratch()
    const code = open(cache.folder)
    await code.reindex()
    expect((await code.status()).cache.bytes).toBeGreaterThan(0)
    await code.drop()
    expect(readdirSync(cache.folder)).toEqual([])
    expect(await count(code, 'marker_13_end')).toBe(EXPECTED)
    await code.close()
    cache.remove()
  }, 60_000)
})

describe('a folder that becomes a link out of the root', () => {
  it('is not searched through the indexed names of its files', async () => {
    const outside = scratch({ 'f.txt': 'needle outside\n' })
    const own = scratch()
    for (let n = 0; n < 500; n++) own.write(`d${n % 10}/f${n}.txt`, `line ${n}\n`)
    own.write('swapped/f.txt', 'needle inside\n')
    const cache = scratch()
    const code = new Codebase({
      root: own.folder,
      cacheDir: cache.folder,
      embeddings: { kind: 'none' },
    })
    try {
      await code.searchCode(textQuery('needle'))
      await state(code, 'ready')
      const before = await code.searchCode(textQuery('needle'))
      expect(before).toMatchObject({ source: 'index', matches: [{ text: 'needle inside' }] })
      renameSync(join(own.folder, 'swapped'), join(cache.folder, 'away'))
      symlinkSync(outside.folder, join(own.folder, 'swapped'))
      for (const query of [textQuery('needle'), textQuery('need.e', { regex: true })])
        expect((await code.searchCode(query)).matches).toEqual([])
      await state(code, 'ready')
      expect((await code.searchCode(textQuery('needle'))).matches).toEqual([])
    } finally {
      await code.close()
      for (const place of [outside, own, cache]) place.remove()
    }
  })
})
