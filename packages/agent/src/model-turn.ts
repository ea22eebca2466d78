// model-turn.ts: one response of a model: requested, retried when that can help, and read into a message.
import { cancellable, sleep } from '@plugboard/core/async/waits'
import type { Host } from '@plugboard/core/host'
import { isObject } from '@plugboard/core/json'
import type { Emit } from './events.ts'
import { MODEL_LIMITS } from './limits.ts'
import type { Message, ToolCall, Usage } from './messages.ts'
import {
  type Model,
  type ModelEvent,
  ModelFailure,
  type ModelRequest,
  type StopReason,
} from './models/model.ts'

export interface TurnRequest {
  readonly host: Host
  readonly emit: Emit
  readonly signal: AbortSignal
  /** Lets a slow reader catch up. */
  readonly room?: () => Promise<void>
  /** How a retry waits; a recording does not. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface ModelTurn {
  readonly message: Extract<Message, { role: 'assistant' }>
  readonly stop: StopReason
  readonly usage: Usage | undefined
}

/** The text so far, for a turn that is stopped in the middle. */
export interface PartialTurn {
  text: string
}

export async function requestTurn(
  model: Model,
  request: ModelRequest,
  asking: TurnRequest,
  partial: PartialTurn = { text: '' },
): Promise<ModelTurn> {
  const { host, emit, signal } = asking
  for (let attempt = 1; ; attempt++) {
    partial.text = ''
    try {
      return await oneAnswer(model, request, asking, partial)
    } catch (error) {
      if (!(error instanceof ModelFailure) || !error.retryable || attempt >= MODEL_LIMITS.attempts)
        throw error
      const { retryAfterMs } = error
      if (retryAfterMs !== undefined && retryAfterMs > MODEL_LIMITS.retryAfterMostMs) throw error
      const afterMs =
        retryAfterMs ?? Math.min(MODEL_LIMITS.retryMs * 2 ** (attempt - 1), MODEL_LIMITS.retryMostMs)
      emit({
        type: 'retry',
        attempt,
        of: MODEL_LIMITS.attempts,
        afterMs,
        reason: error.message,
        discard: partial.text !== '',
      })
      // Clients that were refused together should not come back together.
      const wait = retryAfterMs === undefined ? afterMs * (0.75 + host.random() / 2) : afterMs
      await (asking.pause ?? ((ms, until) => cancellable(sleep(host, ms, until), until)))(wait, signal)
    }
  }
}

async function oneAnswer(
  model: Model,
  request: ModelRequest,
  { emit, signal, room }: TurnRequest,
  partial: PartialTurn,
): Promise<ModelTurn> {
  const calls: ToolCall[] = []
  for await (const event of model.stream(request, signal)) {
    if (event.type === 'text') {
      partial.text += event.text
      emit({ type: 'text', text: event.text })
      await room?.()
    } else if (event.type === 'thinking') emit(event)
    else if (event.type === 'call') calls.push(readCall(event, calls))
    else
      return {
        message: { role: 'assistant', text: partial.text, calls },
        stop: event.reason,
        usage: event.usage,
      }
  }
  throw new ModelFailure('cut', "The model's answer ended early.")
}

/** Parses the arguments; a parse error is reported to the model, and the tool is not called. */
function readCall(event: Extract<ModelEvent, { type: 'call' }>, before: readonly ToolCall[]): ToolCall {
  const { name, argumentsText, providerData } = event
  const more = providerData && { providerData }
  const taken = event.id === '' || before.some(({ id }) => id === event.id)
  const id = taken ? `call_${before.length + 1}_${name}`.slice(0, 40) : event.id
  if (name === '') return { id, name: 'unknown', arguments: {}, problem: 'The call names no tool.' }
  if (argumentsText.trim() === '') return { id, name, arguments: {}, ...more }
  try {
    const value: unknown = JSON.parse(argumentsText)
    if (isObject(value)) return { id, name, arguments: value, ...more }
    return { id, name, arguments: {}, problem: 'The arguments must be a JSON object.' }
  } catch (error) {
    const why = error instanceof Error ? error.message : ''
    return { id, name, arguments: {}, problem: `The arguments are not JSON (${why}). Send them again.` }
  }
}
