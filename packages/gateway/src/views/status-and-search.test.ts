// What a model is told of the servers, how it finds tools in search mode, the names that are kept in a file, and the names that
// clients see: each on plain objects.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LocalBoard } from '@plugboard/core'
import { TOOL_LIMITS } from '@plugboard/core/limits'
import { afterEach, describe, expect, it } from 'vitest'
import { EVERYTHING, readExposure } from '../access/exposure.ts'
import type { Json } from '../json-rpc.ts'
import { capabilitiesFor } from './capabilities.ts'
import { NameClaims } from './name-claims.ts'
import { openNameStore } from './name-store.ts'
import { SearchMode, searchesItself } from './search-mode.ts'
import { instructions, type StatusFacts, statusOf } from './status.ts'
import { giveNames, type NamedItem, type Naming } from './tool-names.ts'
import type { View } from './views.ts'

describe('what is declared', () => {
  it.each([
    ['modern', ['io.modelcontextprotocol/ui', 'io.modelcontextprotocol/tasks'], false],
    [true, ['io.modelcontextprotocol/ui'], true],
    [false, ['io.modelcontextprotocol/ui'], false],
  ] as const)('to %s', (to, extensions, tasks) => {
    const declared = capabilitiesFor(to)
    expect(declared).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
    })
    expect([Object.keys(declared.extensions as Json), 'tasks' in declared]).toEqual([extensions, tasks])
  })
})

describe('the status', () => {
  const down = (name: string, code: string) => ({
    name,
    state: 'failed',
    error: { code, message: 'its secret' },
  })
  const SERVERS = [
    {
      name: 'up',
      state: 'connected',
      instructions: `Be kind.${'x'.repeat(3000)}`,
      protocolVersion: '2025-11-25',
    },
    { name: 'closed', state: 'connected', instructions: 'Closed.' },
    { name: 'coming', state: 'pending', instructions: 'Not yet.' },
    { name: 'off', state: 'disabled' },
    down('down', 'TIMEOUT'),
    down('odd', 'NO_SUCH_CODE'),
    { name: 'plain', state: 'failed' },
    { name: 'mine', state: 'needs-auth', error: { code: 'AUTH_REQUIRED', message: 'x' } },
    { name: 'theirs', state: 'needs-auth', error: { code: 'AUTH_REQUIRED', message: 'x' } },
  ]
  const board = (faults: unknown[] = []) =>
    ({
      servers: () => SERVERS,
      configurationFaults: () => faults,
      link: {
        isReadable: (name: string) => name !== 'closed',
        connection: () => ({ catalog: { remembered: { instructions: 'From before.' } } }),
      },
    }) as unknown as LocalBoard
  const ownLogin = (name: string) => name === 'mine'

  it('is told in the instructions: who is away, who needs a login, and what servers say themselves', () => {
    const text = instructions(board(), EVERYTHING, false, ownLogin)
    expect(text.split('\n').filter((line) => line.startsWith('- '))).toEqual([
      '- down is away: The server did not answer in time.',
      '- odd is away: The server does not work at the moment.',
      '- plain is away: failed',
      expect.stringMatching(/^- theirs is away: The server needs a login/),
      '- mine: the user is asked to log in when it is first used.',
    ])
    expect(text).toContain('# up\nBe kind.')
    expect(text).toContain('# coming\nFrom before.')
    expect([
      text.includes('Closed.'),
      text.includes('its secret'),
      text.includes('Not yet.'),
      text.includes('search_tools'),
    ]).toEqual([false, false, false, false])
    expect(/x+/.exec(text.slice(text.indexOf('Be kind.')))?.[0].length).toBe(1992)
    expect(instructions(board(), EVERYTHING, true)).toContain('Find tools with search_tools')
    expect(instructions(board(), EVERYTHING, true)).toContain('- mine is away')
    expect(instructions(board(), readExposure(['up']), false)).not.toContain('down')
  })

  it('is a resource: states, counts and codes; what is about all is left out for a part', () => {
    const view = { counts: () => ({ tools: 1, resources: 2, prompts: 3 }) } as unknown as View
    const read = (facts: Partial<StatusFacts>, faults: unknown[] = [], exposure = EVERYTHING) => {
      const given = { narrow: false, refusedNames: [], listing: undefined, ownLogin, ...facts }
      const { contents } = statusOf(board(faults), exposure, view, given) as { contents: { text: string }[] }
      return JSON.parse(contents[0]?.text ?? '') as { servers: Json[] } & Json
    }
    const whole = read({})
    expect(Object.keys(whole)).toEqual(['servers'])
    const of = (name: string) => whole.servers.find((one) => one.name === name)
    const counts = { tools: 1, resources: 2, prompts: 3 }
    expect(of('up')).toEqual({ name: 'up', state: 'connected', ...counts, protocolVersion: '2025-11-25' })
    expect(of('off')).toMatchObject({ error: { code: 'DISABLED', message: 'The server is switched off.' } })
    expect(of('down')).toMatchObject({
      error: { code: 'TIMEOUT', message: 'The server did not answer in time.' },
    })
    expect(of('plain')).toEqual({ name: 'plain', state: 'failed', ...counts })
    expect(of('mine')).toEqual({ name: 'mine', state: 'own-login', ...counts })
    expect(of('theirs')).toMatchObject({ state: 'needs-auth', error: { code: 'AUTH_REQUIRED' } })
    const { ownLogin: _, ...none } = { narrow: false, refusedNames: [], listing: undefined, ownLogin }
    expect(JSON.stringify(statusOf(board(), EVERYTHING, view, none))).not.toContain('own-login')
    expect(read({}, [], readExposure(['up'])).servers).toHaveLength(1)
    const listing = { mode: 'all', tools: 1, tokens: 2, listedTools: 3, listedTokens: 4 } as const
    expect(read({ listing, refusedNames: ['a'] }, ['fault'])).toMatchObject({
      tools: listing,
      names: ['a'],
      configuration: ['fault'],
    })
    expect(Object.keys(read({ narrow: true, refusedNames: ['a'] }, ['fault']))).toEqual(['servers'])
  })
})

