// What rules and channel permissions deny and allow on a board, for everything that a server has.
import { describe, expect, it } from 'vitest'
import type { BoardOptions } from '../board.ts'
import type { ChannelPermissions } from '../config/entry.ts'
import type { PermissionRule } from '../config/resolve.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { board } from '../connection/fixtures/kit.ts'
import type { PermissionAnswer } from '../permissions/index.ts'

type Serve = NonNullable<BoardOptions['inProcess']>[string]
interface Asked {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

const TOOLS = [
  { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'wipe', inputSchema: { type: 'object' } },
  { name: 'beside', inputSchema: { type: 'object' }, annotations: { safeToRunConcurrently: true } },
]

/** A server with one of everything that records its requests. */
function whole(call: (name: string) => Promise<object> | object = () => ({ content: [] })) {
  const asked: Asked[] = []
  const serve: Serve = (end) => {
    end.onmessage = async (message) => {
      const { id, method, params = {} } = message as Partial<Asked> & { id?: number }
      if (id === undefined || method === undefined) return
      asked.push({ method, params })
      const answers: Readonly<Record<string, () => object | Promise<object>>> = {
        initialize: () => ({
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} },
          serverInfo: { name: 'whole', version: '1' },
        }),
        'tools/list': () => ({ tools: TOOLS }),
        'tools/call': () => call(String(params.name)),
        'resources/list': () => ({ resources: [{ uri: 'a:1', name: 'a' }] }),
        'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'a:{x}', name: 'a' }] }),
        'resources/read': () => ({ contents: [{ uri: params.uri, text: 'read' }] }),
        'resources/subscribe': () => ({}),
        'prompts/list': () => ({ prompts: [{ name: 'p', arguments: [{ name: 'x' }] }] }),
        'prompts/get': () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'got' } }] }),
        'completion/complete': () => ({ completion: { values: ['v'] } }),
      }
      const answer = answers[method]
      const reply = answer ? { result: await answer() } : { error: { code: -32601, message: 'no' } }
      void end.send({ jsonrpc: '2.0', id, ...reply } as never)
    }
    void end.start()
  }
  return { serve, asked }
}

const server = (
  name: string,
  permissions?: ChannelPermissions,
  over: Partial<ConfiguredServer> = {},
): ConfiguredServer => ({
  name,
  scope: 'user',
  source: 'settings.json',
  entry: { type: 'sdk', ...(permissions && { permissions }) },
  signature: `signature of ${name}`,
  ...over,
})
const rule = (
  action: PermissionRule['action'],
  text: string,
  over: Partial<PermissionRule> = {},
): PermissionRule => ({
  action,
  rule: text,
  file: 'settings.json',
  scope: 'user',
  ...over,
})

