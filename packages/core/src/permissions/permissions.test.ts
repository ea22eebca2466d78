import { describe, expect, it } from 'vitest'
import type { ChannelPermissions, PermissionMode } from '../config/entry.ts'
import { decide, explainDecision } from './decide.ts'
import type { PermissionOutcome, ToolRequest } from './decision-types.ts'
import { isOfUser } from './entry-permissions.ts'
import { PermissionGate, type PermissionQuestion } from './gate.ts'
import { matchesGlob } from './glob.ts'
import { type Rule, reaches, rulesAbout } from './rules.ts'

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
  ...over,
})
const rule = (effect: PermissionOutcome, text: string): Rule => ({ effect, text, source: 'settings.json' })

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

describe('an entry that the user did not write', () => {
  it.each<Kind>(['reads', 'adds', 'destroys'])('grants itself nothing for a tool that %s', (kind) => {
    const open: ChannelPermissions = { readPermission: 'allow', writePermission: 'allow' }
    const foreign = { channel: open, channelGrants: false, rules: [] }
    expect(decide(request('t', kind), foreign).outcome).toBe('ask')
    expect(decide(request('t', kind), { ...foreign, channelGrants: true }).outcome).toBe('allow')
    expect(decide(request('t', kind), { channel: open, rules: [] }).outcome).toBe('allow')
  })

  it('still closes what it closes', () => {
    const closed = { readPermission: 'deny', writePermission: 'ask' } as const
    const foreign = { channel: closed, channelGrants: false, rules: [rule('allow', 'mcp__s')] }
    expect(decide(request('t', 'reads'), foreign).outcome).toBe('deny')
    expect(decide(request('t', 'adds'), foreign).outcome).toBe('ask')
  })

  it.each<[Parameters<typeof isOfUser>[0], boolean]>([
    [{ scope: 'user' }, true],
    [{ scope: 'user', author: 'user' }, true],
    [{ scope: 'local', author: 'user' }, true],
    [{ scope: 'enterprise' }, true],
    [{ scope: 'local', author: 'repository' }, false],
    [{ scope: 'project', author: 'repository' }, false],
    [{ scope: 'plugin' }, false],
    [{ scope: 'claudeai' }, false],
  ])('%j is of the user: %s', (server, ofUser) => {
    expect(isOfUser(server)).toBe(ofUser)
  })
})

