import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heldHost, until } from '../connection/fixtures/kit.ts'
import { isRunning } from '../files/running.ts'
import { type Host, systemHost } from '../host.ts'
import type { HookRun } from './hook-decision.ts'
import { type Hook, type HookInput, Hooks, readHooks } from './hooks.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hooks-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const call = { name: 'mcp__s__t', server: 's', tool: 't', arguments: { a: 1 } }

/** A hook that runs `script` with Node; `input` is the hook's input. */
async function command(script: string, over: Partial<Hook> = {}, timeoutMs = 15_000): Promise<Hook> {
  const file = join(folder, `${Math.random().toString(36).slice(2)}.mjs`)
  await writeFile(
    file,
    `import fs from 'node:fs'\nconst input = JSON.parse(fs.readFileSync(0, 'utf8'))\n${script}`,
  )
  return {
    event: 'PreToolUse',
    run: { kind: 'command', command: `"${process.execPath}" "${file}"`, timeoutMs },
    source: 'settings.json',
    ...over,
  }
}

function board(list: readonly Hook[], host: Host = systemHost()) {
  const warnings: string[] = []
  return { warnings, hooks: new Hooks(list, { host, warn: (text) => warnings.push(text) }) }
}

describe('commands before a call', () => {
  it('are told the call and may let it pass', async () => {
    const { hooks } = board([
      await command(`fs.writeFileSync(${JSON.stringify(join(folder, 'told'))}, JSON.stringify(input))`),
    ])
    expect(await hooks.before(call)).toEqual({ kind: 'go', arguments: { a: 1 }, changed: false })
    expect(JSON.parse(await readFile(join(folder, 'told'), 'utf8'))).toMatchObject({
      hook_event_name: 'PreToolUse',
      tool_name: 'mcp__s__t',
      tool_input: { a: 1 },
      mcp_server_name: 's',
    })
  })

  it('refuse by exit 2, with the words they wrote', async () => {
    const { hooks } = board([await command(`console.error('not on Fridays'); process.exit(2)`)])
    expect(await hooks.before(call)).toEqual({
      kind: 'refuse',
      reason: 'not on Fridays',
      source: 'settings.json',
    })
  })

  it('refuse by a decision, and change the arguments, each seeing what the one before changed', async () => {
    const change = await command(
      `console.log(JSON.stringify({ hookSpecificOutput: { updatedInput: { a: input.tool_input.a + 1 } } }))`,
    )
    expect(await board([change, change]).hooks.before(call)).toEqual({
      kind: 'go',
      arguments: { a: 3 },
      changed: true,
    })
    const deny = await command(
      `console.log(JSON.stringify({ hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'no' } }))`,
    )
    expect(await board([deny, change]).hooks.before(call)).toMatchObject({ kind: 'refuse', reason: 'no' })
  })

  it.each([
    ['exits with another code', 'process.exit(1)', 'exited with 1'],
    [
      'answers with something that is not JSON',
      `console.log('{"a":')`,
      'answered with something that is not JSON',
    ],
    [
      'writes without end',
      `for (let i = 0; i < 400; i++) process.stdout.write('x'.repeat(9999))\nsetTimeout(() => {}, 60000)`,
      'wrote more than it may',
    ],
  ])('stop nothing when one %s', async (_, script, problem) => {
    const { hooks, warnings } = board([await command(script)])
    expect(await hooks.before(call)).toMatchObject({ kind: 'go' })
    expect(warnings).toEqual([`The PreToolUse hook of settings.json ${problem}.`])
  })

  it('are stopped, with what they started, when they take too long or the call is cancelled', async () => {
    const pidFile = join(folder, 'pid')
    const sleeper = await command(
      `import { spawn } from 'node:child_process'
       const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
       fs.writeFileSync(${JSON.stringify(pidFile)}, String(child.pid))
       setInterval(() => {}, 1000)`,
      {},
      1500,
    )
    const { host, pass } = heldHost(1500)
    const { hooks, warnings } = board([sleeper], host)
    const outcome = hooks.before(call)
    const started = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0)
    await until('its child is up', () => started() > 0)
    pass()
    expect(await outcome).toMatchObject({ kind: 'go' })
    expect(warnings[0]).toContain('took longer than 1500 ms')
    await until('its child is gone', () => !isRunning(started()))
    const abort = new AbortController()
    setTimeout(() => abort.abort(), 50)
    expect(
      await board([await command('setInterval(() => {}, 1000)')]).hooks.before(call, abort.signal),
    ).toMatchObject({ kind: 'go' })
  })

  it('that do not exist, or do not read what they are told, stop nothing', async () => {
    const missing: Hook = { event: 'PreToolUse', run: { kind: 'command', command: '/nowhere/at-all' } }
    const deaf: Hook = { event: 'PreToolUse', run: { kind: 'command', command: 'exit 0' } }
    const { hooks, warnings } = board([missing, deaf])
    expect(await hooks.before({ ...call, arguments: { big: 'x'.repeat(1e6) } })).toMatchObject({ kind: 'go' })
    expect(warnings).toHaveLength(1)
  })
})

