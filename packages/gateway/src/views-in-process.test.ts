// The lists of several servers under each naming, where names and addresses lead, and what is announced when they change: on
// servers in this process.
import { describe, expect, it } from 'vitest'
import { gatewayOf, type InProcess, scripted, served, tool } from './fixtures/in-process.ts'
import { modernRequest } from './fixtures/kit.ts'
import { type Gateway, readExposure } from './index.ts'
import type { Json } from './json-rpc.ts'

const SERVER = (more: object = {}) => ({
  tools: [tool('say'), tool('shared')],
  prompts: [{ name: 'hi' }],
  resources: [{ uri: 'a:1', name: 'r' }],
  templates: [{ uriTemplate: 'a:{x}', name: 't' }],
  ...more,
})
const other = {
  tools: [tool('other'), tool('shared')],
  prompts: [{ name: 'bye' }],
  resources: [{ uri: 'b:1', name: 'r' }],
  templates: [{ uriTemplate: 'b:{x}', name: 't' }],
}

async function viewOf(servers: Record<string, object>, given: InProcess = {}) {
  const made = Object.fromEntries(Object.entries(servers).map(([name, one]) => [name, scripted(one)]))
  const gateway = await gatewayOf(made, given)
  const exposure = gateway.expose
  const wanted = Object.values(servers).flatMap(
    (one) => (one as { templates?: unknown[] }).templates ?? [],
  ).length
  const view = () => gateway.viewOf({ exposure })
  // Templates are read after the servers are up.
  await expect.poll(() => view().templates.length + view().collisions.length).toBeGreaterThanOrEqual(wanted)
  return { gateway, made, view, names: (list: 'tools' | 'prompts') => view()[list].map(({ name }) => name) }
}

describe('names', () => {
  it.each([
    [
      'mcp',
      ['mcp__one__say', 'mcp__one__shared', 'mcp__two__other', 'mcp__two__shared'],
      ['mcp__one__hi', 'mcp__two__bye'],
    ],
    ['server.tool', ['one.say', 'one.shared', 'two.other', 'two.shared'], ['one.hi', 'two.bye']],
    ['auto', ['say', 'mcp__one__shared', 'other', 'mcp__two__shared'], ['hi', 'bye']],
  ] as const)('%s', async (naming, tools, prompts) => {
    const { view, names } = await viewOf({ one: SERVER(), two: other }, { options: { names: naming } })
    expect([names('tools'), names('prompts')]).toEqual([tools, prompts])
    for (const name of tools)
      expect(view().tool(name)).toMatchObject({ server: expect.stringMatching(/one|two/) })
    expect([view().prompt(prompts[1]), view().prompt('none'), view().tool('none')]).toEqual([
      { server: 'two', name: 'bye' },
      undefined,
      undefined,
    ])
    expect(view().collisions).toEqual([])
    expect([view().counts('one'), view().counts('none')]).toEqual([
      { tools: 2, resources: 1, prompts: 1 },
      { tools: 0, resources: 0, prompts: 0 },
    ])
    expect(view()).toBe(view())
  })

  it('that are the servers’ own are told when two servers have the same', async () => {
    const { view, names } = await viewOf({ one: SERVER(), two: other }, { options: { names: 'plain' } })
    expect(names('tools')).toEqual(['say', 'shared', 'other'])
    expect(view().collisions).toEqual(['the tool "shared" of "one" and "two"'])
  })

  it('without collisions are as the servers call them, and so are addresses', async () => {
    const two = { ...other, tools: [tool('other')] }
    const { view, names } = await viewOf({ one: SERVER(), two }, { options: { names: 'plain' } })
    expect([names('tools'), names('prompts'), view().collisions]).toEqual([
      ['say', 'shared', 'other'],
      ['hi', 'bye'],
      [],
    ])
    expect(view().resources.map(({ uri }) => uri)).toEqual(['plugboard://status', 'a:1', 'b:1'])
    expect(view().templates.map(({ uriTemplate }) => uriTemplate)).toEqual(['a:{x}', 'b:{x}'])
    expect([view().resource('b:1'), view().resource('b:7'), view().resource('c:1')]).toEqual([
      { server: 'two', uri: 'b:1' },
      { server: 'two', uri: 'b:7' },
      undefined,
    ])
  })
})

