import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { saveRule } from '../board/settings.ts'
import { alwaysRulesFile, readAlwaysRules, recordAlwaysRule } from './always-rules.ts'
import { readDocument } from './document.ts'
import { resolveConfiguration } from './resolve.ts'
import { type RuleAction, ruleError, rulesWithoutServer, rulesWithoutTool } from './rule-errors.ts'
import type { ToolNames } from './rule-matcher.ts'
import { fileSources, type Place } from './sources.ts'
import { NO_RECORDS } from './trust.ts'

let place: Place
beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), 'rules-'))
  place = { root, home: join(root, 'home'), platform: 'linux', env: {} }
})
afterEach(() => rmSync(place.root, { recursive: true, force: true }))

const source = (id: string) => {
  const found = fileSources(place).find((one) => one.id === id)
  if (!found) throw new Error(id)
  return found
}
const read = (id: string, content: unknown) =>
  readDocument(JSON.stringify(content, null, 2), source(id), place.root)
const resolved = (documents: Parameters<typeof resolveConfiguration>[0]['documents'], over = {}) =>
  resolveConfiguration({
    documents,
    root: place.root,
    env: {},
    records: NO_RECORDS,
    approveProject: false,
    folderTrusted: false,
    neutralFolder: '/neutral',
    ...over,
  })

describe('rules in a file of ours', () => {
  it('that cannot be one are errors with their place, and a deny still closes', () => {
    const document = read('user', {
      permissions: { deny: ['files.write', 'files/write_file'], allow: ['Bash(ls)', '*'], ask: ['('] },
    })
    expect(document.diagnostics).toMatchObject([
      {
        severity: 'error',
        topic: 'rules',
        path: 'permissions.deny[1]',
        line: 5,
        message: 'the deny rule "files/write_file" is not a rule',
        hint: 'Did you mean "files.write_file"? Until it is repaired, everything of a server named "files" is denied.',
      },
      { path: 'permissions.ask[0]', hint: expect.stringContaining('It has no effect') },
      { path: 'permissions.allow[0]', hint: expect.stringContaining('It allows nothing.') },
      { path: 'permissions.allow[1]', message: 'the allow rule "*" has a "*" in the name of the server' },
    ])
    expect(resolved([document]).rules.map(({ action, rule }) => `${action} ${rule}`)).toEqual([
      'deny files.write',
      'deny files/write_file',
      'ask (',
    ])
  })

  it('count also when a list is a single text, and a slip in a list’s name is an error', () => {
    const document = read('user', { permissions: { deny: 'files.write', denny: ['x'], other: [] } })
    expect(document.settings.permissions?.deny).toEqual(['files.write'])
    expect(document.diagnostics.map(({ severity, path }) => [severity, path])).toEqual([
      ['error', 'permissions.deny'],
      ['error', 'permissions.denny'],
      ['warning', 'permissions.other'],
    ])
  })

  it('of another product are left alone in its own files', () => {
    const rules = ['Bash(rm *)', 'Read', 'WebFetch(domain:x.com)', 'files.write', 'mcp__files__write']
    const document = read('claude-user', { permissions: { deny: rules, allow: rules } })
    expect(document.diagnostics).toEqual([])
    expect(resolved([document]).rules.map(({ rule }) => rule)).toEqual([
      'mcp__files__write',
      'mcp__files__write',
    ])
    const broken = read('claude-user', { permissions: { deny: ['mcp__files__write(x)'] } })
    expect(broken.diagnostics).toMatchObject([{ severity: 'error', path: 'permissions.deny[0]' }])
  })

  it('of an administrator may have the dot', () => {
    const document = read('managed-settings', {
      permissions: { deny: ['files.write', 'Read', 'Bash(ls.x)'] },
    })
    expect(document.diagnostics).toEqual([])
    expect(resolved([document]).rules.map(({ rule }) => rule)).toEqual(['files.write'])
  })
})

