import { describe, expect, it } from 'vitest'
import type { ChannelPermissions, PermissionMode } from '../config/entry.ts'
import { PermissionGate, type Question } from './ask.ts'
import { resourceVerdict } from './channel.ts'
import { decide, explainDecision } from './decide.ts'
import { fitsGlob } from './pattern.ts'
import type { Outcome, ToolRequest } from './request.ts'
import { type Rule, readRules } from './rules.ts'

const KINDS = {
  reads: { readOnly: true, destructive: false },
  adds: { readOnly: false, destructive: false },
  destroys: { readOnly: false, destructive: true },
} as const
type Kind = keyof typeof KINDS

const request = (tool = 't', kind: Kind = 'destroys', over: Partial<ToolRequest> = {}): ToolRequest => ({
  server: 's',
  tool,
  name: `mcp__s__${tool}`,
  traits: KINDS[kind],
  trusted: true,
  ...over,
})
const rule = (effect: Outcome, text: string): Rule => ({ effect, text, source: 'settings.json' })

/**
 * Every combination of P1 (what the channel says) and P2 (what the rules say).
 *
 * Down: the lists of the entry, then its mode for the kind of tool. Across: the strongest rule about the tool.
 */
const TABLE = `
 lists           mode      | no rule | allow | ask  | deny
 ------------------------- | ------- | ----- | ---- | ----
 none            none      | ask     | allow | ask  | deny
 none            allow     | allow   | allow | ask  | deny
 none            ask       | ask     | ask   | ask  | deny
 none            deny      | deny    | deny  | deny | deny
 allowed         none      | ask     | allow | ask  | deny
 allowed         allow     | allow   | allow | ask  | deny
 allowed         ask       | ask     | ask   | ask  | deny
 allowed         deny      | deny    | deny  | deny | deny
 not-allowed     none      | ask     | ask   | ask  | deny
 not-allowed     allow     | ask     | ask   | ask  | deny
 not-allowed     ask       | ask     | ask   | ask  | deny
 not-allowed     deny      | deny    | deny  | deny | deny
 denied          none      | deny    | deny  | deny | deny
 denied          allow     | deny    | deny  | deny | deny
 denied          ask       | deny    | deny  | deny | deny
 denied          deny      | deny    | deny  | deny | deny
 allowed+denied  none      | deny    | deny  | deny | deny
 allowed+denied  allow     | deny    | deny  | deny | deny
 allowed+denied  ask       | deny    | deny  | deny | deny
 allowed+denied  deny      | deny    | deny  | deny | deny
`
const LISTS: Readonly<Record<string, ChannelPermissions>> = {
  none: {},
  allowed: { allowedTools: ['t'] },
  'not-allowed': { allowedTools: ['other'] },
  denied: { deniedTools: ['t'] },
  'allowed+denied': { allowedTools: ['t'], deniedTools: ['t'] },
}
const RULES: Readonly<Record<string, readonly Rule[]>> = {
  'no rule': [],
  allow: [rule('allow', 'mcp__s__t')],
  ask: [rule('allow', 'mcp__s'), rule('ask', 'mcp__s__t')],
  deny: [rule('allow', 'mcp__s__t'), rule('ask', 'mcp__s__*'), rule('deny', 'mcp__s')],
}