describe('an address', () => {
  it('leads to its server, by its public form or the server’s own where that is clear', async () => {
    const { view } = await viewOf({ one: SERVER(), two: other })
    const publicOf = (at: number) => String(view().resources[at]?.uri)
    expect([view().resource(publicOf(1)), view().resource(publicOf(2))]).toEqual([
      { server: 'one', uri: 'a:1' },
      { server: 'two', uri: 'b:1' },
    ])
    expect([view().resource('a:1'), view().resource('b:9'), view().resource('c:1')]).toEqual([
      { server: 'one', uri: 'a:1' },
      { server: 'two', uri: 'b:9' },
      undefined,
    ])
    expect(view().resource(publicOf(1).replace('one', 'none'))).toBeUndefined()
    const template = String(view().templates[0]?.uriTemplate)
    expect([view().template(template), view().template('b:{x}'), view().template('c:{x}')]).toEqual([
      { server: 'one', uri: 'a:{x}' },
      { server: 'two', uri: 'b:{x}' },
      undefined,
    ])
  })

  it('that two servers have leads to neither; one that only one server can have leads there', async () => {
    const both = await viewOf({ one: SERVER(), two: SERVER() })
    expect([both.view().resource('a:1'), both.view().resource('a:9')]).toEqual([undefined, undefined])
    const alone = await viewOf({ one: SERVER(), two: { tools: [tool('x')], capabilities: { tools: {} } } })
    expect(alone.view().resource('c:1')).toEqual({ server: 'one', uri: 'c:1' })
    expect(
      alone.view().resource(String(alone.view().resources[1]?.uri).replace('one', 'none')),
    ).toBeUndefined()
  })
})

describe('what an exposure shows', () => {
  it('is its tools, and prompts and resources only of servers that it shows whole', async () => {
    const { gateway } = await viewOf({ one: SERVER(), two: other })
    const shown = (...patterns: string[]) => {
      const view = gateway.viewOf({ exposure: readExposure(patterns) })
      return [view.tools.length, view.prompts.length, view.resources.length - 1, view.templates.length]
    }
    expect([shown('one'), shown('one.say'), shown('one.say', 'two'), shown('one.none')]).toEqual([
      [2, 1, 1, 1],
      [1, 0, 0, 0],
      [3, 1, 1, 1],
      [0, 0, 0, 0],
    ])
  })

  it('leaves out what rules deny', async () => {
    const rules = [
      { action: 'deny', rule: 'one.say', file: 'f', scope: 'user' },
      { action: 'deny', rule: 'two', file: 'f', scope: 'user' },
    ] as const
    const made = { one: scripted(SERVER()), two: scripted(other) }
    const gateway = await gatewayOf(made, { board: { rules } })
    const view = gateway.viewOf({ exposure: gateway.expose })
    expect([view.tools.map(({ name }) => name), view.prompts.map(({ name }) => name)]).toEqual([
      ['mcp__one__shared'],
      ['mcp__one__hi'],
    ])
  })

  it('leaves out what settings hide, and names what they name', async () => {
    const tools = {
      'one.say': { hidden: true },
      'two.other': { name: 'best' },
      'two.shared': { name: 'best' },
    }
    const { names, gateway } = await viewOf({ one: SERVER(), two: other }, { options: { tools } })
    expect(names('tools')).toEqual(['mcp__one__shared', 'best', 'mcp__two__shared'])
    expect(gateway.viewOf({ exposure: gateway.expose }).tool('best')).toMatchObject({
      server: 'two',
      name: 'other',
    })
  })
})

describe('a list that changes', () => {
  function listening(gateway: Gateway) {
    const told: string[] = []
    gateway.notifications.add({
      exposure: readExposure([]),
      interest: { tools: true, resources: true, prompts: true, uris: new Map() },
      notify: (method) => told.push(method.split('/')[1] ?? ''),
    })
    return told
  }

  it('is told once it is different, and not before', async () => {
    const lists = { tools: [tool('a')] as Json[], prompts: [] as Json[], resources: [] as Json[] }
    const one = scripted({
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true },
      },
      answers: {
        'tools/list': () => ({ tools: [...lists.tools] }),
        'prompts/list': () => ({ prompts: [...lists.prompts] }),
        'resources/list': () => ({ resources: [...lists.resources] }),
      },
    })
    const gateway = await gatewayOf({ one })
    const told = listening(gateway)
    const times = (method: string) => one.seen.filter(([name]) => name === method).length
    const changed = async (list: 'tools' | 'prompts' | 'resources') => {
      const before = times(`${list}/list`)
      one.notify(`notifications/${list}/list_changed`)
      await expect.poll(() => times(`${list}/list`)).toBeGreaterThan(before)
    }
    /** What was told until the change of this list was. */
    const heard = async (list: 'tools' | 'prompts' | 'resources') => {
      await changed(list)
      await expect.poll(() => told).toContain(list)
      return told.splice(0)
    }
    const exposure = gateway.expose
    lists.prompts = [{ name: 'p' }]
    // What is told of the start comes before this.
    await heard('prompts')
    const first = gateway.viewOf({ exposure })
    lists.tools = [tool('a'), tool('b')]
    expect(await heard('tools')).toEqual(['tools'])
    expect(gateway.viewOf({ exposure }).tools).toHaveLength(2)
    expect(gateway.viewOf({ exposure })).not.toBe(first)
    lists.tools = [tool('a', { description: 'new' }), tool('b')]
    expect(await heard('tools')).toEqual(['tools'])
    // The same list again is no news: what is told next is the prompts.
    await changed('tools')
    lists.prompts = [{ name: 'q' }]
    expect(await heard('prompts')).toEqual(['prompts'])
    lists.resources = [{ uri: 'a:1', name: 'r' }]
    expect(await heard('resources')).toEqual(['resources'])
    expect(gateway.viewOf({ exposure }).resources).toHaveLength(2)
  })
})