describe('search mode', () => {
  const tool = (name: string, description: unknown, inputSchema: unknown = {}, more: object = {}) => ({
    name,
    description,
    inputSchema,
    ...more,
  })
  const TOOLS: Json[] = [
    tool('mcp__mail__send', 'Sends a letter  to\na person.', {
      properties: {
        to: { type: 'string' },
        kind: { enum: ['a', 'b'] },
        n: { type: ['integer', 'null'] },
        x: {},
        y: 5,
      },
      required: ['to'],
    }),
    tool('mcp__files__read', `Reads a file. ${'x'.repeat(300)}`, {
      properties: {
        e: { enum: [] },
        long: { enum: [1, 2, 3, 4, 5, 6, 7], type: 'integer' },
        six: { enum: [1, 2, 3, 4, 5, 6] },
      },
    }),
    tool('mcp__Odd__one', 5, 'x'),
    tool('mcp__files__app', 'For an app alone', {}, { _meta: { ui: { visibility: ['app'] } } }),
    tool('call_tool', 'Not ours'),
    tool('nowhere', 'It has no server'),
  ]
  const servers: Record<string, string> = {
    mcp__mail__send: 'mail',
    mcp__files__read: 'files',
    mcp__Odd__one: 'Odd',
    mcp__files__app: 'files',
    call_tool: 'files',
  }
  const view = {
    tools: TOOLS,
    tool: (name: string) => {
      const given = TOOLS.find((one) => one.name === name)
      const server = servers[name]
      if (!given || !server) return undefined
      const bound = {
        description: String(given.description),
        inputJsonSchema: {},
        userFacingName: () => name,
      }
      return { server, name: name.split('__').at(-1) ?? '', tool: bound }
    },
  } as unknown as View
  const mode = (always = false) => new SearchMode(view, () => always)

  it('lists the search tools, and beside them what is always listed', () => {
    const names = (one: SearchMode) => one.listed.map(({ name }) => name)
    expect(names(mode())).toEqual(['search_tools', 'describe_tools', 'call_tool'])
    expect(names(mode(true)).slice(3)).toEqual([
      'mcp__mail__send',
      'mcp__files__read',
      'mcp__Odd__one',
      'mcp__files__app',
    ])
    expect([mode().isFixed, mode(true).isFixed, mode().tools]).toEqual([true, false, 6])
    const { all, listed } = mode().tokens
    expect([all > 0, listed > 0, mode(true).tokens.listed > listed]).toEqual([true, true, true])
    const [search, describe, call] = mode().listed
    for (const one of [search, describe])
      expect(one?.annotations).toEqual({ readOnlyHint: true, openWorldHint: false })
    expect(call).not.toHaveProperty('annotations')
  })

  it('finds tools by words, and by the name of a server', async () => {
    expect(await mode().search('send a letter')).toBe(
      'mcp__mail__send(to: string, kind?: "a" | "b", n?: integer | null, x?: any, y?: any): Sends a letter to a person.',
    )
    const file = await mode().search('read file', 1)
    expect(file).toMatch(
      /^mcp__files__read\(e\?: any, long\?: integer, six\?: 1 \| 2 \| 3 \| 4 \| 5 \| 6\): Reads a file\. x+…$/,
    )
    expect(file.split('): ')[1]).toHaveLength(201)
    expect(await mode().search(' ODD ')).toBe('mcp__Odd__one()')
    expect(await mode().search('app alone')).not.toContain('mcp__files__app(')
    expect(await mode().search('zzz')).toBe(
      'No tool matches. Try other words, or the name of a server: mail, files, Odd.',
    )
    expect((await mode().search('files', 0)).split('\n')).toHaveLength(1)
    const most = await mode().search('a file or a letter', TOOL_LIMITS.searchResultsMost + 5)
    expect(most.split('\n').length).toBeGreaterThan(1)
    expect(mode().similar('mail_send')).toContain('mcp__mail__send')
  })

  it('describes tools by name, and offers a model what is for one', () => {
    const both = mode().describe(['mcp__mail__send', 'none']).split('\n')
    expect([JSON.parse(both[0] ?? ''), both[1]]).toEqual([TOOLS[0], 'There is no tool "none".'])
    const many = (count: number) =>
      mode()
        .describe(Array.from({ length: count }, () => 'none'))
        .split('\n')
    expect([many(20).length, many(21).length, many(21).at(-1)]).toEqual([
      20,
      21,
      'Only 20 tools are described at a time.',
    ])
    expect(['mcp__mail__send', 'mcp__files__app', 'none'].map((name) => mode().offers(name))).toEqual([
      true,
      false,
      true,
    ])
    expect(['Claude-Code', 'plugboard', 'other', undefined].map(searchesItself)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe('names in a file', () => {
  const dirs: string[] = []
  afterEach(() => {
    for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
  })
  const place = () => {
    const dir = mkdtempSync(join(tmpdir(), 'plugboard-names-'))
    dirs.push(dir)
    return join(dir, 'names.json')
  }

  it('are there for the next process; what is malformed is left out', async () => {
    const file = place()
    const faults: unknown[] = []
    const store = await openNameStore(file, (error) => faults.push(error))
    expect(store.known.size).toBe(0)
    const key = JSON.stringify(['tool', 'a'])
    store.save(
      new Map([[key, { server: 'one', name: 'a' }]]),
      new Map([[JSON.stringify(['tool', 'b']), { server: 'two', name: 'b' }]]),
    )
    await expect.poll(async () => (await openNameStore(file, () => undefined)).known.size).toBe(2)
    const good = { server: 'one', name: 'a' }
    const read = async (content: unknown) => {
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
      return [...(await openNameStore(file, () => undefined)).known]
    }
    const names = {
      [key]: good,
      x: good,
      '[]': good,
      '["tool","b"]': 'x',
      '["tool","c"]': { server: 5, name: 'c' },
      '["tool","d"]': { server: 'd', name: 5 },
      '"ab"': good,
    }
    expect(await read({ version: 1, names })).toEqual([[key, good]])
    for (const odd of ['{', '[]', '"x"', { names: 'x' }, {}]) expect(await read(odd)).toEqual([])
    expect([readFileSync(file, 'utf8'), faults]).toEqual(['{}', []])
    const broken = await openNameStore(join(file, 'below'), (error) => faults.push(error))
    broken.save(new Map())
    await expect.poll(() => faults.length).toBe(1)
  })
})

describe('the names that clients see', () => {
  const item = (server: string, name: string, wanted?: string): NamedItem => ({
    server,
    name,
    unique: `mcp__${server}__${name}`,
    ...(wanted && { wanted }),
  })
  function named(naming: Naming, items: readonly NamedItem[], reserved: string[] = []) {
    const refused: string[] = []
    const claims = new NameClaims(() => undefined)
    const given = giveNames(items, {
      naming,
      kind: 'tool',
      claims,
      reserved: new Set(reserved),
      refused: ({ name }, why) => refused.push(`${name}: ${why}`),
    })
    return { names: given.names, earlier: [...given.earlier], refused }
  }

  it.each([
    ['mcp', ['mcp__a__x', 'mcp__b__x', 'mcp__b__y']],
    ['server.tool', ['a.x', 'b.x', 'b.y']],
    ['plain', ['x', undefined, 'y']],
    ['auto', ['mcp__a__x', 'mcp__b__x', 'y']],
  ] as const)('by the naming %s', (naming, names) => {
    const given = named(naming, [item('a', 'x'), item('b', 'x'), item('b', 'y')])
    expect([given.names, given.earlier]).toEqual([names, naming === 'auto' ? [['x', 0]] : []])
  })

  it('are prefixed where a model cannot be given them, or they are taken', () => {
    const given = named(
      'auto',
      [item('a', 'no good'), item('a', 'mine'), item('a', 'mcp__b__y'), item('b', 'y')],
      ['mine'],
    )
    expect(given.names).toEqual(['mcp__a__no good', 'mcp__a__mine', 'mcp__a__mcp__b__y', 'y'])
  })

  it('are those of the settings where no other has them', () => {
    const items = [
      item('a', 'x', 'talk'),
      item('b', 'y', 'talk'),
      item('b', 'z', 'mine'),
      item('c', 'w', 'mcp__c__w'),
      item('c', 'v', 'mcp__a__x'),
    ]
    const { names, refused } = named('mcp', items, ['mine'])
    expect(names).toEqual(['talk', 'mcp__b__y', 'mcp__b__z', 'mcp__c__w', 'mcp__c__v'])
    expect(refused).toEqual([
      'y: "a" has a x of that name',
      'z: it is the name of a tool of Plugboard',
      'v: "a" has a x of that name',
    ])
  })
})
