// events.ts: the one typed stream of a board's events. It delivers; it keeps no history and decides nothing.
import type { PlugboardError, Stage } from './errors.ts'
import { EVENT_LIMITS } from './limits.ts'

/** A server's state as a listener sees it. */
export type StateSummary =
  | { readonly kind: 'pending'; readonly attempt: number; readonly of: number; readonly stage?: Stage }
  | { readonly kind: 'connected'; readonly protocolVersion: string; readonly connectMs: number }
  | { readonly kind: 'failed'; readonly stage: Stage; readonly error: PlugboardError }
  | { readonly kind: 'needs-auth'; readonly since: number; readonly error: PlugboardError }
  | { readonly kind: 'disabled'; readonly reason: string }

export type ListKind = 'tools' | 'resources' | 'templates' | 'prompts' | 'skills'

/** One line of the log of a server. */
export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly stream: 'stderr' | 'stdout' | 'transport' | 'server' | 'plugboard'
  readonly text: string
}

/** How far the task of a server is; the last three are final. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** What is known of the task that a call became. */
export interface TaskState {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** How long the server keeps the task, from its creation; left out where it does not say. */
  readonly ttlMs?: number
  readonly pollIntervalMs?: number
}

/** How far a call is. */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
  /** The call became a task of its server. */
  readonly task?: TaskState
}

interface CallFacts {
  readonly server: string
  /** Unique on its board. */
  readonly call: number
  readonly method: string
  /** The requested tool, prompt or URI. */
  readonly name?: string
}

/** A fault in one place of one configuration file, and what to do about it. */
export interface ConfigurationFault {
  readonly severity: 'error' | 'warning'
  readonly file: string
  /** 1-based, when the position is known. */
  readonly line?: number
  readonly column?: number
  /** Where in the document, e.g. `mcpServers.github.args[2]`. */
  readonly path?: string
  readonly server?: string
  readonly message: string
  readonly hint?: string
}

/** The events of a board by their type, for `board.on`. */
export interface BoardEvents {
  readonly state: { readonly server: string; readonly state: StateSummary }
  /** The configuration was reloaded; a server that changed is both removed and added. */
  readonly 'configuration-changed': {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    /** Whether the permission rules changed. */
    readonly rules: boolean
  }
  /** A reloaded configuration file has a fault; its previous content stays in force. */
  readonly 'configuration-fault': ConfigurationFault
  /** A configuration file that had an error is sound again. */
  readonly 'configuration-mended': { readonly file: string }
  readonly log: { readonly server: string; readonly line: LogLine }
  readonly 'list-changed': { readonly server: string; readonly list: ListKind; readonly count: number }
  readonly 'resource-updated': { readonly server: string; readonly uri: string }
  /** A notification that the library does not know. */
  readonly notification: { readonly server: string; readonly method: string; readonly params: unknown }
  /** A problem that did not stop the work: a hook that failed, a list with a bad entry. */
  readonly warning: { readonly text: string; readonly server?: string }
  readonly progress: CallFacts & Progress
  readonly 'call-started': CallFacts
  readonly 'call-ended': CallFacts & {
    readonly durationMs: number
    readonly outcome: 'ok' | 'tool-error' | 'error' | 'cancelled'
    readonly error?: PlugboardError
  }
}

/** The name of an event of a board. */
export type EventType = keyof BoardEvents
/** Any event of a board, with its type. */
export type BoardEvent = { [T in EventType]: { readonly type: T } & BoardEvents[T] }[EventType]
type Listener<T extends EventType> = (event: BoardEvents[T]) => void

export class Events {
  readonly #listeners = new Map<EventType, Set<(event: never) => void>>()
  readonly #taps = new Set<(event: BoardEvent) => void>()
  readonly #onListenerError: ((error: unknown) => void) | undefined

  constructor(onListenerError?: (error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  /** Calls `listener` on every event of the type; the returned function stops it. */
  on<T extends EventType>(type: T, listener: Listener<T>): () => void {
    const own = (event: BoardEvents[T]) => listener(event)
    const set = this.#listeners.get(type) ?? new Set()
    this.#listeners.set(type, set)
    set.add(own)
    return () => set.delete(own)
  }

  /** Whether any listener would get an event of the type: the hot path checks this before it builds one. */
  wanted(type: EventType): boolean {
    return this.#taps.size > 0 || (this.#listeners.get(type)?.size ?? 0) > 0
  }

  emit<T extends EventType>(type: T, event: BoardEvents[T]): void {
    for (const listener of this.#listeners.get(type) ?? []) {
      // The set under `type` only ever holds listeners of that type.
      this.#guarded(() => (listener as Listener<T>)(event))
    }
    // The spread of `type` and its own event is by construction one member of the union.
    for (const tap of this.#taps) this.#guarded(() => tap({ type, ...event } as unknown as BoardEvent))
  }

  /** Every event from now on, until the signal or a `break`. A reader that falls behind loses the oldest. */
  stream(signal?: AbortSignal): AsyncIterableIterator<BoardEvent> {
    const buffer: BoardEvent[] = []
    let ended = false
    let wake: (() => void) | undefined
    const tap = (event: BoardEvent) => {
      if (buffer.length >= EVENT_LIMITS.buffered) buffer.shift()
      buffer.push(event)
      wake?.()
    }
    const end = () => {
      ended = true
      this.#taps.delete(tap)
      signal?.removeEventListener('abort', end)
      wake?.()
    }
    if (signal?.aborted) ended = true
    else {
      this.#taps.add(tap)
      signal?.addEventListener('abort', end, { once: true })
    }
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      async next() {
        while (!ended) {
          const event = buffer.shift()
          if (event) return { done: false, value: event }
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
        return { done: true, value: undefined }
      },
      async return() {
        end()
        return { done: true, value: undefined }
      },
    }
  }

  /** A listener is foreign code: what it throws never reaches the emitter. */
  #guarded(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#onListenerError?.(error)
    }
  }
}
