// What the gateway passes on in the four combinations of eras: the client's (SDK client) and the server's (SDK server).
import { describe, expect, it } from 'vitest'
import { connect, firstText, folder, makeGateway, seenIn, serve, until, upstream } from './fixtures/kit.ts'

const ERAS = ['legacy', 'modern'] as const
const COMBINATIONS = ERAS.flatMap((client) => ERAS.map((server) => ({ client, server })))

describe.each(COMBINATIONS)('a $client client in front of a $server server', ({ client: era, server }) => {
  async function setUp(capabilities: Record<string, object> = {}, prepare?: Parameters<typeof connect>[1]) {
    const dir = folder()
    const gateway = await makeGateway([upstream('one', server, dir)])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const client = await connect(url, { era, capabilities, ...prepare })
    return { gateway, client, dir, url }
  }

  it('lists and calls tools, reads resources and prompts, and completes', async () => {
    const { client, gateway } = await setUp()
    expect(gateway.board.link.connection('one').state).toMatchObject({ session: { era: server } })
    expect(client.getProtocolEra()).toBe(era)
    const { tools } = await client.listTools()
    const echo = tools.find(({ name }) => name === 'mcp__one__echo')
    expect(echo).toMatchObject({
      title: 'Echo',
      annotations: { readOnlyHint: true },
      outputSchema: { type: 'object' },
    })
    const said = await client.callTool({ name: 'mcp__one__echo', arguments: { text: 'hi' } })
    expect(said).toMatchObject({ content: [{ type: 'text', text: 'hi' }], structuredContent: { said: 'hi' } })
    const big = await client.callTool({ name: 'mcp__one__big', arguments: { chars: 300_000 } })
    expect(firstText(big)).toHaveLength(300_000)
    const link = await client.callTool({ name: 'mcp__one__link', arguments: {} })
    expect(link.content).toMatchObject([{ uri: 'plugboard://one/test://note' }])
    await until(async () => (await client.listResourceTemplates()).resourceTemplates.length > 0)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['plugboard://status', 'plugboard://one/test://note'])
    const note = await client.readResource({ uri: 'plugboard://one/test://note' })
    expect(note.contents).toMatchObject([{ uri: 'plugboard://one/test://note', text: 'a note' }])
    const page = await client.readResource({ uri: 'plugboard://one/test://page/7' })
    expect(page.contents).toMatchObject([{ text: 'page 7' }])
    const prompt = await client.getPrompt({ name: 'mcp__one__greet', arguments: { name: 'Ada' } })
    expect(prompt.messages).toMatchObject([{ content: { text: 'Hello Ada' } }])
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'mcp__one__greet' },
      argument: { name: 'name', value: 'a' },
    })
    expect(completion.values).toEqual(['ada', 'alan'])
    await expect(client.callTool({ name: 'mcp__one__none', arguments: {} })).rejects.toMatchObject({
      code: -32602,
    })
  })

  it('passes progress on, and cancels the server’s work when the client does', async () => {
    const { client, dir } = await setUp()
    const steps: unknown[] = []
    const done = await client.callTool(
      { name: 'mcp__one__work', arguments: { ms: 1 } },
      { onprogress: (progress) => steps.push(progress) },
    )
    expect(firstText(done)).toBe('done')
    expect(steps).toMatchObject([{ progress: 1, total: 2, message: 'step 1' }, { progress: 2 }])
    const stop = new AbortController()
    const call = client.callTool(
      { name: 'mcp__one__work', arguments: { ms: 20_000 } },
      { signal: stop.signal, onprogress: () => stop.abort() },
    )
    await expect(call).rejects.toThrow()
    await until(() => seenIn(dir).includes('cancelled'))
  })

  it('brings a question to the client and its answer back', async () => {
    const { client } = await setUp(
      { elicitation: { form: {} }, sampling: {} },
      {
        prepare: (one) => {
          one.setRequestHandler('elicitation/create', async ({ params }) => ({
            action: 'accept',
            content: { name: `Ada (${params.message})` },
          }))
          one.setRequestHandler('sampling/createMessage', async () => ({
            role: 'assistant',
            model: 'small',
            content: { type: 'text', text: 'hi' },
          }))
        },
      },
    )
    const asked = await client.callTool({ name: 'mcp__one__ask', arguments: {} })
    expect(firstText(asked)).toBe('accept Ada (Your name?)')
    const sampled = await client.callTool({ name: 'mcp__one__sample', arguments: {} })
    expect(firstText(sampled)).toBe('small hi')
  })

  it('passes a URL elicitation to the client, and its roots to the server', async () => {
    const visited: string[] = []
    const { client } = await setUp(
      { elicitation: { url: {} }, roots: {} },
      {
        prepare: (one) => {
          one.setRequestHandler('elicitation/create', async ({ params }) => {
            visited.push(params.mode === 'url' ? params.url : 'a form')
            return { action: 'accept' }
          })
          one.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///work/of/ada' }] }))
        },
      },
    )
    expect(firstText(await client.callTool({ name: 'mcp__one__visit', arguments: {} }))).toBe('accept')
    expect(visited).toEqual(['https://example.com/login'])
    expect(firstText(await client.callTool({ name: 'mcp__one__where', arguments: {} }))).toBe(
      'file:///work/of/ada',
    )
    // A form is different: this client has not declared that it can show one.
    const form = await client.callTool({ name: 'mcp__one__ask', arguments: {} }).then(
      ({ isError }) => isError,
      () => true,
    )
    expect(form).toBe(true)
    expect(visited).toHaveLength(1)
  })

  it('does not let a question hang when the client cannot be asked', async () => {
    const { client } = await setUp()
    const asked = await client.callTool({ name: 'mcp__one__ask', arguments: {} }).then(
      (result) => (result.isError ? firstText(result) : 'answered'),
      (error: Error) => error.message,
    )
    // A modern server was told what the client declares, and refuses by itself.
    expect(asked).toMatch(/it does not declare elicitation\.form|^Cannot request input 'name'/)
  })

  it('passes on changed lists, changed resources and log messages', async () => {
    const heard: string[] = []
    const { client } = await setUp(
      {},
      {
        prepare: (one) => {
          one.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
          one.setNotificationHandler(
            'notifications/resources/updated',
            ({ params }) => void heard.push(params.uri),
          )
          one.setNotificationHandler(
            'notifications/message',
            ({ params }) => void heard.push(String(params.data)),
          )
        },
      },
    )
    const uri = 'plugboard://one/test://note'
    if (era === 'legacy') {
      await client.setLoggingLevel('debug')
      await client.subscribeResource({ uri })
    } else await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })
    await client.callTool({ name: 'mcp__one__touch', arguments: {} })
    await client.callTool({ name: 'mcp__one__grow', arguments: {} })
    await client.callTool({
      name: 'mcp__one__note',
      arguments: { text: 'careful' },
      _meta: era === 'modern' ? { 'io.modelcontextprotocol/logLevel': 'info' } : {},
    })
    await until(() => heard.includes('tools') && heard.includes(uri) && heard.includes('careful'))
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'mcp__one__grown'))
  })
})