describe('functions', () => {
  it('run as commands do, and one that throws stops nothing', async () => {
    const list: Hook[] = [
      { event: 'PreToolUse', run: { kind: 'function', call: () => Promise.reject(new Error('oh')) } },
      {
        event: 'PreToolUse',
        run: { kind: 'function', call: () => ({ decision: 'block', reason: 'blocked' }) },
      },
    ]
    const { hooks, warnings } = board(list)
    expect(await hooks.before(call)).toMatchObject({ kind: 'refuse', reason: 'blocked' })
    expect(warnings).toEqual(['The PreToolUse hook threw: oh.'])
  })

  it('see and change what comes back, and hear of failures', async () => {
    const list: Hook[] = [
      {
        event: 'PostToolUse',
        run: {
          kind: 'function',
          call: (input) => ({ hookSpecificOutput: { updatedToolOutput: `${input.tool_response}!` } }),
        },
      },
      {
        event: 'PostToolUse',
        run: {
          kind: 'function',
          call: (input) => ({ hookSpecificOutput: { additionalContext: `saw ${input.tool_response}` } }),
        },
      },
      {
        event: 'PostToolUseFailure',
        run: { kind: 'function', call: (input) => ({ additionalContext: `failed: ${input.error_code}` }) },
      },
    ]
    const { hooks } = board(list)
    expect(await hooks.after(call, 'hi')).toEqual({ output: 'hi!', context: ['saw hi!'] })
    expect(await hooks.afterFailure(call, { code: 'TIMEOUT', message: 'slow' })).toEqual({
      context: ['failed: TIMEOUT'],
    })
  })
})

describe('what a hook after a call returns', () => {
  const after = (...outputs: unknown[]) =>
    board(
      outputs.map((output) => ({
        event: 'PostToolUse' as const,
        run: { kind: 'function' as const, call: () => output },
      })),
    ).hooks.after(call, 'original')

  it.each<[string, unknown[], unknown]>([
    ['nothing', [undefined], { context: [] }],
    ['an empty object', [{}], { context: [] }],
    ['context', [{ additionalContext: 'note' }], { context: ['note'] }],
    ['empty context', [{ additionalContext: '' }], { context: [] }],
    ['context that is not text', [{ additionalContext: 7 }], { context: [] }],
    ['a block with its reason', [{ decision: 'block', reason: 'secret' }], { context: ['secret'] }],
    ['a reason without a block', [{ decision: 'approve', reason: 'fine' }], { context: [] }],
    ['an empty output', [{ updatedToolOutput: '' }], { context: [], output: '' }],
    ['nothing after a new output', [{ updatedToolOutput: 'x' }, {}], { context: [], output: 'x' }],
    ['two outputs', [{ updatedToolOutput: 'x' }, { updatedToolOutput: 'y' }], { context: [], output: 'y' }],
  ])('%s', async (_, outputs, result) => {
    expect(await after(...outputs)).toEqual(result)
  })

  it('by a command with exit 2 is context, and a hook that failed adds nothing', async () => {
    const post: Partial<Hook> = { event: 'PostToolUse' }
    const { hooks, warnings } = board([
      await command(`console.error('look again'); process.exit(2)`, post),
      await command(`process.exit(7)`, post),
    ])
    expect(await hooks.after(call, 'original')).toEqual({ context: ['look again'] })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('The PostToolUse hook of settings.json')
  })

  it('replaces what a failure says, and the next hook reads that', async () => {
    const seen: unknown[] = []
    const failing = (run: (input: HookInput) => unknown): Hook => ({
      event: 'PostToolUseFailure',
      run: { kind: 'function', call: (input) => run(input) },
    })
    const { hooks } = board([
      failing(() => ({ additionalContext: '' })),
      failing(() => ({ updatedToolOutput: 'hidden' })),
      failing(({ error }) => {
        seen.push(error)
        return undefined
      }),
    ])
    expect(await hooks.afterFailure(call, { code: 'X', message: 'secret' })).toEqual({
      output: 'hidden',
      context: [],
    })
    expect(seen).toEqual(['hidden'])
  })
})

