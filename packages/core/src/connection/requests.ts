// requests.ts: the steps of one request between the caller and a session: its place in the queue, its trace and
// events, and the few ways in which it may be retried. It opens and closes nothing itself.

import { SerialQueue } from '../async/serial-queue.ts'
import { RequestAborted, RequestTimedOut } from '../async/wait-errors.ts'
import { hold, sleep } from '../async/waits.ts'
import type { ServerEntry } from '../config/entry.ts'
import { matchesGlob } from '../config/rule-syntax.ts'
import { traitsOf } from '../config/transport-traits.ts'
import { OutcomeUnknown, type PlugboardError } from '../errors.ts'
import type { Events, Progress } from '../events.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { httpStatus } from '../transports/transport-errors.ts'
import type { Catalog } from './catalog.ts'
import { isConcurrencySafe, readAnnotations } from './lists.ts'
import {
  howItEnded,
  isInterruption,
  isLoggedOut,
  isSessionExpired,
  isUnsaid,
  JsonRpcError,
  toPlugboardError,
  wasNeverSent,
} from './request-errors.ts'
import { type Json, READING_METHODS, RPC } from './server-info.ts'
import type { Session } from './session.ts'
import type { RequestTrace } from './telemetry.ts'

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** May run in parallel with others; by default what the tool's own hints say. */
  readonly concurrent?: boolean
  /** May run twice without harm; by default what the tool's own hints say. */
  readonly replayable?: boolean
  /** On a shared connection: the board that sends it, which alone gets the events of the request. */
  readonly sender?: Pick<RequestHost, 'events' | 'nextCall'>
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

interface Asked {
  readonly method: string
  readonly params: Json | undefined
  /** The tool, prompt or resource it is about. */
  readonly name: string | undefined
  readonly options: RequestOptions
}

export class Requests {
  readonly #on: RequestHost
  readonly #order = new SerialQueue()
  /** The tracing API takes as long to load as a small program; a command that only lists servers never needs it. */
  #Trace: typeof RequestTrace | undefined

  constructor(on: RequestHost) {
    this.#on = on
  }

