// direct-call.ts: a request as its steps see it, and a call that is sent at once: it waits for nothing but its
// answer. requests.ts decides which calls these are, and continues with those that one answer does not end.
import { AsyncResource } from 'node:async_hooks'
import type { Release } from '../async/serial-queue.ts'
import type { Cancellation } from '../async/waits.ts'
import type { ServerEntry } from '../config/entry.ts'
import type { PlugboardError } from '../errors.ts'
import type { BoardEvents, Events, Progress, TaskState } from '../events.ts'
import type { Host } from '../host.ts'
import type { Catalog } from './catalog.ts'
import type { ResponseSink } from './pending-request.ts'
import { unwrapHttp } from './request-errors.ts'
import type { Json } from './server-info.ts'
import type { Session } from './session.ts'

/**
 * How one request to a server is sent.
 *
 * @example
 * const options: RequestOptions = { timeoutMs: 5000, signal: AbortSignal.timeout(60_000) }
 * console.log(Object.keys(await board.link.request('notes', 'tools/list', {}, options))[0]) // tools
 */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** In place of `signal`, which is then made only when something has to wait. */
  readonly cancellation?: Cancellation | undefined
  readonly timeoutMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** May run in parallel with others; by default what the tool's own hints say. */
  readonly concurrent?: boolean | undefined
  /** May run twice without harm; by default what the tool's own hints say. */
  readonly replayable?: boolean
  /** The call became a task: what the server says of it, at first and whenever that changes. */
  readonly onTask?: ((task: TaskState) => void) | undefined
  /** A task that the call became goes on when the caller gives up. */
  readonly detachable?: boolean | undefined
  /** For a call that becomes a task, in place of the other two limits. */
  readonly taskMs?: number | undefined
  /** On a shared connection: the board that sends it, which alone gets the events of the request. */
  readonly sender?: Pick<RequestHost, 'events' | 'nextCall'>
}

/** For what has to wait. */
export function signalOf({ signal, cancellation }: RequestOptions): AbortSignal | undefined {
  return cancellation ? cancellation.signal : signal
}

/** What a request needs from its connection. */
export interface RequestHost {
  readonly host: Host
  readonly events: Events
  readonly server: string
  readonly entry: ServerEntry
  readonly catalog: Catalog
  readonly callTimeoutMs: number
  /** Replaces the secrets used with the server. */
  readonly hide: (text: string) => string
  nextCall(): number
  /** The connected session, if there is one now. */
  current(): Session | undefined
  /** The connected session, as soon as there is one. */
  ready(signal?: AbortSignal): Promise<Session>
  /** A fresh session instead of one that the server forgot. */
  renew(old: Session): Promise<void>
  /** The server requires a login after all; returns the error for the caller. */
  unauthorised(error: unknown): PlugboardError
  good(): void
  bad(error: unknown): void
  /** A request on this session timed out. */
  timedOut(session: Session): void
  /** The last lines that the server wrote to stderr. */
  stderrTail(): readonly string[]
}

export interface Asked {
  readonly method: string
  readonly params: Json | undefined
  /** The tool, prompt or resource it is about. */
  readonly name: string | undefined
  readonly options: RequestOptions
}

/** A request that was sent directly, and what came back: an error, or a first answer that is not the last. */
export type Begun =
  | { readonly session: Session; readonly error: unknown; readonly first?: undefined }
  | { readonly session: Session; readonly first: Json; readonly error?: undefined }

export type CallFacts = BoardEvents['call-started']

/** A call on its way that no promise waits for but the caller's own. */
export class DirectCall implements ResponseSink {
  readonly asked: Asked
  readonly started: number
  readonly release: Release
  readonly #on: RequestHost
  readonly #session: Session
  readonly resolve: (result: Json) => void
  readonly reject: (error: unknown) => void
  readonly #goOn: (call: DirectCall, begun: Begun) => void
  readonly #call: number
  #facts: CallFacts | undefined
  /** The answer arrives in the transport's context; what follows it belongs to the caller's (AsyncLocalStorage). */
  #caller: AsyncResource | undefined

  constructor(
    on: RequestHost,
    asked: Asked,
    session: Session,
    release: Release,
    resolve: (result: Json) => void,
    reject: (error: unknown) => void,
    goOn: (call: DirectCall, begun: Begun) => void,
  ) {
    this.#on = on
    this.asked = asked
    this.#session = session
    this.release = release
    this.resolve = resolve
    this.reject = reject
    this.#goOn = goOn
    this.#call = on.nextCall()
    this.started = on.host.now()
    if (on.events.wanted('call-started')) on.events.emit('call-started', this.facts)
  }

  /** Most calls have no listener, and need no facts. */
  get facts(): CallFacts {
    this.#facts ??= factsOf(this.#on, this.asked, this.#call)
    return this.#facts
  }

  /** It is on its way. Called by the caller, in its context. */
  sent(): void {
    this.#caller = new AsyncResource('PLUGBOARD_CALL', { requireManualDestroy: true })
  }

  settle(result: Json): void {
    this.#on.good()
    if (!this.#session.isFinal(result)) {
      this.#continue({ session: this.#session, first: result })
      return
    }
    this.release()
    if (this.#on.events.wanted('call-ended'))
      tellEnded(this.#on, this.facts, this.started, result.isError === true, undefined)
    this.resolve(result)
  }

  fail(error: unknown): void {
    this.#continue({ session: this.#session, error: unwrapHttp(error) })
  }

  #continue(begun: Begun): void {
    if (this.#caller) this.#caller.runInAsyncScope(this.#goOn, undefined, this, begun)
    else this.#goOn(this, begun)
  }

  progress(progress: Progress): void {
    tellProgress(this.#on, this.facts, this.asked.options, progress)
  }
}

export function factsOf(on: RequestHost, { method, name }: Asked, call = on.nextCall()): CallFacts {
  return { server: on.server, call, method, ...(name !== undefined && { name }) }
}

export function tellProgress(
  on: RequestHost,
  facts: CallFacts,
  options: RequestOptions,
  progress: Progress,
): void {
  if (on.events.wanted('progress')) on.events.emit('progress', { ...facts, ...progress })
  options.onProgress?.(progress)
}

export function tellEnded(
  { events, host }: RequestHost,
  facts: CallFacts,
  started: number,
  toolError: boolean,
  error: PlugboardError | undefined,
): void {
  if (!events.wanted('call-ended')) return
  const durationMs = host.now() - started
  const outcome = outcomeOf(toolError, error)
  events.emit('call-ended', { ...facts, durationMs, outcome, ...(error && { error }) })
}

function outcomeOf(toolError: boolean, error: PlugboardError | undefined) {
  if (error) return error.code === 'CANCELLED' ? 'cancelled' : 'error'
  return toolError ? 'tool-error' : 'ok'
}
