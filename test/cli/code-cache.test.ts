// Compiled code that is kept between runs: a help where it is sound, and without effect where it is not.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

const [major = 0] = process.versions.node.split('.').map(Number)
let place: Place
let folder: string
beforeEach(() => {
  place = makePlace()
  folder = join(place.home, `plugboard-code-${process.getuid?.()}`)
})
afterEach(() => place.remove())
const version = async () => {
  const { code, stdout, stderr } = await place.runWith({ TMPDIR: place.home }, '--version')
  expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/), ''])
}

// Newer versions of Node keep it themselves.
describe.runIf(major < 22)('the code cache', () => {
  it('is written by the first command, used by the next, and replaced when it is broken or cut off', async () => {
    await version()
    const [file = ''] = readdirSync(folder)
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^main\.cjs-v\d+\.\d+\.\d+-[0-9a-f]{32}$/)])
    await version()
    for (const content of ['', 'not code', Buffer.alloc(5000, 7)]) {
      writeFileSync(join(folder, file), content)
      await version()
    }
    writeFileSync(join(folder, `${file.slice(0, -32)}${'0'.repeat(32)}`), 'of another build')
    rmSync(join(folder, file))
    await version()
    expect(readdirSync(folder)).toEqual([file])
  })

  it('is not used where the folder is open to others, a link, a file or of another user', async () => {
    mkdirSync(folder)
    chmodSync(folder, 0o755)
    await version()
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'a file')
    await version()
    rmSync(folder)
    mkdirSync(join(place.home, 'elsewhere'), { mode: 0o700 })
    symlinkSync(join(place.home, 'elsewhere'), folder)
    await version()
    expect(readdirSync(join(place.home, 'elsewhere'))).toEqual([])
    rmSync(folder)
    if (process.getuid?.() !== 0) return
    mkdirSync(folder, { mode: 0o700 })
    chownSync(folder, 65534, 65534)
    await version()
    expect(existsSync(join(folder, 'main.cjs'))).toBe(false)
    expect(readdirSync(folder)).toEqual([])
  })
})
