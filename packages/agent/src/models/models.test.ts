// How the adapters read odd streams, and which model is chosen.
import { systemHost } from '@plugboard/core/host'
import { describe, expect, it } from 'vitest'
import { modelServer } from '../fixtures/model-server.mjs'
import { runAgent } from '../loop.ts'
import { type Message, userMessage } from '../messages.ts'
import type { AgentTool } from '../toolbox.ts'
import { anthropicBody, readAnthropic } from './anthropic.ts'
import { chooseModel } from './choose.ts'
import { geminiBody, readGemini } from './gemini.ts'
import { ModelFailure } from './model.ts'
import { openAiBody, readOpenAi } from './openai.ts'
import { readResponses, responsesBody } from './openai-responses.ts'

const look: AgentTool = {
  name: 'look',
  description: 'Looks',
  inputJsonSchema: { type: 'object', properties: {} },
  concurrencySafe: true,
  call: async () => ({ isError: false, content: [{ type: 'text', text: 'seen' }] }),
}

async function* lines(...events: unknown[]): AsyncGenerator<string> {
  for (const event of events) yield typeof event === 'string' ? event : JSON.stringify(event)
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const event of events) found.push(event)
  return found
}

const withEnv = (env: Record<string, string>) => systemHost({ env })

describe('the choice of a model', () => {
  it.each([
    [{ ANTHROPIC_API_KEY: 'k' }, {}, 'claude-sonnet-4-5'],
    [{ OPENAI_API_KEY: 'k' }, {}, 'gpt-4.1'],
    [{ ANTHROPIC_API_KEY: 'k', PLUGBOARD_MODEL: 'claude-x' }, {}, 'claude-x'],
    [{}, { baseUrl: 'http://127.0.0.1:1/v1', model: 'qwen' }, 'qwen'],
    [{ GEMINI_API_KEY: 'k' }, {}, 'gemini-2.5-flash'],
    [{ GOOGLE_API_KEY: 'k' }, { model: 'gemini-x' }, 'gemini-x'],
  ])('%j %j', (env, choice, id) => {
    expect(chooseModel({ host: withEnv(env as Record<string, string>), ...choice }).id).toBe(id)
  })

  it('names the key that is missing', () => {
    expect(() => chooseModel({ host: withEnv({ ANTHROPIC_API_KEY: ' ' }) })).toThrow(
      /ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY/,
    )
    expect(() => chooseModel({ host: withEnv({ ANTHROPIC_API_KEY: 'k' }), model: 'gpt-x' })).toThrow(
      /OPENAI_API_KEY/,
    )
  })

  it('refuses an invalid base URL', () => {
    expect(() => chooseModel({ host: withEnv({}), baseUrl: 'file:///etc/passwd', model: 'x' })).toThrow(
      /not a web address/,
    )
  })

  it.each([
    ['gpt-4.1', 'https://api.openai.com/v1/chat/completions'],
    ['gpt-5-pro', 'https://api.openai.com/v1/responses'],
    ['gpt-5.1-codex', 'https://api.openai.com/v1/responses'],
    ['claude-x', 'https://api.anthropic.com/v1/messages'],
    [
      'gemini-x',
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse',
    ],
  ])('%s is asked at %s, and its key is not in the address', async (model, url) => {
    const asked: string[] = []
    const host = systemHost({
      env: { OPENAI_API_KEY: 'SECRET', ANTHROPIC_API_KEY: 'SECRET', GEMINI_API_KEY: 'SECRET' },
      fetch: async (input, init) => {
        asked.push(String(input), ...Object.values(init?.headers as Record<string, string>))
        return new Response('{}', { status: 400 })
      },
    })
    await all(chooseModel({ host, model }).stream({ messages: [], tools: [] })).catch(() => undefined)
    expect(asked[0]).toBe(url)
    expect(asked.slice(1).join(' ')).toContain('SECRET')
  })

  it('does not follow a redirect with the key', async () => {
    const asked: string[] = []
    const host = systemHost({
      env: { OPENAI_API_KEY: 'k' },
      fetch: async (input, init) => {
        asked.push(`${String(input)} ${init?.redirect}`)
        return new Response(null, { status: 307, headers: { location: 'https://elsewhere.example/' } })
      },
    })
    const stream = chooseModel({ host }).stream({ messages: [], tools: [] })
    await expect(all(stream)).rejects.toMatchObject({ kind: 'request' })
    expect(asked).toEqual(['https://api.openai.com/v1/chat/completions manual'])
  })
})

