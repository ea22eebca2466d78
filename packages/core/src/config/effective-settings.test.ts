// Which rules, hooks and machine logins count: by who wrote the file and what the user's home records of it.
import { describe, expect, it } from 'vitest'
import {
  ignoredSettings,
  pendingIn,
  permissionRules,
  recordName,
  rulesOfUnknownServers,
  type SettingsInput,
  unboundMachines,
  writtenHooks,
} from './effective-settings.ts'
import { hashOf } from './fingerprints.ts'
import { ROOT, read, source } from './fixtures/source.ts'
import { mergedSettings } from './merged-settings.ts'
import type { Source } from './sources.ts'
import { NO_RECORDS, type SettingsRecord } from './trust.ts'
import type { Scope } from './types.ts'

const HOOKS = { PreToolUse: [{ hooks: [{ type: 'command', command: 'x' }] }] }
const RECORD = '.plugboard/settings.local.json'

function fileOf(scope: Scope, content: object, over: Partial<Source> = {}) {
  const inProject = scope === 'local' || scope === 'project'
  return read(
    JSON.stringify(content),
    source('settings', scope, {
      file: inProject ? `${ROOT}/${RECORD}` : `/home/${scope}.json`,
      authorship: inProject ? 'repository' : 'user',
      ...over,
    }),
  )
}
const input = (
  documents: SettingsInput['documents'],
  record?: SettingsRecord,
  over: Partial<SettingsInput> = {},
): SettingsInput => ({
  documents,
  root: ROOT,
  records: record ? { ...NO_RECORDS, settings: new Map([[RECORD, record]]) } : NO_RECORDS,
  folderTrusted: false,
  neutralFolder: '/neutral',
  ...over,
})
const ALL = { permissions: { allow: ['mcp__a'], ask: ['mcp__b'], deny: ['mcp__c'] }, hooks: HOOKS }

describe('rules', () => {
  it.each<[Scope, SettingsRecord | undefined, string[]]>([
    ['user', undefined, ['deny', 'ask', 'allow']],
    ['enterprise', undefined, ['deny', 'ask', 'allow']],
    ['local', undefined, ['deny', 'ask']],
    ['local', { allow: ['mcp__b'] }, ['deny', 'ask']],
    ['local', { allow: ['mcp__a'] }, ['deny', 'ask', 'allow']],
    ['project', { allow: ['mcp__a'] }, ['deny', 'ask']],
  ])('of a %s file with the record %j: %j', (scope, record, expected) => {
    expect(permissionRules(input([fileOf(scope, ALL)], record)).map(({ action }) => action)).toEqual(expected)
  })

  it.each<[Scope, SettingsInput['grants'], object]>([
    ['user', undefined, { reach: 'user-servers' }],
    ['user', new Map([['mcp__a', ['s']]]), { reach: 'user-servers' }],
    ['local', undefined, {}],
    ['local', new Map([['mcp__b', ['s']]]), {}],
    ['local', new Map([['mcp__a', ['s']]]), { signatures: ['s'] }],
    ['local', 'unreadable', { signatures: [] }],
  ])('that allow, of a %s file, are bound by %j to %j', (scope, grants, bound) => {
    const rules = permissionRules(input([fileOf(scope, ALL)], { allow: ['mcp__a'] }, { grants }))
    const [deny, ask, { action: _, rule, file, scope: said, ...rest } = { rule: '' }] = rules
    expect([rule, said, file !== undefined, rest]).toEqual(['mcp__a', scope, true, bound])
    expect([deny, ask].some((one) => one && ('reach' in one || 'signatures' in one))).toBe(false)
  })

  it('that cannot be read allow nothing and still deny; those for the tools of another product are left out', () => {
    const odd = { permissions: { allow: ['mcp__'], deny: ['files.(x', 'Bash(rm)'] } }
    const shown = (over: Partial<Source>) =>
      permissionRules(input([fileOf('user', odd, over)])).map(({ action, rule }) => `${action} ${rule}`)
    expect(shown({})).toEqual(['deny files.(x', 'deny Bash(rm)'])
    expect(shown({ product: 'claude' })).toEqual([])
  })

  it('about servers that are not there are told of in our own files only', () => {
    const ours = fileOf('user', { permissions: { deny: ['mcp__gti', 'mcp__git'] } })
    const foreign = fileOf(
      'user',
      { permissions: { deny: ['mcp__none'] } },
      { product: 'claude', file: '/c' },
    )
    const documents = [ours, foreign]
    const stray = rulesOfUnknownServers(permissionRules(input(documents)), documents, ['git'])
    expect(stray.map(({ path, message, hint }) => [path, message.includes('mcp__gti'), hint])).toEqual([
      ['permissions.deny', true, 'Did you mean the server "git"?'],
    ])
  })
})

