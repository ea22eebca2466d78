// Both eras over HTTP, on servers in this process: what each method answers, what is refused, and what is passed on to the server.
import { describe, expect, it } from 'vitest'
import { legacyClient, post, scripted, served, tool } from './fixtures/in-process.ts'
import { modernRequest } from './fixtures/kit.ts'
import { readExposure } from './index.ts'
import type { Json } from './json-rpc.ts'

const full = () =>
  scripted({
    tools: [tool('say', { annotations: { readOnlyHint: true } }), tool('fail'), tool('break')],
    resources: [{ uri: 'a:1', name: 'one' }],
    templates: [{ uriTemplate: 'a:{x}', name: 'any' }],
    prompts: [{ name: 'hi' }],
    instructions: 'Be kind.',
    answers: {
      'tools/call': ({ name, arguments: args }) => {
        if (name === 'break') throw { code: -32099, message: 'its own error', data: { a: 1 } }
        return name === 'fail'
          ? { isError: true, content: [{ type: 'text', text: 'it failed' }] }
          : { content: [{ type: 'text', text: JSON.stringify(args ?? null) }] }
      },
      'prompts/get': ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `prompt ${String(name)}` } }],
      }),
      'completion/complete': ({ ref }) => ({ completion: { values: [JSON.stringify(ref)] } }),
    },
  })

type Ask = (method: string, params?: Json) => Promise<Json>
/** The result, or the error as `{ error }`, of either era. */
async function clientOf(era: string, url: string): Promise<Ask> {
  if (era === 'modern') return (method, params) => modernRequest(url, method, params)
  const { request } = await legacyClient(url)
  return async (method, params) => {
    const { result, error } = await request(method, params)
    return (result as Json | undefined) ?? { error }
  }
}

