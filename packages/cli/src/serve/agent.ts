// agent.ts: `serve --agent` offers the agent itself as a tool. Its tools are those that the calling client sees, with that
// client's permissions; its model is the one of the environment, or the client's own by sampling.
import {
  type AgentTool,
  type ContentBlock,
  chooseModel,
  type Message,
  type Model,
  type ModelEvent,
  ModelFailure,
  type ModelRequest,
  runAgent,
  userMessage,
} from '@plugboard/agent'
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { isObject, type Json } from '@plugboard/core/json'
import type { OwnTool, OwnToolContext } from '@plugboard/gateway'

const MOST_TURNS = 50
const USUAL_TURNS = 20
/** More definitions than this fill a model's window. */
const MOST_TOOLS = 128
const SAMPLING_TOKENS = 4096
const SYSTEM =
  'You do one task for the client of a tool server, who sees only your last message. Use the tools you have, then answer with what was found or done, short and complete.'

export function askAgentTool(host: Host): OwnTool {
  return {
    definition: {
      name: 'ask_agent',
      title: 'Ask the agent',
      description:
        'Gives a task to an agent that has the tools of this server, and returns its answer. Good for work that needs many calls of which only the outcome matters.',
      inputSchema: {
        type: 'object',
        properties: {
          prompt: { type: 'string', description: 'The task, with all that is needed to know.' },
          tools: {
            type: 'array',
            items: { type: 'string' },
            description: 'Only these tools, by name; a name that ends in * means all that begin so.',
          },
          max_turns: { type: 'integer', minimum: 1, maximum: MOST_TURNS },
        },
        required: ['prompt'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    },
    call: (args, context) => askAgent(host, args, context),
  }
}

async function askAgent(host: Host, args: Json, context: OwnToolContext): Promise<Json> {
  const { prompt, tools: only, max_turns: turns = USUAL_TURNS } = args
  if (typeof prompt !== 'string' || prompt.trim() === '')
    return fault('"prompt" is missing: it says what to do.')
  if (only !== undefined && !(Array.isArray(only) && only.every((name) => typeof name === 'string')))
    return fault('"tools" is a list of tool names.')
  if (typeof turns !== 'number' || !Number.isInteger(turns) || turns < 1 || turns > MOST_TURNS)
    return fault(`"max_turns" is a whole number from 1 to ${MOST_TURNS}.`)
  const tools = agentTools(context, only as readonly string[] | undefined)
  if (tools.length > MOST_TOOLS)
    return fault(
      `There are ${tools.length} tools, too many for one agent. Name those that it needs in "tools".`,
    )
  const model = modelFor(host, context)
  if ('problem' in model) return fault(model.problem)
  let answer = ''
  for await (const event of runAgent({
    model,
    messages: [userMessage(prompt)],
    system: SYSTEM,
    tools,
    maxTurns: turns,
    signal: context.signal,
    host,
  })) {
    if (event.type === 'turn') context.progress(`Turn ${event.turn}`)
    if (event.type === 'tool-start') context.progress(`Calls ${event.name}`)
    if (event.type === 'error') return fault(event.error.message)
    if (event.type === 'done') {
      answer = event.text
      if (event.reason !== 'end') return fault(`${answer}\n\n(It ended early: ${event.reason}.)`.trim())
    }
  }
  return { content: [{ type: 'text', text: answer }] }
}

function agentTools(context: OwnToolContext, only: readonly string[] | undefined): AgentTool[] {
  const isMeant = (name: string) =>
    only === undefined ||
    only.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name))
  return context.tools
    .filter(({ name }) => isMeant(String(name)))
    .map((definition) => {
      const name = String(definition['name'])
      const { annotations, inputSchema, title } = definition
      return {
        name,
        description: String(definition['description'] ?? ''),
        inputJsonSchema: isObject(inputSchema) ? inputSchema : { type: 'object' },
        ...(typeof title === 'string' && { title }),
        concurrencySafe: isObject(annotations) && annotations['readOnlyHint'] === true,
        call: async (args) => {
          const { content, isError } = await context.callTool(name, { ...args })
          return { isError: isError === true, content: blocks(content) }
        },
      }
    })
}

function blocks(content: unknown): ContentBlock[] {
  if (!Array.isArray(content)) return []
  return content.map((block: unknown): ContentBlock => {
    if (isObject(block) && block['type'] === 'text') return { type: 'text', text: String(block['text']) }
    if (isObject(block) && block['type'] === 'image' && typeof block['data'] === 'string')
      return { type: 'image', data: block['data'], mimeType: String(block['mimeType'] ?? 'image/png') }
    return { type: 'text', text: JSON.stringify(block) }
  })
}

function modelFor(host: Host, context: OwnToolContext): Model | { readonly problem: string } {
  try {
    return chooseModel({ host })
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    if (context.capabilities.sampling) return samplingModel(context)
    return { problem: `The agent has no model: ${error.message} A client with sampling could lend its own.` }
  }
}

/** The client's own model. Without `sampling.tools` it can answer, but call nothing. */
function samplingModel({ ask, capabilities }: OwnToolContext): Model {
  return {
    id: 'the model of the client',
    contextTokens: 100_000,
    async *stream({ system, messages, tools, maxTokens }: ModelRequest, signal): AsyncGenerator<ModelEvent> {
      const answer = await ask(
        'sampling/createMessage',
        {
          messages: messages.map(sampled),
          maxTokens: maxTokens ?? SAMPLING_TOKENS,
          ...(system !== undefined && { systemPrompt: system }),
          ...(capabilities.samplingTools &&
            tools.length > 0 && {
              tools: tools.map(({ name, description, inputJsonSchema }) => ({
                name,
                description,
                inputSchema: inputJsonSchema,
              })),
            }),
        },
        signal ?? new AbortController().signal,
      )
      const parts = [answer['content']].flat().filter(isObject)
      if (parts.length === 0) throw new ModelFailure('garbage', 'The client answered without content.')
      let calls = 0
      for (const part of parts) {
        if (part['type'] === 'text') yield { type: 'text', text: String(part['text']) }
        if (part['type'] !== 'tool_use') continue
        calls++
        const input = JSON.stringify(part['input'] ?? {})
        yield { type: 'call', id: String(part['id']), name: String(part['name']), argumentsText: input }
      }
      const isCut = answer['stopReason'] === 'maxTokens'
      yield { type: 'stop', reason: calls > 0 ? 'calls' : isCut ? 'length' : 'end' }
    },
  }
}

function sampled(message: Message): Json {
  if (message.role === 'user') return { role: 'user', content: message.content }
  if (message.role === 'assistant') {
    const text = message.text === '' ? [] : [{ type: 'text', text: message.text }]
    const calls = message.calls.map(({ id, name, arguments: input }) => ({
      type: 'tool_use',
      id,
      name,
      input,
    }))
    return { role: 'assistant', content: [...text, ...calls] }
  }
  const content = message.results.map(({ id, content: given, isError }) => ({
    type: 'tool_result',
    toolUseId: id,
    content: given,
    isError,
  }))
  return { role: 'user', content }
}

function fault(text: string): Json {
  return { isError: true, content: [{ type: 'text', text }] }
}
