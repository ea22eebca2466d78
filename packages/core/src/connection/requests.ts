// requests.ts: the steps of one request between the caller and a session: its place in the queue, its trace and
// events, and the few ways in which it may be retried. It opens and closes nothing itself.

import { type Release, SerialQueue } from '../async/serial-queue.ts'
import { RequestAborted, RequestTimedOut } from '../async/wait-errors.ts'
import { hold, sleep } from '../async/waits.ts'
import { matchesGlob } from '../config/rule-syntax.ts'
import { traitsOf } from '../config/transport-traits.ts'
import { OutcomeUnknown, type PlugboardError } from '../errors.ts'
import type { Progress } from '../events.ts'
import { CONNECT_LIMITS, TASK_LIMITS } from '../limits.ts'
import { httpStatus } from '../transports/transport-errors.ts'
import type { RequestTrace } from './client-span.ts'
import {
  type Asked,
  type Begun,
  type CallFacts,
  DirectCall,
  factsOf,
  type RequestHost,
  type RequestOptions,
  tellEnded,
  tellProgress,
} from './direct-call.ts'
import { isConcurrencySafe, readAnnotations } from './lists.ts'
import type { OutgoingRequest } from './pending-request.ts'
import {
  howItEnded,
  isInterruption,
  isLoggedOut,
  isSessionExpired,
  JsonRpcError,
  leavesOutcomeOpen,
  toPlugboardError,
  wasNeverSent,
} from './request-errors.ts'
import { type Json, READING_METHODS, RPC } from './server-info.ts'
import { followTask, type TaskPort } from './task-polling.ts'

export type { RequestHost, RequestOptions } from './direct-call.ts'

const PARALLEL: Release = () => undefined

export class Requests {
  readonly #on: RequestHost
  readonly #order = new SerialQueue()
  /** By definition: a tool that changes is another object. */
  readonly #parallel = new WeakMap<object, boolean>()
  /** By sender: a board has the same for all its requests. */
  readonly #tellers = new WeakMap<object, RequestHost>()
  /** The tracing API takes as long to load as a small program; a command that only lists servers never needs it. */
  #Trace: typeof RequestTrace | undefined

  constructor(on: RequestHost) {
    this.#on = on
  }

  /**
   * Rejects with a `PlugboardError`. The process is held until it settles. A call that needs no wait (the server is
   * connected, its turn has come, no program traces) is sent at once; if it fails, `#perform` continues with it.
   */
  send(method: string, params: Json | undefined, options: RequestOptions): Promise<Json> {
    const asked: Asked = { method, params, name: nameOf(params), options }
    const session = this.#on.current()
    const release = session && this.#turnNow(asked)
    if (!session || !release) return this.#send(withSignal(asked))
    return new Promise((settle, fail) => {
      const call = new DirectCall(this.#tellerOf(options), asked, session, release, settle, fail, this.#goOn)
      session.exchange(method, params, this.#limits(asked), call)
      call.sent()
    })
  }

  readonly #goOn = (call: DirectCall, begun: Begun): void => {
    this.#continue(call, begun).then(call.resolve, call.reject)
  }

  /** The release of a turn, when the call can be sent without any wait. */
  #turnNow(asked: Asked): Release | undefined {
    if (asked.method !== 'tools/call' || this.#timeoutMs(asked) === 0) return undefined
    if (!this.#Trace || this.#Trace.isActive()) return undefined
    return this.#mayRunInParallel(asked) ? PARALLEL : this.#order.enterNow()
  }

  async #send(asked: Asked): Promise<Json> {
    const release = hold(this.#on.host)
    try {
      this.#Trace ??= (await import('./client-span.ts')).RequestTrace
      const { method, params, name, options } = asked
      const teller = this.#tellerOf(options)
      const { host, events } = teller
      const trace = this.#Trace.isActive()
        ? this.#Trace.start(this.#traceFacts(method, name), params)
        : undefined
      const facts = factsOf(teller, asked)
      const started = host.now()
      if (events.wanted('call-started')) events.emit('call-started', facts)
      const onProgress = this.#progress(facts, options)
      const sent = {
        method,
        name,
        params: trace ? trace.params : params,
        options: { ...options, onProgress },
      }
      const work = this.#inOrder(sent).then((result) => this.#followed(sent, result))
      return await this.#ended(teller, facts, started, trace, work)
    } finally {
      release()
    }
  }

  /** A direct call that needs more than one round. Its place in the queue stays its own. */
  async #continue(call: DirectCall, begun: Begun): Promise<Json> {
    const release = hold(this.#on.host)
    const asked = withSignal(call.asked)
    const work = this.#perform(asked, begun).then((result) => {
      call.release()
      const onProgress = (progress: Progress) => call.progress(progress)
      return this.#followed({ ...asked, options: { ...asked.options, onProgress } }, result)
    })
    try {
      return await this.#ended(this.#tellerOf(asked.options), call.facts, call.started, undefined, work)
    } finally {
      call.release()
      release()
    }
  }