describe('rules about servers that are not there', () => {
  const rule = (text: string, action: 'allow' | 'deny' = 'deny') => ({ action, rule: text, file: 'f' })
  it('are warnings, with what was probably meant', () => {
    const told = rulesWithoutServer([rule('fils.write'), rule('files.x'), rule('zzz', 'allow')], ['files'])
    expect(told).toMatchObject([
      {
        severity: 'warning',
        topic: 'rules',
        path: 'permissions.deny',
        hint: 'Did you mean the server "files"?',
      },
      { path: 'permissions.allow', hint: expect.stringContaining('It counts when there is one.') },
    ])
    expect(rulesWithoutServer([rule('*.x'), rule('mcp__files'), rule('(')], ['files'])).toEqual([])
  })

  it('are told for files of ours only', () => {
    const rules = { permissions: { deny: ['mcp__gone'] } }
    expect(resolved([read('user', rules)]).diagnostics).toMatchObject([
      { topic: 'rules', severity: 'warning' },
    ])
    expect(resolved([read('claude-user', rules)]).diagnostics).toEqual([])
  })
})

/** The user approved these rules of the private file. */
const approved = (...allow: string[]) => ({
  records: { ...NO_RECORDS, settings: new Map([['.plugboard/settings.local.json', { allow }]]) },
})

describe('whose servers an allow rule reaches', () => {
  const allow = { permissions: { allow: ['mcp__s'], deny: ['mcp__t'] } }
  it('is the user’s own for rules of the user, and this project’s for rules of the project', () => {
    for (const id of ['user', 'claude-user', 'managed-settings'])
      expect(resolved([read(id, allow)]).rules).toMatchObject([
        { action: 'deny', rule: 'mcp__t' },
        { action: 'allow', rule: 'mcp__s', reach: 'user-servers' },
      ])
    const [deny, local] = resolved([read('local', allow)], approved('mcp__s')).rules
    expect(deny).not.toHaveProperty('reach')
    expect(local).not.toHaveProperty('reach')
    expect(local).not.toHaveProperty('signatures')
  })

  it('is the one server that an "always" was given for', async () => {
    const file = await saveRule({ place }, 'mcp__s', 'local', 'sig-1')
    await saveRule({ place }, 'mcp__s', 'local', 'sig-2')
    await saveRule({ place }, 'mcp__s', 'local', 'sig-1')
    await saveRule({ place }, 'mcp__u', 'user', 'sig-3')
    expect(JSON.parse(readFileSync(file, 'utf8')).permissions.allow).toEqual(['mcp__s'])
    const grants = await readAlwaysRules(place)
    expect(grants).toEqual(new Map([['mcp__s', ['sig-1', 'sig-2']]]))
    expect(statSync(alwaysRulesFile(place)).mode & 0o777).toBe(0o600)
    const document = read('local', { permissions: { allow: ['mcp__s', 'mcp__other'] } })
    expect(resolved([document], { grants, ...approved('mcp__s', 'mcp__other') }).rules).toMatchObject([
      { rule: 'mcp__s', signatures: ['sig-1', 'sig-2'] },
      { rule: 'mcp__other' },
    ])
    expect(await readAlwaysRules({ ...place, root: '/elsewhere' })).toEqual(new Map())
  })

  it('is none while the record cannot be read, and it is not written over', async () => {
    await recordAlwaysRule(place, 'mcp__s', 'sig')
    for (const broken of [
      '{',
      '{}',
      '{"projects": []}',
      '{"projects": {"x": []}}',
      '{"projects": {"x": {"r": [1]}}}',
    ]) {
      writeFileSync(alwaysRulesFile(place), broken)
      const grants = await readAlwaysRules(place)
      expect([broken, grants]).toEqual([broken, 'unreadable'])
      const document = read('local', { permissions: { allow: ['mcp__s'] } })
      expect(resolved([document], { grants, ...approved('mcp__s') }).rules).toMatchObject([
        { rule: 'mcp__s', signatures: [] },
      ])
      await expect(recordAlwaysRule(place, 'mcp__s', 'sig')).rejects.toThrow('cannot be read')
      expect(readFileSync(alwaysRulesFile(place), 'utf8')).toBe(broken)
    }
  })
})