describe('hooks for elicitations', () => {
  const request = { server: 's', mode: 'form', message: 'm', schema: { type: 'object' } } as never
  const answerOf = (...outputs: unknown[]) =>
    board(
      outputs.map((output) => ({
        event: 'Elicitation' as const,
        run: { kind: 'function' as const, call: () => output },
      })),
    ).hooks.elicitation(request)

  it.each<[unknown[], unknown]>([
    [[undefined], undefined],
    [[{ action: 'perhaps' }], undefined],
    [[{ action: 'decline' }], { action: 'decline' }],
    [[{ action: 'cancel' }], { action: 'cancel' }],
    [[{ action: 'accept', content: { a: 1 } }], { action: 'accept', content: { a: 1 } }],
    [[{}, { action: 'accept' }], { action: 'accept' }],
    [[{ action: 'decline' }, { action: 'accept' }], { action: 'decline' }],
  ])('that return %j answer %j', async (outputs, answer) => {
    expect(await answerOf(...outputs)).toEqual(answer)
  })

  it('by a command with exit 2 decline, and one that fails answers nothing', async () => {
    const event: Partial<Hook> = { event: 'Elicitation' }
    const declined = board([await command('process.exit(2)', event)])
    expect(await declined.hooks.elicitation(request)).toEqual({ action: 'decline' })
    const failed = board([await command('process.exit(3)', event)])
    expect(await failed.hooks.elicitation(request)).toBeUndefined()
  })

  it.each<[string, string, boolean]>([
    ['s', 's', true],
    ['mcp__s', 's', true],
    ['other', 's', false],
    ['(', 's', false],
    ['a.b', 'a.b', true],
    ['mcp__a_b', 'a.b', true],
  ])('with the matcher %s run for the server %s: %s', async (matcher, server, runs) => {
    const { hooks } = board([
      { event: 'Elicitation', matcher, run: { kind: 'function', call: () => ({ action: 'cancel' }) } },
    ])
    const asked = { ...(request as object), server } as never
    expect(await hooks.elicitation(asked)).toEqual(runs ? { action: 'cancel' } : undefined)
  })

  it('get the address of a URL elicitation and the schema of a form', async () => {
    const seen: unknown[] = []
    const { hooks } = board([
      { event: 'Elicitation', run: { kind: 'function', call: (input) => void seen.push(input) } },
    ])
    await hooks.elicitation(request)
    await hooks.elicitation({
      server: 's',
      mode: 'url',
      message: 'm',
      url: 'https://x',
      elicitationId: 'e',
    } as never)
    expect(seen).toEqual([
      {
        hook_event_name: 'Elicitation',
        mcp_server_name: 's',
        message: 'm',
        mode: 'form',
        requested_schema: { type: 'object' },
      },
      {
        hook_event_name: 'Elicitation',
        mcp_server_name: 's',
        message: 'm',
        mode: 'url',
        url: 'https://x',
        elicitation_id: 'e',
      },
    ])
  })
})

