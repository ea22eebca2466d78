// openai-responses.ts: OpenAI's Responses API, streaming, without state at the provider: every request carries the whole
// conversation, and what a reasoning model thought travels with its calls in encrypted form.
import { type OfferedTool, toOpenAiResponses } from '@plugboard/core/tools'
import { type CallResult, type ContentBlock, type Message, textOf, type Usage } from '../messages.ts'
import { eventData } from './http.ts'
import { count, type Plain, parseEvent, record, text } from './json.ts'
import { type Model, type ModelEvent, ModelFailure, type ModelRequest, type StopReason } from './model.ts'
import { OPENAI_BASE_URL, OPENAI_CONTEXT_TOKENS, type OpenAiOptions } from './openai.ts'

/**
 * A model that speaks OpenAI's responses.
 *
 * @example
 * const model = openAiResponsesModel({ model: 'gpt-5', apiKey: 'sk-…', host: systemHost() })
 * console.log(model.id) // gpt-5
 */
export function openAiResponsesModel(options: OpenAiOptions): Model {
  const base = (options.baseUrl ?? OPENAI_BASE_URL).replace(/\/+$/, '')
  return {
    id: options.model,
    contextTokens: options.contextTokens ?? OPENAI_CONTEXT_TOKENS,
    stream: (request, signal) =>
      readResponses(
        eventData({
          host: options.host,
          url: `${base}/responses`,
          headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
          body: responsesBody(options.model, request),
          signal,
          keyHint: 'Check OPENAI_API_KEY.',
        }),
        options.model,
      ),
  }
}

/** Stop sequences are left out: this API has none. */
export function responsesBody(model: string, request: ModelRequest): Plain {
  const { system, temperature, maxTokens } = request
  return {
    model,
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(system !== undefined && { instructions: system }),
    input: request.messages.flatMap((message) => items(message, model)),
    ...(request.tools.length > 0 && {
      tools: request.tools.map((tool: OfferedTool) => toOpenAiResponses(tool)),
    }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
  }
}

function items(message: Message, model: string): Plain[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: contentJson(message.content) }]
    case 'assistant':
      return [
        ...(message.text === '' ? [] : [{ role: 'assistant', content: message.text }]),
        ...message.calls.flatMap(({ id, name, arguments: args, providerData }) => [
          ...(providerData?.model === tagOf(model) ? [parseEvent(providerData.data)] : []),
          { type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) },
        ]),
      ]
    case 'results':
      return message.results.map(resultJson)
  }
}

function resultJson({ id, isError, content }: CallResult): Plain {
  const hasImage = content.some(({ type }) => type === 'image')
  const said = textOf(content) || '(nothing)'
  const output = hasImage ? contentJson(content) : isError ? `Error: ${said}` : said
  return { type: 'function_call_output', call_id: id, output }
}

function contentJson(content: readonly ContentBlock[]): Plain[] {
  return content.map((block) =>
    block.type === 'text'
      ? { type: 'input_text', text: block.text }
      : { type: 'input_image', image_url: `data:${block.mimeType};base64,${block.data}` },
  )
}

function tagOf(model: string): string {
  return `openai-responses/${model}`
}

/** Turns events of the Responses API into ours; a call is emitted when it is complete. */
export async function* readResponses(
  events: AsyncIterable<string>,
  model: string,
): AsyncGenerator<ModelEvent> {
  let calls = 0
  let refused = false
  let reasoning: Plain | undefined
  for await (const data of events) {
    if (data.trim() === '[DONE]') break
    const event = parseEvent(data)
    switch (event.type) {
      case 'response.output_text.delta':
        if (text(event.delta) !== '') yield { type: 'text', text: text(event.delta) }
        break
      case 'response.refusal.delta':
        refused = true
        if (text(event.delta) !== '') yield { type: 'text', text: text(event.delta) }
        break
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        if (text(event.delta) !== '') yield { type: 'thinking', text: text(event.delta) }
        break
      case 'response.output_item.done': {
        const item = record(event.item)
        if (item.type === 'reasoning' && text(item.encrypted_content) !== '') reasoning = item
        if (item.type !== 'function_call') break
        calls++
        yield {
          type: 'call',
          id: text(item.call_id),
          name: text(item.name),
          argumentsText: text(item.arguments),
          ...(reasoning && { providerData: { model: tagOf(model), data: JSON.stringify(reasoning) } }),
        }
        reasoning = undefined
        break
      }
      case 'response.completed':
      case 'response.incomplete':
        yield stopOf(record(event.response), calls, refused)
        return
      case 'response.failed':
        throw failureOf(record(record(event.response).error))
      case 'error':
        throw failureOf(event.error === undefined ? event : record(event.error))
    }
  }
  throw new ModelFailure('cut', "The model's answer ended early.")
}

function stopOf(response: Plain, calls: number, refused: boolean): ModelEvent {
  const { reason: why } = record(response.incomplete_details)
  const used = record(response.usage)
  const usage: Usage = {
    inputTokens: count(used.input_tokens),
    outputTokens: count(used.output_tokens),
  }
  let reason: StopReason = calls > 0 ? 'calls' : 'end'
  if (refused || why === 'content_filter') reason = 'refusal'
  else if (response.status === 'incomplete') reason = 'length'
  return { type: 'stop', reason, usage }
}

function failureOf(error: Plain): ModelFailure {
  const message = `The model reported: ${text(error.message) || text(error.code) || 'an error'}`
  switch (text(error.code)) {
    case 'rate_limit_exceeded':
      return new ModelFailure('busy', message)
    case 'server_is_overloaded':
      return new ModelFailure('overloaded', message)
    case 'invalid_api_key':
    case 'insufficient_quota':
      return new ModelFailure('auth', message)
    case 'invalid_prompt':
    case 'context_length_exceeded':
    case 'invalid_request_error':
      return new ModelFailure('request', message)
    default:
      return new ModelFailure('server', message)
  }
}
