// The small parts of tools/, each by itself: names shown to users, limits of arguments, hooks around a call, costs,
// URL elicitations, errors as results, definitions.
import { describe, expect, it } from 'vitest'
import { Cancelled, InvalidInput, PermissionDenied, ToolError } from '../errors.ts'
import { systemHost } from '../host.ts'
import { type Hook, Hooks } from '../interaction/index.ts'
import { DEFINITION_LIMITS, TOOL_LIMITS } from '../limits.ts'
import { userFacingName } from './annotations.ts'
import { argumentErrors } from './argument-limits.ts'
import { type HookedCall, hooksAfter, hooksAfterFailure, hooksBefore } from './call-hooks.ts'
import { readToolList } from './definition.ts'
import { errorResult } from './error-result.ts'
import { parsedArguments } from './parsed-arguments.ts'
import { Refused } from './permit.ts'
import { type CountedTool, planLoading, tokenCosts, toolTokens } from './token-costs.ts'
import { BoundTool, issueText } from './tool.ts'
import { toolSearch } from './tool-search.ts'
import { afterUrlElicitation } from './url-elicitation-retry.ts'

const definition = { name: 'add', inputSchema: { type: 'object' } }
const bound = (options: Partial<ConstructorParameters<typeof BoundTool>[0]> = {}, actions = {}) =>
  new BoundTool(
    { name: 'mcp__calc__add', server: 'calc', definition, env: {}, ...options },
    {
      call: async () => ({ isError: false, content: [], savedFiles: [], truncated: false, warnings: [] }),
      decide: () => ({ outcome: 'ask', reason: { kind: 'default', text: '' } }),
      ...actions,
    },
  )

describe('the name for users', () => {
  it.each<[object, string]>([
    [{ title: 'Add', annotations: { title: 'Other' } }, 'Add'],
    [{ annotations: { title: 'Other' } }, 'Other'],
    [{ title: ' \u200b ', annotations: { title: 'Other' } }, 'Other'],
    [{ title: '' }, 'add'],
    [{}, 'add'],
    [{ title: 'two\nlines' }, 'two lines'],
  ])('%j is %s', (more, name) => {
    expect(userFacingName({ ...definition, ...more })).toBe(name)
    expect(bound({ definition: { ...definition, ...more } }).userFacingName()).toBe(name)
  })
})

describe('arguments', () => {
  const deep = (levels: number) => {
    let value: unknown = 1
    for (let level = 0; level < levels; level++) value = { a: value }
    return value
  }
  it.each<[string, unknown, string | undefined]>([
    ['an object', { a: [1, null, 'x', true, { b: undefined }] }, undefined],
    ['none', undefined, 'the arguments must be an object'],
    ['null', null, 'the arguments must be an object'],
    ['a list', [], 'the arguments must be an object'],
    ['a text', 'a', 'the arguments must be an object'],
    ['deep enough', deep(TOOL_LIMITS.argumentDepth), undefined],
    [
      'too deep',
      deep(TOOL_LIMITS.argumentDepth + 1),
      `the arguments are nested deeper than ${TOOL_LIMITS.argumentDepth} levels`,
    ],
    ['a prototype', JSON.parse('{"a": {"__proto__": 1}}'), 'the arguments hold a key named "__proto__"'],
    ['a bigint', { n: 1n }, '"n" is a bigint, which JSON does not have'],
    ['a function', { a: [() => 1] }, '"0" is a function, which JSON does not have'],
    [
      'a symbol',
      { ['k'.repeat(90)]: Symbol('x') },
      `"${'k'.repeat(80)}" is a symbol, which JSON does not have`,
    ],
    ['just small enough', { a: 'x'.repeat(TOOL_LIMITS.argumentBytes - 9) }, undefined],
    ['too large', { a: 'x'.repeat(TOOL_LIMITS.argumentBytes - 8) }, 'the arguments are larger than 16 MiB'],
  ])('%s', (_, args, problem) => {
    expect(argumentErrors(args)).toBe(problem)
  })

  it('as text are JSON or nothing', () => {
    expect(parsedArguments(' \n')).toEqual({})
    expect(parsedArguments('{"a":1}')).toEqual({ a: 1 })
    expect(() => parsedArguments('{')).toThrow(InvalidInput)
  })
})

