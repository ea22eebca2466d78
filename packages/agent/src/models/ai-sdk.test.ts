// Models of the real AI SDK, by three of its providers, against a scripted server of every wire format. What the real package
// understands is also the proof that the scripted server speaks each format.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { systemHost } from '@plugboard/core/host'
import { wrapLanguageModel } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import type { AgentEvent } from '../events.ts'
import { type ModelServer, modelServer, type Reply, type ScriptedRequest } from '../fixtures/model-server.mjs'
import { type RunOptions, runAgent } from '../loop.ts'
import { type Message, userMessage } from '../messages.ts'
import type { AgentTool } from '../toolbox.ts'
import { fromAiSdk } from './ai-sdk.ts'
import { MODEL_APIS } from './choose.ts'

let server: ModelServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

const host = systemHost({ env: {} })
const add: AgentTool = {
  name: 'add',
  description: 'Adds two numbers',
  inputJsonSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  concurrencySafe: true,
  call: async ({ a, b }) => ({
    isError: false,
    content: [{ type: 'text', text: String(Number(a) + Number(b)) }],
  }),
}

const PROVIDERS = {
  anthropic: (url: string) => createAnthropic({ apiKey: 'k', baseURL: `${url}/v1` })('claude-test'),
  openai: (url: string) => createOpenAI({ apiKey: 'k', baseURL: `${url}/v1` }).chat('gpt-test'),
  'openai-responses': (url: string) =>
    createOpenAI({ apiKey: 'k', baseURL: `${url}/v1` }).responses('gpt-test'),
  gemini: (url: string) => createGoogleGenerativeAI({ apiKey: 'k', baseURL: `${url}/v1beta` })('gemini-test'),
}

describe.each(MODEL_APIS)('a model of the AI SDK, by its %s provider', (name) => {
  async function model(script: (request: ScriptedRequest, count: number) => Reply) {
    server = await modelServer(script)
    // As a program has it: with the package's own middleware around it.
    return fromAiSdk(wrapLanguageModel({ model: PROVIDERS[name](server.url), middleware: [] }), {
      contextTokens: 50_000,
    })
  }

  async function run(options: Omit<RunOptions, 'host'>): Promise<AgentEvent[]> {
    const events: AgentEvent[] = []
    for await (const event of runAgent({ host, pause: async () => undefined, ...options })) events.push(event)
    return events
  }

  const messages: readonly Message[] = [userMessage('What is 19 + 23?')]

  it('streams, calls tools and gets their results', async () => {
    const scripted = await model(({ results }) =>
      results.length > 0
        ? { text: ['It is ', results[0]?.text ?? ''], usage: { input: 70, output: 9 } }
        : { text: 'Let me add.', calls: [{ name: 'add', arguments: { a: 19, b: 23 } }] },
    )
    const events = await run({ model: scripted, messages, tools: [add], system: 'Be brief.' })
    expect(events.at(-1)).toMatchObject({ type: 'done', reason: 'end', text: 'It is 42', turns: 2 })
    expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(2)
    expect(events.find(({ type }) => type === 'tool-start')).toMatchObject({
      name: 'add',
      arguments: { a: 19, b: 23 },
    })
    expect(events.filter(({ type }) => type === 'usage').at(-1)).toMatchObject({
      usage: { inputTokens: 70, outputTokens: 9 },
      contextTokens: 50_000,
    })
    expect(server?.requests[0]).toMatchObject({
      system: 'Be brief.',
      tools: ['add'],
      user: 'What is 19 + 23?',
    })
    expect(server?.requests[1]?.results).toEqual([expect.objectContaining({ name: 'add', text: '42' })])
  })

  it('sends images and errors of tools', async () => {
    const dot =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const scripted = await model(({ results }) =>
      results.length > 0 || server?.requests.length === 2 ? { text: 'ok' } : { calls: [{ name: 'draw' }] },
    )
    const draw: AgentTool = {
      ...add,
      name: 'draw',
      inputJsonSchema: { type: 'object', properties: {} },
      call: async () => ({ isError: true, content: [{ type: 'image', data: dot, mimeType: 'image/png' }] }),
    }
    const events = await run({ model: scripted, messages, tools: [draw] })
    expect(events.at(-1)).toMatchObject({ reason: 'end', text: 'ok' })
    expect(JSON.stringify(server?.requests[1]?.body)).toContain(dot)
  })

  it('tries again where that can help, and says where and why where it cannot', async () => {
    const busy = await model((_, count) =>
      count === 0 ? { status: 529, message: 'busy' } : { text: 'fine' },
    )
    const again = await run({ model: busy, messages })
    expect(again.filter(({ type }) => type === 'retry')).toHaveLength(1)
    expect(again.at(-1)).toMatchObject({ reason: 'end', text: 'fine' })
    await server?.close()
    const refused = await run({ model: await model(() => ({ status: 401, message: 'bad key' })), messages })
    expect(refused.filter(({ type }) => type === 'retry')).toHaveLength(0)
    expect(refused.find(({ type }) => type === 'error')).toMatchObject({
      error: {
        code: 'AUTH_REQUIRED',
        message: expect.stringMatching(
          /^The model at http:\/\/127\.0\.0\.1:\d+\/v1\S+ answered 401: .*bad key/,
        ),
      },
    })
  })

  it('stops at once, and the provider’s request with it', async () => {
    const scripted = await model(() => ({ text: 'I was about to', fault: 'hang' }))
    const stop = new AbortController()
    const events: AgentEvent[] = []
    for await (const event of runAgent({ host, model: scripted, messages, signal: stop.signal })) {
      events.push(event)
      if (event.type === 'text') stop.abort()
    }
    expect(events.at(-1)).toMatchObject({ reason: 'aborted', text: 'I was about to' })
    await expect.poll(() => server?.requests[0]?.closed, { timeout: 10_000 }).toBe(true)
  })

  it('does not take half an answer for a whole one', async () => {
    const scripted = await model((_, count) =>
      count === 0 ? { text: 'half', fault: 'cut' } : { text: 'whole' },
    )
    const events = await run({ model: scripted, messages })
    expect(events.at(-1)).toMatchObject({ reason: 'end', text: 'whole' })
    expect(events.find(({ type }) => type === 'retry')).toMatchObject({ discard: true })
  })
})
