// A permission prompt: each part is shown when it says something, and only then.
import { describe, expect, it } from 'vitest'
import type { ToolRequest } from './decision-types.ts'
import { type Asked, permissionQuestion } from './permission-question.ts'

const ask = (request: Partial<ToolRequest> = {}, over: Partial<Asked> = {}) =>
  permissionQuestion({
    request: {
      server: 's',
      tool: 't',
      name: 'mcp__s__t',
      traits: { readOnly: false, destructive: false },
      ...request,
    },
    reason: { kind: 'default', text: 'no rule matches' },
    arguments: { a: 1 },
    ...over,
  }).full
const texts = (...args: Parameters<typeof ask>) => ask(...args).map(({ text }) => text.trim())

describe('a permission prompt', () => {
  it('names the tool, the reason and every argument, and nothing more', () => {
    expect(texts()).toEqual([
      'Allow calling s: t?',
      'adds or changes, as the server says, and deletes nothing',
      'Asked because no rule matches.',
      'a: 1',
    ])
  })

  it('of a resource has no tone and no arguments', () => {
    expect(texts({ resource: true, tool: 'file:///a' }, { arguments: undefined })).toEqual([
      'Allow reading s: file:///a?',
      'Asked because no rule matches.',
    ])
  })

  it.each<[Partial<ToolRequest>, string, string]>([
    [{ traits: { readOnly: true, destructive: false } }, 'read-only', 'read-only, as the server says'],
    [{ traits: { readOnly: false, destructive: true }, saysDestructive: true }, 'destructive', 'DESTRUCTIVE'],
    [{ traits: { readOnly: false, destructive: true } }, 'writes', 'the server does not say'],
    [{ traits: { readOnly: false, destructive: false } }, 'writes', 'deletes nothing'],
  ])('of %j is told as %s', (request, role, text) => {
    const tone = ask(request)[1]
    expect(tone?.role).toBe(role)
    expect(tone?.text).toContain(text)
  })

  it.each<[unknown, boolean]>([
    [undefined, true],
    [null, true],
    [{}, true],
    [[], true],
    [{ a: undefined }, false],
    [0, false],
    ['', false],
    [false, false],
  ])('with the arguments %j says "no arguments": %s', (args, says) => {
    expect(texts({}, { arguments: args }).includes('no arguments')).toBe(says)
  })

  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['t', false],
    ['Delete it all', true],
  ])('shows the title %j where it differs from the name: %s', (title, shown) => {
    expect(texts({ title }).some((line) => line.startsWith('title:'))).toBe(shown)
  })

  it('cuts a long title', () => {
    const line = texts({ title: 'x'.repeat(500) }).find((text) => text.startsWith('title:')) ?? ''
    expect(line.match(/x/g)).toHaveLength(200)
  })

  it('says where the reason is written, what changed, and what "always" writes', () => {
    const lines = texts(
      { changes: ['+ description: new'] },
      {
        reason: { kind: 'rule', text: 'the rule says ask', source: '/home/u/settings.json' },
        saves: { rule: 'mcp__s__t', file: '/home/u/settings.json' },
      },
    )
    expect(lines).toContain('Asked because the rule says ask (/home/u/settings.json).')
    expect(lines).toContain('Its definition changed since you accepted it:')
    expect(lines).toContain('+ description: new')
    expect(lines).toContain('"always" adds mcp__s__t to permissions.allow in /home/u/settings.json.')
    expect(texts({}, { saves: { rule: 'mcp__s__t' } })).toContain(
      '"always" adds mcp__s__t to permissions.allow in your settings.',
    )
  })
})
