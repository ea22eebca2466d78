// legacy-task.ts: a call that a client of 2025-11-25 asked for as a task: it goes on without an open request of the client. Its
// questions name the task, and go to the client on the stream of `tasks/result`.
import type { TaskState } from '@plugboard/core'
import { JsonRpcError } from '@plugboard/core'
import type { Client, ClientRequest } from '../client-request.ts'
import type { Gateway } from '../gateway.ts'
import { type Id, isObject, type Json, META, metaOf, RPC } from '../json-rpc.ts'
import { handle } from '../methods.ts'
import type { ClientTask, TaskWork } from '../tasks/client-task.ts'
import type { ListeningWork } from '../tasks/task-methods.ts'
import { mayBecomeTask } from '../tasks/task-support.ts'

/** The session of the client. */
interface TaskClient extends Client {
  /** `about` is the client's request whose stream carries the question. */
  ask(method: string, params: Json, signal: AbortSignal, about?: Id): Promise<Json>
}

export class LegacyTask implements ClientRequest, TaskWork, ListeningWork {
  readonly client: TaskClient
  readonly id: Id
  readonly isNarrow: boolean
  readonly prefersTask = true
  readonly #stop = new AbortController()
  readonly #hasOneStream: boolean
  /** Open requests for the result: questions go with one of them. */
  readonly #streams = new Set<Id>()
  readonly #arrivals = new Set<() => void>()
  readonly #open = new Map<string, Json>()
  #task: ClientTask | undefined
  #asks = 0

  constructor(gateway: Gateway, client: TaskClient, id: Id) {
    this.client = client
    this.id = id
    this.isNarrow = gateway.isNarrow(client.exposure)
    this.#hasOneStream = gateway.serverRequests.isOnly(client)
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  run(task: ClientTask, work: Promise<Json>): void {
    this.#task = task
    task.onChange(() => this.client.notify('notifications/tasks/status', task.legacySummary()))
    work.then(
      (result) => task.ended({ result }),
      (error: unknown) => task.ended({ error }),
    )
  }

  stop(): void {
    this.#stop.abort()
  }

  onTask(state: TaskState): void {
    this.#task?.said(state)
  }

  inputRequests(): Json {
    return Object.fromEntries(this.#open)
  }

  /** In this era a client answers the requests themselves. */
  answer(): void {
    throw new JsonRpcError(RPC.methodNotFound, 'Method not found: tasks/update')
  }

  notify(method: string, params: Json): void {
    this.client.notify(method, params)
  }

  listen(request: Id): () => void {
    this.#streams.add(request)
    for (const arrived of [...this.#arrivals]) arrived()
    return () => this.#streams.delete(request)
  }

  async ask(method: string, params: Json, until: AbortSignal): Promise<Json> {
    const signal = AbortSignal.any([until, this.signal])
    const key = String(++this.#asks)
    this.#open.set(key, { method })
    this.#task?.touched()
    try {
      await this.#stream(signal)
      const named = { ...metaOf(params), [META.relatedTask]: { taskId: this.#task?.id } }
      const [about] = this.#streams
      return await this.client.ask(method, { ...params, _meta: named }, signal, about)
    } finally {
      this.#open.delete(key)
      this.#task?.touched()
    }
  }

  /** A client with one stream is reached at any time; another when it waits for the result. */
  #stream(signal: AbortSignal): Promise<void> {
    if (this.#hasOneStream || this.#streams.size > 0 || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        this.#arrivals.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#arrivals.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}

/** Starts the call as a task. Throws where the tool cannot run as one, or there is no room. */
export function startTask(gateway: Gateway, session: TaskClient, params: Json, id: Id): Json {
  const { task: wanted, ...call } = params
  const tool = gateway.viewOf(session).tool(String(params.name))
  if (!tool || !mayBecomeTask((server) => gateway.connectionFor(server, session), tool))
    throw new JsonRpcError(RPC.methodNotFound, `"${String(params.name)}" cannot be called as a task.`)
  const work = new LegacyTask(gateway, session, id)
  const ttl = isObject(wanted) && typeof wanted.ttl === 'number' ? wanted.ttl : undefined
  const task = gateway.tasks.add(work, ttl)
  if (!task)
    throw new JsonRpcError(RPC.internal, 'Too many tasks are running: cancel one, or wait, then try again.')
  work.run(task, handle(gateway, 'tools/call', call, work))
  return { task: task.legacySummary() }
}
