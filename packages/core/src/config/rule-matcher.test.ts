// Which tools and servers a rule covers, by its use: a grant is narrow, a restriction is wide.
import { describe, expect, it } from 'vitest'
import { TOOL_LIMITS } from '../limits.ts'
import { concernsServer, coversServer, coversTool, exactRule, type ToolNames } from './rule-matcher.ts'
import { type ParsedRule, parseRule, type RuleUse } from './rule-syntax.ts'

function rule(text: string, use: RuleUse): ParsedRule {
  const read = parseRule(text, use)
  if (!read.ok) throw new Error(`${text} ${read.problem}`)
  return read
}
const tool = (server: string, name: string, registry?: string): ToolNames => ({
  server,
  tool: name,
  ...(registry !== undefined && { name: registry }),
})

describe('a rule covers a tool', () => {
  it.each<[string, ToolNames, boolean, boolean]>([
    ['mcp__s', tool('s', 't'), true, true],
    ['s', tool('s', 't'), true, true],
    ['s.*', tool('s', 't'), true, true],
    ['s.**', tool('s', 't'), true, true],
    ['s.t', tool('s', 't'), true, true],
    ['s.t', tool('s', 'u'), false, false],
    ['s.t', tool('r', 't'), false, false],
    ['s.get_*', tool('s', 'get_x'), true, true],
    ['s.get_*', tool('s', 'set_x'), false, false],
    // The spelling in our characters is covered by a restriction, and by a pattern.
    ['mcp__s__a_b', tool('s', 'a.b', 'mcp__s__a_b'), true, true],
    ['mcp__s__a_b', tool('s', 'a.b', 'mcp__s__a_b_2'), true, false],
    ['mcp__s__a_*', tool('s', 'a.b', 'mcp__s__a_b_2'), true, true],
    ['mcp__s__a_b_2', tool('s', 'a.b', 'mcp__s__a_b_2'), true, true],
    // The name of the registry alone: a restriction holds by it, a grant only where it was shortened.
    ['mcp__other', tool('s', 't', 'mcp__other'), true, true],
    ['mcp__s__t', tool('s', 't', 'mcp__s__t'), true, true],
  ])('%s, %j: restricts %s, allows %s', (text, names, restricts, allows) => {
    expect(coversTool(rule(text, 'restrict'), names, 'restrict')).toBe(restricts)
    expect(coversTool(rule(text, 'allow'), names, 'allow')).toBe(allows)
  })

  it('by its spelling only where the name is too long for the registry', () => {
    const named = (length: number) => {
      const name = `a.${'x'.repeat(length - 'mcp__s__a.'.length)}`
      return coversTool(
        rule(`mcp__s__${name.replace('.', '_')}`, 'allow'),
        tool('s', name, 'mcp__s__cut'),
        'allow',
      )
    }
    expect([named(TOOL_LIMITS.nameLength), named(TOOL_LIMITS.nameLength + 1)]).toEqual([false, true])
  })
})

describe('a rule covers a server', () => {
  it.each<[string, string, boolean, boolean]>([
    ['s', 's', true, true],
    ['s.*', 's', true, true],
    ['s.t', 's', false, true],
    ['s.t*', 's', false, true],
    ['r', 's', false, false],
  ])('%s, %s: all of it %s, some of it %s', (text, server, whole, some) => {
    for (const use of ['restrict', 'allow'] as const) {
      expect(coversServer(rule(text, use), server, use)).toBe(whole)
      expect(concernsServer(rule(text, use), server, use)).toBe(some)
    }
  })

  it('with __ in its name by every reading when it restricts, and by the first when it allows', () => {
    const covers = (use: RuleUse, server: string) => concernsServer(rule('mcp__a__b__c', use), server, use)
    expect(['a', 'a__b'].map((server) => covers('restrict', server))).toEqual([true, true])
    expect(['a', 'a__b'].map((server) => covers('allow', server))).toEqual([true, false])
  })
})

describe('an exact rule', () => {
  it.each<[ToolNames, string]>([
    [tool('s', 't'), 'mcp__s__t'],
    [tool('s', 't', 'mcp__s__t'), 'mcp__s__t'],
    [tool('s', 'a.b', 'mcp__s__a_b_2'), 'mcp__s__a_b_2'],
    [tool('a__b', 'c', 'mcp__a__b__c'), 'a__b.c'],
    [tool('s', 't', 'mcp__cut_1234'), 'mcp__cut_1234'],
  ])('for %j is %s, and covers it', (names, expected) => {
    expect(exactRule(names)).toBe(expected)
    expect(coversTool(rule(expected, 'allow'), names, 'allow')).toBe(true)
  })
})
