import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heldHost, until } from '../connection/fixtures/kit.ts'
import { type Host, systemHost } from '../host.ts'
import { type Hook, Hooks, readHooks } from './hooks.ts'

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
    await until('its child is gone', () => !alive(started()))
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
  })
})

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // ESRCH: no process has this id any more.
    return false
  }
}
