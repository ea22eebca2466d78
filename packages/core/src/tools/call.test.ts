// The pipeline in front of a real server: server-everything as a child process.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../../../../bench/lib/servers.mjs'
import { systemHost } from '../host.ts'
import { type Hook, Hooks, type Prompt } from '../interaction/index.ts'
import {
  AuditLog,
  type GateOptions,
  PermissionGate,
  type Rule,
  readAudit,
  verifyAudit,
} from '../permissions/index.ts'
import { type CallPorts, callTool, passTool } from './call.ts'
import { readToolList, type ToolDefinition } from './definition.ts'
import { NameRegistry } from './names.ts'
import { loadZod, type Zod } from './schema/index.ts'
import { BoundTool, type ToolActions } from './tool.ts'

let server: TestServer
let folder: string
let zod: Zod
let definitions: readonly ToolDefinition[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'call-'))
  zod = await loadZod()
  server = await startServer('everything', { capabilities: { elicitation: { form: {}, url: {} } } })
  definitions = readToolList((await server.request('tools/list')).tools).tools
})
afterAll(async () => {
  server?.close()
  await rm(folder, { recursive: true, force: true })
})

const host = systemHost()
const allow: Rule = { effect: 'allow', text: 'mcp__everything', source: 'settings.json' }
let audit: AuditLog
let auditPath: string
let count = 0
/** Each of them writes a moment later; none may do so when the folder is gone. */
const audits: AuditLog[] = []
afterEach(() => Promise.all(audits.splice(0).map((one) => one.flush())))

interface Setup {
  readonly rules?: readonly Rule[]
  readonly gate?: GateOptions
  readonly hooks?: readonly Hook[]
  readonly ask?: (prompt: Prompt) => Promise<{ action: 'accept' | 'decline' }>
  readonly send?: (name: string, args: unknown) => Promise<unknown>
  readonly extra?: readonly ToolDefinition[]
}

/** A hook makes a call wait at every step; without one, an allowed call waits only for its server. */
const PATHS = ['straight', 'with every step awaited'] as const
let path: (typeof PATHS)[number] = 'straight'
const noHook = (event: Hook['event']): Hook => ({
  event,
  matcher: '.*',
  source: 'hooks.json',
  run: { kind: 'function', call: () => ({}) },
})
const AWAITED = [noHook('PreToolUse'), noHook('PostToolUse'), noHook('PostToolUseFailure')]

/** A small board: one server, one pool, the real pipeline. */
function board(setup: Setup = {}) {
  auditPath = join(folder, `audit-${count++}`, 'audit.jsonl')
  audit = new AuditLog({ path: auditPath, host })
  audits.push(audit)
  const sent: unknown[] = []
  const registry = new NameRegistry()
  const all = [...definitions, ...(setup.extra ?? [])]
  const names = registry.update(all.map((one) => ({ server: 'everything', tool: one.name })))
  const actions: ToolActions = {
    call: (tool, args, context) => callTool(ports, tool, args, context),
    decide: () => ({ outcome: 'ask', reason: { kind: 'default', text: '' } }),
  }
  const tools = new Map(
    all.map((definition, index) => {
      const name = names[index] ?? ''
      return [name, new BoundTool({ name, server: 'everything', definition, env: {}, zod }, actions)]
    }),
  )
  const find = (spelling: string): BoundTool => {
    const found = registry.resolve(spelling)
    const tool = found.kind === 'found' ? tools.get(found.name) : undefined
    if (!tool) throw new Error(`no tool ${spelling}`)
    return tool
  }
  const standing = { rules: setup.rules ?? [allow] }
  const ports: CallPorts = {
    host,
    send: (tool, args, options) => {
      const { name } = tool.definition
      sent.push({ name, args })
      return setup.send?.(name, args) ?? server.request('tools/call', { name, arguments: args }, options)
    },
    standing: () => standing,
    gate: new PermissionGate(setup.gate),
    hooks: new Hooks([...(setup.hooks ?? []), ...(path === 'straight' ? [] : AWAITED)], { host }),
    audit,
    resultsFolder: join(folder, 'results'),
    ...(setup.ask && { elicitation: { ask: setup.ask } }),
  }
  return {
    ports,
    sent,
    tools,
    call: (name: string, args = {}, context = {}) => callTool(ports, find(name), args, context),
  }
}

