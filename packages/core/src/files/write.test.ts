import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bundleScript, start } from './fixtures/processes.ts'
import { realTarget, writeFileAtomic } from './write.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'plugboard-write-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))
const at = (...parts: string[]) => join(base, ...parts)
const modeOf = (path: string) => statSync(path).mode & 0o777
const drafts = () => readdirSync(base).filter((name) => name.endsWith('.tmp'))

describe('replacing a file', () => {
  it('makes it, with its folders, in the modes asked for', async () => {
    await writeFileAtomic(at('a', 'b', 'f'), 'x', { mode: 0o600, dirMode: 0o700 })
    expect(readFileSync(at('a', 'b', 'f'), 'utf8')).toBe('x')
    expect([modeOf(at('a', 'b', 'f')), modeOf(at('a', 'b'))]).toEqual([0o600, 0o700])
  })

  it('keeps the mode that the file has, unless told otherwise', async () => {
    writeFileSync(at('f'), 'old')
    chmodSync(at('f'), 0o666)
    await writeFileAtomic(at('f'), 'new', { mode: 0o600 })
    expect(modeOf(at('f'))).toBe(0o666)
    await writeFileAtomic(at('f'), 'new', { mode: 0o600, forceMode: true })
    expect(modeOf(at('f'))).toBe(0o600)
  })

  it('gives a new file the mode that the system leaves, or exactly the one that it must have', async () => {
    await writeFileAtomic(at('new'), 'x', { mode: 0o666 })
    expect(modeOf(at('new'))).toBe(0o666 & ~process.umask())
    await writeFileAtomic(at('exact'), 'x', { mode: 0o666, forceMode: true })
    expect(modeOf(at('exact'))).toBe(0o666)
    await writeFileAtomic(at('plain'), 'x')
    expect(modeOf(at('plain'))).toBe(0o644)
  })

  it('follows as many links as the limit', async () => {
    writeFileSync(at('0'), 'old')
    for (let link = 1; link <= 16; link++) symlinkSync(String(link - 1), at(String(link)))
    expect(await realTarget(at('15'))).toBe(at('0'))
    await expect(realTarget(at('16'))).rejects.toMatchObject({ code: 'ELOOP' })
  })

  it('follows no link where it may not, neither of the file nor of its folder', async () => {
    mkdirSync(at('real'))
    writeFileSync(at('real', 'f'), 'old')
    symlinkSync('real', at('folder'))
    symlinkSync('real/f', at('file'))
    await expect(writeFileAtomic(at('folder', 'f'), 'new', { noFollow: true })).rejects.toMatchObject({
      code: 'ELOOP',
    })
    await expect(writeFileAtomic(at('file'), 'new', { noFollow: true })).rejects.toMatchObject({
      code: 'ELOOP',
    })
    expect(readFileSync(at('real', 'f'), 'utf8')).toBe('old')
    await writeFileAtomic(at('real', 'f'), 'new', { noFollow: true })
    expect(readFileSync(at('real', 'f'), 'utf8')).toBe('new')
  })

  it('writes through links, and leaves the links', async () => {
    mkdirSync(at('dotfiles'))
    writeFileSync(at('dotfiles', 'real'), 'old')
    symlinkSync('dotfiles/real', at('one'))
    symlinkSync('one', at('two'))
    await writeFileAtomic(at('two'), 'new')
    expect(readlinkSync(at('two'))).toBe('one')
    expect(lstatSync(at('one')).isSymbolicLink()).toBe(true)
    expect(readFileSync(at('dotfiles', 'real'), 'utf8')).toBe('new')
  })

  it('makes the target of a link that points at nothing yet', async () => {
    symlinkSync('later', at('link'))
    await writeFileAtomic(at('link'), 'x')
    expect(readFileSync(at('later'), 'utf8')).toBe('x')
  })

  it('refuses a link that leads to itself', async () => {
    symlinkSync('b', at('a'))
    symlinkSync('a', at('b'))
    await expect(realTarget(at('a'))).rejects.toMatchObject({ code: 'ELOOP' })
    await expect(writeFileAtomic(at('a'), 'x')).rejects.toMatchObject({ code: 'ELOOP' })
  })

  it('leaves no draft behind when it fails', async () => {
    mkdirSync(at('f'))
    writeFileSync(at('f', 'inside'), '')
    await expect(writeFileAtomic(at('f'), 'x')).rejects.toMatchObject({ code: expect.any(String) })
    expect(drafts()).toEqual([])
    expect(readdirSync(at('f'))).toEqual(['inside'])
  })

  it('follows a linked folder unless it must not', async () => {
    mkdirSync(at('real'))
    symlinkSync(at('real'), at('link'))
    await writeFileAtomic(at('link', 'f'), 'x')
    expect(readFileSync(at('real', 'f'), 'utf8')).toBe('x')
    await expect(writeFileAtomic(at('link', 'f'), 'y', { noFollow: true })).rejects.toMatchObject({
      code: 'ELOOP',
    })
    expect(readFileSync(at('real', 'f'), 'utf8')).toBe('x')
  })

  it.runIf(process.platform === 'linux')('keeps no file and no folder open', async () => {
    const open = () => readdirSync('/proc/self/fd').length
    await writeFileAtomic(at('f'), 'x', { noFollow: true })
    const before = open()
    for (let round = 0; round < 20; round++)
      await writeFileAtomic(at('f'), 'x', { noFollow: round % 2 === 0 })
    expect(open()).toBeLessThan(before + 5)
  })

  it('leaves the old text or the new one, whole, when the writer is killed at any moment', async () => {
    const [old, fresh] = ['a', 'b'].map((char) => char.repeat(2_000_000)) as [string, string]
    writeFileSync(at('f'), old)
    const script = await bundleScript(
      `import { writeFileAtomic } from './write.ts'
       console.log('go')
       for (let round = 0; ; round++) await writeFileAtomic(process.argv[2] ?? '', (round % 2 ? 'a' : 'b').repeat(2_000_000))`,
      fileURLToPath(new URL('.', import.meta.url)),
      base,
    )
    for (const delay of [0, 3, 9]) {
      const writer = start(script, [at('f')])
      await writer.ready
      await new Promise((done) => setTimeout(done, delay))
      writer.child.kill('SIGKILL')
      await writer.done
      expect([old, fresh].includes(readFileSync(at('f'), 'utf8'))).toBe(true)
    }
  })
})
