// Which of two matching sources a decision names: the user mends the one that is named.
import { describe, expect, it } from 'vitest'
import type { ChannelPermissions } from '../config/entry.ts'
import { decide } from './decide.ts'
import type { PermissionOutcome, Reason, ToolRequest } from './decision-types.ts'
import type { Rule } from './rules.ts'

const request = (over: Partial<ToolRequest> = {}): ToolRequest => ({
  server: 's',
  tool: 't',
  name: 'mcp__s__t',
  traits: { readOnly: false, destructive: false },
  ...over,
})
const CHANNEL: Readonly<Record<PermissionOutcome | 'none', ChannelPermissions>> = {
  none: {},
  allow: { writePermission: 'allow' },
  ask: { writePermission: 'ask' },
  deny: { writePermission: 'deny' },
}
const rules = (effect: PermissionOutcome | 'none'): Rule[] =>
  effect === 'none' ? [] : [{ effect, text: 'mcp__s', source: 'settings.json' }]

describe('the reason of a decision', () => {
  it.each<[PermissionOutcome | 'none', PermissionOutcome | 'none', PermissionOutcome, Reason['kind']]>([
    ['none', 'none', 'ask', 'default'],
    ['none', 'allow', 'allow', 'rule'],
    ['none', 'ask', 'ask', 'rule'],
    ['none', 'deny', 'deny', 'rule'],
    ['allow', 'none', 'allow', 'channel'],
    ['allow', 'allow', 'allow', 'rule'],
    ['allow', 'ask', 'ask', 'rule'],
    ['allow', 'deny', 'deny', 'rule'],
    ['ask', 'none', 'ask', 'channel'],
    ['ask', 'allow', 'ask', 'channel'],
    ['ask', 'ask', 'ask', 'channel'],
    ['ask', 'deny', 'deny', 'rule'],
    ['deny', 'none', 'deny', 'channel'],
    ['deny', 'allow', 'deny', 'channel'],
    ['deny', 'ask', 'deny', 'channel'],
    ['deny', 'deny', 'deny', 'channel'],
  ])('entry: %s, rule: %s → %s by the %s', (channel, rule, outcome, kind) => {
    const decision = decide(request(), { channel: CHANNEL[channel], rules: rules(rule) })
    expect([decision.outcome, decision.reason.kind]).toEqual([outcome, kind])
  })

  it.each<
    [Partial<NonNullable<ToolRequest['builtin']>>, PermissionOutcome | 'none', PermissionOutcome, string]
  >([
    [{ allowedTools: ['t'] }, 'none', 'allow', 'builtin'],
    [{ allowedTools: ['other'] }, 'none', 'ask', 'default'],
    [{ allowedTools: ['t'], asks: 'it leaves the folder' }, 'none', 'ask', 'builtin'],
    [{ allowedTools: ['t'], asks: 'it leaves the folder' }, 'allow', 'allow', 'rule'],
    [{ allowedTools: ['t'] }, 'deny', 'deny', 'rule'],
  ])('a built-in server with %j, rule: %s → %s by the %s', (builtin, rule, outcome, kind) => {
    const asked = request({ builtin: { allowedTools: [], ...builtin } })
    const decision = decide(asked, { rules: rules(rule) })
    expect([decision.outcome, decision.reason.kind]).toEqual([outcome, kind])
    if (kind === 'builtin' && outcome === 'ask') expect(decision.reason.text).toBe('it leaves the folder')
  })

  it.each<[PermissionOutcome | 'none', readonly string[] | undefined, PermissionOutcome, string]>([
    ['allow', undefined, 'allow', 'rule'],
    ['allow', ['+ new'], 'ask', 'changed'],
    ['ask', ['+ new'], 'ask', 'rule'],
    ['deny', ['+ new'], 'deny', 'rule'],
    ['none', ['+ new'], 'ask', 'default'],
  ])('rule: %s, changes %j → %s by %s', (rule, changes, outcome, kind) => {
    const decision = decide(request({ changes }), { rules: rules(rule) })
    expect([decision.outcome, decision.reason.kind]).toEqual([outcome, kind])
  })
})