describe('what waits for approval', () => {
  it.each<[string, Scope, SettingsRecord | undefined, string[]]>([
    ['nothing of the user', 'user', undefined, []],
    ['nothing of the shared file', 'project', undefined, []],
    ['all of a private file', 'local', undefined, ['hooks', 'allow']],
    ['what has no record', 'local', { hooks: hashOf(HOOKS) }, ['allow']],
    ['hooks that changed', 'local', { hooks: hashOf({}), allow: ['mcp__a'] }, ['hooks']],
    ['nothing that was approved', 'local', { hooks: hashOf(HOOKS), allow: ['mcp__a'] }, []],
  ])('is %s', (_, scope, record, kinds) => {
    const document = fileOf(scope, ALL)
    const pending = pendingIn(document, input([document], record))
    expect(pending.map(({ kind }) => kind)).toEqual(kinds)
    for (const one of pending) expect(one.record).toBe(RECORD)
  })

  it('is named once, and not at all where a rule allows nothing', () => {
    const document = fileOf('local', { permissions: { allow: ['mcp__a', 'mcp__a', 'mcp__'] } })
    expect(pendingIn(document, input([document]))).toMatchObject([{ kind: 'allow', written: ['mcp__a'] }])
    const none = fileOf('local', { permissions: { allow: ['mcp__'] } })
    expect(pendingIn(none, input([none]))).toEqual([])
  })

  it.each<['hooks' | 'allow', unknown, string, string]>([
    ['hooks', HOOKS, 'hooks', 'you have not approved these hooks'],
    [
      'allow',
      ['mcp__a'],
      'permissions.allow',
      'one rule has no effect: the file is in the project and you have not approved it',
    ],
    [
      'allow',
      ['a', 'b'],
      'permissions.allow',
      '2 rules have no effect: the file is in the project and you have not approved them',
    ],
  ])('is told of: %s', (kind, written, path, message) => {
    const told = ignoredSettings({ kind, file: '/f', record: RECORD, written })
    expect([told.path, told.message.endsWith(message)]).toEqual([path, true])
  })

  it('is recorded by its path in the project', () => {
    expect(recordName(`${ROOT}/a/b.json`, ROOT)).toBe('a/b.json')
  })
})

describe('hooks', () => {
  it.each<[Scope, SettingsRecord | undefined, boolean, string | undefined]>([
    ['user', undefined, false, '/neutral'],
    ['user', undefined, true, ROOT],
    ['local', undefined, false, undefined],
    ['local', { hooks: hashOf({}) }, true, undefined],
    ['local', { hooks: hashOf(HOOKS) }, false, ROOT],
  ])('of a %s file with the record %j, trusted: %s, start in %s', (scope, record, folderTrusted, cwd) => {
    const hooks = writtenHooks(input([fileOf(scope, ALL), fileOf(scope, {})], record, { folderTrusted }))
    expect(hooks.map((one) => one.cwd)).toEqual(cwd === undefined ? [] : [cwd])
  })
})

describe('machine logins', () => {
  it('without an address are told of', () => {
    const machines = {
      none: { clientId: 'c' },
      byUrl: { clientId: 'c', url: 'https://x/' },
      byIssuer: { clientId: 'c', issuer: 'https://x/' },
    }
    const told = unboundMachines(fileOf('user', { logins: { machines } }))
    expect(told.map(({ path }) => path)).toEqual(['logins.machines.none'])
    expect(unboundMachines(fileOf('user', {}))).toEqual([])
  })
})

describe('settings of several files', () => {
  const merged = (user: object, enterprise: object) =>
    mergedSettings([fileOf('enterprise', enterprise), fileOf('user', user)])

  it.each<[object, object, object]>([
    [{}, {}, {}],
    [{ resident: false }, {}, { enabled: false }],
    [{ resident: { idleMs: 5000 } }, {}, { enabled: true, idleMs: 5000 }],
    [{ resident: {} }, {}, { enabled: true }],
    [{ resident: { idleMs: 5000 } }, { resident: false }, { enabled: false, idleMs: 5000 }],
    [{ resident: false }, { resident: true }, { enabled: true }],
  ])('of the user %j and the administrator %j: resident %j', (user, enterprise, resident) => {
    expect(merged(user, enterprise).resident).toEqual(resident)
  })

  it('are merged part by part, and the administrator’s win', () => {
    const login = (clientId: string) => ({ clientId, url: 'https://x/' })
    const { logins, profiles } = merged(
      {
        logins: { clientMetadataUrl: 'https://u/', machines: { a: login('u'), b: login('u') } },
        profiles: { x: ['a'], y: ['b'] },
      },
      { logins: { machines: { a: login('e') } }, profiles: { x: ['c'] } },
    )
    expect(logins.machines).toMatchObject({ a: { clientId: 'e' }, b: { clientId: 'u' } })
    expect(logins.clientMetadataUrl).toBe('https://u/')
    expect(profiles).toEqual({ x: ['c'], y: ['b'] })
    expect(merged({}, {}).logins).toEqual({ machines: {} })
  })
})
