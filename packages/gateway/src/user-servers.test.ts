// What a user has of servers with logins of its own: when the user is asked, which connection does the work, and what is listed.
// Connections, logins and the board are plain objects; the same over the wire is in test/user-logins.test.ts.
import { AuthRequired, type Connection, JsonRpcError, type LocalBoard } from '@plugboard/core'
import type { BoundTool } from '@plugboard/core/tools'
import { describe, expect, it } from 'vitest'
import { EVERYTHING, readExposure } from './access/exposure.ts'
import type { Client, ClientRequest } from './client-request.ts'
import { requestOf } from './fixtures/requests.ts'
import type { Instances } from './isolation/instances.ts'
import type { Json } from './json-rpc.ts'
import type { UserLogins } from './user-logins/user-logins.ts'
import { UserServers } from './user-servers.ts'
import { ToolOverrides } from './views/tool-overrides.ts'
import { type UserLists, type UserViewOptions, userView } from './views/user-view.ts'
import type { View } from './views/views.ts'

const ada = { key: 'a', name: 'ada', roles: [] }
const missing = () => new AuthRequired('no login', { server: 'notes' })
const up = { kind: 'connected' }
const away = () => ({ kind: 'needs-auth', error: missing() })

function bound(server: string, name: string, denied = false): BoundTool {
  const checkPermissions = () => ({ outcome: denied ? 'deny' : 'allow' })
  return {
    name: `mcp__${server}__${name}`,
    mcpInfo: { serverName: server, toolName: name },
    checkPermissions,
  } as unknown as BoundTool
}

function board(): LocalBoard {
  const link = {
    configured: (name: string) => (name === 'unconfigured' ? undefined : {}),
    instanceTools: (server: string, items: readonly Json[]) =>
      items.map(({ name }) => bound(server, String(name))),
    isReadable: (name: string) => name !== 'closed',
    mayReplaceOutput: () => false,
  }
  return { link } as unknown as LocalBoard
}

const options = (naming: UserViewOptions['naming'] = 'mcp'): UserViewOptions => ({
  board: board(),
  overrides: new ToolOverrides(),
  selects: false,
  keepsLarge: false,
  rewritesUris: false,
  naming,
  expose: EVERYTHING,
})

interface Made {
  /** What the connection says, one after the other; the last one stays. */
  readonly states?: readonly object[]
  readonly asks?: boolean
  readonly mayConnect?: boolean
  readonly naming?: UserViewOptions['naming']
  readonly servers?: readonly string[]
  readonly listedBy?: string
}

function made({
  states = [up],
  asks = true,
  mayConnect = false,
  naming,
  servers = ['notes'],
  listedBy = 'server',
}: Made = {}) {
  const log: string[] = []
  const left = [...states]
  let state: object = left[0] ?? up
  const next = (what: string) => async () => {
    log.push(what)
    state = left.shift() ?? state
    return state
  }
  const lists: Record<string, Json[]> = {
    tools: [{ name: 'say' }],
    prompts: [],
    resources: [],
    templates: [],
  }
  const catalog = Object.fromEntries(
    Object.keys(lists).map((list) => [
      list,
      {
        get items() {
          return lists[list]
        },
      },
    ]),
  )
  const connection = {
    get state() {
      return state
    },
    needed: next('needed'),
    reconnect: next('reconnect'),
    list: async (list: string) => lists[list],
    catalog: { ...catalog, listedBy },
  } as unknown as Connection
  const instance = { key: 'notes of ada', connection, release: () => log.push('release') }
  let bound: { gone(user?: string, server?: string): void } = { gone: () => undefined }
  const observed: unknown[] = []
  const logins = {
    servers: [...servers, 'unconfigured'],
    serves: (server: string) => servers.includes(server),
    asks: () => asks,
    mayConnect: async () => mayConnect,
    ask: async () => void log.push('ask'),
    bind: (_: unknown, listener: typeof bound) => {
      bound = listener
    },
  }
  const instances = {
    use: (server: string) => (server === 'none' ? undefined : instance),
    existing: () => connection,
    keyOf: () => 'notes of ada',
    dropLogins: (user: unknown, server: unknown) => log.push(`drop ${user} ${server}`),
  }
  const all = new UserServers(
    logins as unknown as UserLogins,
    board(),
    instances as unknown as Instances,
    options(naming),
    {
      observe: (call, work) => {
        observed.push([call.server, call.method, call.tool])
        return work()
      },
      changed: (user) => log.push(`changed ${user}`),
    },
  )
  const gone = (user: string | undefined, server: string) => bound.gone(user, server)
  return { all, log, lists, gone, connection, observed }
}

