// Which built-in servers are on, and what decided: an administrator, the command line, the user, the default.
import { describe, expect, it } from 'vitest'
import {
  BUILTIN_SOURCE,
  type BuiltinChoices,
  builtinDocuments,
  builtinSwitch,
  builtinSwitches,
  isBuiltinName,
  isSwitchName,
  OWN_BUILTIN_SOURCE,
  unknownBuiltinHint,
} from './builtin-switches.ts'
import { read, source } from './fixtures/source.ts'
import type { Scope } from './types.ts'

const says = (scope: Scope, builtins: object) =>
  read(JSON.stringify({ builtins }), source('settings', scope, { file: `/${scope}.json` }))

describe('a built-in server', () => {
  const off = { codebase: false }
  const on = { codebase: true }
  it.each<[string, Parameters<typeof says>[], BuiltinChoices, boolean, string]>([
    ['by default', [], {}, true, 'It is on by default.'],
    ['by the user', [['user', off]], {}, false, 'It is switched off by "builtins" in /user.json.'],
    [
      'by the run, against the user',
      [['user', off]],
      { builtins: on },
      true,
      "It is switched on for this run (--builtin, or the program's `builtins`).",
    ],
    [
      'by the run',
      [],
      { builtins: off },
      false,
      "It is switched off for this run (--builtin, or the program's `builtins`).",
    ],
    [
      'by the administrator, against all others',
      [
        ['user', on],
        ['enterprise', off],
      ],
      { builtins: on },
      false,
      'It is switched off by "builtins" in /enterprise.json.',
    ],
    [
      'by the administrator who allows it',
      [['enterprise', on]],
      { builtins: off },
      true,
      'It is switched on by "builtins" in /enterprise.json.',
    ],
    ['not by a repository', [['project', off]], {}, true, 'It is on by default.'],
    ['not by a private file of it', [['local', off]], {}, true, 'It is on by default.'],
    ['not by what is said of another', [['user', { workspace: false }]], {}, true, 'It is on by default.'],
  ])('is switched %s', (_, files, choices, isOn, why) => {
    const documents = files.map(([scope, builtins]) => says(scope, builtins))
    expect(builtinSwitch('codebase', documents, choices)).toEqual({ name: 'codebase', isOn, why })
  })

  it.each<[string, BuiltinChoices, boolean, string]>([
    ['workspace', {}, false, 'It is on by default in chat only. `plugboard enable workspace`'],
    ['workspace', { use: 'chat' }, true, 'It is on by default in chat.'],
    ['browser', { use: 'chat' }, false, 'It is off by default. `plugboard enable browser`'],
    ['ide', {}, true, 'It is on by default.'],
    ['mine', { ownBuiltins: ['mine'] }, true, 'The program brings it.'],
  ])('%s with %j is on: %s', (name, choices, isOn, why) => {
    const found = builtinSwitch(name, [], choices)
    expect([found.isOn, found.why.startsWith(why)]).toEqual([isOn, true])
  })

  it('of the program is listed after ours, and cannot take the name of one', () => {
    const names = (ownBuiltins?: string[]) => builtinSwitches([], { ownBuiltins }).map(({ name }) => name)
    expect(names(['mine', 'codebase'])).toEqual([...names(), 'mine'])
  })
})

describe('the documents of the built-in servers', () => {
  const made = (choices: BuiltinChoices, builtins: object = {}) =>
    builtinDocuments([says('user', builtins)], choices, (file) => source('list', 'dynamic', { file }))

  it('are one, or two where the program brings its own', () => {
    expect(made({}).map(({ source: { file } }) => file)).toEqual([BUILTIN_SOURCE])
    const [ours, theirs] = made({ ownBuiltins: ['mine'], builtins: { mine: false } })
    expect(ours?.definitions.some(({ name }) => name === 'mine')).toBe(false)
    expect(theirs?.source.file).toBe(OWN_BUILTIN_SOURCE)
    expect(theirs?.definitions.map(({ name, entry }) => [name, entry])).toEqual([['mine', undefined]])
  })

  it('say of each that is off why, and of each that is on too', () => {
    const [ours] = made({ builtins: { codebase: true, browser: false } })
    const of = (name: string) => ours?.definitions.find((one) => one.name === name)
    expect(of('codebase')).toMatchObject({
      entry: { type: 'sdk' },
      note: expect.stringContaining('for this run'),
    })
    expect(of('codebase')).not.toHaveProperty('absentBecause')
    expect(of('browser')).toMatchObject({ absentBecause: expect.stringContaining('switched off') })
    expect(of('browser')).not.toHaveProperty('entry')
  })

  it('warn of names that there are not', () => {
    const warned = (choices: BuiltinChoices) =>
      made(choices, { codebase: true, ide: true, mine: true, codebas: true })
        .flatMap(({ diagnostics }) => diagnostics)
        .map(({ path }) => path)
    expect(warned({})).toEqual(['builtins.mine', 'builtins.codebas'])
    expect(warned({ ownBuiltins: ['mine'] })).toEqual(['builtins.codebas'])
    expect(unknownBuiltinHint('codebas')).toBe('Did you mean "codebase"?')
    expect(unknownBuiltinHint('qqqqqqqq')).toMatch(/^There are: .*codebase/)
  })

  it('know their own names', () => {
    const known = ['codebase', 'ide', 'mine'].map((name) => [isSwitchName(name), isBuiltinName(name)])
    expect(known).toEqual([
      [true, true],
      [true, false],
      [false, false],
    ])
  })
})
