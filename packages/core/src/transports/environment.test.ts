// The environment of a child: which of our variables it gets, and a PATH that runs nothing from its working folder.
import { describe, expect, it } from 'vitest'
import { absolutePath, childEnvironment } from './environment.ts'

describe('a PATH', () => {
  it.each<[NodeJS.Platform, string, string]>([
    ['linux', '/usr/bin:/bin', '/usr/bin:/bin'],
    ['linux', '/usr/bin::bin:./x:/bin:', '/usr/bin:/bin'],
    ['linux', '', '/usr/bin:/bin'],
    ['linux', '.:bin', '/usr/bin:/bin'],
    ['darwin', 'bin', '/usr/bin:/bin'],
    ['win32', 'C:\\Windows;bin;;.', 'C:\\Windows'],
    ['win32', '"C:\\Program Files\\x";"bin"', '"C:\\Program Files\\x"'],
    ['win32', 'bin', ''],
    ['win32', '', ''],
  ])('on %s: %j becomes %j', (platform, given, kept) => {
    expect(absolutePath(given, platform)).toBe(kept)
  })
})

describe('the environment of a child', () => {
  const ours = {
    PATH: '/usr/bin:.',
    HOME: '/home/u',
    LC_ALL: 'C',
    SECRET_TOKEN: 'hush',
    EVIL: '() { :; }; rm',
    GONE: undefined,
  }
  const made = (
    entry: Partial<Parameters<typeof childEnvironment>[0]> = {},
    platform: NodeJS.Platform = 'linux',
    env: Record<string, string | undefined> = ours,
  ) => ({ ...childEnvironment({ env: {}, ...entry }, { env, platform }) })

  it('has what every program needs, and no secret of ours', () => {
    expect(made()).toEqual({ PATH: '/usr/bin', HOME: '/home/u', LC_ALL: 'C', PLUGBOARD_CHILD: '1' })
    expect(made({ inheritEnv: false })).toEqual(made())
  })

  it('has all of ours where the entry says so, without functions of bash', () => {
    expect(made({ inheritEnv: true })).toEqual({ ...made(), SECRET_TOKEN: 'hush' })
    expect(made({}, 'linux', { HOME: '() { :; }' })).toEqual({ PLUGBOARD_CHILD: '1' })
  })

  it('has what the entry sets, which wins', () => {
    expect(made({ env: { HOME: '/x', MINE: '1', path: '.' } })).toEqual({
      ...made(),
      HOME: '/x',
      MINE: '1',
      path: '.',
    })
  })

  it('on Windows has one spelling of a name, and looks for programs in PATH alone', () => {
    const env = { Path: 'C:\\Windows', OTHER: 'x' }
    expect(made({}, 'win32', env)).toEqual({
      Path: 'C:\\Windows',
      PLUGBOARD_CHILD: '1',
      NoDefaultCurrentDirectoryInExePath: '1',
    })
    expect(made({ env: { PATH: 'D:\\bin' } }, 'win32', env)).toEqual({
      PATH: 'D:\\bin',
      PLUGBOARD_CHILD: '1',
      NoDefaultCurrentDirectoryInExePath: '1',
    })
  })

  it('takes a name of the prototype for an ordinary one', () => {
    const env = childEnvironment({ env: JSON.parse('{"__proto__":"x"}') }, { env: {}, platform: 'linux' })
    expect(Object.entries(env)).toContainEqual(['__proto__', 'x'])
  })
})
