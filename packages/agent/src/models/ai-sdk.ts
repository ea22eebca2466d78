// ai-sdk.ts: any model object of Vercel's AI SDK as a model of the loop: a conversation into its prompt, its stream into our
// events. It knows the shape of such an object by type alone: the package itself is the program's.
import { Cancelled } from '@plugboard/core/errors'
import type { OfferedTool } from '@plugboard/core/tools'
import type { CallResult, ContentBlock, Message, Usage } from '../messages.ts'
import { textOf } from '../messages.ts'
import { count, type Plain, record, text } from './json.ts'
import {
  type FailureKind,
  type Model,
  type ModelEvent,
  ModelFailure,
  type ModelRequest,
  type StopReason,
} from './model.ts'

/** As much of the AI SDK's `LanguageModelV2` (`ai` 5) and later versions as is used here. */
export interface AiSdkModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  // biome-ignore lint/suspicious/noExplicitAny: its options differ between versions of the specification; ours fit each
  doStream(options: any): PromiseLike<{ readonly stream: ReadableStream<{ readonly type: string }> }>
}

/**
 * What is known about a model of the AI SDK beyond the object.
 *
 * @example
 * import { anthropic } from '@ai-sdk/anthropic'
 * const options: AiSdkOptions = {
 *   contextTokens: 200_000,
 *   providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } },
 * }
 * console.log(fromAiSdk(anthropic('claude-sonnet-4-5'), options).contextTokens) // 200000
 */
export interface AiSdkOptions {
  /** How much fits into one request; the AI SDK does not know. */
  readonly contextTokens?: number
  /** Passed to the provider unchanged. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const CONTEXT_TOKENS = 128_000

/**
 * A model of the AI SDK for `runAgent`.
 *
 * @example
 * import { anthropic } from '@ai-sdk/anthropic'
 * runAgent({ board, model: fromAiSdk(anthropic('claude-sonnet-4-5')), messages: [userMessage('Hello')] })
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  const { contextTokens = CONTEXT_TOKENS, providerOptions } = options
  return {
    id: model.modelId,
    contextTokens,
    stream: (request, signal) => streamOf(model, { ...callOf(request), providerOptions }, signal),
  }
}

async function* streamOf(
  model: AiSdkModel,
  call: Plain,
  signal: AbortSignal | undefined,
): AsyncGenerator<ModelEvent> {
  try {
    const { stream } = await model.doStream({ ...call, ...(signal && { abortSignal: signal }) })
    yield* readParts(stream)
  } catch (error) {
    if (signal?.aborted) throw new Cancelled(undefined, { cause: error })
    throw error instanceof ModelFailure ? error : failureOf(model, error)
  }
}

function callOf({ system, messages, tools, maxTokens, temperature, stopSequences }: ModelRequest): Plain {
  return {
    prompt: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap(messageJson),
    ],
    ...(tools.length > 0 && { tools: tools.map(toolJson), toolChoice: { type: 'auto' } }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && stopSequences.length > 0 && { stopSequences }),
  }
}

function toolJson({ name, description, inputJsonSchema }: OfferedTool): Plain {
  return { type: 'function', name, description, inputSchema: inputJsonSchema }
}

function messageJson(message: Message): Plain[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.content.map(partJson) }]
    case 'assistant': {
      const content = [
        ...(message.text.trim() === '' ? [] : [{ type: 'text', text: message.text }]),
        ...message.calls.map(({ id, name, arguments: input }) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input,
        })),
      ]
      return content.length === 0 ? [] : [{ role: 'assistant', content }]
    }
    case 'results':
      return resultsJson(message.results)
  }
}

function partJson(block: ContentBlock): Plain {
  return block.type === 'text' ? block : { type: 'file', data: block.data, mediaType: block.mimeType }
}

/** A result takes text; its images follow as if the user had sent them, which every provider takes. */
function resultsJson(results: readonly CallResult[]): Plain[] {
  const content = results.map(({ id, name, isError, content }) => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: name,
    output: { type: isError ? 'error-text' : 'text', value: textOf(content) || '(nothing)' },
  }))
  const pictures = results.flatMap(({ content }) => content.filter(({ type }) => type === 'image'))
  return [
    { role: 'tool', content },
    ...(pictures.length > 0 ? [{ role: 'user', content: pictures.map(partJson) }] : []),
  ]
}

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  'content-filter': 'refusal',
  'tool-calls': 'calls',
}

async function* readParts(stream: ReadableStream<{ readonly type: string }>): AsyncGenerator<ModelEvent> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const part = record(value)
      switch (part.type) {
        case 'text-delta':
          if (text(part.delta) !== '') yield { type: 'text', text: text(part.delta) }
          break
        case 'reasoning-delta':
          if (text(part.delta) !== '') yield { type: 'thinking', text: text(part.delta) }
          break
        case 'tool-call':
          // A tool that the provider ran itself is part of its answer.
          if (part.providerExecuted !== true) yield callOfPart(part)
          break
        case 'error':
          throw part.error
        case 'finish':
          yield { type: 'stop', reason: reasonOf(part.finishReason), usage: usageOf(record(part.usage)) }
          return
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
  throw new ModelFailure('cut', "The model's answer ended early.")
}

function callOfPart(part: Plain): ModelEvent {
  const { toolCallId, toolName, input } = part
  const argumentsText = typeof input === 'string' ? input : JSON.stringify(input ?? {})
  return { type: 'call', id: text(toolCallId), name: text(toolName), argumentsText }
}

/** A word in version 2 of the specification, an object with it in version 3. */
function reasonOf(value: unknown): StopReason {
  const word = typeof value === 'string' ? value : text(record(value).unified)
  return Object.hasOwn(STOPS, word) ? (STOPS[word] ?? 'end') : 'end'
}

/** Numbers in version 2, objects with a total in version 3. */
function usageOf({ inputTokens, outputTokens }: Plain): Usage {
  const total = (value: unknown) => count(typeof value === 'number' ? value : record(value).total)
  return { inputTokens: total(inputTokens), outputTokens: total(outputTokens) }
}

/** What the provider threw, by its status; an error of the AI SDK says itself whether a retry can help. */
function failureOf({ provider, modelId }: AiSdkModel, error: unknown): ModelFailure {
  const { statusCode, isRetryable, message, url } = record(error)
  const status = typeof statusCode === 'number' ? statusCode : undefined
  const where =
    text(url) === '' ? `${modelId} of ${provider}` : `The model at ${text(url).replace(/[?#].*$/, '')}`
  const why = text(message) || (typeof error === 'string' ? error : 'an error without a message')
  return new ModelFailure(
    kindOf(status, isRetryable),
    `${where}${status === undefined ? '' : ` answered ${status}`}: ${why}`,
    {
      status,
      cause: error,
      ...((status === 401 || status === 403) && { hint: `Check the key of the provider ${provider}.` }),
    },
  )
}

function kindOf(status: number | undefined, isRetryable: unknown): FailureKind {
  if (status === 429) return 'busy'
  if (status === 401 || status === 403) return 'auth'
  if (status !== undefined && status >= 500) return status === 503 || status === 529 ? 'overloaded' : 'server'
  if (status !== undefined) return isRetryable === true ? 'server' : 'request'
  return isRetryable === false ? 'unreachable' : 'network'
}
