// Permission for one call: what the request says about the tool, whose consent is remembered, and what a refusal advises.
import { describe, expect, it } from 'vitest'
import { PermissionGate, type PermissionQuestion, type Rule } from '../permissions/index.ts'
import { type PermitPorts, permissionHint, permissionRequest, permit } from './permit.ts'
import { BoundTool, type CallContext, type ToolActions } from './tool.ts'

const actions: ToolActions = {
  call: () => Promise.reject(new Error('not called')),
  decide: () => ({ outcome: 'ask', reason: { kind: 'default', text: '' } }),
}
type Definition = BoundTool['definition']
const bound = (definition: Partial<Definition> = {}, builtinAllows?: readonly string[]) =>
  new BoundTool(
    {
      name: 'mcp__s__t',
      server: 's',
      definition: { name: 't', inputSchema: { type: 'object' }, ...definition },
      env: {},
      ...(builtinAllows && { builtinAllows }),
    },
    actions,
  )
const allow: Rule = { effect: 'allow', text: 'mcp__s', source: 'settings.json' }

interface Setup extends Partial<PermitPorts> {
  readonly rules?: readonly Rule[]
  readonly changes?: readonly string[] | undefined
}

function setup({ rules = [], changes, ...over }: Setup = {}) {
  const asked: PermissionQuestion[] = []
  const accepted: string[] = []
  const ports: PermitPorts = {
    standing: () => ({ rules }),
    gate: new PermissionGate({
      ask: async (question) => {
        asked.push(question)
        return 'once'
      },
    }),
    accepted: { changes: async () => changes, accept: (tool) => accepted.push(tool.name) },
    ...over,
  }
  return { ports, asked, accepted }
}

describe('a request for permission', () => {
  it('says what the server says about its tool', () => {
    expect(permissionRequest(bound())).toEqual({
      server: 's',
      tool: 't',
      name: 'mcp__s__t',
      traits: bound().traits,
    })
    expect(
      permissionRequest(bound({ annotations: { destructiveHint: true, title: 'T' } }), { a: 1 }),
    ).toMatchObject({
      arguments: { a: 1 },
      saysDestructive: true,
      title: 'T',
    })
    expect(permissionRequest(bound({ title: 'own', annotations: { title: 'T' } })).title).toBe('own')
    expect(permissionRequest(bound({ annotations: { destructiveHint: false } }))).not.toHaveProperty(
      'saysDestructive',
    )
    expect(permissionRequest(bound({}, ['t'])).builtin).toEqual({ allowedTools: ['t'] })
  })
})