describe.each(['legacy', 'modern'])('a %s client', (era) => {
  it('gets the lists whole, and no second page', async () => {
    const ask = await clientOf(era, (await served({ one: full() })).url)
    expect(await ask('tools/list')).toMatchObject({
      tools: [{ name: 'mcp__one__say' }, { name: 'mcp__one__fail' }, { name: 'mcp__one__break' }],
    })
    expect(await ask('prompts/list')).toMatchObject({ prompts: [{ name: 'mcp__one__hi' }] })
    expect(((await ask('resources/list')).resources as Json[]).map(({ name }) => name)).toEqual([
      'plugboard-status',
      'one',
    ])
    expect(await ask('resources/templates/list')).toMatchObject({ resourceTemplates: [{ name: 'any' }] })
    for (const list of ['tools', 'prompts', 'resources'])
      expect(await ask(`${list}/list`, { cursor: 'x' })).toMatchObject({ error: { code: -32602 } })
  })

  it('has its calls made, and is told what went wrong', async () => {
    const { url, gateway } = await served({ one: full() })
    const ask = await clientOf(era, url)
    const call = (name: unknown, args?: unknown) =>
      ask('tools/call', { name, ...(args !== undefined && { arguments: args }) } as Json)
    expect(await call('mcp__one__say', { a: 1 })).toMatchObject({ content: [{ text: '{"a":1}' }] })
    expect(await call('mcp__one__fail', {})).toMatchObject({
      isError: true,
      content: [{ text: 'it failed' }],
    })
    expect(await call('mcp__one__break', {})).toMatchObject({
      error: { code: -32099, message: 'its own error', data: { a: 1 } },
    })
    expect(await call('mcp__one__none', {})).toMatchObject({ error: { code: -32602 } })
    expect(await call('mcp__one__say', [])).toMatchObject({ error: { code: -32602 } })
    expect(await ask('tools/call', {})).toMatchObject({
      error: { code: -32602, message: '"name" is missing or not a text.' },
    })
    expect(await ask('no/such')).toMatchObject({ error: { code: -32601 } })
    const metrics = gateway.metrics.print({}, {}, [])
    expect(metrics).toMatch(/tools\/call.*ok.* 1\n/)
    expect(metrics).toMatch(/tools\/call.*tool_error.* 1\n/)
    expect(metrics).toMatch(/tools\/call.*"error".* 4\n/)
  })

  it('reads resources and prompts under their public names', async () => {
    const one = full()
    const ask = await clientOf(era, (await served({ one })).url)
    const uri = ((await ask('resources/list')).resources as Json[])[1]?.uri
    expect(await ask('resources/read', { uri } as Json)).toMatchObject({
      contents: [{ uri, text: 'text of a:1' }],
    })
    expect(await ask('resources/read', { uri: 'a:1' })).toMatchObject({ contents: [{ text: 'text of a:1' }] })
    expect(await ask('resources/read', { uri: 'a:2' })).toMatchObject({ contents: [{ text: 'text of a:2' }] })
    const status = (await ask('resources/read', { uri: 'plugboard://status' })) as {
      contents: { text: string }[]
    }
    expect(JSON.parse(status.contents[0]?.text ?? '')).toMatchObject({
      servers: [{ name: 'one', state: 'connected', tools: 3, resources: 1, prompts: 1 }],
    })
    const code = era === 'modern' ? -32602 : -32002
    expect(await ask('resources/read', { uri: 'plugboard://results/none' })).toMatchObject({
      error: { code },
    })
    expect(await ask('prompts/get', { name: 'mcp__one__hi' })).toMatchObject({
      messages: [{ content: { text: 'prompt hi' } }],
    })
    expect(await ask('prompts/get', { name: 'none' })).toMatchObject({ error: { code: -32602 } })
  })

  it('completes arguments of prompts and templates', async () => {
    const bare = scripted({ prompts: [{ name: 'p' }], capabilities: { prompts: {} } })
    const ask = await clientOf(era, (await served({ one: full(), bare })).url)
    const complete = (ref: unknown) =>
      ask('completion/complete', { ref, argument: { name: 'x', value: '' } } as Json)
    const valuesOf = async (ref: object) =>
      ((await complete(ref)) as { completion: { values: string[] } }).completion.values
    expect(await valuesOf({ type: 'ref/prompt', name: 'mcp__one__hi' })).toEqual([
      '{"type":"ref/prompt","name":"hi"}',
    ])
    const template = ((await ask('resources/templates/list')).resourceTemplates as Json[])[0]?.uriTemplate
    expect(await valuesOf({ type: 'ref/resource', uri: template })).toEqual([
      '{"type":"ref/resource","uri":"a:{x}"}',
    ])
    expect(await valuesOf({ type: 'ref/resource', uri: 'a:1' })).toEqual([
      '{"type":"ref/resource","uri":"a:1"}',
    ])
    expect(await valuesOf({ type: 'ref/prompt', name: 'mcp__bare__p' })).toEqual([])
    for (const ref of [
      undefined,
      { type: 'ref/prompt', name: 'none' },
      { type: 'other' },
      { type: 'ref/prompt' },
    ])
      expect(await complete(ref)).toMatchObject({ error: expect.anything() })
  })
})

