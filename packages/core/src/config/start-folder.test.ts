// Which part of the PATH programs get in an untrusted folder, and where a command is looked up.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { childHostEnvironment, findProgram, hostForPrograms, neutralFolder } from './start-folder.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-start-')))
  for (const folder of ['home', 'p/bin', 'other', 'tools']) mkdirSync(join(base, folder), { recursive: true })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const at = (path: string) => join(base, path)
const place = () => ({ root: at('p'), home: at('home'), platform: 'linux' as const, env: {} })

describe('the PATH', () => {
  const pathOf = (entries: readonly string[], trusted: boolean) =>
    childHostEnvironment({ PATH: entries.join(':') }, place(), trusted)['PATH']

  it('has no empty and no relative entries, and no folders of a project that is not trusted', () => {
    symlinkSync(at('p/bin'), at('other/link'))
    const entries = [
      '',
      '.',
      'node_modules/.bin',
      at('p'),
      at('p/bin'),
      at('other/link'),
      at('tools'),
      at('p-else'),
    ]
    expect(pathOf(entries, false)).toBe(`${at('tools')}:${at('p-else')}`)
    expect(pathOf(entries, true)).toBe(
      [at('p'), at('p/bin'), at('other/link'), at('tools'), at('p-else')].join(':'),
    )
  })

  it('is never empty, because that would mean the current folder', () => {
    expect(pathOf(['.'], false)).toBe('/usr/bin:/bin')
  })

  it('keeps everything when the project is the root of the disk, as in a container', () => {
    const wide = { ...place(), root: '/' }
    expect(childHostEnvironment({ PATH: at('tools') }, wide, false)['PATH']).toBe(at('tools'))
  })

  it('keeps what lies in the home folder, when that lies in the project', () => {
    const wide = { ...place(), root: base }
    const PATH = `${at('tools')}:${at('home/bin')}`
    expect(childHostEnvironment({ PATH }, wide, false)['PATH']).toBe(at('home/bin'))
  })

  it('has no folders of the projects around a submodule or a package, and keeps those of plain folders', () => {
    mkdirSync(at('p/sub/deep'), { recursive: true })
    const inner = { ...place(), root: at('p/sub/deep') }
    const pathIn = () => childHostEnvironment({ PATH: `${at('p/bin')}:${at('tools')}` }, inner, false)['PATH']
    expect(pathIn()).toBe(`${at('p/bin')}:${at('tools')}`)
    writeFileSync(at('p/package.json'), '{}')
    expect(pathIn()).toBe(at('tools'))
  })

  it('goes without what `npm run` says of the project', () => {
    const env = { npm_config_prefix: '/x', NPM_CONFIG_y: '1', INIT_CWD: '/x', HOME: '/h' }
    expect(childHostEnvironment(env, place(), false)).toEqual({ HOME: '/h' })
    expect(childHostEnvironment(env, place(), true)).toEqual(env)
  })
})

describe('a command', () => {
  const program = (path: string, mode = 0o755) => {
    writeFileSync(at(path), '#!/bin/sh\n')
    chmodSync(at(path), mode)
    return at(path)
  }

  it('is found on the PATH, not beside the one who starts it', () => {
    program('p/tool')
    const found = program('tools/tool')
    expect(findProgram('tool', { PATH: `.::p:${at('tools')}` }, at('p'))).toBe(found)
    expect(findProgram('tool', { PATH: '.::' }, at('p'))).toBe('/nonexistent/tool')
    expect(findProgram('./tool', { PATH: at('tools') }, at('p'))).toBe(at('p/tool'))
  })

  it('that may not be executed is passed over, and named when there is no other', () => {
    const locked = program('other/tool', 0o644)
    const PATH = `${at('other')}:${at('tools')}`
    expect(findProgram('tool', { PATH }, undefined)).toBe(locked)
    expect(findProgram('tool', { PATH }, undefined)).toBe(locked)
    const free = program('tools/tool')
    expect(findProgram('tool', { PATH }, undefined)).toBe(free)
  })
})

describe('a program without a folder of its own', () => {
  it('starts in the neutral one', async () => {
    const host = hostForPrograms(systemHost({ home: at('home') }), place(), false)
    const child = host.spawn('/bin/pwd', [], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    for await (const chunk of child.stdout ?? []) said += String(chunk)
    expect(said.trim()).toBe(neutralFolder(place()))
  })
})

it('a program is not looked up in a relative folder of the PATH', () => {
  writeFileSync(at('tools/prog'), '')
  chmodSync(at('tools/prog'), 0o755)
  const way = relative(process.cwd(), at('tools'))
  expect(findProgram('prog', { PATH: `${way}:${at('other')}` }, undefined)).toBe('/nonexistent/prog')
  expect(findProgram('prog', { PATH: `${way}:${at('tools')}` }, undefined)).toBe(at('tools/prog'))
})
