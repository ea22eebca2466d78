// openai.ts: chat completions of OpenAI and everything compatible with it, streaming.
import { isObject } from '@plugboard/core/json'
import { type OfferedTool, toOpenAiChat } from '@plugboard/core/tools'
import { type CallResult, type ContentBlock, type Message, textOf, type Usage } from '../messages.ts'
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
 * Which model of OpenAI or of a compatible server, where, and by whose key.
 *
 * @example
 * const options: OpenAiOptions = { model: 'qwen3', baseUrl: 'http://127.0.0.1:11434/v1', host: systemHost() }
 * console.log(openAiModel(options).id) // qwen3
 */
export interface OpenAiOptions extends ModelOptions {
  /** With its `/v1`. */
  readonly baseUrl?: string | undefined
}

export const OPENAI_BASE_URL = 'https://api.openai.com/v1'
export const OPENAI_CONTEXT_TOKENS = 128_000

/**
 * A model that speaks OpenAI's chat completions, as most local servers do.
 *
 * @example
 * const model = openAiModel({ model: 'qwen3', baseUrl: 'http://127.0.0.1:11434/v1', host: systemHost() })
 * console.log(model.id) // qwen3
 */
export function openAiModel(options: OpenAiOptions): Model {
  const base = (options.baseUrl ?? OPENAI_BASE_URL).replace(/\/+$/, '')
  return {
    id: options.model,
    contextTokens: options.contextTokens ?? OPENAI_CONTEXT_TOKENS,
    stream: (request, signal) =>
      readOpenAi(
        eventData({
          host: options.host,
          url: `${base}/chat/completions`,
          headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
          body: openAiBody(options.model, request, options.baseUrl === undefined),
          signal,
          keyHint: 'Check OPENAI_API_KEY.',
        }),
      ),
  }
}

/** OpenAI itself has renamed the limit of a response; the compatible servers know it by its old name. */
export function openAiBody(model: string, request: ModelRequest, own: boolean): Plain {
  const { system, temperature, stopSequences, maxTokens } = request
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...request.messages.flatMap(messageJson),
    ],
    ...(request.tools.length > 0 && { tools: request.tools.map((tool: OfferedTool) => toOpenAiChat(tool)) }),
    ...(maxTokens !== undefined && { [own ? 'max_completion_tokens' : 'max_tokens']: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && stopSequences.length > 0 && { stop: stopSequences.slice(0, 4) }),
  }
}

function messageJson(message: Message): Plain[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: contentJson(message.content) }]
    case 'assistant': {
      if (message.text === '' && message.calls.length === 0) return []
      const calls = message.calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: JSON.stringify(call.arguments) },
      }))
      return [
        {
          role: 'assistant',
          content: message.text === '' ? null : message.text,
          ...(calls.length > 0 && { tool_calls: calls }),
        },
      ]
    }
    case 'results':
      return resultsJson(message.results)
  }
}

/** A result takes text only, so its images follow as if the user had sent them. */
function resultsJson(results: readonly CallResult[]): Plain[] {
  const answers = results.map(({ id, isError, content }) => {
    const said = textOf(content) || '(nothing)'
    return { role: 'tool', tool_call_id: id, content: isError ? `Error: ${said}` : said }
  })
  const pictures = results.flatMap(({ name, content }) =>
    content.some(({ type }) => type === 'image')
      ? [
          { type: 'text', text: `Shown by ${name}:` } as const,
          ...content.filter(({ type }) => type === 'image'),
        ]
      : [],
  )
  return pictures.length === 0 ? answers : [...answers, { role: 'user', content: contentJson(pictures) }]
}

function contentJson(content: readonly ContentBlock[]): string | Plain[] {
  if (content.every(({ type }) => type === 'text')) return textOf(content)
  return content.map((block) =>
    block.type === 'text'
      ? { type: 'text', text: block.text }
      : { type: 'image_url', image_url: { url: `data:${block.mimeType};base64,${block.data}` } },
  )
}

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  tool_calls: 'calls',
  function_call: 'calls',
  length: 'length',
  content_filter: 'refusal',
}

interface OpenCall {
  id: string
  name: string
  argumentsText: string
}

/** Turns chunks of a chat completion into our events; calls are emitted when the response is complete. */
export async function* readOpenAi(events: AsyncIterable<string>): AsyncGenerator<ModelEvent> {
  const calls = new Map<number, OpenCall>()
  let reason: StopReason | undefined
  let usage: Usage | undefined
  for await (const data of events) {
    if (data.trim() === '[DONE]') break
    const chunk = parseEvent(data)
    if (chunk.error !== undefined && chunk.error !== null) throw failureOf(chunk.error)
    if (isObject(chunk.usage))
      usage = {
        inputTokens: count(chunk.usage.prompt_tokens),
        outputTokens: count(chunk.usage.completion_tokens),
      }
    const choice = record(Array.isArray(chunk.choices) ? chunk.choices[0] : undefined)
    const delta = record(choice.delta)
    // Servers of reasoning models use one name or the other.
    const thought = text(delta.reasoning_content) || text(delta.reasoning)
    if (thought !== '') yield { type: 'thinking', text: thought }
    if (text(delta.content) !== '') yield { type: 'text', text: text(delta.content) }
    if (Array.isArray(delta.tool_calls)) for (const part of delta.tool_calls) collect(calls, record(part))
    if (typeof choice.finish_reason === 'string')
      reason = Object.hasOwn(STOPS, choice.finish_reason) ? STOPS[choice.finish_reason] : 'end'
  }
  // A stream may end without its last line, but not without its reason.
  if (reason === undefined) throw new ModelFailure('cut', "The model's answer ended early.")
  for (const call of calls.values()) yield { type: 'call', ...call }
  yield {
    type: 'stop',
    reason: calls.size > 0 && reason === 'end' ? 'calls' : reason,
    ...(usage && { usage }),
  }
}

/** Pieces of one call share an index; some servers leave it out and send each call whole. */
function collect(calls: Map<number, OpenCall>, part: Plain): void {
  const { name, arguments: args } = record(part.function)
  const index =
    typeof part.index === 'number'
      ? part.index
      : text(part.id) !== ''
        ? calls.size
        : Math.max(0, calls.size - 1)
  const call = calls.get(index) ?? { id: '', name: '', argumentsText: '' }
  calls.set(index, call)
  call.id ||= text(part.id)
  call.name += text(name)
  call.argumentsText += isObject(args) ? JSON.stringify(args) : text(args)
}

function failureOf(value: unknown): ModelFailure {
  const error = record(value)
  const message = `The model reported: ${text(error.message) || text(value) || 'an error'}`
  const status = Number(error.code)
  if (status === 429) return new ModelFailure('busy', message)
  if (error.type === 'invalid_request_error') return new ModelFailure('request', message)
  return new ModelFailure('server', message)
}