describe('hooks around a call', () => {
  const seen: unknown[] = []
  const hook = (event: Hook['event'], reply: unknown): Hook => ({
    event,
    matcher: '.*',
    source: 'hooks.json',
    run: {
      kind: 'function',
      call: (input: unknown) => {
        seen.push(input)
        return typeof reply === 'function' ? reply() : reply
      },
    } as Hook['run'],
  })
  const called = (hooks: readonly Hook[] | undefined, signal?: AbortSignal): HookedCall => ({
    hooks: hooks && new Hooks(hooks, { host: systemHost() } as never),
    tool: bound(),
    args: { a: 1 },
    signal,
  })

  it('change nothing where there are none', async () => {
    const raw = { content: [{ type: 'text', text: 'x' }] }
    for (const hooks of [undefined, []]) {
      expect(await hooksBefore(called(hooks))).toEqual({ arguments: { a: 1 }, changed: false })
      expect(await hooksAfter(called(hooks), raw)).toBe(raw)
      const error = new ToolError('add', 'no', {})
      expect(await hooksAfterFailure(called(hooks), error)).toBe(error)
    }
  })

  it('end with the call that was cancelled meanwhile', async () => {
    const stop = new AbortController()
    const slow = hook('PreToolUse', () => {
      stop.abort()
      return {}
    })
    await expect(hooksBefore(called([slow], stop.signal))).rejects.toBeInstanceOf(Cancelled)
  })

  it('of success and of failure do not stand in for each other', async () => {
    const good = { content: [{ type: 'text', text: 'x' }] }
    const bad = {
      content: [{ type: 'image' }, { type: 'text', text: 7 }, { type: 'text', text: 'why' }],
      isError: true,
    }
    seen.length = 0
    expect(await hooksAfter(called([hook('PostToolUseFailure', {})]), good)).toBe(good)
    expect(await hooksAfter(called([hook('PostToolUse', {})]), bad)).toBe(bad)
    expect(seen).toEqual([])
    await hooksAfter(called([hook('PostToolUseFailure', {})]), bad)
    expect(JSON.stringify(seen)).toContain('why')
  })

  it('see no failure of a call that was refused', async () => {
    seen.length = 0
    const refused = new Refused('no', 'calc', {
      outcome: 'deny',
      reason: { kind: 'default', text: '' },
    } as never)
    expect(await hooksAfterFailure(called([hook('PostToolUseFailure', {})]), refused)).toBe(refused)
    expect(seen).toEqual([])
  })
})