describe('lists in an entry', () => {
  const decided = (channel: ChannelPermissions, asked: ToolRequest) =>
    decide(asked, { channel, rules: [rule('allow', 'mcp__s')] }).outcome

  it('that are empty open nothing', () => {
    expect(decided({ allowedTools: [] }, request())).toBe('ask')
    expect(decided({ deniedTools: [] }, request())).toBe('allow')
    const uri = { ...request('file:///a', 'reads'), resource: true }
    expect(decided({ allowedResources: [] }, uri)).toBe('ask')
    expect(decided({}, uri)).toBe('allow')
  })

  it.each([
    ['t', 't', true],
    ['get_*', 'get_x', true],
    ['get_*', 'set_x', false],
    ['de.lete', 'de.lete', true],
    ['de_lete', 'de.lete', true],
    ['s.t', 't', true],
    ['s.get_*', 'get_x', true],
    ['mcp__s__t', 't', true],
    ['mcp__s__get_*', 'get_x', true],
    ['mcp__other__t', 't', false],
    ['other.t', 't', false],
    // A single name is a tool, also where it is the name of the server.
    ['s', 't', false],
    ['s', 's', true],
    ['not a rule', 't', false],
  ])('%s is about s.%s: %s', (pattern, tool, applies) => {
    const asked = request(tool, 'adds', { name: `mcp__s__${tool.replace(/\W/g, '_')}` })
    expect(decided({ deniedTools: [pattern] }, asked)).toBe(applies ? 'deny' : 'allow')
    expect(decided({ allowedTools: [pattern] }, asked)).toBe(applies ? 'allow' : 'ask')
  })

  it('say where they are written, where that is known', () => {
    const channel = { deniedTools: ['t'] }
    expect(decide(request(), { channel, channelSource: 'f.json', rules: [] }).reason.source).toBe('f.json')
    expect(decide(request(), { channel, rules: [] }).reason).not.toHaveProperty('source')
  })

  it('need only one pattern that fits', () => {
    expect(decided({ allowedTools: ['x', 't', 'y'] }, request())).toBe('allow')
    expect(decided({ deniedTools: ['x', 't'] }, request())).toBe('deny')
    expect(decided({ deniedTools: ['x', 'y'] }, request())).toBe('allow')
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

  it('that cannot be read close the server they begin with, and open nothing', () => {
    for (const text of ['s/t', 's(t)', 'mcp__s(t)', ' s.t', 'mcp__s__']) {
      const outcome = (effect: PermissionOutcome, server = 's') =>
        decide(request('t', 'adds', { server }), { rules: [rule(effect, text)] }).outcome
      expect([text, outcome('deny'), outcome('ask'), outcome('allow')]).toEqual([text, 'deny', 'ask', 'ask'])
      expect(outcome('deny', 'other')).toBe('ask')
    }
    const { reason } = decide(request(), { rules: [rule('deny', 's/t')] })
    expect(reason.text).toBe('the deny rule "s/t" is not a rule, so it holds for everything of "s"')
    expect(decide(request(), { rules: [rule('deny', '(')] }).outcome).toBe('ask')
  })

  it('of the user reach the servers of the user and not those of a repository', () => {
    const allow = { ...rule('allow', 'mcp__s'), reach: 'user-servers' as const }
    const decided = (one: Rule, facts: { author?: 'user' | 'repository'; signature?: string }) =>
      decide(request(), { rules: [one], ...facts }).outcome
    expect(decided(allow, {})).toBe('allow')
    expect(decided(allow, { author: 'user' })).toBe('allow')
    expect(decided(allow, { author: 'repository' })).toBe('ask')
    expect(decided(rule('allow', 'mcp__s'), { author: 'repository' })).toBe('allow')
    for (const effect of ['deny', 'ask'] as const)
      expect(decided({ ...rule(effect, 'mcp__s'), reach: 'user-servers' }, { author: 'repository' })).toBe(
        effect,
      )
  })

  it('that were saved for one server do not reach another of its name', () => {
    const bound = { ...rule('allow', 'mcp__s__t'), signatures: ['one', 'two'] }
    expect(reaches(bound, { signature: 'two', author: 'repository' })).toBe(true)
    expect(reaches(bound, { signature: 'three' })).toBe(false)
    expect(reaches(bound, {})).toBe(false)
    expect(reaches({ signatures: [] }, { signature: 'one' })).toBe(false)
    expect(decide(request(), { rules: [bound], signature: 'one' }).outcome).toBe('allow')
    expect(decide(request(), { rules: [bound], signature: 'three' }).outcome).toBe('ask')
    expect(decide(request(), { rules: [{ ...bound, effect: 'deny' }], signature: 'three' }).outcome).toBe(
      'deny',
    )
  })

  it('leave it to the next one where the first does not reach', () => {
    const rules = [{ ...rule('allow', 'mcp__s'), signatures: [] }, rule('allow', 'mcp__s__t')]
    expect(decide(request(), { rules }).reason.rule).toBe('mcp__s__t')
  })

  it('about a server are found in every spelling, strongest first', () => {
    const written = (action: PermissionOutcome, text: string) => ({ action, rule: text })
    const rules = [
      written('allow', 'mcp__s__get_*'),
      written('deny', 's.delete'),
      written('ask', 's/x'),
      written('allow', 's/x'),
      written('deny', 'other'),
      written('deny', '*.drop'),
      written('allow', 'mcp__s2'),
    ]
    expect(rulesAbout('s', rules).map(({ action, rule: text }) => `${action} ${text}`)).toEqual([
      'deny s.delete',
      'deny *.drop',
      'ask s/x',
      'allow mcp__s__get_*',
    ])
  })

  it('are named, with their file, in what people read', () => {
    const decision = decide(request(), { rules: [rule('deny', 'mcp__s__*')] })
    expect(explainDecision(request(), decision)).toBe(
      's.t is denied: the rule "mcp__s__*" says deny (settings.json).',
    )
  })

  it('do not mind patterns made to be slow', () => {
    expect(matchesGlob('*a'.repeat(200), 'a'.repeat(5000))).toBe(true)
    expect(matchesGlob(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false)
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

describe('resources and prompts', () => {
  const resource = (uri: string) => ({ ...request(uri, 'reads'), resource: true })
  const prompt = (name: string) => ({ ...request(name, 'reads'), prompt: true })

  it.each<[ChannelPermissions, string, PermissionOutcome, PermissionOutcome]>([
    [{}, 'file:///a', 'allow', 'allow'],
    [{ allowedResources: ['file:///docs/*'] }, 'file:///docs/a', 'allow', 'allow'],
    [{ allowedResources: ['x', 'file:///docs/*'] }, 'file:///docs/a', 'allow', 'allow'],
    [{ allowedResources: ['file:///docs/*'] }, 'file:///etc/passwd', 'ask', 'allow'],
    [{ allowedResources: [] }, 'file:///a', 'ask', 'allow'],
    [{ readPermission: 'allow' }, 'file:///a', 'allow', 'allow'],
    [{ readPermission: 'ask' }, 'file:///a', 'ask', 'ask'],
    [{ readPermission: 'ask', allowedResources: ['*'] }, 'file:///a', 'ask', 'ask'],
    [{ readPermission: 'deny', allowedResources: ['*'] }, 'file:///a', 'deny', 'deny'],
    [{ writePermission: 'deny', deniedTools: ['*'], allowedTools: [] }, 'file:///a', 'allow', 'allow'],
  ])('%j: %s → %s, a prompt → %s', (channel, uri, outcome, ofPrompt) => {
    expect(decide(resource(uri), { channel, rules: [] }).outcome).toBe(outcome)
    expect(decide(prompt('p'), { channel, rules: [] }).outcome).toBe(ofPrompt)
  })

  it.each<[string, boolean]>([
    ['mcp__s', true],
    ['mcp__s__*', true],
    ['s', true],
    ['s.*', true],
    ['*', true],
    ['s.get_*', false],
    ['mcp__s__p', false],
    ['mcp__s2', false],
    ['s2.*', false],
  ])('the rule %s covers them: %s', (text, covered) => {
    for (const asked of [resource('file:///a'), prompt('p')])
      for (const effect of ['deny', 'ask'] as const)
        expect(decide(asked, { rules: [rule(effect, text)] }).outcome).toBe(covered ? effect : 'allow')
  })

  it('are closed by the stronger of the entry and the rules', () => {
    const asks = { channel: { readPermission: 'ask' as const }, rules: [rule('deny', 's')] }
    expect(decide(resource('a'), asks).reason.kind).toBe('rule')
    const denies = { channel: { readPermission: 'deny' as const }, rules: [rule('ask', 's')] }
    expect(decide(resource('a'), denies)).toMatchObject({ outcome: 'deny', reason: { kind: 'channel' } })
    const opens = { channel: { readPermission: 'ask' as const }, rules: [rule('allow', 's')] }
    expect(decide(prompt('a'), opens).outcome).toBe('ask')
  })

  it('are named in what people read', () => {
    const denied = { outcome: 'deny', reason: { kind: 'channel', text: 'why', source: 'f.json' } } as const
    expect(explainDecision(resource('file:///a'), denied)).toBe(
      'Reading file:///a of s is denied: why (f.json).',
    )
    expect(explainDecision(resource(''), denied)).toBe('Reading from s is denied: why (f.json).')
    expect(explainDecision(prompt('p'), denied)).toBe('The prompt p of s is denied: why (f.json).')
    expect(explainDecision(prompt(''), denied)).toBe('Getting prompts of s is denied: why (f.json).')
    expect(explainDecision(request(), { outcome: 'ask', reason: { kind: 'default', text: 'why' } })).toBe(
      's.t asks first: why.',
    )
  })
})

describe('asking', () => {
  const ask = (...answers: string[]) => {
    const questions: PermissionQuestion[] = []
    return {
      questions,
      ask: async (question: PermissionQuestion) => {
        questions.push(question)
        return answers.shift() as 'once'
      },
    }
  }
  const standing = { rules: [] }

  it.each<['user' | 'agent' | 'client', PermissionOutcome]>([
    ['user', 'allow'],
    ['client', 'allow'],
    ['agent', 'deny'],
  ])('a call by the %s, with no user to ask: %s', async (caller, outcome) => {
    const verdict = await new PermissionGate().check(request(), standing, { caller }, {})
    expect(verdict.outcome).toBe(outcome)
  })

  it('denies for everyone what is denied', async () => {
    for (const caller of ['user', 'agent', 'client'] as const) {
      const denied = { rules: [rule('deny', 'mcp__s')] }
      const verdict = await new PermissionGate({ ask: async () => 'always' }).check(
        request(),
        denied,
        { caller },
        {},
      )
      expect(verdict).toMatchObject({ outcome: 'deny', reason: { rule: 'mcp__s', source: 'settings.json' } })
    }
  })

  it('once is once, and a session is a session for that tool alone', async () => {
    const user = ask('once', 'session', 'no')
    const gate = new PermissionGate(user)
    const check = (tool: string) => gate.check(request(tool), standing, { caller: 'agent' }, {})
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
    const verdict = await new PermissionGate({ ...user, save }).check(
      request(),
      standing,
      { caller: 'agent' },
      {},
    )
    expect(saved).toEqual(['mcp__s__t'])
    expect(verdict.reason).toMatchObject({ source: '/home/u/.plugboard/settings.json' })
    expect(user.questions[0]?.answers).toContain('always')
  })

  it('does not offer always where a saved rule would not stop the asking', async () => {
    const user = ask('session')
    const gate = new PermissionGate({ ...user, save: async () => '' })
    await gate.check(request(), { rules: [rule('ask', 'mcp__s')] }, { caller: 'agent' }, {})
    expect(user.questions[0]?.answers).toEqual(['once', 'session', 'no'])
  })

  it('asks once for calls that come together, when the answer covers them', async () => {
    const user = ask('session')
    const gate = new PermissionGate(user)
    const both = await Promise.all([1, 2].map(() => gate.check(request(), standing, { caller: 'agent' }, {})))
    expect(both.map(({ outcome }) => outcome)).toEqual(['allow', 'allow'])
    expect(user.questions).toHaveLength(1)
  })

  it('takes any other answer for a no', async () => {
    const verdict = await new PermissionGate(ask('YES')).check(request(), standing, { caller: 'agent' }, {})
    expect(verdict.outcome).toBe('deny')
  })

  it('asks for clients too when told to', async () => {
    const user = ask('no')
    const gate = new PermissionGate({ ...user, askForClients: true })
    expect((await gate.check(request(), standing, { caller: 'client' }, {})).outcome).toBe('deny')
  })

  it('asks each client of a served board for itself, whatever another leaves open', async () => {
    const open: ((answer: 'once') => void)[] = []
    const gate = new PermissionGate({
      ask: () => new Promise((answer) => void open.push(answer)),
      askForClients: true,
    })
    const check = (client: string) => gate.check(request(), standing, { caller: 'client', client }, {})
    const first = check('a')
    const second = check('b')
    const third = check('a')
    await Promise.resolve()
    expect(open).toHaveLength(3)
    open[1]?.('once')
    expect((await second).outcome).toBe('allow')
    for (const answer of open) answer('once')
    await Promise.all([first, third])
  })

  it('keeps what one client was granted from the others', async () => {
    const user = ask('session', 'no')
    const gate = new PermissionGate({ ...user, askForClients: true })
    const check = async (client?: string) =>
      (await gate.check(request(), standing, { caller: 'client', client }, {})).outcome
    expect(await check('a')).toBe('allow')
    expect(await check('a')).toBe('allow')
    expect(await check('b')).toBe('deny')
    expect(user.questions).toHaveLength(2)
  })

  it('forgets a grant when the server is another, and keeps tools, resources and prompts apart', async () => {
    const user = ask('session', 'no', 'no', 'no')
    const gate = new PermissionGate(user)
    const asks = { channel: { readPermission: 'ask', writePermission: 'ask' } as const, rules: [] }
    const check = async (asked: ToolRequest, signature: string) =>
      (await gate.check(asked, { ...asks, signature }, { caller: 'agent' }, {})).outcome
    expect(await check(request(), 'one')).toBe('allow')
    expect(await check(request(), 'one')).toBe('allow')
    expect(await check(request(), 'two')).toBe('deny')
    expect(await check({ ...request(), resource: true }, 'one')).toBe('deny')
    expect(await check({ ...request(), prompt: true }, 'one')).toBe('deny')
    expect(user.questions).toHaveLength(4)
  })

  it('asks one after another, however many calls wait', async () => {
    let open = 0
    let most = 0
    const gate = new PermissionGate({
      ask: async () => {
        most = Math.max(most, ++open)
        await new Promise((done) => setTimeout(done, 1))
        open--
        return 'once'
      },
    })
    const all = [1, 2, 3, 4].map(() => gate.check(request(), standing, { caller: 'agent' }, {}))
    expect((await Promise.all(all)).every(({ outcome }) => outcome === 'allow')).toBe(true)
    expect(most).toBe(1)
  })

  it('lets a call that waits for a question go when it is cancelled, and when the question fails', async () => {
    const answers: { done(answer: 'once'): void; fail(error: Error): void }[] = []
    const gate = new PermissionGate({
      ask: () => new Promise((done, fail) => void answers.push({ done, fail })),
    })
    const stop = new AbortController()
    const check = (signal?: AbortSignal) => gate.check(request(), standing, { caller: 'agent' }, {}, signal)
    const first = check()
    const waiting = check(stop.signal)
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(check(AbortSignal.abort())).rejects.toMatchObject({ code: 'CANCELLED' })
    const next = check()
    answers[0]?.fail(new Error('gone'))
    await expect(first).rejects.toThrow('gone')
    await expect.poll(() => answers.length).toBe(2)
    answers[1]?.done('once')
    expect((await next).outcome).toBe('allow')
    expect(answers).toHaveLength(2)
  })

  it('answers at once where the user need not be asked', () => {
    const gate = new PermissionGate({ ask: async () => 'once' })
    const quick = (caller: 'user' | 'agent' | 'client', rules: readonly Rule[] = []) =>
      gate.quick(request(), { rules }, { caller })
    expect(quick('agent')).toBeUndefined()
    expect(quick('user')?.reason.kind).toBe('user')
    expect(quick('client')?.reason.kind).toBe('client')
    expect(quick('agent', [rule('allow', 's')])?.outcome).toBe('allow')
    expect(quick('user', [rule('deny', 's')])?.outcome).toBe('deny')
  })

  it('asks about a changed tool again, whatever was granted or allowed', async () => {
    const user = ask('session', 'no')
    const gate = new PermissionGate(user)
    const check = async (asked: ToolRequest, rules: readonly Rule[] = []) =>
      (await gate.check(asked, { rules }, { caller: 'agent' }, {})).outcome
    expect(await check(request())).toBe('allow')
    const changed = request('t', 'destroys', { changes: ['description'] })
    expect(await check(changed, [rule('allow', 's')])).toBe('deny')
    expect(user.questions[1]?.reason.kind).toBe('changed')
    expect(user.questions[1]?.answers).not.toContain('always')
    expect(decide(changed, { rules: [rule('deny', 's')] }).reason.kind).toBe('rule')
    expect(decide(changed, { rules: [] }).reason.kind).toBe('default')
  })

  it('saves a rule that means this tool of this server, with its signature', async () => {
    const saved: unknown[][] = []
    const save = async (...words: unknown[]) => {
      saved.push(words)
      return 'f.json'
    }
    const always = async (over: Partial<ToolRequest>) => {
      const gate = new PermissionGate({ ask: async () => 'always', save })
      const asked = request('t', 'adds', over)
      return (await gate.check(asked, { rules: [], signature: 'sig' }, { caller: 'agent' }, {})).reason
    }
    expect(await always({ server: 'a__b', name: 'mcp__a__b__t' })).toMatchObject({
      rule: 'a__b.t',
      source: 'f.json',
      text: 'the user allowed it always',
    })
    await always({})
    expect(saved).toEqual([
      ['a__b.t', 'sig'],
      ['mcp__s__t', 'sig'],
    ])
  })

  it('takes always for this session where it cannot be saved', async () => {
    const gate = new PermissionGate({ ask: async () => 'always' })
    const check = () => gate.check(request(), standing, { caller: 'agent' }, {})
    expect((await check()).reason.text).toBe('the user allowed it for this session')
    expect((await check()).reason.kind).toBe('grant')
  })
})