describe.each(PATHS)('a call (%s)', (which) => {
  beforeEach(() => {
    path = which
  })

  it('works by both spellings, and is written down', async () => {
    const { call } = board()
    for (const name of ['mcp__everything__echo', 'everything.echo'])
      expect(await call(name, { message: 'hi' })).toMatchObject({
        isError: false,
        content: [{ type: 'text', text: 'Echo: hi' }],
      })
    await audit.flush()
    expect(await verifyAudit(auditPath)).toMatchObject({ ok: true, lines: 2 })
    expect((await readAudit(auditPath, 1))[0]).toMatchObject({
      server: 'everything',
      tool: 'echo',
      decision: 'allow',
      rule: 'mcp__everything',
      source: 'settings.json',
      outcome: 'ok',
      arguments: { message: 'hi' },
    })
  })

  it.each<[string, unknown, RegExp]>([
    ['the wrong type', { message: 7 }, /message must be a string, not a number/],
    ['nothing', {}, /message is required/],
    ['no object', [], /must be an object/],
    ['__proto__', JSON.parse('{"message": "x", "__proto__": {"a": 1}}'), /__proto__/],
    ['__proto__ deep inside', JSON.parse('{"message": "x", "a": [{"__proto__": 1}]}'), /__proto__/],
    [
      'a nest of 10,000 levels',
      { message: 'x', deep: JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`) },
      /nested deeper/,
    ],
    ['17 MiB', { message: 'x'.repeat(17 * 1024 * 1024) }, /larger than 16 MiB/],
    ['what JSON does not have', { message: 'x', big: 1n }, /bigint/],
  ])('with %s is refused before it leaves', async (_, args, message) => {
    const { call, sent } = board()
    await expect(call('everything.echo', args as object)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringMatching(message),
    })
    expect(sent).toEqual([])
  })

  it('goes to a tool whose schema is absurd, unchecked', async () => {
    const absurd = {
      name: 'absurd',
      inputSchema: { $ref: 'https://example.com/s', anyOf: [{ $ref: '#' }, { $ref: '#' }] },
    }
    const { call } = board({
      extra: [absurd],
      send: async () => ({ content: [{ type: 'text', text: 'ok' }] }),
    })
    expect(await call('everything.absurd', { any: 'thing' })).toMatchObject({ content: [{ text: 'ok' }] })
  })

  it('is denied by a rule, which is named with its file, for everyone', async () => {
    const deny: Rule = { effect: 'deny', text: 'mcp__everything__ec*', source: '/p/settings.json' }
    for (const caller of ['user', 'agent', 'client'] as const) {
      const { call, sent } = board({ rules: [allow, deny] })
      await expect(call('everything.echo', { message: 'x' }, { caller })).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        message: 'everything.echo is denied: the rule "mcp__everything__ec*" says deny (/p/settings.json).',
      })
      expect(sent).toEqual([])
      await audit.flush()
      expect((await readAudit(auditPath, 1))[0]).toMatchObject({
        decision: 'deny',
        outcome: 'refused',
        rule: 'mcp__everything__ec*',
      })
    }
  })

  it('asks the user for an agent, and takes a direct call for consent', async () => {
    const asked: unknown[] = []
    const gate: GateOptions = {
      ask: async ({ arguments: args }) => {
        asked.push(args)
        return 'once'
      },
    }
    await board({ rules: [], gate }).call('everything.echo', { message: 'a' })
    await board({ rules: [], gate }).call('everything.echo', { message: 'u' }, { caller: 'user' })
    expect(asked).toEqual([{ message: 'a' }])
    await expect(board({ rules: [] }).call('everything.echo', { message: 'a' })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    })
  })

  it('keeps text and structure together, and puts an image into a file that opens', async () => {
    const { call } = board()
    const weather = await call('everything.get-structured-content', { location: 'New York' })
    expect(weather.structuredContent).toBeTypeOf('object')
    expect(weather.content).toHaveLength(1)
    expect(weather.warnings).toEqual([])
    const image = await call('everything.get-tiny-image')
    expect(image.content.some((block) => block.type === 'image')).toBe(true)
    const png = await readFile(image.savedFiles[0]?.path ?? '')
    expect(png.toString('latin1', 1, 4)).toBe('PNG')
  })

  it('reports progress, and reaches the server when it is cancelled', async () => {
    const { call } = board()
    const steps: number[] = []
    await call(
      'everything.trigger-long-running-operation',
      { duration: 0.2, steps: 2 },
      { onProgress: ({ progress }: { progress: number }) => steps.push(progress) },
    )
    expect(steps).toEqual([1, 2])
    const abort = new AbortController()
    const long = call(
      'everything.trigger-long-running-operation',
      { duration: 60, steps: 60 },
      { signal: abort.signal, onProgress: () => abort.abort() },
    )
    await expect(long).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(
      call('everything.echo', { message: 'x' }, { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('comes back as an error result when the tool says so, even with nothing', async () => {
    const { call } = board({ send: async () => ({ isError: true, content: [] }) })
    expect(await call('everything.echo', { message: 'x' })).toMatchObject({
      isError: true,
      content: [{ text: 'The tool reported an error and said nothing about it.' }],
    })
    await audit.flush()
    expect((await readAudit(auditPath, 1))[0]).toMatchObject({ outcome: 'tool-error' })
  })

  it('fails as one of the family when the connection does not', async () => {
    const { call } = board({ send: () => Promise.reject(new TypeError('socket')) })
    await expect(call('everything.echo', { message: 'x' })).rejects.toMatchObject({
      code: 'TOOL_ERROR',
      tool: 'echo',
      server: 'everything',
    })
  })
})

describe('a tool', () => {
  it('is one interface: Zod, JSON Schema, traits, names', async () => {
    const tool = board().tools.get('mcp__everything__echo')
    expect(tool?.inputSchema.safeParse({ message: 1 }).success).toBe(false)
    expect(tool?.inputSchema).toBe(tool?.inputSchema)
    expect(tool).toMatchObject({
      maxResultSizeChars: 100_000,
      mcpInfo: { serverName: 'everything', toolName: 'echo' },
    })
    expect(await tool?.call({ message: 'direct' }, { caller: 'user' })).toMatchObject({
      content: [{ text: 'Echo: direct' }],
    })
  })
})

describe('hooks around a call', () => {
  const fn = (event: Hook['event'], call: (input: Record<string, unknown>) => unknown): Hook => ({
    event,
    matcher: 'mcp__everything__.*',
    source: 'hooks.json',
    run: { kind: 'function', call },
  })

  it('may change what goes in and what comes out', async () => {
    const { call } = board({
      hooks: [
        fn('PreToolUse', () => ({ updatedInput: { message: 'changed' } })),
        fn('PostToolUse', () => ({ updatedToolOutput: 'seen', additionalContext: 'and more' })),
      ],
    })
    expect((await call('everything.echo', { message: 'x' })).content).toEqual([
      { type: 'text', text: 'seen' },
      { type: 'text', text: 'and more' },
    ])
  })

  const SECRET = 'hunter2-hunter2'
  /** The secret in every place of a result, known or not. */
  const leaky = {
    content: [
      { type: 'text', text: `the password is ${SECRET} ${'x'.repeat(200_000)}` },
      { type: 'audio', data: Buffer.from(SECRET).toString('base64'), mimeType: 'audio/wav' },
    ],
    structuredContent: { password: SECRET },
    _meta: { 'example.com/trace': SECRET },
    toolResult: SECRET,
    extra: { note: SECRET },
  }
  const redact = (output: unknown) => fn('PostToolUse', () => ({ updatedToolOutput: output }))

  it.each([
    ['a text', 'redacted', 'redacted', undefined],
    [
      'blocks',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      'a b',
      undefined,
    ],
    ['content', { content: [{ type: 'text', text: 'a' }] }, 'a', undefined],
    ['both', { content: [{ type: 'text', text: 'a' }], structuredContent: { ok: 1 } }, /^a/, { ok: 1 }],
    ['something else', { ok: true }, '{"ok":true}', undefined],
    ['nothing to show', [], '[]', undefined],
  ])(
    'that replace the answer with %s leave nothing of the server’s',
    async (_, output, shown, structured) => {
      const before = await readdir(join(folder, 'results')).catch(() => [])
      const { call, ports, tools } = board({ hooks: [redact(output)], send: async () => leaky })
      const result = await call('everything.echo', { message: 'x' })
      expect(JSON.stringify(result)).not.toContain(SECRET)
      expect(result.content.map((block) => (block.type === 'text' ? block.text : '?')).join(' ')).toMatch(
        shown,
      )
      expect(result.structuredContent).toEqual(structured)
      expect(result).toMatchObject({ savedFiles: [], isError: false })
      expect(result.meta).toBeUndefined()
      expect(await readdir(join(folder, 'results')).catch(() => [])).toEqual(before)
      const tool = tools.get('mcp__everything__echo')
      if (!tool) throw new Error('no tool')
      const passed = await passTool(ports, tool, {}, {}, async () => ({ ...leaky, resultType: 'complete' }))
      expect(JSON.stringify(passed)).not.toContain(SECRET)
      expect(Object.keys(passed).filter((key) => key !== 'structuredContent')).toEqual([
        'content',
        'resultType',
      ])
      expect(passed.structuredContent).toEqual(structured)
    },
  )

  it('see the answer as the server gave it, and may only add to it', async () => {
    const heard: unknown[] = []
    const add = fn('PostToolUse', (input) => {
      heard.push(input.tool_response)
      return { additionalContext: 'and more' }
    })
    const { call } = board({ hooks: [add], send: async () => leaky })
    const result = await call('everything.echo', { message: 'x' })
    expect(heard).toEqual([{ content: leaky.content, structuredContent: leaky.structuredContent }])
    expect(result).toMatchObject({ structuredContent: { password: SECRET }, truncated: true })
    const silent = board({
      hooks: [fn('PostToolUse', () => ({}))],
      send: async () => ({ content: [] }),
    })
    expect((await silent.call('everything.echo', { message: 'x' })).content).toEqual([
      { type: 'text', text: '(no output)' },
    ])
  })

  it('may replace what a failure says, as an answer or as an error', async () => {
    const hooks = [
      fn('PostToolUseFailure', (input) => ({
        updatedToolOutput: `${input.error}`.replaceAll(SECRET, '***'),
      })),
    ]
    const answered = board({ hooks, send: async () => ({ ...leaky, isError: true }) })
    const result = await answered.call('everything.echo', { message: 'x' })
    expect(result.isError).toBe(true)
    expect(JSON.stringify(result)).not.toContain(SECRET)
    expect(JSON.stringify(result)).toContain('the password is ***')
    const thrown = board({ hooks, send: () => Promise.reject(new Error(`no ${SECRET}`)) })
    const error: unknown = await thrown.call('everything.echo', { message: 'x' }).catch((one: unknown) => one)
    expect(error).toMatchObject({ code: 'TOOL_ERROR', message: 'no ***' })
    expect((error as Error).cause).toBeUndefined()
    const own = board({ hooks: [fn('PostToolUseFailure', () => ({ updatedToolOutput: 'x' }))] })
    await expect(own.call('everything.echo', { message: 5 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('add to an answer that says it failed', async () => {
    const hooks = [fn('PostToolUseFailure', () => ({ additionalContext: 'try again' }))]
    const { call } = board({
      hooks,
      send: async () => ({ isError: true, content: [{ type: 'text', text: 'no' }] }),
    })
    expect((await call('everything.echo', { message: 'x' })).content).toEqual([
      { type: 'text', text: 'no' },
      { type: 'text', text: 'try again' },
    ])
  })

  it('guard a tool in every spelling of its name', async () => {
    const long = `remove_${'every_'.repeat(12)}thing`
    const extra = ['de.lete', 'de_lete', long].map((name) => ({ name, inputSchema: { type: 'object' } }))
    const guarded = async (matcher: string, tool: string) => {
      const hook: Hook = {
        event: 'PreToolUse',
        matcher,
        run: { kind: 'function', call: () => ({ decision: 'block' }) },
      }
      const { call } = board({ hooks: [hook], extra, send: async () => ({ content: [] }) })
      return await call(`everything.${tool}`).then(
        () => false,
        () => true,
      )
    }
    for (const matcher of [
      'mcp__everything__de_lete',
      'mcp__.*de.lete',
      'everything.de.lete',
      'mcp__everything__de_*',
    ])
      expect([matcher, await guarded(matcher, 'de.lete')]).toEqual([matcher, true])
    for (const matcher of [`mcp__everything__${long}`, 'mcp__.*thing', 'everything.*thing', 'everything'])
      expect([matcher, await guarded(matcher, long)]).toEqual([matcher, true])
    expect(await guarded('mcp__other__.*', 'de.lete')).toBe(false)
    expect(await guarded('mcp__everything__other', 'de.lete')).toBe(false)
  })

  it('may not make arguments that do not fit', async () => {
    const { call } = board({ hooks: [fn('PreToolUse', () => ({ updatedInput: { message: 5 } }))] })
    await expect(call('everything.echo', { message: 'x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('may refuse, never grant', async () => {
    const refuse = fn('PreToolUse', () => ({
      permissionDecision: 'deny',
      permissionDecisionReason: 'not now',
    }))
    await expect(board({ hooks: [refuse] }).call('everything.echo', { message: 'x' })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('not now (hooks.json)'),
    })
    const grant = fn('PreToolUse', () => ({ permissionDecision: 'allow' }))
    await expect(
      board({ rules: [], hooks: [grant] }).call('everything.echo', { message: 'x' }),
    ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  it('hear of failures', async () => {
    const heard: unknown[] = []
    const { call } = board({
      hooks: [fn('PostToolUseFailure', (input) => heard.push(input.error_code))],
      send: () => Promise.reject(new Error('x')),
    })
    await expect(call('everything.echo', { message: 'x' })).rejects.toThrow()
    expect(heard).toEqual(['TOOL_ERROR'])
  })
})

describe.each(PATHS)('a URL the user has to visit first (%s)', (which) => {
  beforeEach(() => {
    path = which
  })

  const required = Object.assign(new Error('first'), {
    code: -32042,
    data: {
      elicitations: [
        { mode: 'url', url: 'https://example.com/consent', message: 'Consent', elicitationId: '1' },
      ],
    },
  })

  it('is shown, and then the call is made again', async () => {
    const prompts: Prompt[] = []
    let tries = 0
    const { call } = board({
      send: async () => {
        if (tries++ === 0) throw Object.assign(new Error('wrapped'), { cause: required })
        return { content: [{ type: 'text', text: 'done' }] }
      },
      ask: async (prompt) => {
        prompts.push(prompt)
        return { action: 'accept' }
      },
    })
    expect(await call('everything.echo', { message: 'x' })).toMatchObject({ content: [{ text: 'done' }] })
    expect(prompts).toMatchObject([{ mode: 'url', message: 'Consent' }])
  })

  it('ends the call when the user declines, when no user is there, and when it never ends', async () => {
    const send = () => Promise.reject(required)
    await expect(
      board({ send, ask: async () => ({ action: 'decline' }) }).call('everything.echo', { message: 'x' }),
    ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await expect(board({ send }).call('everything.echo', { message: 'x' })).rejects.toMatchObject({
      code: 'TOOL_ERROR',
    })
    const endless = board({ send, ask: async () => ({ action: 'accept' }) })
    await expect(endless.call('everything.echo', { message: 'x' })).rejects.toMatchObject({
      code: 'TOOL_ERROR',
    })
    expect(endless.sent).toHaveLength(4)
  })
})
