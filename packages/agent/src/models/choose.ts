// choose.ts: which model to use, from the command line and the environment.
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { anthropicModel } from './anthropic.ts'
import type { Model } from './model.ts'
import { openAiModel } from './openai.ts'

export type Api = 'anthropic' | 'openai'

export interface ModelChoice {
  readonly host: Host
  readonly model?: string | undefined
  readonly baseUrl?: string | undefined
  /** Which of the two wire formats; otherwise derived from the model's name and the keys. */
  readonly api?: Api | undefined
  readonly contextTokens?: number
}

const DEFAULTS = { anthropic: 'claude-sonnet-4-5', openai: 'gpt-4.1' } as const

/**
 * The model to use. A name that begins with `claude` speaks Anthropic's format, any other OpenAI's; without a name
 * the keys decide. A key is needed unless a base URL leads elsewhere: a local server often needs none.
 */
export function chooseModel(choice: ModelChoice): Model {
  const { host, contextTokens } = choice
  const { env } = host
  const named = choice.model ?? set(env.PLUGBOARD_MODEL)
  const api = choice.api ?? apiOf(named, choice, env)
  const shared = { host, ...(contextTokens !== undefined && { contextTokens }) }
  if (api === 'anthropic') {
    const apiKey = set(env.ANTHROPIC_API_KEY)
    const authToken = apiKey === undefined ? set(env.ANTHROPIC_AUTH_TOKEN) : undefined
    const baseUrl = address(choice.baseUrl ?? set(env.ANTHROPIC_BASE_URL))
    if (apiKey === undefined && authToken === undefined && baseUrl === undefined) throw noKey(api, named)
    const model = named ?? set(env.ANTHROPIC_MODEL) ?? DEFAULTS.anthropic
    return anthropicModel({ ...shared, model, apiKey, authToken, baseUrl })
  }
  const apiKey = set(env.OPENAI_API_KEY)
  const baseUrl = address(choice.baseUrl ?? set(env.OPENAI_BASE_URL))
  if (apiKey === undefined && baseUrl === undefined) throw noKey(api, named)
  return openAiModel({ ...shared, model: named ?? set(env.OPENAI_MODEL) ?? DEFAULTS.openai, apiKey, baseUrl })
}

function apiOf(named: string | undefined, { baseUrl }: ModelChoice, env: Host['env']): Api {
  if (named !== undefined) return named.startsWith('claude') ? 'anthropic' : 'openai'
  if (set(env.ANTHROPIC_API_KEY) ?? set(env.ANTHROPIC_AUTH_TOKEN) ?? set(env.ANTHROPIC_BASE_URL))
    return 'anthropic'
  if (baseUrl ?? set(env.OPENAI_API_KEY) ?? set(env.OPENAI_BASE_URL)) return 'openai'
  throw noKey('anthropic', undefined)
}

function noKey(api: Api, named: string | undefined): InvalidInput {
  const variable = api === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY'
  return new InvalidInput(
    named === undefined
      ? 'No model to talk to: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give --base-url and --model for a local server.'
      : `No key for ${named}: set ${variable}, or give --base-url for a server that needs none.`,
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
