// What the gate remembers, whom it grants what, and what it leaves behind.
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ServerPermissions } from './decide.ts'
import type { ToolRequest } from './decision-types.ts'
import {
  type Caller,
  type GateDecision,
  type PermissionAnswer,
  PermissionGate,
  type PermissionQuestion,
} from './gate.ts'

const request = (over: Partial<ToolRequest> = {}): ToolRequest => ({
  server: 's',
  tool: 't',
  name: 'mcp__s__t',
  traits: { readOnly: false, destructive: true },
  ...over,
})
const standing: ServerPermissions = { rules: [], signature: 'sig' }
const agent = { caller: 'agent' as const }
const allow = (kind: GateDecision['reason']['kind'] = 'user'): GateDecision => ({
  outcome: 'allow',
  reason: { kind, text: 'x' },
})

describe('a remembered permission', () => {
  it.each<[string, Caller, GateDecision, boolean]>([
    ['a permission of an agent', 'agent', allow(), true],
    ['a grant of an agent', 'agent', allow('grant'), true],
    ['a permission of a client', 'client', allow('client'), true],
    ['a grant of a client', 'client', allow('grant'), false],
    ['a refusal', 'agent', { outcome: 'deny', reason: { kind: 'user', text: 'x' } }, false],
    ['a refusal of a client', 'client', { outcome: 'deny', reason: { kind: 'rule', text: 'x' } }, false],
  ])('%s: kept for %s: %j, %s', (_, caller, verdict, kept) => {
    const gate = new PermissionGate()
    const tool = {}
    gate.remember(tool, standing, { caller }, verdict)
    expect(gate.recall(tool, standing, { caller })).toEqual(kept ? verdict : undefined)
  })

  it('holds for its tool, its rules and its kind of caller only, and beside others', () => {
    const gate = new PermissionGate()
    const [one, two] = [{}, {}]
    gate.remember(one, standing, agent, allow())
    expect(gate.recall(two, standing, agent)).toBeUndefined()
    expect(gate.recall(one, { ...standing }, agent)).toBeUndefined()
    expect(gate.recall(one, standing, { caller: 'user' })).toBeUndefined()
    gate.remember(two, standing, agent, allow('rule'))
    gate.remember(one, standing, { caller: 'user' }, allow('builtin'))
    const kinds = [one, two].map((tool) => gate.recall(tool, standing, agent)?.reason.kind)
    expect(kinds).toEqual(['user', 'rule'])
    expect(gate.recall(one, standing, { caller: 'user' })?.reason.kind).toBe('builtin')
  })
})

/** A gate whose user gives these answers, and what it was asked. */
function gateWith(answers: readonly PermissionAnswer[], over: object = {}) {
  const asked: PermissionQuestion[] = []
  const gate = new PermissionGate({
    ask: async (question) => {
      asked.push(question)
      return answers[asked.length - 1] ?? 'no'
    },
    ...over,
  })
  return { gate, asked }
}

describe('a question', () => {
  it('is not asked without a user, and the refusal says so', async () => {
    expect(await new PermissionGate().check(request(), standing, agent, {})).toEqual({
      outcome: 'deny',
      reason: { kind: 'no-user', text: 'no rule matches, and there is no user to ask' },
    })
  })

  it('says what always would save, and where, only where it can be saved', async () => {
    const save = async () => '/settings.json'
    const { gate, asked } = gateWith(['no', 'no', 'no'], { save, savesTo: () => '/settings.json' })
    await gate.check(request(), standing, agent, { a: 1 })
    const closed: ServerPermissions = { ...standing, channel: { writePermission: 'ask' } }
    await gate.check(request(), closed, agent, {})
    const without = gateWith(['no'])
    await without.gate.check(request(), standing, agent, {})
    const shown = [...asked, ...without.asked].map(({ answers, saves }) => [
      answers.includes('always'),
      saves,
    ])
    expect(shown).toEqual([
      [true, { rule: 'mcp__s__t', file: '/settings.json' }],
      [false, undefined],
      [false, undefined],
    ])
    expect(asked[0]?.arguments).toEqual({ a: 1 })
  })

  it.each<[string, Partial<ToolRequest>, ServerPermissions, { caller: Caller; client?: string }, boolean]>([
    ['the same call', {}, standing, { caller: 'client', client: 'a' }, false],
    ['another client', {}, standing, { caller: 'client', client: 'b' }, true],
    ['a client without a name', {}, standing, { caller: 'client' }, true],
    ['another tool', { tool: 'u' }, standing, { caller: 'client', client: 'a' }, true],
    ['another server', { server: 'u' }, standing, { caller: 'client', client: 'a' }, true],
    [
      'a server of another signature',
      {},
      { rules: [], signature: 'new' },
      { caller: 'client', client: 'a' },
      true,
    ],
    ['a server without one', {}, { rules: [] }, { caller: 'client', client: 'a' }, true],
    ['a changed tool', { changes: ['-a', '+b'] }, standing, { caller: 'client', client: 'a' }, true],
  ])('that was answered for the session is asked again for %s: %#', async (_, over, next, who, again) => {
    const { gate, asked } = gateWith(['session'], { askForClients: true })
    await gate.check(request(), standing, { caller: 'client', client: 'a' }, {})
    await gate.check(request(over), next, who, {})
    expect(asked).toHaveLength(again ? 2 : 1)
  })

  it('keeps resources, prompts and tools of one name apart', async () => {
    const ask: ServerPermissions = { ...standing, channel: { readPermission: 'ask' } }
    const { gate, asked } = gateWith(['session', 'session', 'session'])
    for (const kind of [{}, { resource: true }, { prompt: true }] as const) {
      await gate.check(request(kind), ask, agent, {})
      await gate.check(request(kind), ask, agent, {})
    }
    expect(asked).toHaveLength(3)
  })

  it('leaves no listener on the signal of a call that waited for another', async () => {
    let answer: (given: PermissionAnswer) => void = () => undefined
    const gate = new PermissionGate({ ask: () => new Promise((given) => (answer = given)) })
    const first = gate.check(request(), standing, agent, {})
    const { signal } = new AbortController()
    const second = gate.check(request(), standing, agent, {}, signal)
    await Promise.resolve()
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    answer('session')
    expect([(await first).outcome, (await second).reason.kind]).toEqual(['allow', 'grant'])
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('the entry of a server', () => {
  it.each<[string, boolean, boolean, string, string]>([
    ['reads', true, false, 'reading', 'readPermission'],
    ['reads, whatever else it says', true, true, 'reading', 'readPermission'],
    ['writes', false, false, 'writing', 'writePermission'],
    ['destroys', false, true, 'destructive use', 'writePermission'],
  ])('names the use of a tool that %s', (_, readOnly, destructive, use, rule) => {
    const gate = new PermissionGate({ ask: async () => 'no' })
    for (const mode of ['deny', 'allow'] as const) {
      const verdict = gate.quick(
        request({ traits: { readOnly, destructive } }),
        { rules: [], channel: { [rule]: mode } },
        agent,
      )
      expect(verdict).toEqual({
        outcome: mode,
        reason: {
          kind: 'channel',
          text: `${use} is ${mode === 'deny' ? 'denied' : 'allowed'} for "s"`,
          rule,
        },
      })
    }
  })
})