describe('a server that is denied', () => {
  it.each<[string, readonly PermissionRule[], ChannelPermissions | undefined]>([
    ['by mcp__s', [rule('deny', 'mcp__s')], undefined],
    ['by mcp__s__*', [rule('deny', 'mcp__s__*')], undefined],
    ['by its name', [rule('deny', 's')], undefined],
    ['by s.*', [rule('deny', 's.*')], undefined],
    ['by a rule that cannot be read', [rule('deny', 's/look')], undefined],
    ['by readPermission', [], { readPermission: 'deny' }],
  ])(
    '%s gives neither resources nor prompts, nor completion, nor subscriptions',
    async (_, rules, permissions) => {
      const { serve, asked } = whole()
      const other = whole()
      const made = await board({
        servers: [server('s', permissions), server('other')],
        rules,
        caller: 'user',
        inProcess: { s: serve, other: other.serve },
      })
      await made.ready()
      const before = asked.length
      const denied = { code: 'PERMISSION_DENIED' }
      await expect(made.read('s', 'a:1')).rejects.toMatchObject(denied)
      await expect(made.prompt('s', 'p')).rejects.toMatchObject(denied)
      await expect(made.subscribe('s', 'a:1')).rejects.toMatchObject(denied)
      const value = { prompt: 'p', argument: 'x', value: '' }
      await expect(made.complete('s', value)).rejects.toMatchObject(denied)
      for (const list of ['resources', 'templates', 'prompts', 'skills'] as const) {
        await expect(made[list]({ server: 's' })).rejects.toMatchObject(denied)
        const servers = (await made[list]()).map((one) => one.server)
        expect(servers).not.toContain('s')
        if (list !== 'skills') expect(servers).toContain('other')
      }
      await expect(made.link.permitRead('s', 'a:1')).rejects.toMatchObject(denied)
      await expect(made.link.permitPrompt('s', 'p')).rejects.toMatchObject(denied)
      expect([made.link.isReadable('s'), made.link.isReadable('other')]).toEqual([false, true])
      expect(asked.slice(before)).toEqual([])
      expect(await made.read('other', 'a:1')).toMatchObject([{ text: 'read' }])
      expect(await made.prompt('other', 'p')).toMatchObject({ messages: [{ role: 'user' }] })
      expect(await made.complete('other', value)).toMatchObject({ values: ['v'] })
      await made.subscribe('other', 'a:1')
    },
  )

  it('for one tool alone still gives the rest', async () => {
    const { serve } = whole()
    const made = await board({
      servers: [server('s')],
      rules: [rule('deny', 's.wipe')],
      caller: 'user',
      inProcess: { s: serve },
    })
    expect(await made.read('s', 'a:1')).toMatchObject([{ text: 'read' }])
    await expect(made.call('s.wipe')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await made.call('s.look')
  })
})

describe('prompts and resources that ask', () => {
  it('ask the user, by name, and remember kinds apart', async () => {
    const { serve } = whole()
    const questions: string[] = []
    const made = await board({
      servers: [server('s', { readPermission: 'ask' })],
      ask: async ({ request }): Promise<PermissionAnswer> => {
        questions.push(`${request.prompt ? 'prompt' : 'resource'} ${request.tool}`)
        return request.prompt ? 'session' : 'no'
      },
      inProcess: { s: serve },
    })
    await made.prompt('s', 'p')
    await made.prompt('s', 'p')
    await expect(made.read('s', 'a:1')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    expect(questions).toEqual(['prompt p', 'resource a:1'])
  })
})

describe('what an entry grants itself', () => {
  const open: ChannelPermissions = { readPermission: 'allow', writePermission: 'allow' }
  it.each<[string, Partial<ConfiguredServer>, boolean]>([
    ['the user’s', {}, true],
    ['the user’s, by record', { scope: 'local', author: 'user' }, true],
    ['a repository’s', { scope: 'project', author: 'repository' }, false],
    ['a plugin’s', { scope: 'plugin' }, false],
  ])('counts in an entry of %s: %s', async (_, over, counts) => {
    const { serve } = whole()
    const made = await board({ servers: [server('s', open, over)], inProcess: { s: serve } })
    await made.ready()
    for (const name of ['s.look', 's.wipe']) {
      const tool = await made.tool(name)
      expect(tool.checkPermissions({ x: 1 }).outcome).toBe(counts ? 'allow' : 'ask')
      const outcome = await made.call(name).then(
        () => 'ran',
        ({ code }: { code: string }) => code,
      )
      expect(outcome).toBe(counts ? 'ran' : 'PERMISSION_DENIED')
    }
  })

  it('is only for tools that read, when only reading is granted, and says so', async () => {
    const { serve } = whole()
    const made = await board({ servers: [server('s', { readPermission: 'allow' })], inProcess: { s: serve } })
    await made.ready()
    expect((await made.tool('s.look')).checkPermissions()).toMatchObject({
      outcome: 'allow',
      reason: { kind: 'channel', rule: 'readPermission', source: 'settings.json' },
    })
    expect((await made.tool('s.wipe')).checkPermissions().outcome).toBe('ask')
  })
})

describe('an allow rule of the user', () => {
  const allow = rule('allow', 'mcp__s', { reach: 'user-servers' })
  it('does not reach a server that a repository put in the place of the user’s', async () => {
    const { serve } = whole()
    const made = await board({ servers: [server('s')], rules: [allow], inProcess: { s: serve } })
    await made.call('s.wipe')
    await made.link.apply(
      [server('s', undefined, { author: 'repository', replaces: 'settings.json' })],
      [allow],
    )
    await expect(made.call('s.wipe')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await made.link.apply(
      [server('s', undefined, { author: 'repository' })],
      [allow, rule('allow', 's.wipe', { scope: 'dynamic', file: '--allow' })],
    )
    await made.call('s.wipe')
  })

  it('that an "always" made holds for that server and not for another of its name', async () => {
    const { serve } = whole()
    const saved: unknown[][] = []
    const made = await board({
      servers: [server('s')],
      ask: async () => 'always',
      saveRule: async (...words) => {
        saved.push(words)
        return 'local.json'
      },
      inProcess: { s: serve },
    })
    await made.call('s.wipe')
    expect(saved).toEqual([['mcp__s__wipe', 'signature of s']])
    const bound = rule('allow', 'mcp__s__wipe', { signatures: ['signature of s'] })
    const closed = await board({
      servers: [server('s', undefined, { signature: 'another' })],
      rules: [bound],
      inProcess: { s: serve },
    })
    await expect(closed.call('s.wipe')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    const opened = await board({ servers: [server('s')], rules: [bound], inProcess: { s: serve } })
    await opened.call('s.wipe')
  })
})

describe('calls beside each other', () => {
  /** How many of two calls of a tool ran at once. */
  async function atOnce(tool: string, concurrentTools?: readonly string[]): Promise<number> {
    let running = 0
    let most = 0
    const { serve } = whole(async () => {
      most = Math.max(most, ++running)
      await new Promise((done) => setTimeout(done, 60))
      running--
      return { content: [] }
    })
    const entry = { type: 'sdk', ...(concurrentTools && { concurrentTools }) } as const
    const made = await board({
      servers: [server('s', undefined, { entry })],
      caller: 'user',
      inProcess: { s: serve },
    })
    await made.ready()
    expect((await made.tool(`s.${tool}`)).isConcurrencySafe()).toBe(
      tool !== 'wipe' || concurrentTools?.includes('wi*') === true,
    )
    await Promise.all([made.call(`s.${tool}`), made.call(`s.${tool}`)])
    return most
  }

  it('are those of tools that read, that say so, or that the settings name', async () => {
    expect(await atOnce('look')).toBe(2)
    expect(await atOnce('beside')).toBe(2)
    expect(await atOnce('wipe')).toBe(1)
    expect(await atOnce('wipe', ['other'])).toBe(1)
    expect(await atOnce('wipe', ['other', 'wi*'])).toBe(2)
  })
})