const cells = TABLE.trim()
  .split('\n')
  .filter((line) => !line.includes('---'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
const [, ...columns] = cells[0] ?? []
const cases = cells.slice(1).flatMap(([left = '', ...outcomes]) => {
  const [lists = '', mode = ''] = left.split(/\s+/)
  return columns.flatMap((column, index) =>
    (Object.keys(KINDS) as Kind[]).map((kind) => ({ lists, mode, kind, column, expected: outcomes[index] })),
  )
})

describe('the permission table', () => {
  it('has a row for every combination', () => {
    expect(cases).toHaveLength(5 * 4 * 4 * 3)
  })

  it.each(cases)('$lists, mode $mode, a tool that $kind, rules: $column → $expected', (one) => {
    const mode = one.mode === 'none' ? undefined : (one.mode as PermissionMode)
    const key = one.kind === 'reads' ? 'readPermission' : 'writePermission'
    const channel = { ...LISTS[one.lists], ...(mode && { [key]: mode }) }
    const decision = decide(request('t', one.kind), { channel, rules: RULES[one.column] ?? [] })
    expect(decision.outcome).toBe(one.expected)
  })
})

describe('claims of a server', () => {
  it('open nothing when the server is not trusted, and still close', () => {
    const claims = request('t', 'reads', { trusted: false })
    expect(decide(claims, { channel: { readPermission: 'allow' }, rules: [] }).outcome).toBe('ask')
    expect(decide(claims, { channel: { readPermission: 'deny' }, rules: [] }).outcome).toBe('deny')
    const open: ChannelPermissions = { readPermission: 'allow', writePermission: 'allow' }
    expect(decide(claims, { channel: open, rules: [] }).outcome).toBe('allow')
  })
})

describe('rules', () => {
  it.each<[string, string, string, boolean]>([
    ['mcp__s', 's', 'any', true],
    ['mcp__s__*', 's', 'any', true],
    ['mcp__s__get_*', 's', 'get_user', true],
    ['mcp__s__get_*', 's', 'set_user', false],
    ['mcp__s__*_user', 's', 'get_user', true],
    ['mcp__s', 's2', 'any', false],
    ['mcp__s__*', 's__evil', 'x', false],
    ['mcp__s__t', 's', 'T', false],
    ['mcp__my_server__read_all', 'my server', 'read.all', true],
    [`mcp__s__${'x'.repeat(80)}`, 's', 'x'.repeat(80), true],
  ])('%s about %s.%s: %s', (text, server, tool, applies) => {
    const name = `mcp__${server}__${tool}`.replace(/[^\w-]/g, '_').slice(0, 64)
    const asked = request(tool, 'adds', { server, name })
    expect(decide(asked, { rules: [rule('allow', text)] }).outcome).toBe(applies ? 'allow' : 'ask')
    expect(decide(asked, { rules: [rule('deny', text)] }).outcome).toBe(applies ? 'deny' : 'ask')
  })

  it('that fit two tools by spelling deny both and allow only the one that bears the name', () => {
    const bearer = request('b__c', 'adds', { server: 'a', name: 'mcp__a__b__c' })
    const other = request('c', 'adds', { server: 'a__b', name: 'mcp__a__b__c_12345678' })
    for (const asked of [bearer, other])
      expect(decide(asked, { rules: [rule('deny', 'mcp__a__b__c')] }).outcome).toBe('deny')
    expect(decide(bearer, { rules: [rule('allow', 'mcp__a__b__c')] }).outcome).toBe('allow')
    expect(decide(other, { rules: [rule('allow', 'mcp__a__b__c')] }).outcome).toBe('ask')
  })

  it('are read from a settings file, with what is wrong told and the rest kept', () => {
    const read = readRules(
      { allow: ['mcp__s', 'Bash(ls)', 7, 'mcp__*__x'], deny: 'mcp__s', ask: ['mcp__t'] },
      'f.json',
    )
    expect(read.rules.map(({ effect, text }) => `${effect} ${text}`)).toEqual(['ask mcp__t', 'allow mcp__s'])
    expect(read.warnings).toHaveLength(3)
    expect(readRules(JSON.parse('{"__proto__": {"allow": ["mcp__s"]}}'), 'f').rules).toEqual([])
    expect(readRules(null, 'f').warnings).toHaveLength(1)
  })

  it('are named, with their file, in what people read', () => {
    const decision = decide(request(), { rules: [rule('deny', 'mcp__s__*')] })
    expect(explainDecision(request(), decision)).toBe(
      's.t is denied: the rule "mcp__s__*" says deny (settings.json).',
    )
  })

  it('do not mind patterns made to be slow', () => {
    expect(fitsGlob('*a'.repeat(200), 'a'.repeat(5000))).toBe(true)
    expect(fitsGlob(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false)
  })
})

describe('built-in servers', () => {
  it('allow what is on their own list, and a deny still denies', () => {
    const own = request('search', 'reads', { builtin: { allowedTools: ['search'] } })
    expect(decide(own, { rules: [] }).outcome).toBe('allow')
    expect(decide(own, { rules: [rule('deny', 'mcp__s')] }).outcome).toBe('deny')
    expect(decide({ ...own, tool: 'write' }, { rules: [] }).outcome).toBe('ask')
  })
})

describe('resources', () => {
  it.each<[ChannelPermissions, string, Outcome]>([
    [{}, 'file:///a', 'allow'],
    [{ allowedResources: ['file:///docs/*'] }, 'file:///docs/a', 'allow'],
    [{ allowedResources: ['file:///docs/*'] }, 'file:///etc/passwd', 'ask'],
    [{ readPermission: 'ask' }, 'file:///a', 'ask'],
    [{ readPermission: 'deny', allowedResources: ['*'] }, 'file:///a', 'deny'],
  ])('%j, %s → %s', (permissions, uri, outcome) => {
    expect(resourceVerdict('s', uri, permissions).outcome).toBe(outcome)
  })
})

describe('asking', () => {
  const ask = (...answers: string[]) => {
    const questions: Question[] = []
    return {
      questions,
      ask: async (question: Question) => {
        questions.push(question)
        return answers.shift() as 'once'
      },
    }
  }
  const standing = { rules: [] }

  it.each<['user' | 'agent' | 'client', Outcome]>([
    ['user', 'allow'],
    ['client', 'allow'],
    ['agent', 'deny'],
  ])('a call by the %s, with nobody to ask: %s', async (caller, outcome) => {
    const verdict = await new PermissionGate().check(request(), standing, caller, {})
    expect(verdict.outcome).toBe(outcome)
  })

  it('denies for everyone what is denied', async () => {
    for (const caller of ['user', 'agent', 'client'] as const) {
      const denied = { rules: [rule('deny', 'mcp__s')] }
      const verdict = await new PermissionGate({ ask: async () => 'always' }).check(
        request(),
        denied,
        caller,
        {},
      )
      expect(verdict).toMatchObject({ outcome: 'deny', reason: { rule: 'mcp__s', source: 'settings.json' } })
    }
  })

  it('once is once, and a session is a session for that tool alone', async () => {
    const user = ask('once', 'session', 'no')
    const gate = new PermissionGate(user)
    const check = (tool: string) => gate.check(request(tool), standing, 'agent', {})
    expect((await check('t')).outcome).toBe('allow')
    expect((await check('t')).outcome).toBe('allow')
    expect((await check('t')).outcome).toBe('allow')
    expect(user.questions).toHaveLength(2)
    expect((await check('u')).outcome).toBe('deny')
  })

  it('always saves an exact rule and says where', async () => {
    const saved: string[] = []
    const save = async (text: string) => {
      saved.push(text)
      return '/home/u/.plugboard/settings.json'
    }
    const user = ask('always')
    const verdict = await new PermissionGate({ ...user, save }).check(request(), standing, 'agent', {})
    expect(saved).toEqual(['mcp__s__t'])
    expect(verdict.reason).toMatchObject({ source: '/home/u/.plugboard/settings.json' })
    expect(user.questions[0]?.answers).toContain('always')
  })

  it('does not offer always where a saved rule would not stop the asking', async () => {
    const user = ask('session')
    const gate = new PermissionGate({ ...user, save: async () => '' })
    await gate.check(request(), { rules: [rule('ask', 'mcp__s')] }, 'agent', {})
    expect(user.questions[0]?.answers).toEqual(['once', 'session', 'no'])
  })

  it('asks once for calls that come together, when the answer covers them', async () => {
    const user = ask('session')
    const gate = new PermissionGate(user)
    const both = await Promise.all([1, 2].map(() => gate.check(request(), standing, 'agent', {})))
    expect(both.map(({ outcome }) => outcome)).toEqual(['allow', 'allow'])
    expect(user.questions).toHaveLength(1)
  })

  it('takes any other answer for a no', async () => {
    const verdict = await new PermissionGate(ask('YES')).check(request(), standing, 'agent', {})
    expect(verdict.outcome).toBe('deny')
  })

  it('asks for clients too when told to', async () => {
    const user = ask('no')
    const gate = new PermissionGate({ ...user, askForClients: true })
    expect((await gate.check(request(), standing, 'client', {})).outcome).toBe('deny')
  })
})
