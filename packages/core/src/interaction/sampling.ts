// sampling.ts: a server's request to use the agent's model. The user consents, and limits apply in any case. The
// agent provides the model as a function.
import { Cancelled, InvalidInput, PermissionDenied } from '../errors.ts'
import type { Host } from '../host.ts'
import { isObject } from '../json.ts'
import { INTERACTION_LIMITS } from '../limits.ts'
import { nameText } from '../text/escape-controls.ts'
import { type LayoutOptions, type QuestionText, questionText } from '../text/question-text.ts'

/** What a server wants from a model of the program. */
export interface SamplingRequest {
  readonly server: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: unknown }[]
  readonly systemPrompt?: string
  readonly maxTokens: number
  readonly temperature?: number
  readonly stopSequences?: readonly string[]
  readonly modelPreferences?: unknown
}

/** A model's answer for a server. */
export interface SamplingResult {
  readonly role: 'assistant'
  readonly content: unknown
  readonly model: string
  readonly stopReason?: string
  /** Its cost, for the session's limit; estimated when the model does not report it. */
  readonly tokens?: number
}

export type SamplingConsent = 'once' | 'session' | 'no'

export interface SamplingOptions {
  readonly host: Pick<Host, 'now'>
  readonly model: (request: SamplingRequest, signal?: AbortSignal) => Promise<SamplingResult>
  readonly consent: (request: SamplingRequest, signal?: AbortSignal) => Promise<SamplingConsent>
  readonly maxTokens?: number
  readonly perMinute?: number
  readonly sessionTokens?: number
  readonly concurrent?: number
}

interface Account {
  consented: boolean
  /** When the requests of the last minute arrived. */
  recent: number[]
  tokens: number
  running: number
}

const MINUTE_MS = 60_000
const CHARS_PER_TOKEN = 4

/** Handles `sampling/createMessage` for every server of one board, each with its own usage count. */
export class Sampling {
  readonly #options: Required<SamplingOptions>
  readonly #accounts = new Map<string, Account>()

  constructor(options: SamplingOptions) {
    this.#options = {
      maxTokens: INTERACTION_LIMITS.samplingTokens,
      perMinute: INTERACTION_LIMITS.samplingPerMinute,
      sessionTokens: INTERACTION_LIMITS.samplingSessionTokens,
      concurrent: INTERACTION_LIMITS.samplingConcurrent,
      ...options,
    }
  }

  async createMessage(server: string, params: unknown, signal?: AbortSignal): Promise<SamplingResult> {
    const request = readSampling(server, params, this.#options.maxTokens)
    const account = this.#account(server)
    this.#admit(server, account)
    account.running++
    account.recent.push(this.#options.host.now())
    try {
      if (!account.consented) {
        const answer = await this.#options.consent(request, signal)
        if (answer !== 'once' && answer !== 'session')
          throw new PermissionDenied(`The user did not let "${server}" use the model.`, { server })
        if (answer === 'session') account.consented = true
      }
      if (signal?.aborted) throw new Cancelled()
      const result = await this.#options.model(request, signal)
      account.tokens += result.tokens ?? estimate(request, result)
      return result
    } finally {
      account.running--
    }
  }

  #account(server: string): Account {
    const known = this.#accounts.get(server)
    if (known) return known
    const fresh: Account = { consented: false, recent: [], tokens: 0, running: 0 }
    this.#accounts.set(server, fresh)
    return fresh
  }

  #admit(server: string, account: Account): void {
    const now = this.#options.host.now()
    account.recent = account.recent.filter((at) => now - at < MINUTE_MS)
    const refuse = (why: string) => {
      throw new PermissionDenied(`"${server}" may not use the model now: ${why}.`, { server })
    }
    if (account.running >= this.#options.concurrent) refuse(`${account.running} requests are already running`)
    if (account.recent.length >= this.#options.perMinute)
      refuse(`it made ${account.recent.length} requests in the last minute`)
    if (account.tokens >= this.#options.sessionTokens) refuse('it has used up its tokens for this session')
  }
}

/** Parses the request and applies limits: fewer tokens than requested is fine, more input than allowed is an error. */
export function readSampling(server: string, params: unknown, maxTokens: number): SamplingRequest {
  if (!isObject(params) || !Array.isArray(params.messages) || params.messages.length === 0)
    throw new InvalidInput(`"${server}" asked for a message without giving any.`, { server })
  const messages = params.messages.map((message: unknown) => {
    if (!isObject(message) || (message.role !== 'user' && message.role !== 'assistant'))
      throw new InvalidInput(`"${server}" sent a message with no role.`, { server })
    return { role: message.role, content: message.content } as const
  })
  const size = JSON.stringify(messages).length
  if (size > INTERACTION_LIMITS.samplingInputChars)
    throw new InvalidInput(`"${server}" sent ${size} characters for the model to read.`, { server })
  const wanted = typeof params.maxTokens === 'number' && params.maxTokens > 0 ? params.maxTokens : maxTokens
  const { systemPrompt, temperature, stopSequences, modelPreferences } = params
  return {
    server,
    messages,
    maxTokens: Math.min(Math.floor(wanted), maxTokens),
    ...(typeof systemPrompt === 'string' && { systemPrompt }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(Array.isArray(stopSequences) && {
      stopSequences: stopSequences.filter((one): one is string => typeof one === 'string').slice(0, 16),
    }),
    ...(isObject(modelPreferences) && { modelPreferences }),
  }
}

/** The prompt whether a server may use the model: everything that the model would read. */
export function samplingQuestion(request: SamplingRequest, layout: LayoutOptions = {}): QuestionText {
  const { server, maxTokens, systemPrompt, messages, temperature, stopSequences } = request
  return questionText(
    {
      head: `${nameText(server)} asks for an answer of the model. Allow it?`,
      notes: [`It gets at most ${maxTokens} tokens back. The model would read:`],
      values: {
        ...(systemPrompt !== undefined && { systemPrompt }),
        ...(temperature !== undefined && { temperature }),
        ...(stopSequences !== undefined && { stopSequences }),
        messages: messages.map(({ role, content }) => ({
          role,
          content: Array.isArray(content) ? content.map(withoutBytes) : withoutBytes(content),
        })),
      },
    },
    layout,
  )
}

/** The bytes of an image or audio are not readable: their kind and size are shown. */
function withoutBytes(block: unknown): unknown {
  if (!isObject(block) || (block.type !== 'image' && block.type !== 'audio')) return block
  if (typeof block.data !== 'string') return block
  return { ...block, data: `(${block.data.length} characters of base64)` }
}

function estimate(request: SamplingRequest, result: SamplingResult): number {
  const chars = JSON.stringify(request.messages).length + (JSON.stringify(result.content) ?? '').length
  return Math.ceil(chars / CHARS_PER_TOKEN)
}
