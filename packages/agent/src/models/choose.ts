// choose.ts: which model to use, from the command line and the environment.
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { anthropicModel } from './anthropic.ts'
import { geminiModel } from './gemini.ts'
import type { Model } from './model.ts'
import { openAiModel } from './openai.ts'
import { openAiResponsesModel } from './openai-responses.ts'

/**
 * The wire formats: Anthropic's messages, OpenAI's chat completions and responses, Google's generateContent.
 *
 * @example
 * console.log(MODEL_APIS.join(', ')) // anthropic, openai, openai-responses, gemini
 */
export const MODEL_APIS = ['anthropic', 'openai', 'openai-responses', 'gemini'] as const

/** The wire format of a model. */
export type Api = (typeof MODEL_APIS)[number]

/** What is known about the wanted model. */
export interface ModelChoice {
  readonly host: Host
  readonly model?: string | undefined
  readonly baseUrl?: string | undefined
  /** Which of the wire formats; otherwise derived from the model's name and the keys. */
  readonly api?: Api | undefined
  readonly contextTokens?: number
}

interface Provider {
  /** Of the environment; the first that is set counts. */
  readonly keys: readonly [string, ...string[]]
  readonly baseUrl: string
  readonly modelName: string
  readonly usual: string
}

const ANTHROPIC: Provider = {
  keys: ['ANTHROPIC_API_KEY'],
  baseUrl: 'ANTHROPIC_BASE_URL',
  modelName: 'ANTHROPIC_MODEL',
  usual: 'claude-sonnet-4-5',
}
const OPENAI: Provider = {
  keys: ['OPENAI_API_KEY'],
  baseUrl: 'OPENAI_BASE_URL',
  modelName: 'OPENAI_MODEL',
  usual: 'gpt-4.1',
}
const GEMINI: Provider = {
  keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  baseUrl: 'GEMINI_BASE_URL',
  modelName: 'GEMINI_MODEL',
  usual: 'gemini-2.5-flash',
}
const PROVIDERS: Readonly<Record<Api, Provider>> = {
  anthropic: ANTHROPIC,
  openai: OPENAI,
  'openai-responses': OPENAI,
  gemini: GEMINI,
}
/** OpenAI serves these by its responses alone. */
const RESPONSES_ONLY = /^(?:gpt-[\w.]*-(?:pro|codex)|o\d+-(?:pro|deep-research)|codex-)/

/**
 * The model to use. A name that begins with `claude` speaks Anthropic's format, one with `gemini` Google's, any other
 * OpenAI's; without a name the keys decide. A key is needed unless a base URL leads elsewhere: a local server often needs
 * none.
 *
 * @example
 * const model = chooseModel({ model: 'claude-sonnet-4-5', host: systemHost({ env: { ANTHROPIC_API_KEY: 'sk-…' } }) })
 * console.log(model.id) // claude-sonnet-4-5
 */
export function chooseModel(choice: ModelChoice): Model {
  const { host, contextTokens } = choice
  const { env } = host
  const named = choice.model ?? set(env.PLUGBOARD_MODEL)
  const api = choice.api ?? apiOf(named, choice, env)
  const provider = PROVIDERS[api]
  const apiKey = provider.keys.map((key) => set(env[key])).find((key) => key !== undefined)
  const baseUrl = address(choice.baseUrl ?? set(env[provider.baseUrl]))
  const authToken = api === 'anthropic' && apiKey === undefined ? set(env.ANTHROPIC_AUTH_TOKEN) : undefined
  if (apiKey === undefined && authToken === undefined && baseUrl === undefined) throw noKey(provider, named)
  const model = named ?? set(env[provider.modelName]) ?? provider.usual
  const options = { host, model, apiKey, baseUrl, ...(contextTokens !== undefined && { contextTokens }) }
  switch (api) {
    case 'anthropic':
      return anthropicModel({ ...options, authToken })
    case 'openai':
      return openAiModel(options)
    case 'openai-responses':
      return openAiResponsesModel(options)
    case 'gemini':
      return geminiModel(options)
  }
}

function apiOf(named: string | undefined, { baseUrl }: ModelChoice, env: Host['env']): Api {
  if (named !== undefined) {
    if (named.startsWith('claude')) return 'anthropic'
    if (/^(?:models\/)?gemini/.test(named)) return 'gemini'
    const isOpenAi = (baseUrl ?? set(env.OPENAI_BASE_URL)) === undefined
    return isOpenAi && RESPONSES_ONLY.test(named) ? 'openai-responses' : 'openai'
  }
  if (set(env.ANTHROPIC_API_KEY) ?? set(env.ANTHROPIC_AUTH_TOKEN) ?? set(env.ANTHROPIC_BASE_URL))
    return 'anthropic'
  if (baseUrl ?? set(env.OPENAI_API_KEY) ?? set(env.OPENAI_BASE_URL)) return 'openai'
  if (set(env.GEMINI_API_KEY) ?? set(env.GOOGLE_API_KEY) ?? set(env.GEMINI_BASE_URL)) return 'gemini'
  throw noKey(ANTHROPIC, undefined)
}

function noKey({ keys: [key] }: Provider, named: string | undefined): InvalidInput {
  return new InvalidInput(
    named === undefined
      ? 'No model to talk to: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or give --base-url and --model for a local server.'
      : `No key for ${named}: set ${key}, or give --base-url for a server that needs none.`,
  )
}

/** Empty is the same as not set. */
function set(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}

function address(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined) return undefined
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new InvalidInput(`The base URL "${baseUrl}" is not a web address.`)
  return baseUrl
}
