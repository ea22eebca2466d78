// The real AI SDK drives a tool, alone and of a real board; only its language model is scripted.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { generateText, jsonSchema, stepCountIs } from 'ai'
import { MockLanguageModelV2 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { openBoard } from '../../board/open.ts'
import type { BoardBehaviour } from '../../board/options.ts'
import { isPlugboardError } from '../../errors.ts'
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

  const asked: string[] = []
  const ask: BoardBehaviour['ask'] = async ({ request }) => {
    asked.push(request.tool)
    return 'once'
  }
  it.each<[string, BoardBehaviour, Parameters<typeof toAiSdk>[2], string]>([
    ['nobody can be asked', {}, undefined, 'names ask'],
    ['the board is of the user', { caller: 'user' }, undefined, 'ran'],
    ['only this conversation is of the user', {}, { caller: 'user' }, 'ran'],
    ['only this conversation is of an agent', { caller: 'user' }, { caller: 'agent' }, 'names ask'],
    ['the program asks', { ask }, undefined, 'asked, ran'],
    ['the board is of the user, so the program is not asked', { ask, caller: 'user' }, undefined, 'ran'],
    ['a rule of the program allows it', { rules: { allow: ['notes.say'] } }, undefined, 'ran'],
    ['a rule denies it, to the user too', { caller: 'user', rules: { deny: ['notes'] } }, undefined, 'rule'],
  ])('calls in the name of the board: %s', async (_, boardOptions, toolOptions, outcome) => {
    const notes = new McpServer({ name: 'notes', version: '1' })
    notes.registerTool('say', {}, () => ({ content: [{ type: 'text', text: 'SAID' }] }))
    const stateDir = mkdtempSync(join(tmpdir(), 'plugboard-ai-sdk-'))
    asked.length = 0
    try {
      await using board = await openBoard({
        servers: {},
        inProcess: { notes: (end) => notes.connect(end) },
        stateDir,
        ...boardOptions,
      })
      await board.ready()
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
      const model = new MockLanguageModelV2({
        doGenerate: async ({ prompt }) => ({
          content:
            prompt.at(-1)?.role === 'tool'
              ? [{ type: 'text', text: 'done' }]
              : [{ type: 'tool-call', toolCallId: '1', toolName: 'mcp__notes__say', input: '{}' }],
          finishReason: prompt.at(-1)?.role === 'tool' ? 'stop' : 'tool-calls',
          usage,
          warnings: [],
        }),
      })
      const { steps } = await generateText({
        model,
        prompt: 'say it',
        tools: toAiSdk(board.tools(), jsonSchema, toolOptions),
        stopWhen: stepCountIs(3),
      })
      const parts = steps.flatMap(({ content }) => content)
      const failed = parts.find(({ type }) => type === 'tool-error') as { error?: unknown } | undefined
      const ran = JSON.stringify(parts.find(({ type }) => type === 'tool-result') ?? {}).includes('SAID')
      const error = isPlugboardError(failed?.error) ? failed.error : undefined
      // What the program has to change is in the error, in the words of the library.
      const namesAsk = /`ask` function.*`rules\.allow`.*`caller: 'user'`/.test(error?.hint ?? '')
      const what = ran ? 'ran' : namesAsk ? 'names ask' : /rule/.test(error?.hint ?? '') ? 'rule' : 'unclear'
      expect([...asked.map(() => 'asked'), what].join(', ')).toBe(outcome)
      expect(error?.code).toBe(ran ? undefined : 'PERMISSION_DENIED')
    } finally {
      rmSync(stateDir, { recursive: true, force: true })
    }
  })
})