describe('a command hook', () => {
  it('starts in its own folder, or in that of the board, and is told the folder', async () => {
    const told = join(folder, 'where')
    const script = `fs.writeFileSync(${JSON.stringify(told)}, JSON.stringify([process.cwd(), input.cwd]))`
    const hook = await command(script)
    const own = join(folder, 'own')
    await mkdir(own)
    const inOwn: Hook = { ...hook, run: { ...hook.run, cwd: own } as Hook['run'] }
    for (const [one, cwd, expected] of [
      [hook, folder, [folder, folder]],
      [inOwn, folder, [own, folder]],
      [hook, undefined, [process.cwd(), undefined]],
    ] as const) {
      const hooks = new Hooks([one], { host: systemHost(), ...(cwd !== undefined && { cwd }) })
      await hooks.before(call)
      const [at, said] = JSON.parse(await readFile(told, 'utf8'))
      expect([await realpath(at), said ?? undefined]).toEqual([
        await realpath(expected[0] ?? ''),
        expected[1],
      ])
    }
  })

  it('is one of at most a hundred for an event', async () => {
    let ran = 0
    const one: Hook = { event: 'PreToolUse', run: { kind: 'function', call: () => void ran++ } }
    await board(Array.from({ length: 101 }, () => one)).hooks.before(call)
    expect(ran).toBe(100)
  })

  it('is only asked for where one would run', () => {
    const { hooks } = board([
      { event: 'PostToolUse', matcher: 'mcp__s__t', run: { kind: 'function', call: () => undefined } },
    ])
    expect(hooks.has('PostToolUse')).toBe(true)
    expect(hooks.has('PreToolUse')).toBe(false)
    expect(hooks.concerns('PostToolUse', call)).toBe(true)
    expect(hooks.concerns('PostToolUse', { ...call, name: 'mcp__s__u', tool: 'u' })).toBe(false)
  })
})

describe('a refusal by a function', () => {
  it.each<[unknown, string]>([
    [{ permissionDecision: 'deny', permissionDecisionReason: ' why ' }, 'why'],
    [{ decision: 'block', reason: 'because' }, 'because'],
    [{ continue: false }, 'a hook refused the call'],
    [{ decision: 'deny', reason: '  ' }, 'a hook refused the call'],
    [{ decision: 'deny', reason: 7 }, 'a hook refused the call'],
    [{ decision: 'deny', hookSpecificOutput: { permissionDecision: 'allow' } }, ''],
    [{ permissionDecision: 'allow' }, ''],
    [{ continue: true }, ''],
  ])('%j says %j', async (output, reason) => {
    const { hooks } = board([{ event: 'PreToolUse', run: { kind: 'function', call: () => output } }])
    const before = await hooks.before(call)
    if (reason === '') expect(before.kind).toBe('go')
    else expect(before).toEqual({ kind: 'refuse', reason, source: 'a PreToolUse hook' })
  })
})

describe('matchers', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*', true],
    ['mcp__s__.*', true],
    ['mcp__s__t', true],
    ['mcp__s', true],
    ['s.t', true],
    ['s.*', true],
    ['mcp__s__*', true],
    ['x.*', false],
    ['mcp__x__.*|mcp__s__t', true],
    ['.*_s_', false],
    ['(', true],
  ])('%s on mcp__s__t: %s', async (matcher, runs) => {
    const hook: Hook = {
      event: 'PreToolUse',
      ...(matcher !== undefined && { matcher }),
      run: { kind: 'function', call: () => ({ decision: 'deny' }) },
    }
    expect((await board([hook]).hooks.before(call)).kind).toBe(runs ? 'refuse' : 'go')
  })

  it('that explode do not hold anything up', async () => {
    const hook: Hook = { event: 'PreToolUse', matcher: '(a+)+b', run: { kind: 'function', call: () => ({}) } }
    expect(await board([hook]).hooks.before({ ...call, name: 'a'.repeat(64) })).toMatchObject({ kind: 'go' })
  })
})

