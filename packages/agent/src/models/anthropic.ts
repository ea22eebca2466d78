// anthropic.ts: the Messages API, streaming: a conversation into its JSON, its events into ours.
import { fromAnthropic, type OfferedTool, toAnthropic } from '@plugboard/core/tools'
import { AGENT_LIMITS } from '../limits.ts'
import type { ContentBlock, Message, Usage } from '../messages.ts'
import { withOwnArguments } from './decode-arguments.ts'
import { eventData } from './http.ts'
import { count, type Plain, parseEvent, record, text } from './json.ts'
import {
  type Model,
  type ModelEvent,
  ModelFailure,
  type ModelOptions,
  type ModelRequest,
  type StopReason,
} from './model.ts'

/**
 * Which model of Anthropic, where, and by whose key.
 *
 * @example
 * const options: AnthropicOptions = { model: 'claude-sonnet-4-5', authToken: '…', host: systemHost() }
 * console.log(anthropicModel(options).contextTokens) // 200000
 */
export interface AnthropicOptions extends ModelOptions {
  /** A bearer token instead of a key. */
  readonly authToken?: string | undefined
}

const BASE_URL = 'https://api.anthropic.com'
const CONTEXT_TOKENS = 200_000

/**
 * A model that speaks Anthropic's Messages API.
 *
 * @example
 * const model = anthropicModel({ model: 'claude-sonnet-4-5', apiKey: 'sk-…', host: systemHost() })
 * console.log(model.id) // claude-sonnet-4-5
 */
export function anthropicModel(options: AnthropicOptions): Model {
  const base = (options.baseUrl ?? BASE_URL).replace(/\/+$/, '').replace(/\/v1$/, '')
  const { apiKey, authToken } = options
  return {
    id: options.model,
    contextTokens: options.contextTokens ?? CONTEXT_TOKENS,
    stream: (request, signal) =>
      withOwnArguments(
        request.tools,
        fromAnthropic,
        readAnthropic(
          eventData({
            host: options.host,
            url: `${base}/v1/messages`,
            headers: {
              'anthropic-version': '2023-06-01',
              ...(apiKey !== undefined && { 'x-api-key': apiKey }),
              ...(authToken !== undefined && { authorization: `Bearer ${authToken}` }),
            },
            body: anthropicBody(options.model, request),
            signal,
            keyHint: 'Check ANTHROPIC_API_KEY.',
          }),
        ),
      ),
  }
}

export function anthropicBody(model: string, request: ModelRequest): Plain {
  const { system, temperature, stopSequences } = request
  return {
    model,
    max_tokens: request.maxTokens ?? AGENT_LIMITS.answerTokens,
    stream: true,
    // Tools come before the system prompt in the cache, so one mark keeps both.
    ...(system !== undefined && {
      system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    }),
    messages: request.messages.flatMap(messageJson),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool: OfferedTool) => toAnthropic(tool)) }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && stopSequences.length > 0 && { stop_sequences: stopSequences }),
  }
}

function messageJson(message: Message): Plain[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: blocksJson(message.content) }]
    case 'assistant': {
      const content = [
        // The API refuses text that is empty or only white space.
        ...(message.text.trim() === '' ? [] : [{ type: 'text', text: message.text.trimEnd() }]),
        ...message.calls.map((call) => ({
          type: 'tool_use',
          id: call.id,
          name: call.name,
          input: call.arguments,
        })),
      ]
      return content.length === 0 ? [] : [{ role: 'assistant', content }]
    }
    case 'results':
      return [
        {
          role: 'user',
          content: message.results.map(({ id, isError, content }) => ({
            type: 'tool_result',
            tool_use_id: id,
            ...(isError && { is_error: true }),
            content: blocksJson(content),
          })),
        },
      ]
  }
}

function blocksJson(content: readonly ContentBlock[]): Plain[] {
  const blocks = content.flatMap((block): Plain[] => {
    if (block.type === 'text') return block.text === '' ? [] : [{ type: 'text', text: block.text }]
    return [{ type: 'image', source: { type: 'base64', media_type: block.mimeType, data: block.data } }]
  })
  return blocks.length > 0 ? blocks : [{ type: 'text', text: '(nothing)' }]
}

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  pause_turn: 'end',
  tool_use: 'calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
  stop_sequence: 'stop-sequence',
}

interface OpenCall {
  readonly id: string
  readonly name: string
  argumentsText: string
}

/** Turns events of the Messages API into ours; a call is emitted when it is complete. */
export async function* readAnthropic(events: AsyncIterable<string>): AsyncGenerator<ModelEvent> {
  const open = new Map<unknown, OpenCall>()
  let reason: StopReason | undefined
  let usage: Usage = { inputTokens: 0, outputTokens: 0 }
  for await (const data of events) {
    const event = parseEvent(data)
    switch (event.type) {
      case 'message_start':
        usage = { ...usage, inputTokens: inputTokens(record(event.message).usage) }
        break
      case 'content_block_start': {
        const block = record(event.content_block)
        if (block.type === 'tool_use')
          open.set(event.index, { id: text(block.id), name: text(block.name), argumentsText: '' })
        else if (block.type === 'text' && text(block.text) !== '')
          yield { type: 'text', text: text(block.text) }
        break
      }
      case 'content_block_delta': {
        const delta = record(event.delta)
        const call = open.get(event.index)
        if (delta.type === 'text_delta' && text(delta.text) !== '')
          yield { type: 'text', text: text(delta.text) }
        else if (delta.type === 'thinking_delta' && text(delta.thinking) !== '')
          yield { type: 'thinking', text: text(delta.thinking) }
        else if (delta.type === 'input_json_delta' && call) call.argumentsText += text(delta.partial_json)
        break
      }
      case 'content_block_stop': {
        const call = open.get(event.index)
        open.delete(event.index)
        if (call) yield { type: 'call', ...call }
        break
      }
      case 'message_delta':
        reason = stopOf(record(event.delta).stop_reason) ?? reason
        usage = {
          inputTokens: inputTokens(event.usage) || usage.inputTokens,
          outputTokens: count(record(event.usage).output_tokens) || usage.outputTokens,
        }
        break
      case 'message_stop':
        yield { type: 'stop', reason: reason ?? 'end', usage }
        return
      case 'error':
        throw failureOf(record(event.error))
    }
  }
  throw new ModelFailure('cut', "The model's answer ended early.")
}

function stopOf(value: unknown): StopReason | undefined {
  if (typeof value !== 'string') return undefined
  return Object.hasOwn(STOPS, value) ? STOPS[value] : 'end'
}

function inputTokens(value: unknown): number {
  const usage = record(value)
  return (
    count(usage.input_tokens) +
    count(usage.cache_read_input_tokens) +
    count(usage.cache_creation_input_tokens)
  )
}

function failureOf(error: Plain): ModelFailure {
  const message = `The model reported: ${text(error.message) || text(error.type) || 'an error'}`
  switch (error.type) {
    case 'overloaded_error':
      return new ModelFailure('overloaded', message)
    case 'rate_limit_error':
      return new ModelFailure('busy', message)
    case 'invalid_request_error':
      return new ModelFailure('request', message)
    case 'authentication_error':
    case 'permission_error':
      return new ModelFailure('auth', message)
    default:
      return new ModelFailure('server', message)
  }
}