describe('a part of a result', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id }))
  const server = () =>
    scripted({
      tools: [
        tool('rows'),
        tool('text'),
        tool('both', { inputSchema: { type: 'object', properties: { _select: {} } } }),
      ],
      answers: {
        'tools/call': ({ name, arguments: args }) => {
          const { count = 3 } = args as { count?: number }
          if (name === 'both') return { content: [{ type: 'text', text: JSON.stringify(args) }] }
          if (name === 'text')
            return {
              content: [
                { type: 'text', text: 'line\n'.repeat(count) },
                { type: 'image', data: 'AAAA', mimeType: 'image/png' },
              ],
            }
          return { content: [{ type: 'text', text: '' }], structuredContent: { rows: rows(count) } }
        },
      },
    })
  type Result = {
    content: { type: string; text?: string; uri?: string }[]
    structuredContent?: Json
    isError?: boolean
  }

  it('is what _select says, where tools take one and have none of their own', async () => {
    const { url } = await served({ one: server() }, { options: { select: true } })
    const call = async (name: string, args: object) =>
      (await modernRequest(url, 'tools/call', {
        name: `mcp__one__${name}`,
        arguments: args,
      } as Json)) as unknown as Result
    const { tools } = (await modernRequest(url, 'tools/list')) as {
      tools: { inputSchema: { properties?: Json } }[]
    }
    expect(
      tools.map(({ inputSchema }) => (inputSchema.properties?._select as Json | undefined)?.type),
    ).toEqual(['string', 'string', undefined])
    expect(await call('rows', { _select: 'rows[1]' })).toMatchObject({
      structuredContent: { id: 1 },
      content: [{ text: '{"id":1}' }],
    })
    expect((await call('rows', { _select: 'rows[].id' })).structuredContent).toBeUndefined()
    expect((await call('rows', {})).structuredContent).toEqual({ rows: rows(3) })
    expect((await call('both', { _select: 'x', a: 1 })).content[0]?.text).toBe('{"_select":"x","a":1}')
    expect(await call('rows', { _select: 5 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"select" is a JMESPath expression, a text.') }],
    })
    const nothing = await call('rows', { _select: 'none' })
    expect(nothing.content.map(({ text }) => text)).toEqual([
      'null',
      expect.stringMatching(/^The expression selects nothing\. Its shape: .* for \d+ minutes: add/),
    ])
    expect((await call('text', { _select: 'x', count: 1 })).content[0]?.text).toContain('It is text of')
    const large = await call('rows', { _select: 'rows', count: 20_000 })
    expect(large.content[0]?.text).toContain('in 20,000 rows')
    expect(large.content.at(-1)).toMatchObject({ type: 'resource_link', mimeType: 'application/json' })
  })

  it('is its beginning where it is large; images stay beside it', async () => {
    const { url } = await served({ one: server() }, { options: { large: 'reference' } })
    const call = async (name: string, count: number) =>
      (await modernRequest(url, 'tools/call', {
        name: `mcp__one__${name}`,
        arguments: { count },
      } as Json)) as unknown as Result
    expect((await call('text', 3)).content).toHaveLength(2)
    const long = await call('text', 60_000)
    expect(long.content.map(({ type }) => type)).toEqual(['text', 'image', 'resource_link'])
    const text = long.content[0]?.text ?? ''
    expect(text).toMatch(/^The result has 300,000 characters in 60,00\d lines\./)
    expect([text.includes('Shape:'), text.includes('?select='), text.includes('call_tool')]).toEqual([
      false,
      false,
      false,
    ])
    expect(text.endsWith('…')).toBe(true)
    expect((text.split('It begins:\n')[1] ?? '').length).toBe(2001)
    const uri = long.content[2]?.uri ?? ''
    const read = async (query: string) =>
      (await modernRequest(url, 'resources/read', { uri: `${uri}${query}` })) as {
        contents?: { text: string; mimeType: string }[]
        error?: { message: string }
      }
    expect((await read('?range=1-2')).contents).toMatchObject([
      { mimeType: 'text/plain', text: 'line\nline' },
    ])
    expect((await read('?range=x')).error?.message).toContain('"x" is no range.')
    expect((await read('?other=1')).error?.message).toContain('"other" is no part')
    expect((await read('?select=a')).error?.message).toContain('Use ?range= for lines.')
    const table = await call('rows', 20_000)
    expect(table.content[0]?.text).toContain('?select=EXPRESSION')
  })
})