describe('a legacy session', () => {
  it('begins with the version that the client wants, or the newest, and what the servers say', async () => {
    const { url } = await served({ one: full() })
    const { opened } = await legacyClient(url, {}, '2025-06-18')
    expect(opened.result).toMatchObject({
      protocolVersion: '2025-06-18',
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
      },
      instructions: expect.stringContaining('# one\nBe kind.'),
    })
    expect((opened.result as Json).capabilities).not.toHaveProperty('tasks')
    const newest = await legacyClient(url, {}, '1999-01-01')
    expect(newest.opened.result).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: { tasks: expect.anything() },
    })
    const bad = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }
    expect(await post(url, bad)).toMatchObject({ status: 200, body: { error: { code: -32602 } } })
    expect((await post(url, bad)).headers.get('mcp-session-id')).toBeNull()
  })

  it('refuses what comes too early, twice, or after its end', async () => {
    const { url } = await served({ one: full() })
    const { request, send, headers, opened } = await legacyClient(url)
    expect(opened.id).toBe(1)
    expect(await request('ping')).toMatchObject({ result: {} })
    expect(await request('initialize', { protocolVersion: '2025-11-25', capabilities: {} })).toMatchObject({
      error: { code: -32600 },
    })
    const version = (value: string) =>
      post(url, { jsonrpc: '2.0', id: 9, method: 'ping' }, { ...headers, 'mcp-protocol-version': value })
    expect([(await version('2025-06-18')).status, (await version('2024-01-01')).status]).toEqual([200, 400])
    expect((await send({ method: 'notifications/initialized' })).status).toBe(202)
    expect((await send({ id: 'unknown', result: {} })).status).toBe(202)
    const end = () => fetch(url, { method: 'DELETE', headers })
    expect([(await end()).status, (await end()).status]).toEqual([204, 404])
    expect((await send({ id: 9, method: 'ping' })).status).toBe(404)
  })

  it('hears of what it follows, and sets the level of its servers', async () => {
    const one = full()
    const { url } = await served({ one })
    const { request, headers } = await legacyClient(url)
    const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })
    const reader = stream.body?.getReader()
    let heard = ''
    void (async () => {
      for (;;) {
        const piece = await reader?.read().catch(() => undefined)
        if (!piece || piece.done) return
        heard += new TextDecoder().decode(piece.value)
      }
    })()
    const times = (what: string) => one.seen.filter(([method]) => method === what).length
    expect(await request('logging/setLevel', { level: 'loud' })).toMatchObject({ error: { code: -32602 } })
    expect(await request('logging/setLevel', { level: 'debug' })).toMatchObject({ result: {} })
    expect(one.seen).toContainEqual(['logging/setLevel', expect.objectContaining({ level: 'debug' })])
    expect(await request('resources/subscribe', { uri: 'b:none', other: 1 })).toMatchObject({ result: {} })
    expect(await request('resources/subscribe', { uri: 'a:1' })).toMatchObject({ result: {} })
    expect(await request('resources/subscribe', { uri: 'a:1' })).toMatchObject({ result: {} })
    expect(await request('resources/subscribe', { uri: 'plugboard://status' })).toMatchObject({ result: {} })
    expect(await request('resources/subscribe')).toMatchObject({ error: { code: -32602 } })
    expect(times('resources/subscribe')).toBe(2)
    one.notify('notifications/resources/updated', { uri: 'a:1' })
    await expect.poll(() => heard).toContain('"notifications/resources/updated","params":{"uri":"a:1"}')
    expect(await request('resources/unsubscribe', { uri: 'a:1' })).toMatchObject({ result: {} })
    expect(times('resources/unsubscribe')).toBe(1)
    await fetch(url, { method: 'DELETE', headers })
    await expect.poll(() => times('resources/unsubscribe')).toBe(2)
    await expect.poll(() => one.seen.at(-1)).toBeDefined()
    expect(
      one.seen.filter(([method]) => method === 'logging/setLevel').map(([, { level }]) => level),
    ).toEqual(['debug', 'info'])
  })

  it('is asked on the stream of its call, and its answer goes to the server', async () => {
    const one = scripted({
      tools: [tool('ask')],
      answers: {
        'tools/call': async (_, ask) => {
          const answers = [
            await ask('elicitation/create', {
              mode: 'url',
              message: 'Go',
              url: 'https://x.example',
              elicitationId: 'own',
            }),
            await ask('roots/list', {}),
          ]
          return { content: [{ type: 'text', text: JSON.stringify(answers) }] }
        },
      },
    })
    const { url } = await served({ one })
    const { headers, send } = await legacyClient(url, { elicitation: { url: {} }, roots: {} })
    const accept = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 'call',
      method: 'tools/call',
      params: { name: 'mcp__one__ask', arguments: {} },
    })
    const response = await fetch(url, { method: 'POST', headers: accept, body })
    let text = ''
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(piece)
      for (const [, data = ''] of text.matchAll(/data: (\{.*\})\n\n/g)) {
        const { id, method, params } = JSON.parse(data)
        if (method === 'elicitation/create') {
          expect(params).toMatchObject({ elicitationId: 'own' })
          await send({ id, error: { code: 7, message: 'not now' } })
        } else if (method === 'roots/list') await send({ id, result: { roots: [{ uri: 'file:///r' }] } })
      }
      text = text.slice(text.lastIndexOf('\n\n') + 2)
    }
    const asked = one.seen.filter(([method]) => method === 'tools/call')
    expect(asked).toHaveLength(1)
  })
})