  /** Rejects with a `PlugboardError`. The process is held until it settles. */
  async send(method: string, params: Json | undefined, options: RequestOptions): Promise<Json> {
    const release = hold(this.#on.host)
    try {
      this.#Trace ??= (await import('./telemetry.ts')).RequestTrace
      return await this.#traced(this.#Trace, method, params, options)
    } finally {
      release()
    }
  }

  async #traced(
    Trace: typeof RequestTrace,
    method: string,
    params: Json | undefined,
    options: RequestOptions,
  ): Promise<Json> {
    const { host, server } = this.#on
    const sender = options.sender ?? this.#on
    const { events } = sender
    const name = nameOf(params)
    const facts = { server, call: sender.nextCall(), method, ...(name !== undefined && { name }) }
    const started = host.now()
    const trace = Trace.start(this.#traceFacts(method, name), params)
    if (events.wanted('call-started')) events.emit('call-started', facts)
    let error: PlugboardError | undefined
    let toolError = false
    try {
      const onProgress = this.#progress(facts, options)
      const result = await this.#inOrder({
        method,
        params: trace.params,
        name,
        options: { ...options, onProgress },
      })
      toolError = result.isError === true
      return result
    } catch (fault) {
      const tail = this.#on.stderrTail()
      error = toPlugboardError(fault, {
        server,
        stage: 'call',
        method,
        tail,
        hide: this.#on.hide,
        ...(name && { name }),
      })
      throw error
    } finally {
      trace.ended({ toolError, ...(error && { error }) })
      if (events.wanted('call-ended')) {
        const durationMs = host.now() - started
        const outcome = outcomeOf(toolError, error)
        events.emit('call-ended', { ...facts, durationMs, outcome, ...(error && { error }) })
      }
    }
  }

  async #inOrder(asked: Asked): Promise<Json> {
    if (asked.method !== 'tools/call') return await this.#perform(asked)
    // Whether it may run in parallel is known from the tool list, which comes with the connection.
    if (!this.#on.current()) await this.#on.ready(asked.options.signal)
    const { concurrent, signal } = asked.options
    const parallel = concurrent ?? this.#mayRunInParallel(asked.name ?? '')
    return await (parallel ? this.#perform(asked) : this.#order.run(() => this.#perform(asked), signal))
  }

  /** By what the entry says about the tool, else by the tool's own hints. */
  #mayRunInParallel(tool: string): boolean {
    const { catalog, entry } = this.#on
    if (entry.concurrentTools?.some((pattern) => matchesGlob(pattern, tool))) return true
    return isConcurrencySafe(readAnnotations(catalog.tool(tool)?.annotations))
  }

  async #perform(asked: Asked): Promise<Json> {
    const { method, params, name, options } = asked
    const on = this.#on
    const once = newOnce()
    const timeoutMs = options.timeoutMs ?? on.entry.timeout ?? on.callTimeoutMs
    // Each kind of retry happens once, so this ends.
    for (;;) {
      const session = on.current() ?? (await on.ready(options.signal))
      try {
        const headers =
          method === 'tools/call' && name ? on.catalog.headers(name, params?.arguments) : undefined
        const result = await session.request(method, params, { ...options, timeoutMs, headers })
        on.good()
        return result
      } catch (error) {
        on.bad(error)
        if (error instanceof RequestAborted) throw error
        if (error instanceof RequestTimedOut) on.timedOut(session)
        if (isSessionExpired(error, session.hasHttpSession) && once('renewed')) await on.renew(session)
        else if (isLoggedOut(error)) throw on.unauthorised(error)
        else if (isHeaderMismatch(error) && once('relisted')) await on.catalog.relist()
        else if (wasNeverSent(error) && session !== on.current() && once('replayed')) continue
        else if (!isInterruption(error)) throw error
        else if (!this.#replayable(asked)) throw this.#unknown(asked, error)
        else if (!once('replayed')) throw error
        // A broken connection is noticed in a moment; before that a second try would fail the same way.
        else if (session === on.current()) await sleep(on.host, CONNECT_LIMITS.noticeMs, options.signal)
      }
    }
  }

  #replayable({ method, name, options }: Asked): boolean {
    if (options.replayable !== undefined) return options.replayable
    if (method !== 'tools/call') return READING_METHODS.has(method)
    const hints = readAnnotations(this.#on.catalog.tool(name)?.annotations)
    return hints?.readOnlyHint === true || hints?.idempotentHint === true
  }

  #unknown({ method, name }: Asked, cause: unknown): PlugboardError {
    const { server } = this.#on
    const what = name ?? method
    const status = httpStatus(cause)
    const how =
      status === undefined ? howItEnded(cause, this.#on.stderrTail()) : ` It answered HTTP ${status}.`
    const start = isUnsaid(cause)
      ? `"${server}" did not say how ${what} ended;`
      : `The connection to "${server}" was lost while ${what} was running;`
    return new OutcomeUnknown(`${start} whether it was done is unknown.${how}`, {
      server,
      hint: 'Check what happened before you call it again.',
      cause,
    })
  }

  #progress(
    facts: {
      readonly server: string
      readonly call: number
      readonly method: string
      readonly name?: string
    },
    options: RequestOptions,
  ): RequestOptions['onProgress'] {
    const { events } = options.sender ?? this.#on
    if (facts.method !== 'tools/call') return options.onProgress
    // A token is sent with every call, used or not: without one a server reports no progress, and a long call that is
    // alive would run into its timeout.
    return (progress) => {
      if (events.wanted('progress')) events.emit('progress', { ...facts, ...progress })
      options.onProgress?.(progress)
    }
  }

  #traceFacts(method: string, name: string | undefined) {
    const { entry, server } = this.#on
    const transport = traitsOf(entry).network
    return { server, method, name, protocolVersion: this.#on.current()?.protocolVersion, transport } as const
  }
}

function outcomeOf(toolError: boolean, error: PlugboardError | undefined) {
  if (error) return error.code === 'CANCELLED' ? 'cancelled' : 'error'
  return toolError ? 'tool-error' : 'ok'
}

type Again = 'renewed' | 'replayed' | 'relisted'

function newOnce(): (what: Again) => boolean {
  const spent = new Set<Again>()
  return (what) => {
    if (spent.has(what)) return false
    spent.add(what)
    return true
  }
}

function nameOf(params: Json | undefined): string | undefined {
  const name = params?.name ?? params?.uri
  return typeof name === 'string' ? name : undefined
}

function isHeaderMismatch(error: unknown): boolean {
  return error instanceof JsonRpcError && error.code === RPC.headerMismatch
}
