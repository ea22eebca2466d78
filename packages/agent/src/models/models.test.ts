// How the adapters read odd streams, and which model is chosen.
import { systemHost } from '@plugboard/core/host'
import { describe, expect, it } from 'vitest'
import { anthropicBody, readAnthropic } from './anthropic.ts'
import { chooseModel } from './choose.ts'
import { ModelFailure } from './model.ts'
import { openAiBody, readOpenAi } from './openai.ts'

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
  ])('%j %j', (env, choice, id) => {
    expect(chooseModel({ host: withEnv(env as Record<string, string>), ...choice }).id).toBe(id)
  })

  it('names the key that is missing', () => {
    expect(() => chooseModel({ host: withEnv({ ANTHROPIC_API_KEY: ' ' }) })).toThrow(
      /ANTHROPIC_API_KEY or OPENAI_API_KEY/,
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

  it.each([readAnthropic, readOpenAi])('ignores unknown events', async (read) => {
    const odd = lines(
      { type: 'ping' },
      { choices: 'no' },
      { choices: [null] },
      { type: 'content_block_delta', index: 9 },
    )
    await expect(all(read(odd))).rejects.toBeInstanceOf(ModelFailure)
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
  })
})