function request(more: object = { user: ada }): ClientRequest {
  const plain = requestOf('ada')
  const client = { ...plain.client, era: 'legacy', exposure: EVERYTHING, ...more }
  return { ...plain, client: client as unknown as Client }
}

describe('work on the connection of a user', () => {
  it.each([
    ['connected', { states: [up] }, ['needed', 'release']],
    [
      'a login came meanwhile',
      { states: [away(), up], mayConnect: true },
      ['needed', 'reconnect', 'release'],
    ],
    ['no login', { states: [away(), up] }, ['needed', 'ask', 'reconnect', 'release']],
    [
      'a login that does not hold',
      { states: [away(), away(), up], mayConnect: true },
      ['needed', 'reconnect', 'ask', 'reconnect', 'release'],
    ],
  ] as const)('%s', async (_, given, steps) => {
    const { all, log } = made(given)
    expect(await all.during('notes', request(), async (key) => key)).toBe('notes of ada')
    expect(log).toEqual(steps)
  })

  it('is refused without a login that the user could make, or that did not help', async () => {
    const never = made({ states: [away()], asks: false })
    await expect(never.all.during('notes', request(), async () => 1)).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
    })
    expect(never.log).toEqual(['needed', 'release'])
    const inVain = made({ states: [away(), away()] })
    await expect(inVain.all.during('notes', request(), async () => 1)).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
    })
    expect(inVain.log).toEqual(['needed', 'ask', 'reconnect', 'release'])
    const nameless = made({ states: [away()] })
    expect(await nameless.all.during('notes', request({}), async () => 1)).toBe(1)
    await expect(nameless.all.during('none', request(), async () => 1)).rejects.toThrow(
      'no server that users log in to',
    )
  })

  it('is done once more after a login that ended meanwhile, and for no other fault', async () => {
    const faults = [
      [missing(), true, true],
      [missing(), false, false],
      [new Error('other'), true, false],
      [new AuthRequired('x', { server: 'notes', cause: new JsonRpcError(-1, 'its own') }), true, false],
    ] as const
    for (const [fault, asks, again] of faults) {
      const { all, log } = made({ asks })
      let tries = 0
      const work = async () => {
        if (++tries === 1) throw fault
        return 'done'
      }
      const done = all.during('notes', request(), work)
      if (again) expect(await done).toBe('done')
      else await expect(done).rejects.toBe(fault)
      expect(log).toEqual(again ? ['needed', 'ask', 'needed', 'release'] : ['needed', 'release'])
    }
  })

  it('ends when the login is taken back', () => {
    const { log, gone } = made()
    gone('a', 'notes')
    gone(undefined, 'notes')
    expect(log).toEqual(['drop a notes', 'changed a', 'drop undefined notes'])
  })

  it('is prepared where the user is logged in', async () => {
    const prepared = async (given: Made, client: object = { user: ada }) => {
      const { all, log } = made(given)
      await all.prepare(request(client).client)
      return log
    }
    expect(await prepared({ mayConnect: true })).toEqual(['needed', 'release'])
    expect(await prepared({ mayConnect: true, states: [away(), up] })).toEqual([
      'needed',
      'reconnect',
      'release',
    ])
    expect(await prepared({})).toEqual([])
    expect(await prepared({ mayConnect: true }, {})).toEqual([])
    expect(await prepared({ mayConnect: true, servers: ['none'] })).toEqual([])
    expect(await prepared({ mayConnect: true }, { user: ada, exposure: readExposure(['other']) })).toEqual([])
  })
})

const ref = (server: string, name: string) => ({ server, name }) as never
function base(over: Partial<View> = {}): View {
  return {
    tools: [{ name: 'shared' }, { name: 'mcp__notes__old' }],
    tool: (name) =>
      name === 'shared' ? ref('other', 'x') : name === 'mcp__notes__old' ? ref('notes', 'old') : undefined,
    prompts: [{ name: 'p' }, { name: 'q' }],
    prompt: (name) => (name === 'p' ? ref('other', 'p') : name === 'q' ? ref('notes', 'q') : undefined),
    resources: [{ uri: 'o:1' }, { uri: 'n:1' }, { uri: 'plugboard://status' }],
    resource: (uri) =>
      uri === 'o:1' ? { server: 'other', uri } : uri === 'n:1' ? { server: 'notes', uri } : undefined,
    templates: [{ uriTemplate: 'o:{x}' }, { uriTemplate: 'n:{x}' }],
    template: (uri) =>
      uri === 'o:{x}' ? { server: 'other', uri } : uri === 'n:{x}' ? { server: 'notes', uri } : undefined,
    appServers: new Set(['other', 'notes']),
    appTools: () => ['shared', 'mcp__notes__old'],
    counts: () => ({ tools: 7, resources: 7, prompts: 7 }),
    collisions: [],
    ...over,
  }
}

