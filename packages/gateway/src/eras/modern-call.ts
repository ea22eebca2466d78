// modern-call.ts: one request of 2026-07-28 that may bring a question: it runs, its client waits for it, or it is suspended
// until the client comes back with the answers. modern.ts knows which calls are suspended, and for how long.
import { JsonRpcError, type TaskState } from '@plugboard/core'
import type { User } from '../access/access.ts'
import type { Exposure } from '../access/exposure.ts'
import {
  CallEnded,
  type Client,
  type ClientRequest,
  type Origin,
  type ResponseConnection,
} from '../client-request.ts'
import { ASKING_METHODS, type Id, isObject, type Json, type Request, RPC } from '../json-rpc.ts'
import type { ClientTask, TaskWork } from '../tasks/client-task.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import type { ToolRef } from '../views/views.ts'
import { fingerprint, type Resumption } from './request-state.ts'

/** The way back to the client for one request. */
export interface ModernChannel {
  readonly connection: ResponseConnection
  /** The owner of the request, as far as the transport can tell; a suspended call is only given back to its owner. */
  readonly owner: string
  /** With a name, where the gateway knows its users. */
  readonly user?: User | undefined
  readonly exposure: Exposure
  /** It sees only a part of what is served. */
  readonly narrow?: boolean
  notify(method: string, params: Json): void
  checkHeaders?(tool: ToolRef, args: unknown): void
}

export interface OpenQuestion {
  readonly method: string
  readonly params: Json
  readonly origin: Origin | undefined
  readonly settle: (answer: Json) => void
  readonly fail: (error: Error) => void
}

type CallOutcome = { readonly result: Json } | { readonly error: unknown }

export class ModernCall implements ClientRequest, TaskWork {
  readonly client: Client
  readonly id: Id
  readonly owner: string
  readonly resumes?: string
  readonly questions = new Map<string, OpenQuestion>()
  readonly #request: Request
  readonly #stop = new AbortController()
  /** Answers that the client sent with the call, because it knows what will be asked. */
  readonly #given: Json
  readonly isNarrow: boolean
  readonly #tasks: TaskStore | undefined
  /** Keys of the questions of a task: none comes twice. */
  #keys: Set<string> | undefined
  #task: ClientTask | undefined
  #channel: ModernChannel | undefined
  #outcome: CallOutcome | undefined
  #waiter: { resolve(result: Json | undefined): void; reject(error: unknown): void } | undefined
  #asks = 0