describe('odd streams', () => {
  it('takes calls without an index, and arguments as an object', async () => {
    const part = (id: string) => ({ id, function: { name: `tool_${id}`, arguments: { a: 1 } } })
    const events = await all(
      readOpenAi(
        lines(
          { choices: [{ delta: { tool_calls: [part('x')] } }] },
          { choices: [{ delta: { tool_calls: [part('y')] }, finish_reason: 'stop' }] },
        ),
      ),
    )
    expect(events).toEqual([
      { type: 'call', id: 'x', name: 'tool_x', argumentsText: '{"a":1}' },
      { type: 'call', id: 'y', name: 'tool_y', argumentsText: '{"a":1}' },
      { type: 'stop', reason: 'calls' },
    ])
  })

  it.each([
    ['overloaded_error', 'overloaded'],
    ['rate_limit_error', 'busy'],
    ['invalid_request_error', 'request'],
  ])('knows a %s in the middle of a stream', async (type, kind) => {
    const events = readAnthropic(lines({ type: 'error', error: { type, message: 'no' } }))
    await expect(all(events)).rejects.toMatchObject({ kind })
  })

  it.each([
    [{ code: 429 }, 'busy'],
    [{ code: 503 }, 'overloaded'],
    [{ code: 400 }, 'request'],
    [{ code: 403 }, 'auth'],
    [{ status: 'INTERNAL' }, 'server'],
  ])('knows an error of Gemini in the middle of a stream: %j', async (error, kind) => {
    await expect(all(readGemini(lines({ error }), 'm'))).rejects.toMatchObject({ kind })
  })

  it.each([
    [{ type: 'response.failed', response: { error: { code: 'rate_limit_exceeded' } } }, 'busy'],
    [{ type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } }, 'server'],
    [{ type: 'error', code: 'context_length_exceeded', message: 'x' }, 'request'],
    [{ type: 'response.created', response: {} }, 'cut'],
  ])('knows an error of the responses: %j', async (event, kind) => {
    await expect(all(readResponses(lines(event), 'm'))).rejects.toMatchObject({ kind })
  })

  it('knows why Gemini stopped', async () => {
    const stop = async (chunk: object) => (await all(readGemini(lines(chunk), 'm'))).at(-1)
    expect(await stop({ promptFeedback: { blockReason: 'SAFETY' } })).toMatchObject({ reason: 'refusal' })
    expect(await stop({ candidates: [{ finishReason: 'MAX_TOKENS' }] })).toMatchObject({ reason: 'length' })
    expect(await stop({ candidates: [{ finishReason: 'SOMETHING_NEW' }] })).toMatchObject({ reason: 'end' })
    await expect(stop({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }] })).rejects.toMatchObject({
      kind: 'garbage',
    })
  })

  const readers = [readAnthropic, readOpenAi, readResponses, readGemini]
  it.each(readers)('ignores unknown events', async (read) => {
    const odd = lines(
      { type: 'ping' },
      { choices: 'no' },
      { choices: [null] },
      { type: 'content_block_delta', index: 9 },
    )
    await expect(all(read(odd, 'm'))).rejects.toBeInstanceOf(ModelFailure)
  })

  it.each(['null', '[]', '"text"', 'nonsense'])('refuses %s as an event', async (event) => {
    await expect(all(readOpenAi(lines(event)))).rejects.toMatchObject({ kind: 'garbage' })
  })
})

describe('what is sent', () => {
  const call = { id: 'c1', name: 'look', arguments: { at: 'it' } }
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'look' }] },
    { role: 'assistant', text: '', calls: [call] },
    {
      role: 'results',
      results: [
        {
          id: 'c1',
          name: 'look',
          isError: true,
          content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
        },
      ],
    },
  ] as const

  it('carries a picture in a result, the way each format can', () => {
    const anthropic = anthropicBody('m', { messages, tools: [] })
    expect(JSON.stringify(anthropic)).toContain('"is_error":true')
    expect(JSON.stringify(anthropic)).toContain('"media_type":"image/png"')
    const openai = openAiBody('m', { messages, tools: [] }, true) as { messages: { role: string }[] }
    expect(openai.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(JSON.stringify(openai)).toContain('data:image/png;base64,AAAA')
    const responses = responsesBody('m', { messages, tools: [] }) as { input: { type?: string }[] }
    expect(responses.input.map(({ type }) => type)).toEqual([
      undefined,
      'function_call',
      'function_call_output',
    ])
    expect(JSON.stringify(responses)).toContain('data:image/png;base64,AAAA')
    const gemini = geminiBody('m', { messages, tools: [] }) as { contents: { role: string }[] }
    expect(gemini.contents.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'user'])
    expect(JSON.stringify(gemini)).toContain('"inlineData":{"mimeType":"image/png","data":"AAAA"}')
  })

  it.each([
    ['openai-responses', '"encrypted_content":"THOUGHT"'],
    ['gemini', '"thoughtSignature":"THOUGHT"'],
  ] as const)('gives %s back what belongs to a call, and no other model', async (api, expected) => {
    const server = await modelServer(({ results }) =>
      results.length > 0
        ? { text: 'ok' }
        : { calls: [{ name: 'look', arguments: {} }], reasoning: 'THOUGHT' },
    )
    const host = systemHost({ env: {} })
    const run = async (model: string, said: readonly Message[]) => {
      const choice = { host, api, model, baseUrl: server.baseUrl(api) }
      for await (const event of runAgent({ host, model: chooseModel(choice), messages: said, tools: [look] }))
        if (event.type === 'done') return event.messages
      throw new Error('no end')
    }
    try {
      const said = await run('one', [userMessage('go')])
      expect(JSON.stringify(server.requests[1]?.body)).toContain(expected)
      await run('other', [...said, userMessage('again')])
      expect(JSON.stringify(server.requests[2]?.body)).not.toContain('THOUGHT')
    } finally {
      await server.close()
    }
  })
})