describe('what a user sees', () => {
  it('is the base without a user, without a connection that was listed, and for servers out of sight', () => {
    const view = base()
    const seen = (given: Made, client: object) => made(given).all.view(request(client).client, view)
    expect(seen({}, {})).toBe(view)
    expect(seen({ listedBy: 'config' }, { user: ada })).toBe(view)
    expect(seen({}, { user: ada, exposure: readExposure(['other']) })).toBe(view)
    expect(seen({ servers: [] }, { user: ada })).toBe(view)
    expect(seen({}, { user: ada })).not.toBe(view)
  })

  it('is made anew when a list changes, and for another user', () => {
    const { all, lists } = made()
    const view = base()
    const seen = (user = ada) => all.view(request({ user }).client, view)
    const first = seen()
    expect([seen() === first, seen({ ...ada, key: 'b' }) === first]).toEqual([true, false])
    lists['tools'] = [{ name: 'say' }, { name: 'more' }]
    const second = seen()
    expect([second === first, seen() === second]).toEqual([false, true])
    expect(second.tools.map(({ name }) => name)).toEqual(['shared', 'mcp__notes__say', 'mcp__notes__more'])
    lists['prompts'] = [{ name: 'p' }]
    expect(seen()).not.toBe(second)
  })

  it('has the connection of the user, where the server is one of these', () => {
    const { all, connection } = made()
    const of = (server: string, client: object) => all.connection(server, request(client).client)
    expect([of('notes', { user: ada }), of('other', { user: ada }), of('notes', {})]).toEqual([
      connection,
      undefined,
      undefined,
    ])
    const concerns = (client: object) => all.concerns(request(client).client)
    expect([
      concerns({ user: ada }),
      concerns({}),
      concerns({ user: ada, exposure: readExposure(['other']) }),
    ]).toEqual([true, false, false])
  })

  it('has a tool to log in with where nothing is shown yet', async () => {
    const nothing = base({ counts: () => ({ tools: 0, resources: 1, prompts: 1 }) })
    const names = (given: Made, view = nothing, client: object = { user: ada }) =>
      made(given)
        .all.loginTools(request(client).client, view)
        .map(({ name }) => name)
    expect(names({})).toEqual(['mcp__notes__log_in'])
    expect(names({ naming: 'server.tool', servers: ['my notes'] })).toEqual(['my notes.log_in'])
    expect(names({ servers: ['my notes'] })).toEqual(['mcp__my_notes__log_in'])
    expect(names({ servers: ['x'.repeat(80)] })[0]).toHaveLength(64)
    expect([names({ asks: false }), names({}, base()), names({}, nothing, {})]).toEqual([[], [], []])
    expect(made().all.loginTools(request().client, nothing)).toMatchObject([
      { inputSchema: { type: 'object' }, annotations: { readOnlyHint: true, openWorldHint: true } },
    ])
    const { all, log, observed } = made({ states: [away(), up] })
    const call = request()
    expect(await all.callLoginTool('mcp__notes__log_in', call)).toEqual({
      content: [{ type: 'text', text: expect.stringContaining('logged in to "notes". It has 1 tools') }],
    })
    expect([log, observed]).toEqual([
      ['needed', 'ask', 'reconnect', 'release'],
      [['notes', 'tools/call', 'log_in']],
    ])
    expect(await all.callLoginTool('mcp__notes__other', request())).toBeUndefined()
    expect(await all.callLoginTool('mcp__notes__log_in', request({}))).toBeUndefined()
    expect(await made({ asks: false }).all.callLoginTool('mcp__notes__log_in', request())).toBeUndefined()
  })

  it('is looked up on the one server that a name leads to', async () => {
    const looked = async (servers: readonly string[] | undefined) => {
      const { all, log, observed } = made({ servers: ['notes', 'wiki'] })
      await all.lookUp(servers, request())
      expect(observed).toEqual(log.length > 0 ? [['notes', 'tools/list', undefined]] : [])
      return log.length > 0
    }
    expect([await looked(['notes']), await looked(['notes', 'other'])]).toEqual([true, true])
    expect([await looked(undefined), await looked(['other']), await looked(['notes', 'wiki'])]).toEqual([
      false,
      false,
      false,
    ])
  })
})