describe('a matcher that is no pattern', () => {
  const other = { name: 'mcp__o__u', server: 'o', tool: 'u', arguments: {} }
  const of = (length: number) => `(mcp__s__t|${'y'.repeat(length - 12)})`
  const deny = (matcher: string, event: Hook['event'] = 'PreToolUse'): Hook => ({
    event,
    matcher,
    run: { kind: 'function', call: () => ({ decision: 'deny', action: 'cancel' }) },
  })

  it('is one that is too long; a guard then runs for every call, and says so', async () => {
    const fits = board([deny(of(512))])
    expect([(await fits.hooks.before(call)).kind, (await fits.hooks.before(other)).kind]).toEqual([
      'refuse',
      'go',
    ])
    expect(fits.warnings).toEqual([])
    const long = board([deny(of(513))])
    expect([(await long.hooks.before(call)).kind, (await long.hooks.before(other)).kind]).toEqual([
      'refuse',
      'refuse',
    ])
    const shown = JSON.stringify(of(513).slice(0, 80))
    expect(long.warnings).toEqual([
      `The hook matcher ${shown} is not a pattern; until it is repaired, its hook runs for every call.`,
    ])
  })

  it('never runs for an elicitation, before or after it', async () => {
    const request = { server: 's', mode: 'form', message: 'm', schema: { type: 'object' } } as never
    const before = board([deny('(', 'Elicitation')])
    expect(await before.hooks.elicitation(request)).toBeUndefined()
    const after = board([deny('(', 'ElicitationResult')])
    expect(await after.hooks.elicitationResult(request, { action: 'accept' } as never)).toBeUndefined()
    for (const { warnings } of [before, after])
      expect(warnings).toEqual(['The hook matcher "(" is not a pattern; its hook never runs.'])
  })

  it('may be a list of rules, of which each counts', async () => {
    const { hooks, warnings } = board([deny('o.u | s.t')])
    expect([(await hooks.before(call)).kind, (await hooks.before(other)).kind]).toEqual(['refuse', 'refuse'])
    expect((await hooks.before({ ...other, name: 'mcp__o__v', tool: 'v' })).kind).toBe('go')
    expect(warnings).toEqual([])
  })

  it('is found by the name that the server gave the tool, too', async () => {
    const { hooks } = board([deny('mcp__a\\.b__c d')])
    expect(
      (await hooks.before({ name: 'mcp__a_b__c_d', server: 'a.b', tool: 'c d', arguments: {} })).kind,
    ).toBe('refuse')
  })
})

it('a later hook sees what an earlier one put in place of the answer, whatever that is', async () => {
  const seen: unknown[] = []
  const post = (output: unknown): Hook => ({
    event: 'PostToolUse',
    run: {
      kind: 'function',
      call: (input) => {
        seen.push(input.tool_response)
        return output
      },
    },
  })
  const { hooks } = board([
    post({}),
    post({ updatedToolOutput: null }),
    post({}),
    post({ updatedToolOutput: 0 }),
  ])
  expect(await hooks.after(call, 'original')).toEqual({ context: [], output: 0 })
  expect(seen).toEqual(['original', 'original', null, null])
})

it('a refusal is cut at its length, and a hook that throws anything is told with its source', async () => {
  const run = (fn: () => unknown, source?: string): Hook => ({
    event: 'PreToolUse',
    run: { kind: 'function', call: fn },
    ...(source && { source }),
  })
  const long = board([run(() => ({ decision: 'deny', reason: 'r'.repeat(2001) }), 'f.json')])
  expect(await long.hooks.before(call)).toEqual({
    kind: 'refuse',
    reason: 'r'.repeat(2000),
    source: 'f.json',
  })
  const thrown = board([run(() => Promise.reject('odd'), 'f.json')])
  expect(await thrown.hooks.before(call)).toMatchObject({ kind: 'go' })
  expect(thrown.warnings).toEqual(['The PreToolUse hook of f.json threw: odd.'])
})

