// recording.ts: a conversation as a file: what the user said, what the model answered, what the tools did. Played back,
// the same loop makes the same events with no network and no servers, so a bug report is a file and a test.

import { isDeepStrictEqual } from 'node:util'
import { Cancelled, InvalidInput } from '@plugboard/core/errors'
import type { AgentEvent, ToolFigures } from './events.ts'
import type { Message, ToolCall } from './messages.ts'
import { type FailureKind, type Model, type ModelEvent, ModelFailure } from './models/model.ts'
import type { Batch, Toolbox } from './toolbox.ts'

const RECORDING_VERSION = 1

interface RecordedFailure {
  readonly kind: FailureKind | 'cancelled'
  readonly message: string
  readonly hint?: string
  readonly retryAfterMs?: number
}

/** One line of the file. */
export type RecordedItem =
  | {
      readonly type: 'recording'
      readonly version: number
      readonly model: string
      readonly contextTokens: number
    }
  | { readonly type: 'input'; readonly message: Message }
  | { readonly type: 'offer'; readonly figures: ToolFigures; readonly notes: string }
  | { readonly type: 'model'; readonly events: readonly ModelEvent[]; readonly failure?: RecordedFailure }
  | {
      readonly type: 'calls'
      readonly calls: readonly ToolCall[]
      readonly events: readonly AgentEvent[]
      readonly batch: Batch
    }

/** A model and tools that write down what they do. */
export interface Recorded {
  readonly model: Model
  readonly toolbox: Toolbox
  /** To be called before a message goes into the conversation. */
  input(message: Message): void
}

/**
 * The same model and tools, with everything they return written down as it happens.
 *
 * @example
 * const lines: string[] = []
 * const run = recorded(model, new BoardTools({ board }), (item) => lines.push(JSON.stringify(item)))
 * run.input(userMessage('Hello'))
 * console.log(lines.length) // 2
 */
export function recorded(
  model: Model,
  toolbox: Toolbox,
  write: (item: RecordedItem) => void,
  listen?: (listener: (event: AgentEvent) => void) => () => void,
): Recorded {
  write({
    type: 'recording',
    version: RECORDING_VERSION,
    model: model.id,
    contextTokens: model.contextTokens,
  })
  return {
    input: (message) => write({ type: 'input', message }),
    model: recordedModel(model, write),
    toolbox: {
      async offer(contextTokens, signal) {
        const offer = await toolbox.offer(contextTokens, signal)
        write({ type: 'offer', figures: offer.figures, notes: offer.notes })
        return offer
      },
      async run(calls, emit, signal) {
        const events: AgentEvent[] = []
        // Questions reach the run by another path than the events of calls; both have to be in their order.
        const stop = listen?.((event) => events.push(event))
        try {
          const batch = await toolbox.run(
            calls,
            (event) => {
              events.push(event)
              emit(event)
            },
            signal,
          )
          write({ type: 'calls', calls, events, batch })
          return batch
        } finally {
          stop?.()
        }
      },
    },
  }
}

function recordedModel(model: Model, write: (item: RecordedItem) => void): Model {
  return {
    id: model.id,
    contextTokens: model.contextTokens,
    async *stream(request, signal) {
      const events: ModelEvent[] = []
      let failure: RecordedFailure | undefined
      try {
        for await (const event of model.stream(request, signal)) {
          events.push(event)
          yield event
        }
      } catch (error) {
        failure = failureOf(error)
        throw error
      } finally {
        write({ type: 'model', events, ...(failure && { failure }) })
      }
    },
  }
}

function failureOf(error: unknown): RecordedFailure {
  if (!(error instanceof ModelFailure))
    return { kind: 'cancelled', message: error instanceof Error ? error.message : String(error) }
  const { kind, message, hint, retryAfterMs } = error
  return {
    kind,
    message,
    ...(hint !== undefined && { hint }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** A recorded run that is played again. */
export interface Replay {
  readonly model: Model
  readonly toolbox: Toolbox
  /** What the user said, in order. */
  readonly inputs: readonly Message[]
  /** Retries do not wait again. */
  readonly pause: () => Promise<void>
}

/**
 * Reads a recording. Everything must be requested in the order in which it was written.
 *
 * @example
 * const lines: string[] = []
 * const run = recorded(model, new BoardTools({ board }), (item) => lines.push(JSON.stringify(item)))
 * run.input(userMessage('Hello'))
 * console.log(replay(lines.join('\n')).inputs.length) // 1
 */
export function replay(text: string): Replay {
  const items = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(readItem)
  const head = items[0]
  if (head?.type !== 'recording') throw notOne('its first line is not the header of a recording')
  if (head.version !== RECORDING_VERSION) throw notOne(`its version is ${head.version}`)
  const steps = items.filter(({ type }) => type !== 'recording' && type !== 'input')
  let at = 0
  const next = <T extends RecordedItem['type']>(type: T): Extract<RecordedItem, { type: T }> => {
    const item = steps[at++]
    if (item?.type !== type)
      throw differs(`the conversation needs ${type}, but the recording has ${item?.type ?? 'ended'}`)
    // Its type was just compared.
    return item as Extract<RecordedItem, { type: T }>
  }
  return {
    inputs: items.flatMap((item) => (item.type === 'input' ? [item.message] : [])),
    pause: async () => undefined,
    model: {
      id: head.model,
      contextTokens: head.contextTokens,
      async *stream() {
        const { events, failure } = next('model')
        yield* events
        if (failure?.kind === 'cancelled') throw new Cancelled(failure.message)
        if (failure) throw new ModelFailure(failure.kind, failure.message, failure)
      },
    },
    toolbox: {
      offer: async () => {
        const { figures, notes } = next('offer')
        return { tools: [], figures, notes }
      },
      run: async (calls, emit) => {
        const step = next('calls')
        if (!isDeepStrictEqual(plain(step.calls), plain(calls))) throw differs('the model makes other calls')
        for (const event of step.events) emit(event)
        return step.batch
      },
    },
  }
}

/** The value after a round trip through the file. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

const TYPES: ReadonlySet<unknown> = new Set(['recording', 'input', 'offer', 'model', 'calls'])

function readItem(line: string, index: number): RecordedItem {
  let item: unknown
  try {
    item = JSON.parse(line)
  } catch (error) {
    throw notOne(`line ${index + 1} is not JSON`, error)
  }
  const type = typeof item === 'object' && item !== null && 'type' in item ? item.type : undefined
  if (!TYPES.has(type)) throw notOne(`line ${index + 1} has an unknown type`)
  // A file of ours; what is inside a line was written by `recorded`.
  return item as RecordedItem
}

function notOne(why: string, cause?: unknown): InvalidInput {
  return new InvalidInput(`This recording cannot be replayed: ${why}.`, { cause })
}

function differs(why: string): InvalidInput {
  return new InvalidInput(`The conversation differs from the recording: ${why}.`, {
    hint: 'The recording was made by another version, or the file was changed. Record it again.',
  })
}
