// gemini.ts: Google's generateContent, streaming: a conversation into its JSON, its pieces into our events.
import { isObject } from '@plugboard/core/json'
import { fromGemini, type OfferedTool, toGemini } from '@plugboard/core/tools'
import { type CallResult, type ContentBlock, type Message, textOf, type Usage } from '../messages.ts'
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

const BASE_URL = 'https://generativelanguage.googleapis.com'
const CONTEXT_TOKENS = 1_048_576
const STOP_SEQUENCES = 5

/**
 * A model that speaks Google's generateContent.
 *
 * @example
 * const model = geminiModel({ model: 'gemini-2.5-pro', apiKey: '…', host: systemHost() })
 * console.log(model.id) // gemini-2.5-pro
 */
export function geminiModel(options: ModelOptions): Model {
  const base = (options.baseUrl ?? BASE_URL).replace(/\/+$/, '').replace(/\/v1(?:alpha|beta)?$/, '')
  const name = encodeURIComponent(options.model.replace(/^models\//, ''))
  return {
    id: options.model,
    contextTokens: options.contextTokens ?? CONTEXT_TOKENS,
    stream: (request, signal) =>
      withOwnArguments(
        request.tools,
        fromGemini,
        readGemini(
          eventData({
            host: options.host,
            url: `${base}/v1beta/models/${name}:streamGenerateContent?alt=sse`,
            // Not in the address: addresses end up in logs.
            headers: options.apiKey === undefined ? {} : { 'x-goog-api-key': options.apiKey },
            body: geminiBody(options.model, request),
            signal,
            keyHint: 'Check GEMINI_API_KEY.',
          }),
          options.model,
        ),
      ),
  }
}

export function geminiBody(model: string, request: ModelRequest): Plain {
  const { system, temperature, maxTokens, stopSequences = [] } = request
  return {
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    contents: request.messages.flatMap((message) => contents(message, model)),
    ...(request.tools.length > 0 && {
      tools: [{ functionDeclarations: request.tools.map((tool: OfferedTool) => toGemini(tool)) }],
    }),
    generationConfig: {
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences.length > 0 && { stopSequences: stopSequences.slice(0, STOP_SEQUENCES) }),
    },
  }
}

function contents(message: Message, model: string): Plain[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', parts: parts(message.content) }]
    case 'assistant': {
      const said = message.text.trim() === '' ? [] : [{ text: message.text }]
      const calls = message.calls.map(({ name, arguments: args, providerData }) => ({
        functionCall: { name, args },
        ...(providerData?.model === tagOf(model) && { thoughtSignature: providerData.data }),
      }))
      return said.length + calls.length === 0 ? [] : [{ role: 'model', parts: [...said, ...calls] }]
    }
    case 'results':
      return resultContents(message.results)
  }
}

/** A response takes an object only, so images follow as if the user had sent them. */
function resultContents(results: readonly CallResult[]): Plain[] {
  const responses = results.map(({ name, isError, content }) => {
    const said = textOf(content) || '(nothing)'
    return { functionResponse: { name, response: isError ? { error: said } : { output: said } } }
  })
  const images = results.flatMap(({ name, content }) => {
    const shown = content.filter(({ type }) => type === 'image')
    return shown.length === 0 ? [] : [{ text: `Shown by ${name}:` }, ...parts(shown)]
  })
  return [
    { role: 'user', parts: responses },
    ...(images.length === 0 ? [] : [{ role: 'user', parts: images }]),
  ]
}

function parts(content: readonly ContentBlock[]): Plain[] {
  const all = content.map(
    (block): Plain =>
      block.type === 'text'
        ? { text: block.text }
        : { inlineData: { mimeType: block.mimeType, data: block.data } },
  )
  return all.length > 0 ? all : [{ text: '(nothing)' }]
}

function tagOf(model: string): string {
  return `gemini/${model}`
}

const STOPS: Readonly<Record<string, StopReason>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
}
/** The model wrote something that is no call; asked again, it usually writes a sound one. */
const FAILED_CALLS: ReadonlySet<unknown> = new Set(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'])

/** Turns the pieces of a response into our events. A call comes whole, in one piece. */
export async function* readGemini(events: AsyncIterable<string>, model: string): AsyncGenerator<ModelEvent> {
  let calls = 0
  let reason: StopReason | undefined
  let usage: Usage | undefined
  for await (const data of events) {
    const chunk = parseEvent(data)
    if (isObject(chunk.error)) throw failureOf(chunk.error)
    if (isObject(chunk.usageMetadata)) usage = usageOf(chunk.usageMetadata)
    if (text(record(chunk.promptFeedback).blockReason) !== '') reason = 'refusal'
    const candidate = record(Array.isArray(chunk.candidates) ? chunk.candidates[0] : undefined)
    for (const event of eventsOf(candidate, model)) {
      if (event.type === 'call') calls++
      yield event
    }
    if (FAILED_CALLS.has(candidate.finishReason))
      throw new ModelFailure('garbage', 'The model wrote a call that cannot be read.')
    if (typeof candidate.finishReason === 'string')
      reason = Object.hasOwn(STOPS, candidate.finishReason) ? STOPS[candidate.finishReason] : 'end'
  }
  if (reason === undefined) throw new ModelFailure('cut', "The model's answer ended early.")
  yield {
    type: 'stop',
    reason: calls > 0 && reason === 'end' ? 'calls' : reason,
    ...(usage && { usage }),
  }
}

function eventsOf(candidate: Plain, model: string): readonly ModelEvent[] {
  const { parts: all } = record(candidate.content)
  if (!Array.isArray(all)) return []
  return all.map(record).flatMap((part): readonly ModelEvent[] => {
    const said = text(part.text)
    if (said !== '') return [{ type: part.thought === true ? 'thinking' : 'text', text: said }]
    if (!isObject(part.functionCall)) return []
    const { id, name, args } = part.functionCall
    const signature = text(part.thoughtSignature)
    return [
      {
        type: 'call',
        id: text(id),
        name: text(name),
        argumentsText: JSON.stringify(args ?? {}),
        ...(signature !== '' && { providerData: { model: tagOf(model), data: signature } }),
      },
    ]
  })
}

function usageOf(used: Plain): Usage {
  return {
    inputTokens: count(used.promptTokenCount),
    outputTokens: count(used.candidatesTokenCount) + count(used.thoughtsTokenCount),
  }
}

function failureOf(error: Plain): ModelFailure {
  const message = `The model reported: ${text(error.message) || text(error.status) || 'an error'}`
  switch (error.code) {
    case 429:
      return new ModelFailure('busy', message)
    case 503:
      return new ModelFailure('overloaded', message)
    case 400:
    case 404:
      return new ModelFailure('request', message)
    case 401:
    case 403:
      return new ModelFailure('auth', message)
    default:
      return new ModelFailure('server', message)
  }
}
