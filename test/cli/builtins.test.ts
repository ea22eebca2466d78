// Built-in servers as a user switches, explains and checks them with the command.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
  place.write('.git/HEAD', 'ref: refs/heads/main\n')
})
afterEach(() => place.remove())

describe('a built-in server', () => {
  it('is switched off and on by the user, and explain says by what', async () => {
    place.write('~/.plugboard/settings.json', { builtins: { codebase: false } })
    const listed = await place.run('list', '--no-connect', '--json')
    expect(JSON.stringify(listed.json)).not.toContain('"codebase"')
    const { stdout, code } = await place.run('explain', 'codebase')
    expect(code).toBe(0)
    expect(stdout).toContain('switched off by "builtins" in ~/.plugboard/settings.json')
    expect((await place.run('doctor', 'codebase')).stdout).toContain('switched off')
    const once = await place.run('list', '--no-connect', '--json', '--builtin', 'codebase')
    expect(JSON.stringify(once.json)).toContain('"codebase"')
    expect((await place.run('enable', 'codebase')).stdout).toContain('settings.json')
    const explained = await place.run('explain', 'codebase')
    expect(explained.stdout).toContain('switched on by "builtins" in ~/.plugboard/settings.json')
  })

  it('is not switched by a repository, which is told', async () => {
    place.write('~/.plugboard/settings.json', { builtins: { codebase: false } })
    place.write('.plugboard/settings.json', { builtins: { codebase: true } })
    const { stdout, stderr } = await place.run('list', '--no-connect')
    expect(stdout).not.toContain('codebase')
    expect(stderr).toContain('"builtins" has no effect in a project file')
  })

  it('that does not exist is refused with the nearest name', async () => {
    const { code, stderr } = await place.run('list', '--builtin', 'codbase')
    expect(code).toBe(2)
    expect(stderr).toContain('Did you mean "codebase"?')
    place.write('~/.plugboard/settings.json', { builtins: { codbase: true } })
    expect((await place.run('list', '--no-connect')).stderr).toContain('no built-in server of that name')
  })
})