describe('a URL that a server needs first', () => {
  const required = (elicitations: unknown, code = -32042) =>
    Object.assign(new Error('needs a URL'), { code, data: { elicitations } })
  const one = { url: 'https://a.example/x', message: 'Log in.', elicitationId: 'e1' }
  const run = async (
    failure: unknown,
    answers: { action: 'accept' | 'decline'; done?: boolean },
    request = async () => 'done' as unknown,
  ) => {
    const prompts: unknown[] = []
    const waited: unknown[] = []
    const ports = {
      elicitation: {
        ask: async (prompt: unknown) => {
          prompts.push(prompt)
          return answers
        },
      },
      urlDone: async (...of: unknown[]) => void waited.push(of.slice(0, 2)),
    }
    const result: unknown = await afterUrlElicitation(
      ports as never,
      bound(),
      undefined,
      failure,
      request,
    ).catch((error: unknown) => error)
    return { result, prompts: prompts.length, shown: prompts, waited }
  }

  it.each<[string, unknown, number]>([
    ['one', required([one]), 1],
    ['two, and what is none', required([one, { ...one, elicitationId: 'e2' }, {}, 'x', { url: 5 }]), 2],
    ['eleven', required(Array.from({ length: 11 }, () => one)), 10],
    ['in a cause', new Error('outer', { cause: new Error('middle', { cause: required([one]) }) }), 1],
    ['in the last cause that is read', { cause: { cause: { cause: required([one]) } } }, 1],
  ])('is shown, and the call is made again: %s', async (_, failure, prompts) => {
    expect(await run(failure, { action: 'accept' })).toMatchObject({ result: 'done', prompts })
  })

  it('tells the user that the call is made again', async () => {
    const { shown } = await run(required([{ ...one, message: 'sign in' }]), { action: 'accept' })
    expect(shown).toMatchObject([
      { mode: 'url', server: 'calc', url: new URL(one.url), message: 'sign in', retry: true },
    ])
    const plain = await run(required([{ ...one, message: 7 }]), { action: 'accept' })
    expect(plain.shown).toMatchObject([{ message: '' }])
  })

  it.each<[string, unknown]>([
    ['another code', required([one], -32000)],
    ['no list', required('x')],
    ['an empty list', required([])],
    ['no data', Object.assign(new Error('x'), { code: -32042 })],
    ['a cause too deep', { cause: { cause: { cause: { cause: required([one]) } } } }],
    ['a text', 'failed'],
    ['nothing', undefined],
  ])('is not there, and the error stays: %s', async (_, failure) => {
    expect(await run(failure, { action: 'accept' })).toMatchObject({
      result: failure,
      prompts: 0,
      waited: [],
    })
  })

  it('is waited for unless the user says it is done, or it has no id', async () => {
    expect((await run(required([one]), { action: 'accept' })).waited).toEqual([['calc', 'e1']])
    expect((await run(required([one]), { action: 'accept', done: true })).waited).toEqual([])
    expect((await run(required([{ url: one.url }]), { action: 'accept' })).waited).toEqual([])
  })

  it('ends the call when the user declines', async () => {
    const { result } = await run(required([one]), { action: 'decline' })
    expect(result).toBeInstanceOf(PermissionDenied)
    expect(String(result)).toContain('a.example')
  })

  it('is asked for three times at most, and not without a user', async () => {
    let calls = 0
    const again = async () => {
      calls++
      throw required([one])
    }
    const { prompts, result } = await run(required([one]), { action: 'accept' }, again)
    expect([prompts, calls, String(result)]).toEqual([
      TOOL_LIMITS.urlElicitationRounds,
      TOOL_LIMITS.urlElicitationRounds,
      'Error: needs a URL',
    ])
    const other = new Error('other')
    expect((await run(required([one]), { action: 'accept' }, () => Promise.reject(other))).result).toBe(other)
    await expect(afterUrlElicitation({}, bound(), undefined, required([one]), again)).rejects.toThrow(
      'needs a URL',
    )
  })
})

describe('what tools cost', () => {
  const counted = (name: string, server: string, chars = 0, alwaysLoad = false): CountedTool => ({
    name,
    server,
    description: 'd'.repeat(chars),
    inputJsonSchema: {},
    alwaysLoad,
  })

  it('is counted for each server, the dearest first', () => {
    const tools = [
      counted('a', 'one', 10),
      counted('b', 'two', 300),
      counted('c', 'two', 900),
      counted('d', 'two', 900),
    ]
    const costs = tokenCosts(tools)
    expect(costs).toMatchObject({
      tools: 4,
      servers: [
        { server: 'two', tools: 3, largest: { name: 'c' } },
        { server: 'one', tools: 1, largest: { name: 'a' } },
      ],
    })
    expect(costs.tokens).toBe(tools.reduce((sum, tool) => sum + toolTokens(tool), 0))
  })

  const many = (count: number) => Array.from({ length: count }, (_, at) => counted(`t${at}`, 's'))
  it.each<[string, CountedTool[], object, 'all' | 'search']>([
    ['few', many(50), {}, 'all'],
    ['too many', many(51), {}, 'search'],
    ['too many, switched off', many(51), { mode: ' FALSE ' }, 'all'],
    ['too many, off', many(51), { mode: 'off' }, 'all'],
    ['too many, 0', many(51), { mode: '0' }, 'all'],
    ['few, switched on', many(1), { mode: 'true' }, 'search'],
    ['few, on', many(1), { mode: 'on' }, 'search'],
    ['few, 1', many(1), { mode: '1' }, 'search'],
    ['few, automatic', many(1), { mode: 'auto' }, 'all'],
    ['a limit of its own', many(3), { maxTools: 2 }, 'search'],
    ['within the share', many(10), { contextTokens: 10_000 }, 'all'],
    ['over the share', many(10), { contextTokens: 1000 }, 'search'],
    ['a larger share', many(10), { contextTokens: 1000, maxShare: 0.9 }, 'all'],
    ['a share by the mode', many(10), { contextTokens: 1000, mode: 'auto:90' }, 'all'],
    ['a small share by the mode', many(10), { contextTokens: 10_000, mode: 'auto:1' }, 'search'],
    ['all always loaded', [counted('a', 's', 0, true)], { mode: 'on' }, 'all'],
  ])('decides: %s', (_, tools, options, kind) => {
    expect(planLoading(tools, options).kind).toBe(kind)
  })

  it('exactly at the budget still fits, and what is always loaded stays', () => {
    const tools = [counted('a', 's'), counted('b', 's', 0, true)]
    const { tokens } = tokenCosts(tools)
    expect(planLoading(tools, { contextTokens: tokens, maxShare: 1 }).kind).toBe('all')
    expect(planLoading(tools, { contextTokens: tokens - 1, maxShare: 1 })).toMatchObject({
      kind: 'search',
      loaded: [{ name: 'b' }],
      deferred: [{ name: 'a' }],
      why: `the definitions take about ${tokens} tokens, more than ${tokens - 1}`,
    })
    expect(planLoading(tools, { mode: 'on' })).toMatchObject({ why: 'tool search is switched on' })
  })
})

