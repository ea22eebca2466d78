// What goes on to a server and what comes back, on servers in this process: answers to a question go only to the server that
// asked, `_meta` is as the server's era has it, and resource URIs in a result lead back to the gateway.
import { describe, expect, it } from 'vitest'
import { legacyClient, type Scripted, scripted, served, tool } from './fixtures/in-process.ts'
import { modernRequest } from './fixtures/kit.ts'
import { withPublicUris } from './forward.ts'
import type { Gateway, GatewayOptions } from './index.ts'
import type { Json } from './json-rpc.ts'
import { KeyRing } from './parts.ts'
import { freshKey } from './sealing/key-ring.ts'

const META = 'io.modelcontextprotocol/'

/** A server of 2026-07-28. */
const modernServer = (given: Scripted) =>
  scripted({
    ...given,
    answers: {
      'server/discover': () => ({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, prompts: {}, resources: {} },
        _meta: { [`${META}serverInfo`]: { name: 'modern', version: '1' } },
      }),
      ...given.answers,
    },
  })

const QUESTION = {
  resultType: 'input_required',
  requestState: 'state of the server',
  inputRequests: {
    name: {
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
    },
  },
}
const ANSWERS = { name: { action: 'accept', content: { name: 'Ada' } } }

/** Asks for a name until it is answered. */
const asking: Scripted = {
  tools: [tool('ask')],
  prompts: [{ name: 'ask' }],
  answers: {
    'tools/call': ({ inputResponses }) =>
      inputResponses ? { resultType: 'complete', content: [{ type: 'text', text: 'thanks' }] } : QUESTION,
    'prompts/get': ({ inputResponses }) =>
      inputResponses ? { resultType: 'complete', messages: [], description: 'thanks' } : QUESTION,
  },
}

describe('an answer to a question, at a gateway process that did not ask it', () => {
  const options = (): GatewayOptions => ({ keys: new KeyRing([freshKey()]) })
  const ask = (url: string, method: string, more: Json = {}, name = 'mcp__one__ask') =>
    modernRequest(url, method, { name, ...more }, { capabilities: { elicitation: { form: {} } } })
  const REFUSED = {
    error: { code: -32602, message: expect.stringContaining('The server that asked is not') },
  }

  it.each([
    ['tools/call', { content: [{ text: 'thanks' }] }],
    ['prompts/get', { description: 'thanks' }],
  ])('goes to the server that asked, with its own state: %s', async (method, thanks) => {
    const shared = { options: options() }
    const first = await served({ one: modernServer(asking) }, shared)
    const one = modernServer(asking)
    const second = await served({ one }, shared)
    const { requestState, resultType } = await ask(first.url, method)
    expect(resultType).toBe('input_required')
    expect(await ask(second.url, method, { requestState, inputResponses: ANSWERS })).toMatchObject(thanks)
    expect(one.seen.filter(([seen]) => seen === method)).toMatchObject([
      [method, { requestState: 'state of the server', inputResponses: ANSWERS }],
    ])
  })

  it.each(['tools/call', 'prompts/get'])(
    'is refused where a legacy server has its name: %s',
    async (method) => {
      const shared = { options: options() }
      const first = await served({ one: modernServer(asking) }, shared)
      const one = scripted(asking)
      const second = await served({ one }, shared)
      const { requestState } = await ask(first.url, method)
      expect(await ask(second.url, method, { requestState, inputResponses: ANSWERS })).toMatchObject(REFUSED)
      expect(one.seen.filter(([seen]) => seen === method)).toEqual([])
    },
  )

  it('is refused where another server has a tool of that name', async () => {
    const shared = { options: options() }
    const first = await served({ one: modernServer({ ...asking, tools: [tool('more__ask')] }) }, shared)
    const other = modernServer(asking)
    const second = await served({ one__more: other }, shared)
    const name = 'mcp__one__more__ask'
    const { requestState } = await ask(first.url, 'tools/call', {}, name)
    expect(requestState).toBeDefined()
    expect(
      await ask(second.url, 'tools/call', { requestState, inputResponses: ANSWERS }, name),
    ).toMatchObject(REFUSED)
    expect(other.seen.filter(([seen]) => seen === 'tools/call')).toEqual([])
  })
})