describe('a modern request', () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = (method: string, name?: string) => ({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name && { 'mcp-name': name }),
  })
  const send = (url: string, method: string, params: Json = {}, more: Json = {}, name?: string) =>
    post(
      url,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...meta, ...more } } },
      headers(method, name),
    )

  it('discovers what is served', async () => {
    const { url } = await served({ one: full() })
    expect((await send(url, 'server/discover')).body.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true }, extensions: { 'io.modelcontextprotocol/ui': {} } },
      instructions: expect.stringContaining('Be kind.'),
      cacheScope: 'private',
      resultType: 'complete',
    })
    expect((await send(url, 'tools/list')).body.result).toMatchObject({
      resultType: 'complete',
      ttlMs: expect.any(Number),
      cacheScope: expect.any(String),
    })
    const called = (await send(url, 'tools/call', { name: 'mcp__one__say' }, {}, 'mcp__one__say')).body
      .result as Json
    expect([
      called.resultType,
      'ttlMs' in called,
      (called._meta as Json)['io.modelcontextprotocol/serverInfo'] !== undefined,
    ]).toEqual(['complete', false, true])
  })

  it('says what is wrong with its envelope', async () => {
    const { url } = await served({ one: full() })
    const key = 'io.modelcontextprotocol/'
    expect(await send(url, 'tools/list', {}, { [`${key}clientCapabilities`]: 'x' })).toMatchObject({
      status: 200,
      body: { error: { code: -32602 } },
    })
    expect(await send(url, 'server/discover', {}, { [`${key}clientCapabilities`]: 'x' })).toMatchObject({
      status: 400,
      body: { error: { code: -32602 } },
    })
    expect(await send(url, 'tools/list', {}, { [`${key}protocolVersion`]: 5 })).toMatchObject({
      status: 400,
      body: { error: { code: -32602 } },
    })
    expect(await send(url, 'no/such')).toMatchObject({ status: 404, body: { error: { code: -32601 } } })
    expect(await send(url, 'tools/call', { name: 'mcp__one__none' }, {}, 'mcp__one__none')).toMatchObject({
      status: 200,
      body: { error: { code: -32602 } },
    })
    const stray = { jsonrpc: '2.0', method: 'notifications/cancelled', params: {} }
    expect((await post(url, stray, { 'mcp-protocol-version': '2026-07-28' })).status).toBe(202)
    expect((await post(url, stray)).status).toBe(400)
  })

  it('comes back with the answer to a question, once', async () => {
    let calls = 0
    const one = scripted({
      tools: [tool('ask')],
      answers: {
        'tools/call': async (_, ask) => {
          calls++
          const { result } = await ask('elicitation/create', {
            message: 'Who?',
            requestedSchema: { type: 'object', properties: {} },
          })
          return { content: [{ type: 'text', text: JSON.stringify(result) }] }
        },
      },
    })
    const { url } = await served({ one })
    const can = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
    const call = async (more: Json = {}) =>
      (await send(url, 'tools/call', { name: 'mcp__one__ask', arguments: {}, ...more }, can, 'mcp__one__ask'))
        .body
    const first = (await call()).result as {
      resultType: string
      requestState: string
      inputRequests: Record<string, Json>
    }
    expect(first).toMatchObject({ resultType: 'input_required' })
    expect('ttlMs' in first).toBe(false)
    const [[key, question] = ['', {}]] = Object.entries(first.inputRequests)
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Who?' } })
    const { requestState } = first
    expect(await call({ requestState: 'x' })).toMatchObject({ error: { code: expect.any(Number) } })
    expect(await call({ requestState, arguments: { other: 1 } })).toMatchObject({
      error: { code: expect.any(Number) },
    })
    const inputResponses = { [key]: { action: 'accept', content: { name: 'ada' } } }
    const answer = { action: 'accept', content: { name: 'ada' } }
    expect(await call({ requestState, inputResponses })).toMatchObject({
      result: { content: [{ text: JSON.stringify(answer) }] },
    })
    expect(await call({ requestState, inputResponses })).toMatchObject({
      error: { code: expect.any(Number) },
    })
    expect(calls).toBe(1)
    expect(
      await send(url, 'tools/call', { name: 'mcp__one__ask', arguments: {} }, {}, 'mcp__one__ask'),
    ).toMatchObject({ body: expect.not.objectContaining({ resultType: 'input_required' }) })
  })
})