describe('a search for tools', () => {
  const searchable = (name: string, server = 's') => ({
    name,
    server,
    tool: name,
    description: `Handles widget ${name}.`,
    inputJsonSchema: {},
  })
  const search = toolSearch(['alpha', 'beta', 'gamma'].map((name) => searchable(name)))

  it.each<[string, unknown, readonly string[]]>([
    ['a query', { query: 'alpha' }, ['alpha']],
    ['names', { names: ['beta', 'nope', 'alpha'] }, ['beta', 'alpha']],
    ['both, once each', { names: ['alpha'], query: 'alpha' }, ['alpha']],
    ['a blank query', { query: '  ' }, []],
    ['no text', { query: 5, names: 'alpha' }, []],
    ['nothing', undefined, []],
    ['a limit', { query: 'widget', max_results: 2.9 }, ['alpha', 'beta']],
    ['a limit of one', { query: 'widget', max_results: 1 }, ['alpha']],
    ['a limit of none', { query: 'widget', max_results: 0 }, ['alpha', 'beta', 'gamma']],
    ['a limit that is no number', { query: 'widget', max_results: '1' }, ['alpha', 'beta', 'gamma']],
  ])('by %s', (_, args, names) => {
    const found = search.search(args)
    expect(found.names).toEqual(names)
    if (names.length === 0)
      expect(found.text).toBe('No tool matches. Try other words, or the name of a server: s.')
    else expect(found.text.startsWith(`${names[0]}\nHandles widget ${names[0]}.\nparameters: {`)).toBe(true)
  })

  it('names forty servers at most', () => {
    const of = (count: number) =>
      toolSearch(Array.from({ length: count }, (_, at) => searchable(`t${at}`, `s${at}`))).definition
        .description
    expect(of(40)).toContain('s39 (1). Say')
    expect(of(41)).toContain('s39 (1), …. Say')
    expect(search.definition.description).toContain('3 more tools are available from these servers: s (3).')
  })
})

describe('an error as a result', () => {
  it('has the hint of a command only where a model could act on it', () => {
    const text = (error: unknown) => errorResult(error).content[0]
    expect(text(new Error('broken'))).toEqual({ type: 'text', text: 'broken' })
    expect(text('thrown')).toEqual({ type: 'text', text: 'thrown' })
    expect(text(new InvalidInput('Wrong.', { hint: 'Send a number.' }))).toEqual({
      type: 'text',
      text: 'Wrong. Send a number.',
    })
    expect(errorResult('x').isError).toBe(true)
  })
})