describe('what a rule without meaning does', () => {
  it.each([
    ['allow', '!!!', 'It allows nothing.'],
    ['deny', '!!!', 'It has no effect: it does not deny anything.'],
    ['ask', '!!!', 'It has no effect: it does not guard anything.'],
    ['deny', 'files/!', 'Until it is repaired, everything of a server named "files" is denied.'],
    ['ask', 'files/!', 'Until it is repaired, everything of a server named "files" asks.'],
  ] as const)('%s %j', (action, text, effect) => {
    const fault = ruleError(action, text)
    expect(fault?.message).toMatch(`the ${action} rule "${text}" `)
    expect(fault?.hint.endsWith(` ${effect}`)).toBe(true)
  })

  it('names the nearest server of any reading', () => {
    const rules = [{ action: 'deny', rule: 'mcp__q__filesystm__t', file: 'f' }] as const
    expect(rulesWithoutServer(rules, ['q__filesystem'])).toMatchObject([
      { hint: 'Did you mean the server "q__filesystem"?' },
    ])
  })

  it.each<[RuleAction, string, string | undefined]>([
    // [action, rule, the nearest tool, or '' for a warning without one; undefined: no warning]
    ['deny', 'files.wirte_file', 'write_file'],
    ['allow', 'mcp__files__wirte_file', 'write_file'],
    ['ask', 'files.something_else', ''],
    ['deny', 'files.wirte_*', ''],
    ['deny', 'files.READ', 'read'],
    ['deny', 'mcp__q__files__lst', 'list'],
    ['deny', 'files.write_file', undefined],
    ['allow', 'mcp__files__write_file', undefined],
    ['deny', 'files.write_*', undefined],
    ['deny', 'files.a_b', undefined],
    ['deny', 'files.a/b', undefined],
    ['deny', 'mcp__files__very_long_1234', undefined],
    ['deny', 'files', undefined],
    ['deny', 'files.*', undefined],
    ['deny', 'mcp__q__files__list', undefined],
    // Its tools are not known, it does not exist, it is a pattern for servers, or no rule at all.
    ['deny', 'away.nothing', undefined],
    ['deny', 'none.nothing', undefined],
    ['deny', '*.nothing', undefined],
    ['deny', 'files/!', undefined],
  ])('%s %s: the nearest tool is %j', (action, rule, similar) => {
    const tools: Readonly<Record<string, readonly ToolNames[]>> = {
      files: [
        ...['write_file', 'read', 'a/b'].map((tool) => ({ server: 'files', tool })),
        { server: 'files', tool: 'very_long_name', name: 'mcp__files__very_long_1234' },
      ],
      q__files: [{ server: 'q__files', tool: 'list' }],
    }
    const servers = ['files', 'q__files', 'away']
    const found = rulesWithoutTool([{ action, rule, file: 'f' }], servers, (server) => tools[server])
    expect(found.map(({ diagnostic }) => diagnostic)).toEqual(
      similar === undefined
        ? []
        : [
            {
              severity: 'warning',
              topic: 'rules',
              file: 'f',
              path: `permissions.${action}`,
              message: expect.stringMatching(/^the rule ".*" matches no tool of "(q__)?files"$/),
              hint: expect.stringContaining(
                similar === '' ? 'It counts when there is one.' : `Did you mean the tool "${similar}"?`,
              ),
            },
          ],
    )
  })

  it('an "always" file with anything else in it is not readable', async () => {
    const file = alwaysRulesFile(place)
    await recordAlwaysRule(place, 'mcp__a', 's')
    expect(await readAlwaysRules(place)).toEqual(new Map([['mcp__a', ['s']]]))
    for (const projects of [{ '/p': { r: ['a', 1] } }, { '/p': { r: 'a' } }, { '/p': [] }, []]) {
      writeFileSync(file, JSON.stringify({ projects }))
      expect(await readAlwaysRules(place)).toBe('unreadable')
    }
  })
})
