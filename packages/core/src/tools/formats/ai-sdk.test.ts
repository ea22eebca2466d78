// The real AI SDK drives a tool; only its language model is scripted.
import { generateText, jsonSchema, stepCountIs } from 'ai'
import { MockLanguageModelV2 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { loadZod } from '../schema/index.ts'
import { BoundTool, type CallContext } from '../tool.ts'
import { toAiSdk } from './ai-sdk.ts'

describe('the AI SDK', () => {
  it('calls a tool with checked arguments and shows the model what it answered', async () => {
    const calls: { args: unknown; context: CallContext }[] = []
    const tool = new BoundTool(
      {
        name: 'mcp__s__greet',
        server: 's',
        definition: {
          name: 'greet',
          description: 'Greets.',
          inputSchema: {
            type: 'object',
            properties: { who: { type: 'string' }, 'how often?': { type: 'integer' } },
            required: ['who'],
          },
        },

        env: {},
        zod: await loadZod(),
      },
      {
        call: async (_, args, context) => {
          calls.push({ args, context })
          return {
            isError: false,
            content: [{ type: 'text', text: `Hello ${args.who}` }],
            savedFiles: [],
            truncated: false,
            warnings: [],
          }
        },
        decide: () => ({ outcome: 'allow', reason: { kind: 'default', text: '' } }),
      },
    )
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    const steps = ['{"who": 7}', '{"who": "Ann", "how_often_": 2}']
    const model = new MockLanguageModelV2({
      doGenerate: async () => {
        const input = steps.shift()
        return input
          ? {
              content: [{ type: 'tool-call', toolCallId: String(steps.length), toolName: tool.name, input }],
              finishReason: 'tool-calls',
              usage,
              warnings: [],
            }
          : { content: [{ type: 'text', text: 'done' }], finishReason: 'stop', usage, warnings: [] }
      },
    })
    const abort = new AbortController()
    const { text } = await generateText({
      model,
      abortSignal: abort.signal,
      prompt: 'greet Ann',
      tools: toAiSdk([tool], jsonSchema),
      stopWhen: stepCountIs(5),
    })
    expect(text).toBe('done')
    expect(calls.map(({ args }) => args)).toEqual([{ who: 'Ann', 'how often?': 2 }])
    // Aborting the conversation aborts the call.
    expect(calls[0]?.context).toMatchObject({ signal: { aborted: false } })
    abort.abort()
    expect(calls[0]?.context.signal?.aborted).toBe(true)
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { name: 'mcp__s__greet', inputSchema: { type: 'object', required: ['who'] } },
    ])
    const prompts = JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt))
    expect(prompts).toContain('who must be a string')
    expect(prompts).toContain('"value":[{"type":"text","text":"Hello Ann"}]')
  })
})
