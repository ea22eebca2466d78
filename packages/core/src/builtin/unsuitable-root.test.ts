import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unsuitableRoot } from './unsuitable-root.ts'

let top: string
let home: string
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-root-'))
  home = join(top, 'home', 'me')
  mkdirSync(join(home, 'code', 'deep'), { recursive: true })
  mkdirSync(join(home, '.plugboard', 'cache'), { recursive: true })
  mkdirSync(join(top, 'home', 'me-too'))
  symlinkSync(home, join(top, 'link'))
})
afterAll(() => rmSync(top, { recursive: true, force: true }))

it.each([
  ['home/me', /is your home folder/],
  ['home/me/', /is your home folder/],
  ['home/me/code/..', /is your home folder/],
  ['link', /is your home folder/],
  ['home', /contains your home folder/],
  ['.', /contains your home folder/],
  ['home/me/.plugboard', /keeps its own files/],
  ['home/me/.plugboard/cache', /keeps its own files/],
  ['home/me/code', undefined],
  ['link/code/deep', undefined],
  ['home/me-too', undefined],
])('%s', (path, expected) => {
  const reason = unsuitableRoot(join(top, path), { home, own: join(home, '.plugboard') })
  if (expected) expect(reason).toMatch(expected)
  else expect(reason).toBeUndefined()
})

it('never the whole disk, wherever the home is', () => {
  expect(unsuitableRoot('/', { home: '/nonexistent', own: '/nonexistent/x' })).toMatch(/contains|whole disk/)
})