  /** A call that became a task ends with it. Its turn is over: other calls run beside a task. */
  #followed({ method, name = '', options }: Asked, result: Json): Promise<Json> | Json {
    if (result.resultType !== 'task' || method !== 'tools/call') return result
    const { host, server } = this.#on
    const { signal, onProgress, onTask, detachable, sender, totalMs, timeoutMs } = options
    const port: TaskPort = {
      host,
      server,
      request: (method, params, options) => this.#perform({ method, params, name: undefined, options }),
      answerInputs: async (inputs, signal) =>
        (this.#on.current() ?? (await this.#on.ready(signal))).answerInputs(inputs, signal),
    }
    // On a shared connection a time limit is always given, whether the caller set one or not.
    const wholeMs = options.taskMs ?? totalMs ?? (sender ? undefined : timeoutMs) ?? TASK_LIMITS.resultMs
    return followTask(port, result, { name, signal, wholeMs, onProgress, onTask, detachable })
  }

  /** The outcome of the work, told to those who follow it. Rejects with a `PlugboardError`. */
  async #ended(
    teller: RequestHost,
    facts: CallFacts,
    started: number,
    trace: RequestTrace | undefined,
    work: Promise<Json>,
  ): Promise<Json> {
    let error: PlugboardError | undefined
    let toolError = false
    try {
      const result = await work
      toolError = result.isError === true
      return result
    } catch (fault) {
      const { server, hide } = this.#on
      const { method, name } = facts
      const tail = this.#on.stderrTail()
      error = toPlugboardError(fault, { server, stage: 'call', method, tail, hide, ...(name && { name }) })
      throw error
    } finally {
      trace?.ended({ toolError, ...(error && { error }) })
      tellEnded(teller, facts, started, toolError, error)
    }
  }

  async #inOrder(asked: Asked): Promise<Json> {
    if (asked.method !== 'tools/call') return await this.#perform(asked)
    // Whether it may run in parallel is known from the tool list, which comes with the connection.
    if (!this.#on.current()) await this.#on.ready(asked.options.signal)
    if (this.#mayRunInParallel(asked)) return await this.#perform(asked)
    const release = await this.#order.enter(asked.options.signal)
    try {
      return await this.#perform(asked)
    } finally {
      release()
    }
  }

  /** By what the caller says, else what the entry says about the tool, else by the tool's own hints. */
  #mayRunInParallel({ name = '', options }: Asked): boolean {
    if (options.concurrent !== undefined) return options.concurrent
    const { catalog, entry } = this.#on
    const tool = catalog.tool(name)
    const known = tool && this.#parallel.get(tool)
    if (known !== undefined) return known
    const may =
      entry.concurrentTools?.some((pattern) => matchesGlob(pattern, name)) === true ||
      isConcurrencySafe(readAnnotations(tool?.annotations))
    if (tool) this.#parallel.set(tool, may)
    return may
  }

  #timeoutMs({ options }: Asked): number {
    return options.timeoutMs ?? this.#on.entry.timeout ?? this.#on.callTimeoutMs
  }

  #limits(asked: Asked): OutgoingRequest {
    const { method, name, params, options } = asked
    return {
      signal: options.signal,
      cancellation: options.cancellation,
      timeoutMs: this.#timeoutMs(asked),
      totalMs: options.totalMs,
      onProgress: options.onProgress,
      headers:
        method === 'tools/call' && name ? this.#on.catalog.headers(name, params?.arguments) : undefined,
    }
  }

  async #perform(asked: Asked, already?: Begun): Promise<Json> {
    const { method, params, options } = asked
    const on = this.#on
    const once = newOnce()
    let begun = already
    // Each kind of retry happens once, so this ends.
    for (;;) {
      const session = begun?.session ?? on.current() ?? (await on.ready(options.signal))
      try {
        if (begun?.error !== undefined) throw begun.error
        const result = await session.request(method, params, { ...this.#limits(asked), first: begun?.first })
        on.good()
        return result
      } catch (error) {
        begun = undefined
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
    const start = leavesOutcomeOpen(cause)
      ? `"${server}" did not say how ${what} ended;`
      : `The connection to "${server}" was lost while ${what} was running;`
    return new OutcomeUnknown(`${start} whether it was done is unknown.${how}`, {
      server,
      hint: 'Check what happened before you call it again.',
      cause,
    })
  }

  #progress(facts: CallFacts, options: RequestOptions): RequestOptions['onProgress'] {
    if (facts.method !== 'tools/call') return options.onProgress
    // A token is sent with every call, used or not: without one a server reports no progress, and a long call that is
    // alive would run into its timeout.
    const teller = this.#tellerOf(options)
    return (progress) => tellProgress(teller, facts, options, progress)
  }

  /** Whose listeners hear of a request. */
  #tellerOf({ sender }: RequestOptions): RequestHost {
    if (!sender) return this.#on
    const known = this.#tellers.get(sender)
    if (known) return known
    const teller = { ...this.#on, ...sender }
    this.#tellers.set(sender, teller)
    return teller
  }

  #traceFacts(method: string, name: string | undefined) {
    const { entry, server } = this.#on
    const transport = traitsOf(entry).network
    return { server, method, name, protocolVersion: this.#on.current()?.protocolVersion, transport } as const
  }
}

/** What takes more than one step may have to wait. */
function withSignal(asked: Asked): Asked {
  const { cancellation, ...options } = asked.options
  return cancellation ? { ...asked, options: { ...options, signal: cancellation.signal } } : asked
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