describe('the parameters of a request', () => {
  /** What a server got of one prompts/get. */
  async function sent(server: typeof modernServer, client: 'legacy' | 'modern', params: Json): Promise<Json> {
    const one = server({ prompts: [{ name: 'hi' }], answers: { 'prompts/get': () => DONE } })
    const { url } = await served({ one })
    const given = { name: 'mcp__one__hi', ...params }
    if (client === 'legacy') await (await legacyClient(url, { roots: {} })).request('prompts/get', given)
    else await modernRequest(url, 'prompts/get', given, { capabilities: { roots: {} } })
    return one.seen.find(([method]) => method === 'prompts/get')?.[1] ?? {}
  }
  const DONE = { resultType: 'complete', messages: [] }

  it('reach a legacy server without the envelope of the client, and without its task', async () => {
    expect(await sent(scripted, 'legacy', {})).toEqual({ name: 'hi' })
    expect(await sent(scripted, 'legacy', { task: { ttl: 1 } })).toEqual({ name: 'hi', _meta: {} })
    expect(await sent(scripted, 'legacy', { _meta: { own: 1 } })).toEqual({ name: 'hi', _meta: { own: 1 } })
    expect(await sent(scripted, 'modern', {})).toEqual({ name: 'hi', _meta: {} })
  })

  it('tell a modern server what the client can, and that the gateway follows tasks for a legacy one', async () => {
    const key = `${META}clientCapabilities`
    const metaOf = async (...given: Parameters<typeof sent>) => (await sent(...given))['_meta'] as Json
    expect((await metaOf(modernServer, 'modern', {}))[key]).toEqual({ roots: {} })
    expect(await metaOf(modernServer, 'legacy', { _meta: { own: 1 } })).toMatchObject({
      own: 1,
      [key]: { roots: {}, extensions: { [`${META}tasks`]: {} } },
    })
  })

  it('tell a modern server the log level that the client set, and else the usual one', async () => {
    const one = modernServer({ tools: [tool('say')] })
    const { url } = await served({ one })
    const { request } = await legacyClient(url)
    await request('tools/call', { name: 'mcp__one__say' })
    await request('logging/setLevel', { level: 'debug' })
    await request('tools/call', { name: 'mcp__one__say' })
    const levels = one.seen.flatMap(([method, { _meta }]) =>
      method === 'tools/call' ? [(_meta as Json)[`${META}logLevel`]] : [],
    )
    expect(levels).toEqual(['info', 'debug'])
  })
})

describe('progress', () => {
  it.each([
    ['text', true],
    [7, true],
    [{ no: 'token' }, false],
    [undefined, false],
  ])('goes to the client under its own token %j: %s', async (progressToken, isTold) => {
    const one = scripted({
      tools: [tool('work')],
      answers: {
        'tools/call': ({ _meta }) => {
          const token = (_meta as Json | undefined)?.['progressToken']
          if (token !== undefined)
            one.notify('notifications/progress', { progressToken: token, progress: 1, total: 2 })
          return { content: [] }
        },
      },
    })
    const { url } = await served({ one })
    const { send } = await legacyClient(url)
    const params = { name: 'mcp__one__work', _meta: { progressToken } }
    const { messages } = await send({ id: 'call', method: 'tools/call', params })
    const told = messages.filter(({ method }) => method === 'notifications/progress')
    expect(told.map(({ params: progress }) => progress)).toEqual(
      isTold ? [{ progressToken, progress: 1, total: 2 }] : [],
    )
  })
})

describe('resource URIs in a result', () => {
  const link = { type: 'resource_link', uri: 'a:1', name: 'one' }
  const embedded = { type: 'resource', resource: { uri: 'a:2', text: 'two' } }
  const text = { type: 'text', text: 'three', uri: 'a:3' }
  const odd = [
    { type: 'resource_link', uri: 5 },
    { type: 'resource', resource: { uri: 5 } },
    { type: 'resource' },
  ]
  const content = [text, link, embedded, ...odd, 'x']
  const messages = [{ role: 'user', content: link }, { role: 'user', content: text }, 'x']
  const contents = [{ uri: 'a:1', text: 'one' }, { text: 'no address' }]
  const PUBLIC = 'plugboard://one/'
  const publicLink = { ...link, uri: `${PUBLIC}a:1` }

  it('lead back to the gateway', () => {
    const gateway = { rewritesUris: true } as Gateway
    const rewritten = (result: Json, field: 'content' | 'messages' | 'contents') =>
      withPublicUris(gateway, 'one', result, field)
    expect(rewritten({ content, isError: false }, 'content')).toEqual({
      content: [
        text,
        publicLink,
        { ...embedded, resource: { uri: `${PUBLIC}a:2`, text: 'two' } },
        ...odd,
        'x',
      ],
      isError: false,
    })
    expect(rewritten({ messages }, 'messages')).toEqual({
      messages: [{ role: 'user', content: publicLink }, ...messages.slice(1)],
    })
    expect(rewritten({ contents }, 'contents')).toEqual({
      contents: [{ uri: `${PUBLIC}a:1`, text: 'one' }, { text: 'no address' }],
    })
    expect(rewritten({ content: [link] }, 'content')).toEqual({ content: [publicLink] })
    expect(rewritten({ content: 'x' }, 'content')).toEqual({ content: 'x' })
  })

  it('are rewritten in the result of a call, unless one server is served under its own names', async () => {
    const one = () =>
      scripted({ tools: [tool('say')], answers: { 'tools/call': () => ({ content: [text, link] }) } })
    const call = async (name: string, options: GatewayOptions) =>
      modernRequest((await served({ one: one() }, { options })).url, 'tools/call', { name })
    expect((await call('mcp__one__say', {})).content).toEqual([text, publicLink])
    expect((await call('say', { names: 'plain' })).content).toEqual([text, link])
  })

  it('are left alone where servers keep their own', () => {
    const gateway = { rewritesUris: false } as Gateway
    const result = { content }
    expect(withPublicUris(gateway, 'one', result, 'content')).toBe(result)
  })
})