describe('a list of tools', () => {
  it.each<[string, unknown, readonly string[], string | undefined]>([
    ['no list', {}, [], 'The tool list is not an array.'],
    ['no object', ['x'], [], 'Tool 1 of the list was left out: it is not an object.'],
    ['no name', [{ name: '' }, { name: 5 }], [], 'Tool 1 of the list was left out: it has no name.'],
    [
      'a long name',
      [{ name: 'n'.repeat(DEFINITION_LIMITS.nameChars + 1), inputSchema: {} }],
      [],
      `Tool 1 of the list was left out: its name is longer than ${DEFINITION_LIMITS.nameChars} characters.`,
    ],
    [
      'a name just short enough',
      [{ name: 'n'.repeat(DEFINITION_LIMITS.nameChars), inputSchema: {} }],
      ['n'.repeat(DEFINITION_LIMITS.nameChars)],
      undefined,
    ],
    [
      'one name twice',
      [
        { name: 'a', inputSchema: {} },
        { name: 'a', inputSchema: true },
      ],
      ['a'],
      'The tool "a" is listed twice; the first one is used.',
    ],
    [
      'no schema',
      [{ name: 'a' }],
      ['a'],
      'The tool "a" has no usable input schema; its arguments are not checked.',
    ],
    ['a schema of true', [{ name: 'a', inputSchema: true }], ['a'], undefined],
  ])('with %s', (_, items, names, warning) => {
    const read = readToolList(items)
    expect(read.tools.map(({ name }) => name)).toEqual(names)
    expect(read.warnings[0]).toBe(warning)
  })

  it('keeps what is of the right kind', () => {
    const whole = {
      name: 'a',
      title: 'T',
      description: 'D',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      annotations: { title: 'A' },
    }
    expect(readToolList([{ ...whole, _meta: { m: 1 } }]).tools).toEqual([{ ...whole, meta: { m: 1 } }])
    const odd = {
      name: 'a',
      title: 1,
      description: 2,
      inputSchema: {},
      outputSchema: 3,
      annotations: 4,
      _meta: 5,
    }
    expect(readToolList([odd]).tools).toEqual([{ name: 'a', inputSchema: {} }])
    let deep: unknown = {}
    for (let level = 0; level < DEFINITION_LIMITS.depth; level++) deep = { items: deep }
    expect(readToolList([{ ...whole, inputSchema: deep }]).warnings[0]).toMatch(
      /^Tool 1 .* the input schema of "a" is nested/,
    )
    expect(readToolList([{ name: 'a', inputSchema: {}, outputSchema: deep }]).tools).toEqual([
      { name: 'a', inputSchema: {} },
    ])
  })
})

describe('a tool', () => {
  it('has traits of its own, or those that the settings give it', () => {
    expect(bound().isConcurrencySafe()).toBe(false)
    expect(bound({ concurrent: true }).isConcurrencySafe()).toBe(true)
    expect(bound().alwaysLoad).toBe(false)
    expect(bound({ alwaysLoad: true }).alwaysLoad).toBe(true)
    const meta = (value: unknown) =>
      bound({ definition: { ...definition, meta: { 'anthropic/alwaysLoad': value } } })
    expect(meta(true).alwaysLoad).toBe(true)
    expect(meta('true').alwaysLoad).toBe(false)
    expect(bound().available).toBe(true)
    expect(bound({}, { isAvailable: () => false }).available).toBe(false)
  })

  it('checks its arguments and its output, each by its own schema', () => {
    const tool = bound({
      definition: { ...definition, inputSchema: { required: ['a'] }, outputSchema: { required: ['b'] } },
    })
    expect(tool.argumentProblem({ a: 1 })).toBeUndefined()
    expect(tool.argumentProblem({ b: 1 })).toBe('a is required')
    expect(tool.checkOutput({ b: 1 }).kind).toBe('valid')
    expect(tool.checkOutput({ a: 1 }).kind).toBe('invalid')
    expect(bound().checkOutput('anything').kind).toBe('valid')
    expect(tool.inputSchema).toBe(tool.inputSchema)
    expect(tool.inputSchema.safeParse({ b: 1 }).success).toBe(false)
    expect(bound({ definition: { ...definition, inputSchema: { type: 'objekt' } } }).warnings).toHaveLength(1)
    expect(
      issueText({
        kind: 'invalid',
        issues: [
          { path: '', at: [], message: 'is odd' },
          { path: 'a', at: ['a'], message: 'too' },
        ],
      }),
    ).toBe('it is odd; a too')
  })
})
