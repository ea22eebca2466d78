// The units of `plugboard up --install`: accepted by the service managers, and with the command as it was given, whatever
// characters are in its paths.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { unitFor } from './install.ts'

const folder = mkdtempSync(join(tmpdir(), 'plugboard-unit-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const linux = { home: folder, platform: 'linux', env: {} } as const
const darwin = { home: '/Users/u', platform: 'darwin', env: {} } as const
const has = (program: string) => spawnSync(program, ['--version']).status === 0
const ODD = ['with space', '100%', 'a$HOME', 'quo"te', "apo'strophe", 'back\\slash', '<&>']

describe('the unit of systemd', () => {
  it.skipIf(!has('systemd-analyze')).each(['plain', ...ODD])('is accepted with %s in a path', (name) => {
    const program = join(folder, name, 'node')
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(program, '#!/bin/sh\n')
    chmodSync(program, 0o755)
    const { text } = unitFor(linux, [program, join(folder, name, 'plugboard.cjs'), 'up', '--foreground'])
    const file = join(folder, 'plugboard.service')
    writeFileSync(file, text)
    const done = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', file], {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: folder },
    })
    // Units of the system that are broken here say nothing about this one.
    const about = `${done.stdout}${done.stderr}`
      .split('\n')
      .filter((line) => line.includes('plugboard.service'))
    expect(about).toEqual([])
  })

  it('is where systemd looks for the units of a user', () => {
    expect(unitFor(linux, ['x']).file).toBe(join(folder, '.config/systemd/user/plugboard.service'))
    expect(unitFor({ ...linux, env: { XDG_CONFIG_HOME: '/c' } }, ['x']).file).toBe(
      '/c/systemd/user/plugboard.service',
    )
  })
})

describe('the launch agent', () => {
  it('has every word of the command, whatever its characters', () => {
    const { file, text } = unitFor(darwin, ['/usr/bin/node', ...ODD])
    expect(file).toBe('/Users/u/Library/LaunchAgents/dev.plugboard.resident.plist')
    const [, list = ''] = /<array>([\s\S]*)<\/array>/.exec(text) ?? []
    const words = [...list.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word = '']) =>
      word.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    )
    expect(words).toEqual(['/usr/bin/node', ...ODD])
  })
})

it('is refused where no unit is known', () => {
  expect(() => unitFor({ ...linux, platform: 'win32' }, ['x'])).toThrow(/no unit/)
})
