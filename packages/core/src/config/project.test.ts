// Real folders: which one is the project, and what is inside it.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findProjectRoot, isProjectFile, upwards } from './project.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-project-')))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

function put(path: string, text = '{}'): string {
  const file = join(base, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

describe('the project folder', () => {
  it.each(['.mcp.json', '.plugboard/settings.json', '.claude/settings.json', '.git/HEAD'])(
    'is the nearest one with %s',
    async (marker) => {
      put(`outer/${marker}`)
      put('outer/inner/deep/file')
      expect(await findProjectRoot(join(base, 'outer/inner/deep'), '/nowhere')).toBe(join(base, 'outer'))
    },
  )

  it('is the folder itself when nothing marks one, and never the home folder above it', async () => {
    put('home/.claude/settings.json')
    put('home/work/file')
    expect(await findProjectRoot(join(base, 'home/work'), join(base, 'home'))).toBe(join(base, 'home/work'))
  })

  it('is home under its usual name when home is where we are, also through a link', async () => {
    put('data/user/.claude/settings.json')
    symlinkSync(join(base, 'data/user'), join(base, 'home'))
    expect(await findProjectRoot(join(base, 'data/user'), join(base, 'home'))).toBe(join(base, 'home'))
    expect(await findProjectRoot(join(base, 'home'), join(base, 'home'))).toBe(join(base, 'home'))
  })

  it('is the folder that was asked for even if it does not exist', async () => {
    expect(await findProjectRoot(join(base, 'gone'), '/nowhere')).toBe(join(base, 'gone'))
  })
})

describe('the folders above', () => {
  it('are each one up to the top', () => {
    expect([...upwards('/a/b')]).toEqual(['/a/b', '/a', '/'])
    expect([...upwards('/')]).toEqual(['/'])
  })

  it('are bounded', () => {
    expect([...upwards('/x'.repeat(100))]).toHaveLength(64)
  })
})

describe('a file of the project', () => {
  it('is one by its name or by where its links lead, and none is in the home folder', () => {
    put('p/f.json')
    put('other/f.json')
    symlinkSync(join(base, 'other/f.json'), join(base, 'p/out.json'))
    symlinkSync(join(base, 'p/f.json'), join(base, 'other/in.json'))
    const place = { root: join(base, 'p'), home: join(base, 'home') }
    const of = (path: string) => isProjectFile(join(base, path), place)
    expect([of('p/f.json'), of('p/out.json'), of('other/in.json'), of('other/f.json'), of('pp/f')]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    expect(isProjectFile(join(base, 'home/f'), { root: join(base, 'home'), home: join(base, 'home') })).toBe(
      false,
    )
  })
})