describe('an address', () => {
  it('that is not served, a wrong method or type, is answered with what is', async () => {
    const { url } = await served({ one: full() })
    const go = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(new URL(path, url), init)
      return [response.status, response.headers.get('allow'), await response.text()] as const
    }
    const stream = { accept: 'text/event-stream' }
    expect((await go('/nowhere'))[0]).toBe(404)
    expect((await go('/nowhere'))[2]).toContain('There is /mcp')
    expect((await go('/mcp', { method: 'PUT' })).slice(0, 2)).toEqual([405, 'GET, POST, DELETE, OPTIONS'])
    expect((await go('/sse', { method: 'POST' })).slice(0, 2)).toEqual([405, 'GET, OPTIONS'])
    expect((await go('/messages')).slice(0, 2)).toEqual([405, 'POST, OPTIONS'])
    expect(
      (await go('/mcp', { headers: { ...stream, 'mcp-protocol-version': '2026-07-28' } })).slice(0, 2),
    ).toEqual([405, 'POST'])
    expect((await go('/mcp', { headers: { accept: 'text/html' } }))[0]).toBe(406)
    expect((await go('/sse', { headers: { accept: 'text/html' } }))[0]).toBe(406)
    expect((await go('/mcp', { headers: stream }))[0]).toBe(400)
    expect((await go('/mcp', { headers: { ...stream, 'mcp-session-id': 'x' } }))[0]).toBe(404)
    expect((await go('/mcp', { method: 'OPTIONS' }))[0]).toBe(204)
    expect((await go('/mcp?x=1', { method: 'OPTIONS' }))[0]).toBe(204)
    const posted = (path: string, headers: Record<string, string>) =>
      go(path, { method: 'POST', body: '{}', headers })
    expect((await posted('/mcp', { 'content-type': 'application/json', accept: 'text/html' }))[0]).toBe(406)
    expect(
      (await posted('/mcp', { 'content-type': 'application/json', accept: 'text/event-stream' }))[0],
    ).toBe(400)
    expect(
      (await posted('/mcp', { 'content-type': 'application/json', 'content-encoding': 'gzip' }))[0],
    ).toBe(415)
    expect(
      (await posted('/mcp', { 'content-type': 'application/json', 'content-encoding': 'identity' }))[0],
    ).toBe(400)
    expect((await posted('/messages?sessionId=x', { 'content-type': 'application/json' }))[0]).toBe(404)
    for (const probe of ['/health', '/ready', '/metrics']) {
      expect((await go(probe))[0]).toBe(200)
      expect((await go(probe, { method: 'HEAD' }))[0]).toBe(200)
      expect((await go(probe, { method: 'POST' }))[0]).toBe(404)
    }
    expect(JSON.parse((await go('/health'))[2])).toMatchObject({ status: 'ok' })
    expect(JSON.parse((await go('/ready'))[2])).toEqual({ status: 'ready', servers: { up: 1, away: 0 } })
  })

  it('is for those with a token; a narrow one sees its part, and no metrics', async () => {
    const grants = [
      { token: 'a-token-of-the-whole', exposure: readExposure([]) },
      { token: 'a-token-of-a-part', exposure: readExposure(['one.say']) },
    ]
    const { url, handle, gateway } = await served({ one: full(), two: full() }, { grants })
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const metrics = async (token?: string) =>
      (await fetch(new URL('/metrics', url), { headers: token ? as(token) : {} })).status
    expect([
      await metrics(),
      await metrics('a-token-of-a-part'),
      await metrics('a-token-of-the-whole'),
    ]).toEqual([401, 403, 200])
    const tools = async (token: string) =>
      ((await modernRequest(url, 'tools/list', {}, { token })).tools as Json[]).map(({ name }) => name)
    expect(await tools('a-token-of-a-part')).toEqual(['mcp__one__say'])
    expect(await tools('a-token-of-the-whole')).toHaveLength(6)
    const open = await post(
      url,
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {} },
      },
      as('a-token-of-a-part'),
    )
    const session = { 'mcp-session-id': open.headers.get('mcp-session-id') ?? '' }
    const list = (token: string) =>
      post(url, { jsonrpc: '2.0', id: 2, method: 'tools/list' }, { ...session, ...as(token) })
    expect((await list('a-token-of-the-whole')).status).toBe(404)
    expect(((await list('a-token-of-a-part')).body.result as { tools: Json[] }).tools).toHaveLength(1)
    handle.setGrants([{ token: 'a-token-of-a-part', exposure: readExposure(['one', 'two']) }])
    expect(((await list('a-token-of-a-part')).body.result as { tools: Json[] }).tools).toHaveLength(6)
    expect((await list('a-token-of-the-whole')).status).toBe(401)
    handle.setGrants([{ token: 'another-token', exposure: gateway.expose }])
    expect((await list('a-token-of-a-part')).status).toBe(401)
  })
})