describe('the view of a user', () => {
  const lists = (server = 'notes', more: Partial<UserLists> = {}): UserLists => ({
    server,
    definitions: [{ name: 'say' }],
    tools: [bound(server, 'say')],
    prompts: [{ name: 'hi' }],
    resources: [{ uri: 'file:///a', name: 'a' }],
    templates: [{ uriTemplate: 'file:///{x}', name: 'x' }],
    ...more,
  })
  const uiMeta = { _meta: { ui: { resourceUri: 'ui://x' } } }

  it('has the lists of its own connections in place of those of the base', () => {
    const view = userView(base(), [lists()], EVERYTHING, options())
    expect(view.tools.map(({ name }) => name)).toEqual(['shared', 'mcp__notes__say'])
    expect([view.tool('shared')?.server, view.tool('mcp__notes__say')?.server]).toEqual(['other', 'notes'])
    expect([view.tool('mcp__notes__old'), view.tool('none')]).toEqual([undefined, undefined])
    expect(view.prompts.map(({ name }) => name)).toEqual(['p', 'mcp__notes__hi'])
    expect([view.prompt('p')?.server, view.prompt('mcp__notes__hi')]).toEqual([
      'other',
      { server: 'notes', name: 'hi' },
    ])
    const [other, status, own] = view.resources.map(({ uri }) => String(uri))
    expect([other, status]).toEqual(['o:1', 'plugboard://status'])
    expect(own).toContain('notes')
    expect(view.templates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'o:{x}',
      expect.stringContaining('notes'),
    ])
    expect([view.counts('notes'), view.counts('other')]).toEqual([
      { tools: 1, resources: 1, prompts: 1 },
      { tools: 7, resources: 7, prompts: 7 },
    ])
    expect([[...view.appServers], view.appTools('say')]).toEqual([['other'], ['shared']])
  })

  it('has the apps of its own connections', () => {
    const definitions = [{ name: 'say', ...uiMeta }]
    const view = userView(base(), [lists('notes', { definitions })], EVERYTHING, options())
    expect([[...view.appServers], view.appTools('say')]).toEqual([
      ['other', 'notes'],
      ['shared', 'mcp__notes__say'],
    ])
  })

  it.each([
    ['plain', 'say', 'hi', 'file:///a'],
    ['server.tool', 'notes.say', 'notes.hi', expect.stringMatching(/notes/)],
    ['auto', 'mcp__notes__say', 'mcp__notes__hi', expect.stringMatching(/notes/)],
  ] as const)('names things by the naming %s', (naming, tool, prompt, uri) => {
    const view = userView(base(), [lists()], EVERYTHING, options(naming))
    expect([view.tools.at(-1)?.name, view.prompts.at(-1)?.name, view.resources.at(-1)?.uri]).toEqual([
      tool,
      prompt,
      uri,
    ])
  })

  it('takes no name that is taken, and a name of the settings first', () => {
    const plain = userView(
      base({ tools: [{ name: 'say' }], tool: () => ref('other', 'say') }),
      [lists()],
      EVERYTHING,
      options('plain'),
    )
    expect(plain.tools).toEqual([{ name: 'say' }])
    const two = userView(base(), [lists('notes'), lists('wiki')], EVERYTHING, options('plain'))
    expect(two.tools.map(({ name }) => name)).toEqual(['shared', 'say'])
    expect(two.prompts.filter(({ name }) => name === 'hi')).toHaveLength(1)
    expect(two.prompt('hi')?.server).toBe('notes')
    const wanted = (name: string) => ({
      ...options(),
      overrides: new ToolOverrides({ 'notes.say': { name } }),
    })
    expect(userView(base(), [lists()], EVERYTHING, wanted('talk')).tools.at(-1)?.name).toBe('talk')
    expect(userView(base(), [lists()], EVERYTHING, wanted('shared')).tools.at(-1)?.name).toBe(
      'mcp__notes__say',
    )
  })

  it('shows prompts and resources only of servers that are shown whole and may be read', () => {
    const seen = (server: string, exposure = EVERYTHING) => {
      const view = userView(base(), [lists(server)], exposure, options())
      return [view.tools.length, view.prompts.length, view.resources.length]
    }
    expect(seen('wiki')).toEqual([3, 3, 4])
    expect(seen('closed')).toEqual([3, 2, 3])
    expect(seen('wiki', readExposure(['wiki.say']))).toEqual([3, 2, 3])
    expect(seen('wiki', readExposure(['wiki.other']))).toEqual([2, 2, 3])
  })
})
