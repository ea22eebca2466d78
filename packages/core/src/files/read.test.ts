import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { asPlainUser } from './fixtures/plain-user.ts'
import { readTextFile } from './read.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'plugboard-read-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))
const at = (name: string) => join(base, name)
const put = (name: string, data: string | Uint8Array) => {
  writeFileSync(at(name), data)
  return at(name)
}

describe('reading a text file', () => {
  it.each<[string, string | Uint8Array, string, boolean]>([
    ['UTF-8', 'grün ✔', 'grün ✔', true],
    ['an empty file', '', '', true],
    ['a byte order mark, which stays', '\uFEFF{}', '\uFEFF{}', true],
    ['UTF-16 with its mark', Buffer.from('\uFEFF{"ü":1}', 'utf16le'), '\uFEFF{"ü":1}', false],
    ['bytes that are no text', Uint8Array.of(0x7b, 0xff, 0x7d), '{\uFFFD}', false],
    ['half of the mark of UTF-16', Uint8Array.of(0xff, 0x41), '\uFFFDA', false],
    ['the other half', Uint8Array.of(0x41, 0xfe), 'A\uFFFD', false],
  ])('%s', async (_, data, text, exact) => {
    expect(await readTextFile(put('f', data), 100)).toMatchObject({ kind: 'text', text, exact })
  })

  it('takes a file right at the limit and refuses one byte more, with both sizes', async () => {
    expect(await readTextFile(put('f', 'x'.repeat(100)), 100)).toMatchObject({ kind: 'text' })
    expect(await readTextFile(put('f', 'x'.repeat(101)), 100)).toMatchObject({ kind: 'problem' })
    const outcome = await readTextFile(put('f', 'x'.repeat(3 * 1024 * 1024)), 2 * 1024 * 1024)
    expect(outcome).toMatchObject({ kind: 'problem', message: expect.stringMatching(/3\.0 MiB.*2\.0 MiB/) })
  })

  it.each([
    ['a file that is not there', 'gone'],
    ['a folder that is not there', 'gone/f'],
    ['a file where a folder should be', 'plain/f'],
    ['a link to nothing', 'dangling'],
  ])('calls %s missing', async (_, name) => {
    put('plain', '')
    symlinkSync('nothing', at('dangling'))
    expect(await readTextFile(at(name), 100)).toEqual({ kind: 'missing' })
  })

  it.each([
    ['a folder', 'dir', 'is a folder, not a file'],
    ['a link to itself', 'loop', 'is a symbolic link that leads to itself'],
    ['a pipe, without waiting for a writer', 'pipe', 'is not a regular file'],
    ['a device', 'zero', 'is not a regular file'],
    ['a name that no system has', 'a\0b', 'could not be read (ERR_INVALID_ARG_VALUE)'],
    ['a name too long', 'x'.repeat(5000), 'has a path that is too long for this system'],
  ])('says what is wrong with %s', async (_, name, message) => {
    mkdirSync(at('dir'))
    symlinkSync('loop', at('loop'))
    execFileSync('mkfifo', [at('pipe')])
    symlinkSync('/dev/zero', at('zero'))
    const outcome = await readTextFile(at(name), 100)
    expect(outcome).toMatchObject({ kind: 'problem', message, hint: expect.stringMatching(/\S/) })
  })

  it('says that a file may not be read', async () => {
    put('good', 'x')
    chmodSync(put('f', ''), 0)
    const [denied, good] = await asPlainUser(at('.'), () =>
      Promise.all([readTextFile(at('f'), 100), readTextFile(at('good'), 100)]),
    )
    expect(denied).toMatchObject({ kind: 'problem', message: expect.stringContaining('permission denied') })
    expect(good).toMatchObject({ kind: 'text', text: 'x' })
  })

  it.skipIf(!existsSync('/proc/self/pagemap'))('stops at the limit in a file that never ends', async () => {
    symlinkSync('/proc/self/pagemap', at('endless'))
    expect(await readTextFile(at('endless'), 100_000)).toMatchObject({ kind: 'problem' })
  })

  it.skipIf(!existsSync('/proc/version'))(
    'believes no size that is too small, and keeps no file open',
    async () => {
      expect(await readTextFile('/proc/version', 10)).toMatchObject({ kind: 'problem' })
      expect(await readTextFile('/proc/version', 10_000)).toMatchObject({ kind: 'text' })
      const open = () => readdirSync('/proc/self/fd').length
      const before = open()
      for (let round = 0; round < 20; round++) await readTextFile(round % 2 ? '/proc/version' : base, 10)
      expect(open()).toBeLessThan(before + 5)
    },
  )
})
