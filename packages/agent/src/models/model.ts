// model.ts: what the loop needs of a model, and how a model fails. How bytes become these events is in the adapters.
import { type ErrorCode, PlugboardError } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import type { OfferedTool } from '@plugboard/core/tools'
import type { Message, ProviderData, Usage } from '../messages.ts'

/** One request to a model. */
export interface ModelRequest {
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly OfferedTool[]
  readonly maxTokens?: number
  readonly temperature?: number
  readonly stopSequences?: readonly string[]
}

/** Why a model stopped. */
export type StopReason = 'end' | 'calls' | 'length' | 'refusal' | 'stop-sequence'

/** What a model streams. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  /** A whole call; the arguments are still the model's own text. */
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly argumentsText: string
      readonly providerData?: ProviderData
    }
  | { readonly type: 'stop'; readonly reason: StopReason; readonly usage?: Usage }

/** A model as the loop uses it. */
export interface Model {
  readonly id: string
  /** How much fits into one request, in tokens. */
  readonly contextTokens: number
  /** One request. The stream ends after `stop`; anything else is a `ModelFailure`. */
  stream(request: ModelRequest, signal?: AbortSignal): AsyncIterable<ModelEvent>
}

/**
 * Which model, where, and by whose key.
 *
 * @example
 * const options: ModelOptions = { model: 'gemini-2.5-pro', apiKey: '…', contextTokens: 500_000, host: systemHost() }
 * console.log(geminiModel(options).contextTokens) // 500000
 */
export interface ModelOptions {
  readonly host: Host
  readonly model: string
  readonly apiKey?: string | undefined
  readonly baseUrl?: string | undefined
  readonly contextTokens?: number
}

/** Why a request to a model failed; it decides whether a retry can help. */
export type FailureKind =
  /** 429. */
  | 'busy'
  /** 529, 503. */
  | 'overloaded'
  /** Any other 5xx. */
  | 'server'
  /** The connection broke. */
  | 'network'
  /** There is nothing at the address, or it is not to be trusted: a retry cannot help. */
  | 'unreachable'
  /** It was silent for too long. */
  | 'timeout'
  /** The stream ended before the answer did. */
  | 'cut'
  /** Something that is not the format it should be. */
  | 'garbage'
  | 'auth'
  /** Refused as wrong: a retry cannot help. */
  | 'request'

const CODES: Readonly<Record<FailureKind, ErrorCode>> = {
  busy: 'IO_ERROR',
  overloaded: 'IO_ERROR',
  server: 'IO_ERROR',
  network: 'IO_ERROR',
  unreachable: 'IO_ERROR',
  timeout: 'TIMEOUT',
  cut: 'IO_ERROR',
  garbage: 'PARSE_ERROR',
  auth: 'AUTH_REQUIRED',
  request: 'INVALID_INPUT',
}

const FINAL: ReadonlySet<FailureKind> = new Set(['auth', 'request', 'unreachable'])

export interface FailureDetails {
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly hint?: string | undefined
  readonly cause?: unknown
}

/**
 * A request to a model failed.
 *
 * @example
 * const failure = new ModelFailure('busy', '429: too many requests', { retryAfterMs: 3000 })
 * console.log(failure.retryable, failure.retryAfterMs) // true 3000
 */
export class ModelFailure extends PlugboardError {
  readonly kind: FailureKind
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(CODES[kind], message, { hint: details.hint, cause: details.cause })
    this.kind = kind
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
  }

  get retryable(): boolean {
    return !FINAL.has(this.kind)
  }
}