  constructor(
    request: Request,
    client: Client,
    channel: ModernChannel,
    resumption?: Resumption,
    /** Where the call goes on if it becomes a task. */
    tasks?: TaskStore,
  ) {
    this.client = client
    this.isNarrow = channel.narrow === true
    this.#tasks = client.capabilities.tasks && request.method === 'tools/call' ? tasks : undefined
    this.id = request.id
    this.owner = channel.owner
    this.#request = request
    this.#channel = channel
    if (resumption) this.resumes = resumption.server
    const { inputResponses } = request.params
    this.#given = !resumption && isObject(inputResponses) ? { ...inputResponses } : {}
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get prefersTask(): boolean {
    return this.#tasks !== undefined
  }

  /** The server made a task of it: so do we, where the client takes one and there is room. */
  onTask(state: TaskState): void {
    const isNew = !this.#task
    this.#task ??= this.#tasks?.add(this)
    this.#task?.said(state)
    if (isNew && this.#task && this.#waiter) this.#handOver(this.#task)
  }

  inputRequests(): Json {
    return Object.fromEntries(
      [...this.questions].map(([key, { method, params }]) => [key, { method, params }]),
    )
  }

  /** What a retry must repeat to the letter. */
  get fingerprint(): string {
    return fingerprint(this.#request.method, this.#request.params)
  }

  /** Keeps the outcome of its work until a client waits for it. */
  run(work: Promise<Json>): void {
    work.then(
      (result) => this.#ended({ result }),
      (error: unknown) => this.#ended({ error }),
    )
  }

  stop(): void {
    this.#stop.abort()
  }

  /** The result, or undefined when a question came first: then the call is suspended. */
  wait(channel: ModernChannel): Promise<Json | undefined> {
    this.#channel = channel
    const { connection } = channel
    if (connection.gone) this.stop()
    connection.onGone = () => this.stop()
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      if (this.#task) this.#handOver(this.#task)
      else if (this.#outcome) this.#deliver(this.#outcome)
      else if (this.questions.size > 0) this.#announceQuestions()
    })
  }

  away(): boolean {
    return this.#channel === undefined && this.#task === undefined
  }

  notify(method: string, params: Json): void {
    this.#channel?.notify(method, params)
  }

  tellBudget(headers: readonly string[]): void {
    this.#channel?.connection.tellBudget?.(headers)
  }

  checkHeaders(tool: ToolRef, args: unknown): void {
    this.#channel?.checkHeaders?.(tool, args)
  }

  ask(method: string, params: Json, signal: AbortSignal, origin?: Origin): Promise<Json> {
    if (!ASKING_METHODS.has(this.#request.method))
      return Promise.reject(new JsonRpcError(RPC.internal, 'Nothing can be asked here.'))
    return new Promise((settle, fail) => {
      const key = this.#keyFor(origin)
      const answer = Object.hasOwn(this.#given, key) ? this.#given[key] : undefined
      delete this.#given[key]
      if (isObject(answer)) return settle(answer)
      const withdraw = () => {
        this.questions.delete(key)
        fail(new JsonRpcError(RPC.internal, 'The question was withdrawn.'))
      }
      const until = AbortSignal.any([signal, this.#stop.signal])
      if (until.aborted) return withdraw()
      until.addEventListener('abort', withdraw, { once: true })
      this.questions.set(key, { method, params, origin, settle, fail })
      this.#task?.touched()
      this.#announceQuestions()
    })
  }

  #keyFor(origin: Origin | undefined): string {
    const isTaken = (key: string) => this.questions.has(key) || this.#keys?.has(key) === true
    const key = origin && !isTaken(origin.key) ? origin.key : `input-${++this.#asks}`
    if (this.#task) this.#keys = (this.#keys ?? new Set()).add(key)
    return key
  }

  /** Gives the call the answers it waited for. */
  answer(inputResponses: unknown): void {
    const given = isObject(inputResponses) ? inputResponses : {}
    for (const [key, question] of [...this.questions]) {
      const answer = Object.hasOwn(given, key) ? given[key] : undefined
      if (!isObject(answer)) continue
      this.questions.delete(key)
      question.settle(answer)
    }
  }

  /** Questions of one result come together; questions of the same moment are sent together. */
  #announceQuestions(): void {
    const waiter = this.#waiter
    if (!waiter) return
    setImmediate(() => {
      if (this.#waiter !== waiter) return
      this.#leave()
      waiter.resolve(undefined)
    })
  }

  /** The client gets the task, and comes back for the rest. */
  #handOver(task: ClientTask): void {
    const waiter = this.#waiter
    this.#leave()
    waiter?.resolve({ resultType: 'task', ...task.summary() })
  }

  #ended(outcome: CallOutcome): void {
    this.#outcome = outcome
    this.#task?.ended(outcome)
    if (this.#waiter) this.#deliver(outcome)
  }

  #deliver(outcome: CallOutcome): void {
    const waiter = this.#waiter
    this.#leave()
    // The response is ready: the last chance for these questions to be seen.
    for (const { fail } of this.questions.values()) fail(new CallEnded())
    this.questions.clear()
    if ('error' in outcome) waiter?.reject(outcome.error)
    else waiter?.resolve(outcome.result)
  }

  /** No client waits for it any more; one that leaves now does not end it. */
  #leave(): void {
    if (this.#channel) this.#channel.connection.onGone = undefined
    this.#channel = undefined
    this.#waiter = undefined
  }
}