describe('hooks in a settings file', () => {
  it('are read in the shape that people know', () => {
    const read = readHooks(
      {
        PreToolUse: [
          {
            matcher: 'mcp__s__.*',
            hooks: [{ type: 'command', command: 'check', timeout: 5 }, { type: 'prompt' }],
          },
        ],
        PostToolUse: 7,
        Stop: [],
      },
      'f.json',
    )
    expect(read.hooks).toEqual([
      {
        event: 'PreToolUse',
        matcher: 'mcp__s__.*',
        source: 'f.json',
        run: { kind: 'command', command: 'check', timeoutMs: 5000 },
      },
    ])
    expect(read.warnings).toHaveLength(2)
    expect(readHooks('x', 'f').warnings).toHaveLength(1)
    expect(readHooks(undefined, 'f')).toEqual({ hooks: [], warnings: [] })
  })

  it.each<[string, unknown, number]>([
    ['a group that is no object', [7], 1],
    ['a group without hooks', [{ matcher: 'x' }], 1],
    ['an empty group', [{ hooks: [] }], 1],
    ['hooks that are no list', [{ hooks: {} }], 1],
    ['a hook that is no object', [{ hooks: ['rm'] }], 1],
    ['a command that is no text', [{ hooks: [{ type: 'command', command: 7 }] }], 1],
    ['another type', [{ hooks: [{ type: 'prompt', command: 'x' }] }], 1],
    ['no group at all', [], 0],
  ])('with %s are left out and told', (_, groups, warnings) => {
    const read = readHooks({ PreToolUse: groups }, 'f.json')
    expect(read.hooks).toEqual([])
    expect(read.warnings).toHaveLength(warnings)
  })

  it.each<[unknown, number | undefined]>([
    [5, 5000],
    [0.5, 500],
    [0, undefined],
    [-1, undefined],
    ['5', undefined],
    [undefined, undefined],
  ])(
    'with the timeout %j have %j milliseconds, and start in the folder of the file',
    (timeout, timeoutMs) => {
      const raw = { PostToolUse: [{ matcher: 7, hooks: [{ type: 'command', command: 'c', timeout }] }] }
      expect(readHooks(raw, 'f.json', '/project').hooks).toEqual([
        {
          event: 'PostToolUse',
          source: 'f.json',
          run: {
            kind: 'command',
            command: 'c',
            cwd: '/project',
            ...(timeoutMs !== undefined && { timeoutMs }),
          },
        },
      ])
    },
  )
})

it('tells of every hook that ran, what it decided', async () => {
  const runs: HookRun[] = []
  const answers: unknown[] = [
    undefined,
    { permissionDecision: 'allow' },
    { updatedInput: { a: 2 } },
    { hookSpecificOutput: { permissionDecision: 'deny' } },
  ]
  const list = answers.map(
    (answer): Hook => ({
      event: 'PreToolUse',
      run: { kind: 'function', call: () => answer },
      source: 'here',
    }),
  )
  const after: Hook[] = [
    { event: 'PostToolUse', run: { kind: 'function', call: () => ({ updatedToolOutput: 'x' }) } },
    { event: 'PostToolUse', run: { kind: 'function', call: () => ({ additionalContext: 'x' }) } },
    {
      event: 'PostToolUse',
      run: {
        kind: 'function',
        call: () => {
          throw new Error('no')
        },
      },
    },
    { event: 'Elicitation', run: { kind: 'function', call: () => ({ action: 'decline' }) } },
  ]
  const hooks = new Hooks([...list, ...after], { host: systemHost(), onRun: (run) => runs.push(run) })
  const args = { a: 1 }
  const call = { name: 'mcp__one__add', server: 'one', tool: 'add', arguments: args }
  await hooks.before(call)
  await hooks.after(call, {})
  await hooks.elicitation({
    mode: 'url',
    server: 'one',
    message: '',
    url: 'https://x',
    elicitationId: '1',
  } as never)
  expect(runs.map(({ event, decision }) => `${event} ${decision}`)).toEqual([
    'PreToolUse passed',
    'PreToolUse passed',
    'PreToolUse changed',
    'PreToolUse refused',
    'PostToolUse changed',
    'PostToolUse added',
    'PostToolUse failed',
    'Elicitation answered',
  ])
  expect(runs[0]).toMatchObject({
    server: 'one',
    tool: 'add',
    source: 'here',
    durationMs: expect.any(Number),
  })
  expect(runs[0]?.arguments).toBe(args)
  expect(runs[3]?.arguments).toBe(runs[2]?.changedArguments)
})