describe('permission for a call', () => {
  it.each<[CallContext['caller'], readonly string[]]>([
    ['user', ['mcp__s__t']],
    ['agent', ['mcp__s__t']],
    [undefined, ['mcp__s__t']],
    ['client', []],
  ])('of the caller %s remembers the definition: %j', async (caller, remembered) => {
    const { ports, accepted } = setup({ rules: [allow] })
    await permit(ports, bound(), {}, caller === undefined ? {} : { caller })
    expect(accepted).toEqual(remembered)
  })

  it('shows the user what changed, and asks nothing where nothing did', async () => {
    const changed = setup({ rules: [allow], changes: ['+ description: new'] })
    await permit(changed.ports, bound(), { a: 1 }, {})
    expect(changed.asked).toMatchObject([
      { request: { changes: ['+ description: new'] }, arguments: { a: 1 } },
    ])
    const same = setup({ rules: [allow] })
    await permit(same.ports, bound(), {}, {})
    expect(same.asked).toEqual([])
  })

  it.each<[readonly string[] | undefined, string | undefined, number, number]>([
    [['t'], undefined, 0, 1],
    [['t'], 'it reads a protected file', 1, 1],
    [undefined, 'never used for other servers', 1, 0],
  ])(
    'of a tool with the own list %j, whose arguments say %j, asks %i times',
    async (list, why, prompts, checks) => {
      let checked = 0
      const { ports, asked } = setup({
        builtinAsks: async () => {
          checked++
          return why
        },
      })
      await permit(ports, bound({}, list), {}, {})
      expect(asked).toHaveLength(prompts)
      expect(checked).toBe(checks)
      if (list && why) expect(asked[0]?.reason.text).toBe(why)
    },
  )

  it('is given at once where nobody has to be asked, and then remembered', () => {
    let standings = 0
    const standing = { rules: [allow] }
    const accepted: string[] = []
    const { ports } = setup({
      standing: () => {
        standings++
        return standing
      },
      accepted: { changes: () => undefined, accept: (tool) => accepted.push(tool.name) },
    })
    const tool = bound()
    const first = permit(ports, tool, {}, {})
    expect(first).toMatchObject({ outcome: 'allow', reason: { kind: 'rule' } })
    expect(permit(ports, tool, {}, {})).toBe(first)
    expect(permit(ports, bound(), {}, {})).not.toBe(first)
    expect(standings).toBe(3)
    // What is remembered was accepted when it was decided.
    expect(accepted).toEqual(['mcp__s__t', 'mcp__s__t'])
  })

  it.each<[string, Setup, readonly string[] | undefined]>([
    [
      'the user has to be asked',
      { accepted: { changes: () => undefined, accept: () => undefined } },
      undefined,
    ],
    [
      'the definition changed',
      { rules: [allow], accepted: { changes: () => ['+ new'], accept: () => undefined } },
      undefined,
    ],
    ['no definition was accepted yet', { accepted: undefined }, undefined],
    ['a built-in server asks', { accepted: undefined, builtinAsks: async () => 'why' }, ['t']],
  ])('takes its time where %s', async (_, over, list) => {
    const { ports, asked } = setup(over)
    const verdict = permit(ports, bound({}, list), {}, {})
    expect(verdict).toBeInstanceOf(Promise)
    expect(await verdict).toMatchObject({ outcome: 'allow', reason: { kind: 'user' } })
    expect(asked).toHaveLength(1)
  })

  it('of another server never asks a built-in one', async () => {
    const { ports } = setup({ rules: [allow], builtinAsks: () => Promise.reject(new Error('asked')) })
    expect(await permit(ports, bound(), {}, {})).toMatchObject({ outcome: 'allow' })
  })

  it('is refused with the decision and the way out', async () => {
    const { ports, accepted } = setup({ rules: [{ ...allow, effect: 'deny' }] })
    await expect(permit(ports, bound(), {}, {})).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      server: 's',
      hint: 'To allow it, change that rule or entry.',
      verdict: { outcome: 'deny', reason: { kind: 'rule' } },
    })
    expect(accepted).toEqual([])
  })

  it.each([
    ['rule', /change that rule/],
    ['channel', /change that rule/],
    ['no-user', /permissions\.allow/],
  ] as const)('by %s has a way out', (kind, hint) => {
    expect(permissionHint({ outcome: 'deny', reason: { kind, text: '' } })).toMatch(hint)
  })

  it.each(['default', 'grant', 'user', 'client', 'hook', 'changed', 'builtin'] as const)(
    'by %s has none',
    (kind) => {
      expect(permissionHint({ outcome: 'deny', reason: { kind, text: '' } })).toBeUndefined()
    },
  )
})

describe('a call of a built-in', () => {
  const preview = { lines: ['would write'] } as never
  it('is asked about with what it would do, and with why its arguments need a yes', async () => {
    const { ports, asked } = setup({
      builtinAsks: async () => 'it is protected',
      builtinPreview: async () => preview,
    })
    await permit(ports, bound({}, []), { a: 1 }, {})
    expect(asked).toMatchObject([
      {
        arguments: { a: 1 },
        request: { preview, builtin: { allowedTools: [], asks: 'it is protected' } },
      },
    ])
  })

  it('that cannot be done is not asked about: it only says why', async () => {
    const { ports, asked } = setup({
      builtinAsks: async () => 'it is protected',
      builtinPreview: async () => ({ fails: 'no such file' }) as never,
    })
    expect(await permit(ports, bound({}, []), {}, {})).toEqual({
      outcome: 'allow',
      reason: { kind: 'builtin', text: 'it cannot be done, and only says why' },
    })
    expect(asked).toEqual([])
  })

  it('has a preview; a call of another server has none, and one without a preview is asked about plainly', async () => {
    const { ports, asked } = setup({ builtinPreview: async () => preview })
    await permit(ports, bound(), {}, {})
    expect(asked[0]?.request).not.toHaveProperty('preview')
    const plain = setup({ builtinAsks: async () => 'why', builtinPreview: async () => undefined })
    await permit(plain.ports, bound({}, []), {}, {})
    expect(plain.asked[0]?.request).not.toHaveProperty('preview')
  })
})
