// Which hooks run for which tool or server: every form of a matcher, and what happens to one that is no pattern.
import { describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { HOOK_LIMITS } from '../limits.ts'
import { type HookEvent, type HookedCall, Hooks } from './hooks.ts'

function matcher(event: HookEvent, text: string) {
  const warnings: string[] = []
  const hooks = new Hooks([{ event, matcher: text, run: { kind: 'function', call: () => ({}) } }], {
    host: systemHost(),
    warn: (message) => warnings.push(message),
  })
  const runsFor = (server: string, tool: string, name = `mcp__${server}__${tool}`) =>
    hooks.concerns(event, { server, tool, name })
  /** The server alone, as elicitations are matched. */
  const runsForServer = (server: string) => hooks.concerns(event, { server } as HookedCall)
  return { warnings, runsFor, runsForServer }
}

describe('a matcher of a hook around calls', () => {
  it.each<[string, string, string, string | undefined, boolean]>([
    ['files.read', 'files', 'read', undefined, true],
    ['files.read', 'files', 'write', undefined, false],
    ['files.read|git.log', 'git', 'log', undefined, true],
    ['files.read | git.log', 'git', 'log', undefined, true],
    ['files.read|git.log', 'git', 'read', undefined, false],
    // The registry's name, also with the suffix of a name that was taken.
    ['mcp__files__read_1a2b3c4d', 'files', 're/ad', 'mcp__files__read_1a2b3c4d', true],
    // Every spelling of the server and the tool, as a regular expression.
    ['mcp__my_server__re_ad$|x{3}', 'my server', 're.ad', 'mcp__other', true],
    ['mcp__my server__re.ad|x{3}', 'my server', 're.ad', 'mcp__other', true],
    ['my server\\.re.ad|x{3}', 'my server', 're.ad', 'mcp__other', true],
    ['(?:mcp__)?other|x{3}', 'my server', 're.ad', 'mcp__other', true],
    ['my_server\\.re_ad|x{3}', 'my server', 're.ad', 'mcp__other', false],
    // A guard follows every reading of a rule: `a__b` is also a server.
    ['mcp__a__b', 'a__b', 'c', undefined, true],
    ['mcp__a__b', 'a', 'b', undefined, true],
    ['mcp__a__b', 'a', 'c', undefined, false],
  ])('%s runs for %s.%s (%s): %s', (text, server, tool, name, runs) => {
    expect(matcher('PreToolUse', text).runsFor(server, tool, name)).toBe(runs)
  })

  it('that is neither a pattern nor rules runs for everything and is told', () => {
    for (const event of ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'] as const)
      for (const text of ['(', '(|s.t', `[${'x'.repeat(100)}`]) {
        const { runsFor, warnings } = matcher(event, text)
        expect(runsFor('any', 'tool')).toBe(true)
        expect(warnings).toEqual([
          `The hook matcher ${JSON.stringify(text.slice(0, 80))} is not a pattern; until it is repaired, its hook runs for every call.`,
        ])
      }
  })

  it('may be as long as the limit', () => {
    const fitting = `${'a'.repeat(HOOK_LIMITS.matcherChars - 4)}|s.{0}`.slice(-HOOK_LIMITS.matcherChars)
    expect(fitting).toHaveLength(HOOK_LIMITS.matcherChars)
    expect(matcher('PreToolUse', fitting)).toMatchObject({ warnings: [] })
    expect(matcher('PreToolUse', fitting).runsFor('x', 'y')).toBe(false)
    const longer = matcher('PreToolUse', `a${fitting}`)
    expect(longer.warnings).toHaveLength(1)
    expect(longer.runsFor('x', 'y')).toBe(true)
  })

  it('that is only rules needs no pattern, however long it is', () => {
    const rules = Array.from({ length: 200 }, (_, at) => `server${at}.tool`).join('|')
    const { runsFor, warnings } = matcher('PreToolUse', rules)
    expect(warnings).toEqual([])
    expect([runsFor('server199', 'tool'), runsFor('server200', 'tool')]).toEqual([true, false])
  })
})

describe('a matcher of a hook for elicitations', () => {
  it.each<[string, string, boolean]>([
    ['s', 's', true],
    ['s.*', 's', true],
    ['s.t', 's', false],
    ['mcp__s', 's', true],
    ['mcp__my_server', 'my server', true],
    ['my server', 'my server', true],
    ['my_server', 'my server', true],
    ['s|other', 'other', true],
    // It answers for the user, so a name that may mean two servers means one.
    ['mcp__a__b__*', 'a__b', false],
    ['mcp__a', 'a__b', false],
    ['x{3}', 'xxx', true],
    ['x{3}', 'xx', false],
  ])('%s runs for the server %s: %s', (text, server, runs) => {
    for (const event of ['Elicitation', 'ElicitationResult'] as const)
      expect(matcher(event, text).runsForServer(server)).toBe(runs)
  })

  it('that is no pattern never runs and is told', () => {
    for (const event of ['Elicitation', 'ElicitationResult'] as const) {
      const { runsForServer, warnings } = matcher(event, '(')
      expect(runsForServer('s')).toBe(false)
      expect(warnings).toEqual(['The hook matcher "(" is not a pattern; its hook never runs.'])
    }
  })
})
